//! OpenCode: `~/.local/share/opencode/opencode.db`, one database for all projects. `opencode_database` turns a session in
//! it into records; here they are read.
//!
//! Versions seen: 1.18.33 and the preview of version 2 in 1.18.18, run against a stub. Older versions kept a directory of JSON files, `storage/`, which is not read.

use std::path::{Path, PathBuf};

use super::json::Value;

use super::calls::{Ended, Question};
use super::draft::Draft;
use super::forks::Origin;
use super::format::Place;
use super::listing::{Extent, Listing, ListingBudget};
use super::todo_list::status;
use super::{Todo, TranscriptFormat, opencode_database};
use crate::base::env;

/// What a record has a part of a message under.
pub(super) const RECORD: &str = "opencode";
pub(super) const DATABASE: &str = "opencode.db";

pub(super) const FORMAT: TranscriptFormat = TranscriptFormat {
    name: "opencode",
    place: Place { variable: env::XDG_DATA_HOME, below: "opencode", default: ".local/share/opencode" },
    is_one,
    id_mark: b"",
    in_part: &[],
    take,
    candidates,
    states: opencode_database::states,
    // What is written last is beside the database until it is moved into it.
    directories: |home, _| vec![home.join(DATABASE), home.join(format!("{DATABASE}-wal"))],
    id,
    origin: |_| Origin::default(),
    file_of: |_, _| None,
    siblings: |_| Vec::new(),
    beside,
    subagents: opencode_database::children,
    older: &[("storage/session", "", "sessions of older versions are not read, unless OpenCode has moved them")],
    is_always_named: false,
    keeps_context: false,
    by_id: |home, id| Some(home.join(DATABASE).join(id)),
};

fn is_one(record: &Value) -> bool {
    record[RECORD].is_object()
}

fn id(path: &Path) -> Option<String> {
    opencode_database::parts(path).map(|(_, id)| id.to_owned())
}

fn beside(draft: &mut Draft, path: &Path) {
    let Some(row) = opencode_database::row(path) else { return };
    draft.cwd(&row.directory);
    draft.found.is_subagent = row.is_child;
    // Until a model has named a session, its title is the time of its beginning.
    if !row.title.starts_with("New session - ") && !row.title.starts_with("Child session - ") {
        draft.title(&row.title, false);
    }
}

fn take(draft: &mut Draft, record: &Value) {
    let part = &record[RECORD];
    draft.at_millis(record["at"].as_i64());
    draft.model(record["model"].as_str().unwrap_or_default());
    let text = |name: &str| part[name].as_str().unwrap_or_default();
    draft.limited(record["said"].as_str().unwrap_or_default(), None);
    match (record["role"].as_str(), text("type")) {
        (Some("user"), "text") if part["synthetic"] != true => draft.asked(typed(text("text"))),
        // A summary that a model made of the session is not said to anybody.
        (Some("assistant"), "text") if record["summary"] != true => draft.said(text("text")),
        (Some("assistant"), "tool") => tool(draft, part),
        _ => {}
    }
}

/// What the person typed: `opencode run` puts quotes around an argument that has spaces.
fn typed(text: &str) -> &str {
    let inside = text.trim().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inside.filter(|inside| !inside.contains('"')).unwrap_or(text)
}

fn tool(draft: &mut Draft, part: &Value) {
    let text = |name: &str| part[name].as_str().unwrap_or_default();
    let input = |name: &str| part["input"][name].as_str().unwrap_or_default();
    let id = text("callID");
    match text("tool") {
        "bash" | "shell" => draft.called_command(id, input("command")),
        "write" | "edit" | "multiedit" => {
            // Version 2 calls it `path`.
            let path = if input("filePath").is_empty() { input("path") } else { input("filePath") };
            draft.called_edit(id, [draft.in_cwd(path)]);
        }
        "apply_patch" | "patch" => draft.called_patch(id, input("patchText")),
        "todowrite" => {
            let todos = part["input"]["todos"].as_array().into_iter().flatten();
            draft.todos(todos.filter_map(|todo| {
                Some(Todo { text: todo["content"].as_str()?.to_owned(), status: status(todo["status"].as_str()?)? })
            }));
        }
        "question" => {
            let questions = part["input"]["questions"].as_array().into_iter().flatten().enumerate();
            draft.called_questions(
                id,
                questions.map(|(number, question)| Question {
                    id: number.to_string(),
                    text: question["question"].as_str().unwrap_or_default().to_owned(),
                }),
            );
        }
        name => draft.called_tool(id, name),
    }
    match text("status") {
        "completed" => {
            let answers = &part["answers"];
            draft.answered(id, |question| {
                let chosen = answers[question.id.parse::<usize>().ok()?].as_array()?;
                Some(chosen.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
            });
            let ended = match (text("tool"), part["exit"].as_i64()) {
                ("bash" | "shell", None) => Ended::Unknown,
                (_, code) => Ended::Code(code.unwrap_or(0), text("output")),
            };
            draft.returned(id, &ended, None);
        }
        "error" => {
            let error = text("error");
            if let Some((_, reason)) = error.split_once("with the following feedback:") {
                draft.refused(id, reason);
            }
            let is_refused = error.contains("user rejected") || error.contains("user dismissed");
            draft.returned(id, &if is_refused { Ended::NotRun } else { Ended::Failed(error) }, None);
        }
        // It runs, or was cut off.
        _ => {}
    }
}

fn candidates(home: &Path, roots: &[PathBuf], budget: &mut ListingBudget) -> Vec<Listing> {
    let place = home.join(DATABASE);
    match opencode_database::sessions(&place, roots, budget.entries()) {
        Ok((files, is_whole)) => {
            budget.spend(files.len());
            if files.is_empty() {
                return Vec::new();
            }
            vec![Listing { place, files, extent: if is_whole { Extent::Whole } else { Extent::NewestDays } }]
        }
        // A database that cannot be read today may be readable tomorrow. `doctor` names it.
        Err(_) => Vec::new(),
    }
}
