//! `doctor`: what it finds right, what it finds wrong, and what it says to do.

use serde_json::Value;

use super::support::*;

/// The findings about something, as "state: says".
fn about(report: &Value, what: &str) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap().iter();
    let mine = findings.filter(|found| found["about"] == what);
    mine.map(|found| format!("{}: {}", found["state"].as_str().unwrap(), found["says"].as_str().unwrap())).collect()
}

fn doctor(world: &World, code: i32) -> Value {
    world.run(&["doctor", "--json"]).expect(code).json()
}

#[test]
fn a_machine_without_agents_is_in_order() {
    let world = World::with_git();
    let before = world.everything();
    let report = doctor(&world, 0);
    assert_eq!((report["schema"].as_str(), report["broken"].as_bool()), (Some("agent-handover/doctor/1"), Some(false)));
    assert_eq!(about(&report, "claude-code"), ["good: not found here"]);
    assert_eq!(about(&report, "database"), ["good: none yet: nothing was handed over here"]);
    assert_eq!(about(&report, "pause"), ["good: not paused"]);
    assert_eq!(world.everything(), before, "looking changes nothing");
    let text = world.run(&["doctor"]).expect(0).stdout;
    assert!(text.contains("ok     lock: free"), "{text}");
}

#[test]
fn doctor_sees_installed_hooks_and_what_broke_them() {
    let world = World::with_git();
    std::fs::create_dir_all(world.home().join(".claude")).unwrap();
    std::fs::create_dir_all(world.home().join(".codex")).unwrap();
    let report = doctor(&world, 0);
    assert!(about(&report, "codex")[0].starts_with("remark: found"), "{report}");
    world.run(&["install", "claude-code", "codex"]).expect(0);
    let report = doctor(&world, 0);
    assert!(about(&report, "claude-code")[0].starts_with("good: wired (user): "), "{report}");
    assert_eq!(about(&report, "claude-code")[1], "good: has not called agent-handover in this project yet");
    let click = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|found| found["says"] == "may wait for your answer")
        .unwrap();
    assert!(click["about"] == "codex" && click["remedy"].as_str().unwrap().contains("rust"), "{click}");

    let payload = r#"{"session_id":"s","hook_event_name":"SessionStart","source":"startup"}"#;
    let mut command = world.command(&["hook", "--agent", "claude-code"]);
    let mut child = command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let report = doctor(&world, 0);
    let called = &about(&report, "claude-code")[1];
    assert!(called.starts_with("good: last called: session-start 2026-11-15T10:04:05.000Z ("), "{called}");
    let agents = report["agents"].as_array().unwrap();
    let claude = agents.iter().find(|agent| agent["name"] == "claude-code").unwrap();
    assert_eq!(claude["last"][0]["event"], "session-start");
    assert!(claude["last"][0]["duration_ms"].is_u64());

    // The program has moved away, an event is gone, and hooks are switched off.
    let settings = world.home().join(".claude/settings.json");
    let text = std::fs::read_to_string(&settings).unwrap();
    let broken = |change: &dyn Fn(&str) -> String, says: &str| {
        std::fs::write(&settings, change(&text)).unwrap();
        let report = doctor(&world, 5);
        assert!(about(&report, "claude-code").iter().any(|found| found.contains(says)), "{says}: {report}");
        let seen = world.run(&["doctor"]).expect(5).stdout;
        assert!(seen.contains("BROKEN claude-code: ") && seen.contains("       -> "), "{seen}");
    };
    broken(
        &|text| text.replace(BINARY, "/gone/agent-handover"),
        "broken: its hooks call /gone/agent-handover, which is not there",
    );
    broken(&|text| text.replace("\"PreCompact\"", "\"PreCompacted\""), "broken: has no hook for PreCompact");
    broken(&|text| text.replacen('{', "{\"disableAllHooks\": true,", 1), "broken: `disableAllHooks` is true");
}

#[test]
fn doctor_reports_project_problems_with_remedies() {
    let world = World::with_git();
    world.write("PAUSE", "deploying");
    world.write(
        "handover.toml",
        "[[step]]\nname = \"c\"\nkind = \"command\"\nrun = [\"true\"]\n[[step]]\nname = \"p\"\nkind = \"publish\"\n",
    );
    finish(&mut world.command(&["run", "--note", "waits"])).expect(3);
    let report = doctor(&world, 0);
    assert!(about(&report, "pause")[0].starts_with("remark: automation paused"), "{report}");
    assert!(about(&report, "config")[0].contains("is not allowed"), "{report}");
    assert!(about(&report, "handovers")[0].starts_with("remark: 1 handover unfinished"), "{report}");
    assert_eq!(about(&report, "publishing"), ["remark: 1 handover not published"]);
    std::fs::remove_file(world.path("PAUSE")).unwrap();
    world.run(&["allow"]).expect(0);
    assert!(about(&doctor(&world, 0), "config")[0].ends_with("handover.toml, allowed"));

    world.write("handover.toml", "[[step]\n");
    assert!(about(&doctor(&world, 5), "config")[0].starts_with("broken: "));
    std::fs::remove_file(world.path("handover.toml")).unwrap();
    for part in ["checkpoint.db", "checkpoint.db-wal", "checkpoint.db-shm"] {
        let _ = std::fs::remove_file(world.path(&format!(".agent-handover/{part}")));
    }
    world.write(".agent-handover/checkpoint.db", "no database at all ".repeat(100));
    let report = doctor(&world, 5);
    assert!(about(&report, "database")[0].starts_with("broken: "), "{report}");
    let text = world.run(&["doctor"]).expect(5).stdout;
    assert!(text.contains("run --restart"), "{text}");
    let output = finish(world.command(&["doctor", "--json"]).env("PATH", world.home()));
    assert!(about(&output.json(), "git")[0].starts_with("remark: "), "{}", output.stdout);
}

#[test]
fn a_simulation_shows_what_each_agent_would_receive_and_changes_nothing() {
    let world = World::with_git();
    world.run(&["run", "--note", "something to tell"]).expect(0);
    let before = world.everything();
    for agent in agent_handover::testing::agents::AGENTS {
        let report = world.run(&["doctor", "--simulate", agent.name, "--json"]).expect(0).json();
        let answers = report["answers"].as_array().unwrap();
        let start = answers.iter().find(|answer| answer["source"] == "startup").unwrap();
        let shown = world.run(&["warmup", "--agent", agent.name]).expect(0).stdout;
        assert_eq!(start["received"].as_str().unwrap(), shown.replace("$WORLD", ""), "{}", agent.name);
        assert_eq!(start["bytes"].as_u64().unwrap() as usize, start["received"].as_str().unwrap().len());
        for answer in answers.iter().filter(|answer| answer["payload"]["reason"] == "other") {
            assert!(!answer["received"].as_str().unwrap().contains("something to tell"), "{answer}");
        }
    }
    let text = world.run(&["doctor", "--simulate", "codex"]).expect(0).stdout;
    assert!(text.contains("SessionStart (startup): ") && text.contains(" tokens"), "{text}");
    world.run(&["doctor", "--simulate", "nobody"]).expect(64);
    let files = |tree: std::collections::BTreeMap<String, String>| -> Vec<String> { tree.into_keys().collect() };
    let without_shm = |names: Vec<String>| names.into_iter().filter(|name| !name.ends_with("-shm")).collect::<Vec<_>>();
    assert_eq!(without_shm(files(world.everything())), without_shm(files(before)));
}
