//! Hooks in a TOML settings file, for users who keep their hooks there.

use toml_edit::{ArrayOfTables, Document, DocumentMut, Item, Table, TableLike, Value};

use super::agent_file::{Hooks, OurPart};
use super::json_hooks::{BYTE_ORDER_MARK, SyntaxProblem, place};
use super::program;

const HOOKS: &str = "hooks";
/// The table of trusted hooks. It is not an event.
const STATE: &str = "state";

type Result<T> = std::result::Result<T, SyntaxProblem>;

/// Whether the user keeps hooks in this file.
pub(crate) fn has_hooks(text: &str) -> bool {
    let Ok(document) = text.parse::<DocumentMut>() else { return false };
    document.get(HOOKS).and_then(Item::as_table_like).is_some_and(|hooks| hooks.iter().any(|(key, _)| key != STATE))
}

/// Whether the user trusts any hook that `file` defines.
pub(crate) fn trusts(config: &str, file: &str) -> bool {
    let Ok(document) = config.parse::<DocumentMut>() else { return false };
    let state = document.get(HOOKS).and_then(|hooks| hooks.get(STATE)).and_then(Item::as_table_like);
    let prefix = format!("{file}:");
    state.is_some_and(|state| state.iter().any(|(key, _)| key.starts_with(&prefix)))
}

/// The text with our hooks. Existing ones are updated in place; missing ones are added at the end, so that no other hook moves.
pub(crate) fn with(text: &str, hooks: &Hooks) -> Result<String> {
    let (mark, body) = split_mark(text);
    // Older versions may have left more than one of ours.
    let body = remove(body, 1).map_err(|problem| shifted(problem, mark))?;
    let body = with_entries(&body, hooks).map_err(|problem| shifted(problem, mark))?;
    Ok(format!("{mark}{body}"))
}

fn with_entries(text: &str, hooks: &Hooks) -> Result<String> {
    let document = Document::parse(text).map_err(|cause| problem(&cause))?;
    let mut replaced = Vec::new();
    let mut added = String::new();
    for (event, handler) in &hooks.entries {
        let wanted = handler["command"].as_str().unwrap_or_default();
        let list = document.get(HOOKS).and_then(|all| all.get(event));
        match own_command(list) {
            Some(found) if found.as_str() == Some(wanted) => {}
            Some(found) => {
                let span = found.span().ok_or_else(|| SyntaxProblem { message: format!("`{event}`"), at: None })?;
                replaced.push((span, Value::from(wanted).to_string()));
            }
            None if list.is_some_and(|list| !list.is_array_of_tables()) => {
                let at = list.and_then(Item::span).and_then(place);
                return Err(SyntaxProblem {
                    message: format!("`hooks.{event}` should be written as [[hooks.{event}]]"),
                    at,
                });
            }
            None => added.push_str(&section(event, handler)),
        }
    }
    let mut new = text.to_owned();
    replaced.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    for (span, value) in replaced {
        new.replace_range(span, value.trim());
    }
    if !added.is_empty() {
        let newline = newline(text);
        if !new.is_empty() && !new.ends_with('\n') {
            new.push_str(newline);
        }
        new.push_str(&added.replace('\n', newline));
    }
    // The text before may make the added lines invalid.
    new.parse::<DocumentMut>().map_err(|cause| problem(&cause))?;
    Ok(new)
}

fn section(event: &str, handler: &serde_json::Value) -> String {
    let mut text = format!("\n[[hooks.{event}]]\n\n[[hooks.{event}.hooks]]\n");
    for (key, value) in handler.as_object().into_iter().flatten() {
        let value = match value {
            serde_json::Value::Number(number) => number.to_string(),
            other => Value::from(other.as_str().unwrap_or_default()).to_string(),
        };
        text.push_str(&format!("{key} = {value}\n"));
    }
    text
}

/// The text without our hooks.
pub(crate) fn without(text: &str) -> Result<String> {
    let (mark, body) = split_mark(text);
    let body = remove(body, 0).map_err(|problem| shifted(problem, mark))?;
    Ok(format!("{mark}{body}"))
}

/// The text without our hooks, except the first `kept` of each event.
fn remove(text: &str, kept: usize) -> Result<String> {
    let plain = text.replace("\r\n", "\n");
    let mut document = plain.parse::<DocumentMut>().map_err(|_| match text.parse::<DocumentMut>() {
        Err(cause) => problem(&cause),
        Ok(_) => SyntaxProblem { message: "this is not TOML".to_owned(), at: None },
    })?;
    let before = document.to_string();
    if let Some(all) = document.get_mut(HOOKS).and_then(Item::as_table_like_mut) {
        remove_ours(all, kept);
        if all.is_empty() {
            document.remove(HOOKS);
        }
    }
    let after = document.to_string();
    Ok(if before == after { text.to_owned() } else { with_line_ends_of(text, &plain, &after) })
}

/// `after`, with the line ends of `text` in the lines that both have. `plain` is `text` with simple line ends.
pub(super) fn with_line_ends_of(text: &str, plain: &str, after: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let old: Vec<&str> = plain.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let diff = similar::TextDiff::from_slices(&old, &new);
    let changes = diff.iter_all_changes().filter(|change| change.tag() != similar::ChangeTag::Delete);
    changes
        .map(|change| match change.old_index().and_then(|at| lines.get(at)) {
            Some(line) => (*line).to_owned(),
            None => change.value().replace('\n', newline(text)),
        })
        .collect()
}

fn remove_ours(all: &mut dyn TableLike, kept: usize) {
    let events: Vec<String> = all.iter().map(|(event, _)| event.to_owned()).collect();
    for event in events {
        let Some(groups) = all.get_mut(&event).and_then(Item::as_array_of_tables_mut) else { continue };
        let had = groups.len();
        let mut left = ArrayOfTables::new();
        let mut ours = 0;
        for mut group in std::mem::take(groups) {
            let handlers = group.get_mut(HOOKS).and_then(Item::as_array_of_tables_mut);
            let emptied = handlers.is_some_and(|handlers| {
                let before = handlers.len();
                handlers.retain(|handler| {
                    ours += usize::from(own(handler).is_some());
                    own(handler).is_none() || ours <= kept
                });
                handlers.is_empty() && before > 0
            });
            if !emptied {
                left.push(group);
            }
        }
        let is_empty = left.is_empty();
        *groups = left;
        if is_empty && had > 0 {
            all.remove(&event);
        }
    }
}

/// Our hooks in the text, and the programs that they start.
pub(crate) fn look(text: &str) -> OurPart {
    let mut seen = OurPart::default();
    let Ok(document) = text.parse::<DocumentMut>() else { return seen };
    let all = document.get(HOOKS).and_then(Item::as_table_like);
    for (event, list) in all.into_iter().flat_map(|all| all.iter()) {
        if let Some(program) = own_command(Some(list)).and_then(|line| program::own(line.as_str()?, &[])) {
            seen.events.push(event.to_owned());
            seen.programs.push(program);
        }
    }
    seen
}

/// The command of our handler, in the groups of one event.
fn own_command(list: Option<&Item>) -> Option<&Value> {
    let groups = list?.as_array_of_tables()?.iter();
    let handlers = groups.filter_map(|group| group.get(HOOKS)?.as_array_of_tables()).flat_map(|list| list.iter());
    handlers.filter(|handler| own(handler).is_some()).find_map(|handler| handler.get("command")?.as_value())
}

fn own(handler: &Table) -> Option<String> {
    program::own(handler.get("command")?.as_str()?, &[])
}

/// The byte order mark at the beginning, if there is one, and the rest.
pub(super) fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(text.len() - text.trim_start_matches(BYTE_ORDER_MARK).len())
}

/// The problem at its place in the text that begins with `mark`.
pub(super) fn shifted(problem: SyntaxProblem, mark: &str) -> SyntaxProblem {
    SyntaxProblem { at: problem.at.map(|at| at.start + mark.len()..at.end + mark.len()), ..problem }
}

pub(super) fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

pub(super) fn problem(cause: &toml_edit::TomlError) -> SyntaxProblem {
    SyntaxProblem { message: format!("this is not TOML: {}", cause.message()), at: cause.span().and_then(place) }
}
