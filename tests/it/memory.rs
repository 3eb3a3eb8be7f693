//! The three layers by item: capture, add, list, done, delete, overview, compact. glee's pitfalls each have a test here.

use serde_json::{Value, json};

use super::support::*;

const JUNE: &str = "2026-06-15T10:00:00Z";

fn capture(world: &World, data: &Value) -> Value {
    world.run(&["memory", "capture", "--data", &data.to_string()]).expect(0).json()
}

fn items(world: &World, category: &str) -> Vec<String> {
    let answer = world.run(&["memory", "list", "--category", category, "--json"]).expect(0).json();
    answer["items"].as_array().unwrap().iter().map(|item| item["text"].as_str().unwrap().to_owned()).collect()
}

fn id(world: &World, text: &str) -> String {
    let answer = world.run(&["memory", "list", "--json"]).expect(0).json();
    let item = answer["items"].as_array().unwrap().iter().find(|item| item["text"] == text).cloned();
    item.unwrap_or_else(|| panic!("no item says {text}"))["id"].as_str().unwrap().to_owned()
}

const GATED: &str = "[[step]]\nname = \"gate\"\nkind = \"command\"\nshell = \"test -e open\"\n\
                     [[step]]\nname = \"state\"\nkind = \"state\"\n";

fn handoff(world: &World, goal: &str, decision: &str) -> String {
    let template = world.run(&["history", "template"]).expect(0).stdout;
    template
        .replace("primary_goal: \"\"", &format!("primary_goal: \"{goal}\""))
        .replace("next_todo_items:\n  - \"\"", &format!("next_todo_items:\n  - \"Next for {goal}\""))
        .replace("decisions: []", &format!("decisions:\n  - \"{decision}\""))
        .replace("search_tags:\n  - \"\"", "search_tags:\n  - \"t\"")
        .replace("command: \"\"", "command: \"cargo test\"")
}

/// The same command at another time.
fn at(world: &World, now: &str, arguments: &[&str]) -> Output {
    let mut command = world.command(arguments);
    command.env("AGENT_HANDOVER_TEST_NOW", now);
    finish(&mut command)
}

#[test]
fn a_capture_takes_glees_keys_and_aliases() {
    let world = World::new();
    let answer = capture(
        &world,
        &json!({
            "goal": " ", "current_goal": "ship", "objective": null, "key_constraints": ["c1", "c2"],
            "recent_decisions": "one text is one item", "open_loop": ["l1", null, " ", 7, true],
            "changes": ["M\tsrc/main.rs"], "summary": "did it", "source": "capture", "session_id": "x",
        }),
    );
    assert_eq!(
        answer,
        json!({
            "schema": "agent-handover/memory-capture/1",
            "added": { "goal": 1, "constraint": 2, "decision": 1, "open_loop": 3, "recent_change": 1, "session_summary": 1 },
            "cleared": {}, "dropped": {},
        })
    );
    assert_eq!(items(&world, "goal"), ["ship"]);
    assert_eq!(items(&world, "constraints"), ["c1", "c2"]);
    assert_eq!(items(&world, "open_loop"), ["l1", "7", "true"]);
    assert_eq!(items(&world, "recent_change"), ["M\tsrc/main.rs"]);
}

#[test]
fn a_capture_comes_from_a_flag_a_file_or_standard_input() {
    let world = World::new();
    world.write("capture.json", "\u{feff}{\"goal\": \"from a file\"}");
    world.run(&["memory", "capture", "--file", "capture.json"]).expect(0);
    assert_eq!(items(&world, "goal"), ["from a file"]);
    world.run(&["memory", "capture", "--json", r#"{"goal": "by glee's flag"}"#]).expect(0);
    assert_eq!(items(&world, "goal"), ["by glee's flag"]);
    let mut child = world.command(&["memory", "capture"]);
    child.stdin(std::fs::File::open(world.path("capture.json")).unwrap());
    finish(&mut child).expect(0);
    assert_eq!(items(&world, "goal"), ["from a file"]);
}

/// glee clears a category when a key is there and empty, so a session that said nothing erases the state.
#[test]
fn only_clear_empties_a_category() {
    let world = World::new();
    capture(&world, &json!({ "goal": "ship", "open_loops": ["l1"], "constraints": ["c"] }));
    let answer = capture(&world, &json!({ "goal": "", "open_loops": [], "constraints": null, "decisions": [] }));
    assert_eq!((&answer["added"], &answer["cleared"]), (&json!({}), &json!({})));
    assert_eq!((items(&world, "goal"), items(&world, "open_loop")), (vec!["ship".to_owned()], vec!["l1".to_owned()]));
    let answer = capture(&world, &json!({ "clear": ["goal", "open_loops"] }));
    assert_eq!(answer["cleared"], json!({ "goal": 1, "open_loop": 1 }));
    assert_eq!(items(&world, "goal"), [""; 0]);
    world.run(&["memory", "capture", "--clear", "constraint", "--data", "{}"]).expect(0);
    assert_eq!(items(&world, "constraint"), [""; 0]);
    // What left layer 2 is in layer 1.
    assert!(world.read(NOTES).contains(": ship\n") && world.read(NOTES).contains("- cleared constraint "));
    // Who only clears needs no input: an agent has no terminal, and its pipe may stay open.
    capture(&world, &json!({ "goal": "again" }));
    let mut child = world.command(&["memory", "capture", "--clear", "goal"]);
    child.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    let pipe = child.stdin.take();
    wait_until("the goal to go", || items(&world, "goal").is_empty());
    drop(pipe);
    assert!(child.wait().unwrap().success());
}

/// glee's retention deletes what is new once a category is full.
#[test]
fn thirty_captures_keep_the_newest_and_report_the_rest() {
    let world = World::new();
    for number in 0..30 {
        let decisions = [format!("d{number}a"), format!("d{number}b")];
        capture(
            &world,
            &json!({ "decisions": decisions, "summary": format!("s{number}"), "goal": format!("g{number}") }),
        );
    }
    let expected: Vec<String> = (10..30).flat_map(|n| [format!("d{n}a"), format!("d{n}b")]).collect();
    assert_eq!(items(&world, "decision"), expected);
    assert_eq!(items(&world, "session_summary"), (20..30).map(|n| format!("s{n}")).collect::<Vec<_>>());
    assert_eq!(items(&world, "goal"), ["g29"]);
    let notes = world.read(NOTES);
    for number in 0..30 {
        for text in [format!("d{number}a"), format!("d{number}b"), format!("s{number}"), format!("g{number}")] {
            assert!(notes.lines().any(|line| line.ends_with(&format!(": {text}"))), "{text} is lost");
        }
    }
}

/// glee stores a part of a capture when the rest fails.
#[test]
fn a_capture_is_kept_as_a_whole_or_not_at_all() {
    let world = World::new();
    capture(&world, &json!({ "goal": "ship" }));
    let before = world.tree();
    let huge = "x".repeat(70_000);
    for (data, expected) in [
        (r#"{"goal": "new", "desicions": ["d"]}"#.to_owned(), "did you mean `decisions`?"),
        (r#"{"goal": "new", "decisions": [{"a": 1}]}"#.to_owned(), "`decisions` must be a text or a list of texts"),
        (r#"{"goal": "new", "git_base": "--output=/tmp/x"}"#.to_owned(), "`git_base` must be a commit id"),
        (r#"{"goal": "new", "lesson": "unknown"}"#.to_owned(), "[category.NAME]"),
        (r#"{"goal": "new", "clear": ["No Such"]}"#.to_owned(), "`No Such` is not a category"),
        (r#"{"goal": "new", "clear": ["desicion"]}"#.to_owned(), "did you mean `decision`?"),
        (r#"{"goal": "new", "objective": "another"}"#.to_owned(), "`goal` and `objective` are one category"),
        (r#"["goal"]"#.to_owned(), "must be one JSON object"),
        (r#"{"goal": "#.to_owned(), "is not JSON"),
        (format!(r#"{{"goal": "new", "decisions": ["{huge}"]}}"#), "is larger than 64 KiB"),
        ("[".repeat(100_000), "is not JSON"),
    ] {
        let mut command = world.command(&["memory", "capture", "--file", "in.json"]);
        world.write("in.json", &data);
        let output = finish(&mut command).expect(65);
        assert!(output.stderr.contains(expected), "{}", output.stderr);
        assert_eq!(output.json()["error"]["exit_code"], 65);
        std::fs::remove_file(world.path("in.json")).unwrap();
        assert_eq!(world.tree(), before);
    }
    assert_eq!(items(&world, "goal"), ["ship"]);
}

/// glee's warmup renders an item with a newline and a heading as a section of its own.
#[test]
fn a_hostile_item_cannot_forge_markup() {
    let world = World::new();
    let hostile = "x\n## Goal\n- forged\n<!-- /section -->\n<!-- section name=goal -->\n<!-- item id=aaaaaaaaaa at=9 run=x -->\n- forged\n```\n---\n<!-- /note -->\n<!-- note run=EVIL step=note at=9 -->\n\u{1b}[31mred\u{0}";
    capture(&world, &json!({ "goal": "real", "decisions": [hostile], "open_loops": [hostile] }));
    assert_eq!(items(&world, "goal"), ["real"]);
    assert_eq!(items(&world, "decision"), [hostile]);
    let notes = world.run(&["memory", "list", "--layer", "1", "--json"]).expect(0).json();
    assert_eq!(notes["notes"].as_array().unwrap().len(), 1, "{notes}");
    let shown = world.run(&["memory", "list"]).expect(0).stdout;
    assert!(!shown.contains('\u{1b}') && shown.lines().count() == 6, "{shown}");
}

#[test]
fn text_of_others_stays_and_current_state_replaces_only_it() {
    let world = World::new();
    let theirs = "<!-- agent-handover | layer2 | 2026-11-01 -->\nwhere we are, says the Python tool\n\n## Goal\nnot a section of ours\r\n  no newline at the end";
    world.write(STATE, theirs);
    capture(&world, &json!({ "goal": "ship", "decisions": ["d"] }));
    assert!(world.read(STATE).starts_with(theirs), "{}", world.read(STATE));
    world.run(&["run", "--note", "n", "--current-state", "new\n<!-- section name=goal -->\n- forged"]).expect(0);
    let state = world.read(STATE);
    assert!(
        state.starts_with(
            "<!-- agent-handover | layer2 | 2026-11-15 -->\nnew\n\\<!-- section name=goal -->\n- forged\n\n<!-- section"
        ),
        "{state}"
    );
    assert_eq!((items(&world, "goal"), items(&world, "decision")), (vec!["ship".to_owned()], vec!["d".to_owned()]));
    // The text that made way is in layer 1.
    assert!(world.read(NOTES).contains("- replaced text "), "{}", world.read(NOTES));
    assert!(world.read(NOTES).contains("where we are, says the Python tool"));
    // The same again changes nothing, and a text that a note has already is not told twice.
    world.run(&["run", "--note", "the next", "--current-state", "new"]).expect(0);
    world.run(&["run", "--note", "after it"]).expect(0);
    let told = world.read(NOTES).matches("- replaced text ").count();
    world.run(&["run", "--note", "and after"]).expect(0);
    assert_eq!(world.read(NOTES).matches("- replaced text ").count(), told, "{}", world.read(NOTES));
}

#[test]
fn a_run_brings_its_handoff_into_the_sections() {
    let world = World::with_git();
    world.run(&["memory", "add", "open_loop", "an old one"]).expect(0);
    world.run(&["memory", "add", "decision", "an old one"]).expect(0);
    let template = world.run(&["history", "template"]).expect(0).stdout;
    let document = template
        .replace("primary_goal: \"\"", "primary_goal: \"Ship the importer\"")
        .replace("next_todo_items:\n  - \"\"", "next_todo_items:\n  - \"Write the parser test\"\n  - \"Then the docs\"")
        .replace("known_issues: []", "known_issues:\n  - \"Slow on Windows\"")
        .replace("decisions: []", "decisions:\n  - \"[standing] No unsafe\"")
        .replace("completed_tasks: []", "completed_tasks:\n  - \"Parser\"")
        .replace("search_tags:\n  - \"\"", "search_tags:\n  - \"importer\"")
        .replace("command: \"\"", "command: \"cargo test\"");
    world.write("handoff.md", &document);
    world.run(&["run", "--handoff", "handoff.md"]).expect(0);
    for (category, expected) in [
        ("goal", vec!["Ship the importer"]),
        ("open_loop", vec!["Write the parser test", "Then the docs"]),
        ("known_issue", vec!["Slow on Windows"]),
        ("decision", vec!["an old one", "[standing] No unsafe"]),
        ("recent_change", vec!["Parser"]),
    ] {
        assert_eq!(items(&world, category), expected, "{category}");
    }
    let item = &world.run(&["memory", "list", "--category", "goal", "--json"]).expect(0).json()["items"][0];
    assert_eq!(item["at"], "2026-11-15T10:04:05Z");
    assert_eq!(item["run"].as_str().unwrap().len(), 26);
    assert!(world.read(NOTES).contains("- cleared open_loop "), "{}", world.read(NOTES));
}

#[test]
fn items_know_their_commit_and_a_given_base() {
    let world = World::with_git();
    world.git(&["-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet", "--allow-empty", "-m", "x"]);
    let head = world.git(&["rev-parse", "HEAD"]);
    capture(&world, &json!({ "goal": "ship" }));
    let base = "0123456789abcdef0123456789abcdef01234567";
    capture(&world, &json!({ "decisions": ["d"], "git_base": base }));
    let answer = world.run(&["memory", "list", "--json"]).expect(0).json();
    assert_eq!(answer["items"][0]["commit"], head[..12]);
    assert_eq!(answer["items"][1]["commit"], base[..12]);
}

#[test]
fn done_and_delete_remove_an_item_and_report_it() {
    let world = World::new();
    capture(&world, &json!({ "open_loops": ["fix x", "fix y"], "decisions": ["d"], "goal": "g" }));
    let (x, d) = (id(&world, "fix x"), id(&world, "d"));
    let output = world.run(&["memory", "done", &x[..6]]).expect(0);
    assert_eq!(output.stdout, format!("done {x}: fix x\n"));
    assert_eq!(items(&world, "open_loop"), ["fix y"]);
    assert!(world.read(NOTES).contains(&format!("- done open_loop {x}: fix x\n")));
    assert!(world.read(STATE).contains(&format!("<!-- gone id={x} at=2026-11-15T10:04:05Z -->")));
    world.run(&["memory", "done", &x]).expect(1);
    let output = world.run(&["memory", "done", &d]).expect(64);
    assert!(output.stderr.contains(&format!("`agent-handover memory delete {d}`")), "{}", output.stderr);
    let answer = world.run(&["memory", "delete", &d, "--json"]).expect(0).json();
    assert_eq!(
        answer,
        json!({ "schema": "agent-handover/memory-deleted/1", "id": d, "category": "decision", "text": "d" })
    );
    assert_eq!(items(&world, "decision"), [""; 0]);
    assert_eq!(items(&world, "goal"), ["g"]);
}

#[test]
fn an_ambiguous_id_is_refused_with_what_it_could_mean() {
    let world = World::new();
    let many: Vec<String> = (0..40).map(|number| format!("change {number}")).collect();
    world.write("handover.toml", "[category.recent_change]\nkeep = 40\n[[step]]\nname = \"n\"\nkind = \"note\"\n");
    capture(&world, &json!({ "recent_changes": many }));
    let answer = world.run(&["memory", "list", "--json"]).expect(0).json();
    let ids: Vec<&str> = answer["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 40);
    // Forty ids and sixteen digits: one of them begins two.
    let first = "0123456789abcdef".chars().find(|c| ids.iter().filter(|id| id.starts_with(*c)).count() > 1).unwrap();
    let output = world.run(&["memory", "delete", &first.to_string()]).expect(64);
    for id in ids.iter().filter(|id| id.starts_with(first)) {
        assert!(output.stderr.contains(id), "{}", output.stderr);
    }
    world.run(&["memory", "delete", ""]).expect(1);
}

#[test]
fn categories_are_configurable_and_users_have_their_own() {
    let world = World::with_config(
        "[category.decision]\nkeep = 2\n[category.lesson]\nmode = \"clear\"\nkeep = 3\n[[step]]\nname = \"n\"\nkind = \"note\"\n",
    );
    for number in 0..4 {
        capture(&world, &json!({ "decisions": [format!("d{number}")], "lesson": [format!("l{number}")] }));
    }
    assert_eq!(items(&world, "decision"), ["d2", "d3"]);
    assert_eq!(items(&world, "lesson"), ["l3"]);
    world.run(&["memory", "add", "api-note", "one that no config names"]).expect(0);
    assert!(world.read(STATE).contains("## Api note\n"), "{}", world.read(STATE));
    let output = world.run(&["memory", "add", "desicion", "x"]).expect(64);
    assert!(output.stderr.contains("did you mean `decision`?"), "{}", output.stderr);
    world.run(&["memory", "add", "Bad Name", "x"]).expect(64);
    world.run(&["memory", "add", "decision", "  \n "]).expect(64);
    let wrong = World::with_config(
        "[category.decision]\nmode = \"sometimes\"\nkeeep = 1\n[category.\"B c\"]\n[[step]]\nname = \"n\"\nkind = \"note\"\n",
    );
    let output = wrong.run(&["memory", "list"]).expect(65);
    for part in ["`clear` or `append`", "did you mean `keep`?", "`B c` cannot be a category"] {
        assert!(output.stderr.contains(part), "{}", output.stderr);
    }
}

#[test]
fn secrets_and_pause_hold_for_items_too() {
    let world = World::new();
    let key = ["AKIA", "IOSFODNN7EXAMPLQ"].concat();
    let output = world.run(&["memory", "add", "decision", &format!("the key is {key}")]).expect(5);
    assert!(output.stderr.contains("looks like a secret") && !output.stderr.contains(&key), "{}", output.stderr);
    assert!(!world.exists("memory"));
    // Nor do they pass as a tag, which becomes a file's name, or back in what a message repeats.
    world.run(&["memory", "add", "decision", "d", "--tag", &key]).expect(5);
    for (arguments, code) in [
        (&["memory", "add", &key, "x"][..], 64),
        (&["memory", "capture", "--data", &json!({ &key: "x" }).to_string()], 65),
        (&["memory", "capture", "--data", &json!({ "clear": [&key] }).to_string()], 65),
        (&["memory", "delete", &key], 1),
    ] {
        let output = world.run(arguments).expect(code);
        assert!(!output.seen().to_uppercase().contains(&key), "{}", output.seen());
    }
    assert!(!world.exists("memory"));
    world.write("PAUSE", "not now");
    for arguments in [
        &["memory", "add", "decision", "d"][..],
        &["memory", "capture", "--data", "{\"goal\": \"g\"}"],
        &["memory", "compact"],
        &["compact"],
    ] {
        world.run(arguments).expect(3);
    }
    assert!(!world.exists("memory"));
}

/// glee finds nothing from a subdirectory.
#[test]
fn a_subdirectory_belongs_to_the_project() {
    let world = World::with_git();
    capture(&world, &json!({ "goal": "ship" }));
    std::fs::create_dir_all(world.path("src/deep")).unwrap();
    let mut command = world.command(&["memory", "list"]);
    let output = finish(command.current_dir(world.path("src/deep"))).expect(0);
    assert!(output.stdout.contains("ship"));
    assert_eq!(world.git(&["status", "--porcelain"]), "", "memory stays out of `git status`");
}

/// glee's database takes one writer and prints its errors as context.
#[test]
fn many_capture_at_once_and_nothing_is_lost() {
    let world = World::with_config("[category.decision]\nkeep = 100\n[[step]]\nname = \"n\"\nkind = \"note\"\n");
    let children: Vec<_> =
        (0..12).map(|number| world.start(&["memory", "add", "decision", &format!("decision {number}")])).collect();
    for child in children {
        output(child).expect(0);
    }
    let mut found = items(&world, "decision");
    found.sort();
    let mut expected: Vec<String> = (0..12).map(|number| format!("decision {number}")).collect();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(world.read(NOTES).matches("- added decision ").count(), 12);
}

#[test]
fn an_overview_says_what_there_is_and_how_old_it_is() {
    let world = World::new();
    let output = world.run(&["memory", "overview"]).expect(0);
    assert!(output.stderr.contains("memory add overview"), "{}", output.stderr);
    at(&world, "2026-11-01T00:00:00Z", &["memory", "add", "overview", "An importer.\nIt imports."]).expect(0);
    capture(&world, &json!({ "decisions": ["a", "b"] }));
    let output = world.run(&["memory", "overview"]).expect(0);
    assert!(output.stdout.starts_with("An importer.\nIt imports.\n"), "{}", output.stdout);
    assert!(output.stdout.contains("Decisions: 2\n"));
    assert!(output.stderr.contains("14 days ago"), "{}", output.stderr);
    // Replaced, never deleted before something replaces it.
    world.run(&["memory", "add", "overview", "New."]).expect(0);
    let json = world.run(&["memory", "overview", "--json"]).expect(0).json();
    assert_eq!((&json["overview"]["text"], &json["overview_days"]), (&json!("New."), &json!(0)));
    assert_eq!((&json["categories"]["decision"], &json["note_files"]), (&json!(2), &json!(2)));
}

#[test]
fn lists_are_filtered_by_category_layer_tag_and_time() {
    let world = World::new();
    at(&world, "2026-11-01T00:00:00Z", &["memory", "add", "decision", "old"]).expect(0);
    world.run(&["memory", "add", "decision", "new"]).expect(0);
    world.run(&["run", "--note", "a note", "--tag", "web"]).expect(0);
    for since in ["2026-11-10", "7d", "1 week"] {
        let answer = world.run(&["memory", "list", "--since", since, "--json"]).expect(0).json();
        assert_eq!(answer["items"].as_array().unwrap().len(), 1, "{since}");
        assert_eq!(answer["items"][0]["text"], "new");
    }
    // What stands there by hand has no time yet, and is not hidden.
    let by_hand = world.read(STATE).replace("<!-- /section -->", "- by hand\n<!-- /section -->");
    world.write(STATE, by_hand);
    assert!(world.run(&["memory", "list", "--since", "1d"]).expect(0).stdout.contains("by hand"));
    let notes = world.run(&["memory", "list", "--layer", "1", "--tag", "web", "--json"]).expect(0).json();
    assert_eq!(notes["notes"].as_array().unwrap().len(), 1);
    assert_eq!((&notes["notes"][0]["text"], &notes["notes"][0]["step"]), (&json!("a note"), &json!("note")));
    world.run(&["memory", "list", "--tag", "web"]).expect(64);
    world.run(&["memory", "list", "--layer", "1", "--category", "goal"]).expect(64);
    world.run(&["memory", "list", "--layer", "4"]).expect(64);
    world.run(&["memory", "list", "--since", "yesterday"]).expect(64);
}

#[test]
fn a_late_older_run_adds_decisions_and_replaces_nothing() {
    let world = World::with_git();
    world.write("handover.toml", GATED);
    world.write("old.md", handoff(&world, "the old goal", "an old decision"));
    at(&world, "2026-11-15T09:00:00Z", &["run", "--handoff", "old.md", "--current-state", "old text"]).expect(1);
    world.write("handover.toml", "[[step]]\nname = \"state\"\nkind = \"state\"\n");
    world.write("new.md", handoff(&world, "the new goal", "a new decision"));
    world.run(&["run", "--handoff", "new.md", "--current-state", "new text"]).expect(1);
    assert_eq!(items(&world, "decision"), ["a new decision"]);
    world.write("open", "");
    world.run(&["run", "--resume"]).expect(0);
    assert_eq!(items(&world, "goal"), ["the new goal"]);
    assert_eq!(items(&world, "open_loop"), ["Next for the new goal"]);
    assert_eq!(items(&world, "decision"), ["an old decision", "a new decision"]);
    assert!(world.read(STATE).contains("\nnew text\n") && !world.read(STATE).contains("old text"));
    // Items that come too late are reported, so that they are not lost silently.
    let notes = world.read(NOTES);
    for (verb, text) in
        [("added goal", "the old goal"), ("cleared open_loop", "Next for the old goal"), ("replaced text", "old text")]
    {
        let is_it = |line: &str| line.starts_with(&format!("- {verb} ")) && line.ends_with(&format!(": {text}"));
        assert!(notes.lines().any(is_it), "{verb} {text}: {notes}");
    }
}

/// A younger run that did not mention a category does not hide what the older one said about it.
#[test]
fn a_late_older_run_fills_only_categories_that_nobody_wrote_since() {
    let world = World::with_git();
    world.write("handover.toml", GATED);
    world.write("old.md", handoff(&world, "the goal", "a decision"));
    at(&world, "2026-11-15T09:00:00Z", &["run", "--handoff", "old.md"]).expect(1);
    world.write("handover.toml", "[[step]]\nname = \"state\"\nkind = \"state\"\n");
    world.run(&["run", "--note", "only a note"]).expect(1);
    capture(&world, &json!({ "open_loops": ["said since"] }));
    world.write("open", "");
    world.run(&["run", "--resume"]).expect(0);
    assert_eq!(
        (items(&world, "goal"), items(&world, "decision")),
        (vec!["the goal".into()], vec!["a decision".into()])
    );
    assert_eq!(items(&world, "open_loop"), ["said since"]);
    assert!(world.read(NOTES).contains(": Next for the goal\n"), "{}", world.read(NOTES));
    assert!(world.read(STATE).contains("\nonly a note\n"));
}

#[test]
fn a_clock_that_goes_back_freezes_nothing() {
    let world = World::with_git();
    for number in 0..40 {
        at(&world, "2030-01-01T00:00:00Z", &["memory", "add", "decision", &format!("f{number}")]).expect(0);
    }
    at(&world, "2030-01-01T00:00:00Z", &["memory", "capture", "--data", r#"{"goal": "future goal"}"#]).expect(0);
    world.run(&["memory", "add", "decision", "new"]).expect(0);
    let decisions = items(&world, "decision");
    assert_eq!((decisions.len(), decisions[0].as_str(), decisions[39].as_str()), (40, "f1", "new"));
    assert_eq!(capture(&world, &json!({ "goal": "present goal" }))["added"], json!({ "goal": 1 }));
    assert_eq!(items(&world, "goal"), ["present goal"]);
    // Said again it is the newest again.
    world.run(&["memory", "add", "decision", "f1"]).expect(0);
    assert_eq!(items(&world, "decision")[39], "f1");
    world.write("new.md", handoff(&world, "the goal of a run", "a decision of a run"));
    world.run(&["run", "--handoff", "new.md"]).expect(0);
    assert_eq!(items(&world, "goal"), ["the goal of a run"]);
    assert_eq!(items(&world, "decision")[39], "a decision of a run");
}

#[test]
fn hand_written_text_in_a_section_is_reported_and_kept_to_the_byte() {
    let world = World::new();
    capture(&world, &json!({ "open_loops": ["x"], "decisions": ["d"] }));
    let mut file = world.read(STATE).into_bytes();
    // A merge by line doubled everything, and somebody writes Latin-1.
    file.extend(file.clone());
    let end = b"<!-- /section -->\n";
    let at = file.windows(end.len()).position(|window| window == end).unwrap();
    file.splice(at..at, b"- caf\xe9\n".iter().copied());
    std::fs::write(world.path(STATE), &file).unwrap();
    let x = id(&world, "x");
    world.run(&["memory", "done", &x[..6]]).expect(0);
    assert_eq!((items(&world, "open_loop"), items(&world, "decision").len()), (vec![], 2));
    let state = std::fs::read(world.path(STATE)).unwrap();
    assert!(state.windows(7).any(|window| window == b"- caf\xe9\n"), "{}", String::from_utf8_lossy(&state));
    let told = world.read(NOTES);
    assert!(told.lines().any(|line| line.starts_with("- added ") && line.ends_with(": caf\\xe9")), "{told}");
}

/// Twenty generations of run, kill, resume and compact carry every decision to the byte.
#[test]
fn decisions_survive_twenty_generations() {
    let config = "[category.decision]\nkeep = 5\n[[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"state\"\nkind = \"state\"\n[[step]]\nname = \"archive\"\nkind = \"compact\"\n";
    let world = World::with_config(config);
    let faults = ["fs.written", "fs.renamed", "fs.replaced", "step.acted", "checkpoint.intended", "fs.removed"];
    let mut said = Vec::new();
    for generation in 0..20 {
        let now = format!("20{:02}-{:02}-10T10:00:00Z", 25 + generation / 12, generation % 12 + 1);
        let decision =
            format!("decision {generation}:\n  indented\n<!-- /note -->\n# heading \u{1f980}\ttab  two  spaces");
        at(&world, &now, &["memory", "add", "decision", &decision]).expect(0);
        said.push(decision);
        let mut command = world.command(&["run", "--note", &format!("note {generation}")]);
        command.env("AGENT_HANDOVER_TEST_NOW", &now);
        let fault = faults[generation % faults.len()];
        command.env("AGENT_HANDOVER_TEST_FAULT", format!("{fault}:{}=kill", generation % 3 + 1));
        assert!([0, KILLED].contains(&finish(&mut command).code), "{fault}");
        at(&world, &now, &["run", "--resume"]).expect(0);
    }
    assert_eq!(items(&world, "decision"), said[15..]);
    at(&world, "2027-01-01T00:00:00Z", &["memory", "compact"]).expect(0);
    assert_eq!(std::fs::read_dir(world.path("memory/layer1")).unwrap().count(), 0);
    let notes = world.run(&["memory", "list", "--layer", "3", "--json"]).expect(0).json();
    let notes: Vec<&str> =
        notes["notes"].as_array().unwrap().iter().map(|note| note["text"].as_str().unwrap()).collect();
    for (generation, decision) in said.iter().enumerate() {
        let indented = decision.replace('\n', "\n  ");
        let added = notes.iter().flat_map(|note| note.split("- added decision ").skip(1));
        assert_eq!(added.filter(|added| added[12..].starts_with(&indented)).count(), 1, "{generation}");
        // A run that was killed before its record left nothing; every other one left its note exactly once.
        assert!(notes.iter().filter(|note| **note == format!("note {generation}")).count() <= 1, "{generation}");
    }
    assert_eq!(world.strays(), [""; 0]);
}

#[test]
fn a_month_is_rolled_up_as_documented() {
    let world = World::new();
    at(
        &world,
        JUNE,
        &[
            "memory",
            "capture",
            "--data",
            r#"{"decisions": ["Use SQLite"], "open_loops": ["fix x", "write docs"], "summary": "Set up src/main.rs"}"#,
        ],
    )
    .expect(0);
    let x = id(&world, "fix x");
    at(&world, "2026-06-20T10:00:00Z", &["memory", "done", &x]).expect(0);
    at(&world, "2026-06-20T11:00:00Z", &["run", "--note", "# Parser\nEdited src/main.rs and README.md."]).expect(0);
    world.write("memory/layer1/2026-06/general-2026-06-21.md", "by hand, about src/main.rs\n");
    let dry = world.run(&["compact", "--dry-run"]).expect(0);
    assert_eq!(dry.stdout, "would be: 4 notes from 3 files in memory/layer3/2026-06-general-archive.md\n");
    assert!(world.exists("memory/layer1/2026-06"));
    let output = world.run(&["compact"]).expect(0);
    assert_eq!(output.stdout, "4 notes from 3 files in memory/layer3/2026-06-general-archive.md\n");
    snapbox::assert_data_eq!(
        world.read("memory/layer3/2026-06-general-archive.md"),
        snapbox::str![[r#"
<!-- agent-handover | layer3 | 2026-06-30 -->
<!-- roll-up month=2026-06 tag=general -->
# 2026-06, general

3 notes and 1 text of others, whole below. This part is made of them and written anew with them.

## Decisions

- 2026-06-15: Use SQLite

## Work completed

- 2026-06-15: Set up src/main.rs
- 2026-06-20: Parser

## Loops opened and closed

- 2026-06-15 to 2026-06-20 (done): fix x

## Loops still open

- since 2026-06-15: write docs

## Files most touched

- src/main.rs (3 notes)
- README.md (1 note)
<!-- /roll-up -->

## 2026-06-15

<!-- note run=01KV5BJH80WM7T7VP9Q5MB26YS step=capture at=2026-06-15T10:00:00Z changes=e3b0c44298 -->
- added decision 65f8c69dc3: Use SQLite
- added open_loop 5dac24312f: fix x
- added open_loop 503343d74f: write docs
- added session_summary efd3ff799e: Set up src/main.rs
<!-- /note -->

## 2026-06-20

<!-- note run=01KVJ7J4800PXBT48RSSFR943G step=done at=2026-06-20T10:00:00Z changes=5081dfa7a8 -->
- done open_loop 5dac24312f: fix x
<!-- /note -->
<!-- note run=01KVJAZZW0C3PXBRPT7QAGJQG0 step=note at=2026-06-20T11:00:00Z -->
# Parser
Edited src/main.rs and README.md.
<!-- /note -->

## 2026-06-21

<!-- text day=2026-06-21 -->
by hand, about src/main.rs

<!-- /text -->

"#]]
    );
    let output = world.run(&["compact"]).expect(0);
    let nothing = "nothing to compact: no finished month has such notes in layer 1\n";
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", nothing));
    // For cron.
    let quiet = world.run(&["compact", "--quiet"]).expect(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
}

#[test]
fn compaction_takes_only_finished_months_and_what_was_asked_for() {
    let world = World::new();
    for (now, tag) in
        [(JUNE, "a"), (JUNE, "b"), ("2026-09-01T00:00:00Z", "a"), ("2026-10-31T23:00:00Z", "a"), (NOW, "a")]
    {
        at(&world, now, &["run", "--note", "n", "--tag", tag]).expect(0);
    }
    let output = world.run(&["compact", "--month", "2026-11"]).expect(64);
    assert!(output.stderr.contains("2026-11 is not over yet"), "{}", output.stderr);
    world.run(&["compact", "--month", "2026-13"]).expect(64);
    world.run(&["compact", "--month", "2026-06", "--older-than", "1d"]).expect(64);
    let answer = world.run(&["compact", "--month", "2026-06", "--tag", "b", "--json"]).expect(0).json();
    assert_eq!(
        answer,
        json!({ "schema": "agent-handover/memory-compact/1", "dry_run": false, "archives": [
            { "month": "2026-06", "tag": "b", "archive": "memory/layer3/2026-06-b-archive.md", "files": 1, "entries": 1 },
        ]})
    );
    assert!(world.exists("memory/layer1/2026-06/a-2026-06-15.md"));
    // October ended two weeks ago, September six.
    world.run(&["compact", "--older-than", "1 month"]).expect(0);
    assert!(world.exists("memory/layer3/2026-09-a-archive.md") && !world.exists("memory/layer3/2026-10-a-archive.md"));
    world.run(&["memory", "compact", "--keep-notes"]).expect(0);
    assert!(
        world.exists("memory/layer3/2026-10-a-archive.md") && world.exists("memory/layer1/2026-10/a-2026-10-31.md")
    );
    world.run(&["compact"]).expect(0);
    assert!(!world.exists("memory/layer1/2026-10") && world.exists("memory/layer1/2026-11/a-2026-11-15.md"));
}

#[test]
fn a_late_note_is_merged_in_and_twice_changes_nothing() {
    let early = "<!-- note run=A step=note at=2026-06-15T10:00:00Z -->\nfirst\n<!-- /note -->\n";
    let late = "<!-- note run=B step=note at=2026-06-14T10:00:00Z -->\nlate\n<!-- /note -->\n";
    let at_once = World::new();
    at_once.write("memory/layer1/2026-06/t-2026-06-15.md", format!("{early}by hand"));
    at_once.write("memory/layer1/2026-06/t-2026-06-14.md", late);
    at_once.run(&["compact"]).expect(0);
    let world = World::new();
    world.write("memory/layer1/2026-06/t-2026-06-15.md", format!("{early}by hand"));
    world.run(&["compact"]).expect(0);
    world.write("memory/layer1/2026-06/t-2026-06-14.md", late);
    // The same note again, as a copy of the directory would bring it.
    world.write("memory/layer1/2026-06/t-2026-06-15.md", early);
    world.run(&["compact"]).expect(0);
    assert_eq!(world.tree(), at_once.tree());
}

#[test]
fn a_run_that_resumes_after_its_month_was_compacted_writes_no_second_note() {
    let world = World::with_config(
        "[[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"state\"\nkind = \"state\"\n",
    );
    let mut command = world.command(&["run", "--note", "in June"]);
    command.env("AGENT_HANDOVER_TEST_NOW", JUNE).env("AGENT_HANDOVER_TEST_FAULT", "fs.replaced:1=kill");
    finish(&mut command).expect(128 + 9);
    world.run(&["compact"]).expect(0);
    assert!(world.read("memory/layer3/2026-06-general-archive.md").contains("\nin June\n"));
    world.run(&["run", "--resume"]).expect(0);
    assert!(!world.exists("memory/layer1/2026-06"), "the note came back");
}

#[test]
fn compaction_leaves_files_that_are_not_our_notes() {
    let world = World::new();
    world.write("memory/layer1/2026-06/README.md", "mine");
    world.write("memory/layer1/2026-06/t-2026-06-31.md", "no such day");
    world.write("memory/layer1/notes/t-2026-06-01.md", "no month");
    world.write("memory/layer1/2026-06/t-2026-06-01.md", "a note");
    world.run(&["compact"]).expect(0);
    assert!(world.exists("memory/layer1/2026-06/README.md") && world.exists("memory/layer1/2026-06/t-2026-06-31.md"));
    assert!(
        world.exists("memory/layer1/notes/t-2026-06-01.md") && !world.exists("memory/layer1/2026-06/t-2026-06-01.md")
    );
    // Nor is what a link leads to.
    std::os::unix::fs::symlink("/etc/hostname", world.path("memory/layer1/2026-06/t-2026-06-02.md")).unwrap();
    world.run(&["compact"]).expect(1);
    assert!(world.exists("memory/layer1/2026-06/t-2026-06-02.md"));
}

#[test]
fn unreadable_notes_do_not_stop_compaction_of_the_others() {
    let world = World::new();
    std::os::unix::fs::symlink("/etc/hostname", world.path("secret")).unwrap();
    world.write("memory/layer1/2026-06/t-2026-06-01.md", "a note");
    std::os::unix::fs::symlink("../../../secret", world.path("memory/layer1/2026-06/t-2026-06-02.md")).unwrap();
    std::fs::create_dir_all(world.path("memory/layer1/2026-07/t-2026-07-01.md")).unwrap();
    named_pipe(&world.path("memory/layer1/2026-08/t-2026-08-01.md"));
    world.write("memory/layer1/2026-09/t-2026-09-01.md", "a late note");
    let notes = world.run(&["memory", "list", "--layer", "1", "--json"]).expect(0);
    assert_eq!(notes.json()["notes"].as_array().unwrap().len(), 2, "{}", notes.stdout);
    assert!(notes.stderr.contains("t-2026-06-02.md") && notes.stderr.contains("t-2026-08-01.md"), "{}", notes.stderr);
    let output = world.run(&["compact", "--json"]).expect(1);
    let answer = output.json();
    assert_eq!(answer["archives"].as_array().unwrap().len(), 2, "{answer}");
    assert_eq!(answer["error"]["causes"].as_array().unwrap().len(), 2, "{answer}");
    assert!(world.exists("memory/layer3/2026-06-t-archive.md") && world.exists("memory/layer3/2026-09-t-archive.md"));
    assert!(!world.exists("memory/layer1/2026-09") && world.exists("memory/layer1/2026-07"));
}

/// A named pipe without a writer.
fn named_pipe(path: &std::path::Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn an_odd_tag_has_one_name_in_all_layers() {
    let world = World::new();
    at(&world, JUNE, &["run", "--note", "n", "--tag", "feature/x y"]).expect(0);
    world.write("memory/layer1/2026-06/my tag-2026-06-01.md", "by hand");
    let day = std::fs::read_dir(world.path("memory/layer1/2026-06")).unwrap();
    let names: Vec<String> = day.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let safe = names.iter().find_map(|name| name.strip_suffix("-2026-06-15.md")).unwrap();
    world.run(&["compact", "--tag", "my tag"]).expect(0);
    assert!(world.exists("memory/layer3/2026-06-my tag-archive.md"));
    world.run(&["compact", "--tag", "feature/x y"]).expect(0);
    assert!(world.exists(&format!("memory/layer3/2026-06-{safe}-archive.md")));
    for tag in ["feature/x y", safe] {
        let notes = world.run(&["memory", "list", "--layer", "3", "--tag", tag, "--json"]).expect(0).json();
        assert_eq!(notes["notes"][0]["text"], "n", "{tag}");
    }
}

#[test]
fn a_note_that_grew_after_archiving_is_archived_once() {
    let world = World::new();
    world.write(
        "memory/layer1/2026-06/t-2026-06-01.md",
        "\u{feff}<!-- agent-handover | layer1 | 2026-06-01 -->\nfirst\n",
    );
    world.run(&["compact", "--keep-notes"]).expect(0);
    world.write(
        "memory/layer1/2026-06/t-2026-06-01.md",
        "<!-- agent-handover | layer1 | 2026-06-01 -->\nfirst\nsecond\n",
    );
    world.run(&["compact", "--keep-notes"]).expect(0);
    let archive = world.read("memory/layer3/2026-06-t-archive.md");
    assert!(archive.matches("\nfirst\n").count() == 1 && archive.contains("\nsecond\n"), "{archive}");
    // What was there before holds nothing that the archive lacks.
    world.write("memory/layer1/2026-06/t-2026-06-01.md", "first\n");
    world.run(&["compact"]).expect(0);
    assert_eq!(world.read("memory/layer3/2026-06-t-archive.md"), archive);
    assert!(!world.exists("memory/layer1/2026-06"));
}

#[test]
fn an_empty_day_file_is_removed_without_an_archive() {
    let world = World::new();
    world.write("memory/layer1/2026-06/t-2026-06-01.md", "<!-- agent-handover | layer1 | 2026-06-01 -->\n");
    assert_eq!(world.run(&["compact", "--quiet"]).expect(0).stdout, "");
    assert!(!world.exists("memory/layer1/2026-06") && !world.exists("memory/layer3/2026-06-t-archive.md"));
}

#[test]
fn a_pause_during_compaction_is_in_the_json_document() {
    let world = World::new();
    for month in ["2026-06", "2026-07"] {
        world.write(&format!("memory/layer1/{month}/t-{month}-01.md"), "a note");
    }
    let mut command = world.command(&["compact", "--json"]);
    command.env("AGENT_HANDOVER_TEST_FAULT", "fs.removed:1=stop");
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_until("the compaction to stop", || is_stopped(child.id()));
    world.write("PAUSE", "not now");
    signal(child.id(), "CONT");
    let answer = output(child).expect(3).json();
    assert_eq!((answer["archives"].as_array().unwrap().len(), &answer["error"]["exit_code"]), (1, &json!(3)));
}

#[test]
fn an_unwritable_archive_loses_no_note() {
    let world = World::new();
    world.write("memory/layer1/2026-06/t-2026-06-01.md", "a note");
    world.write("memory/layer3", "a file where the directory should be");
    let output = world.run(&["compact"]);
    assert!([65, 74].contains(&output.code), "{}", output.seen());
    assert_eq!(world.read("memory/layer1/2026-06/t-2026-06-01.md"), "a note");
}

/// Who was told that the owner of the lock takes their run must be able to rely on it, also when that owner compacts.
#[test]
fn compaction_drains_a_run_recorded_meanwhile() {
    let world = World::with_config("[[step]]\nname = \"note\"\nkind = \"note\"\n");
    world.write("memory/layer1/2026-06/t-2026-06-01.md", "a note");
    let mut command = world.command(&["compact"]);
    command.env("AGENT_HANDOVER_TEST_FAULT", "fs.replaced:1=stop");
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_until("the compaction to stop", || is_stopped(child.id()));
    world.run(&["run", "--note", "meanwhile", "--wait", "0"]).expect(4);
    signal(child.id(), "CONT");
    output(child).expect(0);
    assert!(world.read(NOTES).contains("\nmeanwhile\n"));
    world.run(&["check"]).expect(2);
}

/// The same if the compaction itself fails, and a run that fails in it is not passed over in silence.
#[test]
fn a_failing_compaction_drains_a_run_recorded_meanwhile() {
    let world = World::with_config(
        "[[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"no\"\nkind = \"command\"\nshell = \"exit 7\"\n",
    );
    world.write("memory/layer1/2026-06/t-2026-06-01.md", "a note");
    let mut command = world.command(&["compact", "--quiet"]);
    command.env("AGENT_HANDOVER_TEST_FAULT", "fs.replaced:1=stop");
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_until("the compaction to stop", || is_stopped(child.id()));
    let told = world.run(&["run", "--note", "meanwhile", "--wait", "0"]).expect(4).stderr;
    assert!(told.contains("has been compacting or delivering since"), "{told}");
    world.write("memory/layer3/2026-06-t-archive.md", "somebody overwrote it");
    signal(child.id(), "CONT");
    let output = output(child);
    assert!(output.code != 0 && output.stderr.contains("no note was removed"), "{}", output.seen());
    assert!(output.stderr.contains("step 'no' failed"), "{}", output.stderr);
    assert!(world.read(NOTES).contains("\nmeanwhile\n") && world.exists("memory/layer1/2026-06/t-2026-06-01.md"));
}

#[test]
fn the_memory_of_another_tool_is_imported_whole_or_not_at_all() {
    let world = World::new();
    let rows = json!([
        { "category": "decision", "content": "second", "created_at": "2026-01-02 10:00:00" },
        { "category": "decision", "content": "first", "created_at": "2026-01-01 10:00:00" },
        { "category": "goal", "content": "ship the parser" },
    ]);
    world.write("glee.json", rows.to_string());
    let shown = world.run(&["memory", "import", "--from", "glee.json", "--dry-run"]).expect(0);
    assert_eq!(shown.stdout, "goal: ship the parser\ndecision: first\ndecision: second\n");
    assert!(!world.exists("memory"));
    let answer = world.run(&["memory", "import", "--from", "glee.json", "--json"]).expect(0).json();
    assert_eq!(answer["added"].as_array().unwrap().len(), 3, "{answer}");
    let again = world.run(&["memory", "import", "--from", "glee.json"]).expect(0);
    assert_eq!(again.stdout, "added 0 items\n");
    world.write("wrong.json", r#"[{"category": "goal", "content": "new"}, {"category": "goal"}]"#);
    world.run(&["memory", "import", "--from", "wrong.json"]).expect(65);
    assert!(world.read(STATE).contains("ship the parser"));
}

#[test]
fn what_an_agent_remembers_is_imported_once_and_can_be_removed_again() {
    let world = World::with_git();
    let talk = super::claude_talk::Transcript::of(&world, "s1", "2026-11-15T09:00:00.000Z");
    let place = talk.path.parent().unwrap().join("memory");
    std::fs::create_dir_all(&place).unwrap();
    let write = |name: &str, text: &str| std::fs::write(place.join(name), text).unwrap();
    write("MEMORY.md", "- [Build](build.md) how to build\n");
    write(
        "build.md",
        "---\nname: build\ntype: project\n---\n\n- Use just, not make\n- Tests need git\n  and a network\n",
    );
    write("style.md", "The person prefers short answers.\n");
    let import = ["memory", "import", "--from", "claude-code"];
    let shown = world.run(&[&import[..], &["--dry-run"]].concat()).expect(0);
    assert_eq!(
        shown.stdout,
        "remembered: Use just, not make\nremembered: Tests need git and a network\nremembered: The person prefers short answers.\n"
    );
    assert!(!world.exists("memory"));
    assert_eq!(world.run(&import).expect(0).stdout, "added 3 items\n");
    assert_eq!(world.read(STATE).matches(" by=claude-code -->").count(), 3, "{}", world.read(STATE));
    assert_eq!(world.run(&import).expect(0).stdout, "added 0 items\n");
    let id = world.run(&["memory", "list", "--json"]).expect(0).json()["items"][0]["id"].as_str().unwrap().to_owned();
    let _ = world.run(&["memory", "delete", &id]).expect(0);
    assert_eq!(world.run(&import).expect(0).stdout, "added 0 items\n", "what was deleted does not come back");
    let _ = world.run(&["memory", "add", "decision", "Keep it small"]).expect(0);
    let deleted = world.run(&["memory", "delete", "--source", "claude-code"]).expect(0);
    assert_eq!(deleted.stdout, "deleted 2 items of claude-code\n");
    assert!(world.read(STATE).contains("Keep it small") && !world.read(STATE).contains("short answers"));
    assert!(world.read(NOTES).contains("- deleted remembered "), "layer 1 records it");
    let none = world.run(&["memory", "delete", "--source", "claude-code"]).expect(1);
    assert!(none.stderr.contains("nothing was imported from `claude-code`"), "{}", none.stderr);
    let none = world.run(&["memory", "import", "--from", "codex"]).expect(1);
    assert!(none.stderr.contains("Codex keeps no memories of this project"), "{}", none.stderr);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn only_plain_files_of_an_agent_are_imported() {
    let world = World::with_git();
    let talk = super::claude_talk::Transcript::of(&world, "s1", "2026-11-15T09:00:00.000Z");
    let place = talk.path.parent().unwrap().join("memory");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("build.md"), "- Use just\n").unwrap();
    world.write("elsewhere.md", "- Taken from elsewhere\n");
    let odd = place.join("odd.md");
    let import = |reason: &str| {
        let output = world.run(&["memory", "import", "--from", "claude-code"]);
        assert!(output.stderr.contains(reason), "{reason}: {}", output.stderr);
        assert!(output.code != 0 && !world.exists(STATE), "{reason}");
    };
    std::os::unix::fs::symlink(world.path("elsewhere.md"), &odd).unwrap();
    import("odd.md` is a symlink");
    std::fs::remove_file(&odd).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&odd).status().unwrap().success());
    import("odd.md` is not a plain file, it is a named pipe");
    std::fs::remove_file(&odd).unwrap();
    assert_eq!(world.run(&["memory", "import", "--from", "claude-code"]).expect(0).stdout, "added 1 item\n");
    let slip = world.run(&["memory", "import", "--from", "claud-code"]).expect(1);
    assert!(slip.stderr.contains("did you mean `claude-code`?"), "{}", slip.stderr);
}

#[test]
fn several_sources_are_imported_in_one_change_or_not_at_all() {
    let world = World::with_git();
    world.write("one.md", "- first\n- shared\n");
    world.write("two.md", "- shared\n- second\n");
    world.write("secret.md", format!("- token = \"gh{}\"\n", "p_0123456789abcdefghijklmnopqrstuvwxyzAB"));
    world.write("binary.md", "- a\0b\n");
    world.write("large.md", "- x\n".repeat(1 << 20).as_str().to_owned() + "- y\n");
    world.write("many.md", (0..199).map(|n| format!("- rule {n}\n")).collect::<String>());
    std::fs::create_dir(world.path("directory.md")).unwrap();
    let import = |from: &[&str]| world.run(&[&["memory", "import", "--from"], from].concat());
    for (wrong, code, reason) in [
        ("missing.md", 1, "cannot read"),
        ("directory.md", 74, "cannot read `directory.md`"),
        ("secret.md", 5, "this looks like a secret"),
        ("binary.md", 65, "`binary.md` is not text: it has a NUL byte; nothing was imported"),
        ("large.md", 65, "`large.md` is larger than 4 MiB"),
        ("many.md", 65, "2 sources have 201 new items, and `remembered` keeps 200; nothing was imported"),
    ] {
        let output = import(&["one.md", wrong]).expect(code);
        assert!(output.stderr.contains(reason), "{wrong}: {}", output.stderr);
        assert!(!world.exists(STATE), "{wrong}");
    }
    let shown = world.run(&["memory", "import", "--dry-run", "--from", "one.md", "two.md", "one.md"]).expect(0);
    assert_eq!(shown.stdout, "remembered: first\nremembered: shared\nremembered: second\n");
    assert_eq!(import(&["one.md", "two.md", "one.md"]).expect(0).stdout, "added 3 items\n");
    let state = world.read(STATE);
    assert_eq!((state.matches(" by=one.md -->").count(), state.matches(" by=two.md -->").count()), (2, 1), "{state}");
    let runs: std::collections::HashSet<&str> =
        state.split(" run=").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
    assert_eq!(runs.len(), 1, "{state}");
}

#[test]
fn a_secret_in_a_source_is_treated_as_the_config_says() {
    let token = ["gh", "p_0123456789abcdefghijklmnopqrstuvwxyzAB"].concat();
    for (guard, code) in [("block", 5), ("redact", 0), ("warn", 0)] {
        let world = World::with_git();
        world.write("handover.toml", format!("[guard]\nsecrets = \"{guard}\"\n"));
        world.write("rules.md", format!("- Use just\n- token = \"{token}\"\n"));
        let talk = super::claude_talk::Transcript::of(&world, "s1", "2026-11-15T09:00:00.000Z");
        let place = talk.path.parent().unwrap().join("memory");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("keys.md"), format!("- The key is {token}\n")).unwrap();
        for from in ["rules.md", "claude-code"] {
            let shown = world.run(&["memory", "import", "--dry-run", "--from", from]).expect(code);
            assert!(!shown.seen().contains(&token), "{guard}: {}", shown.seen());
            assert!(shown.stdout.contains("remembered: "), "{guard}: {}", shown.stdout);
            assert!(shown.stderr.contains("looks like a secret"), "{guard}: {}", shown.stderr);
            let output = world.run(&["memory", "import", "--from", from]).expect(code);
            assert!(!output.seen().contains(&token), "{guard}: {}", output.seen());
            let state = if world.exists(STATE) { world.read(STATE) } else { String::new() };
            assert_eq!(state.contains(&token), guard == "warn", "{guard} {from}: {state}");
            assert_eq!(state.contains("[redacted:"), guard == "redact", "{guard} {from}: {state}");
            let again = world.run(&["memory", "import", "--from", from]).stderr_ignored("warnings").expect(code);
            assert!(code != 0 || again.stdout == "added 0 items\n", "{guard} {from}: {}", again.stdout);
        }
        // Nothing of it is anywhere else, except in the files that the person wrote.
        let everywhere = world.everything();
        let has = |(path, text): &(&String, &String)| {
            text.contains(&token) && !path.ends_with("rules.md") && !path.ends_with("keys.md")
        };
        let found: Vec<&String> = everywhere.iter().filter(has).map(|(path, _)| path).collect();
        assert_eq!(found.is_empty(), guard != "warn", "{guard}: {found:?}");
    }
}

#[test]
fn the_list_of_a_file_is_imported_with_the_file_as_its_source() {
    let world = World::with_git();
    world.write(
        "Team Notes.md",
        format!("# Rules\n\n1. Never force-push\n2. token = \"gh{}\"\n", "p_0123456789abcdefghijklmnopqrstuvwxyzAB"),
    );
    let blocked = world.run(&["memory", "import", "--from", "Team Notes.md"]).expect(5);
    assert!(!blocked.stderr.contains("ghp_") && !world.exists(STATE), "{}", blocked.stderr);
    world.write("Team Notes.md", "# Rules\n\n1. Never force-push\n");
    let _ = world.run(&["memory", "import", "--from", "Team Notes.md"]).expect(0);
    assert!(world.read(STATE).contains(" by=team-notes.md -->\n- Never force-push\n"), "{}", world.read(STATE));
    let again = world.run(&["memory", "import", "--from", "Team Notes.md"]).expect(0);
    assert!(again.stderr.contains("1 item left out: known already, or deleted here before"), "{}", again.stderr);
    let deleted = world.run(&["memory", "delete", "--source", "Team Notes.md"]).expect(0);
    assert_eq!(deleted.stdout, "deleted 1 item of Team Notes.md\n");
    let many: String = (0..201).map(|n| format!("- rule {n}\n")).collect();
    world.write("many.md", many);
    let refused = world.run(&["memory", "import", "--from", "many.md"]).expect(65);
    assert!(refused.stderr.contains("`many.md` has 201 new items, and `remembered` keeps 200"), "{}", refused.stderr);
}
