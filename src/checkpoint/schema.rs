//! The tables of `checkpoint.db` and how an old file becomes a new one.
//!
//! | table | holds |
//! |---|---|
//! | `run` | the queue, in the order of `seq`. `plan` and `inputs` are only needed to resume, so completing a run removes them |
//! | `run_text` | the texts of a run that are too long for `inputs`. Completing the run removes them, too |
//! | `step` | the journal of each run |
//! | `session` | the agents' sessions that hooks have seen, and how much of each was handed over |
//! | `session_word` | what agents passed to their hooks since the last handover of a session |
//! | `receipt` | the texts that were put into sessions: their marks, and whether they arrived |
//! | `transcript_file` | the session files on disk that are handed over completely, as long as they do not change |
//! | `transcript_place` | the directories of session files whose files from before `since` are in `transcript_file` |
//! | `meta` | facts about the file itself: `id`, which the user's own state knows, `since`, when the project was first used, and `retired` |
//!
//! A step becomes `intended` before it acts. A step that is found `intended` was interrupted: with an `error`, by a signal or
//! PAUSE, and that was recorded; without one, because the process died.

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction};

/// Marks a SQLite file as written by this program: "AHOV".
pub(super) const APPLICATION_ID: i32 = 0x4148_4f56;

/// The migrations, append only. The position of an entry is the version that it leads to.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE run (
        seq         INTEGER PRIMARY KEY AUTOINCREMENT,
        id          TEXT NOT NULL UNIQUE,
        status      TEXT NOT NULL CHECK (status IN ('unfinished', 'completed', 'abandoned')),
        recorded_at TEXT NOT NULL,
        finished_at TEXT,
        agent       TEXT NOT NULL,
        tag         TEXT NOT NULL,
        memory_dir  TEXT NOT NULL,
        head        TEXT,
        plan        TEXT,
        inputs      TEXT
    ) STRICT;
    CREATE INDEX run_unfinished ON run (seq) WHERE status = 'unfinished';
    CREATE TABLE step (
        run         INTEGER NOT NULL REFERENCES run (seq) ON DELETE CASCADE,
        position    INTEGER NOT NULL,
        name        TEXT NOT NULL,
        kind        TEXT NOT NULL,
        state       TEXT NOT NULL
                    CHECK (state IN ('pending', 'intended', 'done', 'skipped', 'failed', 'stopped')),
        attempts    INTEGER NOT NULL DEFAULT 0,
        deaths      INTEGER NOT NULL DEFAULT 0,
        duration_ms INTEGER,
        intent      TEXT,
        result      TEXT,
        detail      TEXT,
        error       TEXT,
        PRIMARY KEY (run, position)
    ) STRICT, WITHOUT ROWID;
",
    "
    CREATE TABLE session (
        seq         INTEGER PRIMARY KEY AUTOINCREMENT,
        agent       TEXT NOT NULL,
        id          TEXT NOT NULL,
        transcript  TEXT NOT NULL,
        process     TEXT NOT NULL,
        started_at  TEXT NOT NULL,
        seen_at     TEXT NOT NULL,
        seen        INTEGER NOT NULL DEFAULT 0,
        handed_over INTEGER NOT NULL DEFAULT 0,
        turns       INTEGER NOT NULL DEFAULT 0,
        asked       TEXT NOT NULL DEFAULT '',
        said        TEXT NOT NULL DEFAULT '',
        warmed      TEXT NOT NULL DEFAULT '',
        swept_at    TEXT NOT NULL DEFAULT '',
        is_over     INTEGER NOT NULL DEFAULT 0,
        run         TEXT NOT NULL DEFAULT '',
        UNIQUE (agent, id)
    ) STRICT;
    CREATE INDEX session_open ON session (seq) WHERE is_over = 0;
",
    "
    CREATE TABLE meta (
        key   TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
",
    // The linked worktree in which a session ran, empty for the directory of the checkpoint, and what was checked out there.
    "
    ALTER TABLE run ADD COLUMN worktree TEXT NOT NULL DEFAULT '';
    ALTER TABLE run ADD COLUMN branch TEXT NOT NULL DEFAULT '';
    ALTER TABLE session ADD COLUMN worktree TEXT NOT NULL DEFAULT '';
    ALTER TABLE session ADD COLUMN branch TEXT NOT NULL DEFAULT '';
",
    // Which file was handed over, beside its length: its inode, 0 if unknown, and a digest of its beginning, empty if
    // unknown. `is_fork`: the agent said that the session begins with a copy of another. A file of 0.1.0 does not know
    // when the project was first used; the earliest time in it stands for that.
    "
    ALTER TABLE session ADD COLUMN inode INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE session ADD COLUMN beginning TEXT NOT NULL DEFAULT '';
    ALTER TABLE session ADD COLUMN is_fork INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX session_transcript ON session (transcript);
    CREATE TABLE transcript_file (
        path   TEXT PRIMARY KEY,
        inode  INTEGER NOT NULL,
        length INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE transcript_place (
        path TEXT PRIMARY KEY
    ) STRICT, WITHOUT ROWID;
    INSERT INTO meta (key, value)
        SELECT 'since', strftime('%Y-%m-%dT%H:%M:%fZ', min(at)) FROM (
            SELECT julianday(recorded_at) AS at FROM run UNION ALL SELECT julianday(started_at) FROM session
        ) HAVING min(at) IS NOT NULL;
",
    // Until here a session kept one request and one answer. `warmed` is the last event that may be reported twice, and `warmed_at` its time.
    "
    ALTER TABLE session ADD COLUMN warmed_at TEXT NOT NULL DEFAULT '';
    CREATE TABLE session_word (
        seq   INTEGER PRIMARY KEY AUTOINCREMENT,
        agent TEXT NOT NULL,
        id    TEXT NOT NULL,
        kind  TEXT NOT NULL,
        text  TEXT NOT NULL,
        FOREIGN KEY (agent, id) REFERENCES session (agent, id) ON DELETE CASCADE
    ) STRICT;
    CREATE INDEX session_word_of ON session_word (agent, id, seq);
    INSERT INTO session_word (agent, id, kind, text)
        SELECT agent, id, 'request', asked FROM session WHERE asked <> ''
        UNION ALL SELECT agent, id, 'answer', said FROM session WHERE said <> '';
    UPDATE session SET asked = '', said = '';
",
    // The long texts of a run, which `inputs` had before: a row of `run` is read more often than its texts.
    "
    CREATE TABLE run_text (
        run  INTEGER NOT NULL REFERENCES run (seq) ON DELETE CASCADE,
        name TEXT NOT NULL,
        text TEXT NOT NULL,
        UNIQUE (run, name)
    ) STRICT;
",
    // Why nobody hands a session over, such as that it is part of another one; empty if somebody does.
    "
    ALTER TABLE session ADD COLUMN kept_out TEXT NOT NULL DEFAULT '';
",
    // The texts that were put into sessions, and what their transcripts say about them; `outcome` is empty until somebody
    // looked.
    "
    CREATE TABLE receipt (
        seq     INTEGER PRIMARY KEY AUTOINCREMENT,
        agent   TEXT NOT NULL,
        session TEXT NOT NULL,
        at      TEXT NOT NULL,
        reason  TEXT NOT NULL,
        mark    TEXT NOT NULL,
        bytes   INTEGER NOT NULL,
        outcome TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE INDEX receipt_of ON receipt (agent, session, seq);
    CREATE INDEX receipt_open ON receipt (seq) WHERE outcome = '';
",
    // Before, the states were in a list after `IN`. For more than two values SQLite makes a table of such a list each time
    // that a row is written, which was a third of what a step costs.
    "
    CREATE TABLE step_of_now (
        run         INTEGER NOT NULL REFERENCES run (seq) ON DELETE CASCADE,
        position    INTEGER NOT NULL,
        name        TEXT NOT NULL,
        kind        TEXT NOT NULL,
        state       TEXT NOT NULL
                    CHECK (state = 'pending' OR state = 'intended' OR state = 'done'
                        OR state = 'skipped' OR state = 'failed' OR state = 'stopped'),
        attempts    INTEGER NOT NULL DEFAULT 0,
        deaths      INTEGER NOT NULL DEFAULT 0,
        duration_ms INTEGER,
        intent      TEXT,
        result      TEXT,
        detail      TEXT,
        error       TEXT,
        PRIMARY KEY (run, position)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO step_of_now
        SELECT run, position, name, kind, state, attempts, deaths, duration_ms, intent, result, detail, error FROM step;
    DROP TABLE step;
    ALTER TABLE step_of_now RENAME TO step;
",
];

/// Whether the tables of this version know worktrees and branches.
pub(super) fn knows_worktrees(version: i32) -> bool {
    has(version, "ADD COLUMN worktree")
}

/// Whether the tables of this version keep what agents passed to their hooks.
pub(super) fn knows_words(version: i32) -> bool {
    has(version, "CREATE TABLE session_word")
}

/// Whether the tables of this version keep long texts apart from the inputs of a run.
pub(super) fn knows_long_texts(version: i32) -> bool {
    has(version, "CREATE TABLE run_text")
}

/// Whether the tables of this version know sessions that are kept out.
pub(super) fn knows_kept_out(version: i32) -> bool {
    has(version, "ADD COLUMN kept_out")
}

/// Whether the tables of this version know receipts.
pub(super) fn knows_receipts(version: i32) -> bool {
    has(version, "CREATE TABLE receipt")
}

/// Whether this version has gone through the migration with these words.
fn has(version: i32, words: &str) -> bool {
    let first = MIGRATIONS.iter().position(|migration| migration.contains(words));
    first.and_then(|first| i32::try_from(first).ok()).is_some_and(|first| version > first)
}

/// Whether the tables of this version know which file of a session was handed over.
pub(super) fn knows_transcript_identity(version: i32) -> bool {
    has(version, "ADD COLUMN inode")
}

/// The version this program writes.
pub(super) fn newest() -> i32 {
    i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX)
}

/// Brings the file to the newest version and returns the version that it had. Several processes may try at once; one of
/// them succeeds, the others find it done.
pub(super) fn migrate(transaction: &Transaction<'_>) -> rusqlite::Result<i32> {
    let version: i32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for migration in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(0)) {
        transaction.execute_batch(migration)?;
    }
    if version < newest() {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", newest())?;
    }
    Ok(version)
}

/// The id of a file of this version. `None` in a file of 0.1.0, which has no table for it, and in a file that only claims to
/// have this version: its tables may be anything.
pub(super) fn id(connection: &Connection, version: i32) -> rusqlite::Result<Option<String>> {
    if !has(version, "CREATE TABLE meta") {
        return Ok(None);
    }
    let id = connection.query_row("SELECT value FROM meta WHERE key = 'id'", [], |row| row.get(0)).optional();
    match id {
        Err(cause) if is_about_tables(&cause) => Ok(None),
        id => id,
    }
}

/// Whether the tables are not those that the statement was written for.
fn is_about_tables(cause: &rusqlite::Error) -> bool {
    match cause {
        rusqlite::Error::SqliteFailure(cause, _) => cause.code == ErrorCode::Unknown,
        rusqlite::Error::SqlInputError { .. } | rusqlite::Error::InvalidColumnType(..) => true,
        _ => false,
    }
}

/// Keeps when the project was first used. A time that is known already stays.
pub(super) fn keep_since(transaction: &Transaction<'_>, since: &str) -> rusqlite::Result<()> {
    let sql = "INSERT INTO meta (key, value) VALUES ('since', ?1) ON CONFLICT DO NOTHING";
    transaction.execute(sql, [since]).map(|_| ())
}

pub(super) fn set_id(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    transaction.execute("INSERT INTO meta (key, value) VALUES ('id', ?1)", [id]).map(|_| ())
}

/// Whether the file is out of use: what it held is merged elsewhere.
pub(super) fn is_retired(connection: &Connection) -> rusqlite::Result<bool> {
    let found = connection.query_row("SELECT 1 FROM meta WHERE key = 'retired'", [], |_| Ok(())).optional()?;
    Ok(found.is_some())
}

pub(super) fn retire(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute("INSERT OR IGNORE INTO meta (key, value) VALUES ('retired', '')", []).map(|_| ())
}

/// Takes a database back to what 0.1.0 wrote.
#[cfg(test)]
pub(super) fn as_of_0_1_0(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "DROP TABLE meta; DROP TABLE receipt; ALTER TABLE session DROP COLUMN kept_out; DROP TABLE run_text; DROP TABLE session_word; ALTER TABLE session DROP COLUMN warmed_at;
         DROP TABLE transcript_file; DROP TABLE transcript_place; DROP INDEX session_transcript;
         ALTER TABLE session DROP COLUMN inode; ALTER TABLE session DROP COLUMN beginning;
         ALTER TABLE session DROP COLUMN is_fork; ALTER TABLE session DROP COLUMN worktree;
         ALTER TABLE session DROP COLUMN branch; ALTER TABLE run DROP COLUMN worktree; ALTER TABLE run DROP COLUMN branch;
         PRAGMA user_version = 2",
    )
}
