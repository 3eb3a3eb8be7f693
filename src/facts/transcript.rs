//! Collects facts from the agent's transcript. Nobody stated them, so each line is marked as derived.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::{Collector, Facts, Scene};
use crate::base::fs;
use crate::base::text::kept_line;
use crate::error::Result;
use crate::transcript::{Command, Outcome, Todo, TodoStatus, Transcript};

pub(super) const COLLECTOR: Collector = Collector { name: "transcript", collect };

/// The most commands to keep with the run.
const MAX_COMMANDS: usize = 50;
const MAX_FILES: usize = 200;
/// How many lines of a list a derived note shows.
const SHOWN: usize = 20;
/// The mark of a derived line. It is short because it is frequent, and at the end because the content matters more.
const MARK: &str = "(derived)";

/// Reads the transcript. One that cannot be read becomes a notice, and the handover goes on.
fn collect(scene: &Scene<'_>) -> Result<Facts> {
    let mut facts = Facts::default();
    let Some(source) = &scene.session.transcript else { return Ok(facts) };
    let found = match source.read() {
        // The transcript is still empty.
        Ok(Some(found)) if found.agent.is_empty() => return Ok(facts),
        Ok(Some(found)) => found,
        Ok(None) => {
            facts.notices.push(format!("the transcript `{}` is gone", source.path.display()));
            return Ok(facts);
        }
        Err(error) => {
            facts.notices.push(format!("the transcript was not read: {}", error.one_line()));
            return Ok(facts);
        }
    };
    facts.notices.extend(found.notices.iter().cloned());
    let found = only_project_files(scene.root, found);
    facts.detail = Some(describe(&found));
    facts.derived = derive(&found);
    facts.values.extend(values(&found).map(|(name, value)| (name.to_owned(), value)));
    Ok(facts)
}

/// Keeps only files of the project, with relative paths. Files elsewhere are the agent's own, and their paths would reveal the
/// user's home.
pub(crate) fn only_project_files(root: &Path, mut found: Transcript) -> Transcript {
    let real = fs::real(root);
    let inside = |path: &String| {
        let path = fs::tidy(Path::new(path))?;
        let inside = [root, &real].into_iter().find_map(|root| path.strip_prefix(root).ok())?;
        Some(inside.to_string_lossy().into_owned())
    };
    found.edited = found.edited.iter().filter_map(inside).filter(|path| !path.is_empty()).collect();
    found
}

/// The values by the names that templates use.
fn values(found: &Transcript) -> [(&'static str, Value); 6] {
    let skipped = found.commands.len().saturating_sub(MAX_COMMANDS);
    [
        ("goal", json!(found.first_request)),
        ("last_request", json!(found.last_request)),
        ("edited", json!(&found.edited[..found.edited.len().min(MAX_FILES)])),
        ("commands", json!(&found.commands[skipped..])),
        ("tests", json!(found.tests)),
        ("todos", json!(found.todos)),
    ]
}

fn describe(found: &Transcript) -> String {
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    format!(
        "transcript of {}: {}, {} edited, {}",
        found.agent,
        count(found.requests, "request"),
        count(found.edited.len(), "file"),
        count(found.commands.len(), "command"),
    )
}

/// A note for a session that wrote none. Empty if it did nothing.
fn derive(found: &Transcript) -> String {
    let mut text = String::new();
    if found.requests == 0 && found.edited.is_empty() && found.commands.is_empty() {
        return text;
    }
    text.push_str("(derived from the transcript; the session gave no note)\n\n");
    for (title, request) in [("Goal as first asked", &found.first_request), ("Last request", &found.last_request)] {
        if !request.is_empty() {
            let _ = writeln!(text, "{title}: {} {MARK}", kept_line(request, 600));
        }
    }
    let open: Vec<&Todo> = found.todos.iter().filter(|todo| todo.status != TodoStatus::Completed).collect();
    let sections = [
        ("Open to-dos", open.iter().map(|todo| todo_line(todo)).collect()),
        ("Files edited", found.edited.clone()),
        ("Tests", found.tests.iter().map(command_line).collect()),
        ("Commands", found.commands.iter().rev().take(SHOWN).rev().map(command_line).collect::<Vec<_>>()),
    ];
    for (title, lines) in sections.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let _ = write!(text, "\n{title}:\n");
        for line in lines.iter().take(SHOWN) {
            let _ = writeln!(text, "- {} {MARK}", kept_line(line, 300));
        }
        if lines.len() > SHOWN {
            let _ = writeln!(text, "- and {} more {MARK}", lines.len() - SHOWN);
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn todo_line(todo: &Todo) -> String {
    match todo.status {
        TodoStatus::InProgress => format!("{} [in progress]", todo.text),
        TodoStatus::Pending | TodoStatus::Completed => todo.text.clone(),
    }
}

fn command_line(command: &Command) -> String {
    let outcome = match command.outcome {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Failed(Some(code)) => format!("failed with exit code {code}"),
        Outcome::Failed(None) => "failed".to_owned(),
        Outcome::Unknown => "outcome not known".to_owned(),
    };
    format!("`{}`: {outcome}", command.command)
}
