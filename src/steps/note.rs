//! Adds the session's note to its day in layer 1.

use serde_json::{Value, json};

use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::error::{Error, Result};
use crate::memory::note::Note;
use crate::memory::{self, Memory};

pub(super) const KIND: Kind = Kind {
    name: "note",
    promise: Promise::Repeat,
    newest_wins: false,
    only_reads: false,
    collects: false,
    needs_head: false,
    delivers: false,
    runs_in_worktree: false,
    read: kind::read_content,
    intend,
    preview,
    missing: kind::needs_nothing,
    act,
    before_resume: kind::leaves_nothing,
    on_interrupt: kind::always_rerun,
};

fn intend(context: &Context<'_>) -> Result<Intent> {
    let content = match context.params.as_str() {
        Some(template) => context.render(template)?,
        None => context.value("summary"),
    };
    if content.trim().is_empty() {
        return Ok(Intent::Nothing("no note was given".to_owned()));
    }
    Ok(Intent::Do(json!({ "content": content })))
}

fn preview(context: &Context<'_>, intent: &Value) -> Result<String> {
    let session = context.session;
    let path = Memory::at(context.root, context.memory.clone()).note_path(&session.tag, session.at.date_naive());
    Ok(format!("add a note of {} bytes to {}", intent["content"].as_str().map_or(0, str::len), context.show(&path)))
}

fn act(context: &Context<'_>, intent: &Value) -> Result<Outcome, Failure> {
    let content = intent["content"].as_str().ok_or_else(|| Error::bug("a note intent without content"))?;
    let session = context.session;
    let note = Note {
        run: session.run.clone(),
        step: context.step.to_owned(),
        at: memory::marker_time(&session.at),
        agent: session.agent.clone(),
        changes: String::new(),
        content: content.as_bytes().to_vec(),
    };
    let memory = Memory::at(context.root, context.memory.clone());
    let path = memory.write_note(&session.tag, session.at.date_naive(), &note)?;
    Ok(Outcome::new(context.show(&path)))
}
