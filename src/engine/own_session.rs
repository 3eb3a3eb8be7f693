//! The agent session that this very process runs in.

use std::path::Path;

use crate::base::{fs, process_identity};
use crate::checkpoint::{HandedPart, Store};

/// The part of the session that runs this process, if hooks have seen that session. What is handed over here is said by
/// that session, so its hook need not hand the same part over again.
pub(super) fn own_session(store: &Store) -> Option<HandedPart> {
    let above = process_identity::ancestors();
    let is_above = |process: &str| above.iter().any(|above| above.identity.is(process));
    let session = store.open_sessions().ok()?.into_iter().rev().find(|session| is_above(&session.process))?;
    let to = if session.transcript.is_empty() { 0 } else { length(Path::new(&session.transcript)) };
    let (words, _) = store.words(&session.agent, &session.id).ok()?;
    Some(HandedPart {
        words,
        before: session.handed_over,
        turns: session.turns,
        to: to.max(session.handed_over),
        transcript: session.transcript,
        agent: session.agent,
        id: session.id,
        file: session.file,
        is_over: false,
    })
}

fn length(path: &Path) -> u64 {
    fs::length(path).unwrap_or(0)
}
