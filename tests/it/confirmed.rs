//! A delivery counts only once the remote has it, durably, and says so: pushes that end elsewhere, branches that move meanwhile,
//! disks that do not sync.

use super::publish::Site;
use super::shared_branch::Team;
use super::support::*;

const STEPS: &str = "[[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"publish\"\nkind = \"publish\"\n";
const BRANCH: &str = "agent-handover";

fn site(branch: &str, timeout: &str) -> Site {
    Site::new(&format!("[backend]\ntype = \"git\"\nbranch = \"{branch}\"\ntimeout = \"{timeout}\"\n{STEPS}"))
}

/// Makes pushes go to another repository than the one that is read.
fn push_elsewhere(site: &Site) {
    let elsewhere = site.world.home().join("elsewhere.git");
    site.world.git(&["init", "--quiet", "--bare", elsewhere.to_str().unwrap()]);
    site.world.git(&["config", "remote.origin.pushurl", elsewhere.to_str().unwrap()]);
}

fn assert_delivered_once(site: &Site, branch: &str, notes: &[&str]) {
    let there = site.remote_file(branch, NOTES);
    for note in notes {
        assert_eq!(there.matches(&format!("\n{note}\n")).count(), 1, "{note}: {there}");
    }
    site.world.run(&["check"]).expect(2);
}

#[test]
fn a_push_that_ends_in_another_repository_is_not_a_delivery() {
    for (branch, timeout, sentence) in [
        (BRANCH, "2s", "origin does not have what was pushed to it"),
        ("main", "20s", "origin does not have what was pushed"),
    ] {
        let site = site(branch, timeout);
        site.world.run(&["run", "--note", "one"]).expect(0);
        push_elsewhere(&site);
        let output = site.world.run(&["run", "--note", "two"]).expect(1);
        assert!(output.stderr.contains(sentence), "{branch}: {}", output.stderr);
        assert!(!site.remote_file(branch, NOTES).contains("two"));
        site.world.run(&["check"]).expect(1);
        site.world.git(&["config", "--unset", "remote.origin.pushurl"]);
        site.world.run(&["push"]).expect(0);
        assert_delivered_once(&site, branch, &["one", "two"]);
    }
}

#[test]
fn a_branch_that_was_moved_back_gets_what_it_lost() {
    let site = site(BRANCH, "20s");
    for note in ["one", "two"] {
        site.world.run(&["run", "--note", note]).expect(0);
    }
    site.remote_git(&["update-ref", "refs/heads/agent-handover", "agent-handover~1"]);
    let output = site.world.run(&["run", "--note", "three"]).expect(0);
    assert!(
        output.stderr.contains("on origin had been moved back; what was missing was pushed again"),
        "{}",
        output.stderr
    );
    assert_delivered_once(&site, BRANCH, &["one", "two", "three"]);
}

/// git asks another address than it pushes to, so its answer to the push is not enough.
#[test]
fn a_commit_on_which_another_machine_has_built_already_has_arrived() {
    let site = site(BRANCH, "20s");
    site.world.run(&["run", "--note", "one"]).expect(0);
    let remote = site.world.home().join("remote.git");
    site.world.git(&["config", "remote.origin.pushurl", &format!("file://{}", remote.display())]);
    let hook = remote.join("hooks/post-receive");
    let script = "#!/bin/sh\nc=$(git -c user.name=x -c user.email=x commit-tree agent-handover^{tree} -p agent-handover -m faster)\n\
        git update-ref refs/heads/agent-handover $c\n";
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    site.world.run(&["run", "--note", "two"]).expect(0);
    assert_eq!(site.remote_git(&["log", "-1", "--format=%s", BRANCH]).trim(), "faster");
    assert_delivered_once(&site, BRANCH, &["one", "two"]);
}

#[test]
fn a_delivery_that_the_disk_does_not_sync_is_still_due() {
    if !is_installed("strace") {
        return skip("strace is not installed");
    }
    // Before the branch moves here, and before the delivery counts.
    for when in ["1+", "2+"] {
        let site = site(BRANCH, "20s");
        site.world.run(&["run", "--note", "one"]).expect(0);
        let delivered = || {
            let ledger: serde_json::Value =
                serde_json::from_str(&site.world.read(".agent-handover/publish.json")).unwrap();
            ledger["delivered"].clone()
        };
        let before = delivered();
        let mut strace = site.world.clean("strace");
        let inject = format!("inject=syncfs:error=EIO:when={when}");
        strace.args(["-qq", "-o", "/dev/null", "-e", "trace=syncfs", "-e", &inject, BINARY]);
        strace.args(["run", "--note", "two"]).env("AGENT_HANDOVER_TEST_IDS", seed("unsynced"));
        let output = finish(&mut strace);
        assert_ne!(output.code, 0, "{when}: {}", output.seen());
        assert!(output.stderr.contains("cannot sync the file system of"), "{when}: {}", output.stderr);
        site.world.run(&["check"]).expect(1);
        assert_eq!(delivered(), before, "{when}: a power cut may undo it");
        site.world.run(&["run", "--resume"]).expect(0);
        assert_delivered_once(&site, BRANCH, &["one", "two"]);
    }
}

/// Nobody knows where the repository of such a worktree is, so every file system is synced.
#[test]
fn a_remote_that_is_a_linked_worktree_gets_the_delivery() {
    let site = site(BRANCH, "20s");
    let worktree = site.world.home().join("linked");
    site.remote_git(&["worktree", "add", "--quiet", "--detach", worktree.to_str().unwrap(), "main"]);
    site.world.git(&["remote", "set-url", "origin", worktree.to_str().unwrap()]);
    let Some(trace) = is_installed("strace").then(|| site.world.home().join("trace")) else {
        return skip("strace is not installed");
    };
    let mut strace = site.world.clean("strace");
    strace.args(["-qq", "-e", "trace=sync", "-o"]).arg(&trace).arg(BINARY);
    strace.args(["run", "--note", "one"]).env("AGENT_HANDOVER_TEST_IDS", seed("linked"));
    drop(finish(&mut strace).expect(0));
    assert!(std::fs::read_to_string(trace).unwrap().contains("sync()"));
    assert_delivered_once(&site, BRANCH, &["one"]);
}

#[test]
fn a_pull_after_the_ledger_was_lost_keeps_what_was_committed_here_only() {
    let site = site(BRANCH, "20s");
    site.world.run(&["run", "--note", "one"]).expect(0);
    site.world.run(&["run", "--no-push", "--note", "two"]).expect(0);
    std::fs::remove_file(site.world.path(".agent-handover/publish.json")).unwrap();
    std::fs::remove_dir_all(site.world.path("memory")).unwrap();
    site.world.run(&["pull"]).expect(0).stderr_ignored("whose memory it is");
    assert_eq!(site.world.read(NOTES).matches("\ntwo\n").count(), 1);
    site.world.run(&["push"]).expect(0);
    assert_delivered_once(&site, BRANCH, &["one", "two"]);
}

#[test]
fn other_published_files_reach_other_machines_and_come_back_changed() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    for machine in [a, b] {
        let paths = "paths = [\"memory\", \".agent-history\", \"plans\"]\n";
        let config = machine.read("handover.toml").replace("type = \"git\"\n", &format!("type = \"git\"\n{paths}"));
        machine.write("handover.toml", config);
    }
    a.write("plans/next.md", "first\n");
    a.run(&["run", "--note", "of a"]).expect(0);
    b.run(&["pull"]).expect(0).stderr_ignored("whose memory it is");
    assert_eq!(b.read("plans/next.md"), "first\n");
    b.write("plans/next.md", "second\n");
    b.run(&["run", "--note", "of b"]).expect(0).stderr_ignored("whose memory it is");
    a.run(&["pull"]).expect(0).stderr_ignored("whose memory it is");
    assert_eq!(a.read("plans/next.md"), "second\n");
}
