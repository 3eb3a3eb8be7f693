//! What a session did before its client compacted it.

use super::page::{Section, item};
use super::writer::{LEADING, LONG};
use crate::transcript::{Outcome, TodoStatus, Transcript};

/// The section for a session that has lost its own beginning.
pub(super) fn own_session(session: &Transcript) -> Section {
    let mut items = Vec::new();
    if !session.first_request.is_empty() {
        items.push(format!("asked first: {} (derived)", item(&session.first_request, LEADING)));
    }
    if !session.last_request.is_empty() && session.last_request != session.first_request {
        items.push(format!("asked last: {} (derived)", item(&session.last_request, LEADING)));
    }
    for todo in session.todos.iter().filter(|todo| todo.status != TodoStatus::Completed) {
        let begun = if todo.status == TodoStatus::InProgress { " [in progress]" } else { "" };
        items.push(format!("to do: {}{begun} (derived)", item(&todo.text, 200)));
    }
    for test in &session.tests {
        let ended = match test.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed(_) => "failed",
            Outcome::Unknown => continue,
        };
        items.push(format!("`{}` {ended} when it last ran (derived)", item(&test.command, 160)));
    }
    if !session.edited.is_empty() {
        let files: Vec<String> = session.edited.iter().rev().take(10).map(|path| item(path, 120)).collect();
        items.push(format!("edited lately: {} (derived)", item(&files.join(", "), LONG)));
    }
    let more = "agent-handover summarize".to_owned();
    Section { title: "This session so far", items, more, least: 6 }
}
