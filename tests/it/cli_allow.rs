//! `allow`: consent is to one config, at one place, with one content, and lies in the user's own state.

use super::support::*;

const CONFIG: &str = "[[step]]\nname = \"c\"\nkind = \"command\"\nrun = [\"true\"]\n";

/// The consents on record, as files in the user's own state.
fn marks(world: &World) -> usize {
    std::fs::read_dir(world.home().join(".local/state/agent-handover/allowed")).map_or(0, Iterator::count)
}

#[test]
fn allowing_is_for_this_content_at_this_place() {
    let world = World::with_config(CONFIG);
    let output = world.run(&["allow"]).expect(0);
    assert!(output.stdout.starts_with("allowed $WORLD/project/handover.toml as it is now"), "{}", output.stdout);
    assert!(output.stderr.contains("step c may run a command"), "{}", output.stderr);
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
