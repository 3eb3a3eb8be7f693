//! Copilot CLI: `~/.copilot/session-state/<session>/events.jsonl`, for all projects.
//!
//! Versions seen: 1.0.102, run against a stub, and its schema of events. Events of sub-agents are in the same file, with the
//! id of the agent or of the call that started it. What sub-agents did counts; what they said does not. Older versions kept
//! `history-session-state/*.json`, which is not read. To-dos that the agent keeps in a database by SQL are not read.

use std::path::{Path, PathBuf};

use super::json::Value;

use super::calls::{Ended, Question};
use super::draft::Draft;
use super::forks::Origin;
use super::format::Place;
use super::listing::{self, Listing, ListingBudget, ListingLimits};
use super::{TranscriptFormat, bounded_json, todo_list};
use crate::base::env;

const EVENTS: &str = "events.jsonl";
/// The sources of messages that programs write in the person's name: skills, hooks, the client itself.
const PROGRAMS: &[&str] = &["autopilot", "hook", "instruction", "skill", "system"];

pub(super) const FORMAT: TranscriptFormat = TranscriptFormat {
    name: "copilot",
    place: Place { variable: env::COPILOT_HOME, below: "", default: ".copilot" },
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
    beside: |_, _| {},
    // They are in the same file.
    subagents: |_| Vec::new(),
    older: &[("history-session-state", "", "sessions of older versions are not read")],
    is_always_named: false,
    keeps_context: false,
    by_id: |home, id| Some(home.join("session-state").join(id).join(EVENTS)),
};

fn is_one(record: &Value) -> bool {
    record["data"].is_object() && record["type"].as_str().is_some_and(|name| name.contains('.'))
}

fn take(draft: &mut Draft, record: &Value) {
    let data = &record["data"];
    let text = |name: &str| data[name].as_str().unwrap_or_default();
    draft.at(record["timestamp"].as_str().unwrap_or_default());
    let is_aside = record["agentId"].is_string() || data["parentToolCallId"].is_string();
    draft.is_aside = is_aside;
    match record["type"].as_str().unwrap_or_default() {
        "session.start" | "session.resume" => {
            let context = &data["context"];
            if draft.found.session.is_empty() {
                draft.found.session = text("sessionId").to_owned();
            }
            draft.cwd(context["cwd"].as_str().unwrap_or_default());
            draft.branch(context["branch"].as_str().unwrap_or_default());
            draft.model(text("selectedModel"));
        }
        "session.model_change" => draft.model(text("newModel")),
        "session.title_changed" => draft.title(text("title"), false),
        "user.message" if !is_aside => request(draft, record, data),
        "assistant.message" if !is_aside => {
            draft.model(text("model"));
            draft.said(text("content"));
        }
        "tool.execution_start" => call(draft, data, is_aside),
        "tool.execution_complete" => completed(draft, data),
        "user_input.requested" => {
            let question = Question { id: String::new(), text: text("question").to_owned() };
            draft.called_questions(text("requestId"), [question].into_iter());
        }
        "user_input.completed" => draft.answered(text("requestId"), |_| data["answer"].as_str().map(str::to_owned)),
        "exit_plan_mode.requested" => {
            let plan = if text("planContent").is_empty() { text("summary") } else { text("planContent") };
            draft.called_plan(text("requestId"), plan);
        }
        "exit_plan_mode.completed" => match draft.plan_of(text("requestId")).map(str::to_owned) {
            Some(plan) if data["approved"] == true => draft.approved(&plan),
            _ => draft.refused(text("requestId"), text("feedback")),
        },
        "permission.completed" if data["result"]["kind"] == "denied-interactively-by-user" => {
            draft.refused(text("toolCallId"), data["result"]["feedback"].as_str().unwrap_or_default());
        }
        "session.error" => draft.limited(&format!("{} {}", text("errorType"), text("message")), None),
        "session.snapshot_rewind" => draft.rewind(text("upToEventId")),
        _ => {}
    }
}

fn request(draft: &mut Draft, record: &Value, data: &Value) {
    let source = data["source"].as_str().unwrap_or_default();
    if data["isAutopilotContinuation"] == true || PROGRAMS.iter().any(|program| source.starts_with(program)) {
        return;
    }
    let said = data["content"].as_str().unwrap_or_default();
    draft.mark(record["id"].as_str().unwrap_or_default());
    match data["delivery"].as_str() {
        Some("queued" | "steering") => draft.queued(said),
        _ => draft.asked(said),
    }
}

fn call(draft: &mut Draft, data: &Value, is_aside: bool) {
    let id = data["toolCallId"].as_str().unwrap_or_default();
    // Arguments may be a text that is JSON.
    let parsed = data["arguments"].as_str().and_then(bounded_json::parse);
    let arguments = parsed.as_ref().unwrap_or(&data["arguments"]);
    let text = |name: &str| arguments[name].as_str().unwrap_or_default();
    match data["toolName"].as_str().unwrap_or_default() {
        "bash" | "powershell" | "shell" | "local_shell" => draft.called_command(id, text("command")),
        "create" | "edit" | "str_replace" | "insert" | "write" => draft.called_edit(id, [draft.in_cwd(text("path"))]),
        "str_replace_editor" if arguments["file_text"].is_string() || arguments["new_str"].is_string() => {
            draft.called_edit(id, [draft.in_cwd(text("path"))])
        }
        "apply_patch" => {
            let patch = arguments
                .as_str()
                .unwrap_or_else(|| text(if arguments["patch"].is_string() { "patch" } else { "input" }));
            draft.called_patch(id, patch);
        }
        "update_todo" if !is_aside => draft.todos(todo_list::of_markdown(text("todos"))),
        name => draft.called_tool(id, name),
    }
}

fn completed(draft: &mut Draft, data: &Value) {
    let id = data["toolCallId"].as_str().unwrap_or_default();
    let output = data["result"]["content"].as_str().unwrap_or_default();
    let error = data["error"]["message"].as_str().unwrap_or_default();
    let edits: Vec<&str> =
        data["fileEdits"].as_array().into_iter().flatten().filter_map(|edit| edit["path"].as_str()).collect();
    if !edits.is_empty() {
        // They are the files that were really written, so those of the call are no longer needed.
        let edits: Vec<String> = edits.into_iter().map(|path| draft.in_cwd(path)).collect();
        draft.returned(id, &Ended::Failed(error), None);
        return edits.into_iter().for_each(|path| draft.edited(path));
    }
    let code = data["shellExecution"]["exitCode"].as_i64().or_else(|| code_in(output));
    let is_refused = matches!(data["error"]["code"].as_str(), Some("denied" | "rejected"));
    let ended = match (code, data["success"] == true) {
        (Some(code), _) => Ended::Code(code, output),
        // A command without a code still runs.
        (None, true) if output.contains("<command started in ") || output.contains("is still running") => {
            Ended::Unknown
        }
        (None, true) => Ended::Code(0, output),
        (None, false) if is_refused => Ended::NotRun,
        (None, false) => Ended::Failed(error),
    };
    draft.returned(id, &ended, None);
}

/// The exit code in the last line of an output: `<exited with exit code 1>`, `<shellId: 0 completed with exit code 1>`.
fn code_in(output: &str) -> Option<i64> {
    let last = output.trim_end().rsplit('\n').next()?.strip_suffix('>')?;
    last.rsplit_once("with exit code ")?.1.parse().ok()
}

/// Every session, because only the first record names the directory.
fn candidates(home: &Path, _roots: &[PathBuf], budget: &mut ListingBudget) -> Vec<Listing> {
    listing::one_directory_each(home.join("session-state"), budget, |place, id| place.join(id).join(EVENTS))
}

fn id(path: &Path) -> Option<String> {
    path.parent()?.file_name()?.to_str().map(str::to_owned)
}
