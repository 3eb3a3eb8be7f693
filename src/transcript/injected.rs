//! The texts that we put into a session, as its transcript has them: whole, or cut by the client.
//!
//! Only what the client says that it gave to the model counts. What a hook printed, what a command such as
//! `agent-handover warmup` printed, and what the model itself wrote is passed over.

use std::io::{BufReader, Read};
use std::path::Path;

use serde_json::{Map, Value};

use super::human_text::{WARMUP_MARKER, begins_warmup};
use super::lines::{Line, Lines};
use super::mark::{first_mark, is_intact};
use super::source::{self, Source};
use super::{bounded_json, format};
use crate::error::{Error, Result};

/// What every record with one of our texts has, however its client escapes the rest.
const NEEDLE: &[u8] = b"agent-handover warmup";
/// How much of a file is looked through.
const MOST: u64 = 1 << 30;
/// How many texts are looked for.
const MOST_TEXTS: usize = 1_000;
/// Records that repeat what a program printed, by their `type`.
const PRINTED: &[&str] =
    &["custom_tool_call_output", "exec_command_end", "function_call_output", "local_shell_call_output", "tool_result"];
/// Keys under which clients keep what a program printed.
const PRINTED_KEYS: &[&str] = &["aggregated_output", "functionResponse", "stdout", "toolUseResult", "tool_output"];

/// Records of what the model wrote, by their `type`: a model may quote a text that it has read in a file.
const WRITTEN: &[&str] = &[
    "agent_message",
    "agent_reasoning",
    "assistant",
    "custom_tool_call",
    "function_call",
    "local_shell_call",
    "reasoning",
    "tool_use",
];
/// The same by their `role`.
const MODEL: &[&str] = &["assistant", "model"];

/// One of our texts in a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Injected {
    /// From its first line to its mark, or to where it was cut.
    pub text: String,
    /// Empty if the end is missing.
    pub mark: String,
    /// Nothing of it is missing, by its mark.
    pub is_whole: bool,
}

/// The texts that a transcript says we put into the session, in order. `None` if there is no file.
pub(crate) fn injected(path: &Path) -> Result<Option<Vec<Injected>>> {
    texts_until(path, |_, _| false)
}

/// The texts that were in the session before the agent did anything in it, in order. A fork begins with a copy of its parent,
/// so what the agent did there does not count, and the texts of the parent come first.
pub(crate) fn injected_at_start(source: &Source) -> Result<Option<Vec<Injected>>> {
    texts_until(&source.path, |line, start| {
        start >= source.start && bounded_json::parse_to_keep(line).is_some_and(|record| is_of_model(&record))
    })
}

/// The texts up to the line for which `is_last` is true. It gets each line with the place where it begins.
fn texts_until(path: &Path, mut is_last: impl FnMut(&[u8], u64) -> bool) -> Result<Option<Vec<Injected>>> {
    let Some(file) = source::open(path)? else { return Ok(None) };
    let failed = |cause| Error::io("read", path, cause);
    let finder = memchr::memmem::Finder::new(NEEDLE);
    let mut lines = Lines::of(BufReader::new(file.take(MOST)));
    let mut found = Vec::new();
    loop {
        let start = lines.position();
        let line = match lines.next().map_err(failed)? {
            Some(Line::Whole(line) | Line::Unended(line)) => line,
            Some(Line::TooLong) => continue,
            None => break,
        };
        if finder.find(line).is_some()
            && let Some(record) = bounded_json::parse_to_keep(line)
        {
            texts(&record, &mut found);
        }
        if found.len() >= MOST_TEXTS || is_last(line, start) {
            break;
        }
    }
    Ok(Some(found))
}

/// Whether a record has something that the model wrote or did.
fn is_of_model(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(is_of_model),
        Value::Object(fields) => is_written(fields) || fields.values().any(is_of_model),
        _ => false,
    }
}

fn is_written(fields: &Map<String, Value>) -> bool {
    is_one_of(fields, "type", WRITTEN) || is_one_of(fields, "role", MODEL)
}

fn is_one_of(fields: &Map<String, Value>, key: &str, all: &[&str]) -> bool {
    fields.get(key).and_then(Value::as_str).is_some_and(|it| all.contains(&it))
}

/// Whether the client of this agent writes down what its hooks added. If not, a text that is not found may have arrived.
pub(crate) fn keeps_context(agent: &str) -> bool {
    format::of_agent(agent).is_some_and(|format| format.keeps_context)
}

fn texts(value: &Value, found: &mut Vec<Injected>) {
    match value {
        Value::String(text) => found.extend(in_text(text)),
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(fields) => {
            if is_one_of(fields, "type", PRINTED) || is_written(fields) {
                return;
            }
            let fields = fields.iter().filter(|(key, _)| !PRINTED_KEYS.contains(&key.as_str()));
            fields.for_each(|(_, value)| texts(value, found));
        }
        _ => {}
    }
}

/// Our texts in one string. Each reaches to its mark, or to the next one.
fn in_text(text: &str) -> Vec<Injected> {
    let starts: Vec<usize> = begins_warmup(text).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| {
            let part = &text[*start..end];
            match first_mark(&part[WARMUP_MARKER.len().min(part.len())..]) {
                Some((mark, at)) => {
                    let text = part[..WARMUP_MARKER.len() + at].to_owned();
                    Injected { is_whole: is_intact(&text, mark), text, mark: mark.to_owned() }
                }
                None => Injected { text: part.to_owned(), mark: String::new(), is_whole: false },
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::mark::marked;
    use super::*;

    fn found(records: &[Value]) -> Vec<(bool, usize)> {
        let directory = crate::base::scratch::directory();
        let path = directory.path().join("s.jsonl");
        let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
        std::fs::write(&path, lines).unwrap();
        let found = injected(&path).unwrap().unwrap();
        found.iter().map(|injected| (injected.is_whole, injected.text.len())).collect()
    }

    #[test]
    fn a_text_is_whole_cut_or_not_there() {
        let page = marked(&format!("{WARMUP_MARKER}\n## Goal\n- Ship it\n"));
        let attachment = |text: &str| json!({ "type": "attachment", "attachment": { "type": "hook_additional_context", "content": [text] } });
        assert_eq!(found(&[attachment(&page)]), [(true, page.trim_end().len())]);
        let introduced = format!("SessionStart hook additional context: {page}and more of the client");
        assert_eq!(found(&[attachment(&introduced)]), [(true, page.trim_end().len())]);
        assert_eq!(found(&[attachment(&page[..40])]), [(false, 40)]);
        assert_eq!(found(&[attachment("nothing of ours")]), []);
        let without_middle = page.replace("## Goal", "... 900 tokens left out ...");
        assert_eq!(found(&[attachment(&without_middle)]), [(false, without_middle.trim_end().len())]);
        assert_eq!(found(&[attachment(&format!("{page}{page}"))]).len(), 2);
    }

    #[test]
    fn what_a_program_printed_or_the_model_wrote_was_not_put_into_the_session() {
        let page = marked(&format!("{WARMUP_MARKER}\n## Goal\n- Ship it\n"));
        for record in [
            json!({ "type": "attachment", "attachment": { "type": "hook_success", "stdout": page } }),
            json!({ "type": "attachment", "attachment": { "type": "hook_success", "content": json!({ "additionalContext": page }).to_string() } }),
            json!({ "type": "user", "message": { "content": [{ "type": "tool_result", "content": page }] } }),
            json!({ "type": "user", "toolUseResult": { "stdout": page } }),
            json!({ "payload": { "type": "function_call_output", "output": page } }),
            json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": page }] } }),
            json!({ "type": "assistant", "message": { "content": [{ "type": "tool_use", "input": { "content": page } }] } }),
            json!({ "payload": { "type": "message", "role": "assistant", "content": [{ "text": page }] } }),
            json!({ "payload": { "type": "agent_message", "message": page } }),
            json!({ "payload": { "type": "custom_tool_call", "input": page } }),
            json!({ "payload": { "text": format!("our marker is `{WARMUP_MARKER}`, they say") } }),
        ] {
            assert_eq!(found(&[record]), []);
        }
        assert_eq!(injected(Path::new("/nowhere/s.jsonl")).unwrap(), None);
    }
}
