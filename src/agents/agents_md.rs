//! Any other agent: the instructions as a block in AGENTS.md, which most of them read, and the skill.

use std::path::PathBuf;

use super::payload::Event;
use super::target::Target;
use super::{Agent, Places, Program, Scope, nothing, teaching};
use crate::error::Result;

pub const AGENT: Agent = Agent {
    name: "agents-md",
    title: "AGENTS.md",
    programs: &[],
    traces: |places, scope| vec![file(places, scope)],
    events: &[],
    targets,
    answer,
    obstacles: nothing,
    clicks: |_, scope| match scope {
        Scope::User => {
            vec!["few agents read ~/.agents/AGENTS.md; `--scope project` writes the AGENTS.md that most do".into()]
        }
        Scope::Project => Vec::new(),
    },
};

fn file(places: &Places, scope: Scope) -> PathBuf {
    match scope {
        Scope::User => places.home.join(".agents/AGENTS.md"),
        Scope::Project => places.project.join("AGENTS.md"),
    }
}

fn targets(places: &Places, scope: Scope, _: &Program) -> Result<Vec<Target>> {
    Ok(vec![teaching::instructions(&file(places, scope)), teaching::skill(&places.base(scope).join(".agents/skills"))])
}

/// Nothing is known of who asks, and plain text is what most understand.
fn answer(event: &Event, context: Option<&str>) -> String {
    match event {
        Event::SessionStart | Event::PromptSubmitted => context.unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}
