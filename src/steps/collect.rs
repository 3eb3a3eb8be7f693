//! Finds out what the session did; later steps ask for it by name.

use serde_json::{Value, json};

use super::{Context, Failure, Intent, Kind, Outcome, Promise};
use crate::error::Result;
use crate::facts::{self, Scene};

pub const KIND: Kind = Kind {
    name: "collect",
    promise: Promise::Repeat,
    newest_wins: false,
    only_reads: true,
    read: super::no_keys,
    intend,
    preview,
    missing: super::needs_nothing,
    act,
    before_resume: super::leaves_nothing,
    landed: super::never_asked,
    on_interrupt: super::always_rerun,
};

fn intend(_: &Context<'_>) -> Result<Intent> {
    Ok(Intent::Do(Value::Null))
}

fn preview(_: &Context<'_>, _: &Value) -> Result<String> {
    Ok(format!("collect facts from {}", facts::COLLECTORS.iter().map(|c| c.name).collect::<Vec<_>>().join(", ")))
}

fn act(context: &Context<'_>, _: &Value) -> Result<Outcome, Failure> {
    let found = facts::collect(&Scene { session: context.session, root: context.root })?;
    let mut detail = found.detail.unwrap_or_default();
    for notice in &found.notices {
        detail = format!("{detail}; {notice}");
    }
    // Which session this was, and up to where, is asked when others are looked for that nobody handed over.
    let result = json!({ "notices": found.notices, "transcript": context.session.transcript });
    Ok(Outcome { detail, result, facts: found.values })
}
