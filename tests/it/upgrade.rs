//! The first command of this version in a home and a project that 0.1.0 left behind. `tests/data/upgrade/make.sh` made them
//! with the binary of 0.1.0.

use agent_handover::testing::base::text::digest;

use super::support::*;

/// Where the fixture was made.
const MADE_AT: &str = "/tmp/ah-0.1.0";

/// The home and the project of 0.1.0, moved to the place of this world.
fn world_of_0_1_0() -> World {
    let world = World::new();
    let archive = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/upgrade/world.tar.gz");
    let place = world.root().parent().unwrap().canonicalize().unwrap();
    let mut unpack = world.clean("tar");
    unpack.args(["--extract", "--gzip", "--no-same-owner", "--directory"]).arg(&place).arg("--file").arg(archive);
    assert!(unpack.status().unwrap().success());
    for file in [".claude/settings.json", ".local/state/agent-handover/installs.json"] {
        let file = world.home().join(file);
        let text = std::fs::read_to_string(&file).unwrap().replace(MADE_AT, place.to_str().unwrap());
        std::fs::write(file, text).unwrap();
    }
    // A project is listed under the digest of its place.
    let registry = world.home().join(".local/share/agent-handover/projects");
    let [listed] = &std::fs::read_dir(&registry).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()[..]
    else {
        panic!("one project");
    };
    let text = std::fs::read_to_string(listed).unwrap().replace(MADE_AT, place.to_str().unwrap());
    std::fs::remove_file(listed).unwrap();
    std::fs::write(registry.join(digest(text.as_bytes(), 16)), text).unwrap();
    world
}

/// Ends the reasons for which the handovers of 0.1.0 did not complete.
fn clear_the_way(world: &World) {
    std::fs::remove_file(world.path("PAUSE")).unwrap();
    std::fs::rename(world.path("../away.git"), world.path("../remote.git")).unwrap();
}

fn databases(world: &World) -> Vec<String> {
    let names = std::fs::read_dir(world.path(".agent-handover")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".db"));
    names
}

const SESSIONS: [&str; 4] = [
    "the session that completed",
    "the session whose push is due",
    "the session whose tests failed",
    "the session that was paused",
];

#[track_caller]
fn assert_everything_arrived_once(world: &World) {
    let notes = world.read("memory/layer1/2026-11/general-2026-11-10.md");
    let published = world.git(&[
        "--git-dir",
        "../remote.git",
        "show",
        "agent-handover:memory/layer1/2026-11/general-2026-11-10.md",
    ]);
    for said in SESSIONS {
        assert_eq!(notes.matches(said).count(), 1, "{said}: {notes}");
        assert_eq!(published.matches(said).count(), 1, "{said}: {published}");
    }
    assert_eq!(std::fs::read_dir(world.path(".agent-history/sessions")).unwrap().count(), 4);
    assert_eq!(databases(world), ["checkpoint.db"]);
    assert!(world.run(&["check"]).expect(2).stdout.starts_with("completed: "));
}

#[test]
fn the_first_command_sees_what_0_1_0_left_unfinished() {
    let world = world_of_0_1_0();
    let check = world.run(&["check"]).expect(1);
    assert!(check.stdout.starts_with("interrupted: ") && check.stdout.contains("a push is due"), "{}", check.stdout);
    assert!(!check.stdout.contains("not yours"), "{}", check.stdout);
    let status = world.run(&["status", "--json"]).expect(0).json();
    assert_eq!(status["waiting"].as_array().unwrap().len(), 2, "{status}");
    assert_eq!(status["foreign"], serde_json::json!([]));
    assert_eq!(databases(&world), ["checkpoint.db"]);
}

#[test]
fn resume_finishes_the_due_the_failed_and_the_paused_handovers_of_0_1_0() {
    let world = world_of_0_1_0();
    world.run(&["run", "--resume"]).expect(3);
    clear_the_way(&world);
    world.run(&["run", "--resume"]).expect(0);
    assert_everything_arrived_once(&world);
}

#[test]
fn a_new_handover_takes_those_of_0_1_0_along() {
    let world = world_of_0_1_0();
    clear_the_way(&world);
    world.run(&["run", "--note", "the first session of this version"]).expect(0).stderr_ignored("it tells each step");
    assert_eq!(databases(&world), ["checkpoint.db"]);
    let notes = world.read("memory/layer1/2026-11/general-2026-11-10.md") + &world.read(NOTES);
    for said in SESSIONS.into_iter().chain(["the first session of this version"]) {
        assert_eq!(notes.matches(said).count(), 1, "{said}: {notes}");
    }
    assert!(world.run(&["warmup"]).expect(0).stdout.contains("keep the parser small"));
    world.run(&["check"]).expect(2);
}

#[test]
fn a_kill_during_the_first_command_loses_nothing_of_0_1_0() {
    for point in
        ["fs.marked:1", "state.known:1", "checkpoint.created:1", "checkpoint.recorded:1", "checkpoint.intended:2"]
    {
        let world = world_of_0_1_0();
        clear_the_way(&world);
        let mut command = world.command(&["run", "--resume"]);
        let _ =
            finish(command.env("AGENT_HANDOVER_TEST_FAULT", format!("{point}=kill"))).stderr_ignored("it is killed");
        let again = world.run(&["run", "--resume"]).stderr_ignored("it tells each step");
        assert_eq!(again.code, 0, "{point}: {}", again.stdout);
        assert_everything_arrived_once(&world);
    }
}

#[test]
fn a_copy_of_a_0_1_0_project_that_the_user_never_worked_in_is_foreign() {
    let world = world_of_0_1_0();
    std::fs::remove_dir_all(world.home().join(".local/share")).unwrap();
    let check = world.run(&["check"]).expect(0);
    assert!(
        check.stdout.contains("`.agent-handover/checkpoint.db` is not yours and has 3 unfinished"),
        "{}",
        check.stdout
    );
}

#[test]
fn hooks_that_0_1_0_installed_are_replaced_not_doubled() {
    let world = world_of_0_1_0();
    clear_the_way(&world);
    world.run(&["install", "claude-code"]).expect(0).stderr_ignored("it may say that the program changed");
    let settings = std::fs::read_to_string(world.home().join(".claude/settings.json")).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
    for event in ["SessionStart", "Stop", "PreCompact", "SessionEnd"] {
        assert_eq!(settings["hooks"][event].as_array().unwrap().len(), 1, "{event}: {settings}");
    }
}
