//! What happened to each step, durably: a queue of runs and the journal of their steps.

pub mod python;
mod schema;
mod session;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, TransactionBehavior, params};

pub use session::{Handed, Seen, Session};

use crate::base::{fault, fs, signals};
use crate::error::{Category, Error, Result};

/// How long a writer waits for another writer; each holds the database for one small transaction.
const WRITER_WAIT: Duration = Duration::from_secs(20);
/// How long one waits that an agent waits for.
const SHORT_WAIT: Duration = Duration::from_millis(400);
/// A reader only ever meets a lock while the file of a killed process is being recovered.
const READER_WAIT: Duration = Duration::from_millis(200);
/// A log longer than this is folded into the file when a run completes.
const LONG_LOG: u64 = 256 << 10;
/// Completed runs beyond this many are forgotten, oldest first. Their notes are in the files.
const KEPT_RUNS: i64 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    Unfinished,
    Completed,
    Abandoned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    Pending,
    /// Was being acted on when the process ended.
    Intended,
    Done,
    /// Nothing to do, or not to be done any more.
    Skipped,
    Failed,
    /// Found half-done, and its config says that a person must look.
    Stopped,
}

impl StepState {
    pub const ALL: [StepState; 6] = [
        StepState::Pending,
        StepState::Intended,
        StepState::Done,
        StepState::Skipped,
        StepState::Failed,
        StepState::Stopped,
    ];

    pub fn name(self) -> &'static str {
        match self {
            StepState::Pending => "pending",
            StepState::Intended => "intended",
            StepState::Done => "done",
            StepState::Skipped => "skipped",
            StepState::Failed => "failed",
            StepState::Stopped => "stopped",
        }
    }
}

/// What is recorded of a run before anything is done for it.
pub struct NewRun<'a> {
    pub id: &'a str,
    pub recorded_at: &'a str,
    pub agent: &'a str,
    pub tag: &'a str,
    /// Where its state is written, so that another run knows whether it is the same place.
    pub memory_dir: &'a str,
    pub head: Option<&'a str>,
    pub plan: &'a str,
    pub inputs: &'a str,
    /// Name and kind of each step, in order.
    pub steps: Vec<(&'a str, &'a str)>,
    /// The agent's session that is handed over by it, as far as it is known.
    pub handed: Option<&'a Handed>,
}

#[derive(Clone, Debug)]
pub struct Run {
    pub seq: i64,
    pub id: String,
    pub status: RunStatus,
    pub recorded_at: String,
    pub finished_at: Option<String>,
    pub agent: String,
    pub tag: String,
    /// The commit that was checked out when it was recorded.
    pub head: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Step {
    pub position: usize,
    pub name: String,
    pub kind: String,
    pub state: StepState,
    pub attempts: u32,
    /// How often the process died while acting on it.
    pub deaths: u32,
    pub duration_ms: Option<u64>,
    pub intent: Option<String>,
    pub result: Option<String>,
    /// One line a person can read: what was written, why it was skipped.
    pub detail: Option<String>,
    pub error: Option<String>,
}

/// What becomes of the unfinished runs when a new one is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUnfinished {
    Keep,
    Abandon,
}

/// How a step ended.
#[derive(Clone, Debug)]
pub struct Settled {
    pub position: usize,
    pub state: StepState,
    pub duration: Duration,
    pub result: Option<String>,
    pub detail: Option<String>,
    pub error: Option<String>,
}

/// What comes after a step, recorded in the same transaction as its end: one fsync a step boundary.
pub enum Next<'a> {
    Intend {
        position: usize,
        intent: &'a str,
        /// The last attempt ended with the process.
        died: bool,
    },
    Complete {
        at: &'a str,
    },
    /// Nothing; the run stays as it is.
    Rest,
}

/// How long another writer is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    Long,
    Short,
}

#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Holds the copy that is read where the file itself cannot be.
    scratch: Option<tempfile::TempDir>,
}

impl Store {
    /// For writing; creates the file if it is not there.
    pub fn open(path: &Path) -> Result<Store> {
        Store::open_with(path, Patience::Long)
    }

    /// The same for who must not be kept waiting.
    pub fn open_briefly(path: &Path) -> Result<Store> {
        Store::open_with(path, Patience::Short)
    }

    fn open_with(path: &Path, patience: Patience) -> Result<Store> {
        // Created by us first, because SQLite would let everybody read it.
        fs::create_private_if_absent(path)?;
        fs::refuse_what_is_no_file(path)?;
        fs::refuse_foreign_owner(path, "checkpoint")?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|cause| explain(path, cause))?;
        let mut store = Store { connection, path: path.to_path_buf(), scratch: None };
        store.prepare(patience).map_err(|cause| explain(path, cause))?;
        let version = store.version()?;
        if version < schema::newest() {
            schema::migrate(&mut store.connection).map_err(|cause| explain(path, cause))?;
            fault::at("checkpoint.created");
        } else if version > schema::newest() {
            return Err(Error::bad_data(format!(
                "`{}` was written by a newer agent-handover (format {version}, this one knows {})",
                path.display(),
                schema::newest()
            ))
            .hint("update agent-handover; the file was not changed"));
        }
        Ok(store)
    }

    fn prepare(&mut self, patience: Patience) -> rusqlite::Result<()> {
        match patience {
            Patience::Long => self.connection.busy_handler(Some(wait_for_writer))?,
            Patience::Short => self.connection.busy_timeout(SHORT_WAIT)?,
        }
        // The last connection would otherwise fold the log into the file on closing, at four more fsyncs.
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // Instead it is folded in when a run completes, if it has grown (see `tidy`); or in a long run once in a while, because
        // writing over an old log is cheaper than making it longer.
        self.connection.pragma_update(None, "wal_autocheckpoint", 256)?;
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        self.connection.pragma_update(None, "foreign_keys", true)?;
        let tables: i64 = self.connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        // Only a file without anything in it is given the mode we want; nothing of any other is changed by opening it.
        if tables > 0 {
            return Ok(());
        }
        self.switch_to_wal()
    }

    /// Changing the mode needs the file for itself for a moment and does not wait by itself.
    fn switch_to_wal(&self) -> rusqlite::Result<()> {
        for pause in [1, 2, 5, 10, 20, 50, 100, 200, 400, 800] {
            match self.connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())) {
                Err(cause) if cause.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                    std::thread::sleep(Duration::from_millis(pause));
                }
                other => return other,
            }
        }
        // Somebody else is at it; the file works in any mode.
        Ok(())
    }

    /// For reading, without a logical write and without waiting. `None` if there is no file.
    pub fn read(path: &Path) -> Result<Option<Store>> {
        match std::fs::metadata(path) {
            Err(cause) if fs::is_absent(&cause) => return Ok(None),
            Err(cause) => return Err(Error::io("read", path, cause)),
            Ok(_) => {
                fs::refuse_what_is_no_file(path)?;
                fs::refuse_foreign_owner(path, "checkpoint")?;
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|cause| explain(path, cause))?;
        connection.busy_timeout(READER_WAIT).map_err(|cause| explain(path, cause))?;
        let mut store = Store { connection, path: path.to_path_buf(), scratch: None };
        let version = match store.version() {
            // In a directory we cannot write SQLite cannot make the shared memory it wants; a copy can be read.
            Err(error) if error.category() == Category::Io => {
                let scratch = tempfile::tempdir().map_err(|cause| explain_scratch(path, &cause))?;
                let copy = scratch.path().join("checkpoint.db");
                for part in ["", "-wal"].into_iter().filter(|part| sibling(path, part).exists()) {
                    fs::copy(&sibling(path, part), &sibling(&copy, part))?;
                }
                store.connection = Connection::open(&copy).map_err(|cause| explain(path, cause))?;
                store.scratch = Some(scratch);
                store.version()?
            }
            version => version?,
        };
        // Created by a process that died before it could record anything.
        Ok((version > 0).then_some(store))
    }

    /// The format of the file, after making sure that it is ours; 0 if it is empty.
    fn version(&self) -> Result<i32> {
        let ask = || -> rusqlite::Result<(i32, i32, i64)> {
            // One look: between two, another process may make the tables.
            let look = self.connection.unchecked_transaction()?;
            let pragma = |name: &str| look.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
            let tables = look.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
            Ok((pragma("user_version")?, pragma("application_id")?, tables))
        };
        match ask().map_err(|cause| explain(&self.path, cause))? {
            (version, schema::APPLICATION_ID, _) => Ok(version),
            (0, _, 0) => Ok(0),
            _ => Err(damaged(&self.path, "it is a database of another program")),
        }
    }

    /// Whether a run is on record although recording it failed: the disk may refuse after the log was written, and what
    /// counts is how the next process to open the file reads that log.
    pub fn recorded_despite_error(&mut self, id: &str) -> bool {
        let Ok(nothing) = Connection::open_in_memory() else { return false };
        drop(std::mem::replace(&mut self.connection, nothing));
        match Store::open(&self.path) {
            Ok(again) => {
                *self = again;
                self.run_by_id(id).is_ok_and(|run| run.is_some())
            }
            Err(_) => false,
        }
    }

    /// Reads everything once: damage may lie anywhere.
    pub fn examine(&self) -> Result<()> {
        let answer: String =
            self.ask(|connection| connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        if answer != "ok" {
            return Err(damaged(&self.path, &answer));
        }
        self.unfinished(u32::MAX).map(|_| ())
    }

    /// The first step of every handover: from here nothing can be lost.
    pub fn record(&mut self, run: &NewRun<'_>, others: OnUnfinished) -> Result<i64> {
        let seq = self.write(|transaction| {
            // What another process handed over meanwhile is not handed over twice.
            if let Some(handed) = run.handed
                && !handed.write(transaction, run.id, run.recorded_at)?
            {
                return Ok(None);
            }
            if others == OnUnfinished::Abandon {
                let sql = "UPDATE run SET status = 'abandoned', finished_at = ?1 WHERE status = 'unfinished'";
                transaction.execute(sql, [run.recorded_at])?;
            }
            transaction.execute(
                "INSERT INTO run (id, status, recorded_at, agent, tag, memory_dir, head, plan, inputs)
                 VALUES (?1, 'unfinished', ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![run.id, run.recorded_at, run.agent, run.tag, run.memory_dir, run.head, run.plan, run.inputs],
            )?;
            let seq = transaction.last_insert_rowid();
            let mut insert = transaction
                .prepare("INSERT INTO step (run, position, name, kind, state) VALUES (?1, ?2, ?3, ?4, 'pending')")?;
            for (position, (name, kind)) in run.steps.iter().enumerate() {
                insert.execute(params![seq, position as i64, name, kind])?;
            }
            Ok(Some(seq))
        })?;
        fault::at("checkpoint.recorded");
        seq.ok_or_else(|| Error::new(Category::Busy, session::HANDED_OVER))
    }

    /// Records how steps ended, if any did, together with what comes next.
    pub fn advance(&mut self, run: i64, settled: &[Settled], next: Next<'_>) -> Result<()> {
        let is_unfinished = self.write(|transaction| {
            let mut changed = 1;
            for settled in settled {
                let millis = i64::try_from(settled.duration.as_millis()).unwrap_or(i64::MAX);
                changed = transaction
                    .prepare_cached(
                        "UPDATE step SET state = ?3, duration_ms = ?4, result = ?5, detail = ?6, error = ?7
                         WHERE run = ?1 AND position = ?2 AND (SELECT status FROM run WHERE seq = ?1) = 'unfinished'",
                    )?
                    .execute(params![
                        run,
                        settled.position as i64,
                        settled.state.name(),
                        millis,
                        settled.result,
                        settled.detail,
                        settled.error
                    ])?;
            }
            match next {
                Next::Intend { position, intent, died } => {
                    changed = transaction
                        .prepare_cached(
                            "UPDATE step SET state = 'intended', attempts = attempts + 1, deaths = deaths + ?4,
                             intent = ?3, result = NULL, detail = NULL, error = NULL
                             WHERE run = ?1 AND position = ?2 AND (SELECT status FROM run WHERE seq = ?1) = 'unfinished'",
                        )?
                        .execute(params![run, position as i64, intent, died])?;
                }
                Next::Complete { at } => changed = complete(transaction, run, at)?,
                Next::Rest => {}
            }
            Ok(changed > 0)
        })?;
        if !is_unfinished {
            return Err(Error::failed("another process gave this handover up while it was running"));
        }
        if matches!(next, Next::Complete { .. }) {
            self.tidy();
        }
        fault::at(match next {
            Next::Intend { .. } => "checkpoint.intended",
            Next::Complete { .. } => "checkpoint.completed",
            Next::Rest => "checkpoint.settled",
        });
        Ok(())
    }

    /// A reader has to look through the log, and after a long note the file would stay as large for ever. Nothing depends
    /// on this, so nothing is said about it if it cannot be done now.
    fn tidy(&self) {
        let free = self.connection.pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0));
        let is_loose = free.is_ok_and(|pages| pages > 256);
        if is_loose {
            // Little is left by then, so making the file anew is quick.
            let _ = self.connection.execute_batch("VACUUM");
        }
        if is_loose || std::fs::metadata(sibling(&self.path, "-wal")).is_ok_and(|log| log.len() > LONG_LOG) {
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }

    /// Gives runs up. Their record and inputs stay.
    pub fn abandon(&mut self, runs: &[i64], at: &str) -> Result<()> {
        self.write(|transaction| {
            for seq in runs {
                transaction.execute(
                    "UPDATE run SET status = 'abandoned', finished_at = ?2 WHERE seq = ?1 AND status = 'unfinished'",
                    params![seq, at],
                )?;
            }
            Ok(())
        })?;
        fault::at("checkpoint.settled");
        Ok(())
    }

    /// What is still to be done, oldest first; but what kept killing its process comes last, so that it stands in
    /// nobody's way.
    pub fn unfinished(&self, deaths_to_park: u32) -> Result<Vec<Run>> {
        let rest = "WHERE status = 'unfinished' ORDER BY EXISTS (
                SELECT 1 FROM step WHERE step.run = run.seq AND state = 'intended' AND error IS NULL AND deaths + 1 >= ?1
            ), seq";
        self.runs(rest, params![deaths_to_park])
    }

    pub fn oldest_unfinished(&self) -> Result<Option<Run>> {
        Ok(self.runs("WHERE status = 'unfinished' ORDER BY seq LIMIT 1", params![])?.pop())
    }

    /// The newest run that was not given up.
    pub fn latest(&self) -> Result<Option<Run>> {
        Ok(self.runs("WHERE status <> 'abandoned' ORDER BY seq DESC LIMIT 1", params![])?.pop())
    }

    /// The commit of the last completed run that knew one.
    pub fn last_head(&self) -> Result<Option<String>> {
        let rest = "WHERE status = 'completed' AND head IS NOT NULL ORDER BY seq DESC LIMIT 1";
        Ok(self.runs(rest, params![])?.pop().and_then(|run| run.head))
    }

    pub fn run(&self, seq: i64) -> Result<Option<Run>> {
        Ok(self.runs("WHERE seq = ?1", params![seq])?.pop())
    }

    pub fn run_by_id(&self, id: &str) -> Result<Option<Run>> {
        Ok(self.runs("WHERE id = ?1", params![id])?.pop())
    }

    fn runs(&self, rest: &str, parameters: impl rusqlite::Params) -> Result<Vec<Run>> {
        let sql = format!("SELECT seq, id, status, recorded_at, finished_at, agent, tag, head FROM run {rest}");
        self.ask(|connection| connection.prepare(&sql)?.query_map(parameters, read_run)?.collect())
    }

    /// The plan and the inputs of an unfinished run.
    pub fn plan_and_inputs(&self, run: i64) -> Result<(String, String)> {
        self.ask(|connection| {
            connection
                .query_row("SELECT plan, inputs FROM run WHERE seq = ?1", [run], |row| Ok((row.get(0)?, row.get(1)?)))
        })
    }

    pub fn steps(&self, run: i64) -> Result<Vec<Step>> {
        self.ask(|connection| {
            connection
                .prepare_cached(
                    "SELECT position, name, kind, state, attempts, deaths, duration_ms, intent, result, detail, error
                     FROM step WHERE run = ?1 ORDER BY position",
                )?
                .query_map([run], read_step)?
                .collect()
        })
    }

    /// A younger run that has done a step of this kind for the same memory, or has begun it and will go on.
    pub fn younger_run_with(&self, kind: &str, run: i64) -> Result<Option<String>> {
        self.ask(|connection| {
            connection
                .query_row(
                    "SELECT younger.id FROM run JOIN run AS younger JOIN step ON step.run = younger.seq
                     WHERE run.seq = ?1 AND younger.seq > run.seq AND younger.memory_dir = run.memory_dir
                     AND step.kind = ?2
                     AND (step.state = 'done' OR step.state = 'intended' AND younger.status = 'unfinished')
                     ORDER BY younger.seq DESC LIMIT 1",
                    params![run, kind],
                    |row| row.get(0),
                )
                .optional()
        })
    }

    fn write<T>(&mut self, act: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<T>) -> Result<T> {
        let run = || {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = act(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        run().map_err(|cause| explain(&self.path, cause))
    }

    fn ask<T>(&self, question: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        question(&self.connection).map_err(|cause| explain(&self.path, cause))
    }
}

/// Waits for another writer, but not for longer than anybody would want to, and not when we are asked to stop.
fn wait_for_writer(tries: i32) -> bool {
    let pause = Duration::from_millis(5);
    std::thread::sleep(pause);
    signals::received().is_none() && pause * tries.unsigned_abs() < WRITER_WAIT
}

/// The run is over: what only a resume needed goes, and so do runs from long ago.
fn complete(transaction: &rusqlite::Transaction<'_>, run: i64, at: &str) -> rusqlite::Result<usize> {
    let changed = transaction.execute(
        "UPDATE run SET status = 'completed', finished_at = ?2, plan = NULL, inputs = NULL
         WHERE seq = ?1 AND status = 'unfinished'",
        params![run, at],
    )?;
    transaction.execute("UPDATE step SET intent = NULL WHERE run = ?1", [run])?;
    transaction.execute("DELETE FROM run WHERE status = 'completed' AND seq <= ?1 - ?2", params![run, KEPT_RUNS])?;
    Ok(changed)
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let status: String = row.get(2)?;
    Ok(Run {
        seq: row.get(0)?,
        id: row.get(1)?,
        status: match status.as_str() {
            "completed" => RunStatus::Completed,
            "abandoned" => RunStatus::Abandoned,
            _ => RunStatus::Unfinished,
        },
        recorded_at: row.get(3)?,
        finished_at: row.get(4)?,
        agent: row.get(5)?,
        tag: row.get(6)?,
        head: row.get(7)?,
    })
}

fn read_step(row: &Row<'_>) -> rusqlite::Result<Step> {
    let state: String = row.get(3)?;
    let position: i64 = row.get(0)?;
    let duration: Option<i64> = row.get(6)?;
    Ok(Step {
        position: usize::try_from(position).unwrap_or(0),
        name: row.get(1)?,
        kind: row.get(2)?,
        // A state this version does not know is one it must not act on by itself.
        state: StepState::ALL.into_iter().find(|known| known.name() == state).unwrap_or(StepState::Stopped),
        attempts: row.get(4)?,
        deaths: row.get(5)?,
        duration_ms: duration.and_then(|millis| u64::try_from(millis).ok()),
        intent: row.get(7)?,
        result: row.get(8)?,
        detail: row.get(9)?,
        error: row.get(10)?,
    })
}

/// Moves a database that cannot be used out of the way, with what belongs to it, and says where to.
pub fn move_aside(path: &Path, suffix: &str) -> Result<PathBuf> {
    let aside = (0..)
        .map(
            |number: u32| {
                if number == 0 { sibling(path, suffix) } else { sibling(path, &format!("{suffix}-{number}")) }
            },
        )
        .find(|aside| aside.symlink_metadata().is_err())
        .unwrap_or_else(|| sibling(path, suffix));
    for part in ["-shm", "-wal", ""] {
        let from = sibling(path, part);
        if from.symlink_metadata().is_ok() {
            fs::rename(&from, &sibling(&aside, part))?;
        }
    }
    Ok(aside)
}

fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Whether this is a good file of a newer program, rather than a damaged one.
pub fn is_newer_format(path: &Path) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let ask = |pragma: &str| {
        let connection = Connection::open_with_flags(path, flags).ok()?;
        connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0)).ok()
    };
    ask("application_id") == Some(schema::APPLICATION_ID) && ask("user_version") > Some(schema::newest())
}

fn explain_scratch(path: &Path, cause: &std::io::Error) -> Error {
    Error::io("read, for lack of a place for a copy,", path, cause)
}

fn damaged(path: &Path, cause: &str) -> Error {
    Error::bad_data(format!("`{}` is not a usable checkpoint: {cause}", path.display()))
        .hint("`agent-handover run --restart` moves it aside and starts anew; it is never overwritten")
}

fn explain(path: &Path, cause: rusqlite::Error) -> Error {
    let code = cause.sqlite_error_code();
    let reason = text_of(&cause);
    match code {
        Some(ErrorCode::NotADatabase) => damaged(path, "it is not a SQLite database"),
        Some(ErrorCode::DatabaseCorrupt) => damaged(path, &reason),
        // A table or column that should be there is not.
        Some(ErrorCode::Unknown) => damaged(path, &reason),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) if signals::received().is_some() => {
            let number = signals::received().unwrap_or(0);
            Error::new(Category::Signal(number), format!("interrupted by {}", signals::name(number)))
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::failed(format!("`{}` is locked by another process", path.display())).cause(reason)
        }
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::PermissionDenied,
        ) => Error::new(Category::Io, format!("cannot use the checkpoint `{}`", path.display())).cause(reason),
        Some(ErrorCode::ConstraintViolation | ErrorCode::ApiMisuse) => {
            Error::bug(format!("the checkpoint `{}` refused a statement", path.display())).cause(reason)
        }
        // What was read back is not what is ever written: a value of a wrong type, text that is none.
        _ => damaged(path, &reason),
    }
}

fn text_of(cause: &rusqlite::Error) -> String {
    match cause {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(store: &mut Store, id: &str) -> i64 {
        store
            .record(
                &NewRun {
                    id,
                    recorded_at: "2026-11-15T10:00:00Z",
                    agent: "",
                    tag: "t",
                    memory_dir: "memory",
                    head: None,
                    plan: "{}",
                    inputs: "{\"note\":\"n\"}",
                    steps: vec![("note", "note"), ("state", "state")],
                    handed: None,
                },
                OnUnfinished::Keep,
            )
            .unwrap()
    }

    fn settled(position: usize, state: StepState) -> Settled {
        Settled { position, state, duration: Duration::ZERO, result: None, detail: None, error: None }
    }

    #[test]
    fn a_run_goes_from_recorded_to_completed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("c.db");
        assert!(Store::read(&path).unwrap().is_none());
        let mut store = Store::open(&path).unwrap();
        let run = record(&mut store, "A");
        store.advance(run, &[], Next::Intend { position: 0, intent: "{}", died: false }).unwrap();
        let next = Next::Intend { position: 1, intent: "{}", died: false };
        store.advance(run, &[settled(0, StepState::Done)], next).unwrap();
        let states: Vec<_> = store.steps(run).unwrap().iter().map(|step| step.state).collect();
        assert_eq!(states, [StepState::Done, StepState::Intended]);
        store.advance(run, &[settled(1, StepState::Done)], Next::Complete { at: "x" }).unwrap();

        let reader = Store::read(&path).unwrap().unwrap();
        assert!(reader.oldest_unfinished().unwrap().is_none());
        assert_eq!(reader.latest().unwrap().unwrap().status, RunStatus::Completed);
        // What was said is in the files now, and not to be asked for here any more.
        assert!(reader.plan_and_inputs(run).is_err());
    }

    #[test]
    fn a_younger_run_is_known_by_what_it_has_begun() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("c.db")).unwrap();
        let (old, young) = (record(&mut store, "A"), record(&mut store, "B"));
        assert_eq!(store.younger_run_with("state", old).unwrap(), None);
        store.advance(young, &[], Next::Intend { position: 1, intent: "{}", died: false }).unwrap();
        assert_eq!(store.younger_run_with("state", old).unwrap().as_deref(), Some("B"));
        assert_eq!(store.younger_run_with("state", young).unwrap(), None);
        // Begun, but given up: then nobody will write it.
        store.abandon(&[young], "x").unwrap();
        assert_eq!(store.younger_run_with("state", old).unwrap(), None);
    }

    #[test]
    fn a_foreign_or_damaged_file_is_refused_and_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let text = directory.path().join("text.db");
        std::fs::write(&text, "not a database, but long enough to be read as one".repeat(50)).unwrap();
        let foreign = directory.path().join("foreign.db");
        Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
        for path in [&text, &foreign] {
            let before = std::fs::read(path).unwrap();
            for error in [Store::open(path).unwrap_err(), Store::read(path).unwrap_err()] {
                assert_eq!(error.category(), Category::BadData, "{error}");
                assert!(error.hints()[0].contains("--restart"));
            }
            assert_eq!(std::fs::read(path).unwrap(), before);
        }
    }

    #[test]
    fn the_future_is_read_but_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("c.db");
        let mut store = Store::open(&path).unwrap();
        record(&mut store, "A");
        store.connection.pragma_update(None, "user_version", schema::newest() + 1).unwrap();
        assert!(Store::read(&path).unwrap().unwrap().oldest_unfinished().unwrap().is_some());
        assert!(Store::open(&path).unwrap_err().message().contains("newer"));
    }

    #[test]
    fn old_completed_runs_are_forgotten_and_unfinished_ones_never() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("c.db")).unwrap();
        record(&mut store, "unfinished");
        let old = record(&mut store, "old");
        store.advance(old, &[], Next::Complete { at: "x" }).unwrap();
        store.connection.execute("UPDATE sqlite_sequence SET seq = seq + ?1", [KEPT_RUNS]).unwrap();
        let new = record(&mut store, "new");
        store.advance(new, &[], Next::Complete { at: "x" }).unwrap();
        assert!(store.run(old).unwrap().is_none());
        assert!(store.steps(old).unwrap().is_empty());
        assert_eq!(store.unfinished(5).unwrap()[0].id, "unfinished");
    }

    #[test]
    fn many_that_make_the_database_at_once_all_find_it_theirs() {
        for _ in 0..20 {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("checkpoint.db");
            std::thread::scope(|scope| {
                let openers: Vec<_> = (0..4).map(|_| scope.spawn(|| Store::open(&path).map(drop))).collect();
                for opener in openers {
                    opener.join().unwrap().unwrap();
                }
            });
        }
    }
}
