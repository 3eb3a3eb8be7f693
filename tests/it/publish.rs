//! Publishing through git on one machine, with a real bare remote. Many tests pin a weakness of the Python tool.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::prepared::{Passes, Prepared};
use super::support::*;

const CONFIG: &str = "[backend]\ntype = \"git\"\ntimeout = \"20s\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n\
    [[step]]\nname = \"state\"\nkind = \"state\"\n[[step]]\nname = \"publish\"\nkind = \"publish\"\n";
/// What the Python tool runs with.
const PYTHON: &str = "[backend]\ntype = \"git\"\nbranch = \"main\"\nremote = \"origin\"\nrepo_dir = \".\"\n";
const BRANCH: &str = "agent-handover";

/// A project with a history of its own and a bare remote.
pub struct Site {
    pub world: World,
    remote: PathBuf,
}

impl Site {
    pub fn new(config: &str) -> Site {
        static FILES: OnceLock<(Files, String)> = OnceLock::new();
        let (files, git_config) = FILES.get_or_init(|| {
            let Site { world, .. } = Site::made_by_git();
            (Files::read(world.place()), world.read(".git/config").replace(world.place().to_str().unwrap(), "$WORLD"))
        });
        let world = World::new();
        let here = || git_config.replace("$WORLD", world.place().to_str().unwrap()).into_bytes();
        files.write(world.place(), |path| path.ends_with("project/.git/config").then(here));
        // The index describes the files of another world. They must be older than the index, or git looks at them each time.
        let before = std::time::SystemTime::now() - std::time::Duration::from_secs(10);
        for file in ["src.txt", ".gitignore"] {
            std::fs::File::options().append(true).open(world.path(file)).unwrap().set_modified(before).unwrap();
        }
        world.git(&["update-index", "-q", "--refresh"]);
        world.write("handover.toml", config);
        Site { remote: world.home().join("remote.git"), world }
    }

    fn made_by_git() -> Site {
        let world = World::new();
        let remote = world.home().join("remote.git");
        world.git(&["init", "--quiet", "--bare", "--initial-branch=main", remote.to_str().unwrap()]);
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        world.git(&["config", "user.name", "A User"]);
        world.git(&["config", "user.email", "user@example.com"]);
        world.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
        world.write("src.txt", "code\n");
        world.write(".gitignore", "handover.toml\n");
        world.git(&["add", "src.txt", ".gitignore"]);
        world.git(&["commit", "--quiet", "-m", "code"]);
        world.git(&["push", "--quiet", "origin", "main"]);
        Site { world, remote }
    }

    pub fn remote_git(&self, arguments: &[&str]) -> String {
        let directory = format!("--git-dir={}", self.remote.display());
        self.world.git(&[&[directory.as_str()], arguments].concat())
    }

    /// The commits of a branch of the remote, newest first.
    fn remote_log(&self, branch: &str) -> Vec<String> {
        if self.remote_git(&["for-each-ref", &format!("refs/heads/{branch}")]).is_empty() {
            return Vec::new();
        }
        self.remote_git(&["log", "--format=%H", branch]).lines().map(str::to_owned).collect()
    }

    pub fn remote_file(&self, branch: &str, path: &str) -> String {
        self.remote_git(&["show", &format!("{branch}:{path}")])
    }

    /// All that is the user's: status, index, HEAD, stash and reflog.
    fn users(&self) -> Vec<String> {
        let index = std::fs::read(self.world.path(".git/index")).unwrap();
        vec![
            self.world.git(&["status", "--porcelain=v2", "--branch"]),
            self.world
                .git(&["reflog", "--all", "--format=%gD %H %gs"])
                .lines()
                .filter(|line| !line.contains(BRANCH))
                .collect(),
            self.world.git(&["rev-parse", "HEAD"]),
            self.world.git(&["symbolic-ref", "HEAD"]),
            agent_handover::testing::base::text::digest(&index, 16),
        ]
    }

    fn break_remote(&self) {
        self.world.git(&["remote", "set-url", "origin", "/nonexistent/remote.git"]);
    }

    fn repair_remote(&self) {
        self.world.git(&["remote", "set-url", "origin", self.remote.to_str().unwrap()]);
    }

    /// A hook of the user's or of the server's.
    fn hook(&self, directory: &Path, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = directory.join("hooks").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn server_hook(&self, script: &str) {
        self.hook(&self.remote, "pre-receive", script);
    }
}

#[test]
fn publish_uses_its_own_branch_and_leaves_the_users_repository_alone() {
    let site = Site::new(CONFIG);
    for name in [
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "pre-push",
        "reference-transaction",
        "post-checkout",
    ] {
        site.hook(&site.world.path(".git"), name, "touch \"$HOME/hook-ran\"");
    }
    site.world.write("staged.txt", "half done");
    site.world.git(&["-c", "core.hooksPath=/dev/null", "add", "staged.txt"]);
    site.world.write("src.txt", "changed\n");
    let before = site.users();
    site.world.run(&["run", "--note", "first"]).expect(0);
    site.world.run(&["run", "--note", "second"]).expect(0);
    assert_eq!(site.users(), before);
    assert!(!site.world.home().join("hook-ran").exists(), "a hook of the user's ran");
    assert_eq!(site.remote_log(BRANCH).len(), 2);
    let files = site.remote_git(&["ls-tree", "-r", "--name-only", BRANCH]);
    assert_eq!(files, "memory/layer1/2026-11/general-2026-11-15.md\nmemory/layer2/current-state.md\n");
    assert_eq!(site.remote_file(BRANCH, NOTES), site.world.read(NOTES));
    let shared = site.remote_git(&["rev-list", "--count", BRANCH, "--not", "main"]);
    assert_eq!(shared.trim(), "2", "it shares no history with the code");
    let commit = site.remote_git(&["log", "-1", "--format=%an %ae%n%B", BRANCH]);
    assert!(
        commit.starts_with("A User user@example.com\nhandover: general 2026-11-15\n\nHandover-Run: 01"),
        "{commit}"
    );
    site.world.run(&["check"]).expect(2);
    assert!(!site.world.run(&["status"]).expect(0).stdout.contains("due"));
}

/// The Python tool: the second try said "nothing to commit", reported success and never pushed.
#[test]
fn a_commit_that_was_not_pushed_is_pushed_later() {
    let site = Site::new(CONFIG);
    site.break_remote();
    let output = site.world.run(&["run", "--note", "n1"]).expect(1);
    assert!(
        output.stderr.contains("there is no remote `origin` here, or no repository behind it"),
        "{}",
        output.stderr
    );
    let check = site.world.run(&["check"]).expect(1);
    assert!(check.stdout.contains("a push is due"), "{}", check.stdout);
    site.world.run(&["run", "--resume"]).expect(1);
    assert_eq!(site.remote_log(BRANCH), [""; 0]);
    site.repair_remote();
    site.world.run(&["run", "--resume"]).expect(0);
    assert_eq!(site.remote_log(BRANCH).len(), 1, "one commit, however often it was tried");
    assert!(site.remote_file(BRANCH, NOTES).contains("\nn1\n"));
    assert!(!site.world.run(&["check"]).expect(2).stdout.contains("due"));
}

/// The Python tool: other files of the user's made publishing fail for ever.
#[test]
fn publish_ignores_other_files() {
    let site = Site::new(CONFIG);
    site.world.write("scratch.txt", "untracked");
    site.world.run(&["run", "--note", "same"]).expect(0);
    site.world.write("src.txt", "modified");
    site.world.run(&["run", "--note", "same", "--current-state", "same"]).expect(0);
    site.world.run(&["push"]).expect(0);
    assert_eq!(site.remote_log(BRANCH).len(), 2, "what is there already is not committed again");
}

/// The Python tool: messages in another language were not understood.
#[test]
fn publish_works_in_any_locale() {
    let site = Site::new(CONFIG);
    for _ in 0..2 {
        let mut command = site.world.command(&["run", "--note", "x"]);
        finish(command.env("LC_ALL", "de_DE.UTF-8").env("LANGUAGE", "de")).expect(0);
    }
}

/// The Python tool: after a rejected push and a `git pull` of the user's, success was reported and nothing pushed.
#[test]
fn publish_does_not_claim_success_when_the_remote_moved() {
    let site = Site::new(PYTHON);
    site.world.run(&["run", "--note", "one"]).expect(0);
    let other = site.world.home().join("other");
    site.world.git(&["clone", "--quiet", site.remote.to_str().unwrap(), other.to_str().unwrap()]);
    let in_other = ["-C", other.to_str().unwrap(), "-c", "user.name=o", "-c", "user.email=o@o"];
    site.world.git(&[&in_other[..], &["commit", "--quiet", "--allow-empty", "-m", "theirs"]].concat());
    site.world.git(&[&in_other[..], &["push", "--quiet", "origin", "main"]].concat());
    let users = site.world.git(&["rev-parse", "HEAD"]);
    let output = site.world.run(&["run", "--note", "two"]).expect(0);
    assert!(output.stderr.contains("`git pull` brings what others pushed"), "{}", output.stderr);
    assert!(site.remote_file("main", NOTES).contains("\ntwo\n"));
    assert!(site.remote_git(&["log", "--format=%s", "main"]).contains("theirs"));
    // The branch here moved by our commit and no other.
    assert_eq!(site.world.git(&["rev-parse", "HEAD^"]), users);
    site.world.git(&["pull", "--quiet", "--ff-only", "origin", "main"]);
    site.world.run(&["push"]).expect(0);
    assert_eq!(site.remote_log("main")[0], site.world.git(&["rev-parse", "HEAD"]).trim());
}

/// The Python tool: on another branch the commit landed there, and a push of `main` said "up to date".
#[test]
fn the_commit_is_on_the_configured_branch() {
    for detach in [false, true] {
        let site = Site::new(PYTHON);
        if !detach {
            site.world.git(&["checkout", "--quiet", "-b", "feature"])
        } else {
            site.world.git(&["checkout", "--quiet", "--detach"])
        };
        let head = site.world.git(&["rev-parse", "HEAD"]);
        site.world.run(&["run", "--note", "x"]).expect(0);
        assert_eq!(site.world.git(&["rev-parse", "HEAD"]), head);
        assert_eq!(site.world.git(&["status", "--porcelain"]), "");
        assert!(site.remote_file("main", NOTES).contains("\nx\n"));
        assert_eq!(site.remote_file("main", "src.txt"), "code\n", "the code stays on it");
        assert_eq!(site.remote_log("main").len(), 2);
    }
}

/// The Python tool: what the user had staged was committed and pushed.
#[test]
fn staged_changes_stay_staged_even_on_the_checked_out_branch() {
    let site = Site::new(PYTHON);
    site.world.write("half-done.py", "x");
    site.world.git(&["add", "half-done.py"]);
    site.world.run(&["run", "--note", "x"]).expect(0);
    assert_eq!(site.world.git(&["status", "--porcelain"]), "A  half-done.py\n", "and no phantom changes");
    let files = site.world.git(&["show", "--stat", "--format=", "--name-only", "HEAD"]);
    assert_eq!(files, "memory/layer1/2026-11/general-2026-11-15.md\nmemory/layer2/current-state.md\n");
    assert_eq!(site.remote_log("main")[0], site.world.git(&["rev-parse", "HEAD"]).trim());
    assert_eq!(site.world.git(&["log", "-1", "--format=%s"]).trim(), "handover: general session");
    // A second run changes files that are tracked by now.
    site.world.run(&["run", "--note", "y"]).expect(0);
    assert_eq!(site.world.git(&["status", "--porcelain"]), "A  half-done.py\n");
}

/// As in a submodule. git then names the git directory as the place where the branch is checked out.
#[test]
fn the_checked_out_branch_is_found_where_the_git_directory_is_elsewhere() {
    let site = Site::new(PYTHON);
    let elsewhere = format!("--separate-git-dir={}", site.world.home().join("modules/sub").display());
    std::fs::create_dir(site.world.home().join("modules")).unwrap();
    site.world.git(&["init", "--quiet", &elsewhere]);
    site.world.run(&["run", "--note", "x"]).expect(0);
    assert_eq!(site.remote_log("main")[0], site.world.git(&["rev-parse", "HEAD"]).trim());
    assert_eq!(site.world.git(&["status", "--porcelain", "--untracked-files=no"]), "");
}

/// What is pushed has none of the user's commits below it.
#[test]
fn commits_of_the_users_are_never_pushed_along() {
    let site = Site::new(PYTHON);
    site.world.git(&["commit", "--quiet", "--allow-empty", "-m", "not ready"]);
    site.world.run(&["run", "--note", "x"]).expect(0);
    assert!(site.remote_file("main", NOTES).contains("\nx\n"));
    assert!(!site.remote_git(&["log", "--format=%s", "main"]).contains("not ready"));
    site.world.run(&["check"]).expect(2);
    // The user's own push is a fast-forward.
    site.world.git(&["push", "--quiet", "origin", "main"]);
    let tip = site.remote_log("main")[0].clone();
    site.world.run(&["push"]).expect(0);
    assert_eq!(site.remote_log("main")[0], tip);
}

/// A remote that does not have the branch gets it from the user.
#[test]
fn the_first_push_of_a_code_branch_is_the_users() {
    let site = Site::new(PYTHON);
    site.remote_git(&["update-ref", "-d", "refs/heads/main"]);
    let output = site.world.run(&["run", "--note", "x"]).expect(0);
    assert!(output.stderr.contains("travels with your next push"), "{}", output.stderr);
    assert_eq!(site.remote_log("main").len(), 0);
    assert!(site.world.run(&["status", "--json"]).expect(0).json()["travels"].is_string());
    site.world.run(&["check"]).expect(2);
    site.world.git(&["push", "--quiet", "origin", "main"]);
    site.world.run(&["push"]).expect(0);
    assert!(!site.world.run(&["status"]).expect(0).stdout.contains("travels"));
}

/// The Python tool: a merge in progress was concluded by the handover.
#[test]
fn a_merge_in_progress_is_left_alone() {
    let site = Site::new(PYTHON);
    site.world.git(&["checkout", "--quiet", "-b", "side"]);
    site.world.write("src.txt", "side\n");
    site.world.git(&["commit", "--quiet", "-am", "side"]);
    site.world.git(&["checkout", "--quiet", "main"]);
    site.world.write("src.txt", "main\n");
    site.world.git(&["commit", "--quiet", "-am", "main"]);
    let merge = site.world.clean("git").args(["merge", "--quiet", "side"]).output().unwrap();
    assert!(!merge.status.success());
    site.world.write("src.txt", "resolved\n");
    site.world.git(&["add", "src.txt"]);
    let head = site.world.git(&["rev-parse", "HEAD"]);
    let output = site.world.run(&["run", "--note", "x"]).expect(1);
    assert!(
        output.stderr.contains("a merge is in progress, and nothing is committed on `main` meanwhile"),
        "{}",
        output.stderr
    );
    assert!(site.world.exists(".git/MERGE_HEAD"));
    assert_eq!(site.world.git(&["rev-parse", "HEAD"]), head);
    site.world.git(&["commit", "--quiet", "--no-edit"]);
    site.world.run(&["run", "--resume"]).expect(0);
    let users = ["rev-list", "--count", "--merges", "--invert-grep", "--grep=^Handover-Run: ", "HEAD"];
    assert_eq!(site.world.git(&users).trim(), "1");
    // A branch of its own has nothing to do with it.
    let own = Site::new(CONFIG);
    own.world.write(".git/rebase-merge/interactive", "");
    own.world.run(&["run", "--note", "x"]).expect(0);
}

/// The Python tool: concurrent runs lost notes and failed at git's locks.
#[test]
fn concurrent_runs_are_all_published() {
    let site = Site::new(CONFIG);
    let children: Vec<_> = (0..4).map(|n| site.world.start(&["run", "--note", &format!("agent {n}")])).collect();
    for child in children {
        let output = output(child);
        assert!([0, 4].contains(&output.code), "{}", output.seen());
    }
    wait_until("all to be done", || site.world.run(&["check"]).code == 2);
    let notes = site.remote_file(BRANCH, NOTES);
    for n in 0..4 {
        assert!(notes.contains(&format!("\nagent {n}\n")), "{notes}");
    }
}

/// The Python tool: memory that git ignores could not be published.
#[test]
fn ignored_memory_is_published_and_the_state_directory_never() {
    let site = Site::new(CONFIG);
    site.world.write(".gitignore", "memory/\nhandover.toml\n.agent-handover\n");
    site.world.run(&["run", "--note", "x"]).expect(0);
    assert!(site.remote_file(BRANCH, NOTES).contains("\nx\n"));
    site.world.write("handover.toml", CONFIG.replace("timeout", "paths = [\".\"]\ntimeout"));
    let output = site.world.run(&["run", "--note", "y"]).expect(1);
    assert!(output.stderr.contains("`.` cannot be published"), "{}", output.stderr);
    let inside = Site::new(&format!("[handover]\nstate_dir = \"memory/state\"\n{CONFIG}"));
    inside.world.run(&["run", "--note", "x"]).expect(0);
    let files = inside.remote_git(&["ls-tree", "-r", "--name-only", BRANCH]);
    assert!(!files.contains("state/"), "{files}");
}

/// The Python tool: every failure of git was one bare sentence.
#[test]
fn every_push_failure_names_its_cause_and_a_remedy() {
    // No identity: a neutral one.
    let site = Site::new(CONFIG);
    site.world.git(&["config", "--unset", "user.name"]);
    site.world.git(&["config", "--unset", "user.email"]);
    site.world.run(&["run", "--note", "x"]).expect(0);
    let author = site.remote_git(&["log", "-1", "--format=%an <%ae>", BRANCH]);
    assert_eq!(author.trim(), "agent-handover <agent-handover@localhost>");
    // Refused by the server's hook, whose words are shown.
    site.server_hook("echo 'no memory on fridays' >&2; exit 1");
    let output = site.world.run(&["run", "--note", "y"]).expect(1);
    assert!(output.stderr.contains("a hook of origin refused the push"), "{}", output.stderr);
    assert!(output.stderr.contains("no memory on fridays"), "{}", output.stderr);
    site.server_hook("exit 0");
    // One delivery settles both.
    site.world.run(&["run", "--note", "z"]).expect(0);
    site.world.run(&["check"]).expect(2);
    // A lock of another process is waited for, and then named.
    std::fs::write(site.world.path(".git/refs/heads/agent-handover.lock"), "").unwrap();
    site.world.write("handover.toml", CONFIG.replace("20s", "4s"));
    let output = site.world.run(&["run", "--note", "locked"]).expect(1);
    assert!(output.stderr.contains("another git process holds a lock"), "{}", output.stderr);
    std::fs::remove_file(site.world.path(".git/refs/heads/agent-handover.lock")).unwrap();
    site.world.run(&["push"]).expect(0);
    // No git at all.
    let mut command = site.world.command(&["run", "--note", "w"]);
    let output = finish(command.env("PATH", "/nonexistent")).expect(1);
    assert!(output.stderr.contains("git is not installed"), "{}", output.stderr);
}

/// The Python tool: a PAUSE that came during the commit did not stop the push.
#[test]
fn a_pause_between_commit_and_push_stops_the_push() {
    let site = Site::new(CONFIG);
    let path = site.world.stand_in_for_git("case \" $* \" in *' update-ref '*) \"$GIT\" \"$@\"; code=$?; touch PAUSE; exit $code;; *) exec \"$GIT\" \"$@\";; esac");
    let mut command = site.world.command(&["run", "--note", "x"]);
    finish(command.env("PATH", &path)).expect(3);
    assert_eq!(site.remote_log(BRANCH), [""; 0]);
    site.world.run(&["push"]).expect(3);
    site.world.run(&["unpause"]).expect(0);
    site.world.run(&["push"]).expect(0);
    assert_eq!(site.remote_log(BRANCH).len(), 1);
    site.world.run(&["check"]).expect(2);
}

#[test]
fn a_push_in_flight_is_ended_by_a_pause_and_asked_about_later() {
    let site = Site::new(CONFIG);
    site.server_hook("touch \"$HOME/pushing\"; sleep 30");
    let child = site.world.start(&["run", "--note", "x"]);
    wait_until("the push", || site.world.home().join("pushing").exists());
    site.world.write("PAUSE", "");
    output(child).expect(3);
    site.server_hook("exit 0");
    site.world.run(&["unpause"]).expect(0);
    site.world.run(&["run", "--resume"]).expect(0);
    assert_eq!(site.remote_log(BRANCH).len(), 1);
}

#[test]
fn remotes_that_hang_vanish_or_are_slow_are_bounded_and_delivered_later() {
    let site = Site::new(&CONFIG.replace("20s", "1s"));
    // Hangs: a transport that never answers.
    site.world.git(&["config", "core.sshCommand", "sleep 60 #"]);
    site.world.git(&["remote", "set-url", "origin", "ssh://example.invalid/x.git"]);
    let output = site.world.run(&["run", "--note", "one"]).expect(1);
    assert!(output.stderr.contains("origin did not answer in time"), "{}", output.stderr);
    // Vanished: a host that is not there, with a password in its address that nobody sees.
    let url = format!("http://{}:{}@127.0.0.1:1/x.git", "user", "hunter22");
    site.world.git(&["remote", "set-url", "origin", &url]);
    let output = site.world.run(&["run", "--note", "two"]).expect(1);
    assert!(output.stderr.contains("origin cannot be reached"), "{}", output.stderr);
    assert!(!output.stderr.contains("hunter22"), "{}", output.stderr);
    let everything = site.world.everything();
    let leaked: Vec<_> = everything
        .iter()
        .filter(|(path, text)| path.starts_with(".agent-handover") && text.contains("hunter22"))
        .collect();
    assert!(leaked.is_empty(), "{leaked:?}");
    // Slow, but within its time.
    site.repair_remote();
    site.world.write("handover.toml", CONFIG);
    site.server_hook("sleep 1");
    // One delivery settles all three.
    let why = "the older runs still have the timeout that they were recorded with";
    site.world.run(&["run", "--note", "three"]).expect(0).stderr_ignored(why);
    site.world.run(&["check"]).expect(2);
    let notes = site.remote_file(BRANCH, NOTES);
    assert!(["one", "two", "three"].iter().all(|note| notes.contains(&format!("\n{note}\n"))), "{notes}");
}

/// Ten handovers that wait for a dead remote do not wait ten times.
#[test]
fn a_remote_that_does_not_answer_is_asked_once_a_command() {
    let site = Site::new(&CONFIG.replace("20s", "1s"));
    site.world.git(&["config", "core.sshCommand", "echo asked >> \"$HOME/asked\"; sleep 60 #"]);
    site.world.git(&["remote", "set-url", "origin", "ssh://example.invalid/x.git"]);
    for note in ["one", "two", "three"] {
        let _ = std::fs::remove_file(site.world.home().join("asked"));
        site.world.run(&["run", "--note", note]).expect(1);
        let asked = std::fs::read_to_string(site.world.home().join("asked")).unwrap();
        // Once to look, where nothing is known yet, and once to push.
        assert!(asked.lines().count() <= 2, "{note}: {asked}");
    }
    // All of it is committed, and one delivery settles it.
    site.repair_remote();
    site.world.run(&["push"]).expect(0);
    let notes = site.remote_file(BRANCH, NOTES);
    assert!(["one", "two", "three"].iter().all(|note| notes.contains(&format!("\n{note}\n"))), "{notes}");
    site.world.run(&["check"]).expect(2);
}

/// `push` finishes the runs that wait and then delivers: both know that the remote did not answer.
#[test]
fn a_push_does_not_wait_again_for_a_remote_that_its_runs_waited_for() {
    let config =
        CONFIG.replace("20s", "1s").replace("kind = \"publish\"\n", "kind = \"publish\"\non_failure = \"continue\"\n");
    let site = Site::new(&config);
    site.world.git(&["config", "core.sshCommand", "echo asked >> \"$HOME/asked\"; sleep 60 #"]);
    site.world.git(&["remote", "set-url", "origin", "ssh://example.invalid/x.git"]);
    site.world.write("PAUSE", "");
    site.world.run(&["run", "--note", "x"]).expect(3);
    std::fs::remove_file(site.world.path("PAUSE")).unwrap();
    let output = site.world.run(&["push"]).expect(1);
    assert!(output.stderr.contains("origin did not answer in time"), "{}", output.stderr);
    let asked = std::fs::read_to_string(site.world.home().join("asked")).unwrap();
    assert_eq!(asked.lines().count(), 1, "{asked}");
}

#[test]
fn on_failure_continue_completes_a_run_offline() {
    let site = Site::new(&CONFIG.replace("kind = \"publish\"\n", "kind = \"publish\"\non_failure = \"continue\"\n"));
    site.break_remote();
    let output = site.world.run(&["run", "--note", "x"]).expect(0);
    assert!(output.stderr.contains("✗ publish "), "{}", output.stderr);
    let check = site.world.run(&["check"]).expect(2);
    assert!(check.stdout.contains("; a push is due (there is no remote `origin` here"), "{}", check.stdout);
    assert!(site.world.run(&["check", "--json"]).expect(2).json()["due"].is_string());
    site.repair_remote();
    let output = site.world.run(&["push"]).expect(0);
    assert!(output.stdout.contains("is on origin/agent-handover"), "{}", output.stdout);
    assert!(!site.world.run(&["check"]).expect(2).stdout.contains("due"));
}

#[test]
fn no_push_commits_and_reports_that_a_push_is_due() {
    let site = Site::new(CONFIG);
    let output = site.world.run(&["run", "--note", "x", "--no-push"]).expect(0);
    assert!(output.stderr.contains("not pushed"), "{}", output.stderr);
    assert_eq!(site.remote_log(BRANCH), [""; 0]);
    assert_eq!(site.world.git(&["rev-list", "--count", BRANCH]).trim(), "1");
    site.world.write("handover.toml", CONFIG.replace("timeout", "push = false\ntimeout"));
    site.world.git(&["remote", "remove", "origin"]);
    site.world.run(&["run", "--note", "y"]).expect(0);
    let null = World::new();
    assert!(null.run(&["push"]).expect(64).stderr.contains("its backend is `null`"));
}

/// SIGKILL anywhere between first write and recorded done: one commit with the run's content on the remote after the resume.
#[test]
fn killed_anywhere_exactly_one_commit_arrives_and_the_user_notices_nothing() {
    for config in [CONFIG, PYTHON] {
        let branch = if config == PYTHON { "main" } else { BRANCH };
        let site = Site::new(config);
        site.world.run(&["run", "--note", "before"]).expect(0);
        site.world.write("staged.txt", "x");
        site.world.git(&["add", "staged.txt"]);
        let before = (site.users(), site.remote_log(branch).len());
        let prepared = Prepared::new(&site.world);
        let passes = Passes::points(&site.world, &mut site.world.command(&["run", "--note", "the note"]));
        for point in ["process.started", "process.ended", "fs.replaced", "step.acted", "checkpoint.intended"] {
            for nth in passes.at(point, stride(9)) {
                prepared.again();
                let mut command = site.world.command(&["run", "--note", "the note"]);
                command.env("AGENT_HANDOVER_TEST_FAULT", format!("{point}:{nth}=kill"));
                let case = format!("{branch}: {point}:{nth}");
                finish(&mut command).expect(KILLED);
                // Whoever was killed left no child at work that could still change something.
                let again = if site.world.run(&["check"]).code == 1 {
                    &["run", "--resume"][..]
                } else {
                    &["run", "--note", "the note"]
                };
                site.world.run(again).expect(0);
                assert_eq!(site.remote_log(branch).len(), before.1 + 1, "{case}");
                assert_eq!(site.remote_file(branch, NOTES).matches("\nthe note\n").count(), 1, "{case}");
                if config != PYTHON {
                    assert_eq!(site.users(), before.0, "{case}")
                } else {
                    assert_eq!(site.world.git(&["status", "--porcelain"]), "A  staged.txt\n", "{case}")
                }
                assert_eq!(site.world.strays(), [""; 0], "{case}");
            }
        }
    }
}

#[test]
fn secrets_do_not_travel_and_an_acknowledgement_is_for_one_content() {
    let site = Site::new(CONFIG);
    let key = ["AKIA", "IOSFODNN7EXAMPLQ"].concat();
    site.world.write("memory/layer1/2026-11/hand-2026-11-01.md", format!("fine\nthe key is {key}\n"));
    let output = site.world.run(&["run", "--note", "x"]).expect(5);
    assert!(output.stderr.contains("memory/layer1/2026-11/hand-2026-11-01.md:2"), "{}", output.stderr);
    assert!(!output.stderr.contains(&key));
    assert_eq!(site.remote_log(BRANCH), [""; 0]);
    assert_eq!(site.world.git(&["for-each-ref", "refs/heads/agent-handover"]), "", "it is not even committed");
    site.world.run(&["check"]).expect(1);
    site.world.run(&["allow", "--secret", "memory/layer1/2026-11/hand-2026-11-01.md"]).expect(0);
    site.world.run(&["run", "--resume"]).expect(0);
    assert_eq!(site.remote_log(BRANCH).len(), 1);
    site.world.write("memory/layer1/2026-11/hand-2026-11-01.md", format!("other\nthe key is {key}\n"));
    site.world.run(&["push"]).expect(5);
    site.world.write("memory/layer1/2026-11/hand-2026-11-01.md", "no key any more\n");
    site.world.run(&["push"]).expect(0);
}

#[test]
fn what_somebody_else_committed_is_searched_before_it_is_pushed() {
    let site = Site::new(CONFIG);
    site.world.run(&["run", "--note", "one", "--no-push"]).expect(0);
    // By hand, on the branch itself: a secret in one commit, taken out again in the next.
    let key = ["AKIA", "IOSFODNN7EXAMPLQ"].concat();
    let blob = site.world.home().join("blob");
    std::fs::write(&blob, format!("the key is {key}\n")).unwrap();
    let id = site.world.git(&["hash-object", "-w", blob.to_str().unwrap()]);
    let mut index = site.world.clean("git");
    let index = index.env("GIT_INDEX_FILE", site.world.home().join("index"));
    let done =
        index.args(["update-index", "--add", "--cacheinfo", &format!("100644,{},memory/bad.md", id.trim())]).status();
    assert!(done.unwrap().success());
    let mut tree = site.world.clean("git");
    let tree = tree.env("GIT_INDEX_FILE", site.world.home().join("index")).arg("write-tree").output().unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    let tip = site.world.git(&["rev-parse", BRANCH]);
    let bad = site.world.git(&["commit-tree", "-m", "bad", "-p", tip.trim(), tree.trim()]);
    let good = site.world.git(&["commit-tree", "-m", "good", "-p", bad.trim(), &format!("{}^{{tree}}", tip.trim())]);
    site.world.git(&["update-ref", "refs/heads/agent-handover", good.trim()]);
    let output = site.world.run(&["push"]).expect(5);
    assert!(output.stderr.contains("memory/bad.md:1") && !output.stderr.contains(&key), "{}", output.stderr);
    assert_eq!(site.remote_log(BRANCH), [""; 0]);
}

#[test]
fn a_symlink_is_not_followed_out_of_the_project() {
    let site = Site::new(CONFIG);
    site.world.run(&["run", "--note", "x"]).expect(0);
    std::fs::write(site.world.home().join("private.txt"), "nobody's business").unwrap();
    std::os::unix::fs::symlink(site.world.home().join("private.txt"), site.world.path("memory/link.md")).unwrap();
    std::os::unix::fs::symlink(site.world.home(), site.world.path("memory/home")).unwrap();
    site.world.run(&["push"]).expect(0);
    let files = site.remote_git(&["ls-tree", "-r", BRANCH, "memory/link.md", "memory/home"]);
    assert!(files.lines().all(|line| line.starts_with("120000 ")), "{files}");
    let link = site.remote_file(BRANCH, "memory/link.md");
    assert!(link.ends_with("/private.txt") && !link.contains("business"), "{link}");
}

#[test]
fn commits_are_signed_if_git_is_configured_to_sign() {
    let site = Site::new(CONFIG);
    let program = site.world.home().join("gpg");
    std::fs::write(&program, "#!/bin/sh\ncat > /dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\nprintf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    site.world.git(&["config", "gpg.program", program.to_str().unwrap()]);
    site.world.git(&["config", "commit.gpgsign", "true"]);
    site.world.run(&["run", "--note", "x"]).expect(0);
    assert!(site.remote_git(&["cat-file", "commit", BRANCH]).contains("gpgsig "));
    std::fs::write(&program, "#!/bin/sh\nexit 1\n").unwrap();
    let output = site.world.run(&["run", "--note", "y"]).expect(1);
    assert!(output.stderr.contains("could not be signed"), "{}", output.stderr);
}

#[test]
fn publish_starts_a_fixed_number_of_git_processes() {
    let site = Site::new(CONFIG);
    site.world.run(&["run", "--note", "first"]).expect(0);
    let path = site.world.stand_in_for_git("for word; do case $word in -c) ;; *=*) ;; *) echo $word >> \"$HOME/calls\"; break;; esac; done; exec \"$GIT\" \"$@\"");
    let count = |arguments: &[&str]| {
        let _ = std::fs::remove_file(site.world.home().join("calls"));
        let mut command = site.world.command(arguments);
        assert!([0, 2].contains(&finish(command.env("PATH", &path)).code));
        let calls = std::fs::read_to_string(site.world.home().join("calls")).unwrap_or_default();
        // Some run at the same time.
        let mut calls: Vec<&str> = calls.lines().collect();
        calls.sort_unstable();
        calls.join(" ")
    };
    // git before 2.41 must be asked which files it converts.
    let is_old = !site.world.clean("git").args(["--attr-source=x", "version"]).output().unwrap().status.success();
    let (add, list) = if is_old { ("add add", " check-attr") } else { ("add", "") };
    let files = if is_old { " ls-files" } else { "" };
    assert_eq!(
        count(&["run", "--note", "second"]),
        format!(
            "{add} cat-file{list} commit-tree config diff-index for-each-ref{files} ls-remote push symbolic-ref update-ref write-tree"
        )
    );
    // Nothing new: looked, and asked the remote.
    assert_eq!(
        count(&["push"]),
        format!("{add}{list} config diff-index for-each-ref{files} ls-remote push write-tree")
    );
    // Only git knows where an address leads that it rewrites, and then the remote is asked what arrived.
    site.world.git(&["config", "url.x.insteadOf", "nothing:"]);
    assert_eq!(
        count(&["push"]),
        format!("{add}{list} config diff-index for-each-ref{files} ls-remote push remote write-tree")
    );
    assert_eq!(count(&["check"]).as_str(), "");
}

#[test]
fn a_lock_left_by_a_killed_git_is_removed() {
    let site = Site::new(CONFIG);
    site.world.run(&["run", "--note", "one"]).expect(0);
    site.world.write(".agent-handover/publish.index.lock", "");
    site.world.run(&["run", "--note", "two"]).expect(0);
    assert!(!site.world.exists(".agent-handover/publish.index.lock"));
    // An index of ours that is damaged is made anew.
    site.world.write(".agent-handover/publish.index", "no index at all");
    site.world.run(&["run", "--note", "three"]).expect(0);
    site.world.write(".agent-handover/publish.json", "{");
    site.world.run(&["run", "--note", "four"]).expect(0);
    assert_eq!(site.remote_log(BRANCH).len(), 4);
}

#[test]
fn an_index_of_ours_that_a_power_cut_emptied_is_made_anew() {
    let site = Site::new(CONFIG);
    for damaged in [Vec::new(), vec![0; 200]] {
        site.world.run(&["run", "--note", "one"]).expect(0);
        // The branch is not where the last delivery left it, so git compares commits before it reads the files.
        let before = format!("refs/heads/{BRANCH}~1");
        site.world.run(&["run", "--note", "two"]).expect(0);
        site.world.git(&["update-ref", &format!("refs/heads/{BRANCH}"), &before]);
        std::fs::write(site.world.path(".agent-handover/publish.index"), damaged).unwrap();
        site.world.run(&["run", "--note", "three"]).expect(0).stderr_ignored("the branch was moved back");
        assert_eq!(site.remote_git(&["rev-parse", BRANCH]), site.world.git(&["rev-parse", BRANCH]));
    }
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_waits() {
    let site = Site::new(CONFIG);
    site.world.run(&["run", "--note", "x"]).expect(0);
    let elsewhere = site.world.home().join("elsewhere");
    site.world.git(&["worktree", "add", "--quiet", elsewhere.to_str().unwrap(), BRANCH]);
    let output = site.world.run(&["run", "--note", "y"]).expect(1);
    assert!(output.stderr.contains("is checked out in"), "{}", output.stderr);
    site.world.git(&["worktree", "remove", elsewhere.to_str().unwrap()]);
    site.world.run(&["run", "--resume"]).expect(0);
}

#[test]
fn a_repository_without_a_commit_and_one_without_a_remote() {
    let world = World::with_git();
    world.write("handover.toml", CONFIG);
    let output = world.run(&["run", "--note", "x"]).expect(1);
    assert!(output.stderr.contains("there is no remote `origin` here"), "{}", output.stderr);
    assert_eq!(world.git(&["rev-list", "--count", BRANCH]).trim(), "1", "it is committed all the same");
    // The checked-out branch before its first commit.
    let world = World::new();
    world.git(&["init", "--quiet", "--initial-branch=main"]);
    world.write("handover.toml", PYTHON.replace("type", "push = false\ntype"));
    world.write("staged.txt", "x");
    world.git(&["add", "staged.txt"]);
    world.run(&["run", "--note", "x"]).expect(0);
    assert_eq!(world.git(&["status", "--porcelain"]), "A  staged.txt\n?? handover.toml\n");
    assert_eq!(world.git(&["rev-list", "--count", "main"]).trim(), "1");
}

/// A branch with code that is on the remote and not here yet keeps its code.
#[test]
fn publishing_to_a_remote_code_branch_keeps_its_code() {
    let site = Site::new(&CONFIG.replace("timeout", "branch = \"dev\"\ntimeout"));
    site.world.git(&["push", "--quiet", "origin", "main:dev"]);
    site.world.run(&["run", "--note", "x"]).expect(0);
    assert_eq!(site.remote_file("dev", "src.txt"), "code\n");
    assert!(site.remote_file("dev", NOTES).contains("\nx\n"));
    let fresh = Site::new(&CONFIG.replace("timeout", "branch = \"dev\"\ntimeout"));
    fresh.world.git(&["push", "--quiet", "origin", "main:dev"]);
    let output = fresh.world.run(&["pull"]).expect(1);
    assert!(output.stderr.contains("holds more than memory"), "{}", output.stderr);
}

/// A branch that is renamed to the one in the config is not ours because another of that name was.
#[test]
fn a_renamed_branch_is_not_mistaken_for_our_own() {
    let site = Site::new(PYTHON);
    site.world.git(&["branch", "-M", "master"]);
    site.remote_git(&["update-ref", "-d", "refs/heads/main"]);
    site.world.run(&["run", "--note", "one"]).expect(0);
    site.world.git(&["branch", "-M", "main"]);
    site.world.run(&["run", "--note", "two"]).expect(1);
    assert!(site.world.git(&["ls-tree", "--name-only", "main"]).contains("src.txt"));
    assert!(!site.world.git(&["status", "--porcelain"]).contains("src.txt"));
}

#[test]
fn a_project_in_a_subdirectory_and_two_in_one_repository_leave_each_other_alone() {
    // The project is all there is at the top, and its code is on the branch.
    let site = Site::new("");
    site.world.git(&["rm", "--quiet", "-r", "src.txt"]);
    site.world.write("proj/a.rs", "code");
    site.world.write("proj/handover.toml", PYTHON);
    site.world.git(&["rm", "--quiet", "--cached", ".gitignore"]);
    site.world.git(&["add", "proj"]);
    site.world.git(&["commit", "--quiet", "-m", "moved"]);
    site.world.git(&["push", "--quiet", "origin", "main"]);
    site.world.git(&["checkout", "--quiet", "-b", "feature"]);
    let run = |directory: &str, note: &str| {
        let mut command = site.world.command(&["run", "--note", note]);
        finish(command.current_dir(site.world.path(directory))).expect(0);
    };
    run("proj", "x");
    assert_eq!(site.remote_file("main", "proj/a.rs"), "code");
    assert!(site.remote_file("main", &format!("proj/{NOTES}")).contains("\nx\n"));
    // Two projects share the default branch.
    for project in ["p1", "p2"] {
        site.world.write(&format!("{project}/handover.toml"), CONFIG);
    }
    for (project, note) in [("p1", "one"), ("p2", "two"), ("p1", "three")] {
        run(project, note);
    }
    assert!(site.remote_file(BRANCH, &format!("p2/{NOTES}")).contains("\ntwo\n"));
    assert!(site.remote_file(BRANCH, &format!("p1/{NOTES}")).contains("\nthree\n"));
}

/// git removes the directories when the old branch is checked out again; that does not delete the memory.
#[test]
fn checking_out_the_memory_branch_does_not_delete_the_memory() {
    let site = Site::new(CONFIG);
    site.world.run(&["run", "--note", "one"]).expect(0);
    site.world.git(&["checkout", "--quiet", "--force", BRANCH]);
    site.world.git(&["checkout", "--quiet", "main"]);
    assert!(!site.world.exists("memory"));
    let output = site.world.run(&["run", "--note", "two"]).expect(0);
    assert!(output.stderr.contains("restored from the branch"), "{}", output.stderr);
    let notes = site.remote_file(BRANCH, NOTES);
    assert!(notes.contains("\none\n") && notes.contains("\ntwo\n"), "{notes}");
}

/// The files of another checked-out branch know nothing of what was said on `main`.
#[test]
fn memory_on_a_branch_that_is_not_checked_out_is_only_added_to() {
    let site = Site::new(PYTHON);
    site.world.git(&["branch", "feature"]);
    site.world.run(&["run", "--note", "one"]).expect(0);
    site.world.run(&["run", "--note", "two"]).expect(0);
    site.world.git(&["checkout", "--quiet", "feature"]);
    site.world.run(&["run", "--note", "three"]).expect(0);
    let notes = site.remote_file("main", NOTES);
    assert!(["one", "two", "three"].iter().all(|note| notes.contains(&format!("\n{note}\n"))), "{notes}");
}

#[test]
fn a_rebase_is_waited_for_although_nothing_is_checked_out_meanwhile() {
    let site = Site::new(PYTHON);
    site.world.git(&["checkout", "--quiet", "-b", "other"]);
    site.world.write("src.txt", "other\n");
    site.world.git(&["commit", "--quiet", "-am", "other"]);
    site.world.git(&["checkout", "--quiet", "main"]);
    site.world.write("src.txt", "main\n");
    site.world.git(&["commit", "--quiet", "-am", "main"]);
    let rebase = site.world.clean("git").args(["rebase", "--quiet", "other"]).output().unwrap();
    assert!(!rebase.status.success());
    let output = site.world.run(&["run", "--note", "x"]).expect(1);
    assert!(output.stderr.contains("a rebase is in progress"), "{}", output.stderr);
    site.world.write("src.txt", "both\n");
    site.world.git(&["add", "src.txt"]);
    site.world.git(&["-c", "core.editor=true", "rebase", "--continue"]);
    site.world.run(&["run", "--resume"]).expect(0);
}

/// A commit of ours that the user amended has code of theirs in it, whatever its message says.
#[test]
fn an_amended_commit_is_not_pushed() {
    let site = Site::new(PYTHON);
    site.world.run(&["run", "--note", "x", "--no-push"]).expect(0);
    site.world.write("work.rs", "not ready");
    site.world.git(&["add", "work.rs"]);
    site.world.git(&["commit", "--quiet", "--amend", "--no-edit"]);
    site.world.run(&["run", "--note", "y"]).expect(0);
    assert!(site.remote_file("main", NOTES).contains("\ny\n"));
    assert!(!site.remote_git(&["ls-tree", "-r", "--name-only", "main"]).contains("work.rs"));
    assert!(!site.remote_git(&["log", "--name-only", "--format=", "main"]).contains("work.rs"));
}

#[test]
fn published_bytes_ignore_git_attributes_and_settings() {
    let site = Site::new(CONFIG);
    site.world.write(".gitattributes", "*.md filter=shout text eol=crlf\n");
    site.world.git(&["config", "filter.shout.clean", "touch \"$HOME/filter-ran\"; tr a-z A-Z"]);
    site.world.git(&["config", "core.ignoreStat", "true"]);
    site.world.git(&["config", "core.autocrlf", "true"]);
    for note in ["one\r\ntwo", "three"] {
        let mut command = site.world.command(&["run", "--note", note]);
        finish(command.env("GIT_LITERAL_PATHSPECS", "1")).expect(0);
        assert_eq!(site.remote_file(BRANCH, NOTES), site.world.read(NOTES));
    }
    assert!(!site.world.home().join("filter-ran").exists(), "a program of the user's ran");
    // A repository of its own cannot be published, and is not said to be.
    site.world.git(&["init", "--quiet", "memory"]);
    let output = site.world.run(&["run", "--note", "four"]).expect(1);
    assert!(output.stderr.contains("is a git repository of its own"), "{}", output.stderr);
}

#[test]
fn a_pull_or_a_run_without_push_does_not_forget_what_is_due() {
    let config = CONFIG.replace("kind = \"publish\"\n", "kind = \"publish\"\non_failure = \"continue\"\n");
    for arguments in [&["pull"][..], &["run", "--note", "y", "--no-push"]] {
        let site = Site::new(&config);
        site.break_remote();
        site.world.run(&["run", "--note", "x"]).expect(0).stderr_ignored("the remote is not there");
        site.repair_remote();
        site.world.run(arguments).expect(0);
        assert!(site.world.run(&["check"]).expect(2).stdout.contains("a push is due"), "{arguments:?}");
    }
}

#[test]
fn a_pull_that_fails_makes_no_push_due() {
    let site = Site::new(&CONFIG.replace("type", "branch = \"main\"\ntype"));
    site.world.run(&["run", "--note", "x"]).expect(0);
    let refused = site.world.run(&["pull"]).expect(1);
    assert!(refused.stderr.contains("holds the code, too"), "{}", refused.stderr);
    let check = site.world.run(&["check"]).expect(2);
    assert!(!check.stdout.contains("due"), "{}", check.stdout);
}

#[test]
fn remotes_by_address_partial_clones_and_empty_ones() {
    let site = Site::new(CONFIG);
    let by_address = CONFIG.replace("timeout", &format!("remote = \"{}\"\ntimeout", site.remote.display()));
    site.world.write("handover.toml", &by_address);
    site.world.run(&["run", "--note", "one"]).expect(0);
    site.world.run(&["pull"]).expect(0);
    // A clone without blobs, which has to fetch what it merges.
    site.remote_git(&["config", "uploadpack.allowFilter", "true"]);
    site.remote_git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let partial = World::new();
    let url = format!("file://{}", site.remote.display());
    partial.git(&["clone", "--quiet", "--filter=blob:none", &url, "."]);
    partial.write("handover.toml", CONFIG);
    partial.run(&["pull"]).expect(0);
    assert!(partial.read(NOTES).contains("\none\n"));
    // The branch with the code on it, on a remote that has nothing, and nothing of the user's in between.
    let world = World::new();
    let remote = world.home().join("empty.git");
    world.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    world.git(&["init", "--quiet", "--initial-branch=main"]);
    world.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    world.write("handover.toml", PYTHON);
    let output = world.run(&["run", "--note", "x"]).expect(0);
    assert!(output.stderr.contains("is on origin/main"), "{}", output.stderr);
}

/// The user's own idea of where the remote is stays as it was: `--force-with-lease` depends on it.
#[test]
fn a_fetch_moves_no_ref_of_the_users() {
    let site = Site::new(PYTHON);
    site.world.run(&["run", "--note", "one"]).expect(0);
    let other = site.world.home().join("other");
    site.world.git(&["clone", "--quiet", site.remote.to_str().unwrap(), other.to_str().unwrap()]);
    let in_other = ["-C", other.to_str().unwrap(), "-c", "user.name=o", "-c", "user.email=o@o"];
    site.world.git(&[&in_other[..], &["commit", "--quiet", "--allow-empty", "-m", "theirs"]].concat());
    site.world.git(&[&in_other[..], &["push", "--quiet", "origin", "main"]].concat());
    let before = site.world.git(&["for-each-ref", "refs/remotes"]);
    site.world.run(&["run", "--note", "two"]).expect(0);
    assert_eq!(site.world.git(&["for-each-ref", "refs/remotes"]), before);
}

#[test]
fn a_branch_name_taken_by_a_directory_is_reported() {
    let site = Site::new(CONFIG);
    site.world.git(&["branch", "agent-handover/foo"]);
    let output = site.world.run(&["run", "--note", "x"]).expect(1);
    assert!(output.stderr.contains("git cannot have both"), "{}", output.stderr);
}
