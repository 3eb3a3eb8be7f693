//! Collects facts from the agent's transcript.

use std::path::Path;

use serde_json::{Value, json};

use super::{Collector, Facts, Scene, rate_limit};
use crate::base::fs;
use crate::checkpoint::WordKind;
use crate::error::Result;
use crate::facts::Session;
use crate::transcript::{self, Transcript};

pub(super) const COLLECTOR: Collector = Collector { name: "transcript", collect };

/// The most commands to keep with the run.
const MAX_COMMANDS: usize = 50;
pub(super) const MAX_FILES: usize = 200;

/// Reads the transcript. If it shows nothing, what the agent passed to its hooks is used instead. Neither is a reason to fail.
fn collect(scene: &Scene<'_>) -> Result<Facts> {
    let mut facts = Facts::default();
    let Some(found) = read(scene, &mut facts.notices).or_else(|| told(scene, &mut facts)) else { return Ok(facts) };
    facts.notices.extend(found.notices.iter().cloned());
    let mut found = only_project_files(scene.work, found);
    // A hook may have been told what the transcript does not say.
    if let Some(error) = scene.session.told.words.last().filter(|word| word.kind == WordKind::Error) {
        found.rate_limit =
            found.rate_limit.or_else(|| transcript::limit_in(&error.text, found.ended.unwrap_or(scene.session.at)));
    }
    facts.detail = Some(describe(&found, facts.is_from_hooks.then_some(scene.session)));
    facts.values.extend(values(&found).map(|(name, value)| (name.to_owned(), value)));
    facts.transcript = Some(found);
    Ok(facts)
}

/// The transcript. `None` if it shows nothing.
fn read(scene: &Scene<'_>, notices: &mut Vec<String>) -> Option<Transcript> {
    let source = scene.session.transcript.as_ref()?;
    match source.read() {
        // The transcript is still empty.
        Ok(Some(found)) if found.agent.is_empty() => None,
        Ok(Some(mut found)) => {
            transcript::add_last_answer(&mut found, &scene.session.told.words);
            Some(found)
        }
        Ok(None) => {
            notices.push(format!("the transcript `{}` is gone", source.path.display()));
            None
        }
        Err(error) => {
            notices.push(format!("the transcript was not read: {}", error.one_line()));
            None
        }
    }
}

/// What the agent passed to its hooks, as a transcript.
fn told(scene: &Scene<'_>, facts: &mut Facts) -> Option<Transcript> {
    let told = &scene.session.told;
    facts.notices.extend(Some(told.instead_of.clone()).filter(|why| !why.is_empty()));
    if !told.says_something() {
        return None;
    }
    facts.is_from_hooks = true;
    Some(transcript::of_words(&told.words))
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
    let only_inside = |paths: &mut Vec<String>| {
        *paths = paths.iter().filter_map(inside).filter(|path| !path.is_empty()).collect();
    };
    only_inside(&mut found.edited);
    only_inside(&mut found.edited_by_subagents);
    found.shell_writes = found.shell_writes.iter().filter_map(|(turn, path)| Some((*turn, inside(path)?))).collect();
    for work in &mut found.work {
        only_inside(&mut work.edited);
        only_inside(&mut work.reverted);
    }
    found
}

/// The values by the names that templates use.
fn values(found: &Transcript) -> [(&'static str, Value); 9] {
    let skipped = found.commands.len().saturating_sub(MAX_COMMANDS);
    [
        ("goal", json!(found.first_request)),
        ("last_request", json!(found.last_request)),
        ("edited", json!(&found.edited[..found.edited.len().min(MAX_FILES)])),
        ("commands", json!(&found.commands[skipped..])),
        ("tests", json!(found.tests)),
        ("todos", json!(found.todos)),
        ("session_started", json!(found.started)),
        ("edited_by_subagents", json!(found.edited_by_subagents)),
        (rate_limit::FACT, json!(found.rate_limit)),
    ]
}

/// One line about what was found. `told` is the session if it was found in what its agent passed to its hooks.
fn describe(found: &Transcript, told: Option<&Session>) -> String {
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let (source, end) = match told {
        Some(session) => (format!("words of {} to its hooks", session.agent), reason(session)),
        None => (format!("transcript of {}", found.agent), String::new()),
    };
    format!(
        "{source}: {}, {} edited, {}{end}",
        count(found.requests, "request"),
        count(found.edited.len(), "file"),
        count(found.commands.len(), "command"),
    )
}

/// Why the session ended, if its agent said so.
fn reason(session: &Session) -> String {
    let reason = session.told.words.iter().rev().find(|word| word.kind == WordKind::Reason);
    reason.map(|reason| format!(", ended by `{}`", reason.text)).unwrap_or_default()
}
