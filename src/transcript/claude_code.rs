//! Claude Code: `~/.claude/projects/<directory>/<session>.jsonl`. The directory is named after the one in which the session
//! was started.
//!
//! Versions seen: 2.1.197, run against a stub, and published files of 1.0 to 2.1. A file of an older version was not seen: if
//! its records have no `sessionId`, `doctor` names it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::json::Value;

use super::calls::{Ended, Question};
use super::draft::Draft;
use super::forks::{Key, Origin};
use super::format::Place;
use super::listing::{self, Extent, Listing, ListingBudget, ListingLimits};
use super::{Todo, TodoStatus, TranscriptFormat, human_text};
use crate::base::{env, fs};

pub(super) const FORMAT: TranscriptFormat = TranscriptFormat {
    name: "claude-code",
    place: Place { variable: env::CLAUDE_CONFIG_DIR, below: "", default: ".claude" },
    is_one,
    id_mark: b"\"uuid\":\"",
    in_part: &[
        ("toolUseResult", &["annotations", "answers", "backgroundTaskId", "interrupted", "plan", "task"]),
        // What a tool or a sub-agent does at the moment, and copies of files.
        ("data", &[]),
        ("snapshot", &[]),
    ],
    take,
    candidates,
    states: listing::states,
    directories,
    id,
    origin,
    file_of,
    siblings,
    beside: |_, _| {},
    subagents,
    older: &[],
    is_always_named: true,
    keeps_context: true,
    // Its hooks name the file.
    by_id: |_, _| None,
};

/// Among how many other sessions the parent of a fork is looked for.
const MAX_SIBLINGS: usize = 50;
/// Longer directory names are cut there and a hash is added.
const MAX_NAME: usize = 200;

fn is_one(record: &Value) -> bool {
    record["sessionId"].is_string() && record["type"].is_string()
}

fn take(draft: &mut Draft, record: &Value) {
    let text = |name: &str| record[name].as_str().unwrap_or_default();
    let is_side = record["isSidechain"] == true;
    if draft.taken.is_repeated(text("uuid")) {
        return;
    }
    draft.at(text("timestamp"));
    draft.is_aside = is_side && !draft.found.is_subagent;
    if draft.found.session.is_empty() {
        draft.found.session = text("sessionId").to_owned();
    }
    match text("type") {
        "user" | "assistant" => {
            about(draft, record, is_side);
            let message = &record["message"];
            match text("type") {
                "user" => user(draft, record, message, is_side),
                _ => assistant(draft, record, message, is_side),
            }
        }
        // A request that the person typed while the agent was working.
        "attachment" if record["attachment"]["type"] == "queued_command" && !is_side => {
            let attachment = &record["attachment"];
            if matches!(attachment["commandMode"].as_str(), None | Some("prompt")) {
                match &attachment["prompt"] {
                    Value::String(text) => draft.queued(text),
                    parts => draft.queued(&human_text::of_person_in_parts(texts(parts))),
                }
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
        let is_output_read = result["is_error"] == true || draft.is_output_read(id);
        let output = if is_output_read { output(result) } else { "" };
        if !is_side || draft.found.is_subagent {
            answered(draft, id, (result, output), answer);
        }
        draft.returned(id, &ended((result, output), answer), task.as_deref());
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
        content => match texts(content).next().filter(|text| text.trim_start().starts_with("<command-")) {
            Some(command) => draft.asked(command),
            None => draft.asked(&human_text::of_person_in_parts(texts(content))),
        },
    }
}

/// The texts among the parts of a message.
fn texts<'r>(content: &'r Value<'_>) -> impl Iterator<Item = &'r str> {
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default().iter();
    blocks.filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str())
}

/// Takes what the person said by a result: a reason for refusing the call, answers to questions, the approval of a plan.
fn answered(draft: &mut Draft, id: &str, (result, output): (&Value<'_>, &str), answer: &Value<'_>) {
    if result["is_error"] == true {
        if let Some(reason) = reason(output) {
            draft.refused(id, reason);
        }
        return;
    }
    if let Some(plan) = draft.plan_of(id) {
        // A person may edit the plan before approving it. Newer versions record it only in the result.
        let in_output = || output.split_once("## Approved Plan").and_then(|(_, rest)| Some(rest.split_once('\n')?.1));
        let plan = answer["plan"].as_str().or_else(in_output).unwrap_or(plan).to_owned();
        return draft.approved(&plan);
    }
    draft.answered(id, |question| {
        let Some(chosen) = answer["answers"][&question.id].as_str() else { return answer_in(output, &question.id) };
        let note = answer["annotations"][&question.id]["notes"].as_str().unwrap_or_default();
        Some(format!("{chosen}\n{note}"))
    });
}

/// The person's words in the result of a refused call.
fn reason(output: &str) -> Option<&str> {
    if !output.starts_with("The user doesn't want to proceed") {
        return None;
    }
    let said = output.split_once("the user said:")?.1;
    // The client adds a hint for the agent.
    let said = said.split("\n\nNote: The user's next message").next().unwrap_or_default().trim();
    // A button of the client, not words of the person.
    let is_clients = ["The user wants to clarify these questions", "The user has indicated they have provided enough"];
    (!said.is_empty() && !is_clients.iter().any(|beginning| said.starts_with(beginning))).then_some(said)
}

/// The answer to a question in the words of the result: `… "Which one?"="The second", "And …`.
fn answer_in(output: &str, question: &str) -> Option<String> {
    let (_, rest) = output.split_once(&format!("\"{question}\"=\""))?;
    let end = ["\", \"", "\" selected preview:", "\" user notes:", "\". ", "\" You can now", "\"\n"];
    let end = end.iter().filter_map(|end| rest.find(end)).min().or_else(|| rest.rfind('"'))?;
    Some(rest[..end].to_owned())
}

fn output<'r>(result: &'r Value<'_>) -> &'r str {
    match &result["content"] {
        Value::String(text) => text,
        blocks => blocks[0]["text"].as_str().unwrap_or_default(),
    }
}

/// How a tool call ended, by its result. The result of a failed command begins with "Exit code 1".
fn ended<'a>((result, output): (&Value<'_>, &'a str), answer: &Value<'_>) -> Ended<'a> {
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
            None => Ended::Failed(output),
        };
    }
    let is_open = answer["interrupted"] == true || answer["backgroundTaskId"].is_string();
    if is_open { Ended::Unknown } else { Ended::Code(0, output) }
}

fn assistant(draft: &mut Draft, record: &Value, message: &Value, is_side: bool) {
    let model = message["model"].as_str().unwrap_or_default();
    // The client writes messages of its own in the agent's name, such as errors of the network.
    let is_from_client = model == "<synthetic>" || record["isApiErrorMessage"] == true;
    if !is_side && !is_from_client {
        draft.model(model);
    }
    if is_from_client {
        let said = message["content"].as_str().or_else(|| message["content"][0]["text"].as_str()).unwrap_or_default();
        let kind = record["error"].as_str().unwrap_or_default();
        draft.limited(&format!("{kind} {said}"), None);
    }
    let is_sessions = !is_side || draft.found.is_subagent;
    if let Some(text) = message["content"].as_str().filter(|_| is_sessions && !is_from_client) {
        draft.said(text);
    }
    for block in message["content"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("text") if is_sessions && !is_from_client => draft.said(block["text"].as_str().unwrap_or_default()),
            Some("tool_use") => tool_use(draft, block, is_sessions),
            _ => {}
        }
    }
}

/// Takes a tool call. A subagent's questions and lists are not the session's.
fn tool_use(draft: &mut Draft, block: &Value, is_sessions: bool) {
    let text = |name: &str| block["input"][name].as_str().unwrap_or_default();
    let id = block["id"].as_str().unwrap_or_default();
    match block["name"].as_str().unwrap_or_default() {
        "Edit" | "MultiEdit" | "Write" => draft.called_edit(id, [text("file_path").to_owned()]),
        "NotebookEdit" => draft.called_edit(id, [text("notebook_path").to_owned()]),
        "Bash" | "PowerShell" => draft.called_command(id, text("command")),
        _ if !is_sessions => {}
        "TodoWrite" => {
            let todos = block["input"]["todos"].as_array().into_iter().flatten();
            draft.todos(todos.filter_map(|todo| {
                let status = status(todo["status"].as_str().unwrap_or_default())?;
                Some(Todo { text: todo["content"].as_str()?.to_owned(), status })
            }));
        }
        "TaskCreate" => draft.called_new_task(id, text("subject")),
        "TaskUpdate" => {
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
        "AskUserQuestion" => {
            let questions = block["input"]["questions"].as_array().into_iter().flatten();
            // The question itself is the name of its answer.
            let questions = questions.filter_map(|question| question["question"].as_str());
            draft.called_questions(id, questions.map(|text| Question { id: text.to_owned(), text: text.to_owned() }));
        }
        "Read" => draft.called_read(id, text("file_path")),
        "ExitPlanMode" | "exit_plan_mode" => draft.called_plan(id, text("plan")),
        name => draft.called_tool(id, name),
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

/// The directories of sessions at or below the roots. Different paths can have the same name, so others may be among them.
fn candidates(home: &Path, roots: &[PathBuf], budget: &mut ListingBudget) -> Vec<Listing> {
    places(home, roots, budget)
        .into_iter()
        .map(|place| {
            let Some(names) = budget.names(&place) else {
                return Listing { place, files: Vec::new(), extent: Extent::TooMany };
            };
            let files = names.iter().filter(|name| name.ends_with(".jsonl")).map(|name| place.join(name)).collect();
            Listing { place, files, extent: Extent::Whole }
        })
        .collect()
}

fn directories(home: &Path, roots: &[PathBuf]) -> Vec<PathBuf> {
    places(home, roots, &ListingLimits::NONE.budget()).into_iter().collect()
}

/// The directories of the projects at these roots and below them.
fn places(home: &Path, roots: &[PathBuf], budget: &ListingBudget) -> BTreeSet<PathBuf> {
    let projects = home.join("projects");
    let names: Vec<String> = roots.iter().map(|root| directory_name(root)).collect();
    let is_below = |directory: &str, name: &String| {
        directory.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    // Among too many projects, only the roots themselves are found.
    let directories = budget.directories(&projects).unwrap_or_else(|| names.clone());
    let directories = directories.into_iter().filter(|directory| names.iter().any(|name| is_below(directory, name)));
    directories.map(|directory| projects.join(directory)).collect()
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

/// A copy has the `uuid` of its original, or says of which record it is a copy.
fn origin(record: &Value) -> Origin {
    let key = record["uuid"].as_str().map(Key::of_id);
    Origin { is_copy: record["forkedFrom"]["sessionId"].is_string(), parent: None, key }
}

fn file_of(path: &Path, id: &str) -> Option<PathBuf> {
    Some(path.with_file_name(format!("{id}.jsonl"))).filter(|file| fs::is_file(file))
}

/// The sub-agents of a session have files in a directory named after it.
fn subagents(path: &Path) -> Vec<PathBuf> {
    let directory = path.with_extension("").join("subagents");
    let names = fs::names_at_most(&directory, ListingLimits::GLANCE.entries).unwrap_or_default();
    names.iter().filter(|name| name.ends_with(".jsonl")).map(|name| directory.join(name)).collect()
}

fn siblings(path: &Path) -> Vec<PathBuf> {
    let Some(directory) = path.parent() else { return Vec::new() };
    let names = fs::names_at_most(directory, ListingLimits::GLANCE.entries).unwrap_or_default();
    let others = names.iter().filter(|name| name.ends_with(".jsonl")).map(|name| directory.join(name));
    let mut others: Vec<PathBuf> = others.filter(|other| other != path).collect();
    others.sort_by_cached_key(|other| std::cmp::Reverse(fs::modified(other)));
    others.truncate(MAX_SIBLINGS);
    others
}
