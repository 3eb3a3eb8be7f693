//! Makes memory and history reach other machines, through the backend of the run.

use serde_json::{Value, json};

use super::{Context, Failure, Intent, Kind, Outcome, Promise};
use crate::error::Result;
use crate::publish;

pub const KIND: Kind = Kind {
    name: "publish",
    promise: Promise::Probe,
    newest_wins: false,
    only_reads: false,
    read: super::no_keys,
    intend,
    preview,
    act,
    before_resume: super::leaves_nothing,
    landed,
    on_interrupt: super::always_rerun,
};

fn intend(context: &Context<'_>) -> Result<Intent> {
    Ok(Intent::Do(json!({ "message": context.render(&context.destination.message)? })))
}

fn preview(context: &Context<'_>, _: &Value) -> Result<String> {
    let backend = publish::backend(&context.destination.backend)?;
    Ok((backend.preview)(context.destination))
}

fn act(context: &Context<'_>, _: &Value) -> Result<Outcome, Failure> {
    let backend = publish::backend(&context.destination.backend)?;
    // The Python tool says this much and no more; scripts may look for it.
    let published = (backend.publish)(context.destination).map_err(|error| error.lead("backend.publish failed: "))?;
    Ok(Outcome::new(published))
}

fn landed(context: &Context<'_>) -> Result<bool> {
    let backend = publish::backend(&context.destination.backend)?;
    (backend.landed)(context.destination)
}
