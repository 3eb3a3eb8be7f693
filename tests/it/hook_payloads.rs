//! The payload that each agent sends to a hook, and the answer that it gets, to the byte.

use std::path::PathBuf;

use agent_handover::testing::agents::{self, AGENTS, Agent, Call, Event, answer, recognise};
use serde_json::Value;

const CONTEXT: &str = "Goal: \"ship\" the parser\nNext: fix <lexer.rs:42>";
const EVENTS: [Event; 6] = [
    Event::SessionStart,
    Event::TurnEnd,
    Event::BeforeCompaction,
    Event::SessionEnd,
    Event::PromptSubmitted,
    Event::BeforeTool,
];

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/hooks")
}

/// Every payload of an agent, by name.
fn payloads(agent: &Agent) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(directory().join(agent.name)).unwrap();
    let mut found: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    found.sort();
    found
}

fn described(call: &Call) -> String {
    let mut text = format!("  {} {:?}\n", call.agent.name, call.event);
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    for (name, value) in [
        ("session", call.session_id.clone()),
        ("cwd", path(&call.cwd)),
        ("transcript", path(&call.transcript_path)),
        ("source", call.source.clone()),
        ("reason", call.reason.clone()),
        ("trigger", call.trigger.clone()),
        ("model", call.model.clone()),
        ("prompt", call.prompt.clone()),
        ("last message", call.last_message.clone()),
    ] {
        if let Some(value) = value {
            text.push_str(&format!("  {name}: {value}\n"));
        }
    }
    for (name, is_so) in [
        ("sub-agent", call.is_subagent),
        ("headless", call.is_headless),
        ("continued by a hook", call.is_continued_by_hook),
    ] {
        if is_so {
            text.push_str(&format!("  {name}\n"));
        }
    }
    text
}

#[test]
fn every_event_of_every_agent_is_understood_and_answered_as_it_wants() {
    let mut seen = String::new();
    for agent in AGENTS {
        for (name, payload) in payloads(agent) {
            let call = recognise(&payload, Some(agent.name), &|_| None);
            assert_eq!(call.problems, [""; 0], "{} {name}", agent.name);
            assert_eq!(call.agent.name, agent.name, "{name}");
            seen.push_str(&format!("{}/{name}\n{}", agent.name, described(&call)));
            seen.push_str(&format!("  -> {}\n", answer(call.agent, &call.event, Some(CONTEXT))));
            seen.push_str(&format!("  with nothing to say -> {}\n\n", answer(call.agent, &call.event, None)));
        }
    }
    snapbox::assert_data_eq!(seen, snapbox::file!["../data/hooks/answers.txt"].raw());
}

#[test]
fn every_event_that_we_install_has_a_payload_and_a_meaning() {
    for agent in AGENTS.iter().filter(|agent| agent.name != "agents-md") {
        let meant: Vec<Event> =
            payloads(agent).iter().map(|(_, payload)| recognise(payload, Some(agent.name), &|_| None).event).collect();
        // An agent without an event for the end of a session is swept.
        let ends = agent.events.iter().any(|(_, event)| *event == Event::SessionEnd);
        assert!(ends || agent.name == "antigravity", "{}", agent.name);
        for event in [Event::SessionStart, Event::TurnEnd, Event::SessionEnd] {
            if event == Event::SessionEnd && !ends {
                continue;
            }
            assert!(meant.contains(&event), "{} has no payload for {}", agent.name, event.name());
        }
        for (name, event) in agent.events {
            assert!(EVENTS.contains(event), "{name}");
        }
    }
}

/// Codex refuses an answer with a key it does not know, on any level, and takes none at the end of a turn.
#[test]
fn an_answer_to_codex_has_no_unknown_key() {
    let codex = agents::find("codex").unwrap();
    for event in EVENTS {
        let said = answer(codex, &event, Some(CONTEXT));
        if said.is_empty() {
            assert!(!matches!(event, Event::SessionStart));
            continue;
        }
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(keys(&said), ["hookSpecificOutput"]);
        assert_eq!(keys(&said["hookSpecificOutput"]), ["hookEventName", "additionalContext"]);
        assert_eq!(said["hookSpecificOutput"]["additionalContext"], CONTEXT);
    }
    assert_eq!(answer(codex, &Event::TurnEnd, Some(CONTEXT)), "");
}

/// What is not JSON Gemini shows to its user; Cursor, Copilot and our plugin parse too.
#[test]
fn agents_that_parse_get_json_whatever_happened() {
    for name in ["gemini", "cursor", "copilot", "cline", "opencode"] {
        let agent = agents::find(name).unwrap();
        for event in EVENTS.into_iter().chain([Event::Unknown("Notification".to_owned())]) {
            for context in [Some(CONTEXT), Some(""), None] {
                let said = answer(agent, &event, context);
                assert!(serde_json::from_str::<Value>(&said).unwrap().is_object(), "{name} {event:?}: {said}");
            }
        }
    }
}

/// A text in the wrong event blocks or prolongs a turn.
#[test]
fn nobody_is_told_anything_when_a_turn_or_a_session_ends() {
    for agent in AGENTS {
        for event in [Event::TurnEnd, Event::SessionEnd, Event::Unknown("x".to_owned())] {
            let said = answer(agent, &event, Some(CONTEXT));
            assert!(!said.contains("parser") && !said.contains("decision"), "{}: {said}", agent.name);
        }
    }
}
