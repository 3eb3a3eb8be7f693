//! PAUSE: a file at any of four paths stops everything, keeps what was recorded, and can be removed again.

use std::path::PathBuf;

use snapbox::{assert_data_eq, str};

use super::support::*;

/// A way to press the brake.
type Press = fn(&World) -> PathBuf;

fn file(path: PathBuf) -> PathBuf {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "deploying\n").unwrap();
    path
}

const PRESSES: &[(&str, Press)] = &[
    ("the project's", |world| file(world.path("PAUSE"))),
    ("the configured", |world| file(world.path("ops/stop"))),
    ("the home's", |world| file(world.home().join(".agent-handover/PAUSE"))),
    ("the Python tool's", |world| file(world.home().join(".agent_handover/PAUSE"))),
    ("a directory", |world| {
        std::fs::create_dir(world.path("PAUSE")).unwrap();
        world.path("PAUSE")
    }),
    ("a dangling symlink", |world| {
        std::os::unix::fs::symlink("nowhere", world.path("PAUSE")).unwrap();
        world.path("PAUSE")
    }),
];

const CONFIG: &str = "[handover]\npause_file = \"ops/stop\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n";

#[test]
fn while_paused_a_run_is_recorded_and_nothing_else_happens() {
    for (name, press) in PRESSES {
        let world = World::with_config(CONFIG);
        world.write("sub/x", "");
        let path = press(&world);
        let before = world.tree();
        // Also from below, where a relative path could miss it.
        let output = finish(world.command(&["run", "--note", "kept"]).current_dir(world.path("sub"))).expect(3);
        assert!(output.stderr.contains(&format!("remove {} to resume", path.display())), "{name}: {}", output.stderr);
        assert_eq!(output.stderr.lines().count(), 1, "{name}: {}", output.stderr);
        assert_eq!(output.stdout, "handover steps executed: (none)\n");
        assert_eq!(world.tree(), before, "{name}");
        let check = world.run(&["check"]).expect(1);
        assert!(check.stdout.contains("; automation paused: remove "), "{name}: {}", check.stdout);
        world.run(&["run", "--resume"]).expect(3);
        if path.is_dir() {
            std::fs::remove_dir(path).unwrap()
        } else {
            std::fs::remove_file(path).unwrap()
        }
        world.run(&["run", "--resume"]).expect(0);
        assert!(world.read(NOTES).contains("\nkept\n"), "{name}");
    }
}

#[test]
fn the_reason_is_shown() {
    let world = World::new();
    assert_data_eq!(
        world.run(&["pause", "--reason", "deploying\nuntil noon"]).expect(0).seen(),
        str![[r#"
paused: `agent-handover unpause` or removing $WORLD/project/PAUSE ends the pause
---
[exit 0]

"#]]
    );
    assert_data_eq!(
        world.run(&["run", "--note", "n"]).expect(3).seen(),
        str![[r#"
handover steps executed: (none)
---
error: automation paused: remove $WORLD/project/PAUSE to resume (reason: deploying until noon); QM9P9CKW is recorded and waits
[exit 3]

"#]]
    );
    assert_data_eq!(
        world.run(&["pause"]).expect(0).stdout,
        str![[r#"
already paused by $WORLD/project/PAUSE

"#]]
    );
    assert_data_eq!(
        world.run(&["unpause"]).expect(0).stdout,
        str![[r#"
removed $WORLD/project/PAUSE
waiting: 1 recorded command; `agent-handover run --resume` carries it out

"#]]
    );
    assert_data_eq!(
        world.run(&["unpause"]).expect(0).stdout,
        str![[r#"
not paused
waiting: 1 recorded command; `agent-handover run --resume` carries it out

"#]]
    );
    world.run(&["run", "--resume"]).expect(0);
}

#[test]
fn unpause_removes_the_projects_pauses_and_leaves_the_users() {
    for (name, press) in PRESSES {
        let world = World::with_config(CONFIG);
        let path = press(&world);
        let code = if path.starts_with(world.home()) { 3 } else { 0 };
        let output = world.run(&["unpause"]).expect(code);
        assert_eq!(path.symlink_metadata().is_ok(), code == 3, "{name}: {}", output.seen());
    }
}

#[test]
fn a_pause_ends_a_running_command_with_its_family_and_it_stays_pending() {
    let world = World::with_config(
        "[[step]]\nname = \"slow\"\nkind = \"command\"\n\
         shell = \"test -e quick || { sleep 1000 & echo $! > pid; wait; }\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n",
    );
    let child = world.start(&["run", "--note", "n"]);
    world.wait_for("pid");
    wait_until("the pid to be written", || world.read("pid").ends_with('\n'));
    let grandchild = world.read("pid").trim().to_owned();
    world.write("PAUSE", "now");
    let output = output(child).expect(3);
    assert!(output.stderr.contains("(reason: now)"), "{}", output.stderr);
    assert!(is_gone(&grandchild));
    assert!(world.run(&["status"]).stdout.contains("pending: slow, note"));
    assert!(!world.exists("memory"));
    std::fs::remove_file(world.path("PAUSE")).unwrap();
    world.write("quick", "");
    assert_eq!(world.run(&["run", "--resume"]).expect(0).stdout, "handover steps executed: slow, note\n");
}

#[test]
fn a_pause_between_two_steps_stops_there() {
    let world = World::with_config(
        "[[step]]\nname = \"brake\"\nkind = \"command\"\nrun = [\"touch\", \"PAUSE\"]\n[[step]]\nname = \"note\"\nkind = \"note\"\n",
    );
    assert_eq!(world.run(&["run", "--note", "n"]).expect(3).stdout, "handover steps executed: brake\n");
    assert!(!world.exists("memory"));
    world.run(&["unpause"]).expect(0);
    assert_eq!(world.run(&["run", "--resume"]).expect(0).stdout, "handover steps executed: note\n");
}

#[test]
fn a_pause_that_comes_while_waiting_for_the_lock_is_honoured() {
    let world = World::with_config("[[step]]\nname = \"note\"\nkind = \"note\"\n");
    let mut first = world.command(&["run", "--note", "first"]);
    let first = first
        .env("AGENT_HANDOVER_TEST_FAULT", "lock.taken:1=stop")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the first to hold the lock", || is_stopped(first.id()));
    let second = world.start(&["run", "--note", "second"]);
    wait_until("the second to be recorded", || world.run(&["status"]).stdout.contains("waiting: "));
    world.write("PAUSE", "");
    output(second).expect(3);
    signal(first.id(), "CONT");
    output(first).expect(3);
    assert!(!world.exists("memory"));
    world.run(&["unpause"]).expect(0);
    world.run(&["run", "--resume"]).expect(0);
    let notes = world.read(NOTES);
    assert!(notes.contains("\nfirst\n") && notes.contains("\nsecond\n"));
}

#[test]
fn every_command_that_writes_honours_the_pause() {
    let world = World::new();
    world.write("PAUSE", "");
    world.run(&["init"]).expect(3);
    assert!(!world.exists("handover.toml"));
    world.run(&["run", "--note", "n"]).expect(3);
    world.run(&["run", "--abandon"]).expect(3);
    world.run(&["allow"]).expect(3);
    // Reading is not stopped.
    world.run(&["status"]).expect(0);
    world.run(&["check"]).expect(1);
}
