//! Machines that lose the race for the shared branch push beside it: what they said is on the remote at once, and everybody
//! gets it.

use std::time::{Duration, Instant};

use super::prepared::{Passes, Prepared};
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
    // The next publish of any machine brings it to the shared branch, and removes the other one.
    a.run(&["run", "--note", "second"]).expect(0);
    assert_eq!(beside(&team), [""; 0]);
    b.run(&["run", "--note", "third"]).expect(0);
    let all = notes_on_branch(&team);
    for note in ["first", "of the slow one", "second", "third"] {
        assert_eq!(count(&all, note), 1, "{note}: {all}");
    }
    // A second time the same name is used again. Here the next publish is of a machine that did not pull.
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

/// Puts what a machine has to say beside the branch.
fn say_beside(team: &Team, machine: &World, note: &str, name: &str) {
    machine.run(&["run", "--no-push", "--note", note]).expect(0);
    machine.git(&["push", "--quiet", "origin", &format!("{BRANCH}:refs/heads/{BRANCH}-machines/{name}")]);
    assert!(beside(team).iter().any(|found| found.ends_with(name)));
}

/// A machine that is never too slow fetches nothing, and yet the words of the others do not stay beside the branch for ever.
#[test]
fn a_publish_that_wins_at_once_merges_and_removes_what_is_beside_the_branch() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    a.run(&["run", "--note", "first"]).expect(0);
    b.run(&["pull"]).expect(0);
    say_beside(&team, b, "of b", "0123456789abcdef");
    a.run(&["run", "--note", "of a"]).expect(0);
    assert_eq!(beside(&team), [""; 0]);
    let all = notes_on_branch(&team);
    for note in ["first", "of a", "of b"] {
        assert_eq!(count(&all, note), 1, "{note}: {all}");
    }
    // Whoever has pulled has nothing to merge, and removes it all the same: another machine, and the one that made it.
    for (machine, name) in [(a, "0123456789abcdef"), (b, "fedcba9876543210")] {
        b.run(&["pull"]).expect(0);
        say_beside(&team, b, name, name);
        machine.run(&["pull"]).expect(0);
        assert_eq!(beside(&team).len(), 1);
        machine.run(&["push"]).expect(0);
        assert_eq!(beside(&team), [""; 0], "{name}");
        assert_eq!(count(&notes_on_branch(&team), name), 1);
    }
}

/// Whoever may push can put any number of branches there, which hide none of a machine and are looked at once.
#[test]
fn branches_of_strangers_beside_the_shared_one_hide_none_of_a_machine() {
    let team = Team::of(3);
    let (a, b, c) = (&team.machines[0], &team.machines[1], &team.machines[2]);
    a.run(&["run", "--note", "first"]).expect(0);
    for machine in [b, c] {
        machine.run(&["pull"]).expect(0);
    }
    b.write("build.sh", "make\n");
    b.git(&["add", "build.sh"]);
    let names = ["0", "00", "000", "HEAD", "a/b/c", "refs/heads/main", "-x", "--force", "+x", "é", "a'b$(touch)`x`"];
    for name in names {
        b.git(&["-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "--quiet", "--allow-empty", "-m", name]);
        b.git(&["push", "--quiet", "origin", &format!("HEAD:refs/heads/{BRANCH}-machines/{name}")]);
    }
    b.git(&["rm", "--quiet", "--cached", "build.sh"]);
    // Code on top of what we published, in place of it.
    let identity = ["-c", "user.name=b", "-c", "user.email=b@localhost"];
    let commit = b.git(&[&identity[..], &["commit-tree", "HEAD^{tree}", "-p", BRANCH, "-m", "x"]].concat());
    b.git(&["push", "--quiet", "origin", &format!("{}:refs/heads/{BRANCH}-machines/1", commit.trim())]);
    say_beside(&team, b, "of b", "fedcba9876543210");
    c.run(&["pull"]).expect(0);
    assert_eq!(count(&notes(c), "of b"), 1);
    assert!(!c.exists("build.sh"));
    // Eight of thirteen are looked at, and then the other five.
    for note in ["one", "two"] {
        a.run(&["run", "--note", note]).expect(0);
    }
    assert_eq!(count(&notes_on_branch(&team), "of b"), 1);
    assert_eq!(beside(&team).len(), names.len() + 1, "what is not of a machine is not removed");
    assert!(!team.git(&["ls-tree", "-r", "--name-only", BRANCH]).contains("build.sh"));
    let path = a.stand_in_for_git(
        "for word; do case $word in fetch) echo fetch >> \"$HOME/calls\";; esac; done; exec \"$GIT\" \"$@\"",
    );
    finish(a.command(&["run", "--note", "three"]).env("PATH", path)).expect(0);
    assert!(!a.home().join("calls").exists(), "what cannot be merged is fetched again and again");
}

/// Puts a branch beside the shared one whose files are missing from the remote.
fn break_one_beside(team: &Team, machine: &World, name: &str) {
    let tree = machine.git(&["rev-parse", &format!("{BRANCH}^{{tree}}")]);
    let identity = ["-c", "user.name=b", "-c", "user.email=b@localhost"];
    machine.write("lost.md", name);
    let blob = machine.git(&["hash-object", "-w", "lost.md"]);
    let listed = format!("{}100644 blob {}\tlost.md\n", machine.git(&["ls-tree", tree.trim()]), blob.trim());
    machine.write("listed", listed);
    let made = machine.clean("sh").args(["-c", "git mktree < listed"]).output().unwrap();
    let tree = String::from_utf8(made.stdout).unwrap();
    let commit = machine.git(&[&identity[..], &["commit-tree", tree.trim(), "-p", BRANCH, "-m", "x"]].concat());
    machine.git(&["push", "--quiet", "origin", &format!("{}:refs/heads/{BRANCH}-machines/{name}", commit.trim())]);
    let blob = blob.trim();
    std::fs::remove_file(team.path().join("objects").join(&blob[..2]).join(&blob[2..])).unwrap();
}

#[test]
fn a_broken_branch_beside_the_shared_one_and_one_that_vanishes_hide_none_of_a_machine() {
    let team = Team::of(3);
    let (a, b, c) = (&team.machines[0], &team.machines[1], &team.machines[2]);
    a.run(&["run", "--note", "first"]).expect(0);
    b.run(&["pull"]).expect(0);
    c.run(&["pull"]).expect(0);
    break_one_beside(&team, b, "0000000000000000");
    say_beside(&team, b, "of b", "fedcba9876543210");
    // A branch that is listed, and gone when it is fetched.
    let gone = format!("refs/heads/{BRANCH}-machines/1111111111111111");
    let identity = ["-c", "user.name=b", "-c", "user.email=b@localhost"];
    let tree = format!("{BRANCH}^{{tree}}");
    let commit = b.git(&[&identity[..], &["commit-tree", &tree, "-p", BRANCH, "-m", "x"]].concat());
    b.git(&["push", "--quiet", "origin", &format!("{}:{gone}", commit.trim())]);
    let script = format!(
        "case \" $* \" in *' fetch '*) $GIT --git-dir={} update-ref -d {gone};; esac; exec \"$GIT\" \"$@\"",
        team.path().display()
    );
    let path = c.stand_in_for_git(&script);
    finish(c.command(&["pull"]).env("PATH", path)).expect(0).stderr_ignored("what is not here yet is reported");
    assert_eq!(count(&notes(c), "of b"), 1, "{}", notes(c));
    c.run(&["run", "--note", "of c"]).expect(0);
    let all = notes_on_branch(&team);
    assert_eq!((count(&all, "of b"), count(&all, "of c")), (1, 1), "{all}");
}

#[test]
fn a_remote_that_removes_no_branch_gets_everything_and_is_not_asked_each_time() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    team.git(&["config", "receive.denyDeletes", "true"]);
    a.run(&["run", "--note", "first"]).expect(0);
    b.run(&["pull"]).expect(0);
    say_beside(&team, b, "of b", "fedcba9876543210");
    let not_removed = || {
        let ledger: serde_json::Value = serde_json::from_str(&a.read(".agent-handover/publish.json")).unwrap();
        ledger["not_removed"].as_str().unwrap().to_owned()
    };
    a.run(&["run", "--note", "of a"]).expect(0);
    let remembered = not_removed();
    assert!(!remembered.is_empty() && beside(&team).len() == 1);
    a.run(&["run", "--note", "again"]).expect(0);
    assert_eq!(not_removed(), remembered);
    let all = notes_on_branch(&team);
    assert_eq!((count(&all, "of b"), count(&all, "of a"), count(&all, "again")), (1, 1, 1), "{all}");
    // Another one that is merged is a reason to ask again.
    team.git(&["config", "receive.denyDeletes", "false"]);
    b.run(&["pull"]).expect(0);
    say_beside(&team, b, "more of b", "0123456789abcdef");
    a.run(&["run", "--note", "at last"]).expect(0);
    assert_eq!((beside(&team).len(), not_removed()), (0, String::new()));
}

/// A copy of a project has the name that the project has beside the branch.
#[test]
fn two_machines_of_one_name_beside_the_branch_lose_nothing() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    a.run(&["run", "--note", "first"]).expect(0);
    b.run(&["run", "--note", "second"]).expect(0);
    say_beside(&team, a, "of the copy", "fedcba9876543210");
    let ledger = b.read(".agent-handover/publish.json");
    assert!(ledger.contains("\"aside\":\"\""), "{ledger}");
    b.write(".agent-handover/publish.json", ledger.replace("\"aside\":\"\"", "\"aside\":\"fedcba9876543210\""));
    run_losing(b, &faster_machine(&team, 3), "of the slow one").expect(0);
    assert_eq!(beside(&team).len(), 2, "{:?}", beside(&team));
    a.run(&["run", "--note", "last"]).expect(0);
    let all = notes_on_branch(&team);
    for note in ["first", "second", "of the copy", "of the slow one", "last"] {
        assert_eq!(count(&all, note), 1, "{note}: {all}");
    }
}

/// Two projects in one repository share the branch. Only the machines of a project know how to merge what it says.
#[test]
fn what_another_project_in_the_repository_pushed_beside_the_branch_is_left_to_it() {
    let team = Team::of(3);
    let projects = ["x", "x", "y"];
    for (machine, project) in team.machines.iter().zip(projects) {
        machine.write(&format!("{project}/handover.toml"), machine.read("handover.toml"));
        std::fs::remove_file(machine.path("handover.toml")).unwrap();
    }
    let run = |number: usize, arguments: &[&str]| {
        let machine = &team.machines[number];
        finish(machine.command(arguments).current_dir(machine.path(projects[number])))
    };
    let say = |number: usize, note: &str| run(number, &["run", "--note", note, "--current-state", note]).expect(0);
    say(0, "first of x");
    run(1, &["pull"]).expect(0);
    say(2, "first of y");
    // Both machines of x change the same files.
    run(0, &["run", "--no-push", "--note", "slow", "--current-state", "slow"]).expect(0);
    say(1, "fast");
    let refspec = format!("{BRANCH}:refs/heads/{BRANCH}-machines/0123456789abcdef");
    team.machines[0].git(&["push", "--quiet", "origin", &refspec]);
    run(2, &["pull"]).expect(0);
    say(2, "second of y");
    assert_eq!(beside(&team).len(), 1);
    run(1, &["push"]).expect(0).stderr_ignored("it tells what came along");
    assert_eq!(beside(&team), [""; 0]);
    let notes = team.file(&format!("x/{NOTES}"));
    for note in ["first of x", "slow", "fast"] {
        assert_eq!(count(&notes, note), 1, "{note}: {notes}");
    }
    say(2, "third of y");
    assert_eq!(team.file(&format!("x/{NOTES}")), notes);
}

/// A hook of the remote moves the shared branch before each push to it, so that another machine is always faster.
fn let_another_win(team: &Team, wins: bool) {
    let hook = team.path().join("hooks/update");
    if !wins {
        return std::fs::remove_file(hook).unwrap();
    }
    let script = format!(
        "#!/bin/sh\ncase $1 in refs/heads/{BRANCH})\nold=$(git rev-parse {BRANCH}) || exit 0\n\
         export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x\n\
         new=$(git commit-tree $old^{{tree}} -p $old -m faster) && git update-ref refs/heads/{BRANCH} $new\nesac\n"
    );
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

/// Everybody publishes and pulls, and has every note once. No branch of a single machine is left.
fn come_to_rest(team: &Team, expected: &[&str], case: &str) {
    for machine in team.machines.iter().chain(&team.machines) {
        machine.run(&["push"]).expect(0).stderr_ignored("it may tell what came along");
    }
    assert_eq!(beside(team), [""; 0], "{case}");
    let all = notes_on_branch(team);
    for machine in &team.machines {
        machine.run(&["pull"]).expect(0).stderr_ignored("it may tell what came along");
        assert_eq!(machine.strays(), [""; 0], "{case}");
        assert_eq!(notes(machine), all, "{case}");
        machine.run(&["history", "validate", "--sessions"]).expect(0);
        assert_eq!(machine.run(&["check"]).code, 2, "{case}");
    }
    for note in expected {
        assert_eq!(count(&all, note), 1, "{case}: {note}");
    }
}

/// Two machines that know the shared branch, at a remote that from now on always lets another one win.
fn losing_team() -> Team {
    let team = Team::of(2);
    team.machines[0].run(&["run", "--note", "first"]).expect(0);
    team.machines[1].run(&["pull"]).expect(0);
    let_another_win(&team, true);
    team
}

/// The remote always lets another machine win, so the words go to a branch of the machine. Wherever the process dies, the next
/// command delivers them, and the other machine merges and removes that branch.
#[test]
fn killed_anywhere_while_it_pushes_beside_the_branch_nothing_is_lost_or_doubled() {
    let team = losing_team();
    let (a, b) = (&team.machines[0], &team.machines[1]);
    let prepared = Prepared::with(b, &[a.place(), team.path().parent().unwrap()]);
    let run = ["run", "--note", "of b"];
    let passes = Passes::points(b, &mut b.command(&run));
    for (point, ordinary) in [("process.ended", 30), ("fs.replaced", 20)] {
        assert!(passes.at(point, 1).next().is_some(), "{point} is never passed");
        for nth in passes.at(point, stride(ordinary)) {
            prepared.again();
            let case = format!("{point}:{nth}");
            finish(b.command(&run).env("AGENT_HANDOVER_TEST_FAULT", format!("{case}=kill"))).expect(KILLED);
            deliver_after_a_kill(&team, &case);
        }
    }
}

/// The killed machine hands over although another one always wins, and the other one merges that.
fn deliver_after_a_kill(team: &Team, case: &str) {
    let (a, b) = (&team.machines[0], &team.machines[1]);
    hand_over_after_a_kill(b, "of b");
    assert_eq!(beside(team).len(), 1, "{case}");
    let_another_win(team, false);
    a.run(&["run", "--note", "of a"]).expect(0);
    assert_eq!(beside(team), [""; 0], "{case}");
    come_to_rest(team, &["first", "of a", "of b"], case);
}

/// What was recorded is resumed. What was not is said again.
fn hand_over_after_a_kill(machine: &World, note: &str) {
    if machine.run(&["check"]).code == 1 {
        machine.run(&["run", "--resume"]).expect(0);
    } else if count(&notes(machine), note) == 0 {
        machine.run(&["run", "--note", note]).expect(0);
    }
}

/// `SWEEPS=all` tries every call.
#[test]
#[ignore = "takes minutes: cargo test --test it -- --ignored beside_the_branch_killed_at_system_calls"]
fn beside_the_branch_killed_at_system_calls_nothing_is_lost_or_doubled() {
    let team = losing_team();
    let (a, b) = (&team.machines[0], &team.machines[1]);
    let prepared = Prepared::with(b, &[a.place(), team.path().parent().unwrap()]);
    let run = ["run", "--note", "of b"];
    let passes = Passes::calls(prepared.again(), &run);
    let mut kills = 0;
    for call in CHANGING_CALLS {
        for nth in passes.at(call, stride(25)) {
            prepared.again();
            let mut strace = killed_at_call(b, call, nth);
            strace.args(run).env("AGENT_HANDOVER_TEST_IDS", seed("the run"));
            if finish(&mut strace).stderr_ignored("a kill is expected").code != KILLED {
                break;
            }
            kills += 1;
            deliver_after_a_kill(&team, &format!("{call}:{nth}"));
        }
    }
    assert!(kills > 10, "only {kills} kills: the calls are not those the program makes");
    eprintln!("killed at {kills} system calls and delivered");
}

/// What is beside the branch is merged by a publish and by a pull, which die anywhere meanwhile.
#[test]
fn killed_anywhere_while_it_merges_what_is_beside_the_branch_nothing_is_lost_or_doubled() {
    let team = Team::of(2);
    let (a, b) = (&team.machines[0], &team.machines[1]);
    a.run(&["run", "--note", "first"]).expect(0);
    b.run(&["pull"]).expect(0);
    say_beside(&team, b, "of b", "0123456789abcdef");
    let prepared = Prepared::with(a, &[b.place(), team.path().parent().unwrap()]);
    for (command, ordinary) in [(&["run", "--note", "of a"][..], 24), (&["pull"], 16)] {
        let passes = Passes::points(prepared.again(), &mut a.command(command));
        for (point, ordinary) in [("process.ended", ordinary), ("fs.replaced", ordinary)] {
            for nth in passes.at(point, stride(ordinary)) {
                prepared.again();
                let case = format!("{command:?}, {point}:{nth}");
                finish(a.command(command).env("AGENT_HANDOVER_TEST_FAULT", format!("{point}:{nth}=kill")))
                    .expect(KILLED);
                hand_over_after_a_kill(a, "of a");
                come_to_rest(&team, &["first", "of a", "of b"], &case);
            }
        }
    }
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
