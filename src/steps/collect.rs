//! Finds out what the session did; later steps ask for it by name.

use serde_json::Value;

use super::{Context, Failure, Intent, Kind, Outcome, Promise};
use crate::error::Result;
use crate::facts;

pub const KIND: Kind = Kind {
    name: "collect",
    promise: Promise::Repeat,
    newest_wins: false,
    read: super::no_keys,
    intend,
    preview,
    act,
    landed: super::never_asked,
    on_interrupt: super::always_rerun,
};

fn intend(_: &Context<'_>) -> Result<Intent> {
    Ok(Intent::Do(Value::Null))
}

fn preview(context: &Context<'_>, _: &Value) -> Result<String> {
    Ok(format!("collect facts: {}", describe(context)))
}

fn act(context: &Context<'_>, _: &Value) -> Result<Outcome, Failure> {
    let facts = facts::collect(context.session)?;
    Ok(Outcome { facts, ..Outcome::new(describe(context)) })
}

fn describe(context: &Context<'_>) -> String {
    let session = context.session;
    let who = if session.agent.is_empty() { &session.user } else { &session.agent };
    match session.note.len() {
        0 => format!("no note, by {who} on {}", session.host),
        bytes => format!("a note of {bytes} bytes, by {who} on {}", session.host),
    }
}
