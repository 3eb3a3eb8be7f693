//! GitHub Copilot CLI: a file of ours among its hooks.

use serde_json::json;

use super::payload::Event;
use super::target::{Hooks, Shape, Target};
use super::{Agent, COPILOT_HOME, Places, Program, Scope, nothing, teaching};
use crate::error::Result;

pub const AGENT: Agent = Agent {
    name: "copilot",
    title: "GitHub Copilot CLI",
    programs: &["copilot"],
    traces: |places, _| vec![directory(places)],
    events: &[
        ("sessionStart", Event::SessionStart),
        ("agentStop", Event::TurnEnd),
        ("preCompact", Event::BeforeCompaction),
        ("sessionEnd", Event::SessionEnd),
        ("userPromptSubmitted", Event::PromptSubmitted),
    ],
    targets,
    answer,
    obstacles: nothing,
    clicks: |_, scope| match scope {
        Scope::User => Vec::new(),
        Scope::Project => vec!["start `copilot` here and trust this folder".into()],
    },
};

fn directory(places: &Places) -> std::path::PathBuf {
    places.moved(COPILOT_HOME, ".copilot")
}

fn targets(places: &Places, scope: Scope, program: &Program) -> Result<Vec<Target>> {
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
    // `exec` with `args` would need no shell, but older versions drop the whole entry for it.
    let handler = |timeout: u32| json!({ "type": "command", "command": line, "timeoutSec": timeout });
    let hooks = Hooks {
        shape: Shape::Flat,
        top: Some(("version", json!(1))),
        entries: vec![
            ("sessionStart", handler(10)),
            ("agentStop", handler(10)),
            ("preCompact", handler(10)),
            ("sessionEnd", handler(5)),
        ],
    };
    Ok(vec![Target::hooks(file, hooks), teaching::skill(&skills)])
}

fn answer(event: &Event, context: Option<&str>) -> String {
    match (event, context.filter(|context| !context.is_empty())) {
        (Event::SessionStart, Some(context)) => json!({ "additionalContext": context }).to_string(),
        _ => "{}".to_owned(),
    }
}
