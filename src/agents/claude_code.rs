//! Claude Code: hooks in its settings, a skill of its own.

use serde_json::json;

use super::payload::Event;
use super::target::{Hooks, Shape, Target};
use super::{Agent, CLAUDE_CONFIG_DIR, Places, Program, Scope, json, teaching};
use crate::base::fs;
use crate::error::Result;

pub const AGENT: Agent = Agent {
    name: "claude-code",
    title: "Claude Code",
    programs: &["claude"],
    traces: |places, _| vec![directory(places)],
    events: &[
        ("SessionStart", Event::SessionStart),
        ("Stop", Event::TurnEnd),
        ("StopFailure", Event::TurnEnd),
        ("PreCompact", Event::BeforeCompaction),
        ("SessionEnd", Event::SessionEnd),
        ("UserPromptSubmit", Event::PromptSubmitted),
    ],
    targets,
    answer,
    obstacles,
    clicks: |_, scope| match scope {
        Scope::User => Vec::new(),
        Scope::Project => vec!["start `claude` here once and accept the question whether you trust this folder".into()],
    },
};

fn directory(places: &Places) -> std::path::PathBuf {
    places.moved(CLAUDE_CONFIG_DIR, ".claude")
}

/// In a project the local settings, which are not committed and may hold a path of this machine.
fn settings(places: &Places, scope: Scope) -> std::path::PathBuf {
    match scope {
        Scope::User => directory(places).join("settings.json"),
        Scope::Project => places.project.join(".claude/settings.local.json"),
    }
}

fn targets(places: &Places, scope: Scope, program: &Program) -> Result<Vec<Target>> {
    // One shell line rather than a program with arguments: Cursor and Copilot read these settings too, and versions
    // before 2.1.139 know nothing else.
    let handler = |timeout: u32| json!({ "type": "command", "command": program.line(AGENT.name), "timeout": timeout });
    let hooks = Hooks {
        shape: Shape::Groups,
        top: None,
        entries: vec![
            ("SessionStart", handler(10)),
            ("Stop", handler(10)),
            ("PreCompact", handler(10)),
            // Without a number of its own a session's end has a second and a half for everybody's hooks.
            ("SessionEnd", handler(5)),
        ],
    };
    let skills = match scope {
        Scope::User => directory(places).join("skills"),
        Scope::Project => places.project.join(".claude/skills"),
    };
    Ok(vec![Target::hooks(settings(places, scope), hooks), teaching::skill(&skills)])
}

/// Nested, with the event's name: a bare `additionalContext` is dropped without a word. Silence is no output at all.
pub fn answer(event: &Event, context: Option<&str>) -> String {
    let name = match event {
        Event::SessionStart => "SessionStart",
        Event::PromptSubmitted => "UserPromptSubmit",
        _ => return String::new(),
    };
    let Some(context) = context.filter(|context| !context.is_empty()) else { return String::new() };
    json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": context } }).to_string()
}

fn obstacles(places: &Places, scope: Scope) -> Vec<String> {
    let file = settings(places, scope);
    let text = fs::read_if_exists(&file).ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    ["disableAllHooks", "allowManagedHooksOnly"]
        .into_iter()
        .filter(|key| json::value(&text, &[key]).as_deref() == Some("true"))
        .map(|key| format!("`{key}` is true in {}: Claude Code runs none of these hooks", file.display()))
        .collect()
}
