//! Codex: hooks in `hooks.json`, or in `config.toml` for who keeps them there.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::payload::Event;
use super::target::{Content, Format, Hooks, Shape, Target};
use super::{Agent, CODEX_HOME, Places, Program, Scope, claude_code, json, teaching, toml};
use crate::base::fs;
use crate::error::Result;

pub const AGENT: Agent = Agent {
    name: "codex",
    title: "Codex",
    programs: &["codex"],
    traces: |places, _| vec![directory(places, Scope::User)],
    events: &[
        ("SessionStart", Event::SessionStart),
        ("Stop", Event::TurnEnd),
        ("PreCompact", Event::BeforeCompaction),
        ("SessionEnd", Event::SessionEnd),
        ("UserPromptSubmit", Event::PromptSubmitted),
    ],
    targets,
    // The same words, and no key besides: Codex refuses an answer that has one.
    answer: claude_code::answer,
    obstacles,
    clicks,
};

fn directory(places: &Places, scope: Scope) -> PathBuf {
    match scope {
        Scope::User => places.moved(CODEX_HOME, ".codex"),
        Scope::Project => places.project.join(".codex"),
    }
}

fn text(path: &std::path::Path) -> Option<String> {
    let bytes = fs::read_if_exists(path).ok().flatten()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn targets(places: &Places, scope: Scope, program: &Program) -> Result<Vec<Target>> {
    let line = match scope {
        Scope::User => program.line(AGENT.name),
        Scope::Project => Program::by_name().line(AGENT.name),
    };
    let handler = |timeout: u32| json!({ "type": "command", "command": line, "timeout": timeout });
    let mut start = handler(10);
    start["statusMessage"] = Value::from("Loading handover");
    let hooks = Hooks {
        shape: Shape::Groups,
        top: None,
        entries: vec![
            ("SessionStart", start),
            ("Stop", handler(10)),
            ("PreCompact", handler(10)),
            // Codex gives no more, and complains at every start about a larger number.
            ("SessionEnd", handler(3)),
        ],
    };
    let directory = directory(places, scope);
    let (file, config) = (directory.join("hooks.json"), directory.join("config.toml"));
    let config_text = text(&config).unwrap_or_default();
    let in_config = !toml::look(&config_text).events.is_empty() || toml::has_hooks(&config_text) && !file.exists();
    let in_file = Target { is_wanted: !in_config, ..Target::hooks(file, hooks.clone()) };
    let in_config = Target { path: config, content: Content::Hooks(hooks, Format::Toml), is_wanted: in_config };
    Ok(vec![in_file, in_config, teaching::skill(&places.base(scope).join(".agents/skills"))])
}

fn obstacles(places: &Places, scope: Scope) -> Vec<String> {
    let directory = directory(places, scope);
    let mut found = Vec::new();
    let file = directory.join("hooks.json");
    let keys = json::keys(&text(&file).unwrap_or_default());
    for key in keys.iter().filter(|key| !["description", "hooks"].contains(&key.as_str())) {
        found.push(format!(
            "`{key}` in {}: Codex knows only `description` and `hooks` there and ignores the file",
            file.display()
        ));
    }
    let config = text(&directory.join("config.toml")).and_then(|text| text.parse::<toml_edit::DocumentMut>().ok());
    let feature = config.as_ref().and_then(|config| config.get("features")?.get("hooks")?.as_bool());
    if feature == Some(false) {
        found.push(format!("`features.hooks` is false in {}", directory.join("config.toml").display()));
    }
    found
}

/// Codex skips a hook, without a word, until its user has trusted it. That is theirs to say, so we never write it.
fn clicks(places: &Places, scope: Scope) -> Vec<String> {
    let config = text(&directory(places, Scope::User).join("config.toml")).unwrap_or_default();
    let files = ["hooks.json", "config.toml"].map(|name| directory(places, scope).join(name).display().to_string());
    if files.iter().any(|file| toml::trusts(&config, file)) {
        return Vec::new();
    }
    vec!["start `codex` and choose \"Trust all and continue\", or look at them with `/hooks`: until then Codex skips them silently".into()]
}
