//! Makes memory and history reach other machines, through the backend that the run was recorded with.

use serde_json::{Value, json};

use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::error::{Error, Result};
use crate::publish::{DeliveredFiles, DeliveredRun, Delivery, NotDelivered};

pub(super) const KIND: Kind = Kind {
    name: "publish",
    // A backend looks at what the remote has before it delivers.
    promise: Promise::Repeat,
    newest_wins: false,
    only_reads: false,
    collects: false,
    needs_head: false,
    delivers: true,
    runs_in_worktree: false,
    keeps: kind::keeps_nothing,
    read: kind::no_keys,
    intend,
    preview,
    missing,
    act,
    before_resume: kind::leaves_nothing,
    missing_from: kind::loses_nothing,
    on_interrupt: kind::always_rerun,
};

/// The key in the record of a step that went through a backend that reaches other machines.
const REMOTE: &str = "remote";

/// Whether a step with this record reached other machines. Older versions recorded nothing about it.
pub(crate) fn has_gone_out(recorded: &str) -> bool {
    serde_json::from_str(recorded).is_ok_and(|recorded: Value| recorded["result"][REMOTE] == true)
}

fn intend(context: &Context<'_>) -> Result<Intent> {
    Ok(Intent::Do(json!({ "message": context.render(&context.destination.message)? })))
}

fn preview(context: &Context<'_>, _: &Value) -> Result<String> {
    let backend = context.provided.backend(&context.destination.backend)?;
    Ok(backend.preview(context.destination))
}

fn missing(context: &Context<'_>, _: &Value) -> Result<Vec<String>> {
    let backend = context.provided.backend(&context.destination.backend)?;
    Ok(backend.missing(context.work, context.destination))
}

fn act(context: &Context<'_>, intent: &Value) -> Result<Outcome, Failure> {
    let message = intent["message"].as_str().ok_or_else(|| Error::bug("a publish intent without a message"))?;
    let backend = context.provided.backend(&context.destination.backend)?;
    let files = DeliveredFiles {
        root: context.root,
        bare: context.bare,
        memory: &context.memory,
        history: &context.history,
        state: context.state,
        categories: context.categories,
    };
    let session = context.session;
    let run = DeliveredRun { id: &session.run, tag: &session.tag, at: session.at };
    let delivery = Delivery::new(files, context.destination, run, context.brake, &context.provided.unreachable)
        .with_message(message)
        .trusted(context.is_trusted)
        .with_talk(context.takes_talk);
    match backend.publish(&delivery) {
        Ok(delivered) => {
            let remarks = delivered.notices.into_iter().chain(delivered.conflicts);
            let detail = remarks.fold(delivered.detail, |detail, more| format!("{detail}; {more}"));
            let result = if backend.is_remote() { json!({ REMOTE: true }) } else { Value::Null };
            Ok(Outcome { result, ..Outcome::new(detail) })
        }
        // The Python tool reports a failure with these words, and scripts may look for them.
        Err(NotDelivered::Failed(error)) => Err(error.lead("backend.publish failed: ").into()),
        Err(NotDelivered::Stopped(stop)) => Err(Failure::Stopped(stop)),
        Err(NotDelivered::NotFromHere(why)) => Err(Failure::NothingToDo(why)),
    }
}
