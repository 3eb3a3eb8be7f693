//! The plugin for Claude Code in `plugin/`: it is what `install` writes, and beside an install it does nothing twice.
//!
//! `SNAPSHOTS=overwrite cargo test --test it -- plugin::` writes its files again.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use super::hook::{Session, settled};
use super::install::program;
use super::support::*;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("plugin")
}

fn assert_file(path: &str, wanted: &str) {
    let found = snapbox::Data::read_from(&directory().join(path), Some(snapbox::data::DataFormat::Text)).raw();
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(wanted.to_owned(), found);
}

fn read(path: PathBuf) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn pretty(value: &Value) -> String {
    format!("{}\n", serde_json::to_string_pretty(value).unwrap())
}

fn names(directory: &Path, below: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names(&path, below, found);
        } else {
            found.push(path.strip_prefix(below).unwrap().display().to_string());
        }
    }
}

#[test]
fn the_plugin_is_what_install_writes() {
    let world = World::new();
    world.put(".claude/settings.json", "{}");
    world.agent(&["install", "claude-code"]).stderr_ignored("what was written").expect(0);
    let (ours, _) = program(&world, "bin");
    let by_name = |text: String| text.replace(&ours, "agent-handover");
    let claude = world.home().join(".claude");
    let settings: Value = serde_json::from_str(&by_name(world.get(".claude/settings.json"))).unwrap();
    assert_file("hooks/hooks.json", &pretty(&json!({ "hooks": settings["hooks"] })));
    let mut expected = vec![".claude-plugin/plugin.json".to_owned(), "hooks/hooks.json".to_owned()];
    for kind in ["skills", "commands"] {
        let mut found = Vec::new();
        names(&claude.join(kind), &claude, &mut found);
        assert!(!found.is_empty());
        for name in found {
            assert_file(&name, &std::fs::read_to_string(claude.join(&name)).unwrap());
            expected.push(name);
        }
    }
    if cfg!(feature = "mcp") {
        let servers: Value = serde_json::from_str(&by_name(world.get(".claude.json"))).unwrap();
        assert_file(".mcp.json", &pretty(&json!({ "mcpServers": servers["mcpServers"] })));
    }
    expected.push(".mcp.json".to_owned());
    let mut found = Vec::new();
    names(&directory(), &directory(), &mut found);
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "nothing else is in the plugin");
}

#[test]
fn the_manifests_name_this_version_and_the_plugin() {
    let manifest = read(directory().join(".claude-plugin/plugin.json"));
    assert_eq!(manifest["name"], "agent-handover");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(manifest["description"], env!("CARGO_PKG_DESCRIPTION"));
    assert_eq!(manifest["license"], env!("CARGO_PKG_LICENSE"));
    let market = read(directory().parent().unwrap().join(".claude-plugin/marketplace.json"));
    assert_eq!(market["name"], "agent-handover");
    assert_eq!(market["plugins"][0]["name"], manifest["name"]);
    assert_eq!(market["plugins"][0]["source"], "./plugin");
}

/// What the database knows about sessions, without the times of calls.
fn recorded(world: &World) -> Vec<String> {
    let database = world.database();
    let mut found = Vec::new();
    for sql in [
        "SELECT agent || id || transcript || handed_over || turns || run || is_over || warmed FROM session ORDER BY seq",
        "SELECT agent || id || kind || text FROM session_word ORDER BY seq",
        "SELECT session || reason || mark FROM receipt ORDER BY seq",
        "SELECT id FROM run ORDER BY seq",
    ] {
        let mut statement = database.prepare(sql).unwrap();
        found.extend(statement.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap));
    }
    found
}

/// Two installations call for each event, the second while the first is at work or after it.
#[test]
fn the_second_call_of_each_event_does_nothing() {
    let world = World::with_git();
    // An earlier session, of which the first prompt reminds.
    let earlier = Session::of(&world, "early-1");
    earlier.ask("Teach the walrus to dance the polka");
    earlier.edit("walrus.rs");
    earlier.end();
    world.run(&["search", "walrus"]).stderr_ignored("the index is made").expect(0);
    let session = Session::of(&world, "twice-1");
    let events = [
        ("SessionStart", json!({ "source": "startup" }), true),
        ("UserPromptSubmit", json!({ "prompt": "What did the walrus polka need?" }), true),
        ("Stop", json!({ "stop_hook_active": false, "last_assistant_message": "Shoes." }), false),
        ("PreCompact", json!({ "trigger": "manual" }), false),
        ("SessionStart", json!({ "source": "compact" }), true),
        ("UserPromptSubmit", json!({ "prompt": "And the second time?" }), false),
        ("StopFailure", json!({ "error": "rate_limit", "last_assistant_message": "You reached a limit" }), false),
        ("SessionEnd", json!({ "reason": "other" }), false),
    ];
    for (number, (event, more, has_context)) in events.iter().enumerate() {
        session.ask(&format!("Request {number} about the polka"));
        let first = session.call(event, more.clone());
        assert_eq!(!first.stdout.is_empty(), *has_context, "{event}: {}", first.stdout);
        settled(&world);
        let before = recorded(&world);
        if *event == "Stop" {
            // The client writes down what the first hook answered.
            session.write(&[json!({ "type": "attachment", "attachment": { "type": "hook_success" } })]);
        }
        let second = session.call(event, more.clone());
        assert_eq!(second.stdout, "", "{event} {number}");
        settled(&world);
        assert_eq!(recorded(&world), before, "{event} {number}");
    }
    let runs = recorded(&world).into_iter().filter(|line| line.starts_with("01")).count();
    assert_eq!(runs, 2, "one handover for each session");
}

/// Both at once, as the client starts its hooks.
#[test]
fn two_calls_at_once_put_one_warmup_into_a_session() {
    for round in 0..4 {
        let world = World::with_git();
        let id = format!("at-once-{round}");
        let session = Session::of(&world, &id);
        session.ask("Once");
        let mut contexts = 0;
        for (event, more) in [
            ("SessionStart", json!({ "source": "startup" })),
            ("Stop", json!({ "stop_hook_active": false })),
            ("SessionEnd", json!({ "reason": "other" })),
        ] {
            let payload = session.payload(event, more).to_string();
            let call = || {
                let mut command = world.command(&["hook", "--agent", "claude-code"]);
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            };
            let mut calls = [call(), call()];
            for call in &mut calls {
                call.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
            }
            let answers = calls.map(output);
            contexts += answers.iter().filter(|answer| !answer.stdout.is_empty()).count();
            for answer in answers {
                answer.stderr_ignored("the other one may be running").expect(0);
            }
        }
        settled(&world);
        assert_eq!(contexts, 1);
        let runs: i64 = world.database().query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
        assert_eq!(runs, 1, "one handover");
    }
}

/// What the client writes when a person installs the plugin.
fn install_plugin(world: &World, is_on: bool) {
    let entry = json!([{ "scope": "user", "installPath": "/x", "version": "0.2.0" }]);
    let installed = json!({ "version": 2, "plugins": { "agent-handover@agent-handover": entry } });
    world.put(".claude/plugins/installed_plugins.json", installed.to_string());
    let settings = json!({ "enabledPlugins": { "agent-handover@agent-handover": is_on } });
    world.put(".claude/settings.json", settings.to_string());
}

#[test]
fn doctor_and_the_home_view_know_the_plugin() {
    let world = World::with_git();
    install_plugin(&world, true);
    let about = |output: &Output| {
        let document = output.json();
        let agents = document["agents"].as_array().unwrap().clone();
        let claude = agents.iter().find(|agent| agent["name"] == "claude-code").unwrap().clone();
        (claude, document["findings"].to_string())
    };
    let output = world.agent(&["doctor", "--json"]).stderr_ignored("notes").expect(0);
    let (claude, findings) = about(&output);
    assert_eq!(claude["state"], "wired");
    assert!(claude["plugin"].as_str().unwrap().ends_with(".claude/settings.json"), "{claude}");
    assert!(findings.contains("wired (plugin)") && !findings.contains("does not call agent-handover"), "{findings}");
    let home = world.agent(&["--json"]).stderr_ignored("notes");
    assert!(!home.stdout.contains("not_wired"), "{}", home.stdout);
    // PATH does not find the program that its hooks call.
    let output = world.run(&["doctor", "--json"]).stderr_ignored("notes").expect(5);
    assert!(about(&output).1.contains("which PATH does not find"), "{}", output.stdout);
    // Both.
    let installed = world.agent(&["install", "claude-code"]).expect(0);
    assert!(installed.stderr.contains("the second call does nothing"), "{}", installed.stderr);
    let output = world.agent(&["doctor", "--json"]).stderr_ignored("notes").expect(0);
    assert!(about(&output).1.contains("the second call of each event does nothing"), "{}", output.stdout);
    // Turned off, or named by a repository without being installed.
    let world = World::with_git();
    install_plugin(&world, false);
    assert!(about(&world.agent(&["doctor", "--json"]).stderr_ignored("notes").expect(0)).0["plugin"].is_null());
    let world = World::with_git();
    world.put(".claude/settings.json", "{}");
    world.write(".claude/settings.json", json!({ "enabledPlugins": { "agent-handover@evil": true } }).to_string());
    assert!(about(&world.agent(&["doctor", "--json"]).stderr_ignored("notes").expect(0)).0["plugin"].is_null());
}
