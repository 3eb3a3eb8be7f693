//! Cline: `~/.cline/data/sessions/<session>/<session>.messages.json`, for all projects. `<session>.json` beside it names the
//! directory. The file of messages is one document, written anew each time; `document` turns it into records.
//!
//! Versions seen: 3.0.65, run against a stub. The tasks of the VS Code extension
//! (`tasks/<id>/api_conversation_history.json`) are not read.

use std::path::{Path, PathBuf};

use super::json::Value;

use super::calls::{Ended, Question};
use super::draft::Draft;
use super::forks::Origin;
use super::format::Place;
use super::listing::{self, Listing, ListingBudget, ListingLimits};
use super::{TranscriptFormat, bounded_json, human_text};
use crate::base::{env, fs};

pub(super) const FORMAT: TranscriptFormat = TranscriptFormat {
    name: "cline",
    place: Place { variable: env::CLINE_DIR, below: "", default: ".cline" },
    is_one,
    id_mark: b"",
    in_part: &[],
    take,
    candidates,
    states: listing::states,
    directories: |home, roots| listing::directories(candidates(home, roots, &mut ListingLimits::NONE.budget())),
    id,
    origin: |_| Origin::default(),
    file_of: |_, _| None,
    siblings: |_| Vec::new(),
    beside,
    subagents: |_| Vec::new(),
    older: &[("data/tasks", "", "tasks of older versions are not read")],
    is_always_named: false,
    keeps_context: false,
    by_id: |home, id| Some(file_of(&home.join("data/sessions"), id)),
};

const MESSAGES: &str = ".messages.json";
/// How much of the file about a session is read.
const MAX_ABOUT: u64 = 1 << 20;
/// How many commands of one call are read.
const MAX_COMMANDS: usize = 50;

fn is_one(record: &Value) -> bool {
    let is_message = matches!(record["role"].as_str(), Some("user" | "assistant"));
    is_message && (record["content"].is_array() || record["content"].is_string()) && record["message"].is_null()
}

fn take(draft: &mut Draft, record: &Value) {
    if !is_one(record) {
        return;
    }
    draft.at_millis(record["ts"].as_i64());
    draft.model(record["modelInfo"]["id"].as_str().unwrap_or_default());
    let blocks = record["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    if record["role"] == "assistant" {
        for block in blocks {
            match block["type"].as_str() {
                Some("text") => draft.said(block["text"].as_str().unwrap_or_default()),
                Some("tool_use") => call(draft, block),
                _ => {}
            }
        }
        return;
    }
    blocks.iter().filter(|block| block["type"] == "tool_result").for_each(|result| returned(draft, result));
    let texts = blocks.iter().filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str());
    let said: Vec<&str> = record["content"].as_str().into_iter().chain(texts).map(typed).collect();
    draft.asked(&human_text::of_person_in_parts(said.into_iter()));
}

/// What the person typed: `<user_input mode="act">…</user_input>`, or `<task>…</task>`.
fn typed(text: &str) -> &str {
    for (open, close) in [("<user_input", "</user_input>"), ("<task>", "</task>")] {
        if let Some((inside, _)) = text.trim_start().strip_prefix(open).and_then(|rest| rest.rsplit_once(close)) {
            return if open.ends_with('>') { inside } else { inside.split_once('>').map_or("", |(_, inside)| inside) };
        }
    }
    text
}

fn call(draft: &mut Draft, block: &Value) {
    let input = &block["input"];
    let text = |name: &str| input[name].as_str().unwrap_or_default();
    let id = block["id"].as_str().unwrap_or_default();
    match block["name"].as_str().unwrap_or_default() {
        "run_commands" => {
            for (number, command) in input["commands"].as_array().into_iter().flatten().take(MAX_COMMANDS).enumerate() {
                let command = command.as_str().or_else(|| command["command"].as_str()).unwrap_or_default();
                draft.called_command(&part(id, number), command);
            }
        }
        "execute_command" => draft.called_command(&part(id, 0), text("command")),
        "editor" | "write_to_file" | "replace_in_file" => draft.called_edit(id, [draft.in_cwd(text("path"))]),
        "apply_patch" => draft.called_patch(id, text("input")),
        "ask_question" | "ask_followup_question" => {
            let question = Question { id: String::new(), text: text("question").to_owned() };
            draft.called_questions(id, [question].into_iter());
        }
        name => draft.called_tool(id, name),
    }
}

/// One of several commands that a call runs.
fn part(id: &str, number: usize) -> String {
    format!("{id}#{number}")
}

fn returned(draft: &mut Draft, result: &Value) {
    let id = result["tool_use_id"].as_str().unwrap_or_default();
    // One answer for each command; for another tool, one answer that is a text, often with JSON in it.
    let parsed = result["content"].as_str().and_then(bounded_json::parse);
    let answers: Vec<&Value> = match (&result["content"], &parsed) {
        (Value::Array(answers), _) => answers.iter().take(MAX_COMMANDS).collect(),
        (_, Some(answer)) => vec![answer],
        (text, None) => vec![text],
    };
    for (number, answer) in answers.iter().enumerate() {
        let output = ["result", "text"].iter().find_map(|name| answer[*name].as_str()).or(answer.as_str());
        draft.returned(&part(id, number), &ended(answer, output.unwrap_or_default()), None);
    }
    let said = answers.iter().find_map(|answer| ["result", "text"].iter().find_map(|name| answer[*name].as_str()));
    let said = said.or(result["content"].as_str()).unwrap_or_default();
    draft.answered(id, |_| Some(said.to_owned()));
    let has_failed = result["is_error"] == true || answers.iter().any(|answer| answer["success"] == false);
    draft.returned(id, &if has_failed { Ended::Failed(said) } else { Ended::Code(0, said) }, None);
}

/// How a command ended: the code of one that failed comes before its output.
fn ended<'a>(answer: &Value, output: &'a str) -> Ended<'a> {
    let error = answer["error"].as_str().unwrap_or_default();
    let code = |text: &str| {
        let rest = text.split_once("exited with code ")?.1;
        rest.split(|c: char| !c.is_ascii_digit() && c != '-').next()?.parse().ok()
    };
    match (answer["success"].as_bool(), code(error)) {
        (Some(false), Some(code)) => Ended::Code(code, output),
        (Some(false), None) if error.contains("denied") || error.contains("rejected") => Ended::NotRun,
        (Some(false), None) => Ended::Failed(output),
        (Some(true), _) => Ended::Code(0, output),
        (None, _) => Ended::Unknown,
    }
}

/// The file about the session, beside its messages.
fn beside(draft: &mut Draft, path: &Path) {
    let about = || {
        let stem = path.file_name()?.to_str()?.strip_suffix(MESSAGES)?;
        let file = path.with_file_name(format!("{stem}.json"));
        let about = fs::is_file(&file).then(|| fs::read_within(&file, MAX_ABOUT).ok()).flatten()?;
        bounded_json::parse_to_keep(&about)
    };
    let Some(about) = about() else { return };
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    draft.cwd(&text(if about["cwd"].is_string() { &about["cwd"] } else { &about["workspace_root"] }));
    draft.branch(&text(&about["metadata"]["git"]["branch"]));
    draft.title(&text(&about["metadata"]["title"]), false);
    draft.found.is_headless = about["interactive"].as_bool().map(|is_interactive| !is_interactive);
    draft.found.is_subagent = about["is_subagent"] == true || about["parent_session_id"].is_string();
}

/// Every session, because only the file about it names the directory.
fn candidates(home: &Path, _roots: &[PathBuf], budget: &mut ListingBudget) -> Vec<Listing> {
    listing::one_directory_each(home.join("data/sessions"), budget, file_of)
}

fn file_of(sessions: &Path, id: &str) -> PathBuf {
    sessions.join(id).join(format!("{id}{MESSAGES}"))
}

fn id(path: &Path) -> Option<String> {
    path.file_name()?.to_str()?.strip_suffix(MESSAGES).map(str::to_owned)
}
