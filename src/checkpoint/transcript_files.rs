//! How much of each session file on disk sweeps have handed over.
//!
//! Progress is kept for each file, not as a time. A file is owed if it is not recorded here, if it has grown since, or if
//! another file has taken its place. So a wrong clock never makes a sweep pass over a session.

use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;

use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::Store;
use super::session::signed;
use crate::base::{clock, fs};
use crate::error::Result;

/// Sessions beyond this many are forgotten, oldest first, once they are over and their file is gone.
const KEPT_SESSIONS: i64 = 5_000;

/// A file that is handed over completely, as long as it has this inode and length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DoneFile {
    pub path: String,
    pub inode: u64,
    pub length: u64,
}

/// The files that are handed over completely.
#[derive(Debug, Default)]
pub(crate) struct DoneFiles {
    /// Inode and length, by path.
    states: HashMap<String, Vec<(u64, u64)>>,
    /// The paths that sweeps recorded. The others are known from sessions.
    recorded: Vec<String>,
}

impl DoneFiles {
    /// Whether nothing is owed of a file in this state. An inode that was not recorded matches any.
    pub(crate) fn has(&self, path: &str, inode: u64, length: u64) -> bool {
        let done = self.states.get(path).map(Vec::as_slice).unwrap_or_default();
        done.iter().any(|(known, up_to)| (*known == inode || *known == 0) && *up_to == length)
    }

    /// Whether the file was dealt with before, in whatever state.
    pub(crate) fn has_seen(&self, path: &str) -> bool {
        self.states.contains_key(path)
    }

    /// The paths that sweeps recorded.
    pub(crate) fn recorded(&self) -> &[String] {
        &self.recorded
    }
}

impl Store {
    /// When the project was first used, by the clock of the file system. `None` if nobody knows.
    pub(crate) fn since(&self) -> Result<Option<SystemTime>> {
        let sql = "SELECT value FROM meta WHERE key = 'since'";
        let stamp: Option<String> =
            self.ask(|connection| connection.query_row(sql, [], |row| row.get(0)).optional())?;
        Ok(stamp.and_then(|stamp| clock::parse_stamp(&stamp)).map(SystemTime::from))
    }

    /// Changes when the project was first used. Only for a database that replaces another one.
    pub(super) fn move_since(&mut self, first: SystemTime) -> Result<()> {
        let stamp = clock::stamp(&clock::of_file(first));
        self.write(|transaction| {
            transaction.execute("UPDATE meta SET value = ?1 WHERE key = 'since'", [&stamp]).map(|_| ())
        })
    }

    /// The recorded files whose paths are between `first` and `last`, with each state in which nothing of them was owed.
    pub(crate) fn done_files(&self, first: &str, last: &str) -> Result<DoneFiles> {
        let sql = "SELECT path, inode, length, 1 FROM transcript_file WHERE path BETWEEN ?1 AND ?2
                   UNION ALL
                   SELECT transcript, inode, handed_over, 0 FROM session
                   WHERE transcript BETWEEN ?1 AND ?2 AND (is_over = 1 OR handed_over > 0)";
        let mut files = DoneFiles::default();
        self.ask(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([first, last])?;
            while let Some(row) = rows.next()? {
                let number = |at: usize| row.get::<_, i64>(at).map(|value| u64::try_from(value).unwrap_or(0));
                let path: String = row.get(0)?;
                if row.get(3)? {
                    files.recorded.push(path.clone());
                }
                files.states.entry(path).or_default().push((number(1)?, number(2)?));
            }
            Ok(())
        })?;
        Ok(files)
    }

    /// The directories whose older files, from before the project was first used, are recorded already.
    pub(crate) fn known_places(&self) -> Result<Vec<String>> {
        let sql = "SELECT path FROM transcript_place";
        self.ask(|connection| connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect())
    }

    /// Records that nothing is owed of these files, and that all older files of these directories are recorded. It does not
    /// wait for the disk: after a power cut, the files are looked at again.
    pub(crate) fn nothing_is_owed(&mut self, files: &[DoneFile], places: &[String]) -> Result<()> {
        if files.is_empty() && places.is_empty() {
            return Ok(());
        }
        self.write(|transaction| {
            files.iter().try_for_each(|file| insert(transaction, file))?;
            for place in places {
                transaction
                    .execute("INSERT INTO transcript_place (path) VALUES (?1) ON CONFLICT DO NOTHING", [place])?;
            }
            Ok(())
        })
    }

    /// Forgets files that do not exist any more, and the oldest sessions without a file.
    pub(crate) fn forget_files(&mut self, gone: &[String]) -> Result<()> {
        let sessions = self.sessions_without_file()?;
        if gone.is_empty() && sessions.is_empty() {
            return Ok(());
        }
        self.write(|transaction| {
            for path in gone {
                transaction.execute("DELETE FROM transcript_file WHERE path = ?1", [path])?;
            }
            for seq in sessions {
                transaction.execute("DELETE FROM session WHERE seq = ?1 AND is_over = 1", [seq])?;
            }
            Ok(())
        })
    }

    /// The sessions that can be forgotten: old, over, and without a file that could be taken for a new one.
    fn sessions_without_file(&self) -> Result<Vec<i64>> {
        let sql = "SELECT seq, transcript FROM session
                   WHERE seq <= (SELECT max(seq) FROM session) - ?1 AND is_over = 1";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let old: Vec<(i64, String)> =
            self.ask(|connection| connection.prepare(sql)?.query_map([KEPT_SESSIONS], read)?.collect())?;
        let is_gone = |transcript: &str| transcript.is_empty() || !fs::is_taken(Path::new(transcript));
        Ok(old.into_iter().filter(|(_, transcript)| is_gone(transcript)).map(|(seq, _)| seq).collect())
    }
}

/// Records a file. A path has one row: the newest state counts.
fn insert(transaction: &Transaction<'_>, file: &DoneFile) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("INSERT OR REPLACE INTO transcript_file (path, inode, length) VALUES (?1, ?2, ?3)")?
        .execute(params![file.path, signed(file.inode), signed(file.length)])
        .map(|_| ())
}

/// Records how much of a session's file was handed over, before the row of the session names another file.
pub(super) fn keep_left_file(
    transaction: &Transaction<'_>,
    agent: &str,
    id: &str,
    other: &str,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO transcript_file (path, inode, length)
             SELECT transcript, inode, handed_over FROM session
             WHERE agent = ?1 AND id = ?2 AND ?3 NOT IN ('', transcript) AND transcript <> '' AND handed_over > 0",
        )?
        .execute([agent, id, other])
        .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;
    use crate::checkpoint::CheckpointFile;

    fn store() -> (tempfile::TempDir, Store) {
        let directory = crate::base::scratch::directory();
        let store = Store::open(&CheckpointFile::beside(&directory.path().join("c.db"))).unwrap();
        (directory, store)
    }

    #[test]
    fn a_file_is_done_in_the_state_that_was_recorded() {
        let (_directory, mut store) = store();
        let file = |length| DoneFile { path: "/p/b.jsonl".into(), inode: 7, length };
        store.nothing_is_owed(&[file(10)], &["/p".into()]).unwrap();
        let done = store.done_files("/p/a", "/p/c").unwrap();
        assert!(done.has("/p/b.jsonl", 7, 10));
        assert!(!done.has("/p/b.jsonl", 7, 11) && !done.has("/p/b.jsonl", 8, 10) && !done.has("/p/c.jsonl", 7, 10));
        assert_eq!(store.known_places().unwrap(), ["/p"]);
        assert!(!store.done_files("/p/c", "/p/d").unwrap().has_seen("/p/b.jsonl"));
        store.forget_files(&["/p/b.jsonl".into()]).unwrap();
        assert!(!store.done_files("/p/a", "/p/c").unwrap().has_seen("/p/b.jsonl"));
    }

    #[test]
    fn a_session_is_forgotten_only_when_its_file_is_gone() {
        let (directory, mut store) = store();
        let kept = directory.path().join("kept.jsonl");
        std::fs::write(&kept, "").unwrap();
        let sql = "INSERT INTO session (seq, agent, id, transcript, process, started_at, seen_at, is_over)
                   VALUES (?1, 'codex', ?1, ?2, '', '', '', ?3)";
        let rows = [(1, "/gone", 1), (2, kept.to_str().unwrap(), 1), (3, "/gone", 0), (KEPT_SESSIONS + 9, "/gone", 1)];
        for row in rows {
            store.connection.execute(sql, row).unwrap();
        }
        store.forget_files(&[]).unwrap();
        let left: Vec<i64> =
            store.all_sessions().unwrap().iter().map(|(session, _)| session.id.parse().unwrap()).collect();
        assert_eq!(left, [2, 3, KEPT_SESSIONS + 9]);
    }

    #[test]
    fn a_new_database_knows_when_it_was_made_and_that_never_moves() {
        let (directory, store) = store();
        let made = std::fs::metadata(directory.path().join("c.db")).unwrap().modified().unwrap();
        let since = store.since().unwrap().unwrap();
        assert!(since <= made && made.duration_since(since).unwrap().as_secs() < 60, "{since:?} {made:?}");
        drop(store);
        let again = Store::open(&CheckpointFile::beside(&directory.path().join("c.db"))).unwrap();
        assert_eq!(again.since().unwrap(), Some(since));
    }

    /// The sessions that ended while the database was damaged are not on record.
    #[test]
    fn a_database_that_replaces_a_damaged_one_begins_where_that_ended() {
        let directory = crate::base::scratch::directory();
        let path = directory.path().join("c.db");
        std::fs::write(&path, "not a database").unwrap();
        let written = SystemTime::now() - std::time::Duration::from_secs(7_200);
        std::fs::File::options().append(true).open(&path).unwrap().set_modified(written).unwrap();
        let (store, aside) = crate::checkpoint::open_or_replace(&CheckpointFile::beside(&path), ".damaged").unwrap();
        assert!(aside.is_some());
        let since = store.since().unwrap().unwrap();
        assert!(since <= written && written.duration_since(since).unwrap().as_millis() < 2, "{since:?} {written:?}");
    }

    #[test]
    fn a_database_of_0_1_0_was_first_used_at_its_earliest_time() {
        let (directory, store) = store();
        schema::as_of_0_1_0(&store.connection).unwrap();
        store
            .connection
            .execute_batch(
                "INSERT INTO run (id, status, recorded_at, agent, tag, memory_dir)
                     VALUES ('a', 'completed', '2026-11-02T01:00:00.000+14:00', '', '', '');
                 INSERT INTO session (agent, id, transcript, process, started_at, seen_at)
                     VALUES ('codex', 's', '', '', '2026-11-01T12:00:00.000Z', '');",
            )
            .unwrap();
        drop(store);
        let store = Store::open(&CheckpointFile::beside(&directory.path().join("c.db"))).unwrap();
        let since = store.since().unwrap().map(|since| clock::stamp(&clock::of_file(since).to_utc().fixed_offset()));
        assert_eq!(since.as_deref(), Some("2026-11-01T11:00:00.000Z"));
    }
}
