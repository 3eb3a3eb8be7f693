//! Opening `checkpoint.db`: for writing, for reading, and when it cannot be used.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::Store;
use super::failure::{Failure, damaged, explain};
use super::file::{self, CheckpointFile, unreadable};
use super::schema;
use super::space::{FOLDED_PAGES, INCREMENTAL, LONG_LOG};
use crate::base::{fault, signals};
use crate::error::{Error, Result};

/// How long a writer waits for another writer; each holds the database for one small transaction.
const WRITER_WAIT: Duration = Duration::from_secs(20);
/// How long a hook waits for other writers in all, because an agent waits for the hook. The shortest limit that an agent sets
/// is three seconds.
const HOOK_WAIT: Duration = Duration::from_secs(2);
/// How long a hook waits once more for a single write when that time is up.
const SHORT_WAIT: Duration = Duration::from_millis(200);
/// A reader only ever meets a lock while SQLite recovers the file of a killed process.
const READER_WAIT: Duration = Duration::from_millis(200);

/// A link that takes the place of a directory after we looked is not followed.
const ALWAYS: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX.union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

/// How long to wait for another writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    Long,
    Short,
}

impl Store {
    /// Opens the file for writing, and creates it if it is missing.
    pub(crate) fn open(file: &CheckpointFile) -> Result<Store> {
        Ok(Store::open_with(file, Patience::Long)?)
    }

    /// Like [`Store::open`], for a hook: it waits for other writers no longer than an agent waits for it.
    pub(crate) fn open_briefly(file: &CheckpointFile) -> Result<Store> {
        Ok(Store::open_with(file, Patience::Short)?)
    }

    fn open_with(file: &CheckpointFile, patience: Patience) -> Result<Store, Failure> {
        let path = file.path.as_path();
        let refused = |error| Failure::Other(Error::from(error));
        file.create_if_absent().map_err(refused)?;
        if let Some(about) = file.examine().map_err(refused)? {
            file.refuse_foreign_owner(&about).map_err(Failure::Unusable)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | ALWAYS;
        let connection =
            Connection::open_with_flags(file.path_without_links(), flags).map_err(|cause| explain(path, cause))?;
        let mut store = Store { connection, file: file.clone(), scratch: None };
        store.prepare(patience).map_err(|cause| explain(path, cause))?;
        let version = store.version()?;
        if version < schema::newest() {
            if version > 0 {
                store.refuse_foreign(version)?;
            }
            store.migrate()?;
            fault::at("checkpoint.created");
        } else if version > schema::newest() {
            return Err(newer(path, version));
        }
        let id = store.refuse_foreign(schema::newest())?;
        store.remember_as_ours(id.as_deref());
        Ok(store)
    }

    fn prepare(&mut self, patience: Patience) -> rusqlite::Result<()> {
        match patience {
            Patience::Long => self.connection.busy_handler(Some(wait_for_writer))?,
            Patience::Short => self.connection.busy_handler(Some(wait_in_hook))?,
        }
        // Otherwise the last connection folds the log into the file when it closes, at the cost of four fsyncs.
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // Instead the log is folded in when a run completes and the log has grown (see `give_back_space`). In a long run SQLite also
        // does it now and then, because writing over an old log is cheaper than making it longer.
        let settings = format!("PRAGMA wal_autocheckpoint = {FOLDED_PAGES}; PRAGMA synchronous = FULL");
        self.connection.execute_batch(&settings)?;
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
        let tables: i64 = self.connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        // A log that was long once is cut when SQLite begins it anew.
        self.connection.pragma_update_and_check(None, "journal_size_limit", LONG_LOG.cast_signed(), |_| Ok(()))?;
        // Only an empty file is switched to the mode we want; opening changes nothing in any other file.
        if tables > 0 {
            return Ok(());
        }
        // It has to be chosen before the first table.
        self.connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
        self.switch_to_wal()
    }

    /// Does what is worth no waiting for other processes. The store is one with a long patience.
    pub(super) fn without_waiting(&mut self, work: impl FnOnce(&Connection)) {
        if self.connection.busy_handler(None::<fn(i32) -> bool>).is_ok() {
            work(&self.connection);
        }
        let _ = self.connection.busy_handler(Some(wait_for_writer));
    }

    /// Switches the file to WAL mode. That needs the file exclusively for a moment, and SQLite does not wait for it.
    fn switch_to_wal(&self) -> rusqlite::Result<()> {
        for pause in [1, 2, 5, 10, 20, 50, 100, 200, 400, 800] {
            match self.connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())) {
                Err(cause) if cause.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                    std::thread::sleep(Duration::from_millis(pause));
                }
                other => return other,
            }
        }
        // Another process uses the file; it works in any mode.
        Ok(())
    }

    /// Opens the file for reading, without a logical write and without waiting. `None` if nothing is recorded yet.
    pub(crate) fn read(file: &CheckpointFile) -> Result<Option<Store>> {
        // A process that died before it could record anything leaves a file of version 0.
        let Some((store, version)) = Store::look(file)?.filter(|(_, version)| *version > 0) else { return Ok(None) };
        store.refuse_foreign(version)?;
        Ok(Some(store))
    }

    /// Opens the file for reading, whoever wrote it, and returns its version. `None` if there is no file.
    pub(super) fn look(file: &CheckpointFile) -> Result<Option<(Store, i32)>> {
        let path = file.path.as_path();
        let Some(about) = file.examine().map_err(unreadable)? else { return Ok(None) };
        file.refuse_foreign_owner(&about)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | ALWAYS;
        let connection =
            Connection::open_with_flags(file.path_without_links(), flags).map_err(|cause| explain(path, cause))?;
        connection.busy_timeout(READER_WAIT).map_err(|cause| explain(path, cause))?;
        let mut store = Store { connection, file: file.clone(), scratch: None };
        let version = match store.version() {
            // SQLite needs a shared memory file, which it cannot create in a read-only directory. A copy can be read.
            Err(Failure::Io(_)) => {
                store.read_a_copy()?;
                store.version()?
            }
            version => version?,
        };
        Ok(Some((store, version)))
    }

    fn read_a_copy(&mut self) -> Result<()> {
        let path = &self.file.path;
        let no_place = |cause| Error::io("make a temporary copy of", path, cause);
        let scratch = tempfile::tempdir().map_err(no_place)?;
        let copy = self.file.copy_into(scratch.path())?;
        self.connection = Connection::open(&copy).map_err(|cause| explain(path, cause))?;
        self.scratch = Some(scratch);
        Ok(())
    }

    /// The format of the file, after making sure that this program wrote it; 0 if the file is empty.
    pub(super) fn version(&self) -> Result<i32, Failure> {
        let pragma = |name: &str| self.connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
        let explained = |cause| explain(&self.file.path, cause);
        // The version was written together with the mark of this program.
        if pragma("application_id").map_err(explained)? == schema::APPLICATION_ID {
            return pragma("user_version").map_err(explained);
        }
        let ask = || -> rusqlite::Result<(i32, i32, i64)> {
            // One transaction, because another process may create the tables between two questions.
            let look = self.connection.unchecked_transaction()?;
            let pragma = |name: &str| look.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
            let tables = look.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
            Ok((pragma("user_version")?, pragma("application_id")?, tables))
        };
        match ask().map_err(explained)? {
            (version, schema::APPLICATION_ID, _) => Ok(version),
            (0, _, 0) => Ok(0),
            _ => Err(damaged(&self.file.path, "it is a database of another program")),
        }
    }

    /// Whether a run is on record although recording it failed. The disk may refuse after the log was written; then the
    /// next process that opens the file decides what the log means, so this opens the file again.
    pub(crate) fn recorded_despite_error(&mut self, id: &str) -> bool {
        let Ok(nothing) = Connection::open_in_memory() else { return false };
        drop(std::mem::replace(&mut self.connection, nothing));
        match Store::open(&self.file) {
            Ok(again) => {
                *self = again;
                self.run_by_id(id).is_ok_and(|run| run.is_some())
            }
            Err(_) => false,
        }
    }
}

/// Opens the file for writing after reading all of it. A file that cannot be used is moved aside, to the path that is
/// returned, and replaced by an empty one. A file that a newer program wrote stays where it is.
pub(crate) fn open_or_replace(file: &CheckpointFile, suffix: &str) -> Result<(Store, Option<PathBuf>)> {
    let opened = Store::open_with(file, Patience::Long).and_then(|store| {
        store.read_everything()?;
        Ok(store)
    });
    match opened {
        Ok(store) => Ok((store, None)),
        Err(Failure::Unusable(_)) if !is_newer_format(&file.path) => {
            let aside = file.move_aside(suffix)?;
            let mut store = Store::open(file)?;
            // The sessions since then could not be recorded. They are owed.
            if let Some(written) = file::last_written(&aside) {
                store.move_since(written)?;
            }
            Ok((store, Some(aside)))
        }
        Err(failure) => Err(failure.into()),
    }
}

#[cfg(test)]
thread_local! {
    /// How often this thread waited for another writer.
    pub(super) static WAITS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Waits for another writer until the time is up or a signal asks this process to end.
fn wait_for_writer(tries: i32) -> bool {
    #[cfg(test)]
    WAITS.set(WAITS.get() + 1);
    let pause = Duration::from_millis(5);
    std::thread::sleep(pause);
    signals::received().is_none() && pause * tries.unsigned_abs() < WRITER_WAIT
}

/// Waits for another writer in a process that is a hook. Many hooks may come at once and all of them wait here. Each looks again
/// soon and at a moment of its own: with the growing pauses of SQLite, those that came first would wait longest.
fn wait_in_hook(tries: i32) -> bool {
    static FIRST_WAIT: OnceLock<Instant> = OnceLock::new();
    let pause = Duration::from_millis(1 + u64::from(std::process::id() % 7));
    let is_in_time = FIRST_WAIT.get_or_init(Instant::now).elapsed() < HOOK_WAIT;
    std::thread::sleep(pause);
    is_in_time || pause * tries.unsigned_abs() < SHORT_WAIT
}

/// Whether a newer program wrote this file, also if the rest of it cannot be read.
fn is_newer_format(path: &Path) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let ask = |pragma: &str| {
        let connection = Connection::open_with_flags(path, flags).ok()?;
        connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0)).ok()
    };
    ask("application_id") == Some(schema::APPLICATION_ID) && ask("user_version") > Some(schema::newest())
}

fn newer(path: &Path, version: i32) -> Failure {
    let error = Error::bad_data(format!(
        "`{}` was written by a newer agent-handover (format {version}, this one knows {})",
        path.display(),
        schema::newest()
    ));
    Failure::Other(error.hint("update agent-handover; the file was not changed"))
}
