//! The user's own config: defaults for all projects, and what it keeps hooks out of.

use serde_json::json;

use super::hook::{Session, first_used_an_hour_ago, runs, settled};
use super::support::*;

fn write_own(world: &World, text: &str) {
    let directory = world.home().join(".config/agent-handover");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("config.toml"), text).unwrap();
}

fn value(world: &World, key: &str) -> serde_json::Value {
    let output = world.run(&["config", "--json"]).expect(0).json();
    let values = output["values"].as_array().unwrap().clone();
    values.into_iter().find(|value| value["key"] == key).unwrap_or_else(|| panic!("no {key}"))
}

/// What hooks logged outside of all projects.
fn own_log(world: &World) -> String {
    std::fs::read_to_string(world.home().join(".local/state/agent-handover/hook.log")).unwrap_or_default()
}

#[test]
fn defaults_give_way_to_the_users_config_and_that_to_the_projects() {
    let world = World::with_config("[recall]\ntools = false\n");
    write_own(&world, "[warmup]\nbudget = 900\n\n[recall]\ntools = true\n");
    assert_eq!(value(&world, "warmup.budget")["value"], 900);
    assert_eq!(value(&world, "warmup.budget")["origin"], json!({ "from": "own", "line": 2 }));
    assert_eq!(value(&world, "recall.tools")["value"], false);
    assert_eq!(value(&world, "recall.tools")["origin"], json!({ "from": "file", "line": 2 }));
    assert_eq!(value(&world, "hook.headless")["origin"], json!({ "from": "default" }));
    let shown = world.run(&["config"]).expect(0).stdout;
    assert!(shown.contains("Your own config: $WORLD/home/.config/agent-handover/config.toml\n"), "{shown}");
    assert!(shown.contains("warmup.budget = 900  # $WORLD/home/.config/agent-handover/config.toml:2\n"), "{shown}");
    // A flag is stronger than all of them.
    let small = world.run(&["warmup", "--budget", "300"]).expect(0).stdout;
    assert!(small.len() <= 300, "{}", small.len());
}

#[test]
fn the_file_is_where_xdg_says() {
    let world = World::new();
    write_own(&world, "[warmup]\nbudget = 900\n");
    let elsewhere = world.home().join("settings/agent-handover");
    std::fs::create_dir_all(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("config.toml"), "[warmup]\nbudget = 901\n").unwrap();
    let mut command = world.command(&["config"]);
    let output = finish(command.env("XDG_CONFIG_HOME", world.home().join("settings"))).expect(0).stdout;
    assert!(output.contains("warmup.budget = 901"), "{output}");
}

#[test]
fn what_publishes_or_runs_cannot_be_in_it() {
    let world = World::with_git();
    write_own(
        &world,
        "[backend]\ntype = \"git\"\n[[step]]\nname = \"x\"\nkind = \"command\"\nrun = [\"touch\", \"ran\"]\n",
    );
    let output = world.run(&["config"]).expect(65);
    snapbox::assert_data_eq!(
        output.stderr,
        snapbox::str![[r#"
error: `backend` belongs in the `handover.toml` of a project
 --> $WORLD/home/.config/agent-handover/config.toml:1:2
  |
1 | [backend]
  |  ^^^^^^^
  |
  = help: your own config has `[hook]`, `[warmup]`, `[recall]` and `[transcripts]`
error: `step` belongs in the `handover.toml` of a project
 --> $WORLD/home/.config/agent-handover/config.toml:3:3
  |
3 | [[step]]
  |   ^^^^
  |
  = help: your own config has `[hook]`, `[warmup]`, `[recall]` and `[transcripts]`

"#]]
    );
    warned(&world, &["run", "--note", "x"]);
    assert!(!world.exists("ran"));
}

#[test]
fn a_project_cannot_name_what_is_ignored() {
    let world = World::with_config("[hook]\nignore = [\"/\"]\n");
    let output = world.run(&["config"]).expect(65);
    assert!(output.stderr.contains("`ignore` in `[hook]` counts only in your own config"), "{}", output.stderr);
}

#[test]
fn hooks_do_nothing_in_a_directory_that_is_ignored() {
    let world = World::with_git();
    write_own(&world, &format!("[hook]\nignore = [\"~/x\", {:?}]\n", world.root()));
    let before = world.everything();
    let session = Session::dying(&world, "s-1");
    session.ask("fix the parser");
    assert_eq!(session.start("startup"), "");
    session.turn();
    session.end();
    let mut after = world.everything();
    after.retain(|path, _| !path.contains(".claude/") && !path.contains("hook.log"));
    assert_eq!(after, before, "something was written");
    assert_eq!(own_log(&world).lines().filter(|line| line.contains("your own config ignores")).count(), 3);
    // A person who types a command means it.
    world.run(&["run", "--note", "typed"]).expect(0);
    assert!(world.exists("memory"));
}

/// What hooks keep out of, the server that an agent can call keeps out of as well.
#[cfg(feature = "mcp")]
#[test]
fn the_mcp_server_does_nothing_in_a_directory_that_is_ignored() {
    use super::mcp::Client;
    let world = World::with_git();
    Client::legacy(&world).call("capture", json!({ "goal": "said before" }));
    let link = world.home().join("link");
    std::os::unix::fs::symlink(world.root(), &link).unwrap();
    for own in [format!("[hook]\nignore = [{link:?}]\n"), "[hook]\nignore = [\"~/*\"]\n".to_owned()] {
        write_own(&world, &own);
        let before = world.tree();
        let mut client = Client::legacy(&world);
        for (tool, arguments) in [
            ("show", json!({ "id": "state" })),
            ("capture", json!({ "goal": "said there" })),
            ("handover", json!({ "summary": "said there" })),
            ("warmup", json!({})),
            ("search", json!({ "query": "said" })),
        ] {
            let refused = client.refused(tool, arguments);
            assert!(refused.contains("ignore") && !refused.contains("said before"), "{tool}: {refused}");
        }
        assert_eq!(client.end(), 0);
        assert_eq!(world.tree(), before, "something was written");
    }
}

#[test]
fn a_session_below_an_ignored_directory_is_not_swept() {
    let world = World::with_git();
    world.write("secret/x", "");
    write_own(&world, &format!("[hook]\nignore = [{:?}]\n", world.path("secret")));
    Session::dying(&world, "s-0").start("startup");
    first_used_an_hour_ago(&world);
    let hidden = Session::of(&world, "s-1");
    hidden
        .write(&[json!({ "type": "user", "isSidechain": false, "message": { "role": "user", "content": "hidden" } })]);
    let text = std::fs::read_to_string(hidden.transcript()).unwrap();
    let root = world.root().canonicalize().unwrap();
    let moved = text.replace(root.to_str().unwrap(), root.join("secret").to_str().unwrap());
    std::fs::write(hidden.transcript(), moved).unwrap();
    hidden.falls_silent();
    let seen = Session::of(&world, "s-2");
    seen.ask("seen by everybody");
    seen.falls_silent();
    Session::dying(&world, "s-3").start("startup");
    wait_until("the sweep", || runs(&world).iter().any(|(status, _)| status == "completed"));
    settled(&world);
    let files = world.tree();
    let texts: String = files.values().map(String::as_str).collect();
    assert!(texts.contains("seen by everybody") && !texts.contains("hidden"), "{files:?}");
}

/// Runs a command that is carried out although the user's own config cannot be read.
fn warned(world: &World, arguments: &[&str]) {
    let output = world.run(arguments).expect(0);
    assert_eq!(output.stderr.matches("no value of your own config counts").count(), 1, "{}", output.stderr);
}

#[test]
fn a_broken_one_loses_no_word_that_somebody_types() {
    let world = World::with_git();
    for (own, place) in
        [("[hook]\nignor = []\n", " in line 2"), ("[hook\n", " in line 1"), ("[transcripts]\nkeep = 1\n", " in line 2")]
    {
        write_own(&world, own);
        let note = format!("typed beside {own:?}");
        let output = world.run(&["run", "--note", &note]).expect(0);
        let warning =
            format!("config.toml` has a problem{place}; until it is right, no value of your own config counts");
        assert_eq!(output.stderr.matches(&warning).count(), 1, "{}", output.stderr);
        assert!(world.everything().values().any(|text| text.contains(&note)), "the note is lost");
    }
    warned(&world, &["memory", "add", "decision", "rows stay sorted"]);
    warned(&world, &["history", "create", "--goal", "sort the rows", "--next", "sort them"]);
    warned(&world, &["run", "--detach", "--note", "said in the background"]);
    settled(&world);
    let texts: String = world.tree().into_values().collect();
    for words in ["rows stay sorted", "sort the rows", "said in the background"] {
        assert!(texts.contains(words), "{words}");
    }
    assert_eq!(world.run(&["check"]).stderr_ignored("the same").code, 2);
}

/// The file may say what hooks keep out of, so sessions wait until it can be read.
#[test]
fn a_session_that_ends_beside_a_broken_one_is_swept_later() {
    let world = World::with_git();
    Session::dying(&world, "s-0").start("startup");
    first_used_an_hour_ago(&world);
    write_own(&world, "[hook\n");
    let session = Session::dying(&world, "s-1");
    session.ask("fix the parser of dates");
    for (event, more) in
        [("SessionStart", json!({ "source": "startup" })), ("SessionEnd", json!({ "reason": "other" }))]
    {
        session.call(event, more).stderr_ignored("the config cannot be read");
    }
    session.falls_silent();
    world.run(&["run", "--note", "typed"]).expect(0).stderr_ignored("the same");
    let is_known = || world.tree().values().any(|text| text.contains("parser of dates"));
    assert!(!is_known(), "nobody knows whether its directory is ignored");
    write_own(&world, "[hook]\nignore = []\n");
    Session::dying(&world, "s-2").start("startup");
    wait_until("the sweep", is_known);
    settled(&world);
}

#[test]
fn a_broken_one_stops_no_agent_and_is_reported() {
    let world = World::with_git();
    write_own(&world, "[hook]\nignor = []\n");
    let output = world.run(&["config"]).expect(65);
    assert!(output.stderr.contains("unknown key `ignor` in `[hook]`"), "{}", output.stderr);
    assert!(output.stderr.contains("did you mean `ignore`?"), "{}", output.stderr);
    let doctor = world.run(&["doctor"]).expect(5);
    assert!(doctor.stdout.contains("config.toml` has 1 problem, shown above"), "{}", doctor.stdout);
    assert!(doctor.stderr.contains("unknown key `ignor` in `[hook]`"), "{}", doctor.stderr);
    let session = Session::of(&world, "s-1");
    session.ask("fix the parser");
    session.falls_silent();
    let told = session.call("SessionStart", json!({ "source": "startup" }));
    assert!(told.stdout.contains("config.toml` has a problem in line 2"), "{}", told.stdout);
    assert!(told.stderr.contains("config.toml` has a problem in line 2"), "{}", told.stderr);
    session.call("SessionEnd", json!({ "reason": "other" })).stderr_ignored("the same");
    assert_eq!(own_log(&world).matches("config.toml` has a problem in line 2").count(), 2);
    assert!(!world.exists(".agent-handover"), "nothing is known, so nothing is written");
    // Nothing of the session is lost.
    write_own(&world, "[hook]\nignore = []\n");
    session.end();
    assert_eq!(world.run(&["check"]).code, 2);
}

#[test]
fn a_file_that_is_none_is_refused_at_once() {
    let world = World::with_git();
    write_own(&world, "");
    let file = world.home().join(".config/agent-handover/config.toml");
    std::fs::remove_file(&file).unwrap();
    make_fifo(&file);
    assert!(world.run(&["config"]).expect(65).stderr.contains("is not a file"));
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(world.run(&["config"]).expect(65).stderr.contains("is not a file"));
    std::fs::remove_dir(&file).unwrap();
    std::fs::write(&file, "#".repeat((1 << 20) + 1)).unwrap();
    assert!(world.run(&["config"]).expect(65).stderr.contains("larger than 1 MiB"));
    std::fs::write(&file, b"\xff").unwrap();
    assert!(world.run(&["config"]).expect(65).stderr.contains("is not UTF-8"));
    std::fs::write(&file, "").unwrap();
    if std::os::unix::fs::chown(&file, Some(12345), None).is_err() {
        return skip("only root can make a file of another user");
    }
    let output = world.run(&["config"]).expect(65);
    assert!(output.stderr.contains("belongs to user 12345, not to you"), "{}", output.stderr);
}

fn make_fifo(path: &std::path::Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}
