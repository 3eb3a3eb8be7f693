//! Worktrees as people use them day by day: paused, moved, of a bare repository beside them.

use super::support::*;
use super::worktrees::Repository;

/// The run that waits is the first of every drain, and only a run that is carried out can hide the directories.
#[test]
fn memory_stays_out_of_git_status_while_another_worktree_is_paused() {
    let repository = Repository::new();
    let (main, one, two) = (repository.main(), repository.add("one"), repository.add("two"));
    std::fs::write(one.join("PAUSE"), "").unwrap();
    repository.run(&one, &["run", "--note", "while one is paused"]).expect(3);
    repository.run(&two, &["run", "--quiet", "--note", "said in two"]).expect(0);
    assert_eq!(repository.status(&main), "");
}

#[test]
fn a_run_that_waits_for_its_paused_worktree_is_reported_from_the_others() {
    let repository = Repository::new();
    let (main, one) = (repository.main(), repository.add("one"));
    std::fs::write(one.join("PAUSE"), "").unwrap();
    repository.run(&one, &["run", "--note", "while one is paused"]).expect(3);
    let paused = format!("automation paused: remove {} to resume", one.join("PAUSE").display());
    for (arguments, code) in [(&["check"][..], 1), (&["status"], 0)] {
        let answer = repository.run(&main, arguments).expect(code).stdout;
        assert!(answer.contains(&paused), "{arguments:?}: {answer}");
    }
    let checked = repository.run(&main, &["check", "--json"]).expect(1).json();
    assert_eq!(checked["paused"]["file"], one.join("PAUSE").to_str().unwrap(), "{checked}");
    let resumed = repository.run(&main, &["run", "--resume", "--quiet"]).expect(3);
    assert!(resumed.stderr.contains(&paused), "{}", resumed.stderr);
    // What the main tree hands over is not held back.
    repository.run(&main, &["run", "--quiet", "--note", "said in main"]).expect(0);
    std::fs::remove_file(one.join("PAUSE")).unwrap();
    repository.run(&main, &["run", "--resume", "--quiet"]).expect(0);
    assert_eq!(repository.world.read(NOTES).matches("while one is paused").count(), 1);
}
