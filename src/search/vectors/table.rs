//! The vectors in the index: one for each different text, found again by the digest of the text and of the command.
//!
//! The tables are made when the first vector is stored, so an index without vectors has none of them. A program without this
//! feature removes passages, too; the trigger then removes what belongs to them, because SQLite gives their ids to others.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::program::Vector;
use crate::base::text;
use crate::search::passage::PassageKind;
use crate::search::store::Index;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS vector (
        id INTEGER PRIMARY KEY,
        digest TEXT NOT NULL UNIQUE,
        value BLOB NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS embedded (passage INTEGER PRIMARY KEY, vector INTEGER NOT NULL) STRICT;
    CREATE TRIGGER IF NOT EXISTS passage_removed AFTER DELETE ON passage
        BEGIN DELETE FROM embedded WHERE passage = OLD.id; END;
";
/// The notes of the index on its vectors: which command made them, and how long they are.
const COMMAND: &str = "embed";
const DIMENSIONS: &str = "dimensions";
/// Stands for the vector of a passage that gets none: commands and paths have many words and say little by themselves.
const NONE: i64 = 0;
/// How many of the nearest passages are looked at: filters and further passages of the same session drop most.
const NEAREST: i64 = 1_000;

/// A passage that has no vector yet.
pub(super) struct Waiting {
    pub id: i64,
    pub text: String,
    /// By which its vector is found again.
    pub digest: String,
}

/// The vectors of one command in an index.
pub(super) struct Table<'a> {
    connection: &'a mut Connection,
    command: String,
}

impl<'a> Table<'a> {
    /// Opens the table for the vectors of a command. Those of another one are removed.
    pub(super) fn open(index: &'a mut Index, argv: &[String]) -> rusqlite::Result<Table<'a>> {
        let command = text::digest(argv.join("\0").as_bytes(), 16);
        let connection = &mut index.connection;
        let has_tables = connection.table_exists(None, "embedded")?;
        if !has_tables || meta(connection, COMMAND)?.as_ref() != Some(&command) {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute_batch(TABLES)?;
            clear(&transaction)?;
            set_meta(&transaction, COMMAND, &command)?;
            transaction.commit()?;
        }
        Ok(Table { connection, command })
    }

    /// How many passages have no vector.
    pub(super) fn missing(&self) -> rusqlite::Result<usize> {
        let all: i64 = meta(self.connection, "passages")?.and_then(|count| count.parse().ok()).unwrap_or(0);
        let have: i64 = self.connection.query_row("SELECT count(*) FROM embedded", [], |row| row.get(0))?;
        Ok(usize::try_from(all - have).unwrap_or(0))
    }

    /// At most so many passages without a vector, newest first. Those that need none, and those whose text has one, get it.
    pub(super) fn waiting(&mut self, most: usize) -> rusqlite::Result<Vec<Waiting>> {
        let sql = "SELECT id, kind, text FROM passage WHERE id NOT IN (SELECT passage FROM embedded)
                   ORDER BY id DESC LIMIT ?1";
        loop {
            if self.missing()? == 0 {
                return Ok(Vec::new());
            }
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut waiting = Vec::new();
            let found: Vec<(i64, i64, String)> = {
                let mut statement = transaction.prepare_cached(sql)?;
                let rows = statement
                    .query_map([most as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?)))?;
                rows.collect::<rusqlite::Result<_>>()?
            };
            let count = found.len();
            for (id, kind, text) in found {
                let digest = text::digest(format!("{}\0{text}", self.command).as_bytes(), 16);
                let known: Option<i64> = match PassageKind::of_number(kind) {
                    PassageKind::Command => Some(NONE),
                    _ => vector_of(&transaction, &digest)?,
                };
                match known {
                    Some(vector) => link(&transaction, id, vector)?,
                    None => waiting.push(Waiting { id, text, digest }),
                }
            }
            transaction.commit()?;
            if !waiting.is_empty() || count == 0 {
                return Ok(waiting);
            }
        }
    }

    /// Notes how long vectors are. Those of another length come from another model and are removed.
    pub(super) fn agree_on(&mut self, dimensions: usize) -> rusqlite::Result<()> {
        let dimensions = dimensions.to_string();
        if meta(self.connection, DIMENSIONS)?.as_ref() == Some(&dimensions) {
            return Ok(());
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        clear(&transaction)?;
        set_meta(&transaction, DIMENSIONS, &dimensions)?;
        transaction.commit()
    }

    /// Stores the vectors of passages. A passage that was removed or replaced meanwhile gets none.
    pub(super) fn store(&mut self, vectors: &HashMap<&str, Vector>, waiting: &[Waiting]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for Waiting { id, text, digest } in waiting {
            let Some(vector) = vectors.get(digest.as_str()) else { continue };
            let sql = "SELECT EXISTS (SELECT 1 FROM passage WHERE id = ?1 AND text = ?2)";
            let is_same: bool = transaction.prepare_cached(sql)?.query_row(params![id, text], |row| row.get(0))?;
            if is_same {
                let sql = "INSERT OR IGNORE INTO vector (digest, value) VALUES (?1, ?2)";
                transaction.prepare_cached(sql)?.execute(params![digest, bytes(vector)])?;
                let vector = vector_of(&transaction, digest)?.unwrap_or(NONE);
                link(&transaction, *id, vector)?;
            }
        }
        transaction.commit()
    }

    /// Removes the vectors of texts that no passage has any more. Every passage must have its vector.
    pub(super) fn prune(&mut self) -> rusqlite::Result<()> {
        let sql =
            "SELECT (SELECT count(*) FROM vector) > (SELECT count(DISTINCT vector) FROM embedded WHERE vector <> 0)";
        let has_more: bool = self.connection.query_row(sql, [], |row| row.get(0))?;
        if has_more {
            self.connection.execute("DELETE FROM vector WHERE id NOT IN (SELECT vector FROM embedded)", [])?;
        }
        Ok(())
    }
}

/// The ids of the passages nearest to a vector, nearest first. A vector without a direction is near to nothing.
pub(in crate::search) fn nearest(index: &Index, vector: &Vector) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT embedded.passage, vec_distance_cosine(vector.value, ?1) AS distance
               FROM embedded JOIN vector ON vector.id = embedded.vector
               WHERE length(vector.value) = length(?1)
               ORDER BY distance NULLS LAST, embedded.passage DESC LIMIT ?2";
    let mut statement = index.connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![bytes(vector), NEAREST], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found: Vec<(i64, Option<f64>)> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(found.into_iter().filter(|(_, distance)| distance.is_some()).map(|(passage, _)| passage).collect())
}

fn clear(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch("DELETE FROM embedded; DELETE FROM vector; DELETE FROM meta WHERE key = 'dimensions'")
}

fn link(transaction: &Transaction<'_>, passage: i64, vector: i64) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO embedded VALUES (?1, ?2)";
    transaction.prepare_cached(sql)?.execute([passage, vector]).map(drop)
}

fn vector_of(transaction: &Transaction<'_>, digest: &str) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT id FROM vector WHERE digest = ?1";
    transaction.prepare_cached(sql)?.query_row([digest], |row| row.get(0)).optional()
}

fn meta(connection: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT value FROM meta WHERE key = ?1";
    connection.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()
}

fn set_meta(transaction: &Transaction<'_>, key: &str, value: &str) -> rusqlite::Result<()> {
    let sql = "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2";
    transaction.prepare_cached(sql)?.execute([key, value]).map(drop)
}

/// A vector as `sqlite-vec` reads it.
fn bytes(vector: &Vector) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}
