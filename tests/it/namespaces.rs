//! Containers: a PID namespace in which our process group has no number.

use serde_json::json;

use super::hook::{Session, feed, runs};
use super::support::*;

#[test]
fn a_process_group_of_another_namespace_stops_no_resume() {
    let world = World::with_config("[[step]]\nname = \"slow\"\nkind = \"command\"\nrun = [\"true\"]\n");
    let mut killed = world.command(&["run"]);
    finish(killed.env("AGENT_HANDOVER_TEST_FAULT", "process.started:1=kill")).expect(137);
    let run: String = world.database().query_row("SELECT id FROM run", [], |row| row.get(0)).unwrap();
    // Without a session of its own, what runs inside has the group 0. One orphan is in it, and one has a group.
    let mark = format!("AGENT_HANDOVER_RUN={run} AGENT_HANDOVER_STEP=slow");
    let script = format!(
        "env {mark} sleep 600 & env {mark} setsid sleep 600 & sleep 0.2; {BINARY} run --resume; echo \"exit $?\""
    );
    let output = finish(world.clean("unshare").args(["-rpf", "--mount-proc", "sh", "-c", &script]));
    if !output.stdout.contains("exit ") {
        return skip("this machine lets nobody make a namespace");
    }
    assert!(output.stdout.ends_with("exit 0\n"), "{}", output.seen());
}

/// From inside a container, the process of a session outside of it cannot be seen. That does not mean that it has ended.
#[test]
fn a_live_session_outside_of_the_container_is_not_swept() {
    let world = World::with_git();
    let outside = Session::of(&world, "aaaa-1");
    outside.start("startup");
    outside.ask("I am still at it, out here");
    let start = |id: &str| {
        let payload = Session::of(&world, id).payload("SessionStart", json!({ "source": "startup" })).to_string();
        let mut inside = world.clean("unshare");
        inside.args([
            "-rpf",
            "--mount-proc",
            "sh",
            "-c",
            &format!("{BINARY} hook --agent claude-code; echo; echo ran"),
        ]);
        feed(&mut inside, payload.as_bytes())
    };
    let output = start("bbbb-2");
    if !output.stdout.ends_with("ran\n") {
        return skip("this machine lets nobody make a namespace");
    }
    assert_eq!(runs(&world), [], "{}", output.stdout);
    // When it has been silent for a while, it counts as over.
    outside.changed_at(&(chrono::Utc::now() - chrono::Duration::minutes(11)).to_rfc3339());
    let output = start("cccc-3");
    assert!(output.stdout.contains("I am still at it, out here"), "{}", output.stdout);
}
