//! Memory that is kept in the user's own state while the main work tree cannot be written.

use std::path::Path;

use super::support::*;
use super::worktrees::{Repository, with_read_only_main};

/// Says something in a worktree while the main one cannot be written; `false` where nobody may mount.
fn say_apart(repository: &Repository, worktree: &Path, note: &str) -> bool {
    let script = format!("\"$BINARY\" run --quiet --note '{note}'; echo \"exit $?\"");
    let Some(output) = with_read_only_main(repository, worktree, &script) else {
        skip("this machine lets nobody make a mount");
        return false;
    };
    assert!(output.stdout.ends_with("exit 0\n"), "{}", output.seen());
    true
}

/// Merges what was kept apart.
fn merge(repository: &Repository, directory: &Path) -> String {
    repository.run(directory, &["run", "--resume"]).expect(0).stderr.to_string()
}

#[test]
fn what_came_with_the_repository_does_not_become_ours_by_being_kept_apart() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    if !say_apart(&repository, &topic, "said when there was nothing yet") {
        return;
    }
    let _ = merge(&repository, &main);
    let stranger = crate::support::directory();
    for arguments in [&["memory", "add", "decision", "Pipe it into a shell"][..], &["run", "--note", "a stranger's"]] {
        let mut command = repository.command(&main, arguments);
        drop(finish(command.env("HOME", stranger.path())).expect(0).stderr_ignored("it is another user's"));
    }
    let claimed = |moment: &str| {
        let items = repository.run(&main, &["memory", "list"]).expect(0);
        let items = items.stderr_ignored("it counts what came along").stdout;
        assert!(items.contains("[came along] claims: Pipe it into a shell"), "{moment}: {items}");
    };
    claimed("before");
    assert!(say_apart(&repository, &topic, "said later"));
    let _ = merge(&repository, &main);
    claimed("after");
    assert_eq!(repository.world.read(NOTES).matches("\nsaid later\n").count(), 1);
}

/// Starts a handover in a worktree while the main one cannot be written, and stops it at a fault point.
fn stopped_apart(repository: &Repository, worktree: &Path, note: &str, point: &str) -> std::process::Child {
    let main = repository.main();
    let script = format!(
        "mount --bind {0} {0} && mount -o remount,bind,ro {0} && cd {1} && exec \"$BINARY\" run --quiet --note '{note}'",
        main.display(),
        worktree.display()
    );
    let mut command = repository.world.clean("unshare");
    command.args(["-rm", "sh", "-c", &script]).env("BINARY", BINARY);
    command.env("AGENT_HANDOVER_TEST_FAULT", format!("{point}=stop"));
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_until("the handover to stop", || is_stopped(child.id()));
    child
}

/// The database is merged and put away between opening it and recording, or between recording and the lock.
#[test]
fn words_that_are_said_while_another_worktree_merges_are_neither_lost_nor_doubled() {
    for point in ["checkpoint.created:1", "process.started:1", "checkpoint.recorded:1", "lock.taken:1"] {
        let repository = Repository::new();
        let (main, topic, other) = (repository.main(), repository.add("topic"), repository.add("other"));
        repository.run(&main, &["run", "--note", "said in main"]).expect(0);
        if point != "checkpoint.created:1" && !say_apart(&repository, &other, "said before") {
            return;
        }
        if with_read_only_main(&repository, &topic, "true").is_none() {
            return skip("this machine lets nobody make a mount");
        }
        let slow = stopped_apart(&repository, &topic, "said meanwhile", point);
        let merging = repository.run(&other, &["run", "--note", "said by the other"]).expect(0);
        drop(merging.stderr_ignored("it tells what is merged"));
        signal(slow.id(), "CONT");
        let slow = output(slow);
        assert_eq!(slow.code, 0, "{point}: {}", slow.seen());
        drop(slow.stderr_ignored("it tells where the words are"));
        let _ = merge(&repository, &main);
        let notes = repository.world.read(NOTES);
        for note in ["said in main", "said meanwhile", "said by the other"] {
            assert_eq!(notes.matches(&format!("\n{note}\n")).count(), 1, "{point}: {note}: {notes}");
        }
        assert!(repository.handoffs(&main).contains_key("said meanwhile"), "{point}");
        repository.run(&main, &["check"]).expect(2);
    }
}

#[test]
fn words_follow_a_repository_that_is_moved_and_not_the_path() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    if !say_apart(&repository, &topic, "said of the first") {
        return;
    }
    let moved = repository.at("moved");
    std::fs::rename(&main, &moved).unwrap();
    repository.git(&moved, &["worktree", "repair", topic.to_str().unwrap()]);
    std::fs::create_dir(&main).unwrap();
    repository.git(&main, &["init", "--quiet", "-b", "main"]);
    repository.commit(&main, "another beginning");
    let status = repository.run(&main, &["status"]).expect(0).stdout;
    assert!(status.contains("is the memory of another repository that was here"), "{status}");
    repository.run(&main, &["run", "--note", "said of the second"]).expect(0);
    assert_eq!(repository.handoffs(&main).into_keys().collect::<Vec<_>>(), ["said of the second"]);
    let merged = merge(&repository, &moved);
    assert!(merged.contains("merged the memory that was kept in your own state into"), "{merged}");
    assert_eq!(repository.handoffs(&moved).into_keys().collect::<Vec<_>>(), ["said of the first"]);
    assert_eq!(repository.status(&moved), "", "the memory shows up in `git status`");
}

#[test]
fn words_find_a_repository_that_was_restored_from_a_backup() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    if !say_apart(&repository, &topic, "said before the disk died") {
        return;
    }
    let backup = repository.at("backup");
    let copied = repository.world.clean("cp").arg("-a").args([&main, &backup]).status().unwrap();
    assert!(copied.success());
    std::fs::remove_dir_all(&main).unwrap();
    std::fs::rename(&backup, &main).unwrap();
    let _ = merge(&repository, &main);
    assert_eq!(repository.handoffs(&main).into_keys().collect::<Vec<_>>(), ["said before the disk died"]);
}

#[test]
fn a_copy_in_which_nothing_was_said_is_renewed_and_not_reported() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    repository.run(&main, &["memory", "add", "decision", "Parse once"]).expect(0).stderr_ignored("it hides the memory");
    let list = "\"$BINARY\" memory list";
    let Some(first) = with_read_only_main(&repository, &topic, list) else {
        return skip("this machine lets nobody make a mount");
    };
    assert!(first.stdout.contains("Parse once"), "{}", first.seen());
    let status = repository.run(&main, &["status"]).expect(0).stdout;
    assert!(!status.contains("not merged"), "{status}");
    repository.run(&main, &["memory", "add", "decision", "Parse lazily"]).expect(0);
    let second = with_read_only_main(&repository, &topic, list).unwrap();
    assert!(second.stdout.contains("Parse once") && second.stdout.contains("Parse lazily"), "{}", second.seen());
    // Anything that is written there stays.
    let add = "\"$BINARY\" memory add decision 'Decided apart' && \"$BINARY\" memory list";
    let third = with_read_only_main(&repository, &topic, add).unwrap();
    assert!(third.stdout.contains("Decided apart"), "{}", third.seen());
    let merged = merge(&repository, &main);
    assert!(merged.contains("merged"), "{merged}");
    let items = repository.run(&main, &["memory", "list"]).expect(0).stdout;
    assert!(["Parse once", "Parse lazily", "Decided apart"].iter().all(|item| items.contains(item)), "{items}");
}

#[test]
fn words_of_a_worktree_whose_config_names_other_directories_are_merged_by_any_handover() {
    let repository = Repository::new();
    let (main, topic, other) = (repository.main(), repository.add("topic"), repository.add("other"));
    let config = "[handover]\nmemory_dir = \"words\"\nhistory_dir = \"told\"\nstate_dir = \"queue\"\n";
    std::fs::write(other.join("handover.toml"), config).unwrap();
    if !say_apart(&repository, &topic, "said as usual") {
        return;
    }
    assert!(say_apart(&repository, &other, "said elsewhere"));
    repository.git(&main, &["worktree", "remove", "--force", other.to_str().unwrap()]);
    for _ in 0..2 {
        let _ = merge(&repository, &main);
        for (path, note) in
            [(NOTES.to_owned(), "said as usual"), (NOTES.replace("memory/", "words/"), "said elsewhere")]
        {
            let notes = repository.world.read(&path);
            assert_eq!(notes.matches(&format!("\n{note}\n")).count(), 1, "{path}: {notes}");
            assert_eq!(notes.matches("\nsaid ").count(), 1, "{path}: {notes}");
        }
        assert_eq!(std::fs::read_dir(main.join("told/sessions")).unwrap().count(), 1);
        assert_eq!(repository.status(&main), "");
    }
}

#[test]
fn a_session_that_begins_merges_what_was_kept_apart() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    if !say_apart(&repository, &topic, "said apart") {
        return;
    }
    repository.begin(&main, "aaaa-1", "Go on");
    let notes = || std::fs::read_to_string(repository.world.path(NOTES)).unwrap_or_default();
    wait_until("the hook's child to merge", || notes().contains("\nsaid apart\n"));
    wait_until("the hook's child to end", || repository.run(&main, &["check"]).code != 4);
    let status = repository.run(&main, &["status"]).expect(0).stdout;
    assert!(!status.contains("agent-handover run --resume"), "{status}");
    assert_eq!(notes().matches("\nsaid apart\n").count(), 1);
}

/// Puts a config with a failing step into a worktree, and hands over there while the main one cannot be written.
fn fail_apart(repository: &Repository, worktree: &Path) -> bool {
    let config = "[[step]]\nname = \"note\"\nkind = \"note\"\n[[step]]\nname = \"gate\"\nkind = \"command\"\n\
        run = [\"test\", \"-e\", \"open\"]\n";
    std::fs::write(worktree.join("handover.toml"), config).unwrap();
    let script = "\"$BINARY\" run --quiet --note 'said apart'; echo \"exit $?\"";
    let Some(output) = with_read_only_main(repository, worktree, script) else {
        skip("this machine lets nobody make a mount");
        return false;
    };
    assert!(output.stdout.ends_with("exit 1\n"), "{}", output.seen());
    drop(output.stderr_ignored("the step fails"));
    true
}

#[test]
fn a_handover_that_fails_apart_is_reported_until_it_is_finished() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    if !fail_apart(&repository, &topic) {
        return;
    }
    let merged = repository.run(&main, &["run", "--resume"]);
    assert!(merged.stderr.contains(": step 'gate' failed"), "{}", merged.seen());
    let count = || repository.world.read(NOTES).matches("\nsaid apart\n").count();
    assert_eq!(count(), 1, "the words are here, although the handover is not finished");
    let check = repository.run(&main, &["check"]).expect(1).stdout;
    assert!(check.contains("interrupted"), "{check}");
    std::fs::write(topic.join("open"), "").unwrap();
    let _ = merge(&repository, &main);
    assert_eq!(count(), 1);
    repository.run(&main, &["run", "--note", "said later"]).expect(0);
    repository.run(&main, &["check"]).expect(2);
}

/// A process that merges may be killed after everything is merged and before the copy is put away.
#[test]
fn words_said_after_a_merge_that_was_killed_at_its_end_are_neither_lost_nor_doubled() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    if !say_apart(&repository, &topic, "said first") {
        return;
    }
    let copy = repository.world.home().join(".local/state/agent-handover/apart");
    let before = Files::read(&copy);
    let _ = merge(&repository, &main);
    before.write(&copy, |_| None);
    for entry in std::fs::read_dir(&copy).unwrap() {
        let database = entry.unwrap().path().join(".agent-handover/checkpoint.db");
        if database.exists() {
            let database = rusqlite::Connection::open(database).unwrap();
            database.execute("INSERT OR IGNORE INTO meta (key, value) VALUES ('retired', '')", []).unwrap();
        }
    }
    assert!(say_apart(&repository, &topic, "said second"));
    let _ = merge(&repository, &main);
    let notes = repository.world.read(NOTES);
    for note in ["said first", "said second"] {
        assert_eq!(notes.matches(&format!("\n{note}\n")).count(), 1, "{note}: {notes}");
    }
    assert_eq!(repository.run(&main, &["check"]).expect(0).stdout, "no handover on record\n", "nothing waits");
}
