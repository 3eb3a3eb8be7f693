//! `history export --format notebooklm`: one Markdown file a month, in a directory.

use std::path::Path;

use serde_json::json;

use super::super::Context;
use super::{HistoryPlace, answer};
use crate::base::fs;
use crate::bundle::{NotebookFile, Redaction, notebook_files, notebook_left_over};
use crate::error::Result;
use crate::handoff::Handoff;
use crate::history::FoundArchive;

/// Writes the files of these handoffs. A file that has the same bytes already is not written again. Secrets are always taken
/// out: what is uploaded does not come back. A file of an earlier export that has no handoff any more is named, and stays:
/// the directory is the user's.
pub(super) fn write(
    context: &mut Context<'_>,
    place: &HistoryPlace,
    found: &[FoundArchive],
    directory: &Path,
    is_everything: bool,
    as_json: bool,
) -> Result<()> {
    let redaction = Redaction::allowing(&[]);
    let mut handoffs: Vec<Handoff> = Vec::with_capacity(found.len());
    // What came with the repository is not this user's to hand on.
    for found in found.iter().filter(|found| place.owns(found)) {
        let is_clean = redaction.kinds(&found.handoff, &found.text).is_empty();
        handoffs.push(if is_clean { found.handoff.clone() } else { redaction.redact(&found.handoff)? });
    }
    fs::create_directories(directory)?;
    let (mut written, mut unchanged) = (Vec::new(), Vec::new());
    for NotebookFile { name, text } in notebook_files(&handoffs) {
        let path = directory.join(&name);
        if fs::read_if_exists(&path)?.is_some_and(|now| now == text.as_bytes()) {
            unchanged.push(name);
        } else {
            fs::replace(&path, text.as_bytes())?;
            written.push(name);
        }
    }
    let now: Vec<&str> = written.iter().chain(&unchanged).map(String::as_str).collect();
    let names = fs::names(directory)?;
    let left_over = notebook_left_over(&names, &now, is_everything);
    for name in &left_over {
        context.ui.warn(&format!(
            "`{name}` is of an earlier export and has no handoff any more: delete it here and where you uploaded it"
        ));
    }
    let mut lines: Vec<String> = written.iter().map(|name| format!("wrote {name}")).collect();
    lines.extend(unchanged.iter().map(|name| format!("unchanged {name}")));
    let document = json!({
        "output": directory.display().to_string(),
        "handoffs": handoffs.iter().map(|handoff| handoff.text("session_id")).collect::<Vec<_>>(),
        "written": written,
        "unchanged": unchanged,
        "left_over": left_over,
    });
    answer(context, as_json, "export", &lines.iter().map(String::as_str).collect::<Vec<_>>(), document);
    Ok(())
}
