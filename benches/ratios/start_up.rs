//! What it costs to start.

use crate::floor::floor;
use crate::race::{Results, side};
use crate::world::World;

/// The program where it has nothing to do, beside a process that only builds the same command line and parses the same
/// arguments with it.
pub(crate) fn start_up(results: &mut Results) {
    let world = World::new("");
    let sides = vec![
        floor("parse the arguments", &["parse-arguments"]),
        floor("a process that does nothing", &["trivial"]),
        side("--version", world.command(&["--version"])),
        side("check in an empty directory", world.command(&["check"])),
    ];
    results.race("start-up", 200, sides);
}
