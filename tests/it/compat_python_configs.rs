//! A user of the Python `agent-handover` 0.5 switches without editing a file.

use snapbox::{assert_data_eq, str};

use super::support::*;

/// Every key that tool knows.
const CONFIG: &str = r#"
[handover]
memory_dir = "memory"
tag = "codex"
checkpoint = ".agent-handover/checkpoint.json"
pause_file = "~/.my-pause"

[note]
session = "from the config"
current_state = "state from the config"

[backend]
type = "null"
repo_dir = "."
paths = ["memory"]
push = false
branch = "main"
remote = "origin"
message = "handover: codex session"
"#;

/// As that tool writes it: two spaces, no newline at the end.
fn checkpoint(status: &str, states: [&str; 3]) -> String {
    let [note, state, publish] = states;
    let finished = if status == "completed" { "\"2026-11-15T23:26:08.165757+00:00\"" } else { "null" };
    format!(
        "{{\n  \"status\": \"{status}\",\n  \"steps\": {{\n    \"session_note\": \"{note}\",\n    \"current_state\": \"{state}\",\n    \
         \"publish\": \"{publish}\"\n  }},\n  \"started_at\": \"2026-11-15T23:26:08.123743+00:00\",\n  \"finished_at\": {finished}\n}}"
    )
}

const JSON: &str = ".agent-handover/checkpoint.json";

fn world() -> World {
    let world = World::new();
    world.write(".agent-handover/handover.toml", CONFIG);
    world
}

/// That tool is always told where its config is.
const RUN: [&str; 3] = ["run", "--config", ".agent-handover/handover.toml"];

#[test]
fn python_config_and_flags_run_unchanged() {
    let world = world();
    let output = world.run(&[&RUN[..], &["--no-push"]].concat()).expect(0);
    assert_eq!(output.stdout, "handover steps executed: session_note, current_state, publish\n");
    let note = "memory/layer1/2026-11/codex-2026-11-15.md";
    assert!(world.read(note).starts_with("<!-- agent-handover | layer1 | 2026-11-15 -->\n"));
    assert!(world.read(note).contains("\nfrom the config\n"));
    let state = "<!-- agent-handover | layer2 | 2026-11-15 -->\nstate from the config\n";
    assert_eq!(world.read(STATE), state);
    assert!(world.exists(".agent-handover/checkpoint.db") && !world.exists(JSON));
    // Flags win; an unambiguous beginning of a flag is enough for that tool.
    world.run(&[&RUN[..], &["--note", "flag", "--current-state", "flag state"]].concat()).expect(0);
    assert!(world.read(note).contains("\nflag\n") && world.read(STATE).ends_with("\nflag state\n"));
    world.run(&["check", "--check", JSON]).expect(2);
    assert_data_eq!(
        world.run(&["status", "--checkpoint", JSON]).stdout,
        str![[r#"
status: completed
  [x] session_note  (1 attempt, [..] ms)
  [x] current_state  (1 attempt, [..] ms)
  [x] publish  (1 attempt, [..] ms)
run: [..] recorded just now, tag codex

"#]]
    );
    std::fs::write(world.home().join(".my-pause"), "").unwrap();
    let paused = world.run(&RUN).expect(3);
    assert!(paused.stderr.contains("automation paused: remove $WORLD/home/.my-pause to resume"), "{}", paused.stderr);
}

#[test]
fn without_a_note_the_output_is_that_of_the_python_tool() {
    let world = World::with_config("[note]\n[backend]\ntype = \"null\"\n");
    let output = world.run(&["run"]).expect(64);
    let message = "no session note: pass note=... (CLI --note) or set [note].session in the config";
    assert!(output.stderr.contains(message), "{}", output.stderr);
    assert!(!world.exists("memory"));
}

#[test]
fn unknown_keys_are_reported_and_wrong_types_refused() {
    let world =
        World::with_config("[handover]\nmemorydir = \"m\"\n[extra]\nx = 1\n[note]\n[backend]\ntype = \"null\"\n");
    let output = world.run(&["run", "--note", "n"]).expect(0);
    assert_data_eq!(
        output.stderr.lines().filter(|line| line.starts_with("note:")).collect::<Vec<_>>().join("\n"),
        str![[r#"
note: unknown key `memorydir` in `[handover]` is ignored, as in the Python tool (did you mean `memory_dir`?)
note: unknown key `extra` in the file is ignored, as in the Python tool (known here: `handover`, `note`, `backend`, `guard`, `warmup`, `recall`, `transcripts`, `search`, `hook`, `category`, `step`)
"#]]
    );
    world.write("handover.toml", "[note]\n[backend]\ntype = \"null\"\npush = \"false\"\n");
    world.run(&["run", "--note", "n"]).expect(65);
}

#[test]
fn messages_that_scripts_grep_for_are_kept() {
    let world = World::with_config("[note]\nsession = \"n\"\n");
    let output = world.run(&["run"]).expect(1);
    assert!(output.stderr.contains("step 'publish' failed: backend.publish failed"), "{}", output.stderr);
    // The Python tool's own example has keys that it ignores.
    world.run(&["check"]).expect(1);
    world.write("handover.toml", "[note]\n[backend]\ntype = \"ftp\"\n");
    let output = world.run(&["run", "--note", "n"]).expect(65);
    assert!(output.stderr.contains("unknown backend type: 'ftp' (expected 'git' or 'null')"), "{}", output.stderr);
}

#[test]
fn a_python_checkpoint_is_read_if_there_is_no_other() {
    for (text, check, status) in [
        (
            checkpoint("in_progress", ["done", "done", "pending"]),
            1,
            "status: in_progress\n  [x] session_note\n  [x] current_state\n  [ ] publish\npending: publish\nunfinished: run `agent-handover run --resume` to continue\n",
        ),
        (
            checkpoint("in_progress", ["done", "done", "done"]),
            2,
            "status: completed\n  [x] session_note\n  [x] current_state\n  [x] publish\n",
        ),
        (
            checkpoint("completed", ["done", "done", "done"]),
            2,
            "status: completed\n  [x] session_note\n  [x] current_state\n  [x] publish\n",
        ),
        ("{\"status\": \"other\"}".to_owned(), 0, "status: none\n"),
    ] {
        let world = world();
        world.write(JSON, &text);
        world.run(&["check"]).expect(check);
        world.run(&["check", "--checkpoint", JSON]).expect(check);
        assert_eq!(world.run(&["status"]).expect(0).stdout, status);
        assert_eq!(world.read(JSON), text, "it is never written");
        assert!(!world.exists(".agent-handover/checkpoint.db"));
    }
}

#[test]
fn an_interrupted_python_run_is_superseded_by_a_note_and_published_by_a_resume() {
    let world = world();
    let text = checkpoint("in_progress", ["done", "done", "pending"]);
    world.write(JSON, &text);
    world.write("memory/layer1/2026-11/codex-2026-11-15.md", "<!-- agent-handover | layer1 | 2026-11-15 -->\ntheirs");
    assert_eq!(world.run(&["run", "--resume"]).expect(0).stdout, "handover steps executed: publish\n");
    world.run(&["check"]).expect(2);
    assert_eq!(world.read(JSON), text);

    let world = self::world();
    world.write(JSON, &text);
    world.write("memory/layer1/2026-11/codex-2026-11-15.md", "<!-- agent-handover | layer1 | 2026-11-15 -->\ntheirs");
    world.run(&["run", "--note", "ours"]).expect(0);
    world.run(&["check"]).expect(2);
    let notes = world.read("memory/layer1/2026-11/codex-2026-11-15.md");
    assert!(notes.starts_with("<!-- agent-handover | layer1 | 2026-11-15 -->\ntheirs\n<!-- note run="), "{notes}");
}

#[test]
fn a_resume_does_not_pretend_to_restore_what_python_never_stored() {
    let world = world();
    world.write(JSON, checkpoint("in_progress", ["pending", "pending", "pending"]));
    let output = world.run(&["run", "--resume"]).expect(0);
    assert!(
        output.stderr.contains("did not record what session_note and current_state would have written"),
        "{}",
        output.stderr
    );
    // Steps that the Python tool does not have.
    let world = self::world();
    world.write(JSON, "{\"status\": \"in_progress\", \"steps\": {\"collect\": \"pending\"}}");
    let output = world.run(&["run", "--resume"]).expect(1);
    assert!(output.stderr.contains("the Python tool left collect pending"), "{}", output.stderr);
    world.run(&["run", "--note", "NOT LOST"]).expect(0);
    assert!(world.read("memory/layer1/2026-11/codex-2026-11-15.md").contains("NOT LOST"));
    world.run(&["check"]).expect(2);
}

/// Every sort of damage that the Python tool could leave.
#[test]
fn a_damaged_python_checkpoint_is_reported_and_blocks_nothing() {
    for text in [&b""[..], b"{\"status\": \"in_pro", b"[]", b"{\"steps\": null}", b"\xff\xfe", b"{\"status\": 5}"] {
        let world = world();
        world.write(JSON, text);
        for command in ["check", "status"] {
            let output = world.run(&[command]).expect(65);
            assert!(output.stderr.contains("the Python tool's checkpoint, cannot be read"), "{}", output.stderr);
        }
        world.run(&["run", "--resume"]).expect(65);
        world.run(&["run", "--note", "n"]).expect(0);
        world.run(&["check"]).expect(2);
        assert_eq!(std::fs::read(world.path(JSON)).unwrap(), text);
    }
    let world = world();
    world.write(JSON, "{}");
    world.run(&["check"]).expect(0);
}

/// A file is named by the local date; each block has the instant with its offset.
#[test]
fn the_local_date_names_the_file_and_the_block_knows_the_instant() {
    let world = world();
    let mut instants = Vec::new();
    for zone in ["EAST-14", "WEST11"] {
        let mut command = world.command(&["run", "--tag", zone, "--note", "n"]);
        finish(command.env("TZ", zone).env_remove("AGENT_HANDOVER_TEST_NOW")).expect(0);
        let (path, text) = world.tree().into_iter().find(|(path, _)| path.contains(&format!("/{zone}-"))).unwrap();
        let date = path.rsplit_once(&format!("{zone}-")).unwrap().1.trim_end_matches(".md").to_owned();
        assert!(text.starts_with(&format!("<!-- agent-handover | layer1 | {date} -->\n")), "{text}");
        let instant = text.split(" at=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        instants.push((date, instant));
    }
    assert_ne!(instants[0].0, instants[1].0, "25 hours apart is never the same day");
    assert_eq!(instants[0].1[..14], instants[1].1[..14], "within the same hour: {instants:?}");
}
