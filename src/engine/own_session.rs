//! The agent session that this very process runs in.

use std::path::Path;

use crate::base::process_identity;
use crate::checkpoint::{HandedPart, Store};
use crate::transcript::Source;

/// The part of the session that runs this process, if hooks have seen that session. What is handed over here is said by
/// that session, so its hook need not hand the same part over again.
pub(super) fn own_session(store: &Store) -> Option<HandedPart> {
    let above = process_identity::ancestors();
    let is_above = |process: &str| above.iter().any(|above| above.identity.is(process));
    let session = store.open_sessions().ok()?.into_iter().rev().find(|session| is_above(&session.process))?;
    let (words, _) = store.words(&session.agent, &session.id).ok()?;
    // What is said now covers the whole transcript, also if it is another file than before.
    let path = Path::new(&session.transcript);
    let rest = Source::rest(path, &session.id, session.handed_over, &session.file).ok().flatten();
    let (to, file) = rest.map_or((session.handed_over, session.file), |(source, file)| (source.end, file));
    Some(HandedPart {
        words,
        before: session.handed_over,
        turns: session.turns,
        to,
        file,
        transcript: session.transcript,
        agent: session.agent,
        id: session.id,
        is_over: false,
    })
}
