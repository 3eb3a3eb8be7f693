//! Handovers on the checked-out branch in the middle of a merge, rebase or pick of the user's, and what the user's git does
//! to our files then: nothing that was said is lost, doubled, or reported as published while it is not.

use super::publish::Site;
use super::support::*;

const CONFIG: &str = "[backend]\ntype = \"git\"\nbranch = \"main\"\ntimeout = \"20s\"\n[[step]]\nname = \"note\"\n\
    kind = \"note\"\n[[step]]\nname = \"state\"\nkind = \"state\"\n[[step]]\nname = \"history\"\nkind = \"history\"\n\
    [[step]]\nname = \"publish\"\nkind = \"publish\"\n";

/// What the user is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Merge,
    Pick,
    /// On a branch that has the memory.
    Rebase,
    /// On a branch from before the memory: git takes the files away meanwhile.
    RebaseOnOld,
}

/// A site whose user has a conflict in the code, after one handover, and with a second one that could not be published.
fn site_in(work: Work) -> Site {
    let site = Site::new(CONFIG);
    let world = &site.world;
    if work == Work::RebaseOnOld {
        branch_off(world);
    }
    world.run(&["run", "--note", "one", "--current-state", "state one"]).expect(0);
    if work != Work::RebaseOnOld {
        branch_off(world);
    }
    world.write("src.txt", "main\n");
    world.git(&["commit", "--quiet", "-am", "main"]);
    let begin: &[&str] = match work {
        Work::Merge => &["merge", "--quiet", "side"],
        Work::Pick => &["cherry-pick", "side"],
        Work::Rebase | Work::RebaseOnOld => &["rebase", "--quiet", "side"],
    };
    assert!(!world.clean("git").args(begin).output().unwrap().status.success(), "{work:?} has a conflict");
    let output = world.run(&["run", "--note", "two", "--current-state", "state two"]).expect(1);
    assert!(output.stderr.contains("is in progress"), "{}", output.stderr);
    site
}

fn branch_off(world: &World) {
    world.git(&["checkout", "--quiet", "-b", "side"]);
    world.write("src.txt", "side\n");
    world.git(&["commit", "--quiet", "-am", "side"]);
    world.git(&["checkout", "--quiet", "main"]);
}

#[track_caller]
fn assert_published(site: &Site, case: &str, notes: &[&str], state: &str) {
    let world = &site.world;
    let count = |text: &str, note: &str| text.matches(&format!("\n{note}\n<!-- /note -->")).count();
    let (here, there) = (world.read(NOTES), site.remote_file("main", NOTES));
    for note in notes {
        assert_eq!((count(&here, note), count(&there, note)), (1, 1), "{case}: {note}\n{here}\n---\n{there}");
    }
    assert!(world.read(STATE).contains(&format!("\n{state}\n")), "{case}: {}", world.read(STATE));
    assert_eq!(site.remote_file("main", STATE), world.read(STATE), "{case}");
    let sessions = world.tree().into_keys().filter(|path| path.contains("/sessions/")).count();
    assert_eq!(sessions, notes.len(), "{case}");
    world.run(&["history", "validate", "--sessions"]).expect(0);
    assert_eq!(world.git(&["status", "--porcelain", "memory", ".agent-history"]), "", "{case}");
    world.run(&["check"]).expect(2);
}

/// Brings a world on with the next command of ours, and looks for all that was said.
#[track_caller]
fn assert_nothing_is_lost(site: &Site, case: &str, number: usize) {
    if number.is_multiple_of(2) {
        site.world.run(&["push"]).expect(0).stderr_ignored("it may say what was restored");
        assert_published(site, case, &["one", "two"], "state two");
    }
    let output = site.world.run(&["run", "--note", "three", "--current-state", "state three"]).expect(0);
    drop(output.stderr_ignored("it may say what was restored"));
    assert_published(site, case, &["one", "two", "three"], "state three");
    // What was kept is delivered, so nothing is kept any more.
    assert_eq!(site.world.git(&["for-each-ref", "refs/agent-handover/kept"]), "", "{case}");
}

#[test]
fn what_was_said_during_the_users_work_survives_its_end() {
    const RESET: &[&str] = &["reset", "--quiet", "--hard"];
    const STASH: &[&str] = &["stash", "--quiet", "--include-untracked"];
    const AWAY: &[&str] = &["checkout", "--quiet", "--force", "side"];
    const BACK: &[&str] = &["checkout", "--quiet", "--force", "main"];
    const END_OF_REBASE: &[&str] = &["rebase", "--abort"];
    let cases: [(Work, &[&[&str]]); 9] = [
        (Work::Merge, &[&["merge", "--abort"]]),
        (Work::Merge, &[RESET]),
        (Work::Merge, &[&["add", "src.txt"], STASH]),
        (Work::Merge, &[AWAY, BACK]),
        (Work::Pick, &[&["cherry-pick", "--abort"]]),
        (Work::Rebase, &[END_OF_REBASE]),
        (Work::Rebase, &[&["add", "src.txt"], STASH, END_OF_REBASE]),
        (Work::RebaseOnOld, &[END_OF_REBASE]),
        (Work::RebaseOnOld, &[RESET, END_OF_REBASE]),
    ];
    for (number, (work, commands)) in cases.into_iter().enumerate().step_by(stride(2)) {
        let site = site_in(work);
        for command in commands {
            site.world.git(command);
        }
        assert_nothing_is_lost(&site, &format!("{work:?}, {commands:?}"), number);
    }
}

#[test]
fn what_the_user_finishes_or_removes_stays_as_the_user_left_it() {
    // The notes travel with the user's own commit, which the user then takes back.
    let site = site_in(Work::Rebase);
    let world = &site.world;
    world.write("src.txt", "both\n");
    world.git(&["add", "--all", "src.txt", "memory", ".agent-history"]);
    world.git(&["-c", "core.editor=true", "rebase", "--continue"]);
    assert!(world.read(NOTES).contains("\ntwo\n"));
    world.git(&["rm", "--quiet", NOTES]);
    world.git(&["commit", "--quiet", "-m", "no notes"]);
    world.run(&["push"]).expect(0).stderr_ignored("it may say that commits travel");
    assert!(!world.exists(NOTES), "{}", world.read(NOTES));
    // The file had one note of the commit before, and one that was only kept.
    let site = site_in(Work::Merge);
    let world = &site.world;
    world.git(&["merge", "--abort"]);
    world.git(&["rm", "--quiet", "--force", NOTES]);
    world.git(&["commit", "--quiet", "-m", "no notes"]);
    world.run(&["push"]).expect(0).stderr_ignored("it may say that commits travel");
    assert!(!world.exists(NOTES), "{}", world.read(NOTES));
}

#[test]
fn an_item_deleted_after_it_was_kept_stays_deleted() {
    let site = site_in(Work::Merge);
    let world = &site.world;
    let answer = world.run(&["memory", "add", "decision", "kept and deleted", "--json"]).expect(0).json();
    world.run(&["push"]).expect(1);
    world.run(&["memory", "delete", answer["added"]["id"].as_str().unwrap()]).expect(0);
    world.git(&["merge", "--abort"]);
    world.run(&["push"]).expect(0).stderr_ignored("it may say what was restored");
    let items = world.run(&["memory", "list", "--json"]).expect(0).json();
    assert_eq!(items["items"].as_array().unwrap().len(), 0, "{items}");
}

#[test]
fn a_commit_of_ours_that_a_reset_takes_from_the_branch_comes_back() {
    let site = Site::new(CONFIG);
    let world = &site.world;
    world.run(&["run", "--note", "one"]).expect(0);
    let before = world.git(&["rev-parse", "HEAD"]);
    world.git(&["remote", "set-url", "origin", "/nonexistent/remote.git"]);
    world.run(&["run", "--note", "two"]).expect(1);
    world.run(&["run", "--note", "three", "--current-state", "state three"]).expect(1);
    world.git(&["reset", "--quiet", "--hard", before.trim()]);
    assert!(!world.read(NOTES).contains("\ntwo\n"));
    world.git(&["remote", "set-url", "origin", world.home().join("remote.git").to_str().unwrap()]);
    world.run(&["push"]).expect(0).stderr_ignored("it may say what was restored");
    assert_published(&site, "reset of the branch", &["one", "two", "three"], "state three");
    // What the remote has is not kept: the user's next pull brings it.
    world.git(&["reset", "--quiet", "--hard", before.trim()]);
    world.run(&["push"]).expect(0).stderr_ignored("it may say that a pull brings more");
    assert_eq!(site.remote_file("main", NOTES).matches("\ntwo\n").count(), 1);
}

#[test]
fn conflicts_in_our_files_do_not_end_up_in_them() {
    let site = Site::new(CONFIG);
    let world = &site.world;
    world.run(&["run", "--note", "one", "--current-state", "state one"]).expect(0);
    // Both sides continue one file by hand.
    for branch in ["side", "main"] {
        world.git(&["checkout", "--quiet", "-B", branch, "main"]);
        world.write(NOTES, format!("{}by hand on {branch}\n", site.remote_file("main", NOTES)));
        world.git(&["commit", "--quiet", "-am", branch]);
        world.git(&["branch", "--quiet", "--force", &format!("of-{branch}")]);
        world.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    }
    world.git(&["checkout", "--quiet", "main"]);
    world.git(&["merge", "--quiet", "of-main"]);
    assert!(!world.clean("git").args(["merge", "of-side"]).output().unwrap().status.success());
    assert!(world.read(NOTES).contains("======="));
    for note in ["two", "three"] {
        world.run(&["run", "--note", note, "--current-state", &format!("state {note}")]).expect(1);
    }
    world.git(&["merge", "--abort"]);
    world.run(&["push"]).expect(0).stderr_ignored("it may say what was restored");
    assert_published(&site, "conflict", &["one", "two", "three"], "state three");
    let notes = world.read(NOTES);
    for (text, count) in [("=======", 0), ("by hand on main", 1), ("layer1 |", 1), ("replaced text", 2)] {
        assert_eq!(notes.matches(text).count(), count, "{text}: {notes}");
    }
}

/// A site with one handover, and a second one that was killed when it had recorded its `nth` intent.
fn site_killed_at(nth: usize) -> Site {
    let site = Site::new(CONFIG);
    site.world.run(&["run", "--note", "one", "--current-state", "state one"]).expect(0);
    let mut run = site.world.command(&["run", "--note", "two", "--current-state", "state two"]);
    finish(run.env("AGENT_HANDOVER_TEST_FAULT", format!("checkpoint.intended:{nth}=kill"))).expect(KILLED);
    site
}

#[test]
fn what_a_killed_run_had_written_comes_back_after_a_reset() {
    const RESET: &[&str] = &["reset", "--quiet", "--hard"];
    const STASH: &[&str] = &["stash", "--quiet", "--include-untracked"];
    const CLEAN: &[&str] = &["clean", "--quiet", "--force", "-d", ".agent-history"];
    let cases: [(usize, &[&[&str]]); 5] =
        [(2, &[RESET]), (3, &[RESET]), (4, &[RESET]), (4, &[RESET, CLEAN]), (4, &[STASH])];
    for (nth, commands) in cases {
        let site = site_killed_at(nth);
        for command in commands {
            site.world.git(command);
        }
        assert!(!site.world.read(NOTES).contains("\ntwo\n"), "git took it away");
        site.world.run(&["run", "--resume"]).expect(0).stderr_ignored("it says what is done again");
        assert_published(&site, &format!("{nth}, {commands:?}"), &["one", "two"], "state two");
    }
}

#[test]
fn what_a_person_takes_out_by_hand_does_not_come_back() {
    let site = site_killed_at(4);
    let world = &site.world;
    let notes = world.read(NOTES);
    let kept: String = notes.split_inclusive("<!-- /note -->\n").filter(|note| !note.contains("\ntwo\n")).collect();
    world.write(NOTES, format!("{kept}by hand\n"));
    world.run(&["run", "--resume"]).expect(0);
    assert!(!site.remote_file("main", NOTES).contains("\ntwo\n"), "{}", world.read(NOTES));
    assert!(site.remote_file("main", NOTES).contains("by hand\n"));
}

#[test]
fn what_commands_wrote_comes_back_after_a_reset() {
    let site = Site::new(CONFIG);
    let world = &site.world;
    world.run(&["run", "--note", "one"]).expect(0);
    for text in ["first", "second"] {
        world.run(&["memory", "add", "decision", text]).expect(0);
        world.git(&["reset", "--quiet", "--hard"]);
    }
    assert!(!world.read(STATE).contains("first"), "git took it away");
    world.run(&["push"]).expect(0).stderr_ignored("it may say what was restored");
    let state = site.remote_file("main", STATE);
    assert_eq!((state.matches("first").count(), state.matches("second").count()), (1, 1), "{state}");
    assert_eq!(world.git(&["for-each-ref", "refs/agent-handover/kept"]), "");
}

#[test]
fn words_that_cannot_be_kept_are_not_reported_as_kept() {
    let site = site_in(Work::Merge);
    let world = &site.world;
    let output = world.run(&["push"]).expect(1);
    assert!(output.stderr.contains("what was said is kept"), "{}", output.stderr);
    // No ref can be made below a file.
    let refs = world.path(".git/refs/agent-handover");
    std::fs::remove_dir_all(&refs).unwrap();
    std::fs::write(&refs, "").unwrap();
    world.run(&["memory", "add", "decision", "said meanwhile"]).expect(0).stderr_ignored("it may say so, too");
    let output = world.run(&["push"]).expect(1);
    assert!(!output.stderr.contains("what was said is kept"), "{}", output.stderr);
    assert!(output.stderr.contains("what was said is only in memory .agent-history"), "{}", output.stderr);
}

#[test]
fn what_is_kept_survives_the_state_directory() {
    let site = site_in(Work::Merge);
    std::fs::remove_dir_all(site.world.path(".agent-handover")).unwrap();
    site.world.git(&["reset", "--quiet", "--hard"]);
    assert!(!site.world.read(NOTES).contains("two"), "git has taken it away");
    let output = site.world.run(&["run", "--note", "three", "--current-state", "state three"]).expect(0);
    drop(output.stderr_ignored("it may say what was restored"));
    assert_published(&site, "without the state directory", &["one", "two", "three"], "state three");
    assert_eq!(site.world.git(&["for-each-ref", "refs/agent-handover/kept"]), "");
}

#[test]
fn words_before_the_first_commit_are_kept_during_the_users_work() {
    let world = World::with_config(CONFIG);
    world.git(&["init", "--quiet", "--initial-branch=main"]);
    world.write(".git/BISECT_LOG", "");
    world.run(&["run", "--note", "said early"]).expect(1).stderr_ignored("a bisect is in progress");
    assert_ne!(world.git(&["for-each-ref", "refs/agent-handover/kept"]), "");
    for directory in ["memory", ".agent-history"] {
        std::fs::remove_dir_all(world.path(directory)).unwrap();
    }
    std::fs::remove_file(world.path(".git/BISECT_LOG")).unwrap();
    world.write("handover.toml", CONFIG.replace("timeout", "push = false\ntimeout"));
    world.run(&["run", "--note", "said later"]).stderr_ignored("the older run wants a remote");
    let notes = world.read(NOTES);
    for note in ["said early", "said later"] {
        assert_eq!(notes.matches(&format!("\n{note}\n")).count(), 1, "{note}: {notes}");
    }
}
