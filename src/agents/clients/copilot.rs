//! GitHub Copilot CLI: a hook file of our own.

use serde_json::json;

use super::nothing;
use crate::agents::agent::{Bootstrap, Evidence, Payloads, Processes};
use crate::agents::install::agent_file::{HookShape, Hooks, JsonDialect};
use crate::agents::install::server::{ServerSettings, stdio_entry};
use crate::agents::install::slash_commands::{CommandForm, slash_commands};
use crate::agents::install::{AgentFile, Program, teaching};
use crate::agents::launch::Launch;
use crate::agents::payload::Payload;
use crate::agents::{Agent, Event, Places, Scope};
use crate::error::Result;

pub(super) const AGENT: Agent = Agent {
    name: "copilot",
    title: "GitHub Copilot CLI",
    programs: &["copilot"],
    launch: Some(Launch::option("copilot", "-i")),
    traces: |places, _| vec![directory(places)],
    directory_variable: Some("COPILOT_HOME"),
    events: &[
        ("sessionStart", Event::SessionStart),
        ("agentStop", Event::TurnEnd),
        ("preCompact", Event::BeforeCompaction),
        ("sessionEnd", Event::SessionEnd),
        ("userPromptSubmitted", Event::PromptSubmitted),
    ],
    command_variables: &[("COPILOT_CLI", Evidence::Strong)],
    payloads: Payloads {
        evidence: |payload| payload.has("sessionId").then_some(Evidence::Strong),
        variable: Some(("COPILOT_CLI", Evidence::Strong)),
        unnamed_event,
        sample: |sample| json!({ "sessionId": sample.session, "cwd": sample.cwd, "timestamp": 0 }),
        ..Payloads::PLAIN
    },
    processes: Processes {
        is_headless: |arguments| Processes::has_word(arguments, &["-p", "--prompt"]),
        ..Processes::ONE_SESSION_EACH
    },
    files,
    server: |places, scope| {
        Some(match scope {
            Scope::User => {
                // The tools of a server are offered only if they are named, or all of them.
                let entry =
                    |program: &str| json!({ "type": "local", "command": program, "args": ["mcp"], "tools": ["*"] });
                ServerSettings::json(directory(places).join("mcp-config.json"), &["mcpServers"], entry)
            }
            // Copilot in VS Code.
            Scope::Project => ServerSettings::json(places.project.join(".vscode/mcp.json"), &["servers"], stdio_entry),
        })
    },
    memories: |_| Vec::new(),
    plugin: |_| None,
    deletes_after: |_| None,
    bootstrap: |places, scope| {
        Bootstrap::OnRequest(match scope {
            Scope::User => directory(places).join("copilot-instructions.md"),
            Scope::Project => places.project.join(".github/copilot-instructions.md"),
        })
    },
    answer,
    obstacles: nothing,
    clicks: |_, scope| match scope {
        Scope::User => Vec::new(),
        Scope::Project => vec!["start `copilot` here and trust this folder".into()],
    },
    trusts_hooks_by_position: false,
    settings_read_by_others: false,
};

fn directory(places: &Places) -> std::path::PathBuf {
    places.moved(AGENT.directory_variable, ".copilot")
}

fn files(places: &Places, scope: Scope, program: &Program) -> Result<Vec<AgentFile>> {
    let (line, file, skills) = match scope {
        Scope::User => {
            let directory = directory(places);
            (program.line(AGENT.name), directory.join("hooks/agent-handover.json"), directory.join("skills"))
        }
        Scope::Project => (
            Program::by_name().line(AGENT.name),
            places.project.join(".github/hooks/agent-handover.json"),
            places.project.join(".agents/skills"),
        ),
    };
    // `exec` with `args` would need no shell, but older versions ignore an entry that has them.
    let handler = |timeout: u32| json!({ "type": "command", "command": line, "timeoutSec": timeout });
    let hooks = Hooks {
        shape: HookShape::Flat,
        matchers: &[],
        // Not documented, so nothing is called broken that may work.
        dialect: JsonDialect::CommentsAndTrailingCommas,
        top: Some(("version", json!(1))),
        entries: vec![
            ("sessionStart", handler(10)),
            ("agentStop", handler(10)),
            ("preCompact", handler(10)),
            ("sessionEnd", handler(5)),
        ],
    };
    let mut files = vec![AgentFile::hooks(file, hooks), teaching::skill(&skills)];
    files.extend(slash_commands(&skills, CommandForm::Skill));
    Ok(files)
}

fn answer(event: &Event, context: Option<&str>) -> String {
    match (event, context.filter(|context| !context.is_empty())) {
        (Event::SessionStart, Some(context)) => json!({ "additionalContext": context }).to_string(),
        _ => "{}".to_owned(),
    }
}

/// Copilot does not name the event. The other keys give it away.
fn unnamed_event(payload: &Payload) -> Event {
    if payload.has("source") {
        Event::SessionStart
    } else if payload.has("trigger") {
        Event::BeforeCompaction
    } else if ["stopReason", "stop_reason", "stop_hook_active"].iter().any(|key| payload.has(key)) {
        Event::TurnEnd
    } else if payload.has("reason") {
        Event::SessionEnd
    } else if payload.has("prompt") {
        Event::PromptSubmitted
    } else {
        Event::Unknown(String::new())
    }
}
