//! How deliveries end early: by a signal, by a kill, and by a program that does not answer.

use std::process::Stdio;

use super::publish::Site;
use super::support::*;

const CONFIG: &str = "[backend]\ntype = \"git\"\ntimeout = \"20s\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n\
    [[step]]\nname = \"publish\"\nkind = \"publish\"\n";

/// A site whose remote never finishes, and a command that talks to it. The ids of the processes that hang are in the file
/// `hanging` of the home directory.
fn hanging_site() -> Site {
    let site = Site::new(CONFIG);
    site.world.run(&["run", "--no-push", "--note", "x"]).expect(0);
    script(&site, "hang", "echo $$ >> \"$HOME/hanging\"; sleep 600");
    let ssh = site.world.home().join("hang").display().to_string();
    site.world.git(&["config", "core.sshCommand", &ssh]);
    site.world.git(&["remote", "set-url", "origin", "ssh://example.invalid/x.git"]);
    site
}

fn script(site: &Site, name: &str, text: &str) {
    let path = site.world.home().join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

fn hanging(site: &Site) -> Vec<String> {
    let text = std::fs::read_to_string(site.world.home().join("hanging")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_signal_ends_a_push_or_pull_with_its_children() {
    let site = hanging_site();
    // A push asks for the branches of machines at the same time.
    for (arguments, connections, name, number) in
        [(["push"], 2, "TERM", 15), (["push"], 2, "INT", 2), (["pull"], 1, "HUP", 1), (["pull"], 1, "TERM", 15)]
    {
        let _ = std::fs::remove_file(site.world.home().join("hanging"));
        let child = site.world.start(&arguments);
        wait_until("the connections", || hanging(&site).len() == connections);
        signal(child.id(), name);
        let output = output(child).expect(128 + number);
        assert!(output.stderr.contains(&format!("interrupted by SIG{name}")), "{}", output.stderr);
        let are_gone = hanging(&site).iter().all(|connection| is_gone(connection));
        assert!(are_gone, "{arguments:?}, {name}: a connection is still there");
    }
}

#[test]
fn a_signal_ends_a_compaction_that_waits() {
    let world = World::new();
    world.write(
        "memory/layer1/2020-01/general-2020-01-01.md",
        "<!-- agent-handover | layer1 | 2020-01-01 -->\n\
         <!-- note run=r step=note at=2020-01-01T10:00:00Z agent=codex -->\nold\n<!-- /note -->\n",
    );
    world.write(
        "handover.toml",
        "[[step]]\nname = \"hold\"\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"touch held; sleep 600\"]\n",
    );
    let holder = world.start(&["run", "--note", "x"]);
    world.wait_for("held");
    let child = world.start(&["compact"]);
    wait_until("the lock is waited for", || has_open(child.id(), "lock") || is_sleeping(child.id()));
    signal(child.id(), "TERM");
    output(child).expect(128 + 15);
    assert!(world.exists("memory/layer1/2020-01/general-2020-01-01.md"), "nothing was compacted");
    signal(holder.id(), "TERM");
    output(holder).expect(128 + 15);
}

/// Whether a process has handlers for our signals, so that it has come past its start.
fn is_sleeping(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigCgt:")?.trim(), 16).ok());
    caught.is_some_and(|mask| mask & (1 << 14) != 0)
}

#[test]
fn the_next_command_ends_what_a_killed_push_left_running() {
    let site = hanging_site();
    let mut child = site.world.start(&["push"]);
    wait_until("the connections", || hanging(&site).len() == 2);
    signal(child.id(), "KILL");
    child.wait().unwrap();
    let orphans = hanging(&site);
    assert!(!orphans.iter().any(|orphan| is_gone(orphan)), "a kill does not reach the children");
    let remote = site.world.home().join("remote.git");
    site.world.git(&["remote", "set-url", "origin", remote.to_str().unwrap()]);
    site.world.run(&["push"]).expect(0);
    assert!(orphans.iter().all(|orphan| is_gone(orphan)), "a connection is still there");
}

#[test]
fn a_signing_program_that_hangs_is_waited_for_once_and_blamed() {
    let site = Site::new(&CONFIG.replace("20s", "1s"));
    script(&site, "slow-gpg", "echo asked >> \"$HOME/asked\"; sleep 600");
    let gpg = site.world.home().join("slow-gpg").display().to_string();
    site.world.git(&["config", "gpg.program", &gpg]);
    site.world.git(&["config", "commit.gpgsign", "true"]);
    for note in ["one", "two", "three"] {
        let _ = std::fs::remove_file(site.world.home().join("asked"));
        let output = site.world.run(&["run", "--note", note]).expect(1);
        assert!(output.stderr.contains("the program that signs commits did not answer in time"), "{}", output.stderr);
        assert!(!output.stderr.contains("origin did not"), "{}", output.stderr);
        let asked = std::fs::read_to_string(site.world.home().join("asked")).unwrap();
        assert_eq!(asked.lines().count(), 1, "{note}: once for all runs that are due");
        if note == "one" {
            assert!(output.stderr.contains("`slow-gpg`"), "{}", output.stderr);
        }
    }
    site.world.git(&["config", "commit.gpgsign", "false"]);
    site.world.run(&["push"]).expect(0);
    site.world.run(&["check"]).expect(2);
}

#[test]
fn a_signing_program_that_is_missing_is_not_taken_for_a_missing_remote() {
    let site = Site::new(CONFIG);
    site.world.git(&["config", "gpg.program", "/nonexistent/gpg"]);
    site.world.git(&["config", "commit.gpgsign", "true"]);
    let output = site.world.run(&["run", "--note", "x"]).expect(1);
    assert!(output.stderr.contains("the commit could not be signed"), "{}", output.stderr);
    assert!(output.stderr.contains("/nonexistent/gpg"), "{}", output.stderr);
}

#[test]
fn a_remote_that_hangs_is_named_with_the_program_that_hangs() {
    let site = Site::new(&CONFIG.replace("20s", "1s"));
    script(&site, "slow-ssh", "sleep 600");
    let ssh = site.world.home().join("slow-ssh").display().to_string();
    site.world.git(&["config", "core.sshCommand", &ssh]);
    site.world.git(&["remote", "set-url", "origin", "ssh://example.invalid/x.git"]);
    let output = site.world.run(&["run", "--note", "x"]).expect(1);
    assert!(output.stderr.contains("origin did not answer in time"), "{}", output.stderr);
    let output = site.world.run(&["pull"]).expect(1);
    assert!(output.stderr.contains("`slow-ssh`"), "{}", output.stderr);
}

/// A site that publishes on the checked-out branch, and has delivered once, so that the next delivery is an ordinary one.
fn site_on_main(timeout: &str) -> Site {
    let config = CONFIG.replace("20s", timeout).replace("timeout", "branch = \"main\"\ntimeout");
    let site = Site::new(&config);
    site.world.run(&["run", "--note", "first"]).expect(0);
    site
}

fn with_path(site: &Site, path: &str, arguments: &[&str]) -> Output {
    finish(site.world.command(arguments).env("PATH", path))
}

#[test]
fn a_git_that_is_slow_in_everything_is_not_taken_for_a_slow_remote() {
    // They wait for git, not for each other.
    let is_not_taken = |site: Site| {
        let calls = site.world.home().join("calls");
        let path =
            site.world.stand_in_for_git(&format!("echo x >> '{}'; sleep 0.3; exec \"$GIT\" \"$@\"", calls.display()));
        let output = with_path(&site, &path, &["run", "--note", "second"]).expect(0);
        assert!(output.seen().contains("is on origin/"), "{}", output.seen());
        let calls = std::fs::read_to_string(calls).unwrap().lines().count();
        assert!(calls > 7, "{calls} of them took longer than the timeout, and each waited for git alone");
    };
    // The name of a thread makes the ids of its world.
    std::thread::scope(|scope| {
        let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
        named("slow git, on main").spawn_scoped(scope, || is_not_taken(site_on_main("2s"))).unwrap();
        let own_branch = || is_not_taken(Site::new(&CONFIG.replace("20s", "2s")));
        named("slow git, own branch").spawn_scoped(scope, own_branch).unwrap();
    });
}

#[test]
fn a_git_that_hangs_in_this_repository_is_named_and_waited_for_once() {
    let site = site_on_main("1s");
    let there = site.world.home().join("remote.git").display().to_string();
    site.world.git(&["remote", "set-url", "origin", "/nonexistent"]);
    site.world.run(&["run", "--note", "second"]).expect(1).stderr_ignored("there is no remote");
    site.world.git(&["remote", "set-url", "origin", &there]);
    let hung = site.world.home().join("hung");
    let script =
        "for word in \"$@\"; do case $word in add) echo x >> 'HUNG'; sleep 600;; esac; done; exec \"$GIT\" \"$@\"";
    let path = site.world.stand_in_for_git(&script.replace("HUNG", &hung.display().to_string()));
    let output = with_path(&site, &path, &["run", "--note", "third"]).expect(1);
    let culprit = "git did not finish its work in this repository in time: `git add` did not answer";
    assert!(output.stderr.contains(culprit), "{}", output.stderr);
    assert!(!output.stderr.contains("origin did not"), "{}", output.stderr);
    assert_eq!(std::fs::read_to_string(&hung).unwrap().lines().count(), 1, "two runs are due, and git hangs for both");
    site.world.run(&["run", "--resume"]).expect(0);
    site.world.run(&["check"]).expect(2);
}

#[test]
fn a_remote_that_hangs_is_blamed_although_git_is_slow_too() {
    let site = Site::new(&CONFIG.replace("20s", "1s"));
    site.world.run(&["run", "--no-push", "--note", "x"]).expect(0);
    script(&site, "slow-ssh", "sleep 600");
    let ssh = site.world.home().join("slow-ssh").display().to_string();
    site.world.git(&["config", "core.sshCommand", &ssh]);
    site.world.git(&["remote", "set-url", "origin", "ssh://example.invalid/x.git"]);
    let path = site.world.stand_in_for_git("sleep 0.2; exec \"$GIT\" \"$@\"");
    let output = with_path(&site, &path, &["push"]).expect(1);
    assert!(output.stderr.contains("origin did not answer in time"), "{}", output.stderr);
    assert!(output.stderr.contains("`slow-ssh`"), "{}", output.stderr);
}

/// A script that notes the command of each git in the file `calls` of the home directory.
const NOTING: &str = "for word in \"$@\"; do case $word in for-each-ref|reset|push) echo $word >> \"$HOME/calls\";; esac; \
    done; exec \"$GIT\" \"$@\"";

fn calls(site: &Site) -> Vec<String> {
    let text = std::fs::read_to_string(site.world.home().join("calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_lock_behind_the_remote_is_named_there_and_waited_for() {
    let site = site_on_main("2s");
    let lock = site.world.home().join("remote.git/refs/heads/main.lock");
    std::fs::write(&lock, "").unwrap();
    let failed = site.world.run(&["run", "--note", "second"]).expect(1);
    let culprit = "another git process holds a lock in the repository behind origin";
    assert!(failed.stderr.contains(culprit), "{}", failed.stderr);
    let site = site_on_main("60s");
    let lock = site.world.home().join("remote.git/refs/heads/main.lock");
    std::fs::write(&lock, "").unwrap();
    let path = site.world.stand_in_for_git(NOTING);
    let mut command = site.world.command(&["run", "--note", "second"]);
    let child = command.env("PATH", path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let is_push = |call: &&String| *call == "push";
    wait_until("another round", || calls(&site).iter().filter(is_push).count() > 2);
    std::fs::remove_file(&lock).unwrap();
    output(child).expect(0);
}

#[test]
fn a_lock_in_this_repository_is_waited_for_once_although_two_runs_are_due() {
    let site = site_on_main("1s");
    std::fs::write(site.world.path(".git/index.lock"), "").unwrap();
    site.world.run(&["run", "--note", "second"]).expect(1).stderr_ignored("the lock is reported");
    let path = site.world.stand_in_for_git(NOTING);
    let output = with_path(&site, &path, &["run", "--note", "third"]).expect(1);
    assert!(output.stderr.contains("another git process holds a lock in this repository"), "{}", output.stderr);
    let calls = calls(&site);
    let deliveries: Vec<&[String]> = calls.split(|call| call == "for-each-ref").collect();
    let tries = |calls: &[String]| calls.iter().filter(|call| *call == "reset").count();
    assert_eq!(tries(deliveries.last().unwrap()), 1, "{calls:?}");
    std::fs::remove_file(site.world.path(".git/index.lock")).unwrap();
    site.world.run(&["run", "--resume"]).expect(0);
}

#[test]
fn a_lock_on_packed_refs_does_not_make_a_delivery_fail_that_arrived() {
    let site = site_on_main("20s");
    site.world.write(".git/MERGE_HEAD", site.world.git(&["rev-parse", "HEAD"]));
    site.world.run(&["run", "--note", "second"]).expect(1).stderr_ignored("a merge is in progress");
    std::fs::remove_file(site.world.path(".git/MERGE_HEAD")).unwrap();
    let kept = || site.world.git(&["for-each-ref", "refs/agent-handover/kept"]);
    assert_ne!(kept(), "");
    std::fs::write(site.world.path(".git/packed-refs.lock"), "").unwrap();
    site.world.run(&["push"]).expect(0);
    std::fs::remove_file(site.world.path(".git/packed-refs.lock")).unwrap();
    site.world.run(&["run", "--note", "third"]).expect(0);
    assert_eq!(kept(), "", "what was kept is forgotten");
}

#[test]
fn a_full_disk_behind_the_remote_is_named_there() {
    let site = Site::new(CONFIG);
    script(&site, "remote.git/hooks/pre-receive", "echo 'fatal: cannot write: No space left on device' >&2; exit 1");
    let output = site.world.run(&["run", "--note", "x"]).expect(1);
    assert!(output.stderr.contains("there is no space left in the repository behind origin"), "{}", output.stderr);
    std::fs::remove_file(site.world.home().join("remote.git/hooks/pre-receive")).unwrap();
    site.world.run(&["run", "--resume"]).expect(0);
}
