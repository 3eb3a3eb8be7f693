//! Receipts: whether the text that a session gets at its start arrives, as its transcript shows.

use serde_json::{Value, json};

use super::hook::{Session, settled};
use super::support::*;

/// The mark at the end of a text.
fn mark(context: &str) -> String {
    let line = context.lines().last().unwrap();
    let digits = line.strip_prefix("<!-- end ").and_then(|rest| rest.strip_suffix(" -->"));
    digits.unwrap_or_else(|| panic!("no mark: {line}")).to_owned()
}

fn attachment(content: &str) -> Value {
    json!({ "type": "attachment", "attachment": { "type": "hook_additional_context", "hookEvent": "SessionStart", "content": [content] } })
}

/// A session whose client writes down what `kept` makes of its context.
fn session(world: &World, id: &str, kept: impl Fn(&str) -> Option<String>) {
    let session = Session::of(world, id);
    let context = session.start("startup");
    if let Some(kept) = kept(&context) {
        session.write(&[attachment(&kept)]);
    }
    session.ask(&format!("Request of {id}, please"));
    session.end();
    settled(world);
}

fn doctor(world: &World) -> Value {
    world.run(&["doctor", "--json"]).expect(0).json()
}

fn starts(report: &Value) -> Vec<(String, String)> {
    let agents = report["agents"].as_array().unwrap();
    let claude = agents.iter().find(|agent| agent["name"] == "claude-code").unwrap();
    let text = |start: &Value, key: &str| start[key].as_str().unwrap().to_owned();
    claude["starts"].as_array().unwrap().iter().map(|it| (text(it, "session"), text(it, "receipt"))).collect()
}

#[test]
fn a_start_is_delivered_whole_cut_or_missing() {
    let world = World::with_git();
    session(&world, "whole", |context| Some(context.to_owned()));
    session(&world, "cut", |context| Some(context[..40].to_owned()));
    session(&world, "missing", |_| None);
    // The agent ran the command itself: that does not make up for the hook.
    session(&world, "by-hand", |_| None);
    Session::of(&world, "by-hand").write(&[json!({ "type": "user", "message": { "content": [
        { "type": "tool_result", "tool_use_id": "t", "content": world.run(&["warmup"]).expect(0).stdout }] } })]);
    Session::of(&world, "open").start("startup");
    let report = doctor(&world);
    let expected = ["open open", "by-hand missing", "missing missing", "cut cut", "whole whole"];
    let seen: Vec<String> = starts(&report).iter().map(|(id, receipt)| format!("{id} {receipt}")).collect();
    assert_eq!(seen, expected);
    let findings: Vec<&Value> = report["findings"].as_array().unwrap().iter().collect();
    let says = |part: &str| findings.iter().find(|it| it["says"].as_str().unwrap().contains(part)).copied();
    let all = "last 5 starts: 1 delivered whole, 1 cut, 2 missing, 1 not over yet (newest first: open, missing, missing, cut, whole)";
    assert!(says(all).is_some(), "{report}");
    let missing = says("did not reach its session").unwrap();
    assert_eq!(missing["state"], "warning");
    assert_eq!(says("was cut by the client").unwrap()["state"], "remark");
    let page = world.run(&["doctor"]).expect(0).stdout;
    let lines: Vec<&str> = page.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("WARN   claude-code: the context of ")).unwrap();
    assert!(
        lines[at + 1].starts_with("       -> ") && !lines[..at].iter().any(|line| line.starts_with("note ")),
        "{page}"
    );
    assert!(missing["remedy"].as_str().unwrap().contains("agent-handover warmup"), "{missing}");
    assert!(says("was cut by the client").unwrap()["remedy"].as_str().unwrap().contains("budget"));
}

/// A client writes the text down with the first request, so nobody warns about a session in which nothing was asked, which
/// goes on, or whose client writes nothing down.
#[test]
fn a_start_that_cannot_be_known_is_no_warning() {
    let world = World::with_git();
    let asked_nothing = Session::of(&world, "nothing");
    asked_nothing.start("startup");
    asked_nothing.write(&[json!({ "type": "file-history-snapshot", "sessionId": "nothing" })]);
    asked_nothing.end();
    settled(&world);
    let running = Session::of(&world, "running");
    running.start("startup");
    running.ask("Request that is worked on, please");
    let report = doctor(&world);
    let states: Vec<&str> =
        report["findings"].as_array().unwrap().iter().map(|it| it["state"].as_str().unwrap()).collect();
    assert!(!states.contains(&"warning"), "{report}");
    let all: Vec<(String, String)> = starts(&report);
    assert!(all.iter().all(|(_, receipt)| ["open", "unknown"].contains(&receipt.as_str())), "{all:?}");
}

#[test]
fn the_mark_stays_while_the_text_does_and_changes_with_it() {
    let world = World::with_git();
    world.run(&["memory", "add", "decision", "Keep the parser"]).expect(0);
    let page = |budget: &str| world.run(&["warmup", "--budget", budget]).expect(0).stdout;
    let first = page("4000");
    assert_eq!(first, page("4000"));
    world.run(&["memory", "add", "decision", "Drop the lexer"]).expect(0);
    assert_ne!(mark(&first), mark(&page("4000")));
    for budget in ["300", "500", "1000", "2000", "4096"] {
        let page = page(budget);
        assert!(page.len() <= budget.parse().unwrap(), "{budget}: {}", page.len());
        mark(&page);
    }
}

#[test]
fn a_state_of_an_older_version_gets_receipts() {
    let world = World::with_git();
    session(&world, "before", |context| Some(context.to_owned()));
    let database = world.database();
    let version: i64 = database.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    // Receipts came two versions ago.
    database.execute_batch(&format!("DROP TABLE receipt; PRAGMA user_version = {}", version - 2)).unwrap();
    drop(database);
    assert_eq!(starts(&doctor(&world)), []);
    session(&world, "after", |context| Some(context.to_owned()));
    assert_eq!(starts(&doctor(&world)), [("after".to_owned(), "whole".to_owned())]);
}

/// Claude Code calls the hook for a fork with the id of its parent, and writes the text into the transcript of the fork.
#[test]
fn the_text_of_a_fork_that_is_announced_as_its_parent_is_found() {
    let world = World::with_git();
    session(&world, "parent", |context| Some(context.to_owned()));
    let parent = Session::of(&world, "parent");
    let context = parent.start("resume");
    let fork = Session::of(&world, "zfork");
    fork.write(&[attachment(&context)]);
    fork.ask("Asked in the fork, please");
    fork.turn();
    parent.end();
    fork.end();
    settled(&world);
    let seen = || starts(&doctor(&world));
    wait_until("the receipt", || seen().iter().all(|(_, receipt)| receipt != "open"));
    assert_eq!(seen(), [("zfork".to_owned(), "whole".to_owned()), ("parent".to_owned(), "whole".to_owned())]);
}
