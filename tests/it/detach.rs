//! A detached run: it is recorded, inherits the lock, and continues without the process that asked for it.

use std::process::Stdio;

use super::support::*;

const SLOW: &str = "[[step]]\nname = \"slow\"\nkind = \"command\"\nshell = \"echo $$ > pid; while ! test -e go; do sleep 0.01; done\"\n\
    [[step]]\nname = \"note\"\nkind = \"note\"\n";

fn pid_of(output: &Output) -> String {
    let text = output.stdout.split("(pid ").nth(1).unwrap_or_else(|| panic!("no pid: {}", output.seen()));
    text.trim_end().trim_end_matches(')').to_owned()
}

#[test]
fn detach_returns_at_once_and_continues_in_its_own_session() {
    let world = World::with_config(SLOW);
    let output = world.run(&["run", "--detach", "--note", "said"]).expect(0);
    assert!(output.stdout.contains(" is recorded and continues in the background (pid "), "{}", output.stdout);
    let pid = pid_of(&output);
    world.wait_for("pid");
    // Only Linux tells the session of another process.
    if cfg!(target_os = "linux") {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let session = stat.rsplit(')').next().unwrap().split_whitespace().nth(3).unwrap().to_owned();
        assert_eq!(session, pid, "it leads a session of its own");
    }
    let check = world.run(&["check"]).expect(4);
    assert!(check.stdout.contains(&format!("busy: pid {pid} on ")), "{}", check.stdout);
    world.write("go", "");
    wait_until("it to complete", || world.run(&["check"]).code == 2);
    assert!(world.read(NOTES).contains("\nsaid\n"));
    wait_until("no daemon to be left", || is_gone(&pid));
    // What it had to tell is in its log.
    let logs = world.everything().into_iter().filter(|(path, _)| path.ends_with("/detached.log"));
    let logs: Vec<String> = logs.map(|(_, text)| text).collect();
    assert!(logs.len() == 1 && logs[0].contains("handover steps executed: slow, note\n"), "{logs:?}");
}

#[test]
fn at_no_moment_does_check_see_neither_the_run_nor_its_result() {
    for n in 0..20 {
        let world = World::new();
        world.run(&["run", "--detach", "--note", &format!("number {n}")]).expect(0);
        wait_until("it to complete", || {
            let code = world.run(&["check"]).code;
            assert!(code == 4 || code == 2, "{code}");
            code == 2
        });
        assert!(world.read(NOTES).contains(&format!("number {n}")));
    }
}

#[test]
fn a_child_that_is_killed_is_noticed_and_finished() {
    let world = World::with_config(SLOW);
    let output = world.run(&["run", "--detach", "--note", "said"]).expect(0);
    world.wait_for("pid");
    signal(pid_of(&output).parse().unwrap(), "KILL");
    wait_until("the lock to be free", || world.run(&["check"]).code == 1);
    world.write("go", "");
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.read(NOTES).contains("\nsaid\n"));
}

#[test]
fn a_detached_run_waits_behind_another_run_or_a_pause() {
    let world = World::with_config(SLOW);
    world.run(&["run", "--detach", "--note", "first"]).expect(0);
    world.wait_for("pid");
    let second = world.run(&["run", "--detach", "--note", "second"]).expect(4);
    assert!(second.stderr.contains(" is recorded and waits"), "{}", second.stderr);
    world.write("go", "");
    wait_until("both to complete", || world.run(&["check"]).code == 2);
    assert!(world.read(NOTES).contains("\nsecond\n"), "the first took it");
    world.write("PAUSE", "");
    world.run(&["run", "--detach", "--note", "third"]).expect(3);
    world.run(&["unpause"]).expect(0);
    world.run(&["run", "--resume"]).expect(0);
    assert!(world.read(NOTES).contains("\nthird\n"));
}

#[test]
fn detach_redacts_secrets_without_asking() {
    let world = World::new();
    let token = ["ghp_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].concat();
    let output = world.run(&["run", "--detach", "--note", &format!("use {token} then")]).expect(0);
    assert!(
        output.stderr.contains("what looks like a secret was taken out: github-token in line 1"),
        "{}",
        output.stderr
    );
    wait_until("it to complete", || world.run(&["check"]).code == 2);
    assert!(world.read(NOTES).contains("\nuse [redacted:github-token] then\n"));
    assert!(!world.everything().values().any(|text| text.contains(&token)));
}

#[test]
fn config_checkpoint_and_directory_reach_the_child() {
    let world = World::new();
    world.write("conf/my.toml", "[handover]\nmemory_dir = \"m\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n");
    world.write("sub/x", "");
    let arguments = ["run", "--detach", "--config", "../conf/my.toml", "--checkpoint", "../cp/my.db", "--note", "n"];
    let mut command = world.command(&arguments);
    // The project is found from above: a directory of ours is there.
    world.run(&["run", "--note", "first"]).expect(0);
    finish(command.current_dir(world.path("sub"))).expect(0);
    wait_until("it to complete", || world.run(&["check", "--checkpoint", "cp/my.db"]).code == 2);
    assert!(world.read("m/layer1/2026-11/general-2026-11-15.md").contains("\nn\n"));
}

#[test]
fn a_stranger_cannot_pretend_to_hold_the_lock() {
    let world = World::new();
    let output = world.run(&["run", "--inherited", "01M7FAKZG8DE3B4WZZ6KYE37BB"]);
    assert_ne!(output.code, 0);
    assert!(!world.exists("memory"));
}

#[test]
fn a_detached_run_drains_what_is_recorded_after_its_last_look() {
    let world = World::new();
    let mut first = world.command(&["run", "--detach", "--note", "first"]);
    let first = finish(first.env("AGENT_HANDOVER_TEST_FAULT", "queue.empty:1=stop")).expect(0);
    let child: u32 = pid_of(&first).parse().unwrap();
    wait_until("the child to stop", || is_stopped(child));
    world.run(&["run", "--wait", "0", "--note", "second"]).expect(4);
    signal(child, "CONT");
    wait_until("both to be completed", || world.run(&["check"]).code == 2);
    assert!(world.read(NOTES).contains("\nsecond\n"));
}

#[test]
fn a_detached_run_holds_the_lock_from_its_record_on() {
    let world = World::new();
    world.run(&["run", "--note", "before"]).expect(0);
    let mut command = world.command(&["run", "--detach", "--note", "n"]);
    let command = command.env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.recorded:1=stop");
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_until("it to be recorded", || is_stopped(child.id()));
    world.run(&["check"]).expect(4);
    signal(child.id(), "CONT");
    output(child).expect(0);
    wait_until("it to complete", || world.run(&["check"]).code == 2);
}

#[test]
fn killing_the_group_of_the_hook_does_not_end_a_detached_run() {
    if !is_installed("setsid") {
        return skip("setsid is not installed");
    }
    for _ in 0..10 {
        let world = World::new();
        let script = format!("{BINARY} run --detach --note n; kill -9 0");
        let mut command = world.clean("setsid");
        finish(command.args(["--wait", "sh", "-c", &script])).expect(KILLED);
        wait_until("it to complete", || world.run(&["check"]).code == 2);
    }
}

#[test]
fn a_relative_config_of_the_environment_reaches_the_child() {
    let world = World::with_git();
    world.write("conf/my.toml", "[handover]\nmemory_dir = \"m\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n");
    world.write("sub/x", "");
    let mut command = world.command(&["run", "--detach", "--note", "n"]);
    finish(command.env("AGENT_HANDOVER_CONFIG", "../conf/my.toml").current_dir(world.path("sub"))).expect(0);
    wait_until("it to complete", || world.run(&["check"]).code == 2);
    assert!(world.exists("m/layer1"));
}

#[test]
fn a_restart_can_be_detached_and_keeps_its_lock() {
    let world = World::new();
    let mut killed = world.command(&["run", "--note", "old"]);
    finish(killed.env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.recorded:1=kill")).expect(137);
    let output = world.run(&["run", "--restart", "--detach", "--note", "new"]).expect(0);
    assert!(output.stderr.contains("abandoned handover "), "{}", output.stderr);
    wait_until("it to complete", || {
        let code = world.run(&["check"]).code;
        assert!(code == 4 || code == 2, "{code}");
        code == 2
    });
    assert!(world.read(NOTES).contains("\nnew\n") && !world.read(NOTES).contains("\nold\n"));
}

#[test]
fn a_child_follows_no_link_that_took_the_place_of_the_config() {
    let world = World::with_config("[[step]]\nname = \"note\"\nkind = \"note\"\n");
    world.write("../private.toml", "planted secret\n");
    let mut command = world.command(&["run", "--detach", "--note", "said"]);
    command.env("AGENT_HANDOVER_TEST_FAULT", "lock.taken:1=stop").stdout(Stdio::piped()).stderr(Stdio::piped());
    let parent = command.spawn().unwrap();
    wait_until("the parent to stop, which has read its config", || is_stopped(parent.id()));
    std::fs::remove_file(world.path("handover.toml")).unwrap();
    std::os::unix::fs::symlink("../private.toml", world.path("handover.toml")).unwrap();
    signal(parent.id(), "CONT");
    assert!(parent.wait_with_output().unwrap().status.success());
    let log = || world.everything().into_iter().find(|(path, _)| path.ends_with("/detached.log")).map(|(_, text)| text);
    wait_until("the child to report", || log().is_some_and(|text| text.contains("hint: ") || text.contains("planted")));
    let log = log().unwrap();
    assert!(log.contains("handover.toml` is a symlink") && !log.contains("planted"), "{log}");
}
