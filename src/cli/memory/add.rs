//! `memory add`: one item.

use clap::Args;
use serde_json::{Value as Json, json};

use super::super::Context;
use super::input;
use super::json::change as change_json;
use super::open::{OpenMemory, WriteOptions};
use crate::base::text;
use crate::error::{Error, Result};
use crate::memory::state;
use crate::memory::{Added, CategoryProblem, ChangeVerb, Edits, capture, named_category};

/// Add one item to a category
#[derive(Args)]
pub(super) struct Add {
    /// goal, constraint, decision, open_loop, known_issue, recent_change, remembered, session_summary, overview, or one of your own
    category: String,
    /// The item; `-` reads it from standard input
    #[arg(allow_hyphen_values = true)]
    text: String,
    #[command(flatten)]
    options: WriteOptions,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Add {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let open = OpenMemory::open_to_change(context, self.options.tag.as_deref())?;
        let category = named_category(&open.project.config.categories, &open.memory.state()?, &self.category)
            .map_err(CategoryProblem::usage)?;
        let item = if self.text == "-" { input::read(context, None, "the item")? } else { self.text.clone() };
        let item = state::tidy(&text::without_private(&item));
        if item.is_empty() {
            return Err(Error::usage("an item must not be empty"));
        }
        capture::check(&item).map_err(|reason| {
            Error::bad_data(format!("the item {reason}; nothing was kept"))
                .hint("an item is read at every session start; `agent-handover run --note-file FILE` keeps a long text")
        })?;
        let edits = Edits { add: vec![Added::new(&category, item)], ..Edits::default() };
        let changes = open.update(context, "add", &self.options, edits, None)?;
        let added = changes.iter().find(|change| change.verb == ChangeVerb::Added);
        let dropped: Vec<Json> =
            changes.iter().filter(|change| change.verb == ChangeVerb::Dropped).map(change_json).collect();
        if self.json {
            let document = json!({
                "schema": "agent-handover/memory-add/1",
                "added": added.map(change_json),
                "dropped": dropped,
            });
            context.ui.answer_json(&document);
            return Ok(0);
        }
        match added {
            Some(change) => context.ui.answer(&format!("added {} to {category}", change.id)),
            None => context.ui.answer(&format!("{category} already has this item")),
        }
        for change in changes.iter().filter(|change| change.verb == ChangeVerb::Dropped) {
            let was = text::model_line(&change.text, 60);
            context.ui.tell(&format!(
                "{category} was full: its oldest item {} was dropped and is recorded in layer 1 ({was})",
                change.id
            ));
        }
        Ok(0)
    }
}
