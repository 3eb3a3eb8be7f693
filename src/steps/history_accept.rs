//! Accepts what was changed by hand, as `history accept` found it.

use serde_json::Value;

use super::deferred::{DeferredStep, given};
use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::error::Result;
use crate::history::{Accepted, History};

pub(super) const KIND: Kind = Kind {
    name: "history-accept",
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

/// The step that accepts these changes.
pub(crate) fn history_accept(changes: &Accepted) -> Result<DeferredStep> {
    DeferredStep::new("history accept", KIND.name, changes)
}

fn intend(context: &Context<'_>) -> Result<Intent> {
    given::<Accepted>(context)?;
    // The parameters say everything already, and they may be long.
    Ok(Intent::Do(serde_json::json!({})))
}

fn preview(_: &Context<'_>, _: &Value) -> Result<String> {
    Ok("accept what was changed by hand".to_owned())
}

fn act(context: &Context<'_>, _: &Value) -> Result<Outcome, Failure> {
    let changes: Accepted = given(context)?;
    History::at(context.root, context.history.clone()).accept(&changes)?;
    Ok(Outcome::new("accepted what was changed by hand"))
}
