//! What an agent waits for.

use std::cell::Cell;
use std::io::Write;
use std::path::PathBuf;

use crate::floor::floor;
use crate::race::{Results, Side, side};
use crate::world::{BINARY, World, answer, fill, fill_checkpoint};

/// What an agent waits for at the start and at the end of a session, where there were few and where there were many before:
/// archives, transcripts, and rows of the checkpoint.
pub(crate) fn hook(results: &mut Results) {
    let mut starts = vec![floor("a process that does nothing", &["trivial"])];
    let mut ends = vec![floor("a process that does nothing", &["trivial"])];
    for size in [10, 20_000] {
        let world = World::new("");
        world.git(&["init", "--quiet"]);
        world.git(&["commit", "--quiet", "--allow-empty", "-m", "Begin"]);
        // From before the project was first used: nothing is owed of these.
        let transcripts = world.transcripts();
        for n in 0..size {
            let id = format!("old-{n:06}");
            std::fs::write(transcripts.join(format!("{id}.jsonl")), request(&world, &id, "an old request")).unwrap();
        }
        fill(&world, size);
        world.run(&["run", "--note", "n"]);
        fill_checkpoint(&world, size);
        let name = |what: &str, size: usize| format!("session {what} after {size} sessions");
        let (begin, finish) = (start(&world, &name("start", size)), end(&world, &name("end", size)));
        let is_many = size > 10;
        starts.push(if is_many { begin.at_most_of(2.0, &name("start", 10)) } else { begin });
        ends.push(if is_many { finish.at_most_of(2.0, &name("end", 10)) } else { finish });
    }
    results.race("hook at session start", 40, starts);
    results.race("hook at session end", 40, ends);
}

/// What an agent waits for, beside the same with an earlier version of this program, whose path is in
/// `AGENT_HANDOVER_BEFORE`. The project has 50 handoffs and 20 files with changes that are not committed.
pub(crate) fn before(results: &mut Results) {
    let Some(earlier) = std::env::var_os("AGENT_HANDOVER_BEFORE") else { return };
    let mut starts = vec![floor("a process that does nothing", &["trivial"])];
    let mut ends = vec![floor("a process that does nothing", &["trivial"])];
    for (program, version) in [(PathBuf::from(earlier), "before"), (PathBuf::from(BINARY), "now")] {
        let world = World::of(program, "");
        world.git(&["init", "--quiet"]);
        let file = |n: usize| world.path().join(format!("file-{n}.txt"));
        (0..20).for_each(|n| std::fs::write(file(n), "committed\n").unwrap());
        world.git(&["add", "--all"]);
        world.git(&["commit", "--quiet", "-m", "Begin"]);
        (0..20).for_each(|n| std::fs::write(file(n), "changed\n").unwrap());
        fill(&world, 50);
        world.run(&["run", "--note", "n"]);
        let (begin, finish) = (start(&world, &format!("start, {version}")), end(&world, &format!("end, {version}")));
        let is_now = version == "now";
        starts.push(if is_now { begin.at_most_of(0.5, "start, before") } else { begin });
        ends.push(if is_now { finish.at_most_of(0.5, "end, before") } else { finish });
    }
    results.race("session start beside an earlier version", 60, starts);
    results.race("session end beside an earlier version", 60, ends);
}

/// A record of a transcript in which a person asks for something.
fn request(world: &World, id: &str, text: &str) -> String {
    let root = world.path().canonicalize().unwrap().display().to_string();
    format!("{{\"type\":\"user\",\"sessionId\":\"{id}\",\"cwd\":\"{root}\",\"message\":{{\"content\":\"{text}\"}}}}\n")
}

/// A payload for a hook, of another session each time that the result is called.
fn payloads(world: &World, file: &str, fields: &str) -> (PathBuf, impl Fn() + use<>) {
    let (number, file) = (Cell::new(0), world.path().join(file));
    let (place, cwd, fields) = (file.clone(), world.path().display().to_string(), fields.to_owned());
    let next = move || {
        number.set(number.get() + 1);
        let session = format!("n-{}-{}", place.file_stem().unwrap().display(), number.get());
        std::fs::write(&place, format!("{{\"session_id\":\"{session}\",{fields},\"cwd\":\"{cwd}\"}}")).unwrap();
    };
    next();
    (file, next)
}

/// A session start.
pub(crate) fn start(world: &World, name: &str) -> Side {
    let (payload, next) = payloads(world, "start.json", "\"hook_event_name\":\"SessionStart\",\"source\":\"startup\"");
    let start = world.command(&["hook", "--agent", "codex"]);
    assert!(answer(&start, &payload).contains("agent-handover"), "the hook does nothing here");
    next();
    let place = world.clone();
    side(name, start).input(&payload).after(move || {
        place.wait_until_idle();
        next();
    })
}

/// The first prompt of a session.
pub(crate) fn prompt(world: &World, name: &str, said: &str) -> Side {
    let file = format!("prompt-{}.json", said.len());
    let fields = format!("\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"{said}\"");
    let (payload, next) = payloads(world, &file, &fields);
    let place = world.clone();
    side(name, world.command(&["hook", "--agent", "claude-code"])).input(&payload).after(move || {
        place.wait_until_idle();
        next();
    })
}

/// The end of a session that asked for something since its last end.
pub(crate) fn end(world: &World, name: &str) -> Side {
    let payload = world.path().join("end.json");
    let transcript = world.transcripts().join("this-one.jsonl");
    let text = format!(
        "{{\"session_id\":\"this-one\",\"hook_event_name\":\"SessionEnd\",\"cwd\":\"{}\",\"transcript_path\":\"{}\"}}",
        world.path().display(),
        transcript.display()
    );
    std::fs::write(&payload, text).unwrap();
    let place = world.clone();
    let ask = move || {
        place.wait_until_idle();
        let mut file = std::fs::File::options().create(true).append(true).open(&transcript).unwrap();
        file.write_all(request(&place, "this-one", "one thing more").as_bytes()).unwrap();
    };
    ask();
    side(name, world.command(&["hook", "--agent", "claude-code"])).input(&payload).after(ask)
}
