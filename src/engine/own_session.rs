//! The agent session that this very process runs in.

use std::path::Path;

use crate::base::process;
use crate::checkpoint::{HandedPart, Store};
use crate::transcript::Source;

/// The part of the session that runs this process, if hooks have seen that session. What is handed over here is said by
/// that session, so its hook need not hand the same part over again.
pub(super) fn own_session(store: &Store) -> Option<HandedPart> {
    let above: Vec<String> = process::ancestors().iter().map(|above| above.identity.text().to_owned()).collect();
    let session = store.open_sessions().ok()?.into_iter().rev().find(|session| above.contains(&session.process))?;
    // What is said now covers the whole transcript, also if it is another file than before.
    let path = Path::new(&session.transcript);
    let rest = Source::rest(path, &session.id, session.handed_over, &session.file).ok().flatten();
    let (to, file) = rest.map_or((session.handed_over, session.file), |(source, file)| (source.end, file));
    Some(HandedPart {
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
