//! The sessions in OpenCode's database, turned into records.
//!
//! A session has no file of its own. Its path is that of the database and, below it, its id: `…/opencode.db/ses_…`. Its
//! records are made of the rows of `session`, `message` and `part`, in the order in which they were made, and only of what is
//! read of them. So they stay the same when OpenCode changes a row later (it adds summaries and drops old outputs), and a
//! place in them stays one. OpenCode 2 has other rows, which `opencode_messages` turns into the same records.
//!
//! OpenCode may be writing. Nothing here writes, waits or keeps it from writing: with a write-ahead log, a reader does not
//! block a writer. Without one, no process has the database open, and it is read without any lock.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OpenFlags, Row, Statement};
use serde_json::{Value, json};

use super::opencode::RECORD;
use super::{bounded_json, opencode_messages};
use crate::base::fs::{self, FileState};
use crate::error::{Error, Result};

/// How much of a session is kept.
const MAX_CONTENT: u64 = 256 << 20;
/// Larger rows are passed over.
pub(super) const MAX_ROW: i64 = 8 << 20;
/// How many messages and parts of a session are read.
pub(super) const MAX_ROWS: usize = 200_000;
/// How much of a text or output is kept in a record.
const MAX_TEXT: usize = 64 << 10;
/// How many sessions of a project are listed.
const MAX_SESSIONS: usize = 10_000;
/// How long an id is at most.
pub(super) const MAX_ID: usize = 100;

/// The sessions of a database that has both tables. One that OpenCode 2 has taken over is in both.
const SESSIONS_OF_BOTH: &str = "(SELECT id, directory, title, parent_id, time_updated FROM session_v2 UNION ALL
    SELECT id, directory, title, parent_id, time_updated FROM session WHERE id NOT IN (SELECT id FROM session_v2))";

/// What the row of a session says about it.
pub(super) struct SessionRow {
    pub directory: String,
    pub title: String,
    pub is_child: bool,
}

/// The database and the id in the path of a session.
pub(super) fn parts(path: &Path) -> Option<(&Path, &str)> {
    let (database, id) = (path.parent()?, path.file_name()?.to_str()?);
    let name = database.file_name()?.to_str()?;
    let is_session = id.starts_with("ses") && id.len() <= MAX_ID && !id.contains('.');
    (name.starts_with(RECORD) && name.ends_with(".db") && is_session).then_some((database, id))
}

/// An open database.
struct Database {
    connection: Connection,
    /// Where its sessions are: the name of a table, or a query in parentheses.
    sessions: &'static str,
    /// Whether it has the tables of OpenCode 1, `message` and `part`.
    has_parts: bool,
    /// Whether it has the table of OpenCode 2, `session_message`.
    has_messages: bool,
    has_sessions_of_two: bool,
}

impl Database {
    /// What the tables of a database say about it. `None` if they are not those of OpenCode. A view is no table: it could run
    /// for ever.
    fn of(connection: Connection) -> rusqlite::Result<Option<Database>> {
        let has = |name: &str| -> rusqlite::Result<bool> {
            let query = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
            connection.query_row(query, [name], |row| row.get::<_, i64>(0)).map(|count| count > 0)
        };
        let (of_one, of_two) = (has("session")?, has("session_v2")?);
        let has_parts = of_one && has("message")? && has("part")?;
        let has_messages = has("session_message")?;
        let sessions = match (of_one, of_two && has_messages) {
            (true, true) => SESSIONS_OF_BOTH,
            (false, true) => "session_v2",
            (true, false) if has_parts || has_messages => "session",
            _ => return Ok(None),
        };
        Ok(Some(Database { connection, sessions, has_parts, has_messages, has_sessions_of_two: of_two }))
    }

    fn count(&self, query: &str, id: &str) -> rusqlite::Result<i64> {
        self.connection.query_row(query, [id], |row| row.get(0))
    }

    /// Whether OpenCode 2 wrote a session last.
    fn is_of_two(&self, id: &str) -> rusqlite::Result<bool> {
        if !self.has_messages || !self.has_parts {
            return Ok(self.has_messages);
        }
        let is_taken_over =
            self.has_sessions_of_two && self.count("SELECT count(*) FROM session_v2 WHERE id = ?1", id)? > 0;
        let messages = "SELECT count(*) FROM (SELECT 1 FROM message WHERE session_id = ?1 LIMIT 1)";
        Ok(is_taken_over || self.count(messages, id)? == 0)
    }
}

/// Opens a database for reading. `None` if there is none.
fn connect(database: &Path) -> Result<Option<Database>> {
    // Opening refuses anything but a regular file, without waiting.
    if fs::open_if_exists(database)?.is_none() {
        return Ok(None);
    }
    let failed = |cause: rusqlite::Error| unreadable(database, cause);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = if is_in_use(database) {
        Connection::open_with_flags(database, flags).map_err(failed)?
    } else {
        // SQLite would make the files of the write-ahead log. Nobody has it open, so that it does not change.
        let uri = format!("file:{}?immutable=1", escaped(database));
        Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI).map_err(failed)?
    };
    connection.busy_timeout(Duration::from_millis(100)).map_err(failed)?;
    connection.execute_batch("PRAGMA query_only = 1; PRAGMA trusted_schema = 0").map_err(failed)?;
    Database::of(connection).map_err(failed)?.map(Some).ok_or_else(|| unknown(database))
}

/// Why the sessions in a database cannot be read, if it is there.
pub(super) fn trouble(database: &Path) -> Option<Error> {
    connect(database).err()
}

/// Whether a process may be writing: it leaves a write-ahead log, which is removed when the last one has closed.
fn is_in_use(database: &Path) -> bool {
    let log = |ending: &str| {
        let mut name = database.as_os_str().to_owned();
        name.push(ending);
        fs::length(Path::new(&name))
    };
    log("-wal").is_some_and(|length| length > 0) || log("-journal").is_some()
}

fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

fn unreadable(database: &Path, cause: rusqlite::Error) -> Error {
    Error::bad_data(format!("the sessions in `{}` cannot be read", database.display())).cause(cause)
}

fn unknown(database: &Path) -> Error {
    Error::bad_data(format!("`{}` has no sessions of OpenCode that this program can read", database.display()))
}

/// The paths of the sessions in or below these directories, newest first, and whether these are all.
pub(super) fn sessions(database: &Path, roots: &[PathBuf], most: usize) -> Result<(Vec<PathBuf>, bool)> {
    let Some(open) = connect(database)? else { return Ok((Vec::new(), true)) };
    let failed = |cause| unreadable(database, cause);
    let most = most.min(MAX_SESSIONS);
    let query = format!(
        "SELECT id FROM {} WHERE directory = ?1 OR substr(directory, 1, length(?1) + 1) = ?1 || '/'
         ORDER BY time_updated DESC LIMIT ?2",
        open.sessions
    );
    let mut statement = open.connection.prepare(&query).map_err(failed)?;
    let mut found = Vec::new();
    let mut is_whole = true;
    for root in roots {
        let root = root.to_string_lossy();
        let limit = i64::try_from(most).unwrap_or(i64::MAX).saturating_add(1);
        let ids = statement.query_map((root.as_ref(), limit), |row| row.get::<_, String>(0)).map_err(failed)?;
        let ids: Vec<String> = ids.filter_map(std::result::Result::ok).collect();
        is_whole &= ids.len() <= most;
        let paths = ids.into_iter().take(most).map(|id| database.join(id));
        found.extend(paths.filter(|path| parts(path).is_some()));
    }
    Ok((found, is_whole))
}

/// The row of a session. `None` if there is none, or if it cannot be read.
pub(super) fn row(path: &Path) -> Option<SessionRow> {
    let (database, id) = parts(path)?;
    let open = connect(database).ok()??;
    let query = format!("SELECT directory, title, parent_id IS NOT NULL FROM {} WHERE id = ?1", open.sessions);
    let row = |row: &Row<'_>| {
        Ok(SessionRow {
            directory: row.get(0)?,
            title: row.get::<_, Option<String>>(1)?.unwrap_or_default(),
            is_child: row.get(2)?,
        })
    };
    open.connection.query_row(&query, [id], row).ok()
}

/// The sessions that a session started.
pub(super) fn children(path: &Path) -> Vec<PathBuf> {
    let found = || -> Option<Vec<PathBuf>> {
        let (database, id) = parts(path)?;
        let open = connect(database).ok()??;
        let query =
            format!("SELECT id FROM {} WHERE parent_id = ?1 ORDER BY time_updated DESC LIMIT 1000", open.sessions);
        let mut statement = open.connection.prepare(&query).ok()?;
        let ids = statement.query_map([id], |row| row.get::<_, String>(0)).ok()?;
        let paths = ids.filter_map(std::result::Result::ok).map(|id| database.join(id));
        Some(paths.filter(|path| parts(path).is_some()).collect())
    };
    found().unwrap_or_default()
}

/// The state of a session. `None` if there is none.
pub(super) fn state(path: &Path) -> Option<FileState> {
    states(&[path.to_path_buf()]).pop().flatten()
}

/// The states of sessions, in their order. A database is opened once for all of its sessions that follow each other.
pub(super) fn states(paths: &[PathBuf]) -> Vec<Option<FileState>> {
    let mut open: Option<(&Path, Option<Database>)> = None;
    let mut states = Vec::with_capacity(paths.len());
    for path in paths {
        let Some((database, id)) = parts(path) else {
            states.push(None);
            continue;
        };
        if open.as_ref().is_none_or(|(known, _)| *known != database) {
            open = Some((database, connect(database).ok().flatten()));
        }
        let found = open.as_ref().and_then(|(_, found)| found.as_ref());
        states.push(found.and_then(|found| state_in(found, id)));
    }
    states
}

/// The time of the last change of a session stands for its length.
fn state_in(open: &Database, id: &str) -> Option<FileState> {
    let newest = |has_it: bool, table: &str| {
        let query = format!("coalesce((SELECT max(time_updated) FROM {table} WHERE session_id = ?1), 0)");
        if has_it { query } else { "0".to_owned() }
    };
    let query = format!(
        "SELECT max(time_updated, {}, {}) FROM {} WHERE id = ?1",
        newest(open.has_parts, "part"),
        newest(open.has_messages, "session_message"),
        open.sessions
    );
    let millis: i64 = open.connection.prepare_cached(&query).ok()?.query_row([id], |row| row.get(0)).ok()?;
    let millis = u64::try_from(millis).ok()?;
    let modified = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(millis))?;
    Some(FileState { inode: 0, length: millis, modified, changed: modified, owner: 0 })
}

/// The records of a session, up to `most` bytes, in a file without a name. `None` if there is no such session.
pub(super) fn open(path: &Path, most: u64) -> Result<Option<File>> {
    let Some((database, id)) = parts(path) else { return Ok(None) };
    for _ in 0..3 {
        let was_in_use = is_in_use(database);
        let Some(open) = connect(database)? else { return Ok(None) };
        let found = export(&open, id, most.min(MAX_CONTENT));
        // A process that began to write meanwhile may have changed the file while it was read without a lock.
        if was_in_use || !is_in_use(database) {
            return found.map_err(|cause| unreadable(database, cause));
        }
    }
    Err(unknown(database).hint("OpenCode is writing to it: try again later"))
}

fn export(open: &Database, id: &str, most: u64) -> rusqlite::Result<Option<File>> {
    if open.count(&format!("SELECT count(*) FROM {} WHERE id = ?1", open.sessions), id)? == 0 {
        return Ok(None);
    }
    let mut scratch = fs::scratch_file().map_err(io_failed)?;
    let mut records = Records { out: BufWriter::new(&mut scratch), written: 0, most };
    if open.is_of_two(id)? {
        opencode_messages::export(&open.connection, id, &mut records)?;
    } else {
        export_parts(&open.connection, id, &mut records)?;
    }
    records.out.flush().map_err(io_failed)?;
    drop(records);
    scratch.seek(SeekFrom::Start(0)).map_err(io_failed)?;
    Ok(Some(scratch))
}

fn io_failed(cause: io::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(cause))
}

/// The records of a session while they are written.
pub(super) struct Records<'a> {
    out: BufWriter<&'a mut File>,
    written: u64,
    most: u64,
}

impl Records<'_> {
    pub(super) fn are_full(&self) -> bool {
        self.written >= self.most
    }

    fn put(&mut self, record: &Value) -> rusqlite::Result<()> {
        let line = format!("{record}\n");
        self.written += line.len() as u64;
        self.out.write_all(line.as_bytes()).map_err(io_failed)
    }

    /// Writes the parts of a message. An error of a message without any part is a record, too: it may name a limit.
    pub(super) fn put_message(
        &mut self,
        message: &Value,
        at: i64,
        parts: impl Iterator<Item = Value>,
    ) -> rusqlite::Result<()> {
        let mut is_empty = true;
        for part in parts {
            if self.are_full() {
                return Ok(());
            }
            if let Some(record) = record(message, at, &part) {
                is_empty = false;
                self.put(&record)?;
            }
        }
        let error = json!({ "type": "error" });
        match record(message, at, &error) {
            Some(record) if is_empty && message["error"]["data"]["message"].is_string() => self.put(&record),
            _ => Ok(()),
        }
    }
}

/// The value in a column, if it is JSON that is kept in memory.
pub(super) fn parsed(data: &str) -> Option<Value> {
    bounded_json::parse_to_keep(data.as_bytes())
}

fn export_parts(connection: &Connection, id: &str, records: &mut Records<'_>) -> rusqlite::Result<()> {
    // Only ids are sorted: rows with their data would not fit into memory.
    let messages = "SELECT id, time_created FROM message WHERE session_id = ?1 AND length(id) <= ?2
                    ORDER BY time_created, id LIMIT ?3";
    let mut messages = connection.prepare(messages)?;
    let messages = messages.query_map((id, MAX_ID as i64, MAX_ROWS as i64), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let messages: Vec<(String, i64)> = messages.filter_map(std::result::Result::ok).collect();
    let parts =
        "SELECT message_id, id FROM part WHERE session_id = ?1 AND length(id) <= ?2 AND length(message_id) <= ?2
                 LIMIT ?3";
    let mut parts = connection.prepare(parts)?;
    let parts = parts.query_map((id, MAX_ID as i64, MAX_ROWS as i64), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut parts: Vec<(String, String)> = parts.filter_map(std::result::Result::ok).collect();
    parts.sort();
    let mut of_message = connection.prepare("SELECT data FROM message WHERE id = ?1 AND octet_length(data) <= ?2")?;
    let mut of_part = connection.prepare("SELECT data FROM part WHERE id = ?1 AND octet_length(data) <= ?2")?;
    let data = |statement: &mut Statement<'_>, id: &str| {
        statement.query_row((id, MAX_ROW), |row| row.get::<_, String>(0)).ok().as_deref().and_then(parsed)
    };
    for (message, at) in &messages {
        let Some(about) = data(&mut of_message, message) else { continue };
        let start = parts.partition_point(|(other, _)| other < message);
        let own = parts[start..].iter().take_while(|(other, _)| other == message);
        records.put_message(&about, *at, own.filter_map(|(_, part)| data(&mut of_part, part)))?;
        if records.are_full() {
            break;
        }
    }
    Ok(())
}

/// A part of a message as a record, with what is read of it. `None` for parts that say nothing.
fn record(message: &Value, at: i64, part: &Value) -> Option<Value> {
    let text = |value: &Value| crate::base::text::cut(value.as_str().unwrap_or_default(), MAX_TEXT).to_owned();
    let content = match part["type"].as_str()? {
        "text" => json!({
            "type": "text", "text": text(&part["text"]),
            "synthetic": part["synthetic"] == true || part["ignored"] == true,
        }),
        "tool" => {
            let state = &part["state"];
            let mut input = state["input"].clone();
            // The contents of files are not read.
            if let Some(input) = input.as_object_mut() {
                input.retain(|name, _| !matches!(name.as_str(), "content" | "oldString" | "newString" | "edits"));
            }
            let metadata = &state["metadata"];
            json!({
                "type": "tool", "tool": part["tool"], "callID": part["callID"], "status": state["status"],
                "input": input, "output": text(&state["output"]), "error": text(&state["error"]),
                "exit": metadata["exit"], "answers": metadata["answers"],
            })
        }
        "error" => json!({ "type": "error" }),
        _ => return None,
    };
    let model = message["modelID"].as_str().or_else(|| message["model"]["modelID"].as_str());
    let is_summary = message["summary"] == true;
    let failed = &message["error"]["name"];
    Some(json!({
        RECORD: content, "role": message["role"], "at": at, "model": model, "summary": is_summary, "failed": failed,
        "said": text(&message["error"]["data"]["message"]),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_session_in_a_database_of_opencode_has_such_a_path() {
        for (path, expected) in [
            ("/h/opencode/opencode.db/ses_1", true),
            ("/h/opencode/opencode-dev.db/ses_1", true),
            ("/h/opencode/opencode.db", false),
            ("/h/other.db/ses_1", false),
            ("/h/opencode.db/notes.jsonl", false),
            ("/h/opencode.db/ses_1.jsonl", false),
        ] {
            assert_eq!(parts(Path::new(path)).is_some(), expected, "{path}");
        }
    }

    #[test]
    fn a_database_that_is_none_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("opencode.db");
        assert!(open(&database.join("ses_1"), u64::MAX).unwrap().is_none());
        for content in ["", "SQLite format 3\0 and then nothing", "{}"] {
            std::fs::write(&database, content).unwrap();
            assert!(open(&database.join("ses_1"), u64::MAX).is_err(), "{content}");
            assert_eq!(state(&database.join("ses_1")), None);
        }
        let names = std::fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(names, 1, "reading makes no file");
    }
}
