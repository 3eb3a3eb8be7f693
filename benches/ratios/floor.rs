//! The floors: processes that do only what cannot be avoided.

use std::path::Path;

use crate::race::{Side, side};

/// A side that is a floor, in a process of this file.
pub(crate) fn floor(name: &str, arguments: &[&str]) -> Side {
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    side(name, move || {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.arg("floor").args(&arguments);
        command
    })
}

pub(crate) fn run(arguments: &[String]) {
    let database = || Path::new(&arguments[1]);
    match arguments[0].as_str() {
        "trivial" => {}
        "parse-arguments" => {
            let line = agent_handover::testing::cli::command_line();
            line.try_get_matches_from(["agent-handover", "check"]).unwrap();
        }
        "read-a-row" => {
            let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = rusqlite::Connection::open_with_flags(database(), flags).unwrap();
            let id: String =
                connection.query_row("SELECT id FROM run ORDER BY seq DESC LIMIT 1", [], |row| row.get(0)).unwrap();
            println!("{id}");
        }
        "commits" => {
            let connection = durable(database());
            for n in 0..arguments[2].parse::<u32>().unwrap() {
                connection.execute("UPDATE floor SET value = ?1", [n]).unwrap();
            }
        }
        "commit-and-spawn" => {
            let connection = durable(database());
            connection.execute("UPDATE floor SET value = value + 1", []).unwrap();
            // Left to itself, as a detached run is.
            drop(duct::cmd!("true").stdin_null().stdout_null().start().unwrap());
        }
        "rewrite" => {
            let text = std::fs::read(database()).unwrap();
            let mut file = std::fs::File::create(database().with_extension("floor")).unwrap();
            std::io::Write::write_all(&mut file, &text).unwrap();
            file.sync_all().unwrap();
        }
        "read-files" => {
            let files = std::fs::read_dir(database()).unwrap().flatten();
            let bytes: usize = files.map(|file| std::fs::read(file.path()).unwrap().len()).sum();
            println!("{bytes}");
        }
        "insert-talk" => insert_talk(Path::new(&arguments[1]), Path::new(&arguments[2])),
        "count-lines" => {
            let text = std::fs::read(database()).unwrap();
            println!("{}", text.iter().filter(|byte| **byte == b'\n').count());
        }
        "find-secrets" => {
            let text = std::fs::read(database()).unwrap();
            println!("{}", agent_handover::testing::guard::secrets::find(&text).len());
        }
        other => panic!("no floor {other}"),
    }
}

/// The least that makes these transcripts searchable: each file is read, the talk in it is found by the name of its field, and
/// each text is a row, which FTS5 finds by its words. Nothing is parsed, cleaned, stemmed or checked, nothing is synced, one
/// thread does all of it in one transaction, and nobody else may use the file meanwhile.
fn insert_talk(directory: &Path, database: &Path) {
    let _ = std::fs::remove_file(database);
    let mut connection = rusqlite::Connection::open(database).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = off; PRAGMA synchronous = off;
             CREATE TABLE passage (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
             CREATE VIRTUAL TABLE word USING fts5(terms, content='', contentless_delete=1, detail=none, tokenize='ascii');
             INSERT INTO word (word, rank) VALUES ('hashsize', 8388608);",
        )
        .unwrap();
    let transaction = connection.transaction().unwrap();
    let mut id = 0;
    for file in std::fs::read_dir(directory).unwrap().flatten() {
        for said in std::fs::read_to_string(file.path()).unwrap().lines().filter_map(talk_in) {
            id += 1;
            let mut row = transaction.prepare_cached("INSERT INTO passage VALUES (?1, ?2)").unwrap();
            row.execute(rusqlite::params![id, said]).unwrap();
            let mut words = transaction.prepare_cached("INSERT INTO word (rowid, terms) VALUES (?1, ?2)").unwrap();
            words.execute(rusqlite::params![id, said]).unwrap();
        }
    }
    transaction.commit().unwrap();
}

/// What was said in a record, as it is written there; `None` for a call of a tool and its result.
fn talk_in(line: &str) -> Option<&str> {
    let is_tool = ["\"tool_use\"", "\"tool_result\""].iter().any(|kind| line.contains(kind));
    let fields = ["\"text\":\"", "\"content\":\""];
    let start = fields.iter().find_map(|field| line.find(field).map(|at| at + field.len())).filter(|_| !is_tool)?;
    let text = &line[start..];
    let end = text.match_indices('"').map(|(at, _)| at).find(|at| !text[..*at].ends_with('\\'));
    Some(&text[..end?])
}

/// As durable as the checkpoint is.
fn durable(path: &Path) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection.pragma_update(None, "synchronous", "FULL").unwrap();
    connection.execute_batch("CREATE TABLE IF NOT EXISTS floor (value)").unwrap();
    if connection.query_row("SELECT count(*) FROM floor", [], |row| row.get::<_, i64>(0)).unwrap() == 0 {
        connection.execute("INSERT INTO floor VALUES (0)", []).unwrap();
    }
    connection
}
