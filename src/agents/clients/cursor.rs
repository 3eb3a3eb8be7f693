//! Cursor: hooks in `hooks.json`. In a project also a rule, because the editor sometimes loses the answer of a hook.

use serde_json::json;

use super::nothing;
use crate::agents::agent::{Bootstrap, Evidence, Payloads, Processes};
use crate::agents::install::agent_file::{HookShape, Hooks, JsonDialect, WholeFile};
use crate::agents::install::server::{ServerSettings, plain_entry};
use crate::agents::install::slash_commands::{CommandForm, slash_commands};
use crate::agents::install::{AgentFile, Program, seal, teaching};
use crate::agents::launch::Launch;
use crate::agents::{Agent, Event, Places, Scope};
use crate::error::Result;

pub(super) const AGENT: Agent = Agent {
    name: "cursor",
    title: "Cursor",
    programs: &["cursor", "cursor-agent"],
    launch: Some(Launch::argument("cursor-agent")),
    traces: |places, _| vec![places.home.join(".cursor")],
    directory_variable: None,
    events: &[
        ("sessionStart", Event::SessionStart),
        ("stop", Event::TurnEnd),
        ("preCompact", Event::BeforeCompaction),
        ("sessionEnd", Event::SessionEnd),
        ("beforeSubmitPrompt", Event::PromptSubmitted),
    ],
    command_variables: &[("CURSOR_AGENT", Evidence::Strong)],
    payloads: Payloads {
        evidence: |payload| {
            let is_own = payload.has("cursor_version") || payload.has("conversation_id");
            is_own.then_some(Evidence::Certain)
        },
        variable: Some(("CURSOR_VERSION", Evidence::Certain)),
        project_variable: Some("CURSOR_PROJECT_DIR"),
        sample: |sample| {
            json!({
                "conversation_id": sample.session, "cursor_version": "0", "workspace_roots": [sample.cwd],
                "hook_event_name": sample.event,
            })
        },
        ..Payloads::PLAIN
    },
    processes: Processes {
        is_headless: |arguments| Processes::has_word(arguments, &["-p", "--print"]),
        ..Processes::MANY_SESSIONS
    },
    files,
    server: |places, scope| {
        let path = places.base(scope).join(".cursor/mcp.json");
        Some(ServerSettings::json(path, &["mcpServers"], plain_entry))
    },
    memories: |_| Vec::new(),
    plugin: |_| None,
    deletes_after: |_| None,
    bootstrap: |_, scope| match scope {
        Scope::User => Bootstrap::AgentsMd,
        Scope::Project => Bootstrap::Always,
    },
    answer,
    obstacles: nothing,
    clicks: |_, scope| match scope {
        Scope::User => vec!["restart Cursor".into()],
        Scope::Project => vec!["restart Cursor, and trust this workspace when it asks".into()],
    },
    trusts_hooks_by_position: false,
    settings_read_by_others: false,
};

const RULE_HEAD: &str = "---\ndescription: How this project hands sessions over\nalwaysApply: true\n---\n\n";

fn files(places: &Places, scope: Scope, program: &Program) -> Result<Vec<AgentFile>> {
    let line = match scope {
        Scope::User => program.line(AGENT.name),
        Scope::Project => Program::by_name().line(AGENT.name),
    };
    let handler = |timeout: u32| json!({ "command": line, "timeout": timeout });
    let hooks = Hooks {
        shape: HookShape::Flat,
        matchers: &[],
        // Not documented, so nothing is called broken that may work.
        dialect: JsonDialect::CommentsAndTrailingCommas,
        top: Some(("version", json!(1))),
        entries: vec![
            ("sessionStart", handler(10)),
            ("stop", handler(10)),
            ("preCompact", handler(10)),
            ("sessionEnd", handler(5)),
        ],
    };
    let base = places.base(scope);
    let mut files =
        vec![AgentFile::hooks(base.join(".cursor/hooks.json"), hooks), teaching::skill(&base.join(".agents/skills"))];
    files.extend(slash_commands(&base.join(".cursor/commands"), CommandForm::PlainMarkdown));
    if scope == Scope::Project {
        let text = seal::sealed(&format!("{RULE_HEAD}{}\n", teaching::INSTRUCTIONS), "<!-- ", " -->");
        files.push(AgentFile::whole(base.join(".cursor/rules/agent-handover.mdc"), WholeFile::Rule, text));
    }
    Ok(files)
}

fn answer(event: &Event, context: Option<&str>) -> String {
    match (event, context.filter(|context| !context.is_empty())) {
        (Event::SessionStart, Some(context)) => json!({ "additional_context": context }).to_string(),
        _ => "{}".to_owned(),
    }
}
