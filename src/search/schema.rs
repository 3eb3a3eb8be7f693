//! The tables of the index. There are no migrations: an index of another version is built again.

use rusqlite::{Connection, OptionalExtension, Transaction};

/// "AHix": tells an index from the databases of other programs.
const APPLICATION_ID: i32 = 0x4148_6978;
/// Grows with every change of the tables, of the words that are indexed, or of how texts are split.
const VERSION: i32 = 8;

/// `word` finds the passages that have a word. It has neither their words nor the positions: a passage is scored from
/// `passage.terms`, which has them in order, because finding the words of a text again costs more than reading them.
///
/// `word` gathers up to 8 MiB of words before it writes them: each time costs a part of its own, and parts are merged later.
///
/// `gram` finds the archived handoffs, by their file, that have a piece of text anywhere. The text of a file in `vague` is not
/// wholly in it. `ran` has how commands ended, and `named` the files that rulings name. `figure` has
/// what `score` computed from transcripts, each with the mark of what it was computed from.
const TABLES: &str = "
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE file (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        place TEXT NOT NULL,
        inode INTEGER NOT NULL,
        length INTEGER NOT NULL,
        modified INTEGER NOT NULL,
        seen INTEGER NOT NULL,
        mark INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX file_of_place ON file (place, modified);
    CREATE TABLE document (
        id INTEGER PRIMARY KEY,
        file INTEGER NOT NULL REFERENCES file(id),
        session TEXT NOT NULL,
        handoff TEXT NOT NULL,
        title TEXT NOT NULL,
        agent TEXT NOT NULL,
        branch TEXT NOT NULL,
        started INTEGER,
        ended INTEGER,
        is_day INTEGER NOT NULL,
        own_key TEXT NOT NULL,
        run TEXT NOT NULL,
        is_from_outside INTEGER NOT NULL,
        words INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX document_of_file ON document (file);
    CREATE INDEX document_by_end ON document (ended);
    CREATE INDEX document_of_session ON document (session, ended) WHERE session <> '';
    CREATE TABLE passage (
        id INTEGER PRIMARY KEY,
        document INTEGER NOT NULL REFERENCES document(id),
        number INTEGER NOT NULL,
        turn INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        at INTEGER,
        words INTEGER NOT NULL,
        terms TEXT NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
    CREATE INDEX passage_of_document ON passage (document, number);
    CREATE TABLE touched (document INTEGER NOT NULL REFERENCES document(id), path TEXT NOT NULL, at INTEGER) STRICT;
    CREATE INDEX touched_path ON touched (path);
    CREATE INDEX touched_document ON touched (document);
    CREATE TABLE ran (
        id INTEGER PRIMARY KEY,
        document INTEGER NOT NULL REFERENCES document(id),
        command TEXT NOT NULL,
        at INTEGER,
        has_passed INTEGER NOT NULL,
        error TEXT NOT NULL
    ) STRICT;
    CREATE INDEX ran_command ON ran (command, at);
    CREATE INDEX ran_document ON ran (document);
    CREATE TABLE named (
        name TEXT NOT NULL,
        path TEXT NOT NULL,
        at INTEGER,
        passage INTEGER NOT NULL REFERENCES passage(id)
    ) STRICT;
    CREATE INDEX named_name ON named (name, at, passage);
    CREATE INDEX named_passage ON named (passage);
    CREATE TABLE told (id INTEGER PRIMARY KEY, what TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE figure (
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        mark TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (kind, key)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE vague (file INTEGER PRIMARY KEY) STRICT;
    CREATE VIRTUAL TABLE gram USING fts5(text, content='', contentless_delete=1, detail=none, tokenize='trigram');
    CREATE VIRTUAL TABLE word USING fts5(terms, content='', contentless_delete=1, detail=none, tokenize='ascii');
    CREATE VIRTUAL TABLE term USING fts5vocab(word, row);
    INSERT INTO word (word, rank) VALUES ('hashsize', 8388608);
    INSERT INTO meta VALUES ('passages', '0'), ('words', '0'), ('documents', '0');
";

/// Creates the tables of an empty database. The id is that by which the user's own state knows the file.
pub(super) fn create(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    transaction.execute_batch(TABLES)?;
    transaction.execute("INSERT INTO meta VALUES ('id', ?1)", [id])?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)
}

/// Whether the database is an index of this version.
pub(super) fn is_current(connection: &Connection) -> rusqlite::Result<bool> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    Ok(pragma("application_id")? == APPLICATION_ID && pragma("user_version")? == VERSION)
}

/// The id that the index states.
pub(super) fn id(connection: &Connection) -> rusqlite::Result<Option<String>> {
    connection.query_row("SELECT value FROM meta WHERE key = 'id'", [], |row| row.get(0)).optional()
}
