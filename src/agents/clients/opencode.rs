//! OpenCode: a small plugin of ours calls us, because OpenCode has no hooks that run commands.

use serde_json::{Value, json};

use super::nothing;
use crate::agents::agent::{Bootstrap, Evidence, Payloads, Processes};
use crate::agents::install::agent_file::WholeFile;
use crate::agents::install::server::ServerSettings;
use crate::agents::install::slash_commands::{CommandForm, slash_commands};
use crate::agents::install::{AgentFile, Program, json_hooks, seal, teaching};
use crate::agents::launch::Launch;
use crate::agents::{Agent, Event, Places, Scope};
use crate::base::fs;
use crate::error::Result;

pub(super) const AGENT: Agent = Agent {
    name: "opencode",
    title: "OpenCode",
    programs: &["opencode"],
    launch: Some(Launch::option("opencode", "--prompt")),
    traces: |places, _| vec![directory(places)],
    directory_variable: Some("XDG_CONFIG_HOME"),
    // The names that our plugin sends.
    events: &[
        ("session.start", Event::SessionStart),
        ("session.idle", Event::TurnEnd),
        ("session.compacting", Event::BeforeCompaction),
        ("session.end", Event::SessionEnd),
        ("prompt.submitted", Event::PromptSubmitted),
    ],
    command_variables: &[("OPENCODE", Evidence::Strong)],
    payloads: Payloads {
        evidence: |payload| (payload.raw(&["agent"]) == Some(AGENT.name)).then_some(Evidence::Strong),
        sample: |sample| json!({ "agent": AGENT.name, "event": sample.event, "session_id": sample.session, "cwd": sample.cwd }),
        ..Payloads::PLAIN
    },
    processes: Processes {
        is_headless: |arguments| Processes::has_word(arguments, &["run"]),
        ..Processes::MANY_SESSIONS
    },
    files,
    server,
    memories: |_| Vec::new(),
    plugin: |_| None,
    deletes_after: |_| None,
    bootstrap: |places, scope| match scope {
        Scope::User => Bootstrap::OnRequest(directory(places).join("AGENTS.md")),
        Scope::Project => Bootstrap::AgentsMd,
    },
    answer,
    obstacles: nothing,
    clicks: |_, _| vec!["restart OpenCode".into()],
    trusts_hooks_by_position: false,
    settings_read_by_others: false,
};

/// OpenCode 2 takes only a default export of the type `object`, and OpenCode before 1.3.3 (27 March 2026) calls every
/// export as a function. No value is both, so the plugin needs 1.3.3 or later.
const PLUGIN: &str = include_str!("opencode.js");

fn directory(places: &Places) -> std::path::PathBuf {
    places.moved(AGENT.directory_variable, ".config").join("opencode")
}

fn files(places: &Places, scope: Scope, program: &Program) -> Result<Vec<AgentFile>> {
    let (program, directory) = match scope {
        Scope::User => (program.clone(), directory(places)),
        Scope::Project => (Program::by_name(), places.project.join(".opencode")),
    };
    let text = PLUGIN.replacen("\"agent-handover\"", &Value::from(program.path()).to_string(), 1);
    let plugin = directory.join("plugins/agent-handover.js");
    let mut files = vec![
        AgentFile::whole(plugin, WholeFile::Plugin, seal::sealed(&text, "// ", "")),
        teaching::skill(&places.base(scope).join(".agents/skills")),
    ];
    files.extend(slash_commands(&directory.join("commands"), CommandForm::Markdown));
    Ok(files)
}

/// OpenCode reads `opencode.json` or `opencode.jsonc`, whichever its user has. Version 2 keeps servers one level deeper.
fn server(places: &Places, scope: Scope) -> Option<ServerSettings> {
    let directory = match scope {
        Scope::User => directory(places),
        Scope::Project => places.project.clone(),
    };
    let with_comments = directory.join("opencode.jsonc");
    let path = if fs::exists(&with_comments) { with_comments } else { directory.join("opencode.json") };
    let text = fs::read_if_exists(&path).ok().flatten().unwrap_or_default();
    let is_deeper = json_hooks::value(&String::from_utf8_lossy(&text), &["mcp", "servers"]).is_some();
    let entry = |program: &str| json!({ "type": "local", "command": [program, "mcp"], "enabled": true });
    Some(ServerSettings::json(path, if is_deeper { &["mcp", "servers"] } else { &["mcp"] }, entry))
}

/// The answer that our plugin reads. The plugin passes the context on to OpenCode.
fn answer(event: &Event, context: Option<&str>) -> String {
    match (event, context.filter(|context| !context.is_empty())) {
        (Event::SessionStart | Event::BeforeCompaction | Event::PromptSubmitted, Some(context)) => {
            json!({ "context": context }).to_string()
        }
        _ => "{}".to_owned(),
    }
}
