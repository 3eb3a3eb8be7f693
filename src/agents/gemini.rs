//! Gemini CLI: hooks in its settings.

use std::path::PathBuf;

use serde_json::json;

use super::payload::Event;
use super::target::{Hooks, Shape, Target};
use super::{Agent, GEMINI_CLI_HOME, Places, Program, Scope, claude_code, json, teaching};
use crate::base::fs;
use crate::error::Result;

pub const AGENT: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    programs: &["gemini"],
    traces: |places, _| vec![directory(places, Scope::User)],
    events: &[
        ("SessionStart", Event::SessionStart),
        ("AfterAgent", Event::TurnEnd),
        ("PreCompress", Event::BeforeCompaction),
        ("SessionEnd", Event::SessionEnd),
        ("BeforeAgent", Event::PromptSubmitted),
    ],
    targets,
    answer,
    obstacles,
    clicks: |_, scope| match scope {
        Scope::User => Vec::new(),
        Scope::Project => {
            vec!["start `gemini` here and trust this folder: it runs no hooks of a folder that is not".into()]
        }
    },
};

fn directory(places: &Places, scope: Scope) -> PathBuf {
    match scope {
        // The variable names what stands for the home directory.
        Scope::User => places.moved(GEMINI_CLI_HOME, "").join(".gemini"),
        Scope::Project => places.project.join(".gemini"),
    }
}

fn targets(places: &Places, scope: Scope, program: &Program) -> Result<Vec<Target>> {
    let line = match scope {
        Scope::User => program.line(AGENT.name),
        Scope::Project => Program::by_name().line(AGENT.name),
    };
    // In milliseconds, unlike everybody else. And no matcher: one with `|` in it never matches here.
    let handler =
        |timeout: u32| json!({ "name": "agent-handover", "type": "command", "command": line, "timeout": timeout });
    let entries = [("SessionStart", 10_000), ("AfterAgent", 10_000), ("PreCompress", 10_000), ("SessionEnd", 5_000)];
    let hooks = Hooks {
        shape: Shape::Groups,
        top: None,
        entries: entries.into_iter().map(|(event, timeout)| (event, handler(timeout))).collect(),
    };
    let skills = places.base(scope).join(".agents/skills");
    Ok(vec![Target::hooks(directory(places, scope).join("settings.json"), hooks), teaching::skill(&skills)])
}

/// JSON always: anything else is shown to the user as a message.
fn answer(event: &Event, context: Option<&str>) -> String {
    let said = match event {
        Event::SessionStart => claude_code::answer(event, context),
        _ => String::new(),
    };
    if said.is_empty() { "{}".to_owned() } else { said }
}

fn obstacles(places: &Places, scope: Scope) -> Vec<String> {
    let file = directory(places, scope).join("settings.json");
    let text = fs::read_if_exists(&file).ok().flatten().unwrap_or_default();
    let is_off = json::value(&String::from_utf8_lossy(&text), &["hooksConfig", "enabled"]).as_deref() == Some("false");
    is_off.then(|| format!("`hooksConfig.enabled` is false in {}", file.display())).into_iter().collect()
}
