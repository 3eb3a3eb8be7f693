//! Changing the index: adding, continuing and removing documents.

use std::borrow::Cow;

use rusqlite::{CachedStatement, OptionalExtension, Transaction, params};

use super::passage::{self, Document, Passage, PassageKind, Ran};
use super::store::{KnownFile, REMOVED, Totals, known_file};
use super::words;

/// One transaction that changes the index.
pub(super) struct Writer<'a> {
    transaction: Transaction<'a>,
    totals: Totals,
    /// The id of the next passage.
    next: i64,
}

impl<'a> Writer<'a> {
    pub(super) fn of(transaction: Transaction<'a>, totals: Totals, next: i64) -> Writer<'a> {
        Writer { transaction, totals, next }
    }

    pub(super) fn commit(self) -> rusqlite::Result<()> {
        let Totals { passages, words, documents, .. } = self.totals;
        for (key, value) in [("passages", passages), ("words", words), ("documents", documents)] {
            let mut statement = self.transaction.prepare_cached("UPDATE meta SET value = ?2 WHERE key = ?1")?;
            statement.execute(params![key, value.to_string()])?;
        }
        self.transaction.commit()
    }

    /// What the index knows about a file now; another process may have indexed it meanwhile.
    pub(super) fn file(&self, path: &str) -> rusqlite::Result<Option<KnownFile>> {
        let sql = "SELECT id, inode, length, modified, seen, mark FROM file WHERE path = ?1";
        self.transaction.prepare_cached(sql)?.query_row([path], |row| known_file(row, 0)).optional()
    }

    /// Whether a document came from this file.
    pub(super) fn has_document(&self, file: i64) -> rusqlite::Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM document WHERE file = ?1)";
        self.transaction.prepare_cached(sql)?.query_row([file], |row| row.get(0))
    }

    /// Records the state of a file and how much of it is indexed; returns its id.
    pub(super) fn set_file(&self, path: &str, place: &str, file: &KnownFile) -> rusqlite::Result<i64> {
        let known = "SELECT id FROM file WHERE path = ?1";
        let known: Option<i64> =
            self.transaction.prepare_cached(known)?.query_row([path], |row| row.get(0)).optional()?;
        // One statement for both would need a savepoint, and at each savepoint FTS5 writes all words that it holds.
        let sql = match known {
            Some(_) => {
                "UPDATE file SET path = ?1, inode = ?2, length = ?3, modified = ?4, seen = ?5, place = ?6, mark = ?7
                 WHERE id = ?8"
            }
            None => {
                "INSERT INTO file (path, inode, length, modified, seen, place, mark, id)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
            }
        };
        let values = params![path, file.inode, file.length, file.modified, file.seen, place, file.mark, known];
        self.transaction.prepare_cached(sql)?.execute(values)?;
        Ok(known.unwrap_or_else(|| self.transaction.last_insert_rowid()))
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

    /// Takes the words of removed passages out of the index. Until then they are only marked as removed.
    pub(super) fn forget_removed(&self) -> rusqlite::Result<()> {
        self.transaction.execute_batch(
            "INSERT INTO word (word) VALUES ('optimize'); INSERT INTO gram (gram) VALUES ('optimize');",
        )?;
        self.set_meta(REMOVED, "0")
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
            self.remove_passages(document, 0)?;
            for sql in [
                "DELETE FROM ran WHERE document = ?1",
                "DELETE FROM touched WHERE document = ?1",
                "DELETE FROM document WHERE id = ?1",
            ] {
                self.transaction.prepare_cached(sql)?.execute([document])?;
            }
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

    /// Replaces what a file said by what it says now, for a file that is read as a whole. What it begins with as before stays in
    /// the index as it is: to index a passage costs more than to read it.
    pub(super) fn replace_session(&mut self, file: i64, whole: &Document) -> rusqlite::Result<()> {
        let known = "SELECT id FROM document WHERE file = ?1 ORDER BY id";
        let known: Option<i64> =
            self.transaction.prepare_cached(known)?.query_row([file], |row| row.get(0)).optional()?;
        let Some(id) = known else { return self.add(file, whole) };
        let same = self.same_passages(id, whole)?;
        self.remove_passages(id, same)?;
        for sql in ["DELETE FROM ran WHERE document = ?1", "DELETE FROM touched WHERE document = ?1"] {
            self.transaction.prepare_cached(sql)?.execute([id])?;
        }
        let sql = "UPDATE document SET session = ?2, title = ?3, agent = ?4, branch = ?5, started = ?6, ended = ?7
                   WHERE id = ?1";
        let Document { session, title, agent, branch, started, ended, .. } = whole;
        self.transaction.prepare_cached(sql)?.execute(params![id, session, title, agent, branch, started, ended])?;
        let new = whole.passages.get(same..).unwrap_or_default().to_vec();
        self.append(
            id,
            &Document { passages: new, touched: whole.touched.clone(), ran: whole.ran.clone(), ..Document::default() },
        )
    }

    /// How many passages at the beginning of a document are those that it has now.
    fn same_passages(&self, document: i64, now: &Document) -> rusqlite::Result<usize> {
        let sql = "SELECT kind, at, text FROM passage WHERE document = ?1 ORDER BY number";
        let mut statement = self.transaction.prepare_cached(sql)?;
        let mut rows = statement.query([document])?;
        let mut same = 0;
        while let (Some(row), Some(passage)) = (rows.next()?, now.passages.get(same)) {
            let (kind, at, text): (i64, Option<i64>, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            if (kind, at, &text) != (passage.kind.number(), passage.at, &passage.text) {
                break;
            }
            same += 1;
        }
        Ok(same)
    }

    /// Removes the passages of a document from this number on.
    fn remove_passages(&mut self, document: i64, first: usize) -> rusqlite::Result<()> {
        let values = params![document, i64::try_from(first).unwrap_or(i64::MAX)];
        let sql = "SELECT count(*), coalesce(sum(words), 0) FROM passage WHERE document = ?1 AND number >= ?2";
        let (passages, words): (i64, i64) =
            self.transaction.prepare_cached(sql)?.query_row(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
        if passages == 0 {
            return Ok(());
        }
        self.set_meta(REMOVED, "1")?;
        for sql in [
            "DELETE FROM word WHERE rowid IN (SELECT id FROM passage WHERE document = ?1 AND number >= ?2)",
            "DELETE FROM named WHERE passage IN (SELECT id FROM passage WHERE document = ?1 AND number >= ?2)",
            "DELETE FROM passage WHERE document = ?1 AND number >= ?2",
        ] {
            self.transaction.prepare_cached(sql)?.execute(values)?;
        }
        let mut statement = self.transaction.prepare_cached("UPDATE document SET words = words - ?2 WHERE id = ?1")?;
        statement.execute(params![document, words])?;
        self.totals.passages -= passages;
        self.totals.words -= words;
        Ok(())
    }

    fn append(&mut self, document: i64, part: &Document) -> rusqlite::Result<()> {
        let sql = "SELECT coalesce(max(number), -1), coalesce(max(turn), -1) FROM passage WHERE document = ?1";
        let (mut number, mut turn): (i64, i64) =
            self.transaction.prepare_cached(sql)?.query_row([document], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut all_words = 0;
        let mut known = part.terms.iter();
        let mut statements = PassageStatements::of(&self.transaction)?;
        for passage in &part.passages {
            let terms =
                known.next().map_or_else(|| words::line(&passage.text).into(), |terms| Cow::Borrowed(terms.as_str()));
            number += 1;
            turn += i64::from(passage.kind.is_talk());
            let own_turn = if passage.kind.is_talk() { turn } else { -1 };
            let place = Place { id: self.next, document, number, turn: own_turn };
            self.next += 1;
            all_words += statements.add(&place, passage, &terms)?;
            if passage.kind == PassageKind::Ruling {
                self.add_named(place.id, passage)?;
            }
        }
        drop(statements);
        self.totals.passages += i64::try_from(part.passages.len()).unwrap_or(i64::MAX);
        self.totals.words += all_words;
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

    /// Adds the files that a ruling names.
    fn add_named(&self, id: i64, passage: &Passage) -> rusqlite::Result<()> {
        for path in passage::named_files(&passage.text) {
            let name = path.rsplit('/').next().unwrap_or(path);
            let sql = "INSERT INTO named (name, path, at, passage) VALUES (?1, ?2, ?3, ?4)";
            self.transaction.prepare_cached(sql)?.execute(params![name, path, passage.at, id])?;
        }
        Ok(())
    }
}

/// Where a passage is in the index.
struct Place {
    id: i64,
    document: i64,
    number: i64,
    turn: i64,
}

/// What adds a passage, found once for all passages of a document.
struct PassageStatements<'t> {
    passage: CachedStatement<'t>,
    words: CachedStatement<'t>,
}

impl<'t> PassageStatements<'t> {
    fn of(transaction: &'t Transaction<'_>) -> rusqlite::Result<PassageStatements<'t>> {
        let passage = "INSERT INTO passage (id, document, number, turn, kind, at, words, terms, text)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        // The mark of a whole identifier separates words, as a space does.
        let words = "INSERT INTO word (rowid, terms) VALUES (?1, ?2)";
        Ok(PassageStatements {
            passage: transaction.prepare_cached(passage)?,
            words: transaction.prepare_cached(words)?,
        })
    }

    /// Adds a passage with its words. Returns how many words it has.
    fn add(&mut self, place: &Place, passage: &Passage, terms: &str) -> rusqlite::Result<i64> {
        let count = i64::try_from(words::count(terms)).unwrap_or(i64::MAX);
        let Place { id, document, number, turn } = place;
        let kind = passage.kind.number();
        self.passage.execute(params![id, document, number, turn, kind, passage.at, count, terms, passage.text])?;
        self.words.execute(params![id, terms])?;
        Ok(count)
    }
}
