//! What the program costs, as ratios to the least that could do the same, all measured in one run:
//! `cargo bench --bench ratios`.
//!
//! The floors are processes of this same file: `ratios floor NAME …` does only what cannot be avoided. Every comparison
//! takes its sides in turns, so that a busy moment of the machine hits all of them alike, and compares medians.
//! With `AGENT_HANDOVER_PYTHON=/path/to/agent-handover` the Python tool takes part.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_agent-handover");

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("floor") => floor(&arguments[1..]),
        _ => compare(),
    }
}

fn floor(arguments: &[String]) {
    let database = || Path::new(&arguments[1]);
    match arguments[0].as_str() {
        "trivial" => {}
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

/// A side of a comparison: a command, and what is put back after each time it ran.
struct Side {
    name: String,
    command: Box<dyn Fn() -> Command>,
    /// What it reads.
    input: Option<PathBuf>,
    after: Box<dyn Fn()>,
    times: Vec<Duration>,
}

fn side(name: &str, command: impl Fn() -> Command + 'static) -> Side {
    Side { name: name.to_owned(), command: Box::new(command), input: None, after: Box::new(|| ()), times: Vec::new() }
}

impl Side {
    fn after(mut self, after: impl Fn() + 'static) -> Side {
        self.after = Box::new(after);
        self
    }

    fn input(mut self, file: &Path) -> Side {
        self.input = Some(file.to_path_buf());
        self
    }

    fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        times[times.len() / 2]
    }
}

/// Runs all sides in turns and prints each against the first.
fn race(title: &str, rounds: usize, mut sides: Vec<Side>) {
    for round in 0..=rounds {
        for side in &mut sides {
            let mut command = (side.command)();
            let input = side.input.as_ref().map_or_else(Stdio::null, |path| std::fs::File::open(path).unwrap().into());
            command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(input);
            let start = Instant::now();
            command.status().unwrap();
            let took = start.elapsed();
            (side.after)();
            // The first round warms up.
            if round > 0 {
                side.times.push(took);
            }
        }
    }
    println!("\n{title}");
    let floor = sides[0].median();
    for side in &sides {
        let ratio = side.median().as_secs_f64() / floor.as_secs_f64();
        println!("  {:<52} {:>10.3} ms  {ratio:>7.2}x", side.name, side.median().as_secs_f64() * 1e3);
    }
}

struct World {
    directory: tempfile::TempDir,
}

impl World {
    fn new(config: &str) -> World {
        let world = World { directory: tempfile::tempdir().unwrap() };
        std::fs::create_dir(world.path()).unwrap();
        std::fs::create_dir(world.home()).unwrap();
        std::fs::write(world.path().join("handover.toml"), config).unwrap();
        world
    }

    /// The project.
    fn path(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// Beside the project: hooks do nothing in a home directory.
    fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    fn command(&self, arguments: &'static [&'static str]) -> impl Fn() -> Command + use<> {
        let (path, home) = (self.path(), self.home());
        move || {
            let mut command = Command::new(BINARY);
            command.args(arguments).current_dir(&path).env("HOME", &home);
            command
        }
    }

    fn run(&self, arguments: &'static [&'static str]) {
        assert!(self.command(arguments)().stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
    }
}

fn floor_command(arguments: Vec<String>) -> impl Fn() -> Command {
    move || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("floor").args(&arguments);
        command
    }
}

/// All of them, or those that are named.
fn compare() {
    let named: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let all: &[(&str, fn())] = &[
        ("readers", readers),
        ("steps", steps),
        ("detach", detach),
        ("notes", notes),
        ("compact", compact),
        ("publish", publish),
        ("history", history),
        ("handoffs", handoffs),
        ("secrets", secrets),
        ("hook", hook),
        ("search", search),
    ];
    for (name, run) in all {
        if named.is_empty() || named.iter().any(|wanted| wanted == name) {
            run();
        }
    }
}

fn readers() {
    let world = World::new("[[step]]\nname = \"note\"\nkind = \"note\"\n");
    world.run(&["run", "--note", "n"]);
    let database = world.path().join(".agent-handover/checkpoint.db").display().to_string();
    let mut sides = vec![
        side("open the database and read a row", floor_command(vec!["read-a-row".to_owned(), database])),
        side("a process that does nothing", floor_command(vec!["trivial".to_owned()])),
        side("check", world.command(&["check"])),
        side("status", world.command(&["status"])),
    ];
    if let Some(python) = std::env::var_os("AGENT_HANDOVER_PYTHON") {
        for (name, verb) in [("check of the Python tool", "check"), ("status of the Python tool", "status")] {
            let (python, path) = (python.clone(), world.path());
            sides.push(side(name, move || {
                let mut command = Command::new(&python);
                command.arg(verb).current_dir(&path);
                command
            }));
        }
    }
    race("check and status (aim: 1.5x of reading a row; the Python tool 20x of ours)", 200, sides);
}

fn steps() {
    const STEPS: usize = 1_000;
    let config: String = (0..STEPS).map(|n| format!("[[step]]\nname = \"s{n}\"\nkind = \"publish\"\n")).collect();
    let world = World::new(&config);
    world.run(&["run"]);
    let floor = world.path().join("floor.db").display().to_string();
    // Recorded, each step intended, completed.
    let commits = (STEPS + 2).to_string();
    let sides = vec![
        side("the bare commits they need", floor_command(vec!["commits".to_owned(), floor, commits])),
        side("run with 1,000 steps that do nothing", world.command(&["run", "--quiet"])),
    ];
    race("1,000 steps (aim: 1.3x)", 9, sides);
}

fn detach() {
    detach_with("run --detach until it returns", "[[step]]\nname = \"note\"\nkind = \"note\"\n");
    // As a hook has it: what is checked out is asked of git, before it returns.
    detach_with("run --detach until it returns, with git facts", "[[step]]\nname = \"facts\"\nkind = \"collect\"\n");
}

fn detach_with(name: &str, config: &str) {
    let world: &'static World = Box::leak(Box::new(World::new(config)));
    Command::new("git").args(["init", "--quiet"]).current_dir(world.path()).status().unwrap();
    world.run(&["run", "--note", "n"]);
    let floor = world.path().join("floor.db").display().to_string();
    let idle = world.command(&["check"]);
    let sides = vec![
        side("one durable commit and a spawn", floor_command(vec!["commit-and-spawn".to_owned(), floor])),
        side(name, world.command(&["run", "--detach", "--note", "n"])).after(move || {
            while idle().stdout(Stdio::null()).status().unwrap().code() != Some(2) {
                std::thread::sleep(Duration::from_millis(2));
            }
        }),
    ];
    race("run --detach (aim: 2x)", 60, sides);
}

fn notes() {
    let config = "[[step]]\nname = \"note\"\nkind = \"note\"\n";
    let mut sides = Vec::new();
    for (name, size) in [("run --note onto a file of 1 kB", 1_000), ("run --note onto a file of 10 MB", 10_000_000)] {
        let world: &'static World = Box::leak(Box::new(World::new(config)));
        world.run(&["run", "--note", "n"]);
        let layer = world.path().join("memory/layer1");
        let month = std::fs::read_dir(layer).unwrap().next().unwrap().unwrap().path();
        let file = std::fs::read_dir(month).unwrap().next().unwrap().unwrap().path();
        let text = "a line of somebody else's text\n".repeat(size / 31);
        std::fs::write(&file, &text).unwrap();
        let put_back = move || std::fs::write(&file, &text).unwrap();
        sides.push(side(name, world.command(&["run", "--quiet", "--note", "n"])).after(put_back));
    }
    race("a note at the end of a long day", 15, sides);
}

/// 100,000 notes over 24 months.
fn compact() {
    let world: &'static World = Box::leak(Box::new(World::new("[[step]]\nname = \"note\"\nkind = \"note\"\n")));
    let fill = move || {
        let memory = world.path().join("memory");
        let _ = std::fs::remove_dir_all(&memory);
        for month in 0..24 {
            let (year, month) = (2023 + month / 12, month % 12 + 1);
            let directory = memory.join(format!("layer1/{year}-{month:02}"));
            std::fs::create_dir_all(&directory).unwrap();
            for day in 1..=28 {
                let date = format!("{year}-{month:02}-{day:02}");
                let mut text = format!("<!-- agent-handover | layer1 | {date} -->\n");
                for note in 0..149 {
                    let at = format!("{date}T{:02}:{:02}:00Z", note / 60 + 8, note % 60);
                    text.push_str(&format!(
                        "<!-- note run=01K{year}{month:02}{day:02}{note:015} step=note at={at} agent=codex -->\n\
                         Mended the parser in src/parse.rs, and said so.\n\n- tests pass: cargo test\n- next: the docs in README.md\n<!-- /note -->\n"
                    ));
                }
                std::fs::write(directory.join(format!("general-{date}.md")), text).unwrap();
            }
        }
    };
    fill();
    let shell = move |line: &'static str| {
        move || {
            let mut command = Command::new("sh");
            command.args(["-c", line]).current_dir(world.path());
            command
        }
    };
    let sides = vec![
        side("cat of the same bytes into a file, synced", shell("cat memory/layer1/*/* > all && sync all")),
        side("cat of the same bytes into a file", shell("cat memory/layer1/*/* > all")),
        side("compact --keep-notes", world.command(&["compact", "--keep-notes"]))
            .after(move || std::fs::remove_dir_all(world.path().join("memory/layer3")).unwrap()),
        side("compact", world.command(&["compact"])).after(fill),
    ];
    race("100,000 notes of 24 months", 7, sides);
}

/// A note more for a local bare remote, against the plumbing and the push that this needs; with few and with many files on the
/// branch already.
fn publish() {
    for files in [10, 10_000] {
        let config = "[backend]\ntype = \"git\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n";
        let mut sides = Vec::new();
        let bare = "set -e; export GIT_INDEX_FILE=$PWD/.git/bare.index; git add --all --force -- memory .agent-history; \
            tree=$(git write-tree); parent=$(git rev-parse refs/heads/bare); \
            commit=$(git commit-tree $tree -p $parent -m x); git update-ref refs/heads/bare $commit $parent; \
            git push --quiet origin $commit:refs/heads/bare";
        for name in ["add, write-tree, commit-tree, update-ref, push", "agent-handover push"] {
            let world: &'static World = Box::leak(Box::new(World::new(config)));
            let git = |line: &str| {
                let done =
                    Command::new("sh").args(["-c", line]).current_dir(world.path()).stderr(Stdio::null()).status();
                assert!(done.unwrap().success(), "{line}");
            };
            git("git init -q . && git init -q --bare remote.git && git remote add origin $PWD/remote.git \
                 && git config user.name b && git config user.email b@b && git config core.fsync objects,reference \
                 && git config core.fsyncMethod batch");
            let sessions = world.path().join(".agent-history/sessions");
            std::fs::create_dir_all(&sessions).unwrap();
            for n in 0..files {
                std::fs::write(sessions.join(format!("{n}.md")), format!("session {n}\n").repeat(20)).unwrap();
            }
            let note = world.path().join("memory/layer1/2026-11/general-2026-11-15.md");
            std::fs::create_dir_all(note.parent().unwrap()).unwrap();
            let count = std::cell::Cell::new(0);
            let more = move || {
                count.set(count.get() + 1);
                std::fs::write(&note, format!("note {}\n", count.get())).unwrap();
            };
            more();
            let command: Box<dyn Fn() -> Command> = if name.starts_with("add") {
                git("export GIT_INDEX_FILE=$PWD/.git/bare.index; git add -f memory .agent-history && \
                     git update-ref refs/heads/bare $(git commit-tree $(git write-tree) -m x) && git push -q origin bare");
                Box::new(move || {
                    let mut command = Command::new("sh");
                    command.args(["-c", bare]).current_dir(world.path());
                    command
                })
            } else {
                world.run(&["push"]);
                Box::new(world.command(&["push"]))
            };
            more();
            sides.push(side(name, command).after(more));
        }
        race(&format!("one note to a remote that has {files} files"), 15, sides);
    }
}

/// Looking for secrets, against reading the same bytes and looking at each once; in a short note, where being ready to
/// look is most of it, and in more than anybody writes.
fn secrets() {
    let directory = tempfile::tempdir().unwrap();
    let notes = include_str!("../README.md").repeat(64 << 20 >> 14);
    let lines: String = (0..500_000u64)
        .map(|n| {
            let hash = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!("checksum = \"{hash:016x}{:016x}\" and let token_{n} = self.secret(\"{n}\");\n", !hash)
        })
        .collect();
    let texts = [
        ("a note of 1 kB", notes[..1_000].to_owned()),
        ("a note of 100 kB", notes[..100_000].to_owned()),
        ("prose", notes),
        ("hashes and code that speaks of tokens and secrets", lines),
    ];
    for (name, text) in texts {
        let file = directory.path().join(name.replace(' ', "-"));
        std::fs::write(&file, &text).unwrap();
        let sides = ["count-lines", "find-secrets"]
            .map(|what| side(what, floor_command(vec![what.to_owned(), file.display().to_string()])));
        race(
            &format!("{name}, {} bytes (aim: 5x of reading it and looking at each byte once)", text.len()),
            25,
            sides.into(),
        );
    }
}

/// The archive at several sizes. With `AGENT_HANDOVER_GLUE=/path/to/glue` Session Glue takes part.
fn history() {
    let glue = std::env::var_os("AGENT_HANDOVER_GLUE");
    for size in [10, 1_000, 20_000] {
        let world: &'static World = Box::leak(Box::new(World::new("[[step]]\nname = \"note\"\nkind = \"note\"\n")));
        fill(world, size);
        let history = world.path().join(".agent-history");
        let index = history.join("INDEX.yaml").display().to_string();
        let sessions = history.join("sessions").display().to_string();
        let glue_side = |name: &str, arguments: &'static [&'static str]| {
            let (glue, path) = (glue.clone()?, world.path());
            Some(side(name, move || {
                let mut command = Command::new(&glue);
                command.args(arguments).current_dir(&path);
                command
            }))
        };
        let rounds = if size > 5_000 { 5 } else { 30 };
        let mut sides = vec![side("a process that does nothing", floor_command(vec!["trivial".to_owned()]))];
        sides.push(side("history status", world.command(&["history", "status"])));
        sides.extend(glue_side("glue status", &["status"]));
        race(&format!("status at {size} sessions (aim: does not grow)"), rounds, sides);

        let newest = history.join("sessions");
        let before: std::collections::HashSet<_> =
            std::fs::read_dir(&newest).unwrap().flatten().map(|file| file.path()).collect();
        let old_index = std::fs::read(&index).unwrap();
        let index_path = index.clone();
        let put_back = move || {
            for file in std::fs::read_dir(&newest).unwrap().flatten().filter(|file| !before.contains(&file.path())) {
                std::fs::remove_file(file.path()).unwrap();
            }
            std::fs::write(&index_path, &old_index).unwrap();
        };
        let create = world.command(&["history", "create", "--goal", "one more", "--next", "Fix it"]);
        let sides = vec![
            side("read INDEX.yaml and write it again, durably", floor_command(vec!["rewrite".to_owned(), index])),
            side("history create", create).after(put_back),
        ];
        race(&format!("create at {size} sessions (aim: grows only by rewriting the index)"), rounds, sides);

        let mut sides = vec![
            side("read the archives", floor_command(vec!["read-files".to_owned(), sessions])),
            side("history validate --sessions", world.command(&["history", "validate", "--sessions"])),
        ];
        sides.extend(glue_side("glue validate --sessions", &["validate", "--sessions"]));
        race(&format!("validate --sessions at {size} sessions (aim: 2x of reading the files)"), rounds.min(10), sides);
    }
}

/// Finding handoffs among few and many, each against the same among ten. With `AGENT_HANDOVER_GO=/path/to/session-handoff` that tool
/// takes part, on a store of as many records.
fn handoffs() {
    let worlds: Vec<(usize, &'static World)> = [10, 1_000, 20_000]
        .into_iter()
        .map(|size| {
            let world: &'static World = Box::leak(Box::new(World::new("[[step]]\nname = \"note\"\nkind = \"note\"\n")));
            fill(world, size);
            world.run(&["run", "--note", "n"]);
            index(world);
            (size, world)
        })
        .collect();
    let questions: &[(&str, &'static [&'static str], &'static [&'static str])] = &[
        (
            "list --latest --json (aim: 20,000 within 3x of 10)",
            &["history", "list", "--latest", "--json"],
            &["list", "--latest", "--json"],
        ),
        ("show ID (aim: 20,000 within 3x of 10)", &["history", "show", "s000007"], &["render", "--id", "s000007"]),
        ("show latest (aim: 20,000 within 3x of 10)", &["history", "show", "latest"], &["render"]),
        ("show by a beginning", &["history", "show", "s00000"], &[]),
        (
            "list --query with a match, --limit 5",
            &["history", "list", "--query", "few words", "--limit", "5"],
            &["list", "--query", "few words", "--limit", "5"],
        ),
        (
            "list --query without a match (aim: 20,000 within 5x of 10)",
            &["history", "list", "--query", "zzz"],
            &["list", "--query", "zzz"],
        ),
        (
            "list --query without a match, --limit 5 (aim: 20,000 within 5x of 10)",
            &["history", "list", "--query", "zzz", "--limit", "5"],
            &["list", "--query", "zzz", "--limit", "5"],
        ),
        (
            "list --json --limit 20 (aim: 20,000 within 5x of 10)",
            &["history", "list", "--json", "--limit", "20"],
            &["list", "--json", "--limit", "20"],
        ),
        // All of them are its answer, so it grows.
        ("list --json", &["history", "list", "--json"], &["list", "--json"]),
    ];
    for (title, ours, theirs) in questions {
        let mut sides: Vec<Side> =
            worlds.iter().map(|(size, world)| side(&format!("at {size}"), world.command(ours))).collect();
        if let Some(go) = std::env::var_os("AGENT_HANDOVER_GO").filter(|_| !theirs.is_empty()) {
            for (size, world) in &worlds {
                let (go, path, theirs) = (go.clone(), go_store(world, *size), *theirs);
                sides.push(side(&format!("session-handoff at {size}"), move || {
                    let mut command = Command::new(&go);
                    command.args(theirs).env("HOME", &path).env("XDG_CONFIG_HOME", &path);
                    command
                }));
            }
        }
        race(title, 15, sides);
    }
}

/// A store of session-handoff with the same texts.
fn go_store(world: &World, size: usize) -> PathBuf {
    let directory = world.path().join("go");
    let file = directory.join("session-handoff/handoffs.json");
    if !file.exists() {
        let items: Vec<serde_json::Value> = (0..size)
            .map(|n| {
                serde_json::json!({
                    "id": format!("s{n:06}"), "created_at": "2026-11-15T10:00:00Z", "tool": "codex", "project": "/p", "title": "first",
                    "summary": "what was done, in a few words", "next": ["Fix it"],
                })
            })
            .collect();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, serde_json::json!({ "version": 1, "items": items }).to_string()).unwrap();
    }
    directory
}

/// So many sessions, each a copy of one of ours under its own id, indexed by the program itself.
fn fill(world: &World, size: usize) {
    world.run(&[
        "history",
        "create",
        "--goal",
        "first",
        "--next",
        "Fix it",
        "--summary",
        "what was done, in a few words",
    ]);
    let sessions = world.path().join(".agent-history/sessions");
    let first = std::fs::read_dir(&sessions).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&first).unwrap();
    let id = first.file_stem().unwrap().to_str().unwrap().to_owned();
    for n in 1..size {
        std::fs::write(sessions.join(format!("s{n:06}.md")), text.replace(&id, &format!("s{n:06}"))).unwrap();
    }
    world.run(&["history", "close", "--status", "BLOCKED"]);
}

/// What an agent waits for at the start and at the end of a session, where there were few and where there were many before:
/// archives, transcripts, and rows of the checkpoint.
fn hook() {
    let mut starts = vec![side("a process that does nothing", floor_command(vec!["trivial".to_owned()]))];
    let mut ends = vec![side("a process that does nothing", floor_command(vec!["trivial".to_owned()]))];
    for size in [10, 20_000] {
        let world: &'static World = Box::leak(Box::new(World::new("")));
        std::fs::remove_file(world.path().join("handover.toml")).unwrap();
        let git = |arguments: &[&str]| {
            let user = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
            Command::new("git").args(user).args(arguments).current_dir(world.path()).status().unwrap();
        };
        git(&["init", "--quiet"]);
        git(&["commit", "--quiet", "--allow-empty", "-m", "Begin"]);
        let root = world.path().canonicalize().unwrap().display().to_string();
        let name: String = root.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let transcripts = world.home().join(".claude/projects").join(name);
        std::fs::create_dir_all(&transcripts).unwrap();
        let asked = move |id: &str, text: &str| {
            format!(
                "{{\"type\":\"user\",\"sessionId\":\"{id}\",\"cwd\":\"{root}\",\"message\":{{\"content\":\"{text}\"}}}}\n"
            )
        };
        // From before the project was first used: nothing is owed of these.
        for n in 0..size {
            let id = format!("old-{n:06}");
            std::fs::write(transcripts.join(format!("{id}.jsonl")), asked(&id, "an old request")).unwrap();
        }
        fill(world, size);
        world.run(&["run", "--note", "n"]);
        let database = rusqlite::Connection::open(world.path().join(".agent-handover/checkpoint.db")).unwrap();
        database.execute_batch("BEGIN").unwrap();
        for n in 0..size {
            let id = format!("old-{n:06}");
            let sql = "INSERT INTO session (agent, id, transcript, process, started_at, seen_at, handed_over, is_over)
                       VALUES ('claude-code', ?1, '', '', ?2, ?2, 1000000, 1)";
            database.execute(sql, [&id, "2026-01-01T00:00:00.000Z"]).unwrap();
        }
        database.execute_batch("COMMIT").unwrap();
        drop(database);

        // Another session each time: the same one is not told the same twice at once.
        let payload = world.path().join("start.json");
        let number = std::cell::Cell::new(0);
        let (file, path) = (payload.clone(), world.path());
        let next = move || {
            number.set(number.get() + 1);
            let (n, cwd) = (number.get(), path.display());
            let text = format!(
                "{{\"session_id\":\"n-{n}\",\"hook_event_name\":\"SessionStart\",\"source\":\"startup\",\"cwd\":\"{cwd}\"}}"
            );
            std::fs::write(&file, text).unwrap();
        };
        next();
        let start = world.command(&["hook", "--agent", "codex"]);
        let told = start().stdin(std::fs::File::open(&payload).unwrap()).output().unwrap().stdout;
        assert!(String::from_utf8_lossy(&told).contains("agent-handover"), "the hook does nothing here");
        next();
        starts.push(side(&format!("session start after {size} sessions"), start).input(&payload).after(next));

        let payload = world.path().join("end.json");
        let transcript = transcripts.join("this-one.jsonl");
        let text = format!(
            "{{\"session_id\":\"this-one\",\"hook_event_name\":\"SessionEnd\",\"cwd\":\"{}\",\"transcript_path\":\"{}\"}}",
            world.path().display(),
            transcript.display()
        );
        std::fs::write(&payload, text).unwrap();
        let idle = world.command(&["check"]);
        let ask = move || {
            while idle().stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code() == Some(4) {
                std::thread::sleep(Duration::from_millis(2));
            }
            let mut file = std::fs::File::options().create(true).append(true).open(&transcript).unwrap();
            std::io::Write::write_all(&mut file, asked("this-one", "one thing more").as_bytes()).unwrap();
        };
        ask();
        let end = world.command(&["hook", "--agent", "claude-code"]);
        ends.push(side(&format!("session end after {size} sessions"), end).input(&payload).after(ask));
    }
    race("hook at session start (aim: the last two within 2x of each other)", 40, starts);
    race("hook at session end (aim: the last two within 2x of each other)", 40, ends);
}

/// Builds the index of search. Each search does so within its time limit.
fn index(world: &World) {
    let ask = world.command(&["search", "--json", "--limit", "1", "word3", "words"]);
    let is_missing = || {
        let answer = ask().stdin(Stdio::null()).output().unwrap().stdout;
        !String::from_utf8_lossy(&answer).contains("\"missing\":0")
    };
    while is_missing() {}
}

/// A search, the first prompt of a session, a command of an agent, and building the index, where there were few sessions and where there were many.
fn search() {
    indexing();
    let mut searches = Vec::new();
    let mut prompts = Vec::new();
    let mut tools = Vec::new();
    for size in [10, 1_000, 20_000] {
        let world: &'static World = Box::leak(Box::new(World::new("[recall]\ntools = true\n")));
        talk(world, size);
        world.run(&["run", "--note", "n"]);
        let ask = world.command(&["search", "--json", "--limit", "20", "lexer", "topic7", "word3", "word11"]);
        index(world);
        searches.push(side(&format!("search after {size} sessions"), ask));
        if prompts.is_empty() {
            prompts.push(side("check", world.command(&["check"])));
        }
        for (name, said) in
            [("new", "Add a licence and a changelog"), ("known", "The lexer of topic7 with word3 and word11")]
        {
            let payload = world.path().join(format!("prompt-{name}.json"));
            let number = std::cell::Cell::new(0);
            let (file, path) = (payload.clone(), world.path());
            let next = move || {
                number.set(number.get() + 1);
                let (n, cwd) = (number.get(), path.display());
                let text = format!(
                    "{{\"session_id\":\"{name}-{n}\",\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"{said}\",\"cwd\":\"{cwd}\"}}"
                );
                std::fs::write(&file, text).unwrap();
            };
            next();
            let prompt = world.command(&["hook", "--agent", "claude-code"]);
            let name = format!("first prompt about {name} things after {size} sessions");
            prompts.push(side(&name, prompt).input(&payload).after(next));
        }
        if tools.is_empty() {
            tools.push(side("check", world.command(&["check"])));
        }
        let payload = world.path().join("tool.json");
        let text = format!(
            "{{\"session_id\":\"t\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{{\"command\":\"make test\"}},\"cwd\":\"{}\"}}",
            world.path().display()
        );
        std::fs::write(&payload, text).unwrap();
        let tool = world.command(&["hook", "--agent", "claude-code"]);
        tools.push(side(&format!("before a command after {size} sessions"), tool).input(&payload));
    }
    race("search (aim: after 20000 within 5x of after 10)", 30, searches);
    race("hook at the first prompt (aim: after 20000 within 8x of check)", 30, prompts);
    race("hook before a command (aim: after 20000 within 2x of after 10)", 30, tools);
}

/// Building the index, against reading the same files: of sessions that are nothing but talk, and of sessions as they are, mostly
/// the output of tools.
fn indexing() {
    type Write = fn(&World, usize) -> PathBuf;
    let worlds: [(&str, Write, usize); 2] = [("talk alone", talk, 1_000), ("tools and talk", work, 200)];
    for (name, write, size) in worlds {
        let world: &'static World = Box::leak(Box::new(World::new("")));
        let transcripts = write(world, size);
        world.run(&["run", "--note", "n"]);
        let file = world.path().join(".agent-handover/index.db");
        let read = floor_command(vec!["read-files".to_owned(), transcripts.display().to_string()]);
        let build = side("the first search", world.command(&["search", "topic7"]))
            .after(move || drop(std::fs::remove_file(&file)));
        let floor = world.path().join("floor.db").display().to_string();
        let insert = floor_command(vec!["insert-talk".to_owned(), transcripts.display().to_string(), floor]);
        let sides = vec![
            side("read the transcripts", read),
            build,
            side("read them and insert the talk in them into FTS5", insert),
        ];
        race(&format!("indexing {size} sessions, {name} (aim: 6x of reading the same files)"), 10, sides);
    }
}

/// Writes transcripts of sessions that do some work: much output of tools, and some talk; returns their directory.
fn work(world: &World, size: usize) -> PathBuf {
    let transcripts = talk(world, size);
    let root = world.path().canonicalize().unwrap().display().to_string();
    for session in 0..size {
        let mut file =
            std::fs::File::options().append(true).open(transcripts.join(format!("s{session}.jsonl"))).unwrap();
        for call in 0..30 {
            let about = |n: usize| {
                format!(
                    "\"sessionId\":\"s{session}\",\"uuid\":\"{session}-{call}-{n}\",\"cwd\":\"{root}\",\"timestamp\":\"2026-10-10T09:30:00Z\""
                )
            };
            let output: String = (0..100)
                .map(|line| {
                    format!("src/part{line}.rs:{call}:    let value = table.get(key{session}).unwrap_or(0);\\n")
                })
                .collect();
            let text = format!(
                "{{\"type\":\"assistant\",{},\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"t{call}\",\"name\":\"Bash\",\"input\":{{\"command\":\"grep -rn table src/{call}\"}}}}]}}}}\n\
                 {{\"type\":\"user\",{},\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t{call}\",\"content\":\"{output}\"}}]}},\"toolUseResult\":{{\"stdout\":\"{output}\"}}}}\n",
                about(0),
                about(1)
            );
            std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        }
    }
    transcripts
}

/// Writes transcripts of sessions that each talk about a few things; returns their directory.
fn talk(world: &World, size: usize) -> PathBuf {
    Command::new("git").args(["init", "--quiet"]).current_dir(world.path()).status().unwrap();
    let root = world.path().canonicalize().unwrap().display().to_string();
    let name: String = root.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let transcripts = world.home().join(".claude/projects").join(name);
    std::fs::create_dir_all(&transcripts).unwrap();
    for session in 0..size {
        let mut text = String::new();
        for turn in 0..10 {
            let words: Vec<String> =
                (0..40).map(|n| format!("word{}", (session * 7 + turn * 13 + n * n) % 900)).collect();
            let said = format!("The lexer and topic{session} with {}", words.join(" "));
            let (kind, content) = match turn % 2 {
                0 => ("user", format!("\"{said}\"")),
                _ => ("assistant", format!("[{{\"type\":\"text\",\"text\":\"{said}\"}}]")),
            };
            text.push_str(&format!(
                "{{\"type\":\"{kind}\",\"sessionId\":\"s{session}\",\"uuid\":\"{session}-{turn}\",\"cwd\":\"{root}\",\"timestamp\":\"2026-10-10T09:00:00Z\",\"message\":{{\"role\":\"{kind}\",\"content\":{content}}}}}\n"
            ));
        }
        std::fs::write(transcripts.join(format!("s{session}.jsonl")), text).unwrap();
    }
    transcripts
}
