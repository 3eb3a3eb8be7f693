//! Several machines that publish on the branch they work on: what a `git pull` of their users finds.

use std::path::PathBuf;

use super::support::*;

const CONFIG: &str = "[backend]\ntype = \"git\"\nbranch = \"main\"\ntimeout = \"20s\"\n[[step]]\nname = \"note\"\n\
    kind = \"note\"\n[[step]]\nname = \"state\"\nkind = \"state\"\n[[step]]\nname = \"history\"\nkind = \"history\"\n\
    [[step]]\nname = \"publish\"\nkind = \"publish\"\n";
/// What the Python tool runs with.
const PYTHON: &str = "[backend]\ntype = \"git\"\nbranch = \"main\"\nremote = \"origin\"\nrepo_dir = \".\"\n";

/// How a user pulls.
const PULLS: [&[&str]; 3] = [
    &["pull", "--quiet", "--ff-only", "origin", "main"],
    &["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"],
    &["pull", "--quiet", "--rebase", "origin", "main"],
];

struct Team {
    remote: tempfile::TempDir,
    machines: Vec<World>,
}

impl Team {
    /// Two clones of one repository that has code.
    fn with(config: &str) -> Team {
        let mut team = Team { remote: directory(), machines: Vec::new() };
        let path = team.path().display().to_string();
        for name in ["a", "b"] {
            let machine = World::salted(&format!("code branch {name} "));
            machine.git(&["init", "--quiet", "--initial-branch=main"]);
            machine.git(&["config", "user.name", name]);
            machine.git(&["config", "user.email", "user@example.com"]);
            machine.git(&["remote", "add", "origin", &path]);
            if name == "a" {
                machine.git(&["init", "--quiet", "--bare", "--initial-branch=main", &path]);
                machine.write("src.txt", "code\n");
                machine.write(".gitignore", "handover.toml\n.agent-handover/\n");
                machine.git(&["add", "."]);
                machine.git(&["commit", "--quiet", "-m", "code"]);
                machine.git(&["push", "--quiet", "origin", "main"]);
            } else {
                machine.git(&["pull", "--quiet", "origin", "main"]);
            }
            machine.write("handover.toml", config);
            team.machines.push(machine);
        }
        team
    }

    fn path(&self) -> PathBuf {
        self.remote.path().join("remote.git")
    }

    fn remote_log(&self) -> String {
        self.machines[0].git(&[&format!("--git-dir={}", self.path().display()), "log", "--format=%s", "main"])
    }

    fn pair(&self) -> (&World, &World) {
        (&self.machines[0], &self.machines[1])
    }
}

fn commit(world: &World, file: &str) {
    world.write(file, format!("{file}\n"));
    world.git(&["add", file]);
    world.git(&["commit", "--quiet", "-m", file]);
}

#[track_caller]
fn assert_has_notes(world: &World, notes: &[&str]) {
    let file = world.read(NOTES);
    for note in notes {
        assert_eq!(file.matches(&format!("\n{note}\n")).count(), 1, "{note}: {file}");
    }
}

#[test]
fn a_pull_is_a_fast_forward_where_the_user_has_no_commits() {
    // Every config and every way to pull has its turn.
    let cases = [CONFIG, PYTHON].into_iter().flat_map(|config| PULLS.map(|pull| (config, pull)));
    for (config, pull) in cases.step_by(stride(2)) {
        let team = Team::with(config);
        let (a, b) = team.pair();
        a.run(&["run", "--note", "one of a"]).expect(0);
        let output = b.run(&["run", "--note", "one of b"]).expect(0);
        assert!(output.stderr.contains("`git pull` brings what others pushed"), "{}", output.stderr);
        a.git(pull);
        commit(a, "code of a");
        a.git(&["push", "--quiet", "origin", "main"]);
        b.run(&["run", "--note", "two of b"]).expect(0);
        let before = b.git(&["rev-parse", "HEAD"]);
        b.git(pull);
        b.git(&["merge-base", "--is-ancestor", before.trim(), "HEAD"]);
        assert_eq!(b.read("code of a"), "code of a\n");
        assert_has_notes(b, &["one of a", "one of b", "two of b"]);
        assert_eq!(b.git(&["status", "--porcelain"]), "");
        // Nothing is left to push for either.
        let tip = b.git(&["rev-parse", "HEAD"]);
        b.run(&["push"]).expect(0);
        a.git(PULLS[0]);
        a.run(&["push"]).expect(0);
        assert_eq!(a.git(&["rev-parse", "HEAD"]), tip);
    }
}

#[test]
fn commits_of_the_user_stay_here_and_their_pull_has_no_conflict() {
    for pull in &PULLS[1..] {
        let team = Team::with(CONFIG);
        let (a, b) = team.pair();
        commit(b, "code of b");
        b.run(&["run", "--note", "one of b"]).expect(0).stderr_ignored("it says that the commit travels");
        a.run(&["run", "--note", "one of a"]).expect(0);
        a.git(PULLS[0]);
        commit(a, "code of a");
        a.git(&["push", "--quiet", "origin", "main"]);
        for (machine, note) in [(b, "two of b"), (a, "two of a"), (b, "three of b"), (a, "three of a")] {
            machine.run(&["run", "--note", note]).expect(0);
        }
        assert!(!team.remote_log().contains("code of b"), "{}", team.remote_log());
        // The last word was of the other machine, so the files of both differ.
        b.git(pull);
        assert_has_notes(b, &["one of a", "two of a", "three of a", "one of b", "two of b", "three of b"]);
        assert_eq!(b.git(&["status", "--porcelain"]), "");
        assert_eq!((b.read("code of a"), b.read("code of b")), ("code of a\n".into(), "code of b\n".into()));
        b.git(&["push", "--quiet", "origin", "main"]);
        a.git(PULLS[0]);
        assert_eq!(a.git(&["rev-parse", "HEAD"]), b.git(&["rev-parse", "HEAD"]));
        assert_eq!(a.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn what_was_committed_offline_has_a_hint_and_a_push_merges_it() {
    let team = Team::with(CONFIG);
    let (a, b) = team.pair();
    a.run(&["run", "--note", "of a"]).expect(0);
    b.git(&["remote", "set-url", "origin", "/nonexistent/remote.git"]);
    let output = b.run(&["run", "--note", "of b"]).expect(1);
    assert!(output.stderr.contains("run `agent-handover push` before `git pull` on `main`"), "{}", output.stderr);
    assert_eq!(b.git(&["status", "--porcelain"]), "", "it is committed");
    b.git(&["remote", "set-url", "origin", team.path().to_str().unwrap()]);
    b.run(&["push"]).expect(0);
    b.git(PULLS[0]);
    assert_has_notes(b, &["of a", "of b"]);
}

/// The user's commit stays here, and what was said before it travels without it.
#[test]
fn what_was_committed_offline_below_a_commit_of_the_users_is_delivered() {
    let team = Team::with(CONFIG);
    let (a, b) = team.pair();
    b.git(&["remote", "set-url", "origin", "/nonexistent/remote.git"]);
    b.run(&["run", "--note", "one of b"]).expect(1).stderr_ignored("the remote is gone");
    commit(b, "code of b");
    b.git(&["remote", "set-url", "origin", team.path().to_str().unwrap()]);
    a.run(&["run", "--note", "one of a"]).expect(0);
    b.run(&["run", "--note", "two of b"]).expect(0);
    assert!(!team.remote_log().contains("code of b"), "{}", team.remote_log());
    a.git(PULLS[0]);
    assert_has_notes(a, &["one of a", "one of b", "two of b"]);
    b.git(PULLS[1]);
    assert_has_notes(b, &["one of a", "one of b", "two of b"]);
    assert_eq!((b.git(&["status", "--porcelain"]), b.read("code of b")), (String::new(), "code of b\n".into()));
    b.git(&["push", "--quiet", "origin", "main"]);
    assert!(team.remote_log().contains("code of b"), "{}", team.remote_log());
}

#[test]
fn a_remote_that_is_gone_is_reported_as_that_although_it_had_another_history() {
    let team = Team::with(CONFIG);
    let (a, _) = team.pair();
    a.run(&["run", "--note", "one"]).expect(0);
    let other = a.git(&["commit-tree", "-m", "another beginning", "HEAD^{tree}"]);
    a.git(&["push", "--quiet", "--force", "origin", &format!("{}:main", other.trim())]);
    let output = a.run(&["run", "--note", "two"]).expect(1);
    assert!(output.stderr.contains("`main` on origin has another history"), "{}", output.stderr);
    std::fs::remove_dir_all(team.path()).unwrap();
    let output = a.run(&["run", "--note", "three"]).expect(1);
    assert!(
        output.stderr.contains("there is no remote `origin` here, or no repository behind it"),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains("another history"), "{}", output.stderr);
    assert_eq!(a.git(&["status", "--porcelain"]), "", "it is committed");
    assert_has_notes(a, &["one", "two", "three"]);
}

#[test]
fn a_branch_without_a_commit_joins_the_code_on_the_remote() {
    let team = Team::with(CONFIG);
    let (a, b) = team.pair();
    a.run(&["run", "--note", "of a"]).expect(0);
    b.git(&["checkout", "--quiet", "--orphan", "fresh"]);
    b.git(&["branch", "--quiet", "-D", "main"]);
    b.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    b.git(&["rm", "--quiet", "--cached", "-r", "."]);
    for file in ["src.txt", ".gitignore"] {
        std::fs::remove_file(b.path(file)).unwrap();
    }
    b.run(&["run", "--note", "of b"]).expect(0);
    b.git(PULLS[0]);
    assert_eq!(b.read("src.txt"), "code\n");
    assert_has_notes(b, &["of a", "of b"]);
}

#[test]
fn a_merge_of_the_users_is_left_alone_and_delivered_afterwards() {
    let team = Team::with(CONFIG);
    let (a, b) = team.pair();
    a.write("src.txt", "of a\n");
    a.git(&["commit", "--quiet", "-am", "of a"]);
    a.git(&["push", "--quiet", "origin", "main"]);
    a.run(&["run", "--note", "of a"]).expect(0);
    b.write("src.txt", "of b\n");
    b.git(&["commit", "--quiet", "-am", "of b"]);
    assert!(!b.clean("git").args(PULLS[1]).output().unwrap().status.success(), "the code has a conflict");
    let (head, index) = (b.git(&["rev-parse", "HEAD"]), std::fs::read(b.path(".git/index")).unwrap());
    b.run(&["run", "--note", "of b"]).expect(1);
    assert_eq!((b.git(&["rev-parse", "HEAD"]), std::fs::read(b.path(".git/index")).unwrap()), (head, index));
    b.write("src.txt", "of both\n");
    b.git(&["add", "src.txt"]);
    b.git(&["commit", "--quiet", "--no-edit"]);
    b.run(&["run", "--resume"]).expect(0);
    assert_has_notes(b, &["of a", "of b"]);
    assert_eq!(b.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_rebase_after_a_forced_push_conflicts_in_our_files_and_one_command_leads_on() {
    let team = Team::with(CONFIG);
    let (a, b) = team.pair();
    a.run(&["run", "--note", "one of a", "--current-state", "state one of a"]).expect(0);
    b.git(PULLS[0]);
    b.run(&["run", "--note", "one of b", "--current-state", "state one of b"]).expect(0);
    a.git(PULLS[0]);
    a.git(&["remote", "set-url", "origin", "/nonexistent/remote.git"]);
    a.run(&["run", "--note", "two of a", "--current-state", "state two of a"]).expect(1);
    let root = b.git(&["rev-list", "--max-parents=0", "HEAD"]);
    b.git(&["reset", "--quiet", "--soft", root.trim()]);
    b.git(&["commit", "--quiet", "-m", "squashed"]);
    b.git(&["push", "--quiet", "--force", "origin", "main"]);
    b.run(&["run", "--note", "two of b", "--current-state", "state two of b"]).expect(0);
    a.git(&["remote", "set-url", "origin", team.path().to_str().unwrap()]);
    assert!(!a.clean("git").args(PULLS[2]).output().unwrap().status.success(), "our files have a conflict");
    assert!(a.read(NOTES).contains("<<<<<<< "));
    let output = a.run(&["run", "--note", "three of a", "--current-state", "state three of a"]).expect(1);
    assert!(output.stderr.contains("`git add memory .agent-history`"), "{}", output.stderr);
    let notes = ["one of a", "two of a", "three of a", "one of b", "two of b"];
    assert_has_notes(a, &notes);
    assert!(!a.read(NOTES).contains("<<<<<<< ") && !a.read(STATE).contains("<<<<<<< "), "{}", a.read(NOTES));
    a.git(&["add", "memory", ".agent-history"]);
    a.git(&["-c", "core.editor=true", "rebase", "--continue"]);
    a.run(&["push"]).expect(0).stderr_ignored("it may say what was restored");
    assert_has_notes(a, &notes);
    assert!(a.read(STATE).contains("\nstate three of a\n"), "{}", a.read(STATE));
    a.run(&["history", "validate", "--sessions"]).expect(0);
    assert_eq!(a.git(&["status", "--porcelain"]), "");
    b.git(PULLS[1]);
    assert_has_notes(b, &notes);
}
