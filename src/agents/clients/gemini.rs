//! Gemini CLI: hooks in its settings.

use std::path::PathBuf;

use serde_json::json;

use super::nested_answer::nested_answer;
use crate::agents::agent::{Bootstrap, Evidence, Payloads, Processes};
use crate::agents::install::agent_file::{HookShape, Hooks, JsonDialect};
use crate::agents::install::server::{ServerSettings, plain_entry};
use crate::agents::install::slash_commands::{CommandForm, slash_commands};
use crate::agents::install::{AgentFile, Program, json_hooks, teaching};
use crate::agents::launch::Launch;
use crate::agents::{Agent, Event, Places, Scope};
use crate::base::fs;
use crate::error::Result;

pub(super) const AGENT: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    programs: &["gemini"],
    launch: Some(Launch::option("gemini", "-i")),
    traces: |places, _| vec![directory(places, Scope::User)],
    directory_variable: Some("GEMINI_CLI_HOME"),
    events: &[
        ("SessionStart", Event::SessionStart),
        ("AfterAgent", Event::TurnEnd),
        ("PreCompress", Event::BeforeCompaction),
        ("SessionEnd", Event::SessionEnd),
        ("BeforeAgent", Event::PromptSubmitted),
    ],
    command_variables: &[("GEMINI_CLI", Evidence::Strong)],
    payloads: Payloads {
        evidence: |payload| {
            let transcript = payload.raw(&["transcript_path", "transcriptPath"]).unwrap_or_default();
            let event = payload.raw(&["hook_event_name"]).unwrap_or_default();
            let is_own_event = ["AfterAgent", "BeforeAgent", "PreCompress"].contains(&event);
            (transcript.contains("/.gemini/") || is_own_event).then_some(Evidence::Weak)
        },
        variable: Some(("GEMINI_SESSION_ID", Evidence::Strong)),
        project_variable: Some("GEMINI_PROJECT_DIR"),
        ..Payloads::PLAIN
    },
    processes: Processes {
        is_headless: |arguments| Processes::has_word(arguments, &["-p", "--prompt"]),
        ..Processes::ONE_SESSION_EACH
    },
    files,
    server: |places, scope| {
        let path = directory(places, scope).join("settings.json");
        Some(ServerSettings::json(path, &["mcpServers"], plain_entry))
    },
    memories: |_| Vec::new(),
    plugin: |_| None,
    deletes_after,
    bootstrap: |places, scope| {
        Bootstrap::OnRequest(match scope {
            Scope::User => directory(places, scope).join("GEMINI.md"),
            Scope::Project => places.project.join("GEMINI.md"),
        })
    },
    answer,
    obstacles,
    clicks: |_, scope| match scope {
        Scope::User => Vec::new(),
        Scope::Project => {
            vec!["start `gemini` here and trust this folder: it runs no hooks of a folder that is not".into()]
        }
    },
    trusts_hooks_by_position: false,
    settings_read_by_others: false,
};

fn directory(places: &Places, scope: Scope) -> PathBuf {
    match scope {
        // The variable replaces the home directory, not the directory in it.
        Scope::User => places.moved(AGENT.directory_variable, "").join(".gemini"),
        Scope::Project => places.project.join(".gemini"),
    }
}

/// After how many days chats are deleted if no settings say otherwise.
const DELETED_AFTER: u64 = 30;

/// The settings of the project count more than those of the user.
fn deletes_after(places: &Places) -> Option<u64> {
    let texts = [Scope::Project, Scope::User].map(|scope| {
        let file = directory(places, scope).join("settings.json");
        fs::read_if_exists(&file).ok().flatten().unwrap_or_default()
    });
    let said = |key: &str| {
        let value =
            |text: &Vec<u8>| json_hooks::value(&String::from_utf8_lossy(text), &["general", "sessionRetention", key]);
        texts.iter().find_map(value)
    };
    if said("enabled").as_deref() == Some("false") {
        return None;
    }
    Some(said("maxAge").and_then(|age| days(age.trim_matches('"'))).unwrap_or(DELETED_AFTER))
}

/// A time such as `30d`, `24h`, `1w` or `2m`, in whole days.
fn days(age: &str) -> Option<u64> {
    let (number, unit) = age.split_at_checked(age.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    match unit {
        "h" => Some(number / 24),
        "d" => Some(number),
        "w" => number.checked_mul(7),
        "m" => number.checked_mul(30),
        _ => None,
    }
}

fn files(places: &Places, scope: Scope, program: &Program) -> Result<Vec<AgentFile>> {
    let line = match scope {
        Scope::User => program.line(AGENT.name),
        Scope::Project => Program::by_name().line(AGENT.name),
    };
    // Not `PreCompress`: it comes before every request to the model, whether or not the history is compressed then, and its
    // answer reaches nobody. Timeouts are in milliseconds, unlike elsewhere. There is no matcher, because one with `|` never matches here.
    let handler =
        |timeout: u32| json!({ "name": "agent-handover", "type": "command", "command": line, "timeout": timeout });
    let entries = [("SessionStart", 10_000), ("BeforeAgent", 10_000), ("AfterAgent", 10_000), ("SessionEnd", 5_000)];
    let hooks = Hooks {
        shape: HookShape::Groups,
        matchers: &[],
        dialect: JsonDialect::Comments,
        top: None,
        entries: entries.into_iter().map(|(event, timeout)| (event, handler(timeout))).collect(),
    };
    let skills = places.base(scope).join(".agents/skills");
    let directory = directory(places, scope);
    let mut files = vec![AgentFile::hooks(directory.join("settings.json"), hooks), teaching::skill(&skills)];
    files.extend(slash_commands(&directory.join("commands"), CommandForm::Toml));
    Ok(files)
}

/// Always JSON, because anything else is shown to the user as a message.
fn answer(event: &Event, context: Option<&str>) -> String {
    match (event, context.filter(|context| !context.is_empty())) {
        (Event::SessionStart, Some(_)) => nested_answer(event, context),
        (Event::PromptSubmitted, Some(context)) => {
            json!({ "hookSpecificOutput": { "hookEventName": "BeforeAgent", "additionalContext": context } })
                .to_string()
        }
        _ => "{}".to_owned(),
    }
}

fn obstacles(places: &Places, scope: Scope) -> Vec<String> {
    let file = directory(places, scope).join("settings.json");
    let text = fs::read_if_exists(&file).ok().flatten().unwrap_or_default();
    let is_off =
        json_hooks::value(&String::from_utf8_lossy(&text), &["hooksConfig", "enabled"]).as_deref() == Some("false");
    is_off.then(|| format!("`hooksConfig.enabled` is false in {}", file.display())).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_days() {
        let days: Vec<_> = ["30d", "24h", "1w", "2m", "", "d", "1y", "-1d", "ä"].into_iter().map(days).collect();
        assert_eq!(days, [Some(30), Some(1), Some(7), Some(60), None, None, None, None, None]);
    }
}
