//! The index of `search`: how many files a search looks at, and what is left of it when a search is killed.

use std::time::{Duration, SystemTime};

use agent_handover::testing::base::fault::POINTS;

use super::claude_talk::Transcript;
use super::prepared::{Passes, Prepared};
use super::support::*;

/// More transcripts than a search looks at each time.
const MANY: usize = 260;
const NEWEST: usize = 200;

fn sessions_of(output: Output) -> Vec<String> {
    let output = output.stderr_ignored("an index may be incomplete");
    assert!(output.code <= 1, "{}{}", output.stdout, output.stderr);
    let hits = output.json()["hits"].as_array().unwrap().clone();
    hits.iter().map(|hit| hit["session"].as_str().unwrap_or("none").to_owned()).collect()
}

fn sessions(world: &World, question: &str) -> Vec<String> {
    sessions_of(world.run(&["search", "--json", question]))
}

/// Writes transcripts with the names of these numbers, the oldest first. Their directory gets a time long ago: one that has just
/// changed may change again within the same tick of the clock, so it proves nothing yet.
fn talk(world: &World, numbers: std::ops::Range<usize>) {
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + numbers.end as u64);
    for number in numbers {
        Transcript::of(world, &format!("s{number:04}"), "2026-11-10T09:00:00Z").asks(&format!("about topic{number}"));
    }
    let transcript = Transcript::of(world, "s0000", "").path;
    std::fs::File::open(transcript.parent().unwrap()).unwrap().set_modified(changed).unwrap();
}

#[test]
fn of_a_word_in_more_passages_than_are_scored_the_newest_are_found_in_whatever_order_they_were_indexed() {
    let world = World::with_git();
    let said = |session: u64| {
        let at = format!("2026-{:02}-{:02}T09:00:00Z", session / 28 + 1, session % 28 + 1);
        let mut transcript = Transcript::of(&world, &format!("s{session:03}"), &at);
        for request in 0..30 {
            transcript.asks(&format!("Feed the walrus, please, request {request}"));
        }
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + session);
        std::fs::File::open(&transcript.path).unwrap().set_modified(changed).unwrap();
    };
    // More passages than are looked up of a word and than are scored.
    (0..100).for_each(said);
    let newest = |count: u64, last: u64| -> Vec<String> { (0..count).map(|n| format!("s{:03}", last - n)).collect() };
    assert_eq!(sessions(&world, "walrus")[..5], newest(5, 99));
    // What comes later is newer, be it one session or several at once.
    said(100);
    assert_eq!(sessions(&world, "walrus")[..5], newest(5, 100));
    (101..170).for_each(said);
    assert_eq!(sessions(&world, "walrus")[..5], newest(5, 169));
    std::fs::remove_file(world.path(".agent-handover/index.db")).unwrap();
    assert_eq!(sessions(&world, "walrus")[..5], newest(5, 169));
}

/// How often a search names a transcript or an archive to the system.
fn looks(world: &World, question: &str) -> usize {
    let log = world.path("../looks");
    let mut command = world.clean("strace");
    command.args(["-f", "-qq", "-s", "400", "-e", "trace=file", "-o"]).arg(&log).arg(BINARY).args(["search", question]);
    finish(&mut command).expect(0);
    let log = std::fs::read_to_string(log).unwrap();
    log.lines()
        .filter(|line| line.contains(".jsonl\"") || line.contains("-handoff") || line.contains("sessions/"))
        .count()
}

#[test]
fn a_search_looks_at_the_newest_files_unless_a_directory_has_changed() {
    if !is_installed("strace") {
        return skip("strace is not installed");
    }
    let world = World::with_git();
    talk(&world, 0..MANY);
    assert_eq!(sessions(&world, "topic7"), ["s0007"]);
    let few = looks(&world, "topic7");
    assert!((NEWEST..NEWEST + 10).contains(&few), "{few}");
    // A new session: everything is looked at once.
    talk(&world, MANY..MANY + 20);
    let all = looks(&world, "topic270");
    assert!(all >= MANY + 20, "{all}");
    assert_eq!(looks(&world, "topic270"), few, "it does not grow with the sessions");
    // An old session goes on, which no directory shows: before a search says that there is nothing, it looks at everything.
    Transcript::of(&world, "s0001", "2026-11-14T09:00:00Z").asks("a walrus came by");
    assert_eq!(sessions(&world, "walrus"), ["s0001"]);
    // Beside other hits it is found after some time at the latest, or when a session ends.
    Transcript::of(&world, "s0000", "2026-11-14T09:00:00Z").asks("another walrus, on the beach");
    assert_eq!(sessions(&world, "walrus"), ["s0001"]);
    let mut later = world.command(&["search", "--json", "walrus"]);
    let mut found = sessions_of(finish(later.env("AGENT_HANDOVER_TEST_NOW", "2026-11-15T10:15:05Z")));
    found.sort();
    assert_eq!(found, ["s0000", "s0001"]);
    // What is gone is not found.
    std::fs::remove_file(Transcript::of(&world, "s0000", "").path).unwrap();
    std::fs::remove_file(Transcript::of(&world, "s0259", "").path).unwrap();
    assert_eq!(sessions(&world, "walrus"), ["s0001"]);
    assert!(!sessions(&world, "topic259").contains(&"s0259".to_owned()));
}

#[test]
fn a_session_of_codex_is_found_whatever_the_day() {
    let world = World::with_git();
    let put = |day: &str, name: &str, text: &str| {
        let directory = world.home().join(".codex/sessions/2026/11").join(day);
        std::fs::create_dir_all(&directory).unwrap();
        let at = format!("2026-11-{day}T09:00:00.000Z");
        let cwd = world.root().canonicalize().unwrap();
        let records = [
            serde_json::json!({ "timestamp": at, "type": "session_meta", "payload": { "id": name, "cwd": cwd, "timestamp": at } }),
            serde_json::json!({ "timestamp": at, "type": "response_item", "payload":
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] } }),
        ];
        let text: String = records.iter().map(|record| format!("{record}\n")).collect();
        std::fs::write(directory.join(format!("rollout-2026-11-{day}T09-00-00-{name}.jsonl")), text).unwrap();
    };
    let (first, second, third) = (
        "0199f000-0000-7000-8000-000000000001",
        "0199f000-0000-7000-8000-000000000002",
        "0199f000-0000-7000-8000-000000000003",
    );
    put("03", first, "the walrus exporter");
    assert_eq!(sessions(&world, "walrus"), [first]);
    // On a new day, and on a day that there was.
    put("04", second, "the walrus importer");
    assert_eq!(sessions(&world, "walrus").len(), 2);
    put("03", third, "the walrus adapter");
    assert_eq!(sessions(&world, "walrus").len(), 3);
}

#[test]
fn a_record_whose_line_break_comes_later_is_indexed_once() {
    let world = World::with_git();
    let directory = world.home().join(".codex/sessions/2026/11/03");
    std::fs::create_dir_all(&directory).unwrap();
    let id = "0199f000-0000-7000-8000-000000000001";
    let file = directory.join(format!("rollout-2026-11-03T09-00-00-{id}.jsonl"));
    let record = |kind: &str, payload: serde_json::Value| {
        serde_json::json!({ "timestamp": "2026-11-03T09:00:00.000Z", "type": kind, "payload": payload }).to_string()
    };
    let asked = |text: &str| {
        let content = [serde_json::json!({ "type": "input_text", "text": text })];
        record("response_item", serde_json::json!({ "type": "message", "role": "user", "content": content }))
    };
    let about = record("session_meta", serde_json::json!({ "id": id, "cwd": world.root().canonicalize().unwrap() }));
    let begun = format!("{about}\n{}", asked("feed the walrus"));
    std::fs::write(&file, &begun).unwrap();
    assert_eq!(sessions(&world, "walrus"), [id]);
    std::fs::write(&file, format!("{begun}\n{}\n", asked("feed the penguin"))).unwrap();
    assert_eq!(sessions(&world, "penguin"), [id]);
    let index = rusqlite::Connection::open(world.path(".agent-handover/index.db")).unwrap();
    let said: i64 = index.query_row("SELECT count(*) FROM passage WHERE kind = 0", [], |row| row.get(0)).unwrap();
    assert_eq!(said, 2);
}

#[test]
fn an_archive_that_is_edited_in_place_is_found() {
    let world = World::with_git();
    let create =
        |goal: &str| world.run(&["history", "create", "--goal", goal, "--next", "Measure the cages"]).expect(0);
    create("Count the tapirs");
    let search =
        |question: &str| world.run(&["search", "--json", question]).stderr_ignored("the edit is not ours").code;
    assert_eq!(search("tapirs"), 0);
    let directory = world.path(".agent-history/sessions");
    let archive = std::fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&archive).unwrap();
    std::fs::write(&archive, text.replace("tapirs", "okapis")).unwrap();
    assert_eq!(search("okapis"), 0);
    assert_eq!(search("tapirs"), 1);
    create("Feed the lemurs");
    assert_eq!(search("lemurs"), 0);
}

/// Sessions, memory and history, once without an index, and once with an index that has to add and to remove.
fn worlds() -> [World; 2] {
    [false, true].map(|is_indexed| {
        let world = World::with_git();
        let gone = Transcript::of(&world, "gone", "2026-11-10T09:00:00Z").asks("a lexer that is gone").path.clone();
        Transcript::of(&world, "longer", "2026-11-10T09:00:00Z").asks("the lexer loops");
        world.run(&["memory", "add", "decision", "The lexer stays recursive"]).expect(0);
        if is_indexed {
            assert_eq!(sessions(&world, "lexer").len(), 3);
        }
        std::fs::remove_file(gone).unwrap();
        Transcript::of(&world, "longer", "2026-11-11T09:00:00Z").says("It walks around the walrus.");
        Transcript::of(&world, "new", "2026-11-12T09:00:00Z").asks("Why is the lexer slow?");
        world.run(&["history", "create", "--goal", "A quick lexer", "--next", "Measure"]).expect(0);
        world
    })
}

fn answers(world: &World) -> Vec<Vec<String>> {
    ["lexer", "walrus", "quick"].map(|question| sessions(world, question)).into()
}

#[test]
fn a_search_that_is_killed_anywhere_while_indexing_loses_nothing() {
    let search = ["search", "--json", "lexer"];
    for world in worlds() {
        let prepared = Prepared::new(&world);
        let expected = answers(prepared.again());
        assert!(expected.iter().all(|found| !found.is_empty()) && expected[0].len() >= 4, "{expected:?}");
        let passes = Passes::points(prepared.again(), &mut world.command(&search));
        let mut kills = 0;
        for point in POINTS {
            for nth in passes.at(point, 1) {
                let world = prepared.again();
                let mut command = world.command(&search);
                finish(command.env("AGENT_HANDOVER_TEST_FAULT", format!("{point}:{nth}=kill"))).expect(KILLED);
                kills += 1;
                assert_eq!(answers(world), expected, "{point} {nth}");
            }
        }
        assert!(kills > 0);
        if !is_installed("strace") {
            continue;
        }
        let passes = Passes::calls(prepared.again(), &search);
        for call in CHANGING_CALLS {
            for nth in passes.at(call, stride(20)) {
                let world = prepared.again();
                let mut strace = killed_at_call(world, call, nth);
                if finish(strace.args(search)).stderr_ignored("it is killed").code == KILLED {
                    kills += 1;
                    assert_eq!(answers(world), expected, "{call} {nth}");
                }
            }
        }
        eprintln!("killed at {kills} places");
    }
}

/// Many new transcripts are read on several threads, a few on none.
#[test]
fn sessions_that_are_indexed_at_once_are_found_as_those_that_are_indexed_one_by_one() {
    let [at_once, one_by_one] = [false, true].map(|is_one_by_one| {
        let world = World::with_git();
        let search = || is_one_by_one.then(|| sessions(&world, "lexer"));
        for number in 0..40 {
            let mut transcript =
                Transcript::of(&world, &format!("s{number:02}"), &format!("2026-10-{:02}T09:00:00Z", number % 28 + 1));
            if number % 7 == 3 {
                transcript.cwd = world.home().display().to_string();
            }
            transcript.asks(&format!("The lexer and topic{number}")).says(&format!("It is part{number}_of_it."));
            let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + number);
            let path = &transcript.path;
            match number % 11 {
                5 => std::fs::write(path, "no record\n").unwrap(),
                6 => std::fs::write(path, "").unwrap(),
                _ => {}
            }
            std::fs::File::open(path).unwrap().set_modified(changed).unwrap();
            search();
        }
        let questions = (0..40).map(|number| format!("topic{number} part{number}"));
        questions.chain(["lexer".to_owned()]).map(|question| sessions(&world, &question)).collect::<Vec<_>>()
    });
    assert_eq!(at_once, one_by_one);
    assert_eq!(at_once[20], ["s20"]);
    // Of another project, and without a record. Words that begin alike may find other sessions.
    assert!(!at_once[3].contains(&"s03".to_owned()) && !at_once[5].contains(&"s05".to_owned()));
}
