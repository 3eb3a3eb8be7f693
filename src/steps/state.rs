//! Replaces the current state in layer 2: the one file the next session reads first.

use serde_json::{Value, json};

use super::{Context, Failure, Intent, Kind, Outcome, Promise};
use crate::error::{Error, Result};
use crate::memory::Memory;

pub const KIND: Kind = Kind {
    name: "state",
    promise: Promise::Repeat,
    newest_wins: true,
    only_reads: false,
    read: super::read_content,
    intend,
    preview,
    act,
    before_resume: super::leaves_nothing,
    landed: super::never_asked,
    on_interrupt: super::always_rerun,
};

fn intend(context: &Context<'_>) -> Result<Intent> {
    let content = match context.params.as_str() {
        Some(template) => context.render(template)?,
        None if !context.session.state.trim().is_empty() => context.session.state.clone(),
        None => context.session.note.clone(),
    };
    // Nothing said is no reason to forget where we are.
    if content.trim().is_empty() {
        return Ok(Intent::Nothing("neither a state nor a note was given".to_owned()));
    }
    Ok(Intent::Do(json!({ "content": content })))
}

fn preview(context: &Context<'_>, intent: &Value) -> Result<String> {
    let path = Memory::at(context.memory.clone()).state_path();
    Ok(format!("replace {} with {} bytes", context.show(&path), intent["content"].as_str().map_or(0, str::len)))
}

fn act(context: &Context<'_>, intent: &Value) -> Result<Outcome, Failure> {
    let content = intent["content"].as_str().ok_or_else(|| Error::bug("a state intent without content"))?;
    let path = Memory::at(context.memory.clone()).put_state(context.session.at.date_naive(), content)?;
    Ok(Outcome::new(context.show(&path)))
}
