//! `memory done` and `memory delete`: remove one item.

use std::collections::BTreeSet;
use std::path::Path;

use clap::Args;
use serde_json::json;

use super::super::Context;
use super::import::source_name;
use super::json::change as change_json;
use super::open::{OpenMemory, WriteOptions};
use crate::base::text;
use crate::error::{Error, Result};
use crate::memory::state::{BY_PERSON, Item};
use crate::memory::{self, ChangeVerb, Edits};

/// Close an open loop or a known issue; layer 1 records it
#[derive(Args)]
pub(super) struct Done {
    /// The id of the item, or a unique beginning or end of it
    #[arg(value_name = "ITEM")]
    id: String,
    #[command(flatten)]
    options: WriteOptions,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Remove an item from the current state, or all that were imported from a source; layer 1 records it
#[derive(Args)]
pub(super) struct Delete {
    /// The id of the item, or a unique beginning or end of it
    #[arg(value_name = "ITEM", required_unless_present = "source")]
    id: Option<String>,
    /// Remove every item that `memory import` added from this agent or file
    #[arg(long, value_name = "SOURCE", conflicts_with = "id")]
    source: Option<String>,
    #[command(flatten)]
    options: WriteOptions,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Done {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        close(context, &self.id, &self.options, ChangeVerb::Done, self.json)
    }
}

impl Delete {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        match (&self.source, &self.id) {
            (Some(source), _) => delete_source(context, source, &self.options, self.json),
            (None, id) => {
                close(context, id.as_deref().unwrap_or_default(), &self.options, ChangeVerb::Deleted, self.json)
            }
        }
    }
}

/// Deletes every item of a source, in one change.
fn delete_source(context: &mut Context<'_>, source: &str, options: &WriteOptions, as_json: bool) -> Result<u8> {
    let open = OpenMemory::open_to_change(context, options.tag.as_deref())?;
    let state = open.memory.state()?;
    // A file is named as the user knows it, or as its items are marked.
    let of_file = source_name(Path::new(source));
    let is_named = |by: &str| by == source || by == of_file;
    let is_of_source = |item: &Item| is_named(&item.by) && !item.by.is_empty() && item.by != BY_PERSON;
    let ids: Vec<String> =
        state.items().filter(|(_, item)| is_of_source(item)).map(|(_, item)| item.id.clone()).collect();
    if ids.is_empty() {
        let known: BTreeSet<&str> = state.items().map(|(_, item)| item.by.as_str()).collect();
        let known: Vec<String> =
            known.into_iter().filter(|by| !by.is_empty() && *by != BY_PERSON).map(|by| format!("`{by}`")).collect();
        let error = Error::failed(format!("nothing was imported from `{}`", text::model_line(source, 60)));
        return Err(if known.is_empty() { error } else { error.hint(format!("sources: {}", known.join(", "))) });
    }
    let edits = Edits { delete: ids, ..Edits::default() };
    let changes = open.update(context, ChangeVerb::Deleted.name(), options, edits, None)?;
    if as_json {
        let deleted: Vec<_> = changes.iter().map(change_json).collect();
        context.ui.answer_json(&json!({ "schema": "agent-handover/memory-delete-source/1", "deleted": deleted }));
    } else {
        context.ui.answer(&format!("deleted {} of {source}", text::count(changes.len(), "item")));
    }
    Ok(0)
}

fn close(context: &mut Context<'_>, id: &str, options: &WriteOptions, verb: ChangeVerb, as_json: bool) -> Result<u8> {
    let open = OpenMemory::open_to_change(context, options.tag.as_deref())?;
    let state = open.memory.state()?;
    let (category, item) = memory::find(&state, id)?;
    let (category, item) = (category.to_owned(), item.clone());
    if verb == ChangeVerb::Done && !memory::CAN_BE_DONE.contains(&category.as_str()) {
        return Err(Error::usage(format!(
            "`{}` is in {category}; only an open loop or a known issue can be done",
            item.id
        ))
        .hint(format!("`agent-handover memory delete {}` removes it", item.id)));
    }
    let ids = vec![item.id.clone()];
    let edits = match verb {
        ChangeVerb::Done => Edits { done: ids, ..Edits::default() },
        _ => Edits { delete: ids, ..Edits::default() },
    };
    let changes = open.update(context, verb.name(), options, edits, None)?;
    let Some(change) = changes.first() else {
        return Err(Error::failed(format!("`{}` was already removed", item.id)));
    };
    if as_json {
        let mut document = change_json(change);
        document["schema"] = format!("agent-handover/memory-{}/1", verb.name()).into();
        context.ui.answer_json(&document);
    } else {
        context.ui.answer(&format!("{} {}: {}", verb.name(), change.id, text::model_line(&change.text, 200)));
    }
    Ok(0)
}
