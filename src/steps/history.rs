//! Archives the session's handoff. If the session wrote none, one is made of its account.

use serde_json::{Value as Json, json};

use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::error::{Error, Result};
use crate::history::{self, History, IfTaken, SessionSpan, registry};
use crate::recap::{self, Before};

pub(super) const KIND: Kind = Kind {
    name: "history",
    promise: Promise::Repeat,
    newest_wins: false,
    only_reads: false,
    collects: false,
    needs_head: true,
    delivers: false,
    runs_in_worktree: false,
    read: kind::no_keys,
    intend,
    preview,
    missing: kind::needs_nothing,
    act,
    before_resume: kind::leaves_nothing,
    on_interrupt: kind::always_rerun,
};

fn intend(context: &Context<'_>) -> Result<Intent> {
    if !context.session.handoff.is_empty() {
        return Ok(Intent::Do(json!({ "document": context.session.handoff })));
    }
    if let Some(id) = written_by_session(context) {
        return Ok(Intent::Nothing(format!("the session wrote handoff {id} itself")));
    }
    Ok(match recap::handoff(context.session, context.values, context.known_root) {
        Some(handoff) => Intent::Do(json!({ "document": handoff.render() })),
        None => Intent::Nothing("no handoff was given, and the session changed nothing".to_owned()),
    })
}

/// The handoff that the session archived before, with `history create` or an earlier handover.
fn written_by_session(context: &Context<'_>) -> Option<String> {
    let session = context.session;
    let began = history::time_of(&context.value("session_started"));
    let last = Before::of(context.values).since.and_then(|since| history::time_of(&since));
    let span = SessionSpan {
        agent_session: session.agent_session(),
        // A handover in the middle of a session does not end it.
        since: began.or(last),
        until: session.at,
    };
    History::at(context.root, context.history.clone()).written_by(&span)
}

fn preview(context: &Context<'_>, intent: &Json) -> Result<String> {
    let handoff = history::parse(intent["document"].as_str().unwrap_or_default())?;
    Ok(format!("archive session {} in {}", handoff.text("session_id"), context.show(&context.history)))
}

fn act(context: &Context<'_>, intent: &Json) -> Result<Outcome, Failure> {
    let text = intent["document"].as_str().ok_or_else(|| Error::bug("a history intent without a document"))?;
    let handoff = history::parse(text)?;
    // If the same document is archived already, nothing happens: this is what makes the step repeatable.
    let written = History::at(context.root, context.history.clone()).create(&handoff, IfTaken::Refuse)?;
    registry::remember(context.root, &context.history);
    Ok(Outcome::new(context.show(&written.archive)))
}
