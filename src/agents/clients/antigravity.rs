//! Antigravity CLI (`agy`): a named group of hooks of our own in `hooks.json`. It has no event for the end of a session, so
//! sessions are swept.
//!
//! Not run here: the client needs an account. Shapes and places are those that several users measured with agy 1.0.3 to
//! 1.2.6. One entry of the wrong shape drops the whole file without a word, so [`obstacles`] examines all of it.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::agent::{Bootstrap, Evidence, Payloads, Processes};
use crate::agents::install::agent_file::{HookShape, Hooks, JsonDialect};
use crate::agents::install::server::{ServerSettings, plain_entry};
use crate::agents::install::slash_commands::{CommandForm, slash_commands};
use crate::agents::install::{AgentFile, Program, teaching};
use crate::agents::launch::Launch;
use crate::agents::payload::Payload;
use crate::agents::{Agent, Event, Places, Scope};
use crate::base::fs;
use crate::error::Result;

pub(super) const AGENT: Agent = Agent {
    name: "antigravity",
    title: "Antigravity CLI",
    programs: &["agy"],
    launch: Some(Launch::option("agy", "-i")),
    traces: |places, _| vec![places.home.join(".gemini/antigravity-cli")],
    directory_variable: None,
    // Its payloads name no event.
    events: &[("PreInvocation", Event::SessionStart), ("Stop", Event::TurnEnd)],
    command_variables: &[("ANTIGRAVITY_AGENT", Evidence::Strong)],
    payloads: Payloads {
        evidence: |payload| {
            let is_own = payload.has("artifactDirectoryPath") || payload.has("conversationId");
            is_own.then_some(Evidence::Certain)
        },
        unnamed_event,
        sample: |sample| {
            let is_stop = sample.event == "Stop";
            let about = json!({ "conversationId": sample.session, "workspacePaths": [sample.cwd] });
            let more = if is_stop { json!({ "fullyIdle": true }) } else { json!({ "invocationNum": 0 }) };
            let pairs = [about, more].into_iter().filter_map(|part| part.as_object().cloned()).flatten();
            Value::Object(pairs.collect())
        },
        ..Payloads::PLAIN
    },
    processes: Processes {
        is_headless: |arguments| Processes::has_word(arguments, &["-p", "--print", "--prompt"]),
        ..Processes::MANY_SESSIONS
    },
    files,
    server: |places, scope| {
        let path = directory(places, scope).join("mcp_config.json");
        Some(ServerSettings::json(path, &["mcpServers"], plain_entry))
    },
    memories: |_| Vec::new(),
    plugin: |_| None,
    deletes_after: |_| None,
    bootstrap: |_, _| Bootstrap::AgentsMd,
    answer,
    obstacles,
    clicks: |_, scope| match scope {
        Scope::User => vec!["restart `agy`; `/hooks` lists what it has loaded".into()],
        Scope::Project => vec!["restart `agy` here, and trust this folder when it asks".into()],
    },
    trusts_hooks_by_position: false,
    settings_read_by_others: false,
};

/// The events whose entries are handlers, and those whose entries are groups with a matcher.
const PLAIN: &[&str] = &["SessionStart", "PreInvocation", "PostInvocation", "Stop"];
const OF_TOOLS: &[&str] = &["PreToolUse", "PostToolUse"];

/// The directory of its settings: not that of its sessions.
fn directory(places: &Places, scope: Scope) -> PathBuf {
    places.base(scope).join(match scope {
        Scope::User => ".gemini/config",
        Scope::Project => ".agents",
    })
}

fn files(places: &Places, scope: Scope, program: &Program) -> Result<Vec<AgentFile>> {
    let line = match scope {
        Scope::User => program.line(AGENT.name),
        Scope::Project => Program::by_name().line(AGENT.name),
    };
    let handler = |timeout: u32| json!({ "type": "command", "command": line, "timeout": timeout });
    let hooks = Hooks {
        shape: HookShape::Named,
        matchers: &[],
        dialect: JsonDialect::Strict,
        top: None,
        entries: vec![("PreInvocation", handler(10)), ("Stop", handler(10))],
    };
    let directory = directory(places, scope);
    let skills = directory.join("skills");
    let mut files = vec![AgentFile::hooks(directory.join("hooks.json"), hooks), teaching::skill(&skills)];
    files.extend(slash_commands(&skills, CommandForm::Skill));
    Ok(files)
}

/// Only the first call of the model in a turn may start a session. The others are as quiet as the use of a tool.
fn unnamed_event(payload: &Payload) -> Event {
    if ["fullyIdle", "terminationReason", "executionNum"].iter().any(|key| payload.has(key)) {
        Event::TurnEnd
    } else {
        match payload.number("invocationNum") {
            Some(0) => Event::SessionStart,
            Some(_) => Event::BeforeTool,
            None => Event::Unknown(String::new()),
        }
    }
}

/// Without `"decision": "continue"` a turn ends. A message to the model is part of one turn, and is not in the transcript.
fn answer(event: &Event, context: Option<&str>) -> String {
    match (event, context.filter(|context| !context.is_empty())) {
        (Event::SessionStart, Some(context)) => json!({ "injectSteps": [{ "ephemeralMessage": context }] }).to_string(),
        _ => "{}".to_owned(),
    }
}

fn obstacles(places: &Places, scope: Scope) -> Vec<String> {
    let file = directory(places, scope).join("hooks.json");
    let text = fs::read_if_exists(&file).ok().flatten().unwrap_or_default();
    let Ok(whole) = serde_json::from_slice::<Value>(&text) else { return Vec::new() };
    let problem = problem(&whole);
    problem
        .map(|what| format!("{what} in {}: Antigravity ignores the whole file", file.display()))
        .into_iter()
        .collect()
}

/// What is wrong with the shape of a file of hooks, if anything is: names, each with events, each with a list of entries.
fn problem(whole: &Value) -> Option<String> {
    let Some(names) = whole.as_object() else { return Some("something other than an object".to_owned()) };
    for (name, events) in names {
        let Some(events) = events.as_object() else { return Some(format!("`{name}` is not an object")) };
        for (event, entries) in events {
            let is_of_tools = OF_TOOLS.contains(&event.as_str());
            if !is_of_tools && !PLAIN.contains(&event.as_str()) {
                continue;
            }
            let is_good = |entry: &Value| if is_of_tools { is_group(entry) } else { is_handler(entry) };
            if !entries.as_array().is_some_and(|entries| entries.iter().all(is_good)) {
                return Some(format!("`{event}` of `{name}` is not of the right shape"));
            }
        }
    }
    None
}

fn is_handler(entry: &Value) -> bool {
    let has_kind = entry.get("type").is_none_or(Value::is_string);
    let has_timeout = entry.get("timeout").is_none_or(Value::is_number);
    entry["command"].is_string() && has_kind && has_timeout && entry.get("hooks").is_none()
}

fn is_group(entry: &Value) -> bool {
    let has_matcher = entry.get("matcher").is_none_or(Value::is_string);
    has_matcher && entry["hooks"].as_array().is_some_and(|handlers| handlers.iter().all(is_handler))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::install::agent_file::FileEdit;

    #[test]
    fn what_we_write_has_the_shape_that_the_client_reads() {
        let places = Places::at(std::path::Path::new("/home/u"), std::path::Path::new("/p"));
        for scope in Scope::ALL {
            let files = files(&places, scope, &Program::by_name()).unwrap();
            for before in [None, Some("{}"), Some(r#"{"mine":{"Stop":[{"type":"command","command":"x"}]}}"#)] {
                let FileEdit::Text(text) = files[0].with(before).unwrap() else { panic!("{before:?}") };
                let whole: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(problem(&whole), None, "{text}");
                for event in ["PreInvocation", "Stop"] {
                    let handlers = whole["agent-handover"][event].as_array().unwrap();
                    assert!(handlers.len() == 1 && handlers[0]["type"] == "command", "{text}");
                }
                assert_eq!(whole.get("mine").is_some(), before.is_some_and(|text| text.contains("mine")));
                let FileEdit::Text(after) = files[0].without(&text).unwrap() else { panic!("{before:?}") };
                assert!(!after.contains("agent-handover"), "{after}");
            }
        }
    }

    #[test]
    fn an_entry_of_the_wrong_shape_is_found() {
        for wrong in [
            json!([]),
            json!({ "hooks": { "Stop": {} } }),
            json!({ "x": 7 }),
            json!({ "x": { "PreInvocation": [{ "matcher": "", "hooks": [{ "type": "command", "command": "c" }] }] } }),
            json!({ "x": { "PreToolUse": [{ "type": "command", "command": "c" }] } }),
            json!({ "x": { "Stop": [{ "type": "command" }] } }),
            json!({ "x": { "Stop": [{ "command": "c", "timeout": "5" }] } }),
        ] {
            assert!(problem(&wrong).is_some(), "{wrong}");
        }
        let group = json!({ "matcher": "run_command", "hooks": [{ "type": "command", "command": "c" }] });
        assert_eq!(problem(&json!({ "x": { "PreToolUse": [group], "Later": 7 }, "y": {} })), None);
    }
}
