//! A handover with nothing new archives nothing, and uncommitted files are signals of a handoff.

use super::support::*;

fn archives(world: &World) -> usize {
    std::fs::read_dir(world.path(".agent-history/sessions")).map_or(0, Iterator::count)
}

fn commit(world: &World, message: &str) {
    world.git(&["add", "-A"]);
    world.git(&["-c", "user.name=Ann", "-c", "user.email=ann@example", "commit", "-qm", message]);
}

#[test]
fn three_handovers_of_the_same_uncommitted_files_make_one_archive() {
    let world = World::with_git();
    world.write("README", "a parser");
    commit(&world, "begin");
    world.write("parser.rs", "fn parse() {}");
    world.write("new/lexer.rs", "fn lex() {}");
    for _ in 0..3 {
        let output = world.run(&["run"]).expect(0);
        assert_eq!(archives(&world), 1, "{}", output.stderr);
    }
    let output = world.run(&["run"]).expect(0);
    assert!(output.stderr.contains("the session changed nothing"), "{}", output.stderr);
    assert_eq!(world.read(NOTES).matches("<!-- /note -->").count(), 1, "no note of nothing is made, either");
    world.run(&["check"]).expect(2);
    world.run(&["run", "--resume"]).expect(0);
    assert_eq!(archives(&world), 1);

    // What was said always counts, and so does every change.
    world.run(&["run", "--note", "said without a change"]).expect(0);
    assert_eq!(archives(&world), 2);
    world.run(&["run"]).expect(0);
    assert_eq!(archives(&world), 2);
    world.write("new/lexer.rs", "fn lex() { todo!() }");
    world.run(&["run"]).expect(0);
    assert_eq!(archives(&world), 3, "a file in an untracked directory was changed");
    commit(&world, "parse and lex");
    world.run(&["run"]).expect(0);
    assert_eq!(archives(&world), 4, "a commit is new");
    world.run(&["run"]).expect(0);
    assert_eq!(archives(&world), 4);
}

#[test]
fn the_first_commit_of_a_repository_is_new() {
    let world = World::new();
    world.git(&["init", "--quiet", "--initial-branch=main"]);
    world.run(&["run", "--note", "an empty repository"]).expect(0);
    world.run(&["run"]).expect(0);
    assert_eq!(archives(&world), 1);
    world.write("README", "a parser");
    commit(&world, "begin");
    let output = world.run(&["run"]).expect(0);
    assert!(output.stderr.contains("1 commit, 1 changed file"), "{}", output.stderr);
    assert_eq!(archives(&world), 2);
    world.run(&["run"]).expect(0);
    assert_eq!(archives(&world), 2);
}

#[test]
fn uncommitted_files_are_signals_of_the_handoff() {
    let world = World::with_git();
    world.write("kept.rs", "1");
    world.write("gone.rs", "2");
    commit(&world, "before");
    world.write("kept.rs", "3");
    std::fs::remove_file(world.path("gone.rs")).unwrap();
    world.write("with space.rs", "SECRET CONTENT");
    world.run(&["run", "--note", "half done"]).expect(0);
    let latest = world.read(".agent-history/LATEST.md");
    let listed = "working_tree:\n  - \"D gone.rs\"\n  - \"M kept.rs\"\n  - \"? with space.rs\"\n";
    assert!(latest.contains(listed) && !latest.contains("SECRET CONTENT"), "{latest}");
    let signals = "## Working tree signals\n- gone.rs\n- kept.rs\n- with space.rs\n";
    let rendered = world.run(&["history", "render", "--layout", "session-handoff"]).expect(0).stdout;
    assert!(rendered.contains(signals), "{rendered}");
    world.run(&["history", "validate", "--sessions"]).expect(0);
    world.run(&["history", "create", "--goal", "typed", "--next", "Fix the lexer"]).expect(0);
    let rendered = world.run(&["history", "render", "--layout", "session-handoff"]).expect(0).stdout;
    assert!(rendered.contains("Topic: typed") && rendered.contains(signals), "{rendered}");
}

#[test]
fn a_damaged_repository_is_reported_and_the_words_are_kept() {
    for (name, content) in [("no HEAD", None), ("a HEAD of garbage", Some("garbage"))] {
        let world = World::with_git();
        match content {
            Some(content) => world.write(".git/HEAD", content),
            None => std::fs::remove_file(world.path(".git/HEAD")).unwrap(),
        }
        let refused = world.run(&["history", "create", "--goal", "g", "--next", "Fix it"]).expect(1);
        assert!(
            refused.stderr.contains("is damaged: git cannot use it; nothing was archived"),
            "{name}: {}",
            refused.stderr
        );
        assert!(!world.exists(".agent-history"), "{name}");
        let output =
            world.run(&["run", "--note", "words that stay"]).expect(0).stderr_ignored("git is reported as well");
        assert!(output.stderr.contains("is damaged: git cannot use it, so git facts are missing"), "{}", output.stderr);
        assert!(world.read(NOTES).contains("words that stay"), "{name}");
        world.run(&["check"]).expect(2);
    }
}
