//! The index as a value: adding and removing documents, and the questions that a search asks.

use std::collections::HashSet;
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::passage::{self, Document, Passage, PassageKind, Ran};
use super::words;

/// The index of a project.
pub(crate) struct Index {
    pub(super) connection: Connection,
    /// `None` if it is in memory.
    pub(super) path: Option<PathBuf>,
}

/// A file as far as the index has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownFile {
    pub id: i64,
    pub inode: i64,
    pub length: i64,
    /// Nanoseconds since 1970.
    pub modified: i64,
    /// How many bytes of it are indexed. A file that is not this project's has none, and counts as indexed.
    pub seen: i64,
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
    pub session: String,
    pub handoff: String,
    pub title: String,
    pub agent: String,
    pub branch: String,
    pub started: Option<i64>,
    pub ended: Option<i64>,
    /// Of these times no more than the day is known.
    pub is_day: bool,
    pub own_key: String,
    pub run: String,
    pub is_from_outside: bool,
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
        Ok(Writer { transaction, totals })
    }

    pub(super) fn totals(&self) -> rusqlite::Result<Totals> {
        totals(&self.connection)
    }

    /// Every file of a place that the index knows, with its path.
    pub(super) fn files_of(&self, place: &str) -> rusqlite::Result<Vec<(String, KnownFile)>> {
        let sql = "SELECT path, id, inode, length, modified, seen FROM file WHERE place = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map([place], |row| Ok((row.get(0)?, known_file(row, 1)?)))?.collect()
    }

    /// The files of a place that were last changed, at most so many.
    pub(super) fn newest_files_of(&self, place: &str, most: usize) -> rusqlite::Result<Vec<(String, KnownFile)>> {
        let sql = "SELECT path, id, inode, length, modified, seen FROM file WHERE place = ?1
                   ORDER BY modified DESC LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map(params![place, most as i64], |row| Ok((row.get(0)?, known_file(row, 1)?)))?.collect()
    }

    pub(super) fn document(&self, id: i64) -> rusqlite::Result<Option<StoredDocument>> {
        let sql =
            "SELECT file.path, session, handoff, title, agent, branch, started, ended, is_day, own_key, run, is_from_outside, words
                   FROM document JOIN file ON file.id = document.file WHERE document.id = ?1";
        self.connection.prepare_cached(sql)?.query_row([id], stored_document).optional()
    }

    pub(super) fn passage(&self, id: i64) -> rusqlite::Result<Option<StoredPassage>> {
        let sql = "SELECT id, document, number, turn, kind, at, words, terms, text FROM passage WHERE id = ?1";
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

    /// The ids of the passages that have a term, at most so many: the newest if there are more.
    pub(super) fn passages_with(&self, term: &str, most: usize) -> rusqlite::Result<Vec<i64>> {
        let sql = "SELECT rowid FROM word WHERE word MATCH ?1 ORDER BY rowid DESC LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let quoted = format!("\"{}\"", term.replace('"', ""));
        statement.query_map(params![quoted, most as i64], |row| row.get(0))?.collect()
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

    /// The documents that touched exactly this file, and when.
    pub(super) fn touched(&self, path: &str) -> rusqlite::Result<Vec<(i64, Option<i64>)>> {
        let sql = "SELECT document, max(at) FROM touched WHERE path = ?1 GROUP BY document";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map([path], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// The documents of a time, newest first, at most so many.
    pub(super) fn documents_between(&self, from: i64, to: i64, most: usize) -> rusqlite::Result<Vec<i64>> {
        let sql = "SELECT id FROM document WHERE started < ?2 AND ended >= ?1 ORDER BY ended DESC LIMIT ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map(params![from, to, most as i64], |row| row.get(0))?.collect()
    }

    /// Whether an agent is told of something for the first time. From now on it was told. The oldest are forgotten.
    pub(crate) fn is_told_first(&self, what: &str) -> rusqlite::Result<bool> {
        let sql = "INSERT OR IGNORE INTO told (what) VALUES (?1)";
        let is_first = self.connection.execute(sql, [what])? == 1;
        if is_first {
            let sql = "DELETE FROM told WHERE id <= (SELECT max(id) FROM told) - 2000";
            self.connection.execute(sql, [])?;
        }
        Ok(is_first)
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

    /// The files of the archives that may have a text, by its groups of three letters.
    pub(super) fn archives_with(&self, grams: &str) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT path FROM file WHERE id IN (SELECT rowid FROM gram WHERE gram MATCH ?1)
                   UNION SELECT path FROM file JOIN vague ON vague.file = file.id";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map([grams], |row| row.get(0))?.collect()
    }

    /// How a command ended the last time.
    pub(super) fn last_run(&self, command: &str) -> rusqlite::Result<Option<StoredRun>> {
        let sql = "SELECT document, at, has_passed, error FROM ran WHERE command = ?1
                   ORDER BY at DESC, id DESC LIMIT 1";
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
        let sql = "SELECT path, passage FROM named WHERE name = ?1 ORDER BY passage DESC LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map(params![name, most as i64], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// The handoff of a session.
    #[cfg_attr(not(feature = "mcp"), allow(dead_code, reason = "only the MCP server uses it"))]
    pub(super) fn documents_of_session(&self, session: &str) -> rusqlite::Result<Vec<i64>> {
        let sql = "SELECT id FROM document WHERE session = ?1 AND session <> '' ORDER BY id";
        self.connection.prepare_cached(sql)?.query_map([session], |row| row.get(0))?.collect()
    }

    pub(super) fn handoff_of(&self, session: &str) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT handoff FROM document WHERE session = ?1 AND handoff <> '' ORDER BY id DESC LIMIT 1";
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
            _ => {}
        }
    }
    Ok(totals)
}

fn known_file(row: &Row<'_>, first: usize) -> rusqlite::Result<KnownFile> {
    Ok(KnownFile {
        id: row.get(first)?,
        inode: row.get(first + 1)?,
        length: row.get(first + 2)?,
        modified: row.get(first + 3)?,
        seen: row.get(first + 4)?,
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
        session: row.get(1)?,
        handoff: row.get(2)?,
        title: row.get(3)?,
        agent: row.get(4)?,
        branch: row.get(5)?,
        started: row.get(6)?,
        ended: row.get(7)?,
        is_day: row.get(8)?,
        own_key: row.get(9)?,
        run: row.get(10)?,
        is_from_outside: row.get(11)?,
        words: row.get(12)?,
    })
}

/// One transaction that changes the index.
pub(super) struct Writer<'a> {
    transaction: Transaction<'a>,
    totals: Totals,
}

impl Writer<'_> {
    pub(super) fn commit(self) -> rusqlite::Result<()> {
        let Totals { passages, words, documents } = self.totals;
        for (key, value) in [("passages", passages), ("words", words), ("documents", documents)] {
            let mut statement = self.transaction.prepare_cached("UPDATE meta SET value = ?2 WHERE key = ?1")?;
            statement.execute(params![key, value.to_string()])?;
        }
        self.transaction.commit()
    }

    /// What the index knows about a file now; another process may have indexed it meanwhile.
    pub(super) fn file(&self, path: &str) -> rusqlite::Result<Option<KnownFile>> {
        let sql = "SELECT id, inode, length, modified, seen FROM file WHERE path = ?1";
        self.transaction.prepare_cached(sql)?.query_row([path], |row| known_file(row, 0)).optional()
    }

    /// Whether a document came from this file.
    pub(super) fn has_document(&self, file: i64) -> rusqlite::Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM document WHERE file = ?1)";
        self.transaction.prepare_cached(sql)?.query_row([file], |row| row.get(0))
    }

    /// Records the state of a file and how much of it is indexed; returns its id.
    pub(super) fn set_file(&self, path: &str, place: &str, file: &KnownFile) -> rusqlite::Result<i64> {
        let sql = "INSERT INTO file (path, inode, length, modified, seen, place) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                   ON CONFLICT (path) DO UPDATE SET inode = ?2, length = ?3, modified = ?4, seen = ?5, place = ?6
                   RETURNING id";
        let mut statement = self.transaction.prepare_cached(sql)?;
        let values = params![path, file.inode, file.length, file.modified, file.seen, place];
        statement.query_row(values, |row| row.get(0))
    }

    /// Removes a file and everything that came from it.
    pub(super) fn remove_file(&mut self, id: i64) -> rusqlite::Result<()> {
        self.remove_documents(id)?;
        self.transaction.execute("DELETE FROM file WHERE id = ?1", [id])?;
        Ok(())
    }

    /// Writes a note of the index about itself.
    pub(super) fn set_meta(&self, key: &str, value: &str) -> rusqlite::Result<()> {
        let sql = "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2";
        self.transaction.prepare_cached(sql)?.execute([key, value]).map(drop)
    }

    /// Sets the text by which an archive is found; `None` if not all of it may be indexed.
    pub(super) fn set_archive_text(&self, file: i64, text: Option<&str>) -> rusqlite::Result<()> {
        match text {
            Some(text) => {
                let sql = "INSERT INTO gram (rowid, text) VALUES (?1, ?2)";
                self.transaction.prepare_cached(sql)?.execute(params![file, text]).map(drop)
            }
            None => self.transaction.prepare_cached("INSERT INTO vague VALUES (?1)")?.execute([file]).map(drop),
        }
    }

    /// Removes the documents of a file.
    pub(super) fn remove_documents(&mut self, file: i64) -> rusqlite::Result<()> {
        let documents: Vec<i64> = {
            let mut statement = self.transaction.prepare_cached("SELECT id FROM document WHERE file = ?1")?;
            statement.query_map([file], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
        };
        for sql in ["DELETE FROM gram WHERE rowid = ?1", "DELETE FROM vague WHERE file = ?1"] {
            self.transaction.prepare_cached(sql)?.execute([file])?;
        }
        for document in documents {
            let sql = "SELECT count(*), coalesce(sum(words), 0) FROM passage WHERE document = ?1";
            let (passages, words): (i64, i64) =
                self.transaction.query_row(sql, [document], |row| Ok((row.get(0)?, row.get(1)?)))?;
            for sql in [
                "DELETE FROM word WHERE rowid IN (SELECT id FROM passage WHERE document = ?1)",
                "DELETE FROM named WHERE passage IN (SELECT id FROM passage WHERE document = ?1)",
                "DELETE FROM passage WHERE document = ?1",
                "DELETE FROM ran WHERE document = ?1",
                "DELETE FROM touched WHERE document = ?1",
                "DELETE FROM document WHERE id = ?1",
            ] {
                self.transaction.prepare_cached(sql)?.execute([document])?;
            }
            self.totals.passages -= passages;
            self.totals.words -= words;
            self.totals.documents -= 1;
        }
        Ok(())
    }

    /// Adds a document.
    pub(super) fn add(&mut self, file: i64, document: &Document) -> rusqlite::Result<()> {
        let sql = "INSERT INTO document
                   (file, session, handoff, title, agent, branch, started, ended, is_day, own_key, run, is_from_outside, words)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 0)";
        let Document { session, handoff, title, agent, branch, started, ended, is_day, own_key, run, .. } = document;
        let outside = document.is_from_outside;
        let values =
            params![file, session, handoff, title, agent, branch, started, ended, is_day, own_key, run, outside];
        self.transaction.prepare_cached(sql)?.execute(values)?;
        let id = self.transaction.last_insert_rowid();
        self.totals.documents += 1;
        self.append(id, document)
    }

    /// Adds what a session said since the last time to its document. The first part decides the title unless it had none.
    pub(super) fn continue_session(&mut self, file: i64, part: &Document) -> rusqlite::Result<()> {
        let known = "SELECT id FROM document WHERE file = ?1";
        let known: Option<i64> =
            self.transaction.prepare_cached(known)?.query_row([file], |row| row.get(0)).optional()?;
        let Some(id) = known else { return self.add(file, part) };
        let sql = "UPDATE document SET ended = max(coalesce(ended, ?2), coalesce(?2, ended)),
                   branch = CASE WHEN ?3 = '' THEN branch ELSE ?3 END, title = CASE WHEN title = '' THEN ?4 ELSE title END
                   WHERE id = ?1";
        self.transaction.prepare_cached(sql)?.execute(params![id, part.ended, part.branch, part.title])?;
        self.append(id, part)
    }

    fn append(&mut self, document: i64, part: &Document) -> rusqlite::Result<()> {
        let sql = "SELECT coalesce(max(number), -1), coalesce(max(turn), -1) FROM passage WHERE document = ?1";
        let (mut number, mut turn): (i64, i64) =
            self.transaction.prepare_cached(sql)?.query_row([document], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut all_words = 0;
        for passage in &part.passages {
            number += 1;
            turn += i64::from(passage.kind.is_talk());
            let own_turn = if passage.kind.is_talk() { turn } else { -1 };
            all_words += self.add_passage(document, number, own_turn, passage)?;
        }
        let mut statement = self.transaction.prepare_cached("UPDATE document SET words = words + ?2 WHERE id = ?1")?;
        statement.execute(params![document, all_words])?;
        for touched in &part.touched {
            let sql = "INSERT INTO touched (document, path, at) VALUES (?1, ?2, ?3)";
            self.transaction.prepare_cached(sql)?.execute(params![document, touched.path, touched.at])?;
        }
        for Ran { command, at, has_passed, error } in &part.ran {
            let sql = "INSERT INTO ran (document, command, at, has_passed, error) VALUES (?1, ?2, ?3, ?4, ?5)";
            self.transaction.prepare_cached(sql)?.execute(params![document, command, at, has_passed, error])?;
        }
        Ok(())
    }

    /// Adds a passage; returns how many words it has.
    fn add_passage(&mut self, document: i64, number: i64, turn: i64, passage: &Passage) -> rusqlite::Result<i64> {
        let terms = words::line(&passage.text);
        let count = i64::try_from(words::of_line(&terms).count()).unwrap_or(i64::MAX);
        let sql = "INSERT INTO passage (document, number, turn, kind, at, words, terms, text)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let values = params![document, number, turn, passage.kind.number(), passage.at, count, terms, passage.text];
        self.transaction.prepare_cached(sql)?.execute(values)?;
        let id = self.transaction.last_insert_rowid();
        let mut statement = self.transaction.prepare_cached("INSERT INTO word (rowid, terms) VALUES (?1, ?2)")?;
        // The mark of a whole identifier separates words, as a space does.
        statement.execute(params![id, terms])?;
        if passage.kind == PassageKind::Ruling {
            for path in passage::named_files(&passage.text) {
                let name = path.rsplit('/').next().unwrap_or(path);
                let sql = "INSERT INTO named (name, path, passage) VALUES (?1, ?2, ?3)";
                self.transaction.prepare_cached(sql)?.execute(params![name, path, id])?;
            }
        }
        self.totals.passages += 1;
        self.totals.words += count;
        Ok(count)
    }
}
