//! Makes memory and history reach other machines, through the backend of the run.

use serde_json::{Value, json};

use super::{Context, Failure, Intent, Kind, Outcome, Promise};
use crate::error::{Error, Result};
use crate::publish::{self, Delivery, Trouble};

pub const KIND: Kind = Kind {
    name: "publish",
    promise: Promise::Probe,
    newest_wins: false,
    only_reads: false,
    read: super::no_keys,
    intend,
    preview,
    missing,
    act,
    before_resume: super::leaves_nothing,
    // A backend asks before it delivers, so asking once more beforehand would only cost time.
    landed: super::never_asked,
    on_interrupt: super::always_rerun,
};

fn intend(context: &Context<'_>) -> Result<Intent> {
    Ok(Intent::Do(json!({ "message": context.render(&context.destination.message)? })))
}

fn preview(context: &Context<'_>, _: &Value) -> Result<String> {
    let backend = publish::backend(&context.destination.backend)?;
    Ok((backend.preview)(context.destination))
}

fn missing(context: &Context<'_>, _: &Value) -> Result<Vec<String>> {
    let backend = publish::backend(&context.destination.backend)?;
    Ok((backend.missing)(context.root, context.destination))
}

fn act(context: &Context<'_>, intent: &Value) -> Result<Outcome, Failure> {
    let message = intent["message"].as_str().ok_or_else(|| Error::bug("a publish intent without a message"))?;
    let backend = publish::backend(&context.destination.backend)?;
    let delivery = Delivery {
        root: context.root,
        memory: &context.memory,
        history: &context.history,
        state: context.state,
        destination: context.destination,
        categories: context.categories,
        message,
        run: &context.session.run,
        tag: &context.session.tag,
        at: context.session.at,
        brake: context.brake,
    };
    match (backend.publish)(&delivery) {
        Ok(delivered) => {
            let told = delivered.notices.into_iter().chain(delivered.conflicts);
            Ok(Outcome::new(told.fold(delivered.detail, |detail, more| format!("{detail}; {more}"))))
        }
        // The Python tool says this much and no more; scripts may look for it.
        Err(Trouble::Failed(error)) => Err(error.lead("backend.publish failed: ").into()),
        Err(Trouble::Stopped(stop)) => Err(Failure::Stopped(stop)),
    }
}
