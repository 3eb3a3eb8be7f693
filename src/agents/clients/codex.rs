//! Codex: hooks in `hooks.json`, or in `config.toml` if the user keeps hooks there.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::nested_answer::nested_answer;
use crate::agents::agent::{Bootstrap, Evidence, Payloads, Processes};
use crate::agents::install::agent_file::{FileContent, HookShape, Hooks, JsonDialect, SettingsFormat};
use crate::agents::install::server::{ServerSettings, plain_entry};
use crate::agents::install::slash_commands::{CommandForm, slash_commands};
use crate::agents::install::{AgentFile, Program, json_hooks, teaching, toml_hooks};
use crate::agents::launch::Launch;
use crate::agents::{Agent, Event, Places, Scope};
use crate::base::{env, fs};
use crate::error::Result;

pub(super) const AGENT: Agent = Agent {
    name: "codex",
    title: "Codex",
    programs: &["codex"],
    launch: Some(Launch::argument("codex")),
    traces: |places, _| vec![directory(places, Scope::User)],
    directory_variable: Some(env::CODEX_HOME),
    events: &[
        ("SessionStart", Event::SessionStart),
        ("Stop", Event::TurnEnd),
        ("PreCompact", Event::BeforeCompaction),
        ("SessionEnd", Event::SessionEnd),
        ("UserPromptSubmit", Event::PromptSubmitted),
    ],
    command_variables: &[("CODEX_THREAD_ID", Evidence::Strong), ("CODEX_SANDBOX", Evidence::Strong)],
    payloads: Payloads {
        evidence: |payload| {
            let transcript = payload.raw(&["transcript_path", "transcriptPath"]).unwrap_or_default();
            (payload.has("turn_id") || transcript.contains("/.codex/")).then_some(Evidence::Weak)
        },
        ..Payloads::PLAIN
    },
    processes: Processes {
        // The terminal interface keeps its sessions in this server.
        is_session_server: Some(|arguments| arguments.iter().any(|word| word == "app-server")),
        is_headless: |arguments| Processes::has_word(arguments, &["exec", "e"]),
        session_variable: Some("CODEX_THREAD_ID"),
        ..Processes::ONE_SESSION_EACH
    },
    files,
    server: |places, scope| {
        let path = directory(places, scope).join("config.toml");
        Some(ServerSettings { path, table: &["mcp_servers"], entry: plain_entry, format: SettingsFormat::Toml })
    },
    // Made by a model in the background, if the user turned that on.
    memories: |places| {
        let file = directory(places, Scope::User).join("memories/memory_summary.md");
        if fs::exists(&file) { vec![file] } else { Vec::new() }
    },
    plugin: |_| None,
    deletes_after: |_| None,
    bootstrap: |places, scope| match scope {
        Scope::User => Bootstrap::OnRequest(directory(places, scope).join("AGENTS.md")),
        Scope::Project => Bootstrap::AgentsMd,
    },
    // Codex refuses an answer with any key that it does not know.
    answer: nested_answer,
    obstacles,
    clicks,
    trusts_hooks_by_position: true,
    settings_read_by_others: false,
};

fn directory(places: &Places, scope: Scope) -> PathBuf {
    match scope {
        Scope::User => places.moved(AGENT.directory_variable, ".codex"),
        Scope::Project => places.project.join(".codex"),
    }
}

fn text(path: &std::path::Path) -> Option<String> {
    let bytes = fs::read_if_exists(path).ok().flatten()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn files(places: &Places, scope: Scope, program: &Program) -> Result<Vec<AgentFile>> {
    let line = match scope {
        Scope::User => program.line(AGENT.name),
        Scope::Project => Program::by_name().line(AGENT.name),
    };
    let handler = |timeout: u32| json!({ "type": "command", "command": line, "timeout": timeout });
    let mut start = handler(10);
    start["statusMessage"] = Value::from("Loading handover");
    let hooks = Hooks {
        shape: HookShape::Groups,
        matchers: &[],
        dialect: JsonDialect::Strict,
        top: None,
        entries: vec![
            ("SessionStart", start),
            ("UserPromptSubmit", handler(10)),
            ("Stop", handler(10)),
            ("PreCompact", handler(10)),
            // The longest that Codex allows. It complains at every start about a larger number.
            ("SessionEnd", handler(3)),
        ],
    };
    let directory = directory(places, scope);
    let (file, config) = (directory.join("hooks.json"), directory.join("config.toml"));
    let config_text = text(&config).unwrap_or_default();
    let in_config =
        !toml_hooks::look(&config_text).events.is_empty() || toml_hooks::has_hooks(&config_text) && !fs::exists(&file);
    let in_file = AgentFile { is_wanted: !in_config, ..AgentFile::hooks(file, hooks.clone()) };
    let in_config =
        AgentFile { path: config, content: FileContent::Hooks(hooks, SettingsFormat::Toml), is_wanted: in_config };
    let skills = places.base(scope).join(".agents/skills");
    let mut files = vec![in_file, in_config, teaching::skill(&skills)];
    // A user calls them as `$handoff`.
    files.extend(slash_commands(&skills, CommandForm::Skill));
    Ok(files)
}

fn obstacles(places: &Places, scope: Scope) -> Vec<String> {
    let directory = directory(places, scope);
    let mut found = Vec::new();
    let file = directory.join("hooks.json");
    let keys = json_hooks::keys(&text(&file).unwrap_or_default());
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

/// Codex silently skips a hook until its user trusts it. Only the user may decide that, so we never write it.
fn clicks(places: &Places, scope: Scope) -> Vec<String> {
    let config = text(&directory(places, Scope::User).join("config.toml")).unwrap_or_default();
    let files = ["hooks.json", "config.toml"].map(|name| directory(places, scope).join(name).display().to_string());
    if files.iter().any(|file| toml_hooks::trusts(&config, file)) {
        return Vec::new();
    }
    vec!["start `codex` and choose \"Trust all and continue\", or look at them with `/hooks`: until then Codex skips them silently".into()]
}
