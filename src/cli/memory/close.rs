//! `memory done` and `memory delete`: remove one item.

use clap::Args;

use super::super::Context;
use super::json::change as change_json;
use super::open::{OpenMemory, WriteOptions};
use crate::base::text;
use crate::error::{Error, Result};
use crate::memory::{self, ChangeVerb, Edits};

/// Close an open loop or a known issue; layer 1 records it
#[derive(Args)]
pub(super) struct Done {
    /// The id of the item, or a unique beginning of it
    id: String,
    #[command(flatten)]
    options: WriteOptions,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Remove an item from the current state; layer 1 records it
#[derive(Args)]
pub(super) struct Delete {
    /// The id of the item, or a unique beginning of it
    id: String,
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
        close(context, &self.id, &self.options, ChangeVerb::Deleted, self.json)
    }
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
