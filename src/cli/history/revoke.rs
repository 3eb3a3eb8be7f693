//! `history revoke`: ends a standing ruling.

use clap::Args;
use serde_json::{Value as Json, json};

use super::super::Context;
use super::super::provenance::{CAME_ALONG, claim, mark, warn_of_strange};
use super::{HistoryPlace, answer, brake};
use crate::engine;
use crate::error::{Error, Result};
use crate::history::Ruling;
use crate::steps;

/// Revoke a standing ruling, so that no later session is shown it
#[derive(Args)]
pub(super) struct Revoke {
    /// The ruling: its id or the beginning of it, its line, or a part of its text that only this ruling has
    #[arg(value_name = "RULING", required_unless_present = "list", allow_hyphen_values = true)]
    ruling: Option<String>,
    /// List the rulings in force with their ids, and revoke nothing
    #[arg(long, conflicts_with = "ruling")]
    list: bool,
}

impl Revoke {
    pub(super) fn execute(self, context: &mut Context<'_>, place: &HistoryPlace, as_json: bool) -> Result<u8> {
        match self.ruling {
            Some(wanted) if wanted.trim().is_empty() => Err(Error::usage("name the ruling to revoke")),
            Some(wanted) => revoke(context, place, &wanted, as_json),
            None => list(context, place, as_json),
        }
    }
}

fn revoke(context: &mut Context<'_>, place: &HistoryPlace, wanted: &str, as_json: bool) -> Result<u8> {
    place.finish_interrupted(context);
    let rulings = place.history.rulings()?;
    let found = rulings.find(wanted);
    if let Some(pause) = brake(&place.root).paused() {
        let waiting = engine::waiting_commands(&place.project()?)?;
        // Something that waits may state this ruling, too. The step looks for it when its turn comes.
        let is_known_later = waiting.is_none_or(|waiting| waiting.iter().any(|(kind, _)| steps::archives(kind)));
        let step = match found {
            Ok(ruling) if is_known_later => steps::history_revoke(&ruling.id(), None)?,
            Ok(ruling) => steps::history_revoke(wanted, Some(ruling.clone()))?,
            Err(_) if is_known_later => steps::history_revoke(wanted, None)?,
            Err(reason) => return Err(reason.into()),
        };
        return Err(place.defer(&pause, step, None, true));
    }
    let ruling = found?;
    let step = steps::history_revoke(wanted, Some(ruling.clone()))?;
    place.carry_out(context, step, None, true, |issued| {
        place.history.revoke(&ruling.lines)?;
        place.withdraw_from_memory(ruling, issued)
    })?;
    let line = format!("revoked: {}", ruling.words());
    let document = json!({ "id": ruling.id(), "ruling": ruling.text, "lines": ruling.lines });
    answer(context, as_json, "revoke", &[&line], document);
    Ok(0)
}

fn list(context: &mut Context<'_>, place: &HistoryPlace, as_json: bool) -> Result<u8> {
    let (all, provenance) = (place.history.rulings()?, place.provenance());
    let rulings = &all.in_force;
    let is_ours = |ruling: &Ruling| ruling.line(|line| provenance.owns_decision(line)).1;
    let row = |ruling: &Ruling| {
        let (is_ours, is_claimed) = (is_ours(ruling), all.is_claimed_revoked(ruling));
        let row = json!({
            "id": ruling.id(),
            "ruling": ruling.text,
            "lines": ruling.lines,
            "ours": is_ours,
            "claimed_revoked": is_claimed,
        });
        let claimed = if is_claimed { claim("revoked") } else { String::new() };
        (format!("{}  {}{}{claimed}", ruling.id(), mark(is_ours, "decision"), ruling.words()), row)
    };
    let (lines, rows): (Vec<String>, Vec<Json>) = rulings.iter().map(row).unzip();
    if !as_json {
        warn_of_strange(context.ui, lines.iter().filter(|line| line.contains(CAME_ALONG)).count());
        if rulings.is_empty() {
            context.ui.tell("no standing ruling is in force");
        }
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    answer(context, as_json, "revoke", &lines, json!({ "rulings": rows }));
    Ok(0)
}
