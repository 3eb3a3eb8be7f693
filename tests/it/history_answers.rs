//! What the commands of the history answer, and the exit code for something that does not exist.

use super::support::*;

fn create(world: &World, goal: &str) -> String {
    let arguments = ["history", "create", "--json", "--goal", goal, "--next", "Fix it", "--next", "Test it"];
    let more = ["--summary", "The lexer works", "--file", "src/lexer.rs=it has the bug", "--tag", "lexer"];
    world.write("src/lexer.rs", "");
    let output = world.run(&[&arguments[..], &more[..]].concat()).expect(0).stderr_ignored("it is a minute old");
    output.json()["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_is_closed_by_a_unique_beginning_of_its_id() {
    let world = World::new();
    create(&world, "ship the parser");
    create(&world, "ship the lexer");
    let output =
        world.run(&["history", "close", "--status", "done", "--session", "2026-11-15-1004-ship-the-p"]).expect(0);
    assert_eq!(output.stdout, "set session 2026-11-15-1004-ship-the-parser status to DONE\n");
    let before = world.tree();
    let output = world.run(&["history", "close", "--status", "Blocked", "--session", "2026-11-15"]).expect(1);
    for id in ["2026-11-15-1004-ship-the-parser", "2026-11-15-1004-ship-the-lexer"] {
        assert!(output.stderr.contains(id), "{}", output.stderr);
    }
    world.run(&["history", "close", "--status", "BLOCKED", "--session", ""]).expect(1);
    assert_eq!(world.tree(), before);
    // A whole id that another one begins with is meant.
    let [first, second] = [create(&world, "again"), create(&world, "again")];
    assert_eq!(second, format!("{first}-2"));
    let output = world.run(&["history", "close", "--status", "ABANDONED", "--session", &first]).expect(0);
    assert_eq!(output.stdout, format!("set session {first} status to ABANDONED\n"));
    for (status, count) in [("done", 1), ("Done", 1), ("ABANDONED", 1), ("abandoned", 1), ("in_progress", 2)] {
        let list = world.run(&["history", "list", "--json", "--status", status]).expect(0).json();
        assert_eq!(list["handoffs"].as_array().unwrap().len(), count, "{status}");
    }
    world.run(&["history", "validate", "--sessions"]).expect(0);
}

#[test]
fn a_status_in_lower_case_is_the_same_status() {
    let world = World::new();
    let id = create(&world, "ship it");
    let document = world.run(&["history", "show", &id]).expect(0).stdout;
    let document = document.replace(&id, "lower-case").replace("IN_PROGRESS", "done");
    world.write("../done.md", document);
    world.run(&["history", "create", "--input", "../done.md"]).expect(0);
    assert!(world.read(".agent-history/RESUME_PROMPT.txt").contains("(none: the session is DONE"));
    world.run(&["history", "validate", "--sessions"]).expect(0);
    world.run(&["history", "close", "--status", "done"]).expect(0);
    world.run(&["history", "validate", "--sessions"]).expect(0);
}

#[test]
fn a_list_in_json_has_what_session_handoff_lists() {
    let world = World::new();
    create(&world, "ship the parser");
    let list = world.run(&["history", "list", "--json"]).expect(0).json();
    let row = &list["handoffs"][0];
    assert!(row["summary"].as_str().unwrap().contains("The lexer works"), "{row}");
    assert_eq!(row["next"], serde_json::json!(["Fix it", "Test it"]));
    assert_eq!(row["changed"], serde_json::json!(["src/lexer.rs"]));
}

#[test]
fn show_in_json_has_the_fields_beside_the_document() {
    let world = World::new();
    let id = create(&world, "ship the parser");
    let shown = world.run(&["history", "show", &id, "--json"]).expect(0).json();
    let fields = &shown["fields"];
    assert_eq!((&fields["session_id"], &fields["primary_goal"]), (&id.into(), &"ship the parser".into()));
    assert_eq!(fields["next_todo_items"], serde_json::json!(["Fix it", "Test it"]));
    assert_eq!(fields["active_context_files"][0]["path"], "src/lexer.rs");
    let document = shown["document"].as_str().unwrap();
    assert!(document.ends_with(shown["body"].as_str().unwrap()), "{shown}");
}

#[test]
fn without_an_archive_the_status_is_that_there_is_none() {
    let world = World::new();
    let output = world.run(&["history", "status"]).expect(0);
    assert!(output.stdout.starts_with(".agent-history: none at "), "{}", output.stdout);
    let status = world.run(&["history", "status", "--json"]).expect(0).json();
    assert_eq!((&status["present"], &status["sessions"]), (&false.into(), &0.into()));
    create(&world, "ship it");
    assert_eq!(world.run(&["history", "status", "--json"]).expect(0).json()["present"], true);
}

#[test]
fn a_session_with_any_id_travels_in_a_bundle() {
    let world = World::new();
    let id = create(&world, "修复解析器");
    world
        .run(&["history", "export", "--format", "json", "--output", "../out.json"])
        .expect(0)
        .stderr_ignored("it is not signed");
    let other = World::new();
    other.write("../in.json", world.read("../out.json"));
    other.run(&["history", "import", "--input", "../in.json", "--allow-unsigned"]).expect(0).stderr_ignored("unsigned");
    let list = other.run(&["history", "list", "--json"]).expect(0).json();
    assert_eq!(list["handoffs"][0]["id"], id.as_str());
    other.write("src/lexer.rs", "");
    other.run(&["history", "validate", "--sessions"]).expect(0);
}

#[test]
fn a_list_of_items_beside_free_text_does_not_deny_the_text() {
    let world = World::new();
    world.write("memory/layer2/current-state.md", "All is well in the lexer.\n");
    let output = world.run(&["memory", "list", "--layer", "2"]).expect(0);
    assert!(output.stderr.contains("there are no items, only free text"), "{}", output.stderr);
}

#[test]
fn what_does_not_exist_has_one_exit_code() {
    let world = World::new();
    create(&world, "ship it");
    world.run(&["run", "--note", "a note"]).expect(0);
    for arguments in [
        &["history", "show", "zzz"][..],
        &["history", "render", "--id", "zzz"],
        &["history", "close", "--status", "DONE", "--session", "zzz"],
        &["history", "export", "--id", "zzz", "--output", "../out.json"],
        &["history", "revoke", "zzz"],
        &["history", "create", "--input", "zzz.md"],
        &["history", "import", "--input", "zzz.json"],
        &["history", "status", "--repo-root", "zzz"],
        &["memory", "done", "0000000000"],
        &["memory", "delete", "0000000000"],
        &["memory", "capture", "--file", "zzz.json"],
        &["run", "--abandon", "ZZZ"],
        &["run", "--note-file", "zzz.md"],
        &["run", "--handoff", "zzz.md"],
        &["run", "--transcript", "zzz.jsonl"],
        &["summarize", "--transcript", "zzz.jsonl"],
        &["summarize", "--transcript", "zzz.jsonl", "--save"],
        &["allow", "--secret", "zzz/zzz.md"],
        &["memory", "import", "--from", "zzz.md"],
        &["trust", "add", "zzz.pem"],
        &["score", "--handoff", "zzz.md"],
        &["run", "--config", "zzz.toml", "--note", "n"],
        &["run", "--resume", "--checkpoint", "zzz.db"],
        &["status", "--config", "zzz.toml"],
        &["status", "--run", "ZZZ"],
        &["config", "--config", "zzz.toml"],
    ] {
        let output = world.run(arguments);
        assert_eq!(output.code, 1, "{arguments:?}: {}", output.stderr);
    }
    // 1 would say that a handover was interrupted.
    world.run(&["check", "--config", "zzz.toml"]).expect(65);
}
