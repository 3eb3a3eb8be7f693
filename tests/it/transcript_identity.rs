//! Which part of a transcript is handed over: of a file that was replaced, cut, moved, compressed or forked, and of one that
//! nobody understands.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::hook::{Session, feed, first_used_an_hour_ago, log, runs, settled};
use super::support::*;

fn latest(world: &World) -> String {
    world.read(".agent-history/LATEST.md")
}

/// A session of which a first part is handed over.
fn handed_over<'a>(world: &'a World, id: &'a str) -> Session<'a> {
    let session = Session::of(world, id);
    session.start("startup");
    session.ask("Port the parser to the new grammar, with all of its tests");
    session.end();
    assert_eq!(runs(world).len(), 1);
    session
}

/// 0.1.0 said that nothing was asked.
#[test]
fn a_transcript_that_is_shorter_than_before_starts_at_its_beginning() {
    let world = World::with_git();
    let session = handed_over(&world, "aaaa-1");
    std::fs::write(session.transcript(), "").unwrap();
    session.ask("Now the docs");
    session.end();
    assert!(latest(&world).contains("Now the docs"), "{}", log(&world));
    session.end();
    assert_eq!(runs(&world).len(), 2, "and once");
}

#[test]
fn another_file_under_the_same_session_starts_at_its_beginning() {
    let world = World::with_git();
    let session = handed_over(&world, "aaaa-1");
    std::fs::remove_file(session.transcript()).unwrap();
    session.ask(&format!("Another file altogether. {}", "It is longer. ".repeat(100)));
    session.ask("Now the docs");
    session.end();
    assert!(latest(&world).contains("Another file altogether"), "{}", latest(&world));
}

/// A file that is written again in its place keeps its inode, too.
#[test]
fn a_file_that_was_written_again_starts_at_its_beginning() {
    let world = World::with_git();
    let session = handed_over(&world, "aaaa-1");
    let old = std::fs::read_to_string(session.transcript()).unwrap();
    std::fs::write(session.transcript(), old.replace("Port the parser", "Write a new parser")).unwrap();
    session.ask("Now the docs");
    session.end();
    assert!(latest(&world).contains("Write a new parser"), "{}", latest(&world));
}

#[test]
fn a_moved_transcript_goes_on_where_it_was() {
    let world = World::with_git();
    let session = handed_over(&world, "aaaa-1");
    session.ask("Now the docs");
    let moved = world.home().join("elsewhere.jsonl");
    std::fs::rename(session.transcript(), &moved).unwrap();
    session.call("SessionEnd", json!({ "reason": "other", "transcript_path": moved }));
    settled(&world);
    let latest = latest(&world);
    assert!(latest.contains("Now the docs") && !latest.contains("- 1: Port the parser"), "{latest}");
    assert_eq!(runs(&world).len(), 2);
    session.call("SessionEnd", json!({ "reason": "other", "transcript_path": moved }));
    assert_eq!(runs(&world).len(), 2);
}

#[test]
fn the_log_says_what_was_not_understood() {
    let world = World::with_git();
    for (id, content, said) in [
        ("aaaa-1", &b"a diary, not a transcript\n"[..], "is not a transcript that this program can read"),
        ("bbbb-2", b"{\"format\":\"of next year\"}\n", "is not a transcript that this program can read"),
        (
            "cccc-3",
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00",
            "is compressed with gzip, which agent-handover does not read",
        ),
        ("dddd-4", b"\x28\xb5\x2f\xfd\x00", "cannot be decompressed"),
    ] {
        let session = Session::of(&world, id);
        session.start("startup");
        std::fs::create_dir_all(session.transcript().parent().unwrap()).unwrap();
        std::fs::write(session.transcript(), content).unwrap();
        session.turn();
        session.end();
        let log = log(&world);
        let line = log.lines().rfind(|line| line.contains(" session-end ")).unwrap();
        assert!(line.contains(said) && !line.contains("nothing was asked"), "{line}");
    }
    assert_eq!(runs(&world), []);
}

const PARENT: &str = "019a8a0f-0000-7000-8000-00000000f0a1";
const FORK: &str = "019a8a0f-1111-7000-8000-00000000f0a2";

fn codex_record(kind: &str, payload: Value) -> String {
    format!("{}\n", json!({ "timestamp": "2026-11-15T10:00:00Z", "type": kind, "payload": payload }))
}

fn codex_meta(world: &World, id: &str, forked_from: Option<&str>) -> String {
    let mut meta = json!({ "id": id, "cwd": world.root().canonicalize().unwrap(), "source": "cli" });
    if let Some(parent) = forked_from {
        meta["forked_from_id"] = parent.into();
    }
    codex_record("session_meta", meta)
}

fn codex_message(role: &str, text: &str, id: Option<&str>) -> String {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    let mut item = json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    if let Some(id) = id {
        item["id"] = id.into();
    }
    codex_record("response_item", item)
}

fn codex_file(world: &World, id: &str, ending: &str) -> PathBuf {
    // The day of the time in the ids.
    let path =
        world.home().join(".codex/sessions/2025/11/16").join(format!("rollout-2025-11-16T00-00-00-{id}{ending}"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

fn codex(world: &World, event: &str, id: &str, path: &std::path::Path, source: &str) {
    let payload = json!({ "session_id": id, "transcript_path": path, "cwd": world.root(), "source": source,
        "hook_event_name": event });
    feed(&mut world.command(&["hook", "--agent", "codex"]), payload.to_string().as_bytes()).expect(0);
    settled(world);
}

fn compressed(text: &str) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn a_compressed_session_is_handed_over_by_its_hook_by_the_sweep_and_by_run() {
    let talk = |world: &World, request: &str| codex_meta(world, PARENT, None) + &codex_message("user", request, None);
    let world = World::with_git();
    let path = codex_file(&world, PARENT, ".jsonl.zst");
    std::fs::write(&path, compressed(&talk(&world, "Asked and compressed"))).unwrap();
    // The first page of a project is made of it.
    let first = Session::dying(&world, "aaaa-1").start("startup");
    assert!(first.contains("Asked and compressed"), "{first}");
    first_used_an_hour_ago(&world);
    world.database().execute("DELETE FROM transcript_file", []).unwrap();
    let silent = std::time::SystemTime::now() - std::time::Duration::from_secs(11 * 60);
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(silent).unwrap();
    let swept = Session::dying(&world, "bbbb-2").start("startup");
    assert!(swept.contains("Asked and compressed") && swept.contains(", codex"), "{swept}");
    Session::dying(&world, "cccc-3").start("startup");
    assert_eq!(runs(&world).len(), 1);
    // Codex takes the compression off again when the session goes on.
    let plain = codex_file(&world, PARENT, ".jsonl");
    let more = codex_message("user", "And now the second part", None);
    std::fs::write(&plain, talk(&world, "Asked and compressed") + &more).unwrap();
    std::fs::remove_file(&path).unwrap();
    codex(&world, "SessionEnd", PARENT, &plain, "");
    assert_eq!(runs(&world).len(), 2);
    let latest = latest(&world);
    assert!(latest.contains("And now the second part") && !latest.contains("- 1: Asked and compressed"), "{latest}");

    let world = World::with_git();
    let path = codex_file(&world, PARENT, ".jsonl.zst");
    std::fs::write(&path, compressed(&talk(&world, "Named on the command line"))).unwrap();
    world.run(&["run", "--transcript", path.to_str().unwrap()]).expect(0);
    assert!(self::latest(&world).contains("Named on the command line"));
    assert_eq!(runs(&world)[0].1, "codex");
}

#[test]
fn a_fork_of_codex_is_cut_where_it_differs_from_its_parent() {
    let world = World::with_git();
    let parent = codex_file(&world, PARENT, ".jsonl");
    let told = |ids: bool| {
        let id = |name| Some(name).filter(|_| ids);
        codex_message("user", "What the parent was asked", id("m1"))
            + &codex_message("assistant", "What it answered", id("m2"))
    };
    let rest = codex_message("user", "Tidy up the lexer as well", None) + &codex_message("assistant", "Gone on", None);
    std::fs::write(&parent, codex_meta(&world, PARENT, None) + &told(false) + &rest).unwrap();
    let fork = codex_file(&world, FORK, ".jsonl");
    codex(&world, "SessionStart", FORK, &fork, "fork");
    // The copy has ids and the parent's own first record, and the person says something that the parent was asked, too.
    let copy = codex_meta(&world, FORK, Some(PARENT)) + &codex_meta(&world, PARENT, None) + &told(true);
    let own = codex_message("user", "Tidy up the lexer as well", None)
        + &codex_message("assistant", "Gone another way", None)
        + &codex_message("user", "What the fork was asked", None);
    std::fs::write(&fork, copy + &own).unwrap();
    codex(&world, "SessionEnd", FORK, &fork, "");
    let latest = latest(&world);
    assert!(latest.contains("What the fork was asked") && latest.contains("Tidy up the lexer as well"), "{latest}");
    assert!(!latest.contains("What the parent") && !latest.contains("What it answered"), "{latest}");
}

fn with_uuid(request: &str, uuid: &str) -> Value {
    json!({ "type": "user", "isSidechain": false, "uuid": uuid, "message": { "role": "user", "content": request } })
}

/// Claude Code writes the file of a fork only with its first message. 0.1.0 counted it from the beginning of the parent.
#[test]
fn a_fork_whose_file_appears_late_hands_over_only_its_own_part() {
    let world = World::with_git();
    let parent = Session::of(&world, "aaaa-1");
    parent.start("startup");
    parent.write(&[with_uuid("What the parent was asked", "u1"), with_uuid("A branch that was left", "u2")]);
    parent.write(&[with_uuid("The last of the parent", "u3")]);
    parent.end();
    Session::of(&world, "xxxx-9").ask("Another session beside them");
    let fork = Session::of(&world, "bbbb-2");
    fork.start("fork");
    fork.write(&[json!({ "type": "summary", "summary": "no uuid" }), with_uuid("What the parent was asked", "u1")]);
    fork.write(&[with_uuid("The last of the parent", "u3"), with_uuid("What the fork was asked", "u4")]);
    fork.end();
    let latest = latest(&world);
    assert!(latest.contains("What the fork was asked"), "{latest}");
    assert!(!latest.contains("What the parent") && !latest.contains("The last of the parent"), "{latest}");
}

/// With `/branch` each copied record says of which it is a copy, and all ids are new.
#[test]
fn a_fork_that_no_hook_saw_is_cut_by_its_marks() {
    let world = World::with_git();
    Session::dying(&world, "first-0").start("startup");
    first_used_an_hour_ago(&world);
    let fork = Session::of(&world, "bbbb-2");
    let mut copy = with_uuid("What the parent was asked", "u9");
    copy["forkedFrom"] = json!({ "sessionId": "aaaa-1", "messageUuid": "u1" });
    fork.write(&[copy, with_uuid("What the fork was asked", "u10")]);
    fork.falls_silent();
    let context = Session::dying(&world, "cccc-3").start("startup");
    assert!(context.contains("What the fork was asked") && !context.contains("What the parent"), "{context}");
}

/// A fork in which nothing was asked has nothing of its own.
#[test]
fn a_fork_in_which_nothing_was_asked_is_not_handed_over() {
    let world = World::with_git();
    let fork = Session::of(&world, "bbbb-2");
    fork.start("fork");
    let mut copy = with_uuid("What the parent was asked", "u9");
    copy["forkedFrom"] = json!({ "sessionId": "aaaa-1", "messageUuid": "u1" });
    fork.write(&[copy]);
    fork.end();
    assert_eq!(runs(&world), []);
}

/// Claude Code, when it compacts for the second time, writes records from before the first compaction again, as they were.
#[test]
fn a_request_that_the_client_wrote_twice_was_made_once() {
    let world = World::with_git();
    let session = Session::of(&world, "aaaa-1");
    session.start("startup");
    session.write(&[with_uuid("Port the parser", "u1"), with_uuid("Then port the lexer", "u2")]);
    session.write(&[with_uuid("Port the parser", "u1")]);
    session.end();
    let note = world.run(&["memory", "list", "--layer", "1", "--json"]).stdout;
    assert!(note.contains("Last request: Then port the lexer"), "{note}");
    // It goes on, and the part that is handed over has nothing but old records, then also a new one.
    session.write(&[with_uuid("Port the parser", "u1"), with_uuid("Then port the lexer", "u2")]);
    session.end();
    assert_eq!(runs(&world).len(), 1, "{}", log(&world));
    session.write(&[with_uuid("Then port the lexer", "u2"), with_uuid("Now the docs", "u3")]);
    session.write(&[with_uuid("Port the parser", "u1")]);
    session.end();
    assert_eq!(runs(&world).len(), 2, "{}", log(&world));
    let latest = latest(&world);
    let asked = latest.split_once("# Asked").map(|(_, asked)| asked.trim());
    assert_eq!(asked, Some("- 1: Now the docs"), "{latest}");
}

/// A client that is killed while it writes leaves half a line. When it continues the session, it appends to that line.
#[test]
fn a_request_on_the_line_of_a_torn_record_is_handed_over() {
    let world = World::with_git();
    let session = handed_over(&world, "aaaa-1");
    let mut file = std::fs::File::options().append(true).open(session.transcript()).unwrap();
    file.write_all(br#"{"type":"assistant","sessionId":"aaaa-1","message":{"content":[{"type":"text","te"#).unwrap();
    session.end();
    session.ask("Now the docs");
    session.end();
    assert!(latest(&world).contains("Now the docs"), "{}", log(&world));
    session.end();
    assert_eq!(runs(&world).len(), 2, "{}", log(&world));
}
