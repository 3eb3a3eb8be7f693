//! Archives the handoffs that `history import` was given, after their signatures were checked.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::deferred::{DeferredStep, given};
use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::base::text;
use crate::error::Result;
use crate::handoff::Handoff;
use crate::history::{self, History, NotChanged, OnConflict, registry};

pub(super) const KIND: Kind = Kind {
    name: "history-import",
    promise: Promise::Repeat,
    newest_wins: false,
    only_reads: false,
    collects: false,
    needs_head: false,
    delivers: false,
    runs_in_worktree: false,
    keeps: kind::keeps_all,
    read: kind::no_keys,
    intend,
    preview,
    missing: kind::needs_nothing,
    act,
    before_resume: kind::leaves_nothing,
    missing_from: kind::loses_nothing,
    on_interrupt: kind::always_rerun,
};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Given {
    /// Each with its origin, as it will be archived.
    documents: Vec<String>,
    on_conflict: OnConflict,
}

/// The step that imports these handoffs.
pub(crate) fn history_import(handoffs: &[Handoff], on_conflict: OnConflict) -> Result<DeferredStep> {
    // There may be many, so each is written only once.
    let documents = handoffs.iter().map(|handoff| Value::String(handoff.render())).collect();
    let mut step = DeferredStep::new("history import", KIND.name, &Given { documents: Vec::new(), on_conflict })?;
    step.params["documents"] = Value::Array(documents);
    Ok(step)
}

fn intend(context: &Context<'_>) -> Result<Intent> {
    given::<Given>(context)?;
    // The parameters say everything already, and they may be long.
    Ok(Intent::Do(json!({})))
}

fn preview(context: &Context<'_>, _: &Value) -> Result<String> {
    let count = text::count(given::<Given>(context)?.documents.len(), "handoff");
    Ok(format!("import {count} into {}", context.show(&context.history)))
}

fn act(context: &Context<'_>, _: &Value) -> Result<Outcome, Failure> {
    let given: Given = given(context)?;
    let handoffs = given.documents.into_iter().map(|document| history::parse(&document)).collect::<Result<Vec<_>>>()?;
    let landings =
        match History::at(context.root, context.history.clone()).import(&handoffs, given.on_conflict, &mut |_, _| ()) {
            Ok(landings) => landings,
            Err(NotChanged::DoesNotFit(error)) => {
                return Err(Failure::NothingToDo(format!("nothing was imported: {}", error.one_line())));
            }
            Err(NotChanged::Failed(error) | NotChanged::TakenBack(error)) => return Err(error.into()),
        };
    registry::remember(context.root, &context.history);
    let new = landings.iter().filter(|landing| landing.is_new()).count();
    Ok(Outcome::new(format!("{} of {} new", new, text::count(handoffs.len(), "handoff"))))
}
