//! Antigravity CLI (`agy`): `~/.gemini/antigravity-cli/brain/<session>/.system_generated/logs/transcript_full.jsonl`, for all
//! projects. `transcript.jsonl` beside it is the same with long texts cut, and is read if the full one is missing.
//!
//! Versions seen: files of agy 1.0.12 to 1.2.10 that others published; the client does not run without an account. A step
//! of the model may call tools, which have no ids: their results are the next steps, in the same order. Arguments are texts
//! that are JSON once more. The directory is the one that a cache of the client names for the session, or the one of its
//! first command. The databases in `conversations/` are not read.

use std::path::{Path, PathBuf};

use super::json::Value;

use super::calls::Ended;
use super::draft::Draft;
use super::forks::Origin;
use super::format::Place;
use super::listing::{self, Listing, ListingBudget, ListingLimits};
use super::{TranscriptFormat, bounded_json, human_text};
use crate::base::{fs, text};

pub(super) const FORMAT: TranscriptFormat = TranscriptFormat {
    name: "antigravity",
    place: Place { variable: "", below: "", default: ".gemini/antigravity-cli" },
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
    older: &[],
    is_always_named: false,
    keeps_context: false,
    by_id: |home, id| Some(file_of(&home.join("brain"), id)),
};

const LOGS: &str = ".system_generated/logs";
const FULL: &str = "transcript_full.jsonl";
const CUT: &str = "transcript.jsonl";
/// How much of a cache of the client is read.
const MAX_CACHE: u64 = 4 << 20;
/// How many calls wait for their results.
const MAX_WAITING: usize = 100;
/// What the client adds to a request.
const ADDED: &[&str] = &["ADDITIONAL_METADATA", "USER_SETTINGS_CHANGE", "EPHEMERAL_MESSAGE", "SYSTEM_MESSAGE"];

const COMMAND: &str = "RUN_COMMAND";
const EDIT: &str = "CODE_ACTION";
const OTHER: &str = "";

fn is_one(record: &Value) -> bool {
    let source = record["source"].as_str().unwrap_or_default();
    let is_step = record["step_index"].is_u64() || record["created_at"].is_string();
    is_step && (source.starts_with("USER_") || matches!(source, "MODEL" | "SYSTEM"))
}

fn take(draft: &mut Draft, record: &Value) {
    if !is_one(record) {
        return;
    }
    let said = record["content"].as_str().unwrap_or_default();
    let kind = record["type"].as_str().unwrap_or_default();
    draft.at(record["created_at"].as_str().unwrap_or_default());
    match (record["source"].as_str(), kind) {
        (Some("USER_EXPLICIT"), _) => {
            draft.waiting.clear();
            if let Some(request) = request(said) {
                draft.asked(&request);
            }
        }
        (Some("MODEL"), "PLANNER_RESPONSE" | "") => {
            draft.said(said);
            calls(draft, record);
        }
        (Some("MODEL"), "CHECKPOINT") | (Some("SYSTEM"), _) => {}
        (Some("MODEL"), kind) => {
            // Older versions have the call in the step of its result.
            calls(draft, record);
            result(draft, kind, record, said);
        }
        _ => {}
    }
}

/// What the person typed.
fn request(said: &str) -> Option<String> {
    let said = text::without_tags_at_line_start(said, ADDED);
    // A block may follow the request on the same line.
    let said = said.split("<ADDITIONAL_METADATA>").next().unwrap_or_default();
    let said = said.trim().trim_start_matches("<USER_REQUEST>").trim_end_matches("</USER_REQUEST>");
    human_text::of_person(said)
}

fn calls(draft: &mut Draft, record: &Value) {
    for call in record["tool_calls"].as_array().into_iter().flatten() {
        let args = if call["args"].is_object() { &call["args"] } else { &call["arguments"] };
        let id = draft.next_id();
        let name = call["name"].as_str().unwrap_or_default();
        let kind = match name.rsplit(':').next().unwrap_or_default() {
            "run_command" => {
                let directory = argument(args, "Cwd");
                if directory.starts_with('/') {
                    draft.cwd(&directory);
                }
                draft.called_command(&id, &argument(args, "CommandLine"));
                COMMAND
            }
            "write_to_file" | "replace_file_content" | "multi_replace_file_content" | "edit_file" => {
                // An artifact is a page for the person, kept beside the transcript.
                let path = argument(args, "TargetFile");
                let is_artifact = argument(args, "IsArtifact") == "true" || path.contains("/.gemini/");
                if !is_artifact {
                    draft.called_edit(&id, [draft.in_cwd(&path)]);
                }
                EDIT
            }
            name => {
                draft.called_tool(&id, name);
                OTHER
            }
        };
        draft.waiting.push_back((id, kind));
        if draft.waiting.len() > MAX_WAITING {
            draft.waiting.pop_front();
        }
    }
}

/// An argument, which is a text that is JSON, or plain.
fn argument(args: &Value, name: &str) -> String {
    match &args[name] {
        Value::String(text) => {
            serde_json::from_str::<String>(text.as_str()).unwrap_or_else(|_| text.as_str().to_owned())
        }
        Value::Bool(value) => value.to_string(),
        _ => String::new(),
    }
}

/// Takes the result of the call that waits longest. Steps that say which tool they are of find theirs.
fn result(draft: &mut Draft, kind: &str, record: &Value, output: &str) {
    let is_of = |waiting: &(String, &'static str)| match kind {
        COMMAND | EDIT => waiting.1 == kind,
        _ => waiting.1 == OTHER,
    };
    let Some(at) = draft.waiting.iter().position(is_of) else { return };
    let Some((id, _)) = draft.waiting.remove(at) else { return };
    let ended = match record["status"].as_str() {
        Some("DONE") if kind == COMMAND => command_ended(record, output),
        Some("DONE") => Ended::Code(0, output),
        Some("ERROR" | "FAILED") => Ended::Failed(output),
        Some("CANCELED" | "CANCELLED" | "REJECTED") => Ended::NotRun,
        _ => Ended::Unknown,
    };
    draft.returned(&id, &ended, None);
}

fn command_ended<'a>(record: &Value, output: &'a str) -> Ended<'a> {
    // The client's own words come before the output.
    let head = output.split("Output:").next().unwrap_or_default();
    let code = |words: &str| {
        let rest = head.split_once(words)?.1;
        rest.split(|c: char| !c.is_ascii_digit() && c != '-').next()?.parse().ok()
    };
    let said = ["exited with code ", "exit code: ", "exit code "].iter().find_map(|words| code(words));
    match record["exit_code"].as_i64().or(said) {
        Some(code) => Ended::Code(code, output),
        None if head.contains("completed successfully") => Ended::Code(0, output),
        None if head.contains("command failed") => Ended::Failed(output),
        None => Ended::Unknown,
    }
}

/// The caches of the client: which workspace a session belongs to, and the last session of each workspace.
fn beside(draft: &mut Draft, path: &Path) {
    let Some(id) = id(path) else { return };
    let Some(home) = path.ancestors().nth(5) else { return };
    let cache = |name: &str| {
        let file = home.join("cache").join(name);
        let cache = fs::is_file(&file).then(|| fs::read_within(&file, MAX_CACHE).ok()).flatten()?;
        bounded_json::parse_to_keep(&cache)
    };
    if let Some(last) = cache("last_conversations.json") {
        let of_this =
            last.as_object().into_iter().flatten().find(|(_, conversation)| conversation.as_str() == Some(&id));
        if let Some((workspace, _)) = of_this.filter(|(workspace, _)| workspace.starts_with('/')) {
            return draft.cwd(workspace);
        }
    }
    if let Some(known) = cache("conversation_metadata.json") {
        let uri = known["conversations"][&id]["summary"]["WorkspaceURIs"][0].as_str().unwrap_or_default();
        draft.cwd(uri.strip_prefix("file://").unwrap_or_default());
    }
}

/// Every session, because the directory is named elsewhere.
fn candidates(home: &Path, _roots: &[PathBuf], budget: &mut ListingBudget) -> Vec<Listing> {
    listing::one_directory_each(home.join("brain"), budget, file_of)
}

fn file_of(brain: &Path, id: &str) -> PathBuf {
    let logs = brain.join(id).join(LOGS);
    Some(logs.join(FULL)).filter(|full| fs::is_file(full)).unwrap_or_else(|| logs.join(CUT))
}

fn id(path: &Path) -> Option<String> {
    path.ancestors().nth(3)?.file_name()?.to_str().map(str::to_owned)
}
