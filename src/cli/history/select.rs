//! `history select`: a person picks a handoff; its id is the answer.

use clap::Args;
use serde_json::json;

use super::super::Context;
use super::super::ask::{self, Choice};
use super::super::provenance::mark_of_handoff;
use super::filters::Filters;
use super::{HistoryPlace, answer};
use crate::base::text;
use crate::error::{Error, Result};
use crate::history::SessionEntry;

/// Pick a handoff from a list and print its id
#[derive(Args)]
pub(super) struct Select {
    #[command(flatten)]
    filters: Filters,
    /// Only handoffs whose id begins with this
    #[arg(long, value_name = "PREFIX")]
    id: Option<String>,
    /// Print the id of the newest handoff that matches, without asking
    #[arg(long)]
    print_id: bool,
}

impl Select {
    pub(super) fn execute(self, context: &mut Context<'_>, place: &HistoryPlace, as_json: bool) -> Result<u8> {
        if !self.print_id && !context.ui.can_ask() {
            return Err(Error::usage("`history select` asks a person, and there is no terminal to ask on")
                .hint("`--print-id` prints the newest that matches; `history list --json` has all"));
        }
        let entries = self.filters.of(context, place, self.id.as_deref())?;
        if entries.is_empty() {
            return Err(Error::failed("no handoff matches"));
        }
        let chosen = if self.print_id {
            0
        } else {
            let provenance = place.provenance();
            let is_ours = |entry: &SessionEntry| provenance.owns_entry(&place.history, entry);
            let choices: Vec<Choice> = entries.iter().map(|entry| choice(place, entry, is_ours(entry))).collect();
            let chosen = ask::pick("handoff", choices)?;
            chosen.ok_or_else(|| Error::failed("nothing was selected"))?
        };
        let id = entries[chosen].get("session_id");
        answer(context, as_json, "select", &[id], json!({ "id": id }));
        Ok(0)
    }
}

/// The line and preview of an entry. Lines contain the id, so no two are equal.
fn choice(place: &HistoryPlace, entry: &SessionEntry, is_ours: bool) -> Choice {
    let get = |key: &str, max: usize| text::one_line(entry.get(key), max);
    let origin = place.provenance().origin_of_entry(&place.history, entry);
    let mark = mark_of_handoff(is_ours, origin.is_some());
    let goal = format!("{mark}{}", get("primary_goal", 200));
    let line = format!("{}  {}  {goal}", get("session_id", 100), get("agent", 16));
    let mut preview = vec![
        format!("goal: {}", format_args!("{mark}{}", get("primary_goal", 300))),
        format!("next: {}", format_args!("{mark}{}", get("first_next_action", 300))),
        format!("status: {}, {}, branch {}", get("status", 40), get("generated_at", 40), get("current_branch", 80)),
        format!("tags: {}", get("search_tags", 200)),
        format!("file: {}", place.history.directory.join(entry.get("file")).display()),
    ];
    if let Some(origin) = origin {
        preview.insert(0, format!("from outside, {}", text::one_line(&origin.voucher(), 200)));
    }
    Choice { line, preview }
}
