//! The commands of every day, where there were few sessions and where there were very many: each is a curve.

use crate::hook;
use crate::race::{Results, Side, side};
use crate::world::{Arguments, World, fill, fill_checkpoint, fill_notes, index, talk};

/// The commands that only read, and what they are called on the page.
const READERS: &[(&str, Arguments)] = &[
    ("check", &["check"]),
    ("status", &["status"]),
    ("warmup", &["warmup"]),
    ("home view", &[]),
    ("search", &["search", "--limit", "20", "lexer", "topic7", "word3", "word11"]),
    ("history list", &["history", "list", "--limit", "20"]),
    ("history show", &["history", "show", "latest"]),
    ("memory list", &["memory", "list"]),
];

/// Titles of these races begin so.
pub(crate) const DAILY: &str = "daily: ";
/// Titles of races over years of notes begin so.
pub(crate) const YEARS: &str = "years of notes: ";

/// A project with so many archived handoffs, transcripts, indexed sessions and rows of the checkpoint.
fn lived_in(sessions: usize) -> World {
    let world = World::new("");
    // Written before the project is first used, so nothing is owed of them.
    talk(&world, sessions, 2);
    world.git(&["commit", "--quiet", "--allow-empty", "-m", "Begin"]);
    fill(&world, sessions);
    world.run(&["run", "--note", "n"]);
    fill_checkpoint(&world, sessions);
    index(&world);
    world
}

pub(crate) fn daily(results: &mut Results) {
    let sizes: &[usize] = if results.is_full { &[10, 1_000, 20_000, 100_000] } else { &[10, 1_000] };
    let worlds: Vec<(usize, World)> = sizes.iter().map(|size| (*size, lived_in(*size))).collect();
    let curve = |results: &mut Results, title: &str, side: &dyn Fn(&World, &str) -> Side| {
        let sides = worlds.iter().map(|(size, world)| side(world, &format!("after {size} sessions")).at(*size));
        results.race(&format!("{DAILY}{title}"), 15, sides.collect());
    };
    for (title, arguments) in READERS {
        curve(results, title, &|world, name| side(name, world.command(arguments)));
    }
    curve(results, "session start", &hook::start);
    curve(results, "first prompt", &|world, name| {
        hook::prompt(world, name, "The lexer of topic7 with word3 and word11")
    });
    curve(results, "session end", &hook::end);
    curve(results, "run", &|world, name| {
        let place = world.clone();
        place.wait_until_idle();
        side(name, world.command(&["run", "--quiet", "--note", "one thing more"]))
    });
}

/// Ten years of notes, five a day, beside one year.
pub(crate) fn years(results: &mut Results) {
    let sizes: &[usize] = if results.is_full { &[1, 10] } else { &[1, 3] };
    for (kept, compacts) in [("in layer 1", false), ("compacted", true)] {
        let worlds: Vec<(usize, World)> = sizes
            .iter()
            .map(|years| {
                let world = World::new("");
                world.git(&["init", "--quiet"]);
                world.git(&["commit", "--quiet", "--allow-empty", "-m", "Begin"]);
                fill_notes(&world, *years, 5);
                world.run(&["run", "--note", "n"]);
                if compacts {
                    world.run(&["compact"]);
                }
                index(&world);
                (*years, world)
            })
            .collect();
        let commands: [(&str, Arguments); 4] = [
            ("warmup", &["warmup"]),
            ("search", &["search", "--limit", "20", "parser", "tests"]),
            ("memory overview", &["memory", "overview"]),
            ("run", &["run", "--quiet", "--note", "one thing more"]),
        ];
        for (title, arguments) in commands {
            let sides = worlds
                .iter()
                .map(|(years, world)| side(&format!("{years} years"), world.command(arguments)).at(*years));
            results.race(&format!("{YEARS}{title}, {kept}"), 15, sides.collect());
        }
        let sides = worlds.iter().map(|(years, world)| hook::start(world, &format!("{years} years")).at(*years));
        results.race(&format!("{YEARS}session start, {kept}"), 15, sides.collect());
    }
}
