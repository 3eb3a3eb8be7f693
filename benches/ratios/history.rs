//! The archive of handoffs at several sizes, beside other tools on as many of theirs.

use std::path::PathBuf;
use std::process::Command;

use crate::floor::floor;
use crate::race::{Results, Side, side};
use crate::world::{Arguments, NOTE, World, fill, index};

/// The archive at several sizes. With `AGENT_HANDOVER_GLUE=/path/to/glue` Session Glue takes part.
pub(crate) fn history(results: &mut Results) {
    let glue = std::env::var_os("AGENT_HANDOVER_GLUE");
    for size in [10, 1_000, 20_000] {
        let world = World::new(NOTE);
        fill(&world, size);
        let history = world.path().join(".agent-history");
        let index = history.join("INDEX.yaml").display().to_string();
        let sessions = history.join("sessions").display().to_string();
        let glue_side = |name: &str, arguments: Arguments| {
            let (glue, world) = (glue.clone()?, world.clone());
            Some(side(name, move || {
                let mut command = Command::new(&glue);
                command.args(arguments).current_dir(world.path());
                command
            }))
        };
        let rounds = if size > 5_000 { 5 } else { 30 };
        let mut sides = vec![floor("a process that does nothing", &["trivial"])];
        sides.push(side("history status", world.command(&["history", "status"])));
        sides.extend(glue_side("glue status", &["status"]));
        results.race(&format!("history status at {size} sessions"), rounds, sides);

        let newest = history.join("sessions");
        let before: std::collections::HashSet<_> =
            std::fs::read_dir(&newest).unwrap().flatten().map(|file| file.path()).collect();
        let old_index = std::fs::read(&index).unwrap();
        let index_path = index.clone();
        let put_back = move || {
            for file in std::fs::read_dir(&newest).unwrap().flatten().filter(|file| !before.contains(&file.path())) {
                std::fs::remove_file(file.path()).unwrap();
            }
            std::fs::write(&index_path, &old_index).unwrap();
        };
        let create = world.command(&["history", "create", "--goal", "one more", "--next", "Fix it"]);
        let sides = vec![
            floor("read INDEX.yaml and write it again, durably", &["rewrite", &index]),
            side("history create", create).after(put_back),
        ];
        results.race(&format!("history create at {size} sessions"), rounds, sides);

        let mut sides = vec![
            floor("read the archives", &["read-files", &sessions]),
            side("history validate --sessions", world.command(&["history", "validate", "--sessions"])).at_most(2.0),
        ];
        sides.extend(glue_side("glue validate --sessions", &["validate", "--sessions"]));
        results.race(&format!("history validate --sessions at {size} sessions"), rounds.min(10), sides);
    }
}

/// Finding handoffs among few and many, each against the same among ten. With `AGENT_HANDOVER_GO=/path/to/session-handoff` that tool
/// takes part, on a store of as many records.
pub(crate) fn handoffs(results: &mut Results) {
    let worlds: Vec<(usize, World)> = [10, 1_000, 20_000]
        .into_iter()
        .map(|size| {
            let world = World::new(NOTE);
            fill(&world, size);
            world.run(&["run", "--note", "n"]);
            index(&world);
            (size, world)
        })
        .collect();
    let questions: &[(&str, Option<f64>, Arguments, Arguments)] = &[
        (
            "list --latest --json",
            Some(3.0),
            &["history", "list", "--latest", "--json"],
            &["list", "--latest", "--json"],
        ),
        ("show ID", Some(3.0), &["history", "show", "s000007"], &["render", "--id", "s000007"]),
        ("show latest", Some(3.0), &["history", "show", "latest"], &["render"]),
        ("show by a beginning", None, &["history", "show", "s00000"], &[]),
        (
            "list --query with a match, --limit 5",
            None,
            &["history", "list", "--query", "few words", "--limit", "5"],
            &["list", "--query", "few words", "--limit", "5"],
        ),
        (
            "list --query without a match",
            Some(5.0),
            &["history", "list", "--query", "zzz"],
            &["list", "--query", "zzz"],
        ),
        (
            "list --query without a match, --limit 5",
            Some(5.0),
            &["history", "list", "--query", "zzz", "--limit", "5"],
            &["list", "--query", "zzz", "--limit", "5"],
        ),
        (
            "list --json --limit 20",
            Some(5.0),
            &["history", "list", "--json", "--limit", "20"],
            &["list", "--json", "--limit", "20"],
        ),
        // All of them are its answer, so it grows.
        ("list --json", None, &["history", "list", "--json"], &["list", "--json"]),
    ];
    for (title, aim, ours, theirs) in questions {
        let our_side = |(size, world): &(usize, World)| {
            let side = side(&format!("at {size}"), world.command(ours));
            match aim {
                Some(aim) if *size == 20_000 => side.at_most(*aim),
                _ => side,
            }
        };
        let mut sides: Vec<Side> = worlds.iter().map(our_side).collect();
        if let Some(go) = std::env::var_os("AGENT_HANDOVER_GO").filter(|_| !theirs.is_empty()) {
            for (size, world) in &worlds {
                let (go, path, theirs) = (go.clone(), go_store(world, *size), *theirs);
                sides.push(side(&format!("session-handoff at {size}"), move || {
                    let mut command = Command::new(&go);
                    command.args(theirs).env("HOME", &path).env("XDG_CONFIG_HOME", &path);
                    command
                }));
            }
        }
        results.race(&format!("history {title}"), 15, sides);
    }
}

/// A store of session-handoff with the same texts.
fn go_store(world: &World, size: usize) -> PathBuf {
    let directory = world.path().join("go");
    let file = directory.join("session-handoff/handoffs.json");
    if !file.exists() {
        let items: Vec<serde_json::Value> = (0..size)
            .map(|n| {
                serde_json::json!({
                    "id": format!("s{n:06}"), "created_at": "2026-11-15T10:00:00Z", "tool": "codex", "project": "/p", "title": "first",
                    "summary": "what was done, in a few words", "next": ["Fix it"],
                })
            })
            .collect();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, serde_json::json!({ "version": 1, "items": items }).to_string()).unwrap();
    }
    directory
}
