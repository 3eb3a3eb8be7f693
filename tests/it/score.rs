//! `score`: figures over pairs of sessions, from the record and the transcripts; and handoffs, judged before they are used.

use std::process::Stdio;

use serde_json::{Value, json};

use super::hook::{Session, settled};
use super::support::*;

fn read(session: &Session<'_>, world: &World, path: &str, content: &str) {
    let id = format!("r-{path}-{content}");
    let call = json!({ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": world.path(path) } });
    let result = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    session.write(&[
        json!({ "type": "assistant", "isSidechain": false, "message": { "content": [call] } }),
        json!({ "type": "user", "isSidechain": false, "message": { "content": [result] } }),
    ]);
}

/// The session runs a command, which prints this.
fn run(session: &Session<'_>, command: &str, code: i64, output: &str) {
    let id = format!("c-{command}-{code}");
    let call = json!({ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } });
    let text = if code == 0 { output.to_owned() } else { format!("Exit code {code}\n{output}") };
    let result = json!({ "type": "tool_result", "tool_use_id": id, "content": text, "is_error": code != 0 });
    session.write(&[
        json!({ "type": "assistant", "isSidechain": false, "message": { "content": [call] } }),
        json!({ "type": "user", "isSidechain": false, "message": { "content": [result] } }),
    ]);
}

fn figure(card: &Value, name: &str, group: &str) -> (u64, Option<f64>) {
    let measures = card["measures"].as_array().unwrap();
    let found = measures.iter().find(|measure| measure["measure"] == name).unwrap();
    (found[group]["n"].as_u64().unwrap(), found[group]["value"].as_f64())
}

#[test]
fn a_pair_of_sessions_is_measured() {
    let world = World::with_git();
    world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "x", "--allow-empty"]);
    assert!(world.run(&["score"]).expect(0).stdout.contains("no session"));
    let first = Session::of(&world, "first-1");
    first.start("startup");
    first.ask("Give parse_span in src/lexer.rs a byte range");
    read(&first, &world, "src/lexer.rs", "fn lex() {}");
    read(&first, &world, "src/same.rs", "fn same() {}");
    world.write("src/lexer.rs", "fn lex() { 1 }");
    first.edit("src/lexer.rs");
    run(&first, "git commit -qam lexer", 0, "");
    first.ask("And check it");
    run(&first, "cargo test lexer", 0, "test result: ok. 3 passed; 0 failed");
    run(&first, "make wasm", 2, "error: linker `cc` not found");
    first.end();

    let second = Session::of(&world, "second-2");
    let context = second.start("startup");
    second.write(&[
        json!({ "type": "attachment", "attachment": { "type": "hook_additional_context", "content": [context] } }),
    ]);
    second.ask("Go on with parse_span");
    read(&second, &world, "src/lexer.rs", "fn lex() { 1 }");
    read(&second, &world, "src/same.rs", "fn same() {}");
    run(&second, "make wasm", 2, "error: linker `cc` not found");
    second.edit("src/lexer.rs");
    run(&second, "cd . && cargo test lexer", 0, "test result: ok. 3 passed; 0 failed");
    second.end();
    settled(&world);

    let card = world.run(&["score", "--json"]).expect(0).json();
    assert_eq!((card["with_warmup"].as_u64(), card["without_warmup"].as_u64()), (Some(1), Some(0)), "{card}");
    let warm = |name: &str| figure(&card, name, "with_warmup");
    assert_eq!(warm("delivered"), (1, Some(100.0)));
    assert_eq!(warm("orientation_actions"), (1, Some(3.0)));
    assert_eq!(warm("checks_reused"), (1, Some(100.0)));
    assert_eq!(warm("actions_to_green"), (1, Some(5.0)));
    let dead_ends = ["dead_ends_said", "dead_ends_unsaid"].map(warm);
    assert!(dead_ends.contains(&(1, Some(100.0))), "{dead_ends:?}");
    assert_eq!(warm("asked_again"), (0, None), "the request is too short to repeat anything");
    assert_eq!(warm("contradicted_files"), (1, Some(0.0)));
    assert_eq!(warm("needless_rereads"), (1, Some(50.0)), "the touched file is no needless one");
    assert_eq!(warm("files_named"), (1, Some(100.0)), "{context}");
    assert_eq!(figure(&card, "waste", "without_warmup"), (0, None));
    let pair = &card["sessions"][0];
    assert_eq!((pair["session"].as_str(), pair["before"].as_str()), (Some("second-2"), Some("first-1")));
    assert_eq!((pair["by"].as_str(), &card["missing"]), (Some("branch"), &json!(0)));
    let text = world.run(&["score"]).expect(0).stdout;
    assert!(text.contains("not enough data") && text.contains("starts whose text arrived whole"), "{text}");
    assert_eq!(world.run(&["score", "first", "--json"]).expect(0).json()["sessions"], json!([]));
    let by_end = world.run(&["score", "t-1", "--json"]).expect(0).json();
    assert_eq!(by_end["sessions"], json!([]), "the end of an id is accepted, too");
    // Only the newest receipts are kept. The mark in the transcript says the same.
    world.database().execute("DELETE FROM receipt", []).unwrap();
    assert_eq!(world.run(&["score", "--json"]).expect(0).json(), card);
}

fn commit(world: &World) {
    world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "x", "--allow-empty"]);
}

/// A session that reads a file, edits it and ends.
fn work(world: &World, id: &str, request: &str) -> String {
    let session = Session::of(world, id);
    let context = session.start("startup");
    if !context.is_empty() {
        session.write(&[
            json!({ "type": "attachment", "attachment": { "type": "hook_additional_context", "content": [context] } }),
        ]);
    }
    session.ask(request);
    read(&session, world, "src/lexer.rs", "fn lex() {}");
    session.edit("src/lexer.rs");
    session.end();
    settled(world);
    context
}

fn card(world: &World) -> Value {
    world.run(&["score", "--json"]).expect(0).json()
}

fn kept(world: &World) -> i64 {
    let path = world.path(".agent-handover/index.db");
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let count = |kind: &str| {
        let database = rusqlite::Connection::open_with_flags(&path, flags).ok()?;
        database.query_row("SELECT count(*) FROM figure WHERE kind = ?1", [kind], |row| row.get::<_, i64>(0)).ok()
    };
    count("pair").unwrap_or(0)
}

#[test]
fn a_session_on_another_branch_with_the_same_goal_is_the_next_one() {
    let world = World::with_git();
    commit(&world);
    work(&world, "first-1", "Give parse_span in src/lexer.rs a byte range");
    world.git(&["checkout", "-qb", "other"]);
    work(&world, "second-2", "Write the manual for the command line");
    world.git(&["checkout", "-qb", "spans"]);
    work(&world, "third-3", "Give parse_span in src/lexer.rs a byte range");
    let card = card(&world);
    let pairs = card["sessions"].as_array().unwrap();
    let third = pairs.iter().find(|pair| pair["session"] == "third-3").unwrap_or_else(|| panic!("{card}"));
    assert_eq!((third["before"].as_str(), third["by"].as_str()), (Some("first-1"), Some("goal")));
    assert!(
        pairs.iter().all(|pair| pair["session"] != "second-2"),
        "it has neither branch nor goal of another: {card}"
    );
}

#[test]
fn the_child_of_the_hook_computes_figures_and_deleting_them_changes_no_answer() {
    let world = World::with_git();
    commit(&world);
    for id in ["a-1", "b-2", "c-3"] {
        work(&world, id, "Give parse_span in src/lexer.rs a byte range");
    }
    wait_until("the figures", || kept(&world) == 2);
    let before = card(&world);
    for name in ["index.db", "index.db-wal", "index.db-shm"] {
        let _ = std::fs::remove_file(world.path(&format!(".agent-handover/{name}")));
    }
    assert_eq!(card(&world), before);
    assert_eq!(kept(&world), 2, "whoever asks keeps what was missing");
    // Two at once, and one that is killed after what it wrote, leave the same.
    std::fs::remove_file(world.path(".agent-handover/index.db")).unwrap();
    let killed = finish(world.command(&["score"]).env("AGENT_HANDOVER_TEST_FAULT", "index.written:2=kill"));
    assert_ne!(killed.stderr_ignored("it was killed").code, 0);
    let spawn = |_| world.command(&["score", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let both: Vec<_> = (0..2).map(spawn).collect();
    for child in both {
        assert_eq!(output(child).expect(0).json(), before);
    }
    // A transcript that is gone takes its figures with it.
    std::fs::remove_file(Session::of(&world, "c-3").transcript()).unwrap();
    let left = card(&world);
    assert_eq!(left["sessions"].as_array().unwrap().len(), 1, "{left}");
}

/// On a full disk SQLite cannot make the files that it keeps beside a database. That is no reason to remove it.
#[test]
fn a_full_disk_costs_no_figure() {
    let world = World::with_git();
    commit(&world);
    world.run(&["run", "--note", "n"]).expect(0);
    sessions_without_hooks(&world, 0..6);
    let (before, pairs) = (card(&world), kept(&world));
    assert!(pairs > 0, "{before}");
    let beside = world.path(".agent-handover/index.db-shm");
    let mut command = world.clean("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=ftruncate,pwrite64,fallocate"]);
    command.args(["-e", "inject=ftruncate,pwrite64,fallocate:error=ENOSPC", "-P"]).arg(beside);
    let Ok(ended) = command.arg(BINARY).args(["score", "--json"]).output() else {
        return skip("strace is not installed");
    };
    assert_eq!(serde_json::from_slice::<Value>(&ended.stdout).unwrap(), before);
    assert_eq!(kept(&world), pairs);
    assert_eq!(card(&world), before);
}

#[test]
fn sessions_without_a_warmup_are_the_baseline() {
    let world = World::with_git();
    commit(&world);
    // Before hooks were installed: only a transcript.
    let oldest = Session::of(&world, "a-old");
    let request = "Give parse_span in src/lexer.rs a byte range";
    oldest.write(&[json!({ "type": "user", "isSidechain": false, "gitBranch": branch(&world),
        "timestamp": "2026-10-01T10:00:00.000Z", "message": { "role": "user", "content": request } })]);
    read(&oldest, &world, "src/lexer.rs", "fn lex() {}");
    oldest.edit("src/lexer.rs");
    let older = Session::of(&world, "b-old");
    older.write(&[json!({ "type": "user", "isSidechain": false, "gitBranch": branch(&world),
        "timestamp": "2026-10-02T10:00:00.000Z", "message": { "role": "user", "content": "Go on with the ranges" } })]);
    older.edit("src/lexer.rs");
    let before = card(&world);
    assert_eq!((&before["with_warmup"], &before["without_warmup"]), (&json!(0), &json!(1)), "{before}");

    world.write("handover.toml", "[warmup]\nenabled = false\n");
    assert_eq!(work(&world, "c-off", "Give parse_span a test"), "", "the hook adds nothing");
    assert!(
        world.read(".agent-history/LATEST.md").contains("Give parse_span a test"),
        "and the session is handed over"
    );
    let log = world.read(".agent-handover/log/hook.log");
    assert!(log.contains("the config turns the warmup off"), "{log}");
    assert!(world.run(&["warmup"]).expect(0).stdout.contains("## Goal"), "a person still gets it");
    let with_off = card(&world);
    assert_eq!((&with_off["with_warmup"], &with_off["without_warmup"]), (&json!(0), &json!(2)), "{with_off}");
    world.write("handover.toml", "");
    work(&world, "d-on", "Give parse_span another test");
    let with_on = card(&world);
    assert_eq!((&with_on["with_warmup"], &with_on["without_warmup"]), (&json!(1), &json!(2)), "{with_on}");
    assert!(world.run(&["score"]).expect(0).stdout.contains("not enough data"));
}

fn attachment(context: &str) -> Value {
    json!({ "type": "attachment", "attachment": { "type": "hook_additional_context", "content": [context] } })
}

fn page(next: &str) -> String {
    format!("<!-- agent-handover warmup -->\n## Goal\n- Report positions\n## Next\n- {next}\n")
}

/// The figure of one session; `None` if the measure does not apply to it.
fn figure_of(card: &Value, session: &str, name: &str) -> Option<f64> {
    let sessions = card["sessions"].as_array().unwrap();
    let found = sessions.iter().find(|pair| pair["session"] == session).unwrap_or_else(|| panic!("{card}"));
    found["figures"][name].as_f64()
}

/// The transcript of a fork begins with a copy of its parent, whose page it has, too.
#[test]
fn a_fork_is_measured_against_the_page_that_it_got_itself() {
    let world = World::with_git();
    commit(&world);
    let copied = |mut record: Value| {
        record["forkedFrom"] = json!({ "sessionId": "a-parent", "messageUuid": "u1" });
        record
    };
    let at = |minute: u32| format!("2026-10-01T10:{minute:02}:00.000Z");
    let request = |text: &str, minute: u32| {
        json!({ "type": "user", "isSidechain": false, "gitBranch": branch(&world), "timestamp": at(minute),
            "message": { "role": "user", "content": text } })
    };
    let answer = json!({ "type": "assistant", "isSidechain": false, "message": { "content": [{ "type": "text", "text": "Done" }] } });
    let parents = [attachment(&page("Give Token a range in src/old.rs")), request("Go on with the ranges", 1), answer];
    let parent = Session::of(&world, "a-parent");
    parent.write(&parents);
    parent.edit("src/old.rs");

    let fork = Session::of(&world, "b-fork");
    fork.write(&parents.clone().map(copied));
    fork.write(&[attachment(&page("Print the range in src/new.rs")), request("Go on with the printing", 5)]);
    read(&fork, &world, "src/new.rs", "fn new() {}");
    fork.edit("src/new.rs");
    // After a compaction, the session gets a third page.
    fork.write(&[attachment(&page("Remove src/third.rs"))]);
    let without = Session::of(&world, "c-fork");
    without.write(&parents.clone().map(copied));
    without.write(&[request("Go on in another way", 9)]);
    read(&without, &world, "src/old.rs", "fn old() {}");
    without.edit("src/old.rs");

    let card = card(&world);
    for (session, title) in [("b-fork", "its own page"), ("c-fork", "that of its parent, which it has read")] {
        assert_eq!(figure_of(&card, session, "files_opened"), Some(100.0), "{title}: {card}");
        assert_eq!(figure_of(&card, session, "next_action"), Some(100.0), "{title}: {card}");
    }
}

/// Transcripts of sessions that no hook saw, on as many branches.
fn sessions_without_hooks(world: &World, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let id = format!("s-{number:03}");
        let session = Session::of(world, &id);
        let request = format!("Give parse_span number {number} in src/lexer.rs a byte range");
        let at = format!("2026-10-01T10:{:02}:{:02}.000Z", number / 60, number % 60);
        session.write(&[json!({ "type": "user", "isSidechain": false, "gitBranch": format!("b-{}", number / 2),
            "timestamp": at, "message": { "role": "user", "content": request } })]);
        session.edit("src/lexer.rs");
    }
}

/// How many transcripts a card opens, how often it locks a database (each statement does), and how often it waits for the disk.
fn costs_of_card(world: &World) -> Option<(usize, usize, usize)> {
    let trace = world.home().join("trace");
    let mut command = world.clean("strace");
    command.args(["-f", "-qq", "-y", "-e", "trace=openat,openat2,fcntl,fsync,fdatasync", "-o"]).arg(&trace);
    let ended = command.arg(BINARY).arg("score").output().ok()?;
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let trace = std::fs::read_to_string(trace).unwrap();
    let count =
        |call: &str, file: &str| trace.lines().filter(|line| line.contains(call) && line.contains(file)).count();
    Some((count("open", ".jsonl"), count("fcntl(", ".db"), count("sync(", "")))
}

#[test]
fn a_card_that_is_computed_asks_the_same_however_many_sessions_there_are() {
    let world = World::with_git();
    commit(&world);
    world.run(&["run", "--note", "n"]).expect(0);
    let costs = |numbers| {
        sessions_without_hooks(&world, numbers);
        let computed = card(&world);
        assert!(!computed["sessions"].as_array().unwrap().is_empty(), "{computed}");
        let costs = costs_of_card(&world);
        assert_eq!(card(&world), computed);
        costs
    };
    let Some(few) = costs(0..6) else { return skip("strace is not installed") };
    let many = costs(6..90).unwrap();
    assert_eq!((few.0, few.2), (0, 0), "no transcript is opened, and nothing is written");
    assert_eq!(many, few);
}

fn branch(world: &World) -> String {
    world.git(&["branch", "--show-current"]).trim().to_owned()
}

#[test]
fn a_handoff_is_judged_before_it_is_used() {
    let world = World::with_git();
    world.write("src/lexer.rs", "");
    let create = |arguments: &[&str]| {
        world.run(&[&["history", "create", "--quiet", "--goal", "Report positions"], arguments].concat()).expect(0);
    };
    let missing = world.run(&["score", "--handoff", "latest"]).expect(1);
    assert!(missing.stderr.contains("history create"), "{}", missing.stderr);
    create(&[
        "--next",
        "Fix the off-by-one in src/lexer.rs:42",
        "--done",
        "The parser reports positions",
        "--decision",
        "Keep recursive descent because errors stay readable",
        "--file",
        "src/lexer.rs=the lexer",
        "--validation",
        "cargo test=passed",
    ]);
    let good = world.run(&["score", "--handoff", "latest", "--bar", "100", "--json"]).expect(0).json();
    assert_eq!((good["schema"].as_str(), good["score"].as_u64()), (Some("agent-handover/score-handoff/1"), Some(100)));
    let poor = world.read(".agent-history/LATEST.md").replace(" because errors stay readable", "");
    let poor = poor.replace("src/lexer.rs\"", "src/gone.rs\"");
    world.write("poor.md", &poor);
    let judged = world.run(&["score", "--handoff", "poor.md", "--json"]).expect(0).json();
    let part = |name: &str| {
        let parts = judged["parts"].as_array().unwrap();
        parts.iter().find(|part| part["part"] == name).unwrap()["score"].as_u64()
    };
    assert_eq!((part("rulings"), part("context_files"), part("first_action")), (Some(0), Some(0), Some(100)));
    let below = world.run(&["score", "--handoff", "poor.md", "--bar", "70"]).expect(5);
    assert!(below.stdout.contains("`src/gone.rs` is not in the project"), "{}", below.stdout);
    assert!(below.stderr.contains("scores 50, and the bar is 70"), "{}", below.stderr);
    assert_eq!(world.run(&["score", "--handoff", "poor.md", "--bar", "70", "--json"]).expect(5).json()["bar"], 70);
    let piped = super::hook::feed(&mut world.command(&["score", "--handoff", "-"]), poor.as_bytes());
    assert_eq!((piped.code, piped.stdout.contains("score 50 of 100")), (0, true), "{}", piped.stdout);

    world.write("binary.md", [0xff, 0xfe, 0]);
    world.write("broken.md", "# A handoff without its fields\n");
    for (file, code) in [("binary.md", 65), ("broken.md", 65), ("nowhere.md", 1), (".", 74)] {
        let refused = world.run(&["score", "--handoff", file]).expect(code);
        assert!(refused.stderr.starts_with("error: "), "{}", refused.stderr);
    }
    for wrong in [&["score", "--bar", "50"][..], &["score", "--handoff", "poor.md", "--bar", "101"]] {
        world.run(wrong).expect(64);
    }
    world.run(&["score", "some-session", "--handoff", "poor.md"]).expect(64);
}

#[test]
fn a_handoff_that_is_a_pipe_is_refused_and_nobody_waits_for_its_other_end() {
    let world = World::with_git();
    assert!(world.clean("mkfifo").arg("pipe").status().unwrap().success());
    let refused = world.run(&["score", "--handoff", "pipe"]).expect(74);
    assert!(
        refused.stderr.contains("pipe` is not a plain file") && refused.stderr.contains("hint:"),
        "{}",
        refused.stderr
    );
    world.run(&["score", "--handoff", "/dev/null"]).expect(74);
    let absent = world.run(&["score", "--handoff", "absent.md"]).expect(1).seen();
    assert!(
        absent.contains("No such file") && absent.contains("hint: name the file of a handoff, or `latest`"),
        "{absent}"
    );
}

#[test]
fn a_session_that_is_not_there_or_not_the_only_one_is_an_error() {
    let world = World::with_git();
    commit(&world);
    for id in ["first-1", "second-2", "second-3"] {
        work(&world, id, "Give parse_span in src/lexer.rs a byte range");
    }
    for arguments in [&["score", "unknown"][..], &["score", "unknown", "--json"]] {
        let unknown = world.run(arguments).expect(1);
        assert!(unknown.stderr.contains("unknown session id 'unknown'"), "{}", unknown.stderr);
        assert!(unknown.stderr.contains("hint: "), "{}", unknown.stderr);
    }
    let several = world.run(&["score", "second"]).expect(1).stderr;
    assert!(several.contains("several sessions begin with 'second': second-2, second-3"), "{several}");
    let one = world.run(&["score", "second-3", "--json"]).expect(0).json();
    assert_eq!(one["sessions"].as_array().unwrap().len(), 1, "{one}");
    assert_eq!(world.run(&["score", "first", "--json"]).expect(0).json()["sessions"], json!([]), "it is there");
    let alone = world.run(&["score", "first"]).expect(0).stdout;
    assert!(alone.contains("the session `first-1` has no predecessor of the same branch or goal"), "{alone}");
    for wrong in [&["score", ""][..], &["score", "--last", "0"], &["score", "--last", "-1"]] {
        world.run(wrong).expect(64);
    }
}
