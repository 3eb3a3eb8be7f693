//! Worktrees as people use them day by day: paused, moved, of a bare repository beside them.

use super::support::*;
use super::worktrees::{Repository, on_its_own};

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

/// The repository is beside its worktrees in one directory, as many people keep it.
#[test]
fn beside_and_inside_a_bare_repository_commands_use_the_memory_of_its_worktrees() {
    let repository = Repository::new();
    let hub = repository.at("hub");
    let bare = hub.join(".bare");
    repository.git(&repository.main(), &["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    std::fs::write(hub.join(".git"), "gitdir: ./.bare\n").unwrap();
    repository.git(&hub, &["worktree", "add", "--quiet", "-b", "topic", "topic"]);
    let topic = hub.join("topic");
    repository.run(&topic, &["run", "--quiet", "--note", "said in topic"]).expect(0);
    repository.run(&hub, &["run", "--quiet", "--note", "said in the hub"]).expect(0);
    assert_eq!(repository.handoffs(&hub), repository.handoffs(&topic));
    assert_eq!(repository.handoffs(&topic).len(), 2);
    let warmup = repository.run(&hub, &["warmup"]).expect(0).stdout;
    assert!(!warmup.contains("not committed") && !warmup.contains("uncommitted"), "{warmup}");
    let mut names: Vec<_> = std::fs::read_dir(&hub).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".bare", ".git", "topic"], "nothing of ours is beside the repository");
    // A session whose worktree is gone is handed over in the shared directory.
    repository.begin(&topic, "s1", "Make the lexer strict");
    std::fs::remove_dir_all(&topic).unwrap();
    repository.call(&topic, "s1", "SessionEnd").stderr_ignored("the log of the call");
    let shared = bare.join("agent-handover");
    wait_until("the handover", || repository.run(&hub, &["history", "--json", "list"]).stdout.contains("the lexer"));
    repository.run(&shared, &["check"]).expect(2);
    assert!(!shared.join(".bare").exists(), "the shared directory shares itself");
    // The repository itself, away from its worktrees.
    let alone = repository.at("alone.git");
    repository.git(&repository.main(), &["clone", "--quiet", "--bare", ".", alone.to_str().unwrap()]);
    let far = repository.at("far");
    repository.git(&alone, &["worktree", "add", "--quiet", "-b", "far", far.to_str().unwrap()]);
    repository.run(&far, &["run", "--quiet", "--note", "said far away"]).expect(0);
    repository.run(&alone, &["check"]).expect(2);
    repository.run(&alone, &["run", "--quiet", "--note", "said in the repository"]).expect(0);
    assert_eq!(repository.handoffs(&far).len(), 2);
    assert!(!alone.join("memory").exists() && !alone.join(".agent-handover").exists());
}

#[test]
fn unpause_leaves_a_pause_of_a_bare_repository_to_its_maker() {
    let repository = Repository::new();
    let (bare, tree) = (repository.at("b.git"), repository.at("tree"));
    repository.git(&repository.main(), &["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    repository.git(&bare, &["worktree", "add", "--quiet", "-b", "tree", tree.to_str().unwrap()]);
    repository.run(&tree, &["run", "--quiet", "--note", "before"]).expect(0);
    std::fs::write(bare.join("agent-handover/PAUSE"), "").unwrap();
    let refused = repository.run(&tree, &["unpause"]).expect(3).stderr;
    assert!(refused.contains("agent-handover/PAUSE") && !refused.contains("in the main one"), "{refused}");
}

#[test]
fn merging_a_worktree_leaves_a_foreign_database_and_no_empty_directory() {
    let repository = Repository::new();
    let topic = repository.add("topic");
    let foreign = topic.join(".agent-handover/checkpoint.db");
    on_its_own(&repository, "topic", || {
        std::fs::write(topic.join("PAUSE"), "").unwrap();
        let mut other = repository.command(&topic, &["run", "--note", "of another home"]);
        finish(other.env("HOME", repository.at("another-home"))).expect(3);
        std::fs::remove_file(topic.join("PAUSE")).unwrap();
        repository.run(&topic, &["run", "--quiet", "--note", "left in topic"]).expect(0);
    });
    let merged = repository.run(&topic, &["run", "--note", "said in topic"]).expect(0).stderr;
    assert!(merged.contains("merged the memory of this worktree"), "{merged}");
    assert!(foreign.exists(), "the foreign database was moved");
    assert!(!topic.join("memory").exists() && !topic.join(".agent-history").exists());
    let again = repository.run(&topic, &["run", "--note", "said later"]).expect(0).stderr;
    assert!(!again.contains("merged the memory"), "{again}");
    assert_eq!(repository.handoffs(&topic).len(), 3);
}

#[test]
fn memory_that_is_not_merged_yet_is_reported() {
    let repository = Repository::new();
    let topic = repository.add("topic");
    on_its_own(&repository, "topic", || {
        repository.run(&topic, &["run", "--quiet", "--note", "left in topic"]).expect(0);
        std::fs::write(topic.join("PAUSE"), "").unwrap();
        repository.run(&topic, &["run", "--note", "waits in topic"]).expect(3);
        std::fs::remove_file(topic.join("PAUSE")).unwrap();
    });
    let checked = repository.run(&topic, &["check"]).expect(1).stdout;
    assert!(checked.contains("is unfinished in this worktree itself; run `agent-handover run --resume`"), "{checked}");
    let what = "this worktree has memory of its own that is not shown here";
    for command in ["status", "warmup"] {
        let answer = repository.run(&topic, &[command]).expect(0).stdout;
        assert!(answer.contains(what), "{command}: {answer}");
    }
    repository.run(&topic, &["run", "--resume", "--quiet"]).expect(0);
    assert_eq!(repository.handoffs(&topic).len(), 2);
    let status = repository.run(&topic, &["status"]).expect(0).stdout;
    assert!(!status.contains(what), "{status}");
}

#[test]
fn files_that_a_session_edited_are_known_although_its_worktree_is_gone() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    repository.begin(&topic, "s1", "Make the parser strict");
    let input = serde_json::json!({ "file_path": topic.join("src/parser.rs") });
    let call = serde_json::json!({ "type": "tool_use", "id": "t1", "name": "Write", "input": input });
    let result = serde_json::json!({ "type": "tool_result", "tool_use_id": "t1", "content": "ok" });
    repository.record(&topic, "s1", "assistant", &serde_json::json!({ "content": [call] }));
    repository.record(&topic, "s1", "user", &serde_json::json!({ "content": [result] }));
    repository.git(&main, &["worktree", "remove", topic.to_str().unwrap()]);
    repository.end(&topic, "s1");
    let status = repository.run(&main, &["status", "--json"]).expect(0).stdout;
    assert!(status.contains("1 request, 1 file edited"), "{status}");
}
