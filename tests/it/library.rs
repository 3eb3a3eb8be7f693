//! The library as another program uses it: `examples/hand_over.rs`, killed anywhere and started again.

use std::process::Command;

use agent_handover::testing::base::fault::POINTS;

use super::support::*;

/// The example with these words. `start` counts the starts in one world, each of which makes ids of its own.
fn command(world: &World, start: u32) -> Command {
    let mut command = world.clean(example_program("hand_over"));
    let ids = seed(&format!("library {start}"));
    command.args(["parser done", "spans are next"]).env("AGENT_HANDOVER_TEST_IDS", ids);
    command
}

#[test]
fn a_program_hands_over_with_a_function_of_its_own() {
    let world = World::with_git();
    let output = finish(&mut command(&world, 1)).expect(0);
    assert_eq!(output.stdout, "executed: note, state, publish_wiki\nthe newest note: parser done\n");
    assert_eq!(world.read("wiki.txt"), "parser done\n");
    assert!(world.read(NOTES).contains("parser done") && world.read(STATE).contains("spans are next"));
    world.run(&["check"]).expect(2);
}

#[test]
fn a_program_that_is_killed_anywhere_goes_on_when_it_is_started_again() {
    let mut killed = 0;
    for point in POINTS {
        for count in 1..=3 {
            let world = World::new();
            let fault = format!("{point}:{count}=kill");
            if finish(command(&world, 1).env("AGENT_HANDOVER_TEST_FAULT", &fault)).stderr_ignored("it dies").code == 0 {
                break;
            }
            killed += 1;
            if world.run(&["check"]).code == 2 {
                // Everything was on record as done when it was killed. To say the same again would be a new handover.
                continue;
            }
            finish(&mut command(&world, 2)).expect(0);
            assert_eq!(world.read(NOTES).matches("parser done").count(), 1, "{fault}: {}", world.read(NOTES));
            let wiki = world.read("wiki.txt");
            assert!(wiki == "parser done\n" || wiki == "parser done\n".repeat(2), "{fault}: {wiki:?}");
            world.run(&["check"]).expect(2);
            world.assert_database_is_sound();
        }
    }
    assert!(killed > 10, "only {killed} kills");
}

#[test]
fn the_command_line_leaves_a_function_to_its_program() {
    let world = World::new();
    // The third step that acts is the function.
    let killed = finish(command(&world, 1).env("AGENT_HANDOVER_TEST_FAULT", "step.acted:3=kill"));
    assert_eq!(killed.stderr_ignored("it dies").code, 137);
    world.run(&["check"]).expect(1);
    let output = world.run(&["run", "--resume"]).expect(1);
    assert!(output.stderr.contains("function of the program that recorded this handover"), "{}", output.stderr);
    let output = finish(&mut command(&world, 2)).expect(0);
    assert!(output.stdout.starts_with("executed: publish_wiki\n"), "{}", output.stdout);
    world.run(&["check"]).expect(2);
}
