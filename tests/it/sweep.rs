//! Sessions that no hook saw: each of them is handed over once, however many there are and whatever the clock says.

use std::process::Stdio;

use serde_json::json;

use super::hook::{Session, first_used_an_hour_ago, first_used_at, log, runs, settled};
use super::support::*;

/// A project that has been in use for an hour.
fn used() -> World {
    let world = World::with_git();
    Session::dying(&world, "first-0").start("startup");
    first_used_an_hour_ago(&world);
    world
}

/// A session that no hook saw and that has been silent for a while.
fn unseen<'a>(world: &'a World, id: &'a str, request: &str) -> Session<'a> {
    let session = Session::of(world, id);
    session.ask(request);
    session.falls_silent();
    session
}

/// Starts a session, and waits until that and its child are done.
fn start(world: &World, id: &str) -> String {
    let context = Session::dying(world, id).start("startup");
    settled(world);
    context
}

fn handed_over(world: &World) -> usize {
    runs(world).iter().filter(|(status, _)| status == "completed").count()
}

fn notes(world: &World) -> String {
    let mut notes = String::new();
    for month in std::fs::read_dir(world.path("memory/layer1")).unwrap() {
        for day in std::fs::read_dir(month.unwrap().path()).unwrap() {
            notes.push_str(&std::fs::read_to_string(day.unwrap().path()).unwrap());
        }
    }
    notes
}

/// 0.1.0 handed the newest ten over, and then believed that it had seen the others.
#[test]
fn all_sessions_that_no_hook_saw_are_handed_over() {
    let world = used();
    let ids: Vec<String> = (0..20).map(|n| format!("unseen-{n}")).collect();
    for id in &ids {
        unseen(&world, id, &format!("Request of {id}, please"));
    }
    let context = Session::dying(&world, "later-1").start("startup");
    assert!(context.contains("Request of unseen-"), "{context}");
    wait_until("the sweep", || handed_over(&world) == 20);
    let notes = notes(&world);
    for id in &ids {
        assert!(notes.contains(&format!("Request of {id}, please")), "{id}: {notes}");
    }
    // Each of them once.
    for n in 2..5 {
        start(&world, &format!("later-{n}"));
    }
    assert_eq!(runs(&world).len(), 20);
}

#[test]
fn what_a_child_could_not_do_is_done_by_later_starts() {
    let world = used();
    let ids: Vec<String> = (0..12).map(|n| format!("unseen-{n:02}")).collect();
    for id in &ids {
        unseen(&world, id, "Something to be handed over");
    }
    // Whoever holds the lock keeps the child away.
    let lock = std::fs::File::create(world.path(".agent-handover/lock")).unwrap();
    lock.lock().unwrap();
    for n in 1..=3 {
        Session::dying(&world, &format!("later-{n}")).start("startup");
        assert_eq!(runs(&world).len(), (5 * n).min(12));
    }
    drop(lock);
    start(&world, "later-4");
    wait_until("the handovers", || handed_over(&world) == 12);
}

/// 0.1.0 looked at none.
#[test]
fn among_more_than_a_thousand_transcripts_an_unseen_session_is_found() {
    let world = used();
    let session = unseen(&world, "bbbb-2", "One among many");
    for n in 0..1_000 {
        std::fs::write(session.transcript().with_file_name(format!("old-{n}.jsonl")), "").unwrap();
    }
    Session::dying(&world, "cccc-3").start("startup");
    wait_until("the sweep", || handed_over(&world) == 1);
    assert!(notes(&world).contains("One among many"));
    assert!(log(&world).contains("other sessions are swept in the background"), "{}", log(&world));
}

/// 0.1.0 handed over nothing until the time that the clock had shown.
#[test]
fn a_clock_that_was_ahead_once_hides_no_session() {
    let world = used();
    let session = Session::dying(&world, "aaaa-1");
    for now in ["2031-01-01T00:00:00Z", "1990-01-01T00:00:00Z"] {
        let payload = session.payload("SessionStart", json!({ "source": "startup" })).to_string();
        let mut command = world.command(&["hook", "--agent", "claude-code"]);
        super::hook::feed(command.env("AGENT_HANDOVER_TEST_NOW", now), payload.as_bytes()).expect(0);
        settled(&world);
    }
    unseen(&world, "bbbb-2", "After the clock was right again");
    let context = start(&world, "cccc-3");
    assert!(context.contains("After the clock was right again"), "{context}");
}

/// A wrong clock is on the file, too.
#[test]
fn a_session_whose_file_is_in_the_future_is_handed_over() {
    let world = used();
    let session = Session::of(&world, "bbbb-2");
    session.ask("Asked while the clock was ahead");
    session.changed_at("2031-01-01T00:00:00Z");
    assert!(start(&world, "cccc-3").contains("Asked while the clock was ahead"));
}

/// If the first use was at a time that is still to come, no file looks new.
#[test]
fn a_first_use_in_the_future_hides_no_session() {
    let world = used();
    first_used_at(&world, "2031-01-01T00:00:00Z");
    unseen(&world, "bbbb-2", "After the clock was right again");
    assert!(start(&world, "cccc-3").contains("After the clock was right again"));
}

#[test]
fn a_session_of_last_month_is_not_too_old() {
    let world = World::with_git();
    Session::dying(&world, "first-0").start("startup");
    first_used_at(&world, "2026-01-01T00:00:00Z");
    let session = Session::of(&world, "bbbb-2");
    session.ask("Asked a month ago");
    session.changed_at("2026-10-01T00:00:00Z");
    start(&world, "cccc-3");
    assert!(notes(&world).contains("Asked a month ago"));
}

#[test]
fn sessions_from_before_the_first_use_are_owed_only_if_they_go_on() {
    let world = World::with_git();
    let old = unseen(&world, "aaaa-1", "Long before all this");
    start(&world, "bbbb-2");
    start(&world, "cccc-3");
    assert_eq!(runs(&world), []);
    first_used_an_hour_ago(&world);
    old.ask("And now one more thing");
    old.falls_silent();
    start(&world, "dddd-4");
    assert!(notes(&world).contains("And now one more thing"));
    assert_eq!(runs(&world).len(), 1);
    // Neither is an old one owed that somebody brings back from a backup.
    let restored = Session::of(&world, "eeee-5");
    restored.ask("Restored from a backup");
    restored.changed_at("2026-01-01T00:00:00Z");
    start(&world, "ffff-6");
    assert_eq!(runs(&world).len(), 1);
}

/// Not only a hook is a first use.
#[test]
fn sessions_since_the_first_run_are_owed() {
    let world = World::with_git();
    world.run(&["run", "--note", "before there were hooks"]).expect(0);
    first_used_an_hour_ago(&world);
    unseen(&world, "aaaa-1", "Still before there were hooks");
    let context = start(&world, "bbbb-2");
    assert!(context.contains("Still before there were hooks"), "{context}");
}

/// What 0.1.0 passed over is still owed.
#[test]
fn sessions_that_0_1_0_left_out_are_handed_over() {
    let world = used();
    for n in 0..12 {
        unseen(&world, &format!("unseen-{n}"), "Left out by 0.1.0");
    }
    let hour = (chrono::Utc::now() - chrono::Duration::hours(1)).to_rfc3339();
    let now = chrono::Utc::now().to_rfc3339();
    let database = world.database();
    database.execute("UPDATE session SET started_at = ?1, swept_at = ?2", [hour, now]).unwrap();
    database
        .execute_batch(
            "DROP TABLE receipt; DROP TABLE transcript_file; DROP TABLE transcript_place; DROP INDEX session_transcript;
             ALTER TABLE session DROP COLUMN inode; ALTER TABLE session DROP COLUMN beginning;
             ALTER TABLE session DROP COLUMN is_fork; ALTER TABLE session DROP COLUMN kept_out; DROP TABLE run_text; DROP TABLE session_word; ALTER TABLE session DROP COLUMN warmed_at;
             DELETE FROM meta WHERE key = 'since'; PRAGMA user_version = 4",
        )
        .unwrap();
    drop(database);
    Session::dying(&world, "later-1").start("startup");
    wait_until("the sweep", || handed_over(&world) == 12);
}

/// What a session start asks of the file system.
struct Costs {
    /// Names in directories.
    listed: usize,
    /// Transcripts whose state was asked.
    examined: usize,
    /// Transcripts that were opened.
    opened: usize,
    /// Statements that read the database: each takes a lock for it. To fold the log takes others.
    asked: usize,
}

/// The costs of a session start; `None` where there is no strace.
fn costs(world: &World, id: &str) -> Option<Costs> {
    let trace = world.home().join("trace");
    let mut command = world.clean("strace");
    command.args(["-qq", "-e", "trace=getdents64,newfstatat,statx,openat,fcntl", "-v", "-o"]).arg(&trace);
    command.args([BINARY, "hook", "--agent", "claude-code"]);
    let payload = Session::of(world, id).payload("SessionStart", json!({ "source": "startup" })).to_string();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    settled(world);
    let text = std::fs::read_to_string(&trace).unwrap();
    let listed = text.lines().filter(|line| line.starts_with("getdents64")).map(|line| line.matches("d_name").count());
    let transcripts = |calls: &[&str]| {
        let is_one = |line: &&str| line.contains(".jsonl") && calls.iter().any(|call| line.starts_with(call));
        text.lines().filter(is_one).count()
    };
    let to_read = |line: &&str| line.starts_with("fcntl") && line.contains("F_SETLK") && line.contains("F_RDLCK");
    let asked = text.lines().filter(to_read).count();
    let (examined, opened) = (transcripts(&["newfstatat", "statx"]), transcripts(&["openat"]));
    Some(Costs { listed: listed.sum(), examined, opened, asked })
}

fn with_transcripts(world: &World, name: &str, count: usize, minutes_ago: u64) {
    let directory = Session::of(world, "x").transcript();
    let directory = directory.parent().unwrap();
    std::fs::create_dir_all(directory).unwrap();
    let cwd = world.root().canonicalize().unwrap();
    for n in 0..count {
        let record = json!({ "type": "user", "isSidechain": false, "sessionId": format!("{name}-{n}"), "cwd": cwd,
            "message": { "role": "user", "content": format!("Request {n}.") } });
        let path = directory.join(format!("{name}-{n}.jsonl"));
        std::fs::write(&path, format!("{record}\n")).unwrap();
        let changed = std::time::SystemTime::now() - std::time::Duration::from_secs(minutes_ago * 60);
        std::fs::File::options().append(true).open(&path).unwrap().set_modified(changed).unwrap();
    }
}

/// Asserts what a start costs among this many transcripts. `false` where there is no strace.
#[must_use]
fn start_is_bounded(world: &World, id: &str) -> bool {
    let Some(Costs { listed, examined, opened, asked }) = costs(world, id) else {
        skip("strace is not installed");
        return false;
    };
    // The sweep and the first warmup look once each, and the system returns names by the thousand.
    assert!(
        listed <= 5_000 && examined <= 1_100 && opened <= 120 && asked <= 200,
        "{listed} listed, {examined} examined, {opened} opened, {asked} asked"
    );
    true
}

#[test]
fn a_start_looks_at_a_bounded_number_of_files() {
    // Few enough to be listed at once, but too many to be opened at once.
    let world = used();
    with_transcripts(&world, "many", 70, 11);
    if !start_is_bounded(&world, "later-1") {
        return;
    }
    wait_until("the sweep", || handed_over(&world) == 70);
    // Once they are dealt with, none is opened again, but for the transcripts of the session that starts and of the one
    // before it, and the database is asked no more than without them.
    start(&world, "later-2");
    let Some(among_many) = costs(&world, "later-3") else { return };
    assert!(among_many.examined <= 80 && among_many.opened <= 2, "{} {}", among_many.examined, among_many.opened);
    let directory = Session::of(&world, "x").transcript().parent().unwrap().to_owned();
    std::fs::remove_dir_all(&directory).unwrap();
    start(&world, "later-4");
    let among_none = costs(&world, "later-5").unwrap();
    assert!(among_many.asked <= among_none.asked + 2, "{} {}", among_many.asked, among_none.asked);
}

/// With very many, a start looks at none of them; the child finds those that are owed.
#[test]
#[ignore = "makes 40,000 files"]
fn among_forty_thousand_sessions_those_that_are_owed_come_in_the_end() {
    let world = used();
    with_transcripts(&world, "old", 39_800, 120);
    with_transcripts(&world, "owed", 200, 11);
    if !start_is_bounded(&world, "later-1") {
        return;
    }
    wait_until("the sweep", || handed_over(&world) == 200);
    assert!(start_is_bounded(&world, "later-2"));
    settled(&world);
    assert_eq!(runs(&world).len(), 200);
}

/// What was worked on last is what the next session continues, in whatever order the sessions were found.
#[test]
fn an_older_session_that_is_found_later_does_not_replace_the_newer_goal() {
    let world = World::with_git();
    Session::dying(&world, "first-0").start("startup");
    first_used_at(&world, "2026-01-01T00:00:00Z");
    let newer = Session::dying(&world, "aaaa-1");
    newer.start("startup");
    newer.ask("Write the reference of the configuration");
    newer.edit("docs.md");
    newer.end();
    let older = Session::of(&world, "bbbb-2");
    older.ask("Port the parser to the new grammar");
    older.edit("parser.rs");
    older.changed_at("2026-11-12T00:00:00Z");
    start(&world, "cccc-3");
    assert_eq!(handed_over(&world), 2);
    let context = start(&world, "dddd-4");
    let goal = context.split("## Goal\n").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(goal, "- Write the reference of the configuration", "{context}");
    assert!(world.read(".agent-history/LATEST.md").contains("Write the reference"));
}

/// Whether the session of a worktree belongs to the project cannot be known while the config of the worktree is broken.
#[test]
fn a_worktree_with_a_broken_config_only_delays_its_sessions() {
    let world = used();
    let root = world.root().canonicalize().unwrap().join("wt");
    world.first_commit();
    world.git(&["worktree", "add", "--quiet", root.to_str().unwrap()]);
    std::fs::write(root.join("handover.toml"), "broken [").unwrap();
    let name: String =
        root.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let place = world.home().join(".claude/projects").join(name);
    std::fs::create_dir_all(&place).unwrap();
    let message = json!({ "role": "user", "content": "Asked in the worktree" });
    let record = json!({ "type": "user", "isSidechain": false, "sessionId": "w-1", "cwd": root, "message": message });
    std::fs::write(place.join("w-1.jsonl"), format!("{record}\n")).unwrap();
    let silent = std::time::SystemTime::now() - std::time::Duration::from_secs(660);
    let file = std::fs::File::options().append(true).open(place.join("w-1.jsonl")).unwrap();
    file.set_modified(silent).unwrap();
    unseen(&world, "main-1", "Asked in the main tree");
    start(&world, "later-1");
    assert!(log(&world).contains("w-1.jsonl` was not swept: "), "{}", log(&world));
    assert!(notes(&world).contains("Asked in the main tree") && !notes(&world).contains("Asked in the worktree"));
    std::fs::remove_file(root.join("handover.toml")).unwrap();
    start(&world, "later-2");
    assert!(notes(&world).contains("Asked in the worktree"), "{}", log(&world));
}

/// Claude Code began a session with a line for each earlier one, and a first prompt may have pictures.
#[test]
fn a_transcript_that_names_its_directory_late_is_handed_over() {
    let world = used();
    let summary = format!("{}\n", json!({ "type": "summary", "summary": "An earlier session", "leafUuid": "u" }));
    let pictures = json!({ "type": "user", "sessionId": "late-2", "message": { "content": "x".repeat(5 << 20) } });
    for (id, first) in [("late-1", summary.repeat(100)), ("late-2", format!("{pictures}\n"))] {
        let session = Session::of(&world, id);
        std::fs::create_dir_all(session.transcript().parent().unwrap()).unwrap();
        std::fs::write(session.transcript(), first).unwrap();
        unseen(&world, id, &format!("Request of {id}, please"));
    }
    start(&world, "later-1");
    let notes = notes(&world);
    assert!(notes.contains("Request of late-1") && notes.contains("Request of late-2"), "{notes}{}", log(&world));
}
