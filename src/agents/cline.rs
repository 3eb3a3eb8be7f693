//! Cline: it takes nothing from a hook at the start of a task, so a rule tells it what to run; hooks note the ends.

use std::path::PathBuf;

use serde_json::json;

use super::payload::Event;
use super::target::Target;
use super::{Agent, Places, Program, Scope, nothing, seal, teaching};
use crate::error::Result;

pub const AGENT: Agent = Agent {
    name: "cline",
    title: "Cline",
    programs: &["cline"],
    traces: |places, _| vec![places.home.join(".cline"), places.home.join("Documents/Cline")],
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
    targets,
    answer,
    obstacles: nothing,
    clicks: |_, _| vec!["in VS Code, turn on \"Enable Hooks\" in Cline's settings".into()],
};

/// Cline finds hooks by the name of the file.
const HOOKS: [&str; 2] = ["TaskComplete", "SessionShutdown"];

fn targets(places: &Places, scope: Scope, program: &Program) -> Result<Vec<Target>> {
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
    let mut targets = vec![teaching::instructions(&rules)];
    for event in HOOKS {
        let text = format!(
            "#!/bin/sh\n# Cline runs this at {event}; `agent-handover uninstall cline` takes it away.\nexec {line}\n"
        );
        targets.push(Target::script(hooks.join(event), "hook", seal::sealed(&text, "# ", "")));
    }
    Ok(targets)
}

/// The Python tool's file in the directory of rules; older projects have one file of that name instead.
fn project_rules(places: &Places) -> PathBuf {
    let rules = places.project.join(".clinerules");
    if rules.is_file() { rules } else { rules.join("00-agent-handover.md") }
}

fn answer(event: &Event, context: Option<&str>) -> String {
    match (event, context.filter(|context| !context.is_empty())) {
        (Event::SessionStart | Event::PromptSubmitted, Some(context)) => {
            json!({ "cancel": false, "contextModification": context }).to_string()
        }
        _ => json!({ "cancel": false }).to_string(),
    }
}
