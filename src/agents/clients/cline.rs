//! Cline: hooks for the end of a task, and a rule for its start, where it ignores the answer of a hook.

use std::path::PathBuf;

use serde_json::json;

use super::nothing;
use crate::agents::agent::{Bootstrap, Evidence, Payloads, Processes};
use crate::agents::install::agent_file::WholeFile;
use crate::agents::install::slash_commands::{CommandForm, slash_commands};
use crate::agents::install::{AgentFile, Program, seal, teaching};
use crate::agents::launch::Launch;
use crate::agents::{Agent, Event, Places, Scope};
use crate::error::Result;

pub(super) const AGENT: Agent = Agent {
    name: "cline",
    title: "Cline",
    programs: &["cline"],
    // Without this option, Cline answers the prompt and ends.
    launch: Some(Launch::option("cline", "--tui")),
    traces: |places, _| vec![places.home.join(".cline"), places.home.join("Documents/Cline")],
    directory_variable: None,
    events: &[
        ("agent_start", Event::SessionStart),
        ("TaskStart", Event::SessionStart),
        ("agent_resume", Event::SessionStart),
        ("TaskResume", Event::SessionStart),
        ("agent_end", Event::TurnEnd),
        ("TaskComplete", Event::TurnEnd),
        ("session_shutdown", Event::SessionEnd),
        ("SessionShutdown", Event::SessionEnd),
        ("UserPromptSubmit", Event::PromptSubmitted),
    ],
    command_variables: &[("CLINE_ACTIVE", Evidence::Strong)],
    payloads: Payloads {
        evidence: |payload| (payload.has("clineVersion") || payload.has("hookName")).then_some(Evidence::Certain),
        always_has_agent_id: true,
        sample: |sample| {
            json!({
                "taskId": sample.session, "clineVersion": "0", "hookName": sample.event,
                "workspaceRoots": [sample.cwd],
            })
        },
        ..Payloads::PLAIN
    },
    processes: Processes::MANY_SESSIONS,
    files,
    server: |_, _| None,
    memories: |_| Vec::new(),
    plugin: |_| None,
    deletes_after: |_| None,
    bootstrap: |_, _| Bootstrap::Always,
    answer,
    obstacles: nothing,
    clicks: |_, _| vec!["in VS Code, turn on \"Enable Hooks\" in Cline's settings".into()],
    trusts_hooks_by_position: false,
    settings_read_by_others: false,
};

/// Cline finds hooks by the name of the file.
const HOOKS: [&str; 2] = ["TaskComplete", "SessionShutdown"];

fn files(places: &Places, scope: Scope, program: &Program) -> Result<Vec<AgentFile>> {
    let (line, hooks, rules) = match scope {
        Scope::User => (
            program.line(AGENT.name),
            places.home.join(".cline/hooks"),
            places.home.join("Documents/Cline/Rules/agent-handover.md"),
        ),
        Scope::Project => {
            (Program::by_name().line(AGENT.name), places.project.join(".cline/hooks"), project_rules(places))
        }
    };
    let mut files = vec![teaching::instructions(&rules)];
    files.extend(
        workflows(places, scope).map(|place| slash_commands(&place, CommandForm::PlainMarkdown)).into_iter().flatten(),
    );
    for event in HOOKS {
        let text = format!(
            "#!/bin/sh\n# Cline runs this at {event}; `agent-handover uninstall cline` takes it away.\nexec {line}\n"
        );
        files.push(AgentFile::whole(hooks.join(event), WholeFile::HookScript, seal::sealed(&text, "# ", "")));
    }
    Ok(files)
}

/// The directory of workflows, which a user calls as `/handoff.md`. A project with a file instead of the directory of rules has
/// none.
fn workflows(places: &Places, scope: Scope) -> Option<PathBuf> {
    let rules = places.project.join(".clinerules");
    match scope {
        Scope::User => Some(places.home.join("Documents/Cline/Workflows")),
        Scope::Project => (!crate::base::fs::is_file(&rules)).then(|| rules.join("workflows")),
    }
}

/// The file of the Python tool in the directory of rules. Older projects have a file instead of the directory.
fn project_rules(places: &Places) -> PathBuf {
    let rules = places.project.join(".clinerules");
    if crate::base::fs::is_file(&rules) { rules } else { rules.join("00-agent-handover.md") }
}

fn answer(event: &Event, context: Option<&str>) -> String {
    match (event, context.filter(|context| !context.is_empty())) {
        (Event::SessionStart | Event::PromptSubmitted, Some(context)) => {
            json!({ "cancel": false, "contextModification": context }).to_string()
        }
        _ => json!({ "cancel": false }).to_string(),
    }
}
