//! Machines that lose the race for the shared branch push beside it: what they said is on the remote at once, and everybody
//! gets it.

use std::time::{Duration, Instant};

use super::shared_branch::{BRANCH, Team, program};
use super::support::*;

/// A git that notes each push, and moves the branch on the remote before each push to it, so that another machine is always
/// faster. `$MOST` says how often.
fn faster_machine(team: &Team, most: usize) -> String {
    format!(
        "R={}; case \" $* \" in *' push '*:refs/heads/{BRANCH}' '*) echo shared >> \"$HOME/pushes\"; \
         if [ $(grep -c shared \"$HOME/pushes\") -le {most} ]; then (unset GIT_INDEX_FILE GIT_DIR GIT_WORK_TREE; cd / && \
         c=$(GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x \
         $GIT --git-dir=$R commit-tree {BRANCH}^{{tree}} -p {BRANCH} -m faster) && \
         $GIT --git-dir=$R update-ref refs/heads/{BRANCH} $c); fi;; \
         *' push '*-machines/*) echo beside >> \"$HOME/pushes\";; esac; exec \"$GIT\" \"$@\"",
        team.path().display()
    )
}

fn run_losing(machine: &World, script: &str, note: &str) -> Output {
    let path = machine.stand_in_for_git(script);
    let mut command = machine.command(&["run", "--note", note]);
    finish(command.env("PATH", path))
}

fn pushes(machine: &World) -> Vec<String> {
    let text = std::fs::read_to_string(machine.home().join("pushes")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn beside(team: &Team) -> Vec<String> {
    let names = team.git(&["for-each-ref", "--format=%(refname)", &format!("refs/heads/{BRANCH}-machines/")]);
    names.lines().map(str::to_owned).collect()
}

fn count(text: &str, note: &str) -> usize {
    text.matches(&format!("\n{note}\n<!-- /note -->")).count()
}

fn notes(machine: &World) -> String {
    let files = machine.tree().into_iter().filter(|(path, _)| path.starts_with("memory/layer1/"));
    files.map(|(_, text)| text).collect()
}

fn notes_on_branch(team: &Team) -> String {
    let files = team.git(&["ls-tree", "-r", "--name-only", BRANCH, "memory/layer1/"]);
    files.lines().map(|path| team.file(path)).collect()
}

#[test]
fn a_machine_that_always_loses_pushes_beside_the_branch_and_everybody_gets_it() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    a.run(&["run", "--note", "first"]).expect(0);
    b.run(&["pull"]).expect(0);
    run_losing(b, &faster_machine(&team, usize::MAX >> 1), "of the slow one").expect(0);
    assert_eq!(pushes(b), ["shared", "shared", "shared", "beside"]);
    assert_eq!(beside(&team).len(), 1);
    assert_eq!(count(&notes_on_branch(&team), "of the slow one"), 0);
    // It is delivered, so nothing is due.
    assert!(!b.run(&["status"]).expect(0).stdout.contains("due"));
    a.run(&["pull"]).expect(0);
    a.run(&["pull"]).expect(0);
    assert_eq!(count(&notes(a), "of the slow one"), 1);
    // A machine that has never heard of it publishes, and loses once. So it fetches, merges, and removes.
    a.run(&["run", "--note", "second"]).expect(0);
    let output = run_losing(b, &faster_machine(&team, pushes(b).len()), "third");
    output.expect(0);
    assert_eq!(beside(&team), [""; 0]);
    let all = notes_on_branch(&team);
    for note in ["first", "of the slow one", "second", "third"] {
        assert_eq!(count(&all, note), 1, "{note}: {all}");
    }
    // A second time the same name is used again.
    run_losing(b, &faster_machine(&team, usize::MAX >> 1), "slow again").expect(0);
    a.run(&["run", "--note", "fourth"]).expect(0);
    assert_eq!(beside(&team), [""; 0]);
    assert_eq!(count(&notes_on_branch(&team), "slow again"), 1);
    assert_eq!(count(&notes(a), "slow again"), 1);
    for machine in [a, b] {
        machine.run(&["pull"]).expect(0);
        assert_eq!(machine.strays(), [""; 0]);
        machine.run(&["history", "validate", "--sessions"]).expect(0);
    }
}

#[test]
fn a_remote_that_refuses_other_branches_gets_further_attempts() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    a.run(&["run", "--note", "first"]).expect(0);
    let hook = team.path().join("hooks/update");
    std::fs::write(&hook, "#!/bin/sh\ncase $1 in *-machines/*) echo no >&2; exit 1;; esac\n").unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    run_losing(b, &faster_machine(&team, 4), "of the slow one").expect(0);
    assert_eq!(pushes(b), ["shared", "shared", "shared", "beside", "shared", "shared"]);
    assert_eq!(count(&notes_on_branch(&team), "of the slow one"), 1);
    assert_eq!(beside(&team), [""; 0]);
}

#[test]
fn a_branch_beside_the_shared_one_that_holds_code_is_not_merged_and_not_removed() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    a.run(&["run", "--note", "first"]).expect(0);
    b.write("build.sh", "make\n");
    b.git(&["add", "--all"]);
    b.git(&["-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "--quiet", "-m", "code"]);
    b.git(&["push", "--quiet", "origin", &format!("HEAD:refs/heads/{BRANCH}-machines/0123456789abcdef")]);
    b.run(&["run", "--note", "second"]).expect(0);
    a.run(&["pull"]).expect(0);
    assert!(!a.exists("build.sh"), "what others put there is not ours");
    assert_eq!(count(&notes(a), "second"), 1);
    assert_eq!(beside(&team).len(), 1);
    assert!(!team.git(&["ls-tree", "-r", "--name-only", BRANCH]).contains("build.sh"));
}

/// Real machines that publish at the same moment, over a connection that takes three and a half round trips before the remote
/// names its branches, and one more to fetch. Prints a table.
#[test]
#[ignore = "takes minutes: cargo test --test it -- --ignored machines_beside --nocapture"]
fn real_machines_that_publish_at_the_same_moment() {
    eprintln!("| machines | round trip | pushes a publish: median, most | all done after | beside the branch |");
    eprintln!("|---:|---:|---|---:|---:|");
    for size in [4, 16] {
        for round_trip in [5, 50, 200] {
            at_once(size, round_trip);
        }
    }
}

fn at_once(size: usize, round_trip: u64) {
    let team = Team::of(size);
    team.machines[0].run(&["run", "--note", "first"]).expect(0);
    let (before, after) = (Duration::from_millis(round_trip * 7 / 2), Duration::from_millis(round_trip));
    let script = format!(
        "for word in \"$@\"; do case $word in push|ls-remote) sleep {0}; break;; \
         fetch) sleep {0}; \"$GIT\" \"$@\"; code=$?; sleep {1}; exit $code;; esac; done; \
         case \" $* \" in *' push '*) echo push >> \"$HOME/pushes\";; esac; exec \"$GIT\" \"$@\"",
        before.as_secs_f64(),
        after.as_secs_f64()
    );
    let start = Instant::now();
    std::thread::scope(|scope| {
        for (number, machine) in team.machines.iter().enumerate() {
            let (path, root, home) = (machine.stand_in_for_git(&script), machine.root(), machine.home());
            scope.spawn(move || {
                let note = format!("of machine {number}");
                let output = with_git(&root, &home, &path, &["run", "--note", &note]);
                assert!(output.status.success(), "{note}: {}", String::from_utf8_lossy(&output.stderr));
            });
        }
    });
    let took = start.elapsed();
    let mut counts: Vec<usize> = team.machines.iter().map(|machine| pushes(machine).len()).collect();
    counts.sort_unstable();
    let (median, most, aside) = (counts[size / 2], counts[size - 1], beside(&team).len());
    eprintln!("| {size} | {round_trip} ms | {median}, {most} | {:.1} s | {aside} |", took.as_secs_f64());
    for machine in &team.machines {
        let output = program(&machine.root(), &machine.home(), &["pull"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let notes = notes(machine);
        for number in 0..size {
            assert_eq!(count(&notes, &format!("of machine {number}")), 1);
        }
    }
}

fn with_git(root: &std::path::Path, home: &std::path::Path, path: &str, arguments: &[&str]) -> std::process::Output {
    std::process::Command::new(BINARY)
        .args(arguments)
        .current_dir(root)
        .env("HOME", home)
        .env("PATH", path)
        .env("TZ", "UTC")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap()
}
