//! Archives the session's handoff. If the session wrote none, one is made of its account.

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind, said};
use crate::error::Result;
use crate::handoff::Handoff;
use crate::history::{self, DERIVED_TAG, History, IfTaken, SessionSpan, registry};
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
    keeps: kind::keeps_all,
    read: kind::no_keys,
    intend,
    preview,
    missing: kind::needs_nothing,
    act,
    before_resume: kind::leaves_nothing,
    missing_from,
    on_interrupt: kind::always_rerun,
};

/// How long a session lasts at most, for one whose beginning nobody knows.
const LONGEST_SESSION: chrono::TimeDelta = chrono::TimeDelta::hours(12);

fn intend(context: &Context<'_>) -> Result<Intent> {
    if !context.session.handoff.is_empty() {
        return Ok(Intent::Do(json!({ "document": said::intended(&context.session.handoff, context.session) })));
    }
    if let Some(id) = written_by_session(context) {
        return Ok(Intent::Nothing(format!("the session wrote handoff {id} itself")));
    }
    Ok(match recap::handoff(context.session, context.values, context.known_root, &said::place_of_whole(context)) {
        Some(handoff) => Intent::Do(json!({ "document": handoff.render() })),
        None => Intent::Nothing("no handoff was given, and the session changed nothing".to_owned()),
    })
}

fn is_derived(handoff: &Handoff) -> bool {
    handoff.texts("search_tags").contains(&DERIVED_TAG)
}

/// The handoff that the session archived before, with `history create` or an earlier handover.
pub(super) fn written_by_session(context: &Context<'_>) -> Option<String> {
    let session = context.session;
    let began = history::time_of(&context.value("session_started"));
    let last = Before::of(context.values).since.and_then(|since| history::time_of(&since));
    let latest_start = session.at - LONGEST_SESSION;
    let span = SessionSpan {
        agent_session: session.agent_session(),
        // A handover in the middle of a session does not end it. Without a transcript, the session began after the last
        // handover, and today.
        since: began.or_else(|| Some(last.map_or(latest_start, |last| last.max(latest_start)))),
        until: session.at,
    };
    History::at(context.root, context.history.clone()).written_by(&span)
}

fn preview(context: &Context<'_>, intent: &Json) -> Result<String> {
    let handoff = history::parse(said::of_intent(intent, "document", context.session)?)?;
    Ok(format!("archive session {} in {}", handoff.text("session_id"), context.show(&context.history)))
}

fn missing_from(context: &Context<'_>, intent: &Json) -> Result<Option<PathBuf>> {
    let handoff = history::parse(said::of_intent(intent, "document", context.session)?)?;
    Ok(History::at(context.root, context.history.clone()).lacks(handoff.text("session_id")))
}

fn act(context: &Context<'_>, intent: &Json) -> Result<Outcome, Failure> {
    let text = said::of_intent(intent, "document", context.session)?;
    let archive = History::at(context.root, context.history.clone());
    let handoff = history::parse(text)?;
    if is_derived(&handoff) {
        said::keep_if_clipped(context, recap::given_text(context.session), recap::MOST_SUMMARY)?;
    }
    // An earlier attempt may have archived what was known then. Its id ends like this run's, so it is this session's.
    let earlier = is_derived(&handoff).then(|| archive.archived(handoff.text("session_id"))).flatten();
    let handoff = earlier.filter(is_derived).unwrap_or(handoff);
    // If the same document is archived already, nothing happens: this is what makes the step repeatable.
    let written = archive.create(&handoff, IfTaken::Refuse)?;
    registry::remember(context.root, &context.history);
    Ok(Outcome::new(context.show(&written.archive)))
}
