//! The index as a value, and the questions that a search asks.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::passage::PassageKind;
use super::writer::Writer;

/// The index on sessions has no empty ones, so that SQLite uses it only if the question says so.
const HANDOFF_OF_SESSION: &str = "SELECT handoff FROM document
    WHERE session = ?1 AND session <> '' AND handoff <> '' ORDER BY ended DESC, id DESC LIMIT 1";
const LAST_RUN: &str = "SELECT document, at, has_passed, error FROM ran WHERE command = ?1
    ORDER BY at DESC, id DESC LIMIT 1";
const RULINGS_NAMING: &str = "SELECT path, passage FROM named WHERE name = ?1 ORDER BY at DESC, passage DESC LIMIT ?2";
/// '0' comes right after '/'.
const TOUCHED: &str = "SELECT document, max(at) FROM touched
    WHERE path = ?1 OR path > ?1 || '/' AND path < ?1 || '0' GROUP BY document";
const NEWEST_FILES: &str = "SELECT path, id, inode, length, modified, seen, mark FROM file WHERE place = ?1
    ORDER BY modified DESC LIMIT ?2";
const DOCUMENTS_BETWEEN: &str =
    "SELECT id FROM document WHERE started < ?2 AND ended >= ?1 ORDER BY ended DESC LIMIT ?3";

/// The note of the index on the last passage of its first build, which is there once that is done.
pub(super) const BUILT: &str = "built";
/// The note of the index that it still has words of removed passages.
pub(super) const REMOVED: &str = "removed";

/// The index of a project.
pub(crate) struct Index {
    pub(super) connection: Connection,
    /// `None` if it is in memory.
    pub(super) path: Option<PathBuf>,
}

/// A file as far as the index has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KnownFile {
    pub id: i64,
    pub inode: i64,
    pub length: i64,
    /// Nanoseconds since 1970.
    pub modified: i64,
    /// How many bytes of it are indexed. A file that is not this project's has none, and counts as indexed.
    pub seen: i64,
    /// What marks the bytes right before that place; 0 if the file is not read on.
    pub mark: i64,
}

/// A passage with what the ranking needs of it.
#[derive(Clone, Debug)]
pub(super) struct StoredPassage {
    pub id: i64,
    pub document: i64,
    pub number: i64,
    /// The number among the passages of the talk; -1 for a passage that is not talk.
    pub turn: i64,
    pub kind: PassageKind,
    pub at: Option<i64>,
    pub words: i64,
    /// Its words, as [`words::line`] writes them.
    pub terms: String,
    pub text: String,
}

/// A document without its passages.
#[derive(Clone, Debug)]
pub(super) struct StoredDocument {
    pub path: String,
    pub handoff: String,
    pub title: String,
    /// Of its times no more than the day is known.
    pub is_day: bool,
    pub own_key: String,
    pub run: String,
    pub is_from_outside: bool,
    pub facts: DocumentFacts,
}

/// What the filters and the ranking need of a document.
#[derive(Clone, Debug)]
pub(super) struct DocumentFacts {
    pub session: String,
    pub agent: String,
    pub branch: String,
    pub started: Option<i64>,
    pub ended: Option<i64>,
    pub words: i64,
}

/// How a command ended.
#[derive(Clone, Debug)]
pub(super) struct StoredRun {
    pub document: i64,
    pub at: Option<i64>,
    pub has_passed: bool,
    /// The first line that names the error.
    pub error: String,
}

/// How much the index holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub passages: i64,
    pub words: i64,
    pub documents: i64,
    pub order: Order,
}

/// How the ids of passages tell which are newer. The first build of the index begins with the newest files, so the ids up to its
/// last one grow with age. What comes later is newer than all of them, and its ids grow with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// The last id of the first build.
    pub built: i64,
}

impl Default for Order {
    fn default() -> Order {
        Order { built: i64::MAX }
    }
}

impl Order {
    /// A number that is larger for a newer passage.
    pub(super) fn newness(self, id: i64) -> i64 {
        if id > self.built { id } else { -id }
    }

    /// How many ids there are from the newest to the oldest of these, which are sorted, newest first.
    pub(super) fn span(self, ids: &[i64]) -> i64 {
        let (Some(newest), Some(oldest)) = (ids.first(), ids.last()) else { return 0 };
        match (*newest > self.built, *oldest > self.built) {
            (true, false) => newest - self.built + oldest,
            _ => (newest - oldest).abs(),
        }
    }
}

impl Index {
    pub(super) fn of(connection: Connection, path: Option<PathBuf>) -> Index {
        Index { connection, path }
    }

    /// An index in memory. Without memory for it there is nothing to search in, so it stays without tables.
    pub(super) fn of_result(connection: rusqlite::Result<Connection>) -> Index {
        let connection = connection.or_else(|_| Connection::open_in_memory());
        match connection {
            Ok(connection) => Index::of(connection, None),
            Err(cause) => panic!("SQLite cannot open a database in memory: {cause}"),
        }
    }

    pub(super) fn write(&mut self) -> rusqlite::Result<Writer<'_>> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let totals = totals(&transaction)?;
        let last: i64 = transaction.query_row("SELECT coalesce(max(id), 0) FROM passage", [], |row| row.get(0))?;
        // An id of the first build is not used again, because it would say that the passage is old.
        let built = Some(totals.order.built).filter(|built| *built < i64::MAX).unwrap_or_default();
        Ok(Writer::of(transaction, totals, last.max(built) + 1))
    }

    pub(super) fn totals(&self) -> rusqlite::Result<Totals> {
        totals(&self.connection)
    }

    /// Every file of a place that the index knows, with its path.
    pub(super) fn files_of(&self, place: &str) -> rusqlite::Result<Vec<(String, KnownFile)>> {
        let sql = "SELECT path, id, inode, length, modified, seen, mark FROM file WHERE place = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map([place], |row| Ok((row.get(0)?, known_file(row, 1)?)))?.collect()
    }

    /// The files of a place that were last changed, at most so many.
    pub(super) fn newest_files_of(&self, place: &str, most: usize) -> rusqlite::Result<Vec<(String, KnownFile)>> {
        let sql = NEWEST_FILES;
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map(params![place, most as i64], |row| Ok((row.get(0)?, known_file(row, 1)?)))?.collect()
    }

    pub(super) fn document(&self, id: i64) -> rusqlite::Result<Option<StoredDocument>> {
        let sql = "SELECT file.path, handoff, title, is_day, own_key, run, is_from_outside,
                    session, agent, branch, started, ended, words
                   FROM document JOIN file ON file.id = document.file WHERE document.id = ?1";
        self.connection.prepare_cached(sql)?.query_row([id], stored_document).optional()
    }

    pub(super) fn document_facts(&self, id: i64) -> rusqlite::Result<Option<DocumentFacts>> {
        let sql = "SELECT session, agent, branch, started, ended, words FROM document WHERE id = ?1";
        self.connection.prepare_cached(sql)?.query_row([id], |row| document_facts(row, 0)).optional()
    }

    pub(super) fn passage(&self, id: i64) -> rusqlite::Result<Option<StoredPassage>> {
        let sql = "SELECT id, document, number, turn, kind, at, words, terms, text FROM passage WHERE id = ?1";
        self.connection.prepare_cached(sql)?.query_row([id], stored_passage).optional()
    }

    /// A passage without its text, for a search that looks at many.
    pub(super) fn passage_without_text(&self, id: i64) -> rusqlite::Result<Option<StoredPassage>> {
        let sql = "SELECT id, document, number, turn, kind, at, words, terms, '' FROM passage WHERE id = ?1";
        self.connection.prepare_cached(sql)?.query_row([id], stored_passage).optional()
    }

    /// The passages of a document with these numbers, in order.
    pub(super) fn passages_between(
        &self,
        document: i64,
        first: i64,
        last: i64,
    ) -> rusqlite::Result<Vec<StoredPassage>> {
        let sql = "SELECT id, document, number, turn, kind, at, words, terms, text FROM passage
                   WHERE document = ?1 AND number BETWEEN ?2 AND ?3 ORDER BY number";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map(params![document, first, last], stored_passage)?.collect()
    }

    /// The ids of the passages that have a term, newest first, at most so many.
    pub(super) fn passages_with(&self, term: &str, most: usize, order: Order) -> rusqlite::Result<Vec<i64>> {
        let quoted = format!("\"{}\"", term.replace('"', ""));
        let mut found: Vec<i64> = Vec::new();
        for sql in [
            "SELECT rowid FROM word WHERE word MATCH ?1 AND rowid > ?2 ORDER BY rowid DESC LIMIT ?3",
            "SELECT rowid FROM word WHERE word MATCH ?1 AND rowid <= ?2 ORDER BY rowid LIMIT ?3",
        ] {
            let values = params![quoted, order.built, (most - found.len()) as i64];
            let mut statement = self.connection.prepare_cached(sql)?;
            let ids = statement.query_map(values, |row| row.get(0))?;
            found.extend(ids.collect::<rusqlite::Result<Vec<i64>>>()?);
        }
        Ok(found)
    }

    /// The id of the last passage.
    pub(super) fn last_passage(&self) -> rusqlite::Result<i64> {
        self.connection.query_row("SELECT coalesce(max(id), 0) FROM passage", [], |row| row.get(0))
    }

    /// The terms that begin with these letters, at most so many.
    pub(super) fn terms_beginning(&self, letters: &str, most: usize) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT term FROM term WHERE term >= ?1 AND term < ?2 LIMIT ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let end = format!("{letters}\u{10ffff}");
        statement.query_map(params![letters, end, most as i64], |row| row.get(0))?.collect()
    }

    /// The documents that touched a file, a directory, or a file with this end of its path.
    pub(super) fn documents_with_path(&self, path: &str) -> rusqlite::Result<HashSet<i64>> {
        let sql = "SELECT document FROM touched
                   WHERE path = ?1 OR substr(path, -length(?1) - 1) = '/' || ?1 OR substr(path, 1, length(?1) + 1) = ?1 || '/'";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map([path], |row| row.get(0))?.collect()
    }

    /// The documents that touched exactly this file or one in this directory, and when.
    pub(super) fn touched(&self, path: &str) -> rusqlite::Result<Vec<(i64, Option<i64>)>> {
        let sql = TOUCHED;
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map([path], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// The documents of a time, newest first, at most so many.
    pub(super) fn documents_between(&self, from: i64, to: i64, most: usize) -> rusqlite::Result<Vec<i64>> {
        let sql = DOCUMENTS_BETWEEN;
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map(params![from, to, most as i64], |row| row.get(0))?.collect()
    }

    /// Whether an agent gets something for the first time. It is recorded as given; the oldest records are forgotten.
    pub(crate) fn is_told_first(&self, what: &str) -> rusqlite::Result<bool> {
        let sql = "INSERT OR IGNORE INTO told (what) VALUES (?1)";
        let is_first = self.connection.execute(sql, [what])? == 1;
        if is_first {
            let sql = "DELETE FROM told WHERE id <= (SELECT max(id) FROM told) - 2000";
            self.connection.execute(sql, [])?;
        }
        Ok(is_first)
    }

    /// How many documents began in each month, `2026-11`.
    pub(crate) fn documents_a_month(&self) -> rusqlite::Result<BTreeMap<String, usize>> {
        let sql = "SELECT strftime('%Y-%m', started, 'unixepoch'), count(*) FROM document
            WHERE started IS NOT NULL GROUP BY 1";
        let mut statement = self.connection.prepare(sql)?;
        let row = |row: &Row<'_>| {
            let month: Option<String> = row.get(0)?;
            Ok((month.unwrap_or_default(), usize::try_from(row.get::<_, i64>(1)?).unwrap_or_default()))
        };
        statement.query_map([], row)?.collect()
    }

    /// While this lives, all questions are asked of the index as it is now, without taking and giving back its lock for each.
    pub(super) fn reading(&self) -> rusqlite::Result<Transaction<'_>> {
        self.connection.unchecked_transaction()
    }

    /// Another number if another process has changed the index since the last one.
    pub(super) fn version(&self) -> Option<i64> {
        self.connection.pragma_query_value(None, "data_version", |row| row.get(0)).ok()
    }

    /// A note of the index about itself.
    pub(super) fn meta(&self, key: &str) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT value FROM meta WHERE key = ?1";
        self.connection.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()
    }

    /// Whether the index still has words of removed passages.
    pub(super) fn has_removed(&self) -> rusqlite::Result<bool> {
        Ok(self.meta(REMOVED)?.is_some_and(|removed| removed == "1"))
    }

    /// The files of the archives that may have a text, by its groups of three letters.
    pub(super) fn archives_with(&self, grams: &str) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT path FROM file WHERE id IN (SELECT rowid FROM gram WHERE gram MATCH ?1)
                   UNION SELECT path FROM file JOIN vague ON vague.file = file.id";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map([grams], |row| row.get(0))?.collect()
    }

    /// How a command ended the last time.
    pub(super) fn last_run(&self, command: &str) -> rusqlite::Result<Option<StoredRun>> {
        let sql = LAST_RUN;
        let run = |row: &Row<'_>| {
            Ok(StoredRun { document: row.get(0)?, at: row.get(1)?, has_passed: row.get(2)?, error: row.get(3)? })
        };
        self.connection.prepare_cached(sql)?.query_row([command], run).optional()
    }

    /// The title of the oldest session.
    pub(crate) fn oldest_title(&self) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT title FROM document WHERE session <> '' AND title <> '' ORDER BY started LIMIT 1";
        self.connection.query_row(sql, [], |row| row.get(0)).optional()
    }

    /// The last command that failed and did not pass since.
    pub(crate) fn failed_command(&self) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT command FROM ran WHERE has_passed = 0 AND NOT EXISTS (SELECT 1 FROM ran AS later
                   WHERE later.command = ran.command AND later.has_passed AND later.at >= ran.at) ORDER BY at DESC LIMIT 1";
        self.connection.query_row(sql, [], |row| row.get(0)).optional()
    }

    /// The rulings that name a file with this name, newest first: the path as it is written, and the passage.
    pub(super) fn rulings_naming(&self, name: &str, most: usize) -> rusqlite::Result<Vec<(String, i64)>> {
        let sql = RULINGS_NAMING;
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map(params![name, most as i64], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    #[cfg_attr(not(feature = "mcp"), allow(dead_code, reason = "only the MCP server uses it"))]
    pub(super) fn documents_of_session(&self, session: &str) -> rusqlite::Result<Vec<i64>> {
        let sql = "SELECT id FROM document WHERE session = ?1 AND session <> '' ORDER BY id";
        self.connection.prepare_cached(sql)?.query_map([session], |row| row.get(0))?.collect()
    }

    /// The handoff of a session.
    pub(super) fn handoff_of(&self, session: &str) -> rusqlite::Result<Option<String>> {
        let sql = HANDOFF_OF_SESSION;
        self.connection.prepare_cached(sql)?.query_row([session], |row| row.get(0)).optional()
    }
}

fn totals(connection: &Connection) -> rusqlite::Result<Totals> {
    let mut totals = Totals::default();
    let mut statement = connection.prepare_cached("SELECT key, value FROM meta")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (key, value): (String, String) = (row.get(0)?, row.get(1)?);
        let number = || value.parse().unwrap_or(0);
        match key.as_str() {
            "passages" => totals.passages = number(),
            "words" => totals.words = number(),
            "documents" => totals.documents = number(),
            BUILT => totals.order = Order { built: number() },
            _ => {}
        }
    }
    Ok(totals)
}

pub(super) fn known_file(row: &Row<'_>, first: usize) -> rusqlite::Result<KnownFile> {
    Ok(KnownFile {
        id: row.get(first)?,
        inode: row.get(first + 1)?,
        length: row.get(first + 2)?,
        modified: row.get(first + 3)?,
        seen: row.get(first + 4)?,
        mark: row.get(first + 5)?,
    })
}

fn stored_passage(row: &Row<'_>) -> rusqlite::Result<StoredPassage> {
    Ok(StoredPassage {
        id: row.get(0)?,
        document: row.get(1)?,
        number: row.get(2)?,
        turn: row.get(3)?,
        kind: PassageKind::of_number(row.get(4)?),
        at: row.get(5)?,
        words: row.get(6)?,
        terms: row.get(7)?,
        text: row.get(8)?,
    })
}

fn stored_document(row: &Row<'_>) -> rusqlite::Result<StoredDocument> {
    Ok(StoredDocument {
        path: row.get(0)?,
        handoff: row.get(1)?,
        title: row.get(2)?,
        is_day: row.get(3)?,
        own_key: row.get(4)?,
        run: row.get(5)?,
        is_from_outside: row.get(6)?,
        facts: document_facts(row, 7)?,
    })
}

fn document_facts(row: &Row<'_>, first: usize) -> rusqlite::Result<DocumentFacts> {
    Ok(DocumentFacts {
        session: row.get(first)?,
        agent: row.get(first + 1)?,
        branch: row.get(first + 2)?,
        started: row.get(first + 3)?,
        ended: row.get(first + 4)?,
        words: row.get(first + 5)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a question that every search or hook asks would do, as SQLite plans it.
    fn plan(sql: &str) -> String {
        let index = Index::in_memory();
        let mut statement = index.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let values = vec!["x"; statement.parameter_count()];
        let lines = statement.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
        lines.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn no_question_that_is_often_asked_looks_at_a_whole_table_or_sorts_it() {
        for sql in [HANDOFF_OF_SESSION, LAST_RUN, RULINGS_NAMING, NEWEST_FILES, DOCUMENTS_BETWEEN] {
            let plan = plan(sql);
            assert!(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{sql}: {plan}");
        }
        // The few that are found are put together.
        assert!(!plan(TOUCHED).contains("SCAN"), "{}", plan(TOUCHED));
    }
}
