//! `allow`: consent covers one config, at one path, with one content, and is kept in the user's own state directory.

use super::support::*;

const CONFIG: &str = "[[step]]\nname = \"c\"\nkind = \"command\"\nrun = [\"true\", \"two words\"]\n";

/// The consents on record, as files in the user's own state.
fn marks(world: &World) -> usize {
    marks_of(world, "allowed")
}

fn marks_of(world: &World, sort: &str) -> usize {
    std::fs::read_dir(world.home().join(".local/state/agent-handover").join(sort)).map_or(0, Iterator::count)
}

#[test]
fn allowing_is_for_this_content_at_this_place() {
    let world = World::with_config(CONFIG);
    let output = world.run(&["allow"]).expect(0);
    assert!(output.stdout.starts_with("allowed $WORLD/project/handover.toml as it is now"), "{}", output.stdout);
    assert!(output.stderr.contains("step c may run `true 'two words'`\n"), "{}", output.stderr);
    assert_eq!(marks(&world), 1);
    world.run(&["allow"]).expect(0);
    assert_eq!(marks(&world), 1, "twice is once");
    world.write("handover.toml", format!("{CONFIG}# changed\n"));
    assert_eq!(world.run(&["allow", "--revoke"]).expect(0).stdout, "$WORLD/project/handover.toml was not allowed\n");
    world.write("handover.toml", CONFIG);
    assert_eq!(
        world.run(&["allow", "--revoke"]).expect(0).stdout,
        "$WORLD/project/handover.toml is no longer allowed\n"
    );
    assert_eq!(marks(&world), 0);
}

#[test]
fn without_a_config_there_is_nothing_to_allow_and_a_pause_stops_it() {
    let world = World::new();
    assert!(world.run(&["allow"]).expect(0).stdout.starts_with("nothing to allow"));
    world.write("handover.toml", CONFIG);
    world.write("PAUSE", "");
    world.run(&["allow"]).expect(3);
    assert_eq!(marks(&world), 0);
}

#[test]
fn what_looks_like_a_secret_in_a_file_is_allowed_for_the_file_as_it_is() {
    let world = World::new();
    let token = ["AKIA", "Z5GFH3LQMNOP7RST"].concat();
    world.write("memory/x.md", format!("one\nthe key {token}\n"));
    world.write("memory/plain.md", "nothing of note\n");
    let output = world.run(&["allow", "--secret", "memory/plain.md"]).expect(0);
    assert_eq!(output.stdout, "nothing in memory/plain.md looks like a secret\n");
    assert_eq!(marks_of(&world, "acknowledged"), 0);
    snapbox::Assert::new().eq(
        world.run(&["allow", "--secret", "memory/x.md"]).expect(0).seen(),
        snapbox::str![[r#"
allowed memory/x.md:2: AWS access key (sha256 [..])
---
memory/x.md may be published as it is now; after a change it must be allowed again
[exit 0]

"#]],
    );
    assert_eq!((marks(&world), marks_of(&world, "acknowledged")), (0, 1));
    world.run(&["allow", "--secret", "memory/x.md"]).expect(0);
    assert_eq!(marks_of(&world, "acknowledged"), 1, "twice is once");
    for (path, content) in world.everything() {
        assert!(path == "memory/x.md" || !content.contains(&token), "{path}");
    }
    world.write("memory/x.md", format!("one\nthe key {token}\nmore\n"));
    let revoke = ["allow", "--revoke", "--secret", "memory/x.md"];
    assert_eq!(world.run(&revoke).expect(0).stdout, "memory/x.md was not allowed\n", "another content");
    world.write("memory/x.md", format!("one\nthe key {token}\n"));
    assert_eq!(world.run(&revoke).expect(0).stdout, "memory/x.md is no longer allowed\n");
    assert_eq!(marks_of(&world, "acknowledged"), 0);
}

#[test]
fn a_file_that_cannot_be_read_or_a_pause_allows_nothing() {
    let world = World::new();
    world.run(&["allow", "--secret", "not/there.md"]).expect(1);
    world.run(&["allow", "--secret", "."]).expect(74);
    world.write("x.md", ["AKIA", "Z5GFH3LQMNOP7RST"].concat());
    world.write("PAUSE", "");
    world.run(&["allow", "--secret", "x.md"]).expect(3);
    assert_eq!(marks_of(&world, "acknowledged"), 0);
}

#[test]
fn a_kill_while_a_file_is_allowed_leaves_nothing_half_done() {
    for point in ["fs.directory:1", "fs.directory:3", "fs.marked:1"] {
        let world = World::new();
        world.write(
            "x.md",
            [["AKIA", "Z5GFH3LQMNOP7RST "].concat(), ["ghp_", "aB3dE5fG7hI9jK1lM3nO"].concat()].concat(),
        );
        let arguments = ["allow", "--secret", "x.md"];
        let killed = finish(world.command(&arguments).env("AGENT_HANDOVER_TEST_FAULT", format!("{point}=kill")));
        assert_eq!(killed.code, 137, "{point}");
        world.run(&arguments).expect(0);
        assert_eq!(marks_of(&world, "acknowledged"), 2, "{point}");
    }
}
