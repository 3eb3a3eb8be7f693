//! Claude Code: `~/.claude/projects/<directory>/<session>.jsonl`. The directory is named after the one in which the session
//! was started.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::draft::{Draft, Ended};
use super::{Todo, TodoStatus, TranscriptFormat, human_text};
use crate::base::{env, fs};

pub(super) const FORMAT: TranscriptFormat =
    TranscriptFormat { name: "claude-code", place: (env::CLAUDE_CONFIG_DIR, ".claude"), is_one, take, candidates, id };

/// Longer directory names are cut there and a hash is added.
const MAX_NAME: usize = 200;

fn is_one(record: &Value) -> bool {
    record["sessionId"].is_string() && record["type"].is_string()
}

fn take(draft: &mut Draft, record: &Value) {
    let text = |name: &str| record[name].as_str().unwrap_or_default();
    let is_side = record["isSidechain"] == true;
    draft.at(text("timestamp"));
    if draft.found.session.is_empty() {
        draft.found.session = text("sessionId").to_owned();
    }
    match text("type") {
        "user" | "assistant" => {
            about(draft, record, is_side);
            let message = &record["message"];
            match text("type") {
                "user" => user(draft, record, message, is_side),
                _ => assistant(draft, message, is_side),
            }
        }
        // A request that the person typed while the agent was working.
        "attachment" if record["attachment"]["type"] == "queued_command" && !is_side => {
            let attachment = &record["attachment"];
            if matches!(attachment["commandMode"].as_str(), None | Some("prompt")) {
                draft.asked(attachment["prompt"].as_str().unwrap_or_default());
            }
        }
        "ai-title" => draft.title(text("aiTitle"), false),
        "custom-title" => draft.title(text("customTitle"), true),
        _ => {}
    }
}

/// Takes the fields that every record has. The first record decides whose transcript it is.
fn about(draft: &mut Draft, record: &Value, is_side: bool) {
    let text = |name: &str| record[name].as_str().unwrap_or_default();
    if draft.found.cwd.is_empty() {
        draft.found.is_subagent = is_side;
    }
    draft.cwd(text("cwd"));
    draft.branch(text("gitBranch"));
    match text("entrypoint") {
        "" => {}
        entry if entry.starts_with("sdk") => draft.found.is_headless = Some(true),
        "cli" | "claude-vscode" | "claude-desktop" => draft.found.is_headless = Some(false),
        _ => {}
    }
}

fn user(draft: &mut Draft, record: &Value, message: &Value, is_side: bool) {
    let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let results = blocks.iter().filter(|block| block["type"] == "tool_result");
    for result in results.clone() {
        let id = result["tool_use_id"].as_str().unwrap_or_default();
        let answer = &record["toolUseResult"];
        let task = answer["task"]["id"].as_str().map(str::to_owned);
        draft.returned(id, &ended(result, answer), task.as_deref());
    }
    let is_flagged = |name: &str| record[name] == true;
    let is_from_program = is_flagged("isMeta")
        || is_flagged("isCompactSummary")
        || is_flagged("isVisibleInTranscriptOnly")
        || is_side && !draft.found.is_subagent
        || results.count() > 0;
    if is_from_program {
        return;
    }
    match &message["content"] {
        Value::String(text) => draft.asked(text),
        _ => {
            let texts = blocks.iter().filter(|block| block["type"] == "text");
            draft.asked(&human_text::of_person_in_parts(texts.filter_map(|block| block["text"].as_str())));
        }
    }
}

/// How a tool call ended, by its result. The result of a failed command begins with "Exit code 1".
fn ended<'a>(result: &'a Value, answer: &Value) -> Ended<'a> {
    let output = match &result["content"] {
        Value::String(text) => text.as_str(),
        blocks => blocks[0]["text"].as_str().unwrap_or_default(),
    };
    if result["is_error"] == true {
        let code = output.strip_prefix("Exit code ").and_then(|rest| {
            let digits = rest.split(|c: char| !c.is_ascii_digit() && c != '-').next()?;
            digits.parse().ok()
        });
        let is_refused =
            ["The user doesn't want", "Claude requested permissions", "Permission to use", "[Request inter"]
                .iter()
                .any(|beginning| output.starts_with(beginning));
        return match code {
            Some(code) => Ended::Code(code, output),
            None if is_refused => Ended::NotRun,
            None => Ended::Failed,
        };
    }
    let is_open = answer["interrupted"] == true || answer["backgroundTaskId"].is_string();
    if is_open { Ended::Unknown } else { Ended::Code(0, output) }
}

fn assistant(draft: &mut Draft, message: &Value, is_side: bool) {
    let model = message["model"].as_str().unwrap_or_default();
    if !is_side && model != "<synthetic>" {
        draft.model(model);
    }
    for block in message["content"].as_array().into_iter().flatten() {
        if block["type"] != "tool_use" {
            continue;
        }
        let text = |name: &str| block["input"][name].as_str().unwrap_or_default();
        let id = block["id"].as_str().unwrap_or_default();
        match block["name"].as_str().unwrap_or_default() {
            "Edit" | "MultiEdit" | "Write" => draft.called_edit(id, [text("file_path").to_owned()]),
            "NotebookEdit" => draft.called_edit(id, [text("notebook_path").to_owned()]),
            "Bash" | "PowerShell" => draft.called_command(id, text("command")),
            // A subagent has a list of its own, which is not the session's.
            "TodoWrite" if !is_side || draft.found.is_subagent => {
                let todos = block["input"]["todos"].as_array().into_iter().flatten();
                draft.todos(todos.filter_map(|todo| {
                    let status = status(todo["status"].as_str().unwrap_or_default())?;
                    Some(Todo { text: todo["content"].as_str()?.to_owned(), status })
                }));
            }
            "TaskCreate" if !is_side || draft.found.is_subagent => draft.called_new_task(id, text("subject")),
            "TaskUpdate" if !is_side || draft.found.is_subagent => {
                let subject = block["input"]["subject"].as_str();
                match (text("status"), subject) {
                    ("deleted", _) => draft.task_changed(text("taskId"), None, None),
                    (name, subject) => {
                        if let Some(status) = status(name) {
                            draft.task_changed(text("taskId"), Some(status), subject);
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

fn status(name: &str) -> Option<TodoStatus> {
    match name {
        "pending" => Some(TodoStatus::Pending),
        "in_progress" => Some(TodoStatus::InProgress),
        "completed" => Some(TodoStatus::Completed),
        _ => None,
    }
}

/// The directories of sessions at or below the root. Different paths can have the same name, so others may be among them.
fn candidates(place: &Path, root: &Path, most: usize) -> Option<Vec<PathBuf>> {
    let projects = place.join("projects");
    let name = directory_name(root);
    let mut files = Vec::new();
    for directory in fs::names(&projects).unwrap_or_default() {
        let is_below = directory.strip_prefix(&name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        if is_below {
            let directory = projects.join(directory);
            let names = fs::names_at_most(&directory, most.checked_sub(files.len())?)?;
            files.extend(names.iter().filter(|name| name.ends_with(".jsonl")).map(|name| directory.join(name)));
        }
    }
    Some(files)
}

/// Every character but ASCII letters and digits becomes a dash.
fn directory_name(path: &Path) -> String {
    let name: String =
        path.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    crate::base::text::cut(&name, MAX_NAME).to_owned()
}

fn id(path: &Path) -> Option<String> {
    path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned)
}
