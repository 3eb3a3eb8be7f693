//! What `collect` finds in repositories of every shape.

use std::os::unix::ffi::OsStrExt;

use snapbox::{assert_data_eq, str};

use super::support::*;

/// Shows everything that was collected.
const SHOW: &str = r#"
[[step]]
name = "facts"
kind = "collect"
[[step]]
name = "show"
kind = "state"
content = """
branch {{ branch }}
head {{ head[:7] }} base {{ base[:7] }}
{% for c in commits %}commit {{ c.subject }} by {{ c.author }}
{% endfor %}{% for c in changes %}change {{ c.status }} {{ c.path }}{% if c.from %} from {{ c.from }}{% endif %}
{% endfor %}{% for c in dirty %}dirty {{ c.status }} {{ c.path }}
{% endfor %}"""
"#;

impl World {
    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["-c", "user.name=Ann", "-c", "user.email=ann@example", "commit", "-qm", message, "--allow-empty"]);
    }

    /// What was collected, without ids.
    fn collected(&self) -> String {
        let state = self.read(STATE);
        state.lines().skip(1).map(|line| format!("{line}\n")).collect()
    }

    fn facts(&self) -> serde_json::Value {
        let query = "SELECT result FROM step WHERE kind = 'collect' ORDER BY run DESC LIMIT 1";
        let text: String = self.database().query_row(query, [], |row| row.get(0)).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn notices(&self) -> String {
        self.facts()["result"]["notices"].as_array().unwrap().iter().map(|notice| notice.as_str().unwrap()).collect()
    }
}

/// A repository with two commits between two handovers, and a third file not committed.
fn repository() -> World {
    let world = World::with_git();
    world.git(&["checkout", "-q", "-b", "work"]);
    world.write("handover.toml", SHOW);
    world.write("kept", "1\n2\n3\n4\n5\n");
    world.write("moved", "some text that is long enough to be recognised\n".repeat(5));
    world.commit("before");
    world.run(&["run"]).expect(0);
    world
}

#[test]
fn commits_and_changes_since_the_last_handover_are_found() {
    let world = repository();
    world.write("kept", "changed\n");
    std::fs::rename(world.path("moved"), world.path("moved here")).unwrap();
    world.commit("first: change");
    world.write("new\nline \"quoted\" ünï", "x");
    world.commit("second");
    world.write("kept", "changed again\n");
    world.write("untracked", "");
    world.run(&["run"]).expect(0);
    assert_data_eq!(
        world.collected(),
        str![[r#"
branch work
head [..] base [..]
commit second by Ann
commit first: change by Ann
change M kept
change R moved here from moved
change A new
line "quoted" ünï
dirty M kept
dirty ? untracked

"#]]
    );
    // The next session begins here.
    world.git(&["checkout", "-q", "--", "."]);
    std::fs::remove_file(world.path("untracked")).unwrap();
    world.run(&["run"]).expect(0);
    assert_data_eq!(
        world.collected(),
        str![[r#"
branch work
head [..] base [..]

"#]]
    );
}

#[test]
fn what_is_committed_after_the_record_belongs_to_the_next_session() {
    let world = repository();
    world.commit("mine");
    let mut command = world.command(&["run"]);
    finish(command.env("AGENT_HANDOVER_TEST_FAULT", "checkpoint.recorded:1=kill")).expect(137);
    world.commit("of the next session");
    world.run(&["run", "--resume"]).expect(0);
    let collected = world.collected();
    assert!(collected.contains("commit mine") && !collected.contains("commit of the next session"), "{collected}");
    world.run(&["run"]).expect(0);
    assert!(world.collected().contains("commit of the next session"));
}

#[test]
fn rewritten_history_is_counted_from_the_merge_base_and_reported() {
    let world = repository();
    world.commit("will be rewritten");
    world.run(&["run"]).expect(0);
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    world.write("rewritten", "");
    world.commit("rewritten");
    world.run(&["run"]).expect(0);
    let collected = world.collected();
    assert!(collected.contains("commit rewritten") && !collected.contains("will be"), "{collected}");
    assert!(world.notices().contains("history was rewritten since the last handover: counted from the merge base"));
}

#[test]
fn a_base_that_is_gone_or_is_no_object_id_is_not_used() {
    let world = repository();
    for base in ["f".repeat(40), "HEAD~1".to_owned(), "--output=pwned".to_owned(), String::new()] {
        world.database().execute("UPDATE run SET head = ?1", [&base]).unwrap();
        world.commit("more");
        world.run(&["run"]).expect(0);
        assert!(!world.collected().contains("commit "), "{base}: {}", world.collected());
        assert!(!world.exists("pwned"));
    }
}

#[test]
fn repositories_of_every_shape_work() {
    // Without git at all.
    let world = World::with_config(SHOW);
    world.run(&["run", "--note", "n"]).expect(0);
    assert!(world.facts()["facts"]["branch"].is_null());
    // Without a commit.
    let world = World::with_git();
    world.git(&["checkout", "-q", "-b", "unborn"]);
    world.write("handover.toml", SHOW);
    world.run(&["run", "--note", "n"]).expect(0);
    assert!(world.collected().contains("branch unborn\n"), "{}", world.collected());
    assert!(world.collected().contains("dirty ? handover.toml"), "{}", world.collected());
    // With a detached HEAD.
    let world = repository();
    world.git(&["checkout", "-q", "--detach"]);
    world.commit("detached");
    world.run(&["run"]).expect(0);
    assert!(world.collected().starts_with("branch \n") && world.collected().contains("commit detached"));
    // With a name that is not UTF-8.
    let world = repository();
    std::fs::write(world.root().join(std::ffi::OsStr::from_bytes(b"bad\xffname")), "").unwrap();
    world.commit("odd");
    world.run(&["run"]).expect(0);
    assert!(world.collected().contains("change A bad\u{fffd}name"), "{}", world.collected());
}

#[test]
fn clones_worktrees_submodules_and_sparse_checkouts_work() {
    let origin = repository();
    for n in 0..5 {
        origin.write(&format!("dir{n}/file"), "x");
        origin.commit(&format!("number {n}"));
    }
    let url = format!("file://{}", origin.root().display());
    // A shallow clone knows little of the past.
    let world = World::new();
    std::fs::remove_dir(world.root()).unwrap();
    let cloned = world
        .clean("git")
        .current_dir(world.home())
        .args(["clone", "-q", "--depth", "2", &url])
        .arg(world.root())
        .status();
    assert!(cloned.unwrap().success());
    world.run(&["run"]).expect(0);
    let past = origin.git(&["rev-parse", "HEAD~4"]);
    world.database().execute("UPDATE run SET head = ?1", [past.trim()]).unwrap();
    world.commit("in the clone");
    world.run(&["run"]).expect(0);
    assert!(world.notices().contains("is not known here"), "{}", world.notices());
    // Where most of the tree is not checked out, what is not there is not missing.
    world.git(&["sparse-checkout", "set", "dir1"]);
    world.run(&["run"]).expect(0);
    assert!(!world.collected().contains("dirty D"), "{}", world.collected());
    // A worktree has a HEAD of its own, and the memory of the repository.
    origin.git(&["worktree", "add", "-q", "../tree", "-b", "side"]);
    let tree = origin.root().with_file_name("tree");
    finish(origin.command(&["run"]).current_dir(&tree)).expect(0);
    let state = origin.read(STATE);
    assert!(state.contains("branch side\n"), "{state}");
    // A submodule that changed is a change.
    let world = repository();
    world.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "sub"]);
    world.commit("with a submodule");
    world.run(&["run"]).expect(0);
    assert!(world.collected().contains("change A sub\n"), "{}", world.collected());
}

#[test]
fn a_huge_change_is_bounded() {
    let world = repository();
    for n in 0..700 {
        world.write(&format!("many/{n}"), "x");
    }
    world.commit("many files");
    for n in 0..700 {
        world.write(&format!("dirty{n}"), "x");
    }
    world.run(&["run"]).expect(0);
    let facts = world.facts();
    assert_eq!(facts["facts"]["changes"].as_array().unwrap().len(), 500);
    assert_eq!(facts["facts"]["dirty"].as_array().unwrap().len(), 500);
    assert!(world.notices().contains("only the first 500 changed files are listed"));
}

#[test]
fn a_session_without_a_note_leaves_what_git_knows() {
    let world = World::with_git();
    world.commit("before");
    world.run(&["run"]).expect(0);
    assert!(!world.exists("memory"), "nothing happened, so there is nothing to say");
    world.write("a", "");
    world.commit("did <!-- /note --> something");
    let output = world.run(&["run"]).expect(0);
    assert_eq!(output.stdout, "handover steps executed: facts, note, state, history, publish\n");
    let notes = world.read(NOTES);
    assert!(notes.contains("(made from git; the session gave no note)\n"), "{notes}");
    assert!(notes.contains("did <!-- /note --> something\n") && notes.contains("\n- A a\n"), "{notes}");
    assert_eq!(notes.matches("\n<!-- /note -->\n").count(), 2, "the note, and the change of the state");
}

#[test]
fn neither_hooks_nor_programs_of_the_users_config_are_run() {
    let world = repository();
    let trap = format!("touch {}", world.home().join("trapped").display());
    world.git(&["config", "core.fsmonitor", &trap]);
    world.git(&["config", "core.pager", &trap]);
    world.git(&["config", "diff.external", &trap]);
    world.git(&["config", "log.showSignature", "true"]);
    world.git(&["config", "gpg.program", &trap]);
    world.write("kept", "changed");
    world.git(&["-c", "core.fsmonitor=false", "add", "-A"]);
    world.git(&["-c", "core.fsmonitor=false", "-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", "x"]);
    let _ = std::fs::remove_file(world.home().join("trapped"));
    world.run(&["run"]).expect(0);
    assert!(world.collected().contains("change M kept"), "{}", world.collected());
    assert!(!world.home().join("trapped").exists());
}

#[test]
fn without_git_on_the_path_a_repository_is_still_handed_over() {
    let world = repository();
    // The lines that keep our directories out are gone, and only git can write them again where it wants them.
    std::fs::remove_file(world.path(".git/info/exclude")).unwrap();
    let empty = world.home().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let output = finish(world.command(&["run", "--note", "n"]).env("PATH", &empty)).expect(0);
    assert!(output.stderr.contains("git facts are incomplete: cannot start `git`"), "{}", output.stderr);
    assert!(output.stderr.contains("the memory directories will show up in `git status`"), "{}", output.stderr);
}

#[test]
fn an_answer_of_many_megabytes_is_cut_and_the_rest_is_still_known() {
    let world = repository();
    let long = "x".repeat(200);
    for n in 0..120 {
        world.write(&format!("{n}/{long}/{long}"), "");
    }
    world.commit("many long names");
    // As long as 25,000 files would make it, without making them.
    let path = world.stand_in_for_git(
        "case \"$*\" in *diff-tree*) n=0; while test $n -lt 250; do $GIT \"$@\"; n=$((n + 1)); done;; *) exec $GIT \"$@\";; esac",
    );
    finish(world.command(&["run"]).env("PATH", path)).expect(0);
    let facts = world.facts();
    assert_eq!(facts["facts"]["changes"].as_array().unwrap().len(), 500);
    assert_eq!(facts["facts"]["commits"].as_array().unwrap().len(), 1);
    assert!(!world.notices().contains("incomplete"), "{}", world.notices());
}

#[test]
fn a_process_left_by_git_is_not_waited_for() {
    let world = repository();
    // No other process sleeps for exactly this long.
    let sleeper = format!("sleep 600.{:09}", std::process::id());
    let global = world.home().join("gitconfig");
    let filter = format!("[filter \"x\"]\n\tclean = \"setsid {sleeper} >/dev/null & cat\"\n");
    std::fs::write(&global, filter).unwrap();
    world.write(".gitattributes", "kept filter=x\n");
    world.write("kept", "changed");
    // The test ends, so it was not waited for; the sleeper is ended by its name.
    finish(world.command(&["run"]).env("GIT_CONFIG_GLOBAL", &global)).expect(0);
    let _ = std::process::Command::new("pkill").args(["-f", &sleeper]).status();
    assert!(world.collected().contains("dirty M kept"), "{}", world.collected());
}

#[test]
fn a_git_that_hangs_does_not_keep_a_hook_waiting() {
    let world = repository();
    let path = world.stand_in_for_git("exec sleep 600");
    let detached = finish(world.command(&["run", "--detach", "--note", "n"]).env("PATH", path)).expect(0);
    // It has returned, although nobody has answered it yet; its child is still asking.
    world.run(&["check"]).expect(4);
    let pid = detached.stdout.split("(pid ").nth(1).unwrap().trim_end().trim_end_matches(')');
    signal(pid.parse().unwrap(), "TERM");
    wait_until("the child to stop", || world.run(&["check"]).code == 1);
}

#[test]
fn a_commit_that_git_did_not_name_in_time_is_not_called_missing() {
    let world = repository();
    // Without the line break, only git knows what is checked out.
    let head = world.read(".git/HEAD");
    world.write(".git/HEAD", head.trim_end());
    let late = "[ -e \"$HOME/late\" ] || { : > \"$HOME/late\"; sleep 600; }";
    let path = world.stand_in_for_git(&format!("case \"$*\" in *HEAD^*) {late};; esac\nexec \"$GIT\" \"$@\""));
    let output = finish(world.command(&["run", "--note", "n"]).env("PATH", path)).expect(0);
    assert!(world.home().join("late").exists(), "git was asked for the commit");
    assert!(!output.seen().contains("without a commit"), "{}", output.seen());
    assert!(world.notices().contains("git did not name the commit"), "{}", world.notices());
}

#[test]
fn a_commit_that_git_cannot_read_is_not_called_missing() {
    let world = repository();
    let id = world.git(&["rev-parse", "HEAD"]);
    std::fs::remove_file(world.path(&format!(".git/objects/{}/{}", &id[..2], id[2..].trim()))).unwrap();
    let output = world.run(&["run", "--note", "n"]).expect(0);
    assert!(!output.seen().contains("without a commit"), "{}", output.seen());
    assert!(world.notices().contains("git did not name the commit"), "{}", world.notices());
}
