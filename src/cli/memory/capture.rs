//! `memory capture`: a session's account of itself as one JSON object.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value as Json, json};

use super::super::Context;
use super::input;
use super::open::{OpenMemory, WriteOptions};
use crate::error::{Error, Result};
use crate::memory::{CategoryProblem, ChangeVerb, Edits, StateChange, capture, named_category};

/// Record goal, decisions and more of a session from one JSON object: all of it, or nothing
#[derive(Args)]
pub(super) struct Capture {
    /// The object [default: standard input]
    #[arg(long, visible_alias = "json", value_name = "JSON", allow_hyphen_values = true, conflicts_with = "file")]
    data: Option<String>,
    /// A file with the object
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Empty this category first; may be repeated. Without `--data` and `--file`, standard input is then not read
    #[arg(long, value_name = "CATEGORY")]
    clear: Vec<String>,
    #[command(flatten)]
    options: WriteOptions,
}

impl Capture {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let open = OpenMemory::open_to_change(context, self.options.tag.as_deref())?;
        let categories = &open.project.config.categories;
        // `--clear` alone needs no object, so it does not read standard input.
        let has_data = self.data.is_some() || self.file.is_some() || self.clear.is_empty();
        let (mut edits, base) =
            if has_data { capture::parse(&self.read(context)?, categories)? } else { (Edits::default(), None) };
        let state = open.memory.state()?;
        for name in &edits.clear {
            named_category(categories, &state, name)
                .map_err(|problem| Error::bad_data(format!("`clear`: {}", problem.message())).hint(problem.hint()))?;
        }
        for word in &self.clear {
            edits.clear.push(named_category(categories, &state, word).map_err(CategoryProblem::usage)?);
        }
        let changes = open.update(context, "capture", &self.options, edits, base)?;
        let mut document = json!({ "schema": "agent-handover/memory-capture/1" });
        for (verb, key) in
            [(ChangeVerb::Added, "added"), (ChangeVerb::Cleared, "cleared"), (ChangeVerb::Dropped, "dropped")]
        {
            document[key] = counts(&changes, verb);
        }
        context.ui.answer_json(&document);
        Ok(0)
    }

    fn read(&self, context: &Context<'_>) -> Result<String> {
        if let Some(data) = &self.data {
            return Ok(data.clone());
        }
        input::read(context, self.file.as_deref(), "the capture")
    }
}

/// The number of changes with this verb, by category.
fn counts(changes: &[StateChange], verb: ChangeVerb) -> Json {
    let mut counts = serde_json::Map::new();
    for change in changes.iter().filter(|change| change.verb == verb) {
        let count = counts.get(&change.category).and_then(Json::as_u64).unwrap_or(0);
        counts.insert(change.category.clone(), (count + 1).into());
    }
    Json::Object(counts)
}
