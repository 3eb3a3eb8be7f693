//! Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, for all projects.
//!
//! A tool call is a `response_item`. Models that call their tools from a script ("code mode") leave only the script there;
//! the commands that it ran are in the `event_msg` records of completed items. Both are read, and one id is one call.
//!
//! Versions seen: 0.166.0, run against a stub, and published files since 2025. Until September 2025 an item was a record of
//! its own; those are read, too. `rollout-*.json` of the first versions (one document, which does not name
//! its project) are not read; `doctor` names them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::json::{Fields, Value};
use chrono::DateTime;

use super::calls::{Ended, Question};
use super::draft::Draft;
use super::forks::{Key, Origin};
use super::format::Place;
use super::listing::{self, Extent, Listing, ListingBudget};
use super::{Todo, TodoStatus, TranscriptFormat, human_text, rate_limit};
use crate::base::{env, fs};

pub(super) const FORMAT: TranscriptFormat = TranscriptFormat {
    name: "codex",
    place: Place { variable: env::CODEX_HOME, below: "", default: ".codex" },
    is_one,
    id_mark: b"",
    in_part: &[],
    take,
    candidates,
    states: listing::states,
    directories,
    id,
    origin,
    file_of,
    // The first record names the parent of a fork.
    siblings: |_| Vec::new(),
    beside: |_, _| {},
    // They are among the sessions of the day, which do not name them.
    subagents: |_| Vec::new(),
    older: &[("sessions", ".json", "`rollout-*.json` of the first versions are not read")],
    is_always_named: true,
    keeps_context: true,
    // Its hooks name the file.
    by_id: |_, _| None,
};

/// In a directory with more names, the parent of a fork is not looked for.
const MAX_NAMES: usize = 10_000;
const PLAIN: &str = ".jsonl";
/// Codex compresses old sessions, and removes the plain file.
const COMPRESSED: &str = ".jsonl.zst";

fn is_one(record: &Value) -> bool {
    record["payload"].is_object() && record["type"].is_string() && record["timestamp"].is_string() || is_bare(record)
}

/// Whether a record is an item without anything around it. Codex wrote them so until September 2025.
fn is_bare(record: &Value) -> bool {
    let is_message = record["type"] == "message" && record["role"].is_string() && record["content"].is_array();
    let is_call =
        matches!(record["type"].as_str(), Some("function_call" | "function_call_output" | "local_shell_call"));
    record["payload"].is_null() && (is_message || is_call && record["call_id"].is_string())
}

/// Takes such an item. Only a text for the agent names the directory.
fn bare(draft: &mut Draft, item: &Value) {
    let texts = item["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    for text in texts.filter(|text| text.trim_start().starts_with("<environment_context>")) {
        let tagged = text.split_once("<cwd>").and_then(|(_, rest)| rest.split_once("</cwd>")).map(|(cwd, _)| cwd);
        let named = || text.lines().find_map(|line| line.trim().strip_prefix("Current working directory: "));
        draft.cwd(tagged.or_else(named).unwrap_or_default().trim());
    }
    response_item(draft, item);
}

fn take(draft: &mut Draft, record: &Value) {
    let payload = &record["payload"];
    draft.at(record["timestamp"].as_str().unwrap_or_default());
    match record["type"].as_str().unwrap_or_default() {
        "session_meta" => about(draft, payload),
        "turn_context" => {
            draft.cwd(payload["cwd"].as_str().unwrap_or_default());
            draft.model(payload["model"].as_str().unwrap_or_default());
        }
        "response_item" => response_item(draft, payload),
        "event_msg" => event(draft, payload),
        _ if is_bare(record) => bare(draft, record),
        _ => {}
    }
}

fn about(draft: &mut Draft, payload: &Value) {
    // A continued session also has the records of the earlier ones.
    if !draft.found.cwd.is_empty() {
        return;
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if draft.found.session.is_empty() {
        draft.found.session = text(&payload["id"]);
    }
    draft.cwd(&text(&payload["cwd"]));
    draft.branch(&text(&payload["git"]["branch"]));
    let source = &payload["source"];
    draft.found.is_subagent = !source["subagent"].is_null() || payload["thread_source"] == "subagent";
    draft.found.is_headless = match source.as_str() {
        Some("exec") => Some(true),
        Some("cli" | "vscode") => Some(false),
        _ => None,
    };
}

fn response_item(draft: &mut Draft, item: &Value) {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    let id = text("call_id");
    match text("type") {
        "message" if item["role"] == "user" => request(draft, item),
        "message" if item["role"] == "assistant" => said(draft, item),
        "function_call" => {
            let arguments: Value = super::bounded_json::parse(text("arguments")).unwrap_or_default();
            call(draft, id, text("name"), &arguments);
        }
        "local_shell_call" => draft.called_command(id, &command_line(&item["action"]["command"])),
        "custom_tool_call" if text("name") == "apply_patch" => patch(draft, id, text("input")),
        "custom_tool_call" if text("name") == "exec" => plan_in_script(draft, text("input")),
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            let output = output(&item["output"]);
            answered(draft, id, &output);
            draft.returned(id, &ended(&output), None);
        }
        _ => {}
    }
}

/// Takes a request. Newer versions record for each part who wrote it.
fn request(draft: &mut Draft, item: &Value) {
    let provenance = &item["internal_chat_message_metadata_passthrough"]["content_item_metadata"];
    let parts = item["content"].as_array().into_iter().flatten().enumerate();
    let texts = parts
        .filter(|(number, _)| provenance[*number]["provenance"]["type"] != "harness")
        .filter_map(|(_, part)| part["text"].as_str());
    let text = human_text::of_person_in_parts(texts);
    // The client asks this when the person approves the plan.
    let plan = draft.proposed_plan.take().filter(|_| text.trim() == "Implement the plan.");
    draft.asked(&text);
    if let Some(plan) = plan {
        draft.approved(&plan);
    }
}

/// Takes a text of the agent. In plan mode, a part of it may be a plan for the person to approve.
fn said(draft: &mut Draft, item: &Value) {
    let parts = item["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    let text = parts.collect::<Vec<_>>().join("\n");
    let (open, close) = ("<proposed_plan>", "</proposed_plan>");
    draft.proposed_plan =
        text.split_once(open).map(|(_, rest)| rest.split(close).next().unwrap_or_default().trim().to_owned());
    draft.said(
        &text.replace(&format!("{open}\n"), "").replace(&format!("{close}\n"), "").replace(open, "").replace(close, ""),
    );
}

/// Takes the answers to the agent's questions: `{"answers": {"id": {"answers": ["…", "user_note: …"]}}}`.
fn answered(draft: &mut Draft, id: &str, output: &str) {
    draft.answered(id, |question| {
        let found = super::bounded_json::parse(output)?;
        let answers = found["answers"][&question.id]["answers"].as_array()?.iter().filter_map(Value::as_str);
        let answers: Vec<&str> = answers.map(|text| text.strip_prefix("user_note: ").unwrap_or(text)).collect();
        Some(answers.join("\n"))
    });
}

fn call(draft: &mut Draft, id: &str, name: &str, arguments: &Value) {
    match name {
        "exec_command" | "shell_command" | "shell" | "container.exec" => {
            let field = if arguments["cmd"].is_null() { &arguments["command"] } else { &arguments["cmd"] };
            let command = command_line(field);
            if command.trim_start().starts_with("apply_patch") {
                patch(draft, id, &command)
            } else {
                draft.called_command(id, &command)
            }
        }
        "apply_patch" => patch(draft, id, arguments["input"].as_str().unwrap_or_default()),
        "update_plan" => plan(draft, arguments),
        "request_user_input" => {
            let questions = arguments["questions"].as_array().into_iter().flatten();
            let told = |name: &str, question: &Value| question[name].as_str().unwrap_or_default().to_owned();
            // The answer to a secret question is nobody else's.
            let questions = questions.filter(|question| question["isSecret"] != true);
            let question = |found| Question { id: told("id", found), text: told("question", found) };
            draft.called_questions(id, questions.map(question));
        }
        _ => {}
    }
}

/// The command as a person would type it: for `bash -lc "…"`, the script.
fn command_line(command: &Value) -> String {
    if let Some(text) = command.as_str() {
        return text.to_owned();
    }
    let words: Vec<&str> = command.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match words.as_slice() {
        [shell, flag, script] if flag.starts_with('-') && flag.ends_with('c') && shell.ends_with("sh") => {
            (*script).to_owned()
        }
        words => words.join(" "),
    }
}

/// Takes the files of a patch.
fn patch(draft: &mut Draft, id: &str, patch: &str) {
    draft.called_patch(id, patch);
}

fn plan(draft: &mut Draft, arguments: &Value) {
    let Some(steps) = arguments["plan"].as_array() else { return };
    draft.todos(steps.iter().filter_map(|step| {
        let status = match step["status"].as_str()? {
            "pending" => TodoStatus::Pending,
            "in_progress" => TodoStatus::InProgress,
            "completed" => TodoStatus::Completed,
            _ => return None,
        };
        Some(Todo { text: step["step"].as_str()?.to_owned(), status })
    }));
}

/// Takes the plan of a script, if its argument is plain data: `tools.update_plan({plan: [{step: "…", status: "…"}]})`.
fn plan_in_script(draft: &mut Draft, script: &str) {
    let Some((_, argument)) = script.rsplit_once("tools.update_plan(") else { return };
    let quoted = quote_names(argument);
    if let Some(arguments) = super::bounded_json::parse_beginning(&quoted) {
        plan(draft, &arguments);
    }
}

/// Turns JavaScript's `{name: …}` into JSON's `{"name": …}`. Texts in double quotes stay as they are.
fn quote_names(script: &str) -> String {
    let mut json = String::with_capacity(script.len() + 64);
    let (mut in_text, mut escaped) = (false, false);
    let mut rest = script;
    while let Some(c) = rest.chars().next() {
        let word = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().filter(|_| !in_text);
        if let Some(word) = word.filter(|word| !word.is_empty()) {
            rest = &rest[word.len()..];
            let quote = if rest.trim_start().starts_with(':') { "\"" } else { "" };
            json.extend([quote, word, quote]);
            continue;
        }
        in_text ^= c == '"' && !escaped;
        escaped = in_text && c == '\\' && !escaped;
        json.push(c);
        rest = &rest[c.len_utf8()..];
    }
    json
}

/// The output of a tool, which is a text or a list of parts.
fn output(output: &Value) -> String {
    match output {
        Value::String(text) => text.as_str().to_owned(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        other => other["content"].as_str().unwrap_or_default().to_owned(),
    }
}

/// How a tool call ended. Depending on the version, the exit code is in a line before the output or beside it in JSON.
fn ended(output: &str) -> Ended<'_> {
    let code_in = |place: &str| {
        ["Process exited with code ", "Exit code: "].iter().find_map(|words| {
            place.split_once(words)?.1.split(|c: char| !c.is_ascii_digit() && c != '-').next()?.parse().ok()
        })
    };
    // For a patch, the code comes shortly after the first "Output:".
    let head = output.split("Output:\n").next().unwrap_or_default();
    let said = code_in(head).or_else(|| code_in(crate::base::text::cut(output, 100)));
    let beside = || super::bounded_json::parse(output)?["metadata"]["exit_code"].as_i64();
    match said.or_else(beside) {
        Some(code) => Ended::Code(code, output),
        None if output.contains("aborted by user") || output.starts_with("exec_command failed") => Ended::Unknown,
        None if output.contains("rejected by user") => Ended::NotRun,
        None if output.contains("Process running with") => Ended::Unknown,
        // A tool that is not a command has no exit code.
        None if output.starts_with("Success") || output.starts_with("Done") => Ended::Code(0, output),
        None => Ended::Unknown,
    }
}

fn event(draft: &mut Draft, payload: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match text(&payload["type"]).as_str() {
        "item_completed" => {
            let item = &payload["item"];
            let id = text(&item["id"]);
            match text(&item["type"]).as_str() {
                "CommandExecution" => {
                    command_ended(draft, &id, &item["command"], &item["exit_code"], &item["aggregated_output"]);
                }
                "FileChange" => changed(draft, &id, item["status"] == "completed", &item["changes"]),
                _ => {}
            }
        }
        // Older versions use these names.
        "exec_command_end" => {
            let (id, output) = (text(&payload["call_id"]), &payload["aggregated_output"]);
            command_ended(draft, &id, &payload["command"], &payload["exit_code"], output);
        }
        "patch_apply_end" => {
            changed(draft, &text(&payload["call_id"]), payload["success"] == true, &payload["changes"]);
        }
        "token_count" => {
            let window = &payload["rate_limits"]["primary"];
            draft.limit_ends = window["resets_at"].as_i64().and_then(rate_limit::at_seconds);
        }
        "error" | "stream_error" => {
            let kind = payload["codex_error_info"].as_str().unwrap_or_default();
            let said = format!("{kind} {}", payload["message"].as_str().unwrap_or_default());
            draft.limited(&said, draft.limit_ends);
        }
        "thread_name_updated" => draft.title(&text(&payload["thread_name"]), true),
        _ => {}
    }
}

fn command_ended(draft: &mut Draft, id: &str, command: &Value, code: &Value, output: &Value) {
    draft.called_command(id, &command_line(command));
    let output = output.as_str().unwrap_or_default();
    draft.returned(id, &code.as_i64().map_or(Ended::Unknown, |code| Ended::Code(code, output)), None);
}

fn changed(draft: &mut Draft, id: &str, worked: bool, changes: &Value) {
    let paths = changes.as_object().into_iter().flat_map(Fields::iter);
    let paths: Vec<String> = paths.map(|(path, _)| path.to_owned()).collect();
    // The item lists every file, so the paths of the call are no longer needed.
    draft.returned(id, &Ended::Failed(""), None);
    if worked {
        paths.into_iter().for_each(|path| draft.edited(path));
    }
}

/// Every session, because only the first record names the directory.
fn candidates(home: &Path, _roots: &[PathBuf], budget: &mut ListingBudget) -> Vec<Listing> {
    let archive = home.join("archived_sessions");
    let mut listings = vec![by_day(home.join("sessions"), budget)];
    if fs::is_directory(&archive) {
        let names = budget.names(&archive);
        let extent = if names.is_some() { Extent::Whole } else { Extent::TooMany };
        let files = rollouts(&archive, &names.unwrap_or_default());
        listings.push(Listing { place: archive, files, extent });
    }
    listings
}

fn directories(home: &Path, _roots: &[PathBuf]) -> Vec<PathBuf> {
    days(&home.join("sessions")).chain([home.join("archived_sessions")]).collect()
}

/// The directory of each day, starting with the newest.
fn days(place: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    below(place).into_iter().flat_map(|year| below(&year)).flat_map(|month| below(&month))
}

/// The sessions of each day, starting with the newest. A day is listed as a whole or not at all.
fn by_day(place: PathBuf, budget: &mut ListingBudget) -> Listing {
    let mut files = Vec::new();
    for day in days(&place) {
        if budget.days == 0 {
            return Listing { place, files, extent: Extent::NewestDays };
        }
        budget.days -= 1;
        let Some(names) = budget.names(&day) else { return Listing { place, files, extent: Extent::TooMany } };
        files.extend(rollouts(&day, &names));
    }
    Listing { place, files, extent: Extent::Whole }
}

/// The session files among these names. A compressed file beside the plain one is the same session.
fn rollouts(directory: &Path, names: &[String]) -> Vec<PathBuf> {
    let all: HashSet<&str> = names.iter().map(String::as_str).collect();
    let is_rollout = |name: &&String| {
        let plain = name.strip_suffix(".zst");
        name.starts_with("rollout-")
            && (name.ends_with(PLAIN) || name.ends_with(COMPRESSED) && plain.is_some_and(|plain| !all.contains(plain)))
    };
    names.iter().filter(is_rollout).map(|name| directory.join(name)).collect()
}

/// The directories in a directory, in reverse order of their names.
fn below(directory: &Path) -> Vec<PathBuf> {
    let names = fs::names(directory).unwrap_or_default();
    names
        .iter()
        .rev()
        .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
        .map(|name| directory.join(name))
        .collect()
}

/// The id: the UUID at the end of the name. A session that was taken back to an earlier state goes on in another file, whose
/// name has a second UUID after the first.
fn id(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(COMPRESSED).or_else(|| name.strip_suffix(PLAIN)).unwrap_or(name);
    let last = |stem: &str| {
        let id = stem.get(stem.len().checked_sub(36)?..)?;
        let is_uuid = id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
        is_uuid.then(|| id.to_owned())
    };
    stem.rsplit_once('_').and_then(|(stem, _)| last(stem)).or_else(|| last(stem))
}

/// A copy has the content of its original; its time is new, and an id may have been added.
fn origin(record: &Value) -> Origin {
    let payload = &record["payload"];
    match record["type"].as_str() {
        Some("session_meta") => {
            let parent = payload["forked_from_id"].as_str().map(str::to_owned);
            Origin { parent, ..Origin::default() }
        }
        Some("response_item") => {
            let mut content = payload.to_json();
            content.as_object_mut().map(|fields| fields.shift_remove("id"));
            let key = Key::of_content(&content, payload["role"] == "user");
            Origin { key: Some(key), ..Origin::default() }
        }
        _ => Origin::default(),
    }
}

/// The file of a session. Its id has the time at which it began, and with that its directory.
fn file_of(path: &Path, id: &str) -> Option<PathBuf> {
    let is_home =
        |directory: &&Path| directory.file_name().is_some_and(|name| name == "sessions" || name == "archived_sessions");
    let home = path.ancestors().find(is_home)?.parent()?;
    let digits: String = id.split('-').take(2).collect();
    let began = DateTime::from_timestamp_millis(i64::from_str_radix(&digits, 16).ok()?)?;
    // The directory has the local date.
    let days = [0, -1, 1].map(|days| began + chrono::Duration::days(days));
    let directories = days.map(|day| home.join("sessions").join(day.format("%Y/%m/%d").to_string()));
    directories.into_iter().chain([home.join("archived_sessions")]).find_map(|directory| {
        let names = fs::names_at_most(&directory, MAX_NAMES)?;
        rollouts(&directory, &names).into_iter().find(|file| self::id(file).as_deref() == Some(id))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_found_in_the_words_of_every_version() {
        let code = |output: &str| match ended(output) {
            Ended::Code(code, _) => Some(code),
            _ => None,
        };
        assert_eq!(code("Chunk ID: 1\nWall time: 0.0 seconds\nProcess exited with code 1\nOutput:\nx\n"), Some(1));
        assert_eq!(code("Exit code: 0\nWall time: 0 seconds\nOutput:\nProcess exited with code 9\n"), Some(0));
        assert_eq!(code("Wall time: 0.0 seconds\nOutput:\nExit code: 0\nWall time: 0 seconds\n"), Some(0));
        assert_eq!(code(r#"{"output":"x","metadata":{"exit_code":2,"duration_seconds":0.1}}"#), Some(2));
        assert_eq!(code("Wall time: 10 seconds\nProcess running with session ID 7\nOutput:\n"), None);
    }

    #[test]
    fn a_plan_in_a_script_is_read_where_it_is_data() {
        let mut draft = Draft::of("codex");
        plan_in_script(
            &mut draft,
            r#"const r = await tools.update_plan({plan: [{step: "a: \"b\", c", status: "completed"}, {"step":"d","status":"pending"}]}); text(r)"#,
        );
        plan_in_script(&mut draft, "tools.update_plan({plan: steps.map(s => s)})");
        let found = draft.finish();
        assert_eq!(found.todos.len(), 2);
        assert_eq!(found.todos[0].text, r#"a: "b", c"#);
    }
}
