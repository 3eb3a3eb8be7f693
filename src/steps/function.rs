//! Calls a function of the program that recorded the run. Only that program has the function, so every other process leaves
//! the run unfinished.

use serde_json::{Value, json};

use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::error::{Error, Result};

pub(super) const KIND: Kind = Kind {
    name: "function",
    promise: Promise::AtLeastOnce,
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

fn intend(_: &Context<'_>) -> Result<Intent> {
    Ok(Intent::Do(json!({})))
}

fn preview(context: &Context<'_>, _: &Value) -> Result<String> {
    Ok(format!("call the function `{}` of the program", context.step))
}

fn act(context: &Context<'_>, _: &Value) -> Result<Outcome, Failure> {
    let Some(function) = context.provided.function(context.step) else {
        let message = "it is a function of the program that recorded this handover";
        return Err(Error::failed(message).hint("start that program again: it continues this handover").into());
    };
    function().map_err(|cause| Error::failed(cause.to_string()))?;
    Ok(Outcome::new("returned"))
}
