//! What agents are reminded of: at the first prompt, and before a command or an edit.

use serde_json::{Value, json};

use super::claude_talk::Transcript;
use super::support::*;

fn hook(world: &World, agent: &str, payload: &Value) -> Output {
    world.write("../payload", payload.to_string());
    let mut command = world.command(&["hook", "--agent", agent]);
    finish(command.stdin(std::fs::File::open(world.path("../payload")).unwrap()))
}

/// A project with a failed command, one that passed later, and a ruling about a file.
fn world() -> World {
    let world = World::with_git();
    Transcript::of(&world, "earlier", "2026-11-10T09:00:00Z")
        .asks("The date picker shows the wrong day in the Tokyo time zone")
        .runs("cd sub && make  e2e", "Exit code 2\nerror: the browser did not start", true)
        .runs("cargo test", "Exit code 101\nerror[E0308]: mismatched types", true)
        .runs("cargo test", "test result: ok. 3 passed", false)
        .says("The offset was applied twice.");
    world.run(&["memory", "add", "decision", "Never edit src/gen/api.rs by hand; run make api"]).expect(0);
    world.write("handover.toml", "[recall]\ntools = true\n");
    world.run(&["search", "--json", "tokyo"]).expect(0);
    world
}

/// What Claude Code gets before a tool.
fn before(world: &World, session: &str, tool: &str, input: Value) -> String {
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": session, "cwd": world.root(), "tool_name": tool, "tool_input": input,
    });
    let output = hook(world, "claude-code", &payload).expect(0).stderr_ignored("the story").stdout;
    if output.is_empty() {
        return output;
    }
    let answer: Value = serde_json::from_str(&output).unwrap();
    let said = &answer["hookSpecificOutput"];
    let expected = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "additionalContext": said["additionalContext"] } });
    assert_eq!(answer, expected, "it neither allows nor refuses");
    let line = said["additionalContext"].as_str().unwrap();
    assert!(line.len() <= 200 && !line.contains('\n'), "{} {line}", line.len());
    let (said, mark) = line.strip_prefix("<!-- agent-handover warmup --> ").unwrap().split_once(" <!-- end ").unwrap();
    assert!(mark.len() == 12 && mark.ends_with(" -->"), "{line}");
    said.to_owned()
}

#[test]
fn before_a_tool_one_line_is_said_once_and_only_if_it_matters() {
    let world = world();
    let run = |session: &str, command: &str| before(&world, session, "Bash", json!({ "command": command }));
    let edit = |session: &str, path: &str| before(&world, session, "Edit", json!({ "file_path": world.path(path) }));
    assert_eq!(run("a", "cargo test"), "", "it passed since");
    assert_eq!(run("a", "make"), "", "another command");
    let failed =
        "This command failed last time (2026-11-10) and has not passed since: error: the browser did not start";
    assert_eq!(run("a", "make e2e"), failed);
    assert_eq!(run("a", "make e2e"), "", "once for a session");
    assert_eq!(run("b", " make e2e"), failed);
    let ruling = "A ruling (2026-11-15) names this file: Never edit src/gen/api.rs by hand; run make api";
    assert_eq!(edit("a", "src/gen/api.rs"), ruling);
    assert_eq!(edit("a", "src/gen/api.rs"), "");
    assert_eq!((edit("a", "src/api.rs"), edit("a", "../elsewhere/src/gen/api.rs")), (String::new(), String::new()));
    assert_eq!(before(&world, "c", "Read", json!({ "file_path": world.path("src/gen/api.rs") })), "");
    // It is off by default.
    std::fs::remove_file(world.path("handover.toml")).unwrap();
    assert_eq!((run("d", "make e2e"), edit("d", "src/gen/api.rs")), (String::new(), String::new()));
}

#[test]
fn before_a_tool_nothing_goes_wrong_and_other_agents_get_what_they_accept() {
    let world = world();
    let input = json!({ "command": "make e2e" });
    let payload = |session: &str| json!({ "hook_event_name": "PreToolUse", "session_id": session, "cwd": world.root(), "tool_name": "Bash", "tool_input": input });
    // Codex refuses context before a tool.
    let mut codex = payload("x");
    codex["turn_id"] = json!("t");
    assert_eq!(hook(&world, "codex", &codex).expect(0).stderr_ignored("the story").stdout, "");
    for broken in [
        json!({}),
        json!("x"),
        json!({ "command": 7 }),
        json!({ "command": "x".repeat(100_000) }),
        json!({ "file_path": "\u{0}" }),
    ] {
        assert_eq!(before(&world, "y", "Bash", broken), "");
    }
    world.write(".agent-handover/index.db", "not an index");
    assert_eq!(before(&world, "z", "Bash", input.clone()), "");
    std::fs::remove_file(world.path(".agent-handover/index.db")).unwrap();
    assert_eq!(before(&world, "z", "Bash", input), "");
    assert!(!world.exists(".agent-handover/index.db"), "a hook before a tool builds no index");
}

#[test]
fn a_ruling_that_came_with_the_repository_is_not_told() {
    let author = world();
    let world = World::salted("cloned");
    world.git(&["init", "-q", "."]);
    world.write("memory/layer2/current-state.md", author.read("memory/layer2/current-state.md"));
    world.write("handover.toml", "[recall]\ntools = true\n");
    world.run(&["run", "--note", "n"]).stderr_ignored("the memory came along");
    world.run(&["search", "--json", "api"]).stderr_ignored("the memory came along");
    assert_eq!(before(&world, "a", "Edit", json!({ "file_path": world.path("src/gen/api.rs") })), "");
}

#[test]
fn install_wires_tools_only_if_the_config_asks_for_it() {
    let world = World::with_git();
    let settings = r#"{ "hooks": { "PreToolUse": [ { "matcher": "Read", "hooks": [ { "type": "command", "command": "mine" } ] } ] } }"#;
    std::fs::create_dir_all(world.home().join(".claude")).unwrap();
    let file = world.home().join(".claude/settings.json");
    std::fs::write(&file, settings).unwrap();
    let read = || serde_json::from_str::<Value>(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let groups = || read()["hooks"]["PreToolUse"].as_array().unwrap().len();
    world.run(&["install", "claude-code"]).stderr_ignored("the program is in target").expect(0);
    assert_eq!(groups(), 1);
    assert!(read()["hooks"]["UserPromptSubmit"].is_array(), "the first prompt is wired always");
    world.write("handover.toml", "[recall]\ntools = true\n");
    world.run(&["install", "claude-code"]).stderr_ignored("the program is in target").expect(0);
    assert_eq!(groups(), 2);
    assert_eq!(read()["hooks"]["PreToolUse"][1]["matcher"], "Bash|Edit|MultiEdit|Write|NotebookEdit");
    let once = std::fs::read(&file).unwrap();
    // Another project that does not ask for it leaves it.
    std::fs::remove_file(world.path("handover.toml")).unwrap();
    world.run(&["install", "claude-code"]).stderr_ignored("the program is in target").expect(0);
    assert_eq!(std::fs::read(&file).unwrap(), once);
    world.run(&["uninstall", "claude-code"]).stderr_ignored("the program is in target").expect(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), settings);
}

#[test]
fn the_first_prompt_is_answered_in_the_words_of_each_agent() {
    let world = world();
    let prompt = "wrong day in the Tokyo time zone, date picker";
    let plain = |session: &str, event: &str| json!({ "hook_event_name": event, "session_id": session, "cwd": world.root(), "prompt": prompt });
    let asked = |agent: &str, payload: Value| {
        let output = hook(&world, agent, &payload).expect(0).stderr_ignored("the story").stdout;
        serde_json::from_str::<Value>(&output).unwrap()
    };
    let has = |text: &Value| text.as_str().is_some_and(|text| text.contains("the wrong day in the Tokyo time zone"));
    for (agent, event) in
        [("claude-code", "UserPromptSubmit"), ("codex", "UserPromptSubmit"), ("gemini", "BeforeAgent")]
    {
        let said = &asked(agent, plain(agent, event))["hookSpecificOutput"];
        assert_eq!(said["hookEventName"], event);
        assert!(has(&said["additionalContext"]), "{agent}: {said}");
    }
    let payload = json!({ "agent": "opencode", "event": "prompt.submitted", "session_id": "o", "cwd": world.root(), "prompt": prompt });
    assert!(has(&asked("opencode", payload.clone())["context"]));
    assert_eq!(asked("opencode", payload), json!({}), "once");
    assert_eq!(asked("gemini", plain("gemini", "BeforeAgent")), json!({}), "once");
    // These drop what a prompt is answered with.
    let copilot = json!({ "sessionId": "c", "cwd": world.root(), "timestamp": 0, "prompt": prompt });
    assert_eq!(asked("copilot", copilot), json!({}));
    // `doctor --simulate` shows both reminders, for something that was asked before.
    let shown = world.run(&["doctor", "--simulate", "claude-code", "--json"]).expect(0).json();
    let received = |event: &str| {
        let answers = shown["answers"].as_array().unwrap();
        answers.iter().find(|answer| answer["event"] == event).unwrap()["received"].as_str().unwrap().to_owned()
    };
    assert!(received("UserPromptSubmit").contains("Tokyo"), "{shown}");
    assert!(received("PreToolUse").contains("the browser did not start"), "{shown}");
}

#[test]
fn transcripts_of_codex_and_other_projects_are_searched() {
    let world = world();
    let directory = world.home().join(".codex/sessions/2026/11/12");
    std::fs::create_dir_all(&directory).unwrap();
    let id = "0199f000-0000-7000-8000-00000000c0de";
    let record = |kind: &str, payload: Value| {
        json!({ "timestamp": "2026-11-12T09:00:00.000Z", "type": kind, "payload": payload }).to_string()
    };
    let said = |role: &str, kind: &str, text: &str| {
        record("response_item", json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] }))
    };
    let call = |number: usize, command: &str, output: &str, code: i32| {
        let arguments = json!({ "command": ["bash", "-lc", command] }).to_string();
        let output = json!({ "output": output, "metadata": { "exit_code": code } }).to_string();
        [
            record("response_item", json!({ "type": "function_call", "name": "shell", "arguments": arguments, "call_id": format!("c{number}") })),
            record("response_item", json!({ "type": "function_call_output", "call_id": format!("c{number}"), "output": output })),
        ]
        .join("\n")
    };
    let lines = [
        record(
            "session_meta",
            json!({ "id": id, "cwd": world.root().canonicalize().unwrap(), "timestamp": "2026-11-12T09:00:00.000Z", "cli_version": "0.166.0" }),
        ),
        said("user", "input_text", "Why does the walrus exporter drop spans?"),
        call(1, "cargo test walrus", "error[E0599]: no method named flush_spans", 101),
        call(2, "cargo test walrus", "test result: ok", 0),
        said("assistant", "output_text", "The batch was never flushed at shutdown; flush_spans is called now."),
    ];
    let file = directory.join(format!("rollout-2026-11-12T09-00-00-{id}.jsonl"));
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    let hits =
        |arguments: &[&str]| world.run(&[&["search", "--json"], arguments].concat()).expect(0).json()["hits"].clone();
    let hit = &hits(&["walrus exporter spans"])[0];
    assert_eq!((&hit["session"], &hit["agent"]), (&json!(id), &json!("codex")), "{hit}");
    assert_eq!(hits(&["flush_spans", "--agent", "codex", "--kind", "error"])[0]["session"], id);

    let other = World::salted("other");
    other.git(&["init", "-q", "."]);
    Transcript::of(&other, "elsewhere", "2026-11-13T09:00:00Z").asks("The walrus migration of the other project");
    let in_home_of = |world: &World, arguments: &[&str]| {
        let mut command = world.command(arguments);
        finish(command.env("HOME", other.home())).expect(0).stderr_ignored("an index may be built")
    };
    // A handoff makes a project known to the user.
    in_home_of(&other, &["history", "create", "--goal", "The walrus migration", "--next", "Fix the exporter"]);
    in_home_of(&world, &["history", "create", "--goal", "The exporter", "--next", "Fix the exporter"]);
    let found = in_home_of(&world, &["search", "--json", "--all-projects", "walrus migration"]).json()["hits"].clone();
    let projects: Vec<&str> = found.as_array().unwrap().iter().filter_map(|hit| hit["project"].as_str()).collect();
    assert!(projects.contains(&&*other.root().display().to_string()), "{found}");
    let here = in_home_of(&world, &["search", "--json", "exporter"]).json()["hits"].clone();
    assert!(here.as_array().unwrap().iter().all(|hit| hit.get("project").is_none()), "{here}");
}
