//! Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`, and `.json` in older versions. The directory of the
//! project has a file `.project_root` that names it.
//!
//! Versions seen: 0.61.0, run against a stub. Each message is written again when it changes, under the same id. `$set` may
//! replace all messages, and `$rewindTo` takes back a message and everything after it. An older `.json` file is one
//! document with the same messages.

use std::path::{Path, PathBuf};

use super::json::Value;
use sha2::{Digest, Sha256};

use super::calls::{Ended, Question};
use super::draft::Draft;
use super::forks::Origin;
use super::format::Place;
use super::listing::{self, Extent, Listing, ListingBudget, ListingLimits};
use super::todo_list::status;
use super::{Todo, TranscriptFormat, bounded_json, human_text, source};
use crate::base::{env, fs};

pub(super) const FORMAT: TranscriptFormat = TranscriptFormat {
    name: "gemini",
    place: Place { variable: env::GEMINI_CLI_HOME, below: ".gemini", default: ".gemini" },
    is_one,
    id_mark: b"{\"id\":\"",
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
    subagents,
    older: &[],
    is_always_named: false,
    keeps_context: false,
    // Its hooks name the file.
    by_id: |_, _| None,
};

/// The file that names the directory of a project.
const ROOT: &str = ".project_root";
const MAX_SUBAGENTS: usize = 1_000;
/// How much of it is read.
const MAX_ROOT: u64 = 8 << 10;

fn is_one(record: &Value) -> bool {
    let is_head = record["sessionId"].is_string() && record["projectHash"].is_string();
    let is_message = record["id"].is_string() && matches!(record["type"].as_str(), Some("user" | "gemini"));
    is_head || is_message && record["timestamp"].is_string() && !record["data"].is_object()
}

fn take(draft: &mut Draft, record: &Value) {
    if let Some(id) = record["$rewindTo"].as_str() {
        return draft.rewind(id);
    }
    let set = &record["$set"];
    draft.title(set["summary"].as_str().unwrap_or_default(), false);
    set["messages"].as_array().into_iter().flatten().for_each(|message| self::message(draft, message));
    if record["projectHash"].is_string() {
        if draft.found.session.is_empty() {
            draft.found.session = record["sessionId"].as_str().unwrap_or_default().to_owned();
        }
        draft.found.is_subagent |= record["kind"] == "subagent";
        draft.at(record["startTime"].as_str().unwrap_or_default());
    }
    if record["type"].is_string() {
        message(draft, record);
    }
}

fn message(draft: &mut Draft, message: &Value) {
    let text = |name: &str| message[name].as_str().unwrap_or_default();
    let parts = texts(&message["content"]);
    draft.at(text("timestamp"));
    match text("type") {
        "user" => {
            // The client tells the agent at the beginning where it is.
            if let Some(directory) = parts.iter().find_map(|text| directory_in(text)) {
                draft.cwd(directory);
            }
            let said = human_text::of_person_in_parts(parts.into_iter());
            if !said.is_empty() && !draft.taken.is_repeated(text("id")) {
                draft.mark(text("id"));
                draft.asked(&said);
            }
        }
        "gemini" => {
            draft.model(text("model"));
            let said = parts.join("\n");
            if !said.trim().is_empty() && !draft.taken.is_repeated(text("id")) {
                draft.said(&said);
            }
            message["toolCalls"].as_array().into_iter().flatten().for_each(|call| self::call(draft, call));
        }
        "error" => draft.limited(&parts.join(" "), None),
        _ => {}
    }
}

/// The texts of a message, which is a text or a list of parts.
fn texts<'r>(content: &'r Value<'_>) -> Vec<&'r str> {
    match content {
        Value::String(text) => vec![text.as_str()],
        Value::Array(parts) => {
            parts.iter().filter(|part| part["thought"] != true).filter_map(|part| part["text"].as_str()).collect()
        }
        part => part["text"].as_str().into_iter().collect(),
    }
}

/// The first directory that the client names in its first message.
fn directory_in(text: &str) -> Option<&str> {
    let is_clients = text.starts_with("<session_context>") || text.starts_with("This is the Gemini CLI.");
    let lines = || text.lines().map(str::trim).filter(|_| is_clients);
    let listed = lines().skip_while(|line| !line.contains("Workspace Directories")).nth(1)?.strip_prefix("- ");
    let named = || lines().find_map(|line| line.strip_prefix("I'm currently working in the directory: "));
    listed.or_else(named).filter(|path| path.starts_with('/'))
}

fn call(draft: &mut Draft, call: &Value) {
    let text = |name: &str| call[name].as_str().unwrap_or_default();
    let argument = |name: &str| call["args"][name].as_str().unwrap_or_default();
    let (id, name) = (text("id"), text("name"));
    match name {
        "run_shell_command" => draft.called_command(id, argument("command")),
        "write_file" | "replace" | "edit" => draft.called_edit(id, [draft.in_cwd(argument("file_path"))]),
        "write_todos" if text("status") == "success" && !draft.taken.is_repeated(id) => {
            let todos = call["args"]["todos"].as_array().into_iter().flatten();
            draft.todos(todos.filter_map(|todo| {
                Some(Todo { text: todo["description"].as_str()?.to_owned(), status: status(todo["status"].as_str()?)? })
            }));
        }
        "write_todos" => {}
        "ask_user" => {
            let questions = call["args"]["questions"].as_array().into_iter().flatten().enumerate();
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
    let output = call["result"][0]["functionResponse"]["response"]["output"].as_str().unwrap_or_default();
    let error = call["result"][0]["functionResponse"]["response"]["error"].as_str().unwrap_or_default();
    match text("status") {
        "success" => {
            draft.answered(id, |question| {
                let answers = bounded_json::parse(output)?;
                answers["answers"][&question.id].as_str().map(str::to_owned)
            });
            let code = if name == "run_shell_command" { exit_code(output) } else { Some(0) };
            draft.returned(id, &code.map_or(Ended::Unknown, |code| Ended::Code(code, output)), None);
        }
        "error" => draft.returned(id, &Ended::Failed(if error.is_empty() { output } else { error }), None),
        // The person said no, or interrupted it.
        "cancelled" => draft.returned(id, &Ended::NotRun, None),
        _ => {}
    }
}

/// The exit code of a command. It comes after the output, and only if it is not 0; older versions always name it.
fn exit_code(output: &str) -> Option<i64> {
    let mut lines = output.lines().rev().map(str::trim);
    let said = lines.find_map(|line| line.strip_prefix("Exit Code: "));
    match said {
        Some("(none)") => None,
        Some(code) => code.parse().ok(),
        None if output.contains("moved to background") => None,
        None => Some(0),
    }
}

/// The directory of the project: two levels up from the file of a session, three from that of a sub-agent.
fn beside(draft: &mut Draft, path: &Path) {
    let above = path.ancestors().skip(2).take(2).map(|directory| directory.join(ROOT));
    let root = above.into_iter().find_map(|file| root_in(&file));
    if let Some(root) = root {
        draft.cwd(&root);
    }
}

/// The sub-agents of a session have files in a directory named after its id.
fn subagents(path: &Path) -> Vec<PathBuf> {
    let Some(directory) = id(path).and_then(|id| Some(path.parent()?.join(id))) else { return Vec::new() };
    let names = fs::names_at_most(&directory, MAX_SUBAGENTS).unwrap_or_default();
    names.iter().filter(|name| name.ends_with(".jsonl")).map(|name| directory.join(name)).collect()
}

fn root_in(file: &Path) -> Option<String> {
    let root = fs::is_file(file).then(|| fs::read_within(file, MAX_ROOT).ok()).flatten()?;
    String::from_utf8(root).ok().map(|root| root.trim().to_owned()).filter(|root| root.starts_with('/'))
}

/// The sessions of the directories at or below the roots. A directory is named by a file in it; in older versions its name
/// is the hash of the path, which says it only for the roots themselves.
fn candidates(home: &Path, roots: &[PathBuf], budget: &mut ListingBudget) -> Vec<Listing> {
    let projects = home.join("tmp");
    let hash = |root: &PathBuf| -> String {
        let digest = Sha256::digest(root.to_string_lossy().as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let hashes: Vec<String> = roots.iter().map(hash).collect();
    let is_of_roots = |name: &String| match root_in(&projects.join(name).join(ROOT)) {
        Some(root) => roots.iter().any(|own| Path::new(&root).starts_with(own)),
        None => hashes.contains(name),
    };
    let names = budget.directories(&projects).unwrap_or_default();
    names
        .iter()
        .filter(|name| is_of_roots(name))
        .filter_map(|name| {
            let place = projects.join(name).join("chats");
            if !fs::is_directory(&place) {
                return None;
            }
            let Some(names) = budget.names(&place) else {
                return Some(Listing { place, files: Vec::new(), extent: Extent::TooMany });
            };
            // A session that continues in the newer format leaves the old file behind.
            let is_session = |name: &&String| {
                name.ends_with(".jsonl") || name.ends_with(".json") && !names.contains(&format!("{name}l"))
            };
            let files = names.iter().filter(is_session).map(|name| place.join(name)).collect();
            Some(Listing { place, files, extent: Extent::Whole })
        })
        .collect()
}

/// The id is in the first record; the name of the file has only its beginning.
fn id(path: &Path) -> Option<String> {
    let mut file = source::open_beginning(path).ok()??;
    let mut found = None;
    let look = |record: Value<'_>| {
        found = record["sessionId"].as_str().map(str::to_owned);
        false
    };
    source::head(&mut file, MAX_ROOT, look).ok()?;
    found
}
