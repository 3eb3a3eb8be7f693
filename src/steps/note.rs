//! Adds the session's note to its day in layer 1.

use std::borrow::Cow;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind, said};
use crate::base::text;
use crate::error::Result;
use crate::facts::Session;
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
    keeps,
    read: kind::read_content,
    intend,
    preview,
    missing: kind::needs_nothing,
    act,
    before_resume: kind::leaves_nothing,
    missing_from,
    on_interrupt: kind::always_rerun,
};

fn keeps(params: &Value, session: &Session) -> Vec<&'static str> {
    if params.is_string() { kind::keeps_mentioned(params, session) } else { vec!["note"] }
}

fn intend(context: &Context<'_>) -> Result<Intent> {
    let session = context.session;
    let content = match context.params.as_str() {
        Some(template) => Cow::Owned(context.render(template)?),
        // What the session did, if it gave no note.
        None if session.note.trim().is_empty() => Cow::Owned(context.value("summary")),
        None => Cow::Borrowed(session.note.as_str()),
    };
    if content.trim().is_empty() {
        return Ok(Intent::Nothing("no note was given".to_owned()));
    }
    Ok(Intent::Do(json!({ "content": said::intended(&content, session) })))
}

fn preview(context: &Context<'_>, intent: &Value) -> Result<String> {
    let session = context.session;
    let path = Memory::at(context.root, context.memory.clone()).note_path(&session.tag, session.at.date_naive());
    let content = said::of_intent(intent, "content", session)?;
    Ok(format!("add a note of {} to {}", text::count(content.len(), "byte"), context.show(&path)))
}

fn act(context: &Context<'_>, intent: &Value) -> Result<Outcome, Failure> {
    let session = context.session;
    let memory = Memory::at(context.root, context.memory.clone());
    let path = memory.write_note(&session.tag, session.at.date_naive(), &note_of(context, intent)?)?;
    Ok(Outcome::new(context.show(&path)))
}

fn missing_from(context: &Context<'_>, intent: &Value) -> Result<Option<PathBuf>> {
    let (session, note) = (context.session, note_of(context, intent)?);
    let (memory, day) = (Memory::at(context.root, context.memory.clone()), session.at.date_naive());
    Ok((!memory.has_note(&session.tag, day, &note)?).then(|| memory.note_path(&session.tag, day)))
}

fn note_of(context: &Context<'_>, intent: &Value) -> Result<Note> {
    let session = context.session;
    let content = said::of_intent(intent, "content", session)?;
    Ok(Note {
        run: session.run.clone(),
        step: context.step.to_owned(),
        at: memory::marker_time(&session.at),
        agent: session.agent.clone(),
        changes: String::new(),
        content: content.as_bytes().to_vec(),
    })
}
