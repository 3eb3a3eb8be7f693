//! Files and directories that this user may not write: words are kept where that is possible, every message leads out, and
//! `doctor` names the file.

use std::process::Command;

use super::support::*;

const NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];

/// A project of a user to whom permissions apply. As root, that is the user nobody; `None` where root cannot become nobody.
fn world() -> Option<World> {
    let world = World::new();
    let root = rustix::process::geteuid().is_root();
    if root {
        let _ = finish(world.clean("chown").args(["-R", "65534:65534"]).arg(world.home().parent().unwrap())).expect(0);
        if !is_installed("setpriv") || finish(&mut command(&world, &["--version"])).code != 0 {
            skip("root cannot run the program as another user");
            return None;
        }
    }
    give(&world, &["run", "--quiet", "--note", "first words"]).expect(0);
    Some(world)
}

fn command(world: &World, arguments: &[&str]) -> Command {
    let ours = world.command(arguments);
    if !rustix::process::geteuid().is_root() {
        return ours;
    }
    let mut command = world.clean("setpriv");
    command.args(NOBODY).arg(BINARY).args(arguments);
    command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

#[must_use = "the exit code was not looked at"]
fn give(world: &World, arguments: &[&str]) -> Output {
    finish(&mut command(world, arguments))
}

/// Changes the permissions of a path and of everything below it.
fn change(world: &World, mode: &str, path: &str) {
    let _ = finish(world.clean("chmod").args(["-R", mode]).arg(world.path(path))).expect(0);
}

#[test]
fn without_a_writable_state_of_the_user_a_handoff_reaches_the_current_state() {
    let Some(world) = world() else { return };
    change(&world, "a-w", "../home/.local/state");
    let create = ["history", "create", "--goal", "the parser", "--next", "Fix the lexer"];
    let created = give(&world, &create).expect(0).stderr;
    assert!(created.contains("this handoff will be shown as if it came with the repository: cannot "), "{created}");
    assert!(!created.contains("the current state does not have it yet"), "{created}");
    assert!(world.read(STATE).contains("the parser") && world.read(STATE).contains("Fix the lexer"));
    give(&world, &["check"]).expect(2);
    let report = give(&world, &["doctor"]).expect(0).stdout;
    assert!(report.contains(": what you hand over is shown as if it came with the repository\n"), "{report}");
    change(&world, "u+w", "../home/.local/state");
    assert!(!give(&world, &["doctor"]).expect(0).stdout.contains("came with the repository"));
}

#[test]
fn doctor_names_each_file_that_cannot_be_written_and_nothing_else() {
    let Some(world) = world() else { return };
    let cases = [
        (".agent-handover/lock", "lock: ", 74),
        (".agent-handover/checkpoint.db", "database: ", 74),
        ("memory", "memory: ", 74),
        (".agent-history/sessions", "history: ", 74),
    ];
    for (number, (path, about, code)) in cases.into_iter().enumerate() {
        change(&world, "a-w", path);
        let report = give(&world, &["doctor"]).expect(5).stdout;
        let broken: Vec<&str> = report.lines().filter(|line| line.starts_with("BROKEN ")).collect();
        assert_eq!(broken.len(), 1, "{path}: {report}");
        assert!(broken[0].contains(about) && broken[0].contains(path), "{path}: {report}");
        let failed = give(&world, &["run", "--note", &format!("words {number}")]).expect(code).stderr;
        assert!(failed.contains("hint: "), "{path}: {failed}");
        change(&world, "u+w", path);
        give(&world, &["run", "--resume"]).expect(0).stderr_ignored("progress");
    }
    // Only the database could not take the words.
    for (number, count) in [(0, 1), (1, 0), (2, 1), (3, 1)] {
        assert_eq!(world.read(NOTES).matches(&format!("\nwords {number}\n")).count(), count, "words {number}");
    }
    assert!(!give(&world, &["doctor"]).expect(0).stdout.contains("BROKEN"));
}

/// SQLite keeps the files that it needs, so a handover works in a directory in which nothing new can be made.
#[test]
fn a_state_directory_in_which_nothing_can_be_made_is_not_called_broken() {
    let Some(world) = world() else { return };
    let _ = finish(world.clean("chmod").arg("0555").arg(world.path(".agent-handover"))).expect(0);
    give(&world, &["run", "--quiet", "--note", "more words"]).expect(0);
    let report = give(&world, &["doctor"]).expect(0).stdout;
    assert!(report.contains("checkpoint.db is sound, but nothing new can be made in "), "{report}");
    change(&world, "u+w", ".agent-handover");
}

#[test]
fn a_lock_that_cannot_be_opened_is_named_with_the_way_out() {
    let Some(world) = world() else { return };
    change(&world, "a-w", ".agent-handover/lock");
    for arguments in [&["run", "--resume"][..], &["run", "--abandon"], &["run", "--detach", "--note", "x"]] {
        let stderr = give(&world, arguments).expect(74).stderr;
        assert!(stderr.contains("writable for you, or remove it while no handover is running\n"), "{stderr}");
    }
    std::fs::remove_file(world.path(".agent-handover/lock")).unwrap();
    give(&world, &["run", "--resume"]).expect(0);
}

/// SQLite needs a file of shared memory beside the database. A backup or a copy on a read-only disk has none.
#[test]
fn a_database_in_a_directory_that_cannot_be_written_is_read_without_its_shared_memory() {
    let Some(world) = world() else { return };
    std::fs::remove_file(world.path(".agent-handover/checkpoint.db-shm")).unwrap();
    change(&world, "a-w", ".agent-handover");
    let before = world.everything();
    give(&world, &["check"]).expect(2);
    let status = give(&world, &["status"]).expect(0).stdout;
    assert!(status.contains("status: completed"), "{status}");
    assert_eq!(world.everything(), before, "reading changes nothing");
    assert_eq!(std::fs::read_dir(world.path("../tmp")).unwrap().count(), 0, "the copy is gone");
    change(&world, "u+w", ".agent-handover");
    give(&world, &["run", "--quiet", "--note", "more words"]).expect(0);
}

/// Without a durable id the next command would take the new database for a stranger's.
#[test]
fn a_new_database_whose_id_can_be_kept_nowhere_is_not_made() {
    let Some(world) = world() else { return };
    std::fs::remove_dir_all(world.path(".agent-handover")).unwrap();
    change(&world, "a-w", "../home/.local/state/agent-handover");
    change(&world, "a-w", "../tmp");
    let failed = give(&world, &["run", "--note", "more words"]);
    assert_ne!(failed.code, 0);
    let sentence = "the id of this project's database cannot be kept in your own state";
    assert!(failed.stderr.contains(sentence), "{}", failed.stderr);
    change(&world, "u+w", "../home/.local/state/agent-handover");
    change(&world, "u+w", "../tmp");
    give(&world, &["run", "--note", "more words"]).expect(0).stderr_ignored("progress");
    assert_eq!(world.read(NOTES).matches("\nmore words\n").count(), 1);
    give(&world, &["check"]).expect(2);
}

#[test]
fn a_child_whose_log_cannot_be_written_is_not_started_and_the_words_wait() {
    let Some(world) = world() else { return };
    std::fs::create_dir(world.path(".agent-handover/log")).unwrap();
    change(&world, "a-w", ".agent-handover/log");
    let failed = give(&world, &["run", "--detach", "--note", "more words"]);
    assert_ne!(failed.code, 0, "{}", failed.seen());
    assert!(failed.stderr.contains(".agent-handover/log"), "{}", failed.stderr);
    give(&world, &["check"]).expect(1);
    std::fs::remove_dir(world.path(".agent-handover/log")).unwrap();
    give(&world, &["run", "--resume"]).expect(0).stderr_ignored("progress");
    assert_eq!(world.read(NOTES).matches("\nmore words\n").count(), 1);
}

#[test]
fn a_handoff_is_archived_although_the_memory_cannot_be_written() {
    let Some(world) = world() else { return };
    change(&world, "a-w", "memory");
    let created = give(&world, &["history", "create", "--goal", "the parser", "--next", "Fix the lexer"]).expect(0);
    assert!(created.stderr.contains("the current state does not have it yet"), "{}", created.stderr);
    change(&world, "u+w", "memory");
    let listed = give(&world, &["history", "list"]).expect(0).stdout;
    assert!(listed.contains("the parser"), "{listed}");
    give(&world, &["check"]).expect(2);
}
