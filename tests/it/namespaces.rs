//! Containers: a PID namespace in which our process group has no number.

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
        eprintln!("skipped: this machine lets nobody make a namespace: {}", output.stderr);
        return;
    }
    assert!(output.stdout.ends_with("exit 0\n"), "{}", output.seen());
}
