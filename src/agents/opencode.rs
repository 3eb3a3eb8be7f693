//! OpenCode: it knows no commands as hooks, so a small plugin of ours calls us.

use serde_json::{Value, json};

use super::payload::Event;
use super::target::Target;
use super::{Agent, Places, Program, Scope, XDG_CONFIG_HOME, nothing, seal, teaching};
use crate::error::Result;

pub const AGENT: Agent = Agent {
    name: "opencode",
    title: "OpenCode",
    programs: &["opencode"],
    traces: |places, _| vec![directory(places)],
    // Our plugin's names.
    events: &[
        ("session.start", Event::SessionStart),
        ("session.idle", Event::TurnEnd),
        ("session.compacting", Event::BeforeCompaction),
        ("session.end", Event::SessionEnd),
    ],
    targets,
    answer,
    obstacles: nothing,
    clicks: |_, _| vec!["restart OpenCode".into()],
};

const PLUGIN: &str = include_str!("opencode.js");

fn directory(places: &Places) -> std::path::PathBuf {
    places.moved(XDG_CONFIG_HOME, ".config").join("opencode")
}

fn targets(places: &Places, scope: Scope, program: &Program) -> Result<Vec<Target>> {
    let (program, directory) = match scope {
        Scope::User => (program.clone(), directory(places)),
        Scope::Project => (Program::by_name(), places.project.join(".opencode")),
    };
    let text = PLUGIN.replacen("\"agent-handover\"", &Value::from(program.path()).to_string(), 1);
    Ok(vec![
        Target::whole(directory.join("plugins/agent-handover.js"), "plugin", seal::sealed(&text, "// ", "")),
        teaching::skill(&places.base(scope).join(".agents/skills")),
    ])
}

/// What our plugin understands: it puts the context where OpenCode wants it.
fn answer(event: &Event, context: Option<&str>) -> String {
    match (event, context.filter(|context| !context.is_empty())) {
        (Event::SessionStart | Event::BeforeCompaction, Some(context)) => json!({ "context": context }).to_string(),
        _ => "{}".to_owned(),
    }
}
