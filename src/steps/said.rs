//! A text in the intent of a step. A long text that the session gave is on record already, so the intent only names it.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{Context, kind};
use crate::base::text;
use crate::error::{Error, Result};
use crate::facts::Session;
use crate::memory::note::Note;
use crate::memory::{self, Memory};

/// A text that is longer than this, in bytes, is named rather than repeated.
const LONG: usize = 16 << 10;
/// Marks the name of a text of the session.
const SAME_AS: &str = "same_as";

fn texts(session: &Session) -> [(&'static str, &str); 3] {
    [("note", &session.note), ("state", &session.state), ("handoff", &session.handoff)]
}

/// The texts of the session that none of these steps, which are done, wrote anywhere. Each step is given by its kind and its
/// parameters.
pub(crate) fn unkept<'s>(session: &Session, done: impl Iterator<Item = (&'s str, &'s Value)>) -> Vec<&'static str> {
    let kept: Vec<&str> =
        done.filter_map(|(name, params)| Some((kind(name).ok()?.keeps)(params, session))).flatten().collect();
    let is_unkept = |(name, text): &(&str, &str)| !text.trim().is_empty() && !kept.contains(name);
    texts(session).into_iter().filter(is_unkept).map(|(name, _)| name).collect()
}

/// The text for an intent.
pub(super) fn intended(text: &str, session: &Session) -> Value {
    let same = (text.len() > LONG).then(|| texts(session).into_iter().find(|(_, given)| *given == text)).flatten();
    same.map_or_else(|| Value::from(text), |(name, _)| json!({ SAME_AS: name }))
}

/// The text of an intent, which [`intended`] wrote under this key.
pub(super) fn of_intent<'i>(intent: &'i Value, key: &str, session: &'i Session) -> Result<&'i str> {
    let said = &intent[key];
    let named = |name: &str| texts(session).into_iter().find(|(known, _)| *known == name).map(|(_, text)| text);
    said.as_str()
        .or_else(|| said[SAME_AS].as_str().and_then(named))
        .ok_or_else(|| Error::bug(format!("an intent without {key}")))
}

/// The place of a text of this session that is shown in part elsewhere.
pub(super) fn place_of_whole(context: &Context<'_>) -> String {
    let session = context.session;
    let notes = Memory::at(context.root, context.memory.clone()).note_path(&session.tag, session.at.date_naive());
    format!("the note of handover {} in `{}`", session.run, context.show(&notes))
}

/// The text, or the beginning of a long one. The whole text is then in layer 1: the note of the session has it, or it
/// gets a note of its own.
pub(super) fn clipped<'t>(context: &Context<'_>, text: &'t str, most: usize) -> Result<Cow<'t, str>> {
    keep_if_clipped(context, text, most)?;
    Ok(text::clipped(text, most, &place_of_whole(context)))
}

/// Keeps the whole of a text of the session if it is too long to be shown.
pub(super) fn keep_if_clipped(context: &Context<'_>, text: &str, most: usize) -> Result<()> {
    if text.len() > most { keep_whole(context, text) } else { Ok(()) }
}

/// Makes sure that layer 1 has this text of the session, byte for byte.
fn keep_whole(context: &Context<'_>, text: &str) -> Result<()> {
    let (session, memory) = (context.session, Memory::at(context.root, context.memory.clone()));
    let day = session.at.date_naive();
    if memory.holds_text(&session.tag, day, text)? {
        return Ok(());
    }
    let note = Note {
        run: session.run.clone(),
        step: format!("{}-text", context.step),
        at: memory::marker_time(&session.at),
        agent: session.agent.clone(),
        changes: String::new(),
        content: text.as_bytes().to_vec(),
    };
    memory.write_note(&session.tag, day, &note).map(|_| ())
}
