//! `init`: a config to start from.

use super::support::*;

#[test]
fn init_writes_a_config_that_works_and_says_what_to_do_next() {
    let world = World::new();
    let output = world.run(&["init"]).expect(0);
    assert_eq!(output.stdout, "wrote $WORLD/project/handover.toml\n");
    assert!(output.stderr.contains("next: "), "{}", output.stderr);
    assert!(world.read("handover.toml").contains("# This project has no git remote, so nothing is published.\n"));
    let output = world.run(&["run", "--note", "n"]).expect(0);
    assert_eq!(output.stdout, "handover steps executed: facts, note, state, history, publish\n");
    assert_eq!(world.strays(), [""; 0]);
}

#[test]
fn init_with_full_explains_every_key() {
    let world = World::new();
    world.run(&["init", "--full"]).expect(0);
    assert!(world.read("handover.toml").contains("# This project has no git remote.\n"));
    let output = world.run(&["run", "--note", "n"]).expect(0);
    assert_eq!(output.stdout, "handover steps executed: facts, note, checks, state, history, publish\n");
}

#[test]
fn init_adds_the_tests_of_the_project_as_a_step() {
    let world = World::new();
    world.write("Makefile", "test:\n\t@echo checked\n");
    let output = world.run(&["init"]).expect(0);
    assert!(output.stderr.contains("found tests: `make test` (Makefile)"), "{}", output.stderr);
    let output = world.run(&["run", "--note", "n"]).expect(0);
    assert_eq!(output.stdout, "handover steps executed: facts, note, tests, state, history, publish\n");
    assert!(world.run(&["logs", "tests"]).expect(0).stdout.contains("checked"));
}

#[test]
fn init_names_allow_only_where_it_is_needed() {
    let world = World::with_git();
    let told = world.run(&["init"]).expect(0).stderr;
    assert!(told.contains("\nnext: read the file; `agent-handover run \"") || told.starts_with("next: "), "{told}");
    assert!(!told.contains("allow"), "{told}");
    std::fs::remove_file(world.path("handover.toml")).unwrap();
    world.write("go.mod", "module a\n");
    assert!(world.run(&["init"]).expect(0).stderr.contains("`agent-handover allow`"));
}

#[test]
fn init_never_overwrites() {
    for place in ["handover.toml", ".agent-handover/handover.toml"] {
        let world = World::new();
        world.write(place, "# mine\n");
        let output = world.run(&["init"]).expect(1);
        assert!(output.stderr.contains("already exists and was not changed"), "{}", output.stderr);
        assert_eq!(world.read(place), "# mine\n");
    }
}

#[test]
fn init_finds_the_remote_and_the_top_of_the_repository() {
    let world = World::with_git();
    world.git(&["remote", "add", "upstream", &["https://user:", "hunter2@example.com/x.git"].concat()]);
    world.write("sub/x", "");
    let init = finish(world.command(&["init", "--full"]).current_dir(world.path("sub"))).expect(0);
    assert!(init.stderr.starts_with("found the git remote upstream; nothing is pushed"), "{}", init.stderr);
    let config = world.read("handover.toml");
    assert!(config.contains("# This project has the git remote `upstream`.\n"));
    assert!(config.contains("remote  = \"upstream\"\n"));
    assert!(!config.contains("hunter2"));
}
