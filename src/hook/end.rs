//! The end of a turn, and the end of a session.

use super::pending::{self, Nothing, Pending};
use super::record::Record;
use super::respond::Done;
use super::session;
use crate::agents::{Call, Event};
use crate::base::{clock, text};
use crate::checkpoint::{AgentSession, NewReceipt, SessionSighting, Store, TURN_END};
use crate::engine::{self, HandedOver, NotDetached, Recorded};
use crate::error::Result;
use crate::project::Project;

/// What the log says about a second call for one event.
pub(super) const REPEATED: &str = "the same was answered just now";

/// Records how far a session is, and which text it gets now: one transaction, without git.
pub(super) fn progress(
    project: &Project,
    call: &Call,
    receipt: Option<NewReceipt>,
    mut record: Record<'_>,
) -> Result<Done> {
    let Some(session) = &call.session_id else { return Ok(Done::nothing("the agent names no session")) };
    let begun = clock::now();
    let mut seen = session::seen(project, call, session);
    seen.receipt = receipt;
    if call.event == Event::TurnEnd {
        seen.is_turn_end = true;
        seen.event = format!("{TURN_END} {}", turn_mark(&seen));
    }
    let store = record.write()?;
    seen.may_be_fork = session::may_be_fork(store, &seen)?;
    let is_new = store.note_session(&seen, &session::at_once(&begun))?;
    Ok(Done::nothing(&if is_new { format!("noted at {} bytes", seen.size) } else { REPEATED.to_owned() }))
}

/// What tells the end of one turn from that of the next: what was said, or else the length of the transcript, which may grow
/// between two calls for the same turn.
fn turn_mark(seen: &SessionSighting) -> String {
    let texts: Vec<&str> = seen.words.iter().map(|word| word.text.as_str()).collect();
    if texts.is_empty() { seen.size.to_string() } else { text::digest(texts.join("\n").as_bytes(), 8) }
}

/// Hands over the part of the session that nobody has handed over yet.
pub(super) fn end(project: &Project, call: &Call, record: Record<'_>) -> Result<Done> {
    let Some(id) = &call.session_id else { return Ok(Done::nothing("the agent names no session")) };
    let seen = session::seen(project, call, id);
    let mut store = record.into_store()?;
    let known = store.session(call.agent.name, id)?;
    let mut session = known.unwrap_or_else(|| pending::unseen(call.agent.name, id, &seen.transcript));
    session.is_fork |= session::may_be_fork(&store, &seen)?;
    if !seen.transcript.is_empty() {
        session.transcript.clone_from(&seen.transcript);
    }
    let why = call.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let request = match pending::left(&store, &session, &seen.words, None)? {
        Pending::Something(request) => request,
        Pending::Nothing(nothing) => return over(&mut store, &session, &nothing, &why),
    };
    Ok(match engine::hand_over_to_child(project, store, &request)? {
        HandedOver::Detached { recorded, child } => {
            recorded_and(recorded, child, &format!("{why}{}", pending::instead_of(&request.told)))
        }
        HandedOver::ByAnother => Done::nothing("another call has handed it over"),
        // Only a resume or a run without a child comes to this.
        HandedOver::NothingOnRecord | HandedOver::Ran { .. } => Done::default(),
    })
}

fn recorded_and(recorded: Recorded, child: Result<u32, NotDetached>, why: &str) -> Done {
    let mut told = vec![format!("recorded {}{why}", recorded.id)];
    told.extend(recorded.warnings);
    let is_trouble = matches!(child, Err(NotDetached::Failed(_)));
    told.push(match child {
        Ok(pid) => format!("carried out by pid {pid}"),
        Err(NotDetached::Stopped(_)) => "it waits until PAUSE is gone".to_owned(),
        Err(NotDetached::Busy(_)) => "it is left to the process that is running".to_owned(),
        Err(NotDetached::Failed(error)) => format!("it waits: {}", error.one_line()),
    });
    Done { context: None, told, is_trouble }
}

fn over(store: &mut Store, session: &AgentSession, nothing: &Nothing, why: &str) -> Result<Done> {
    // A session that no hook has seen before needs no row.
    if !session.started_at.is_empty() {
        store.sessions_are_over(&[(session, nothing.size, nothing.file.clone())])?;
    }
    Ok(Done { is_trouble: !nothing.trouble.is_empty(), ..Done::nothing(&format!("{}{why}", nothing.why())) })
}
