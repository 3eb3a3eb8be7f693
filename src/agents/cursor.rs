//! Cursor: hooks in `hooks.json`; in a project also a rule, because the editor loses what a hook says at times.

use serde_json::json;

use super::payload::Event;
use super::target::{Hooks, Shape, Target};
use super::{Agent, Places, Program, Scope, nothing, seal, teaching};
use crate::error::Result;

pub const AGENT: Agent = Agent {
    name: "cursor",
    title: "Cursor",
    programs: &["cursor", "cursor-agent"],
    traces: |places, _| vec![places.home.join(".cursor")],
    events: &[
        ("sessionStart", Event::SessionStart),
        ("stop", Event::TurnEnd),
        ("preCompact", Event::BeforeCompaction),
        ("sessionEnd", Event::SessionEnd),
        ("beforeSubmitPrompt", Event::PromptSubmitted),
    ],
    targets,
    answer,
    obstacles: nothing,
    clicks: |_, scope| match scope {
        Scope::User => vec!["restart Cursor".into()],
        Scope::Project => vec!["restart Cursor, and trust this workspace when it asks".into()],
    },
};

const RULE_HEAD: &str = "---\ndescription: How this project hands sessions over\nalwaysApply: true\n---\n\n";

fn targets(places: &Places, scope: Scope, program: &Program) -> Result<Vec<Target>> {
    let line = match scope {
        Scope::User => program.line(AGENT.name),
        Scope::Project => Program::by_name().line(AGENT.name),
    };
    let handler = |timeout: u32| json!({ "command": line, "timeout": timeout });
    let hooks = Hooks {
        shape: Shape::Flat,
        top: Some(("version", json!(1))),
        entries: vec![
            ("sessionStart", handler(10)),
            ("stop", handler(10)),
            ("preCompact", handler(10)),
            ("sessionEnd", handler(5)),
        ],
    };
    let base = places.base(scope);
    let mut targets =
        vec![Target::hooks(base.join(".cursor/hooks.json"), hooks), teaching::skill(&base.join(".agents/skills"))];
    if scope == Scope::Project {
        let text = seal::sealed(&format!("{RULE_HEAD}{}\n", teaching::INSTRUCTIONS), "<!-- ", " -->");
        targets.push(Target::whole(base.join(".cursor/rules/agent-handover.mdc"), "rule", text));
    }
    Ok(targets)
}

fn answer(event: &Event, context: Option<&str>) -> String {
    match (event, context.filter(|context| !context.is_empty())) {
        (Event::SessionStart, Some(context)) => json!({ "additional_context": context }).to_string(),
        _ => "{}".to_owned(),
    }
}
