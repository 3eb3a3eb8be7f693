//! Finding what was said, and building the index for it.

use std::path::PathBuf;
use std::process::Command;

use crate::floor::floor;
use crate::hook;
use crate::race::{Results, Side, side};
use crate::world::{World, index, talk, work};

/// Many sessions, for an aim.
const MANY: usize = 20_000;

/// A search, the first prompt of a session, a command of an agent, and building the index, where there were few sessions and
/// where there were many. With `AGENT_HANDOVER_DEJA=/path/to/deja` the search of deja-vu takes part.
pub(crate) fn search(results: &mut Results) {
    indexing(results);
    let mut searches = Vec::new();
    let mut prompts = Vec::new();
    let mut tools: Vec<Side> = Vec::new();
    let mut worlds = Vec::new();
    for size in [10, 1_000, MANY] {
        let world = World::new("[recall]\ntools = true\n");
        talk(&world, size, 10);
        world.run(&["run", "--note", "n"]);
        let ask = world.command(&["search", "--json", "--limit", "20", "lexer", "topic7", "word3", "word11"]);
        index(&world);
        searches.push(bounded(size, &format!("search after {size} sessions"), ask));
        if prompts.is_empty() {
            prompts.push(side("check", world.command(&["check"])));
        }
        for (name, said) in
            [("new", "Add a licence and a changelog"), ("known", "The lexer of topic7 with word3 and word11")]
        {
            let name = format!("first prompt about {name} things after {size} sessions");
            let prompt = hook::prompt(&world, &name, said);
            prompts.push(if size == MANY { prompt.at_most(8.0) } else { prompt });
        }
        let payload = world.path().join("tool.json");
        let text = format!(
            "{{\"session_id\":\"t\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{{\"command\":\"make test\"}},\"cwd\":\"{}\"}}",
            world.path().display()
        );
        std::fs::write(&payload, text).unwrap();
        let tool = side(&before(size), world.command(&["hook", "--agent", "claude-code"])).input(&payload);
        tools.push(if size == MANY { tool.at_most_of(2.0, &before(10)) } else { tool });
        worlds.push((size, world));
    }
    if let Some(deja) = std::env::var_os("AGENT_HANDOVER_DEJA") {
        for (size, world) in &worlds {
            let (deja, world) = (deja.clone(), world.clone());
            searches.push(side(&format!("search of deja-vu after {size} sessions"), move || {
                let mut command = Command::new(&deja);
                command
                    .args(["search", "lexer topic7 word3 word11"])
                    .current_dir(world.path())
                    .env("HOME", world.home());
                command
            }));
        }
    }
    results.race("search", 30, searches);
    results.race("hook at the first prompt", 30, prompts);
    results.race("hook before a command", 30, tools);
}

fn before(size: usize) -> String {
    format!("before a command after {size} sessions")
}

/// A search among few is the first side, and one among many is compared with it.
fn bounded(size: usize, name: &str, command: impl Fn() -> Command + 'static) -> Side {
    let side = side(name, command);
    if size == MANY { side.at_most(5.0) } else { side }
}

/// Building the index, against reading the same files: of sessions that are nothing but talk, and of sessions as they are, mostly
/// the output of tools.
fn indexing(results: &mut Results) {
    type Write = fn(&World, usize) -> PathBuf;
    let worlds: [(&str, Write, usize); 2] =
        [("talk alone", |world, size| talk(world, size, 10), 1_000), ("tools and talk", work, 200)];
    for (name, write, size) in worlds {
        let world = World::new("");
        let transcripts = write(&world, size).display().to_string();
        world.run(&["run", "--note", "n"]);
        let file = world.state().join("index.db");
        let build = side("the first search", world.command(&["search", "topic7"]))
            .at_most(6.0)
            .after(move || drop(std::fs::remove_file(&file)));
        let bare = world.path().join("floor.db").display().to_string();
        let sides = vec![
            floor("read the transcripts", &["read-files", &transcripts]),
            build,
            floor("read them and insert the talk in them into FTS5", &["insert-talk", &transcripts, &bare]),
        ];
        results.race(&format!("indexing {size} sessions, {name}"), 10, sides);
    }
}
