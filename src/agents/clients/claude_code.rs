//! Claude Code: hooks in its settings, and a skill in its own directory.

use std::path::Path;

use serde_json::{Value, json};

use super::nested_answer::nested_answer;
use crate::agents::agent::{Bootstrap, Evidence, Payloads, Processes};
use crate::agents::install::agent_file::{HookShape, Hooks, JsonDialect};
use crate::agents::install::server::{ServerSettings, stdio_entry};
use crate::agents::install::slash_commands::{CommandForm, slash_commands};
use crate::agents::install::{AgentFile, Program, json_hooks, teaching};
use crate::agents::launch::Launch;
use crate::agents::{Agent, Event, Places, Scope};
use crate::base::{env, fs};
use crate::error::Result;
use crate::transcript;

/// The name of our plugin.
const PLUGIN: &str = "agent-handover";
/// After how many days a transcript is deleted if no settings say otherwise.
const DELETED_AFTER: u64 = 30;
/// How many bytes of settings are read.
const MAX_SETTINGS: u64 = 4 << 20;
/// The most files of memories that are read.
const MOST_MEMORIES: usize = 1_000;

pub(super) const AGENT: Agent = Agent {
    name: "claude-code",
    title: "Claude Code",
    programs: &["claude"],
    launch: Some(Launch::argument("claude")),
    traces: |places, _| vec![directory(places)],
    directory_variable: Some(env::CLAUDE_CONFIG_DIR),
    events: &[
        ("SessionStart", Event::SessionStart),
        ("Stop", Event::TurnEnd),
        ("StopFailure", Event::TurnEnd),
        ("PreCompact", Event::BeforeCompaction),
        ("SessionEnd", Event::SessionEnd),
        ("UserPromptSubmit", Event::PromptSubmitted),
        ("PreToolUse", Event::BeforeTool),
    ],
    // Weak, as in `payloads`.
    command_variables: &[("CLAUDECODE", Evidence::Weak)],
    payloads: Payloads {
        evidence: |payload| {
            let transcript = payload.raw(&["transcript_path", "transcriptPath"])?;
            transcript.contains("/.claude/projects/").then_some(Evidence::Weak)
        },
        // Weak: an agent that was started inside this one and reads its settings inherits the variable.
        variable: Some(("CLAUDECODE", Evidence::Weak)),
        project_variable: Some("CLAUDE_PROJECT_DIR"),
        is_headless: |variable| variable("CLAUDE_CODE_ENTRYPOINT").is_some_and(|entry| entry.starts_with("sdk")),
        ..Payloads::PLAIN
    },
    // `/clear` ends a session and starts the next one in the same process.
    processes: Processes {
        reused_by_next_session: true,
        is_headless: |arguments| Processes::has_word(arguments, &["-p", "--print"]),
        session_variable: Some("CLAUDE_CODE_SESSION_ID"),
        ..Processes::ONE_SESSION_EACH
    },
    files,
    server: |places, scope| {
        let path = match scope {
            Scope::User => own_state(places),
            Scope::Project => places.project.join(".mcp.json"),
        };
        Some(ServerSettings::json(path, &["mcpServers"], stdio_entry))
    },
    memories,
    plugin,
    deletes_after,
    bootstrap: |places, scope| Bootstrap::OnRequest(instructions(places, scope)),
    answer,
    obstacles,
    clicks: |_, scope| match scope {
        Scope::User => Vec::new(),
        Scope::Project => vec!["start `claude` here once and accept the question whether you trust this folder".into()],
    },
    trusts_hooks_by_position: false,
    settings_read_by_others: true,
};

fn directory(places: &Places) -> std::path::PathBuf {
    places.moved(AGENT.directory_variable, ".claude")
}

/// The file that Claude Code itself writes: beside its directory, or inside if the user has moved that.
fn own_state(places: &Places) -> std::path::PathBuf {
    places.moved(AGENT.directory_variable, "").join(".claude.json")
}

/// The first version with the event `StopFailure`. Some versions before it ignore all settings if they find an event that
/// they do not know.
const STOP_FAILURE: [u32; 3] = [2, 1, 78];

/// Whether the version that was last started here knows `StopFailure`. A version that is unknown counts as a new one.
fn knows_stop_failure(places: &Places) -> bool {
    let text = fs::read_if_exists(&own_state(places)).ok().flatten().unwrap_or_default();
    let version = json_hooks::value(&String::from_utf8_lossy(&text), &["lastReleaseNotesSeen"]).unwrap_or_default();
    let mut numbers = version.trim_matches('"').split('.').map_while(|number| number.parse::<u32>().ok());
    let (Some(major), Some(minor), Some(patch)) = (numbers.next(), numbers.next(), numbers.next()) else { return true };
    [major, minor, patch] >= STOP_FAILURE
}

/// Its own memories of a project: an index and a file for each topic. The index only names the others.
fn memories(places: &Places) -> Vec<std::path::PathBuf> {
    let roots = [fs::real(&places.project)];
    let directories =
        transcript::directories_of_agent(AGENT.name, &roots).into_iter().map(|place| place.join("memory"));
    let is_topic = |path: &std::path::PathBuf| {
        path.extension().is_some_and(|it| it == "md") && path.file_name().is_some_and(|name| name != "MEMORY.md")
    };
    let files = |directory: std::path::PathBuf| {
        let names = fs::names_at_most(&directory, MOST_MEMORIES).unwrap_or_default();
        let mut files: Vec<_> = names.into_iter().map(|name| directory.join(name)).filter(is_topic).collect();
        files.sort();
        let index = directory.join("MEMORY.md");
        if files.is_empty() && fs::exists(&index) { vec![index] } else { files }
    };
    directories.flat_map(files).collect()
}

/// The files with settings for sessions in this project, those that count more first.
fn all_settings(places: &Places) -> [std::path::PathBuf; 3] {
    let in_project = places.project.join(".claude");
    [in_project.join("settings.local.json"), in_project.join("settings.json"), directory(places).join("settings.json")]
}

fn read_json(path: &Path) -> Value {
    // A project brings settings of its own, which may be of any size.
    let text = fs::read_within(path, MAX_SETTINGS).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// The settings that turn our plugin on, if it is installed. A plugin in the directory of skills needs no settings.
fn plugin(places: &Places) -> Option<std::path::PathBuf> {
    let directory = directory(places);
    let in_skills = directory.join("skills").join(PLUGIN).join(".claude-plugin/plugin.json");
    if fs::exists(&in_skills) {
        return Some(in_skills);
    }
    let installed = read_json(&directory.join("plugins/installed_plugins.json"));
    let is_ours = |name: &&String| name.strip_prefix(PLUGIN).is_some_and(|rest| rest.starts_with('@'));
    let names = installed["plugins"].as_object()?.keys().filter(is_ours);
    let enabling = |name: &String| {
        let said =
            all_settings(places).into_iter().map(|path| (read_json(&path)["enabledPlugins"][name].clone(), path));
        said.into_iter().find(|(value, _)| !value.is_null()).filter(|(value, _)| value == &json!(true))
    };
    names.filter_map(enabling).map(|(_, path)| path).next()
}

/// The shortest time of those that count in this project and elsewhere: a session in any project deletes the transcripts of
/// all.
fn deletes_after(places: &Places) -> Option<u64> {
    let said: Vec<Option<u64>> =
        all_settings(places).iter().map(|path| read_json(path)["cleanupPeriodDays"].as_u64()).collect();
    let here = said.iter().flatten().next().copied().unwrap_or(DELETED_AFTER);
    let elsewhere = said.last().copied().flatten().unwrap_or(DELETED_AFTER);
    Some(here.min(elsewhere))
}

/// The settings file. In a project it is the local one, which is not committed and may hold a path of this machine.
fn settings(places: &Places, scope: Scope) -> std::path::PathBuf {
    match scope {
        Scope::User => directory(places).join("settings.json"),
        Scope::Project => places.project.join(".claude/settings.local.json"),
    }
}

fn files(places: &Places, scope: Scope, program: &Program) -> Result<Vec<AgentFile>> {
    // A shell line, not a program with arguments: other agents read these settings too, and versions before 2.1.139 know
    // nothing else.
    let handler = |timeout: u32| json!({ "type": "command", "command": program.line(AGENT.name), "timeout": timeout });
    let mut hooks = Hooks {
        shape: HookShape::Groups,
        matchers: &[("PreToolUse", "Bash|Edit|MultiEdit|Write|NotebookEdit")],
        dialect: JsonDialect::Strict,
        top: None,
        entries: vec![
            ("SessionStart", handler(10)),
            ("UserPromptSubmit", handler(10)),
            ("Stop", handler(10)),
            ("PreCompact", handler(10)),
            // Without a timeout, all hooks at the end of a session share a second and a half.
            ("SessionEnd", handler(5)),
        ],
    };
    if knows_stop_failure(places) {
        // After `Stop`, which it replaces when the model reports an error, such as a limit of use.
        hooks.entries.insert(3, ("StopFailure", handler(10)));
    }
    if places.with_tools {
        hooks.entries.push(("PreToolUse", handler(5)));
    }
    let base = match scope {
        Scope::User => directory(places),
        Scope::Project => places.project.join(".claude"),
    };
    let mut files = vec![AgentFile::hooks(settings(places, scope), hooks), teaching::skill(&base.join("skills"))];
    files.extend(slash_commands(&base.join("commands"), CommandForm::Markdown));
    Ok(files)
}

/// Before a tool, an answer with nothing but context neither allows nor refuses it.
fn answer(event: &Event, context: Option<&str>) -> String {
    match (event, context.filter(|context| !context.is_empty())) {
        (Event::BeforeTool, Some(context)) => {
            json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "additionalContext": context } }).to_string()
        }
        _ => nested_answer(event, context),
    }
}

/// Claude Code reads CLAUDE.md, and not AGENTS.md. A project may keep it in `.claude`.
fn instructions(places: &Places, scope: Scope) -> std::path::PathBuf {
    let file = match scope {
        Scope::User => directory(places).join("CLAUDE.md"),
        Scope::Project => places.project.join("CLAUDE.md"),
    };
    let inside = places.project.join(".claude/CLAUDE.md");
    if scope == Scope::Project && !fs::exists(&file) && fs::exists(&inside) { inside } else { file }
}

fn obstacles(places: &Places, scope: Scope) -> Vec<String> {
    let file = settings(places, scope);
    let text = fs::read_if_exists(&file).ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    ["disableAllHooks", "allowManagedHooksOnly"]
        .into_iter()
        .filter(|key| json_hooks::value(&text, &[key]).as_deref() == Some("true"))
        .map(|key| format!("`{key}` is true in {}: Claude Code runs none of these hooks", file.display()))
        .collect()
}
