//! Transcripts that their agents are about to delete: `doctor` and the home view say so, and how many have no handover.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::claude_talk::Transcript;
use super::install::program;
use super::support::*;

const DAY: u64 = 24 * 60 * 60;

/// A session that changed last so many days ago.
fn session(world: &World, id: &str, days: u64) -> Transcript {
    let mut talk = Transcript::of(world, id, "2026-10-17T09:00:00.000Z");
    talk.asks(&format!("Teach the walrus of {id}"));
    talk.edits("walrus.rs");
    age(&talk, days);
    talk
}

fn age(talk: &Transcript, days: u64) {
    let now = SystemTime::from(chrono::DateTime::parse_from_rfc3339(NOW).unwrap());
    let file = std::fs::File::options().append(true).open(&talk.path).unwrap();
    file.set_modified(now - Duration::from_secs(days * DAY)).unwrap();
}

/// What the home view says needs a person about transcripts.
fn at_home(world: &World) -> Option<Value> {
    let output = finish(&mut world.command(&["--json"])).stderr_ignored("notes").expect(0);
    let health = output.json()["health"].as_array().unwrap().clone();
    health.into_iter().find(|need| need["kind"] == "deletion")
}

/// What `doctor` says about transcripts: the state and the sentence.
fn in_doctor(world: &World) -> Vec<(String, String)> {
    let output = finish(&mut world.command(&["doctor", "--json"])).stderr_ignored("notes");
    let findings = output.json()["findings"].as_array().unwrap().clone();
    let text = |found: &Value, key: &str| found[key].as_str().unwrap().to_owned();
    findings
        .iter()
        .filter(|found| found["about"] == "transcripts")
        .map(|found| (text(found, "state"), text(found, "says")))
        .collect()
}

#[test]
fn the_oldest_transcripts_are_named_before_they_are_deleted() {
    let world = World::with_git();
    let oldest = session(&world, "s1", 29);
    session(&world, "s2", 25);
    session(&world, "s3", 10);
    // A session of another project, a sub-agent, and one in which nobody asked anything.
    let mut other = Transcript::of(&world, "s4", "2026-10-17T09:00:00.000Z");
    other.cwd = "/somewhere/else".to_owned();
    other.asks("Not here");
    age(&other, 28);
    let mut silent = Transcript::of(&world, "s5", "2026-10-17T09:00:00.000Z");
    silent.says("Hello");
    age(&silent, 28);
    let sentence = "Claude Code deletes 2 transcripts of this project from 2026-11-16 on (it keeps them for 30 days)";
    let need = at_home(&world).expect("a need");
    assert_eq!(need["message"], format!("{sentence}; 2 have no handover"));
    let command = need["command"].as_str().unwrap().to_owned();
    assert!(command.starts_with("agent-handover run --transcript ") && command.contains("s1.jsonl"), "{command}");
    assert_eq!(in_doctor(&world), [("remark".to_owned(), format!("{sentence}; 2 have no handover"))]);
    // What it proposes helps.
    let (_, path) = program(&world, "bin");
    for left in ["1 has no handover", "all are handed over"] {
        let command = at_home(&world).expect("a need")["command"].as_str().unwrap().to_owned();
        let mut shell = world.clean("sh");
        finish(shell.args(["-c", &command]).env("PATH", &path)).stderr_ignored("progress").expect(0);
        assert!(in_doctor(&world)[0].1.ends_with(left), "{:?}", in_doctor(&world));
    }
    assert!(at_home(&world).is_none(), "nothing is left for a person to do");
    // They are sessions of the past, in the order in which they ended.
    let listed = world.run(&["history", "list", "--json"]).expect(0).json();
    let dates: Vec<&str> = listed["handoffs"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert!(dates.len() == 2 && dates[0].starts_with("2026-10-21") && dates[1].starts_with("2026-10-17"), "{dates:?}");
    assert_eq!(in_doctor(&world)[0].0, "good");
    // It is overdue.
    age(&oldest, 31);
    assert!(in_doctor(&world)[0].1.contains(" when it starts next "), "{:?}", in_doctor(&world));
}

#[test]
fn the_settings_of_the_agent_decide() {
    for (own, in_project, days) in [
        (json!({ "cleanupPeriodDays": 365 }), Value::Null, None),
        (json!({ "cleanupPeriodDays": 20 }), Value::Null, Some(20)),
        // A session in any other project deletes with the user's own settings.
        (Value::Null, json!({ "cleanupPeriodDays": 365 }), Some(30)),
        (json!({ "cleanupPeriodDays": 365 }), json!({ "cleanupPeriodDays": 27 }), Some(27)),
        (json!({ "cleanupPeriodDays": "soon" }), Value::Null, Some(30)),
        (json!({ "cleanupPeriodDays": 9_999_999_999_u64 }), Value::Null, None),
        (json!({ "cleanupPeriodDays": 0 }), Value::Null, Some(0)),
    ] {
        let world = World::with_git();
        session(&world, "s1", 26);
        for (settings, path) in [(&own, world.home().join(".claude")), (&in_project, world.path(".claude"))] {
            if !settings.is_null() {
                std::fs::create_dir_all(&path).unwrap();
                std::fs::write(path.join("settings.json"), settings.to_string()).unwrap();
            }
        }
        let said = in_doctor(&world);
        match days {
            None => assert!(said.is_empty(), "{own} {in_project}: {said:?}"),
            Some(days) => {
                let part = format!("(it keeps them for {days} days)");
                assert!(said[0].1.contains(&part), "{own} {in_project}: {said:?}");
            }
        }
    }
}

/// A directory with very many transcripts is not read as a whole by a view that answers at once.
#[test]
fn a_large_directory_is_looked_at_within_limits() {
    let world = World::with_git();
    let first = session(&world, "s0", 29);
    let text = std::fs::read(&first.path).unwrap();
    let time = first.path.metadata().unwrap().modified().unwrap();
    for number in 1..1_200 {
        let path = first.path.with_file_name(format!("s{number}.jsonl"));
        std::fs::write(&path, &text).unwrap();
        std::fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
    }
    assert!(at_home(&world).is_none());
    assert!(in_doctor(&world)[0].1.contains(" deletes at least 1000 transcripts "), "{:?}", in_doctor(&world));
    for number in 200..1_200 {
        std::fs::remove_file(first.path.with_file_name(format!("s{number}.jsonl"))).unwrap();
    }
    let said = at_home(&world).expect("a need")["message"].as_str().unwrap().to_owned();
    assert!(said.contains(" deletes at least 40 transcripts "), "{said}");
}
