//! Any other agent: instructions as a block in AGENTS.md, which most agents read, and the skill.

use std::path::PathBuf;

use super::nothing;
use crate::agents::agent::{Bootstrap, Payloads, Processes};
use crate::agents::install::{AgentFile, Program, teaching};
use crate::agents::{Agent, Event, Places, Scope};
use crate::error::Result;

pub(super) const AGENT: Agent = Agent {
    name: "agents-md",
    title: "AGENTS.md",
    programs: &[],
    launch: None,
    traces: |places, scope| vec![file(places, scope)],
    directory_variable: None,
    events: &[],
    command_variables: &[],
    payloads: Payloads::PLAIN,
    processes: Processes::MANY_SESSIONS,
    files,
    server: |_, _| None,
    memories: |_| Vec::new(),
    plugin: |_| None,
    deletes_after: |_| None,
    bootstrap: |_, _| Bootstrap::Always,
    answer,
    obstacles: nothing,
    clicks: |_, scope| match scope {
        Scope::User => {
            vec!["few agents read ~/.agents/AGENTS.md; `--scope project` writes the AGENTS.md that most do".into()]
        }
        Scope::Project => Vec::new(),
    },
    trusts_hooks_by_position: false,
    settings_read_by_others: false,
};

fn file(places: &Places, scope: Scope) -> PathBuf {
    match scope {
        Scope::User => places.home.join(".agents/AGENTS.md"),
        Scope::Project => places.project.join("AGENTS.md"),
    }
}

fn files(places: &Places, scope: Scope, _: &Program) -> Result<Vec<AgentFile>> {
    Ok(vec![teaching::instructions(&file(places, scope)), teaching::skill(&places.base(scope).join(".agents/skills"))])
}

/// Plain text, because the agent is unknown and most understand it.
fn answer(event: &Event, context: Option<&str>) -> String {
    match event {
        Event::SessionStart | Event::PromptSubmitted => context.unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}
