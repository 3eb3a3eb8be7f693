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

/// A step that fails until the file `fixed` is in its directory, and then says where it ran.
const GATE: &str = "[[step]]\nname = \"gate\"\nkind = \"command\"\nshell = 'test -e fixed && pwd > ../where'\n\
                    [[step]]\nname = \"note\"\nkind = \"note\"\n";

#[test]
fn an_unfinished_command_runs_in_the_place_to_which_its_worktree_was_moved() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    std::fs::write(topic.join("handover.toml"), GATE).unwrap();
    repository.run(&topic, &["run", "--note", "before the move"]).expect(1);
    let moved = repository.at("moved");
    repository.git(&main, &["worktree", "move", topic.to_str().unwrap(), moved.to_str().unwrap()]);
    std::fs::write(moved.join("fixed"), "").unwrap();
    repository.run(&main, &["run", "--resume"]).expect(0);
    assert_eq!(std::fs::read_to_string(repository.at("where")).unwrap().trim(), moved.to_str().unwrap());
    assert!(repository.world.read(NOTES).contains("before the move"));
}

/// git gives the second worktree the name of the first one.
#[test]
fn a_new_worktree_of_the_same_name_does_not_get_the_commands_of_one_that_is_gone() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    std::fs::write(topic.join("handover.toml"), GATE).unwrap();
    repository.run(&topic, &["run", "--note", "before it is gone"]).expect(1);
    repository.git(&main, &["worktree", "remove", "--force", topic.to_str().unwrap()]);
    let other = repository.at("elsewhere/topic");
    repository.git(&main, &["worktree", "add", "--quiet", "-b", "other", other.to_str().unwrap()]);
    std::fs::write(other.join("fixed"), "").unwrap();
    let resumed = repository.run(&main, &["run", "--resume"]).expect(0).stderr;
    assert!(resumed.contains(&format!("its worktree `{}` is gone", topic.display())), "{resumed}");
    assert!(!repository.at("elsewhere/where").exists());
}

#[test]
fn a_new_worktree_at_the_path_of_another_one_does_not_get_its_commands() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    std::fs::write(topic.join("handover.toml"), GATE).unwrap();
    repository.run(&topic, &["run", "--note", "before it is gone"]).expect(1);
    repository.git(&main, &["worktree", "remove", "--force", topic.to_str().unwrap()]);
    repository.git(&main, &["worktree", "add", "--quiet", "-b", "other", topic.to_str().unwrap()]);
    std::fs::write(topic.join("fixed"), "").unwrap();
    // It is used before anybody resumes.
    drop(repository.run(&topic, &["run", "--note", "in the new one"]).stderr_ignored("it tells what is skipped"));
    let resumed = repository.run(&topic, &["status"]).expect(0).stdout;
    assert!(resumed.contains("completed"), "{resumed}");
    assert!(!repository.at("where").exists());
    let notes = repository.world.read(NOTES);
    assert!(notes.contains("before it is gone") && notes.contains("in the new one"), "{notes}");
}

#[test]
fn a_moved_worktree_keeps_its_commands_although_another_one_is_at_its_path() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    std::fs::write(topic.join("handover.toml"), GATE).unwrap();
    repository.run(&topic, &["run", "--note", "before the move"]).expect(1);
    let moved = repository.at("moved");
    repository.git(&main, &["worktree", "move", topic.to_str().unwrap(), moved.to_str().unwrap()]);
    repository.git(&main, &["worktree", "add", "--quiet", "-b", "other", topic.to_str().unwrap()]);
    for root in [&moved, &topic] {
        std::fs::write(root.join("fixed"), "").unwrap();
    }
    repository.run(&topic, &["run", "--resume"]).expect(0);
    assert_eq!(std::fs::read_to_string(repository.at("where")).unwrap().trim(), moved.to_str().unwrap());
}

/// Every directory is a new one then, and the path is all that is left.
#[test]
fn commands_run_in_the_worktrees_of_a_repository_that_was_restored_from_a_backup() {
    let repository = Repository::new();
    let (main, topic) = (repository.main(), repository.add("topic"));
    std::fs::write(topic.join("handover.toml"), GATE).unwrap();
    repository.run(&topic, &["run", "--note", "before the restore"]).expect(1);
    for root in [&main, &topic] {
        let backup = repository.at("backup");
        assert!(repository.world.clean("cp").arg("-a").args([root, &backup]).status().unwrap().success());
        std::fs::remove_dir_all(root).unwrap();
        std::fs::rename(&backup, root).unwrap();
    }
    std::fs::write(topic.join("fixed"), "").unwrap();
    repository.run(&main, &["run", "--resume"]).expect(0);
    assert_eq!(std::fs::read_to_string(repository.at("where")).unwrap().trim(), topic.to_str().unwrap());
}

#[test]
fn a_submodule_in_a_worktree_shares_the_memory_of_the_same_submodule_in_the_main_tree() {
    let repository = Repository::new();
    let main = repository.main();
    let inner = Repository::new();
    let allow = ["-c", "protocol.file.allow=always"];
    let source = inner.world.root();
    let add = [&allow[..], &["submodule", "--quiet", "add", source.to_str().unwrap(), "parts/sub"]].concat();
    repository.git(&main, &add);
    repository.commit(&main, "a submodule");
    let topic = repository.add("topic");
    let update = [&allow[..], &["submodule", "--quiet", "update", "--init"]].concat();
    repository.git(&topic, &update);
    let (sub, of_topic) = (main.join("parts/sub"), topic.join("parts/sub"));
    repository.run(&sub, &["run", "--quiet", "--note", "said in the submodule"]).expect(0);
    repository.run(&of_topic, &["run", "--quiet", "--note", "said in the worktree"]).expect(0);
    assert_eq!(repository.handoffs(&of_topic), repository.handoffs(&sub));
    repository.begin(&of_topic, "s1", "Make the parser strict");
    repository.git(&main, &["worktree", "remove", "--force", topic.to_str().unwrap()]);
    drop(repository.call(&of_topic, "s1", "SessionEnd").stderr_ignored("the log of the call"));
    wait_until("the handover", || repository.run(&sub, &["history", "--json", "list"]).stdout.contains("strict"));
    wait_until("its end", || repository.run(&sub, &["check"]).code == 2);
    let found = repository.handoffs(&sub);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found["said in the worktree"].1.as_deref(), of_topic.to_str());
    // Without the submodule in the main tree there is nothing to share.
    let alone = repository.add("alone");
    repository.git(&alone, &update);
    repository.git(&main, &["submodule", "--quiet", "deinit", "--force", "parts/sub"]);
    repository.run(&alone.join("parts/sub"), &["run", "--quiet", "--note", "said alone"]).expect(0);
    assert!(alone.join("parts/sub").join(NOTES).exists());
}

#[test]
fn memory_tracked_on_main_is_left_to_the_branch_of_another_worktree() {
    let repository = Repository::new();
    let main = repository.main();
    let config = "[backend]\ntype = \"git\"\nbranch = \"main\"\npush = false\n";
    std::fs::write(main.join("handover.toml"), config).unwrap();
    repository.git(&main, &["add", "handover.toml"]);
    repository.commit(&main, "a config");
    repository.run(&main, &["run", "--quiet", "--note", "said in main"]).expect(0);
    let topic = repository.add("topic");
    let ran = repository.run(&topic, &["run", "--note", "said in topic"]).expect(0).stderr;
    let why = format!(
        "`main` is checked out in `{}`, and git tracks the memory of this worktree on its own branch: commit it here",
        main.display()
    );
    assert!(ran.contains(&why), "{ran}");
    let checked = repository.run(&topic, &["check"]).expect(2).stdout;
    assert!(!checked.contains("due"), "{checked}");
    assert!(std::fs::read_to_string(topic.join(NOTES)).unwrap().contains("said in topic"));
    assert!(repository.status(&topic).contains(NOTES), "git protects it when the worktree is removed");
    assert_eq!(repository.status(&main), "");
    let pushed = repository.run(&topic, &["push"]).expect(1).stderr;
    assert!(pushed.contains(&why), "{pushed}");
}
