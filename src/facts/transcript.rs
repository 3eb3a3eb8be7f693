//! Collects facts from the agent's transcript.

use std::path::Path;

use serde_json::{Value, json};

use super::{Collector, Facts, Scene};
use crate::base::fs;
use crate::error::Result;
use crate::transcript::Transcript;

pub(super) const COLLECTOR: Collector = Collector { name: "transcript", collect };

/// The most commands to keep with the run.
const MAX_COMMANDS: usize = 50;
const MAX_FILES: usize = 200;

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
    let found = only_project_files(scene.work, found);
    facts.detail = Some(describe(&found));
    facts.values.extend(values(&found).map(|(name, value)| (name.to_owned(), value)));
    facts.transcript = Some(found);
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
    let only_inside = |paths: &mut Vec<String>| {
        *paths = paths.iter().filter_map(inside).filter(|path| !path.is_empty()).collect();
    };
    only_inside(&mut found.edited);
    for work in &mut found.work {
        only_inside(&mut work.edited);
        only_inside(&mut work.reverted);
    }
    found
}

/// The values by the names that templates use.
fn values(found: &Transcript) -> [(&'static str, Value); 7] {
    let skipped = found.commands.len().saturating_sub(MAX_COMMANDS);
    [
        ("goal", json!(found.first_request)),
        ("last_request", json!(found.last_request)),
        ("edited", json!(&found.edited[..found.edited.len().min(MAX_FILES)])),
        ("commands", json!(&found.commands[skipped..])),
        ("tests", json!(found.tests)),
        ("todos", json!(found.todos)),
        ("session_started", json!(found.started)),
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
