//! `memory overview`: what the project is, and how much is remembered.

use clap::Args;
use serde_json::{Value as Json, json};

use super::super::Context;
use super::super::provenance::CAME_ALONG;
use super::json::item as item_json;
use super::open::OpenMemory;
use crate::base::{clock, text};
use crate::engine::Provenance;
use crate::error::Result;
use crate::memory::listing;
use crate::memory::state;

/// The age in days from which an overview may be out of date.
const STALE_DAYS: i64 = 7;

/// Print the overview of the project, and count what is remembered
#[derive(Args)]
pub(super) struct Overview {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Overview {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let open = OpenMemory::open(context, None)?;
        let state = open.memory.state()?;
        let overview = state.items().find(|(name, _)| *name == "overview").map(|(_, item)| item);
        let days =
            overview.and_then(|item| clock::parse_stamp(&item.at)).map(|at| (clock::now() - at).num_days().max(0));
        let counts: Vec<(&str, usize)> =
            state.sections.iter().map(|section| (section.category.as_str(), section.items().count())).collect();
        let is_ours = overview.is_none_or(|item| Provenance::of(&open.project).owns_item("overview", item));
        let layers = listing::measure(&open.memory)?;
        for error in &layers.unreadable {
            context.ui.warn(&error.one_line());
        }
        if self.json {
            let categories: serde_json::Map<String, Json> =
                counts.iter().map(|(name, count)| ((*name).to_owned(), (*count).into())).collect();
            context.ui.answer_json(&json!({
                "schema": "agent-handover/memory-overview/1",
                "overview": overview.map(|item| item_json("overview", item, is_ours)),
                "overview_days": days,
                "categories": categories,
                "state_bytes": layers.state_bytes,
                "note_files": layers.note_files,
                "note_months": layers.note_months,
                "archives": layers.archives,
            }));
            return Ok(0);
        }
        match (overview, days) {
            (Some(item), days) => {
                let mark = if is_ours { "" } else { CAME_ALONG };
                context.ui.answer_prose(&format!("{mark}{}\n", item.text));
                if let Some(days) = days.filter(|days| *days >= STALE_DAYS) {
                    context.ui.warn(&format!(
                        "this was written {days} days ago; `agent-handover memory add overview \"…\"` replaces it"
                    ));
                }
                context.ui.answer("");
            }
            (None, _) => context
                .ui
                .tell("there is no overview of this project; `agent-handover memory add overview \"…\"` writes one"),
        }
        for (name, count) in counts.iter().filter(|(_, count)| *count > 0) {
            context.ui.answer(&format!("{}: {count}", state::title(name)));
        }
        context.ui.answer(&format!(
            "layer 1: {} in {}; layer 2: {} bytes; layer 3: {}",
            text::count(layers.note_files, "file"),
            text::count(layers.note_months, "month"),
            layers.state_bytes,
            text::count(layers.archives, "archive"),
        ));
        Ok(0)
    }
}
