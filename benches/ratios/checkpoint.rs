//! What a handover costs beside the bare commits, spawns and bytes that it needs.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::floor::floor;
use crate::race::{Results, Side, side};
use crate::world::{NOTE, World, fill_notes};

pub(crate) fn readers(results: &mut Results) {
    let world = World::new(NOTE);
    world.run(&["run", "--note", "n"]);
    let database = world.state().join("checkpoint.db").display().to_string();
    let mut sides = vec![
        floor("open the database and read a row", &["read-a-row", &database]),
        floor("a process that does nothing", &["trivial"]),
        side("check", world.command(&["check"])).at_most(1.5),
        side("status", world.command(&["status"])).at_most(1.5),
    ];
    if let Some(python) = std::env::var_os("AGENT_HANDOVER_PYTHON") {
        for (name, verb) in [("check of the Python tool", "check"), ("status of the Python tool", "status")] {
            let (python, world) = (python.clone(), world.clone());
            let command = move || {
                let mut command = Command::new(&python);
                command.arg(verb).current_dir(world.path());
                command
            };
            sides.push(side(name, command).at_least_of(20.0, verb));
        }
    }
    results.race("check and status", 200, sides);
}

pub(crate) fn steps(results: &mut Results) {
    const STEPS: usize = 1_000;
    let config: String = (0..STEPS).map(|n| format!("[[step]]\nname = \"s{n}\"\nkind = \"publish\"\n")).collect();
    let world = World::new(&config);
    world.run(&["run"]);
    let bare = world.path().join("floor.db").display().to_string();
    // Recorded, each step intended, completed.
    let commits = (STEPS + 2).to_string();
    let sides = vec![
        floor("the bare commits they need", &["commits", &bare, &commits]),
        side("run with 1,000 steps that do nothing", world.command(&["run", "--quiet"])).at_most(1.3),
    ];
    results.race("1,000 steps", 9, sides);
}

pub(crate) fn detach(results: &mut Results) {
    detach_with(results, "run --detach", NOTE);
    // As a hook has it: what is checked out is asked of git, before it returns.
    detach_with(results, "run --detach with git facts", "[[step]]\nname = \"facts\"\nkind = \"collect\"\n");
}

fn detach_with(results: &mut Results, name: &str, config: &str) {
    let world = World::new(config);
    world.git(&["init", "--quiet"]);
    world.run(&["run", "--note", "n"]);
    let bare = world.path().join("floor.db").display().to_string();
    let idle = world.command(&["check"]);
    let sides = vec![
        floor("one durable commit and a spawn", &["commit-and-spawn", &bare]),
        side("the command, until it returns", world.command(&["run", "--detach", "--note", "n"])).at_most(2.0).after(
            move || {
                while idle().stdout(Stdio::null()).status().unwrap().code() != Some(2) {
                    std::thread::sleep(Duration::from_millis(2));
                }
            },
        ),
    ];
    results.race(name, 60, sides);
}

pub(crate) fn notes(results: &mut Results) {
    let mut sides: Vec<Side> = Vec::new();
    for (name, size) in [("run --note onto a file of 1 kB", 1_000), ("run --note onto a file of 10 MB", 10_000_000)] {
        let world = World::new(NOTE);
        world.run(&["run", "--note", "n"]);
        let layer = world.path().join("memory/layer1");
        let month = std::fs::read_dir(layer).unwrap().next().unwrap().unwrap().path();
        let file = std::fs::read_dir(month).unwrap().next().unwrap().unwrap().path();
        let text = "a line of somebody else's text\n".repeat(size / 31);
        std::fs::write(&file, &text).unwrap();
        let put_back = move || std::fs::write(&file, &text).unwrap();
        sides.push(side(name, world.command(&["run", "--quiet", "--note", "n"])).after(put_back));
    }
    results.race("a note at the end of a long day", 15, sides);
}

/// 100,000 notes over 24 months.
pub(crate) fn compact(results: &mut Results) {
    let world = World::new(NOTE);
    let fill = {
        let world = world.clone();
        move || {
            let _ = std::fs::remove_dir_all(world.path().join("memory"));
            fill_notes(&world, 2, 149);
        }
    };
    fill();
    let shell = |line: &'static str| {
        let world = world.clone();
        move || {
            let mut command = Command::new("sh");
            command.args(["-c", line]).current_dir(world.path());
            command
        }
    };
    let archives = world.path().join("memory/layer3");
    let sides = vec![
        side("cat of the same bytes into a file, synced", shell("cat memory/layer1/*/* > all && sync all")),
        side("cat of the same bytes into a file", shell("cat memory/layer1/*/* > all")),
        side("compact --keep-notes", world.command(&["compact", "--keep-notes"]))
            .at_most(3.0)
            .after(move || std::fs::remove_dir_all(&archives).unwrap()),
        side("compact", world.command(&["compact"])).after(fill),
    ];
    results.race("compact 100,000 notes of 24 months", 7, sides);
}
