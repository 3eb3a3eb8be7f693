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
    assert!(text.contains(" · lock: free · "), "{text}");
    assert!(
        text.contains("note   agents: none calls agent-handover yet\n       -> agent-handover install all\n"),
        "{text}"
    );
    assert_eq!(text.matches("not found here").count(), 1, "{text}");
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
    assert_eq!(
        about(&report, "claude-code")[1],
        "good: has not fired here: none of its hooks has run in this project yet"
    );
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
    assert!(called.starts_with("good: fired here: session-start 2026-11-15T10:04:05.000Z ("), "{called}");
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

    world.write("handover.toml", "# mine\n[[step]\n");
    let report = doctor(&world, 5);
    let config = &about(&report, "config")[0];
    assert!(config.starts_with("broken: ") && config.contains("/handover.toml:2:"), "{config}");
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
    assert!(text.contains("SessionStart (startup)  ") && text.contains(" tokens"), "{text}");
    world.run(&["doctor", "--simulate", "nobody"]).expect(64);
    let files = |tree: std::collections::BTreeMap<String, String>| -> Vec<String> { tree.into_keys().collect() };
    let without_shm = |names: Vec<String>| names.into_iter().filter(|name| !name.ends_with("-shm")).collect::<Vec<_>>();
    assert_eq!(without_shm(files(world.everything())), without_shm(files(before)));
}

/// The state of one agent, in one word.
fn state(report: &Value, name: &str) -> String {
    let agents = report["agents"].as_array().unwrap();
    let agent = agents.iter().find(|agent| agent["name"] == name).unwrap();
    agent["state"].as_str().unwrap().to_owned()
}

fn put(world: &World, path: &str, text: &str) {
    let path = world.home().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A hook call of a client in this directory.
fn fire(world: &World, agent: &str, cwd: &std::path::Path) {
    let payload =
        serde_json::json!({ "session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": cwd });
    let mut command = world.command(&["hook", "--agent", agent]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).current_dir(cwd);
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Its hooks are started and nobody reads what they print.
#[test]
fn an_agent_that_drops_the_answer_of_its_hooks_is_named() {
    let world = World::with_git();
    let says = "good: drops what hooks answer at its start; its rule asks the agent to run `agent-handover warmup`";
    assert_eq!(about(&doctor(&world, 0), "cline"), ["good: not found here"]);
    world.run(&["install", "cline", "gemini"]).expect(0);
    let report = doctor(&world, 0);
    assert!(about(&report, "cline").contains(&says.to_owned()), "{report}");
    assert!(!about(&report, "gemini").contains(&says.to_owned()), "{report}");
}

#[test]
fn an_agent_is_absent_then_found_then_wired_then_fired() {
    let world = World::with_git();
    assert_eq!(state(&doctor(&world, 0), "codex"), "absent");
    std::fs::create_dir_all(world.home().join(".codex")).unwrap();
    assert_eq!(state(&doctor(&world, 0), "codex"), "found");
    world.run(&["install", "codex"]).expect(0);
    assert_eq!(state(&doctor(&world, 0), "codex"), "wired");
    fire(&world, "codex", &world.root());
    let report = doctor(&world, 0);
    assert_eq!(state(&report, "codex"), "fired");
    assert!(report["project"].as_str().unwrap().ends_with("/project"), "{report}");
    assert!(about(&report, "project")[0].ends_with("/project"), "{report}");
    put(&world, ".codex/hooks.json", "{");
    assert_eq!(state(&doctor(&world, 5), "codex"), "broken");
}

type Edit = dyn Fn(&str) -> String;

#[test]
fn settings_that_the_client_rejects_are_not_called_wired() {
    let comment = |text: &str| text.replacen('{', "{ // mine\n", 1);
    let comma = |text: &str| format!("{},\n}}\n", text.trim_end().strip_suffix('}').unwrap().trim_end());
    let torn = |text: &str| text.replacen('}', "", 1);
    let cases: [(&str, &str, &Edit, bool); 8] = [
        ("claude-code", ".claude/settings.json", &comment, true),
        ("claude-code", ".claude/settings.json", &comma, true),
        ("codex", ".codex/hooks.json", &comment, true),
        ("codex", ".codex/hooks.json", &torn, true),
        ("gemini", ".gemini/settings.json", &comment, false),
        ("gemini", ".gemini/settings.json", &comma, true),
        ("cursor", ".cursor/hooks.json", &comma, false),
        ("cursor", ".cursor/hooks.json", &torn, true),
    ];
    for (agent, file, change, is_rejected) in cases {
        let world = World::with_git();
        world.run(&["install", agent]).expect(0);
        let text = std::fs::read_to_string(world.home().join(file)).unwrap();
        put(&world, file, &change(&text));
        let report = doctor(&world, if is_rejected { 5 } else { 0 });
        let found = about(&report, agent);
        let is_wired = found.iter().any(|found| found.contains("wired ("));
        assert_eq!(is_wired, !is_rejected, "{agent}: {found:?}\n{}", change(&text));
        let place = format!("{file}:");
        let is_named = found.iter().any(|found| found.starts_with("broken: ") && found.contains(&place));
        assert_eq!(is_named, is_rejected, "{agent}: {found:?}");
    }
}

#[test]
fn malformed_settings_are_broken_whether_or_not_they_call_us() {
    for (agent, file, text, place) in [
        ("claude-code", ".claude/settings.json", "{\n  \"model\": ,\n}\n", ".claude/settings.json:2:"),
        ("claude-code", ".claude/settings.json", "{ \"hooks\": [] }", ".claude/settings.json"),
        ("codex", ".codex/config.toml", "model = \"gpt-5\"\nmodel = \n", ".codex/config.toml:2:"),
        ("gemini", ".gemini/settings.json", "caf\u{e9}", ".gemini/settings.json:1:"),
    ] {
        let world = World::with_git();
        put(&world, file, text);
        let report = doctor(&world, 5);
        let found = about(&report, agent);
        assert!(found[0].starts_with("broken: ") && found[0].contains(place), "{found:?}");
        assert_eq!(std::fs::read_to_string(world.home().join(file)).unwrap(), text);
    }
    let world = World::with_git();
    std::fs::create_dir_all(world.home().join(".cursor/hooks.json")).unwrap();
    assert!(about(&doctor(&world, 5), "cursor")[0].contains("is not a plain file"));
}

#[test]
fn in_the_home_directory_one_install_is_one() {
    let world = World::new();
    std::fs::create_dir_all(world.home().join(".codex")).unwrap();
    let names: Vec<&str> = agent_handover::testing::agents::AGENTS.iter().map(|agent| agent.name).collect();
    world.run(&[&["install"], names.as_slice()].concat()).expect(0);
    let output = finish(world.command(&["doctor"]).current_dir(world.home())).expect(0);
    assert!(!output.stdout.contains("runs twice"), "{}", output.stdout);
    assert!(!output.stdout.contains("uninstall"), "{}", output.stdout);
    for name in ["codex", "gemini", "cursor", "claude-code"] {
        assert_eq!(output.stdout.matches(&format!("{name}: wired (")).count(), 1, "{}", output.stdout);
    }
    // The home directory by another name.
    let link = world.home().parent().unwrap().join("link");
    std::os::unix::fs::symlink(world.home(), &link).unwrap();
    let output = finish(world.command(&["doctor"]).current_dir(&link).env("HOME", &link)).expect(0);
    assert!(!output.stdout.contains("runs twice"), "{}", output.stdout);
}

/// Projects without a state directory share the user's log.
#[test]
fn a_hook_that_fired_in_another_project_did_not_fire_here() {
    let world = World::with_git();
    world.run(&["install", "claude-code"]).expect(0);
    let other = world.home().parent().unwrap().join("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("handover.toml"), "[handover]\nstate_dir = \"/nowhere/at/all\"\n").unwrap();
    fire(&world, "claude-code", &other);
    let log = std::fs::read_to_string(world.home().join(".local/state/agent-handover/hook.log")).unwrap();
    assert!(log.contains("session-start"), "{log}");
    assert_eq!(state(&doctor(&world, 0), "claude-code"), "wired");
    let there = finish(world.command(&["doctor", "--json"]).current_dir(&other)).json();
    assert_eq!(state(&there, "claude-code"), "fired", "{there}");
}

#[test]
fn doctor_says_where_hooks_do_nothing() {
    let world = World::new();
    let report = doctor(&world, 0);
    let project = &about(&report, "project")[0];
    assert!(
        project.starts_with("remark: ") && project.ends_with("is not a project, so hooks do nothing here"),
        "{project}"
    );
    world.git(&["init", "--quiet"]);
    assert!(about(&doctor(&world, 0), "project")[0].starts_with("good: "), "{report}");
    let home = finish(world.command(&["doctor", "--json"]).current_dir(world.home())).expect(0).json();
    assert!(home.to_string().contains("hooks never act in the home directory"), "{home}");
}

#[test]
fn doctor_names_the_remedy_for_a_worktree_that_was_moved() {
    let world = World::with_git();
    world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "x", "--allow-empty"]);
    world.git(&["worktree", "add", "-q", "../tree"]);
    let moved = world.root().with_file_name("moved");
    std::fs::rename(world.root().with_file_name("tree"), &moved).unwrap();
    let report = finish(world.command(&["doctor"]).current_dir(&moved)).expect(0).stdout;
    assert!(report.contains("run `git worktree repair`") && !report.contains("install git"), "{report}");
}

#[test]
fn doctor_reports_a_state_directory_that_cannot_be_written() {
    let world = World::with_git();
    world.run(&["run", "--quiet", "--note", "before"]).expect(0);
    let root = world.root().display().to_string();
    let script =
        format!("mount --bind {root} {root} && mount -o remount,bind,ro {root} && cd {root} && {BINARY} doctor");
    let output = finish(world.clean("unshare").args(["-rm", "sh", "-c", &script]));
    if output.stderr.contains("unshare") || output.stderr.contains("mount:") {
        return skip("this machine lets nobody make a mount");
    }
    assert!(output.expect(5).stdout.contains("is sound but cannot be written"));
}
