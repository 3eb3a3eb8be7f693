//! The agent session that a typed handover is about: the one that this very process runs in, or that of a transcript.

use std::path::Path;

use crate::base::process_identity;
use crate::checkpoint::{FileIdentity, HandedPart, Store};
use crate::transcript::{self, Source};

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

/// The session of a transcript that a person hands over, if nobody has handed over all of it. No hook hands the same over again
/// then.
pub(super) fn session_of_transcript(store: &Store, source: &Source) -> Option<HandedPart> {
    let found = transcript::session_in(&source.path).filter(|found| !found.is_subagent)?;
    let known = store.session(found.agent, &found.session).ok()?;
    let is_open = known.as_ref().is_some_and(|known| {
        let open = store.open_sessions().unwrap_or_default();
        open.iter().any(|open| (&open.agent, &open.id) == (&known.agent, &known.id))
    });
    let (before, turns, before_file) =
        known.map_or((0, 0, FileIdentity::default()), |known| (known.handed_over, known.turns, known.file));
    let (rest, file) = Source::rest(&source.path, &found.session, before, &before_file).ok()??;
    let (words, _) = store.words(found.agent, &found.session).ok()?;
    (rest.start < source.end).then(|| HandedPart {
        agent: found.agent.to_owned(),
        id: found.session,
        transcript: source.path.to_str().unwrap_or_default().to_owned(),
        before,
        turns,
        to: source.end,
        file,
        is_over: !is_open,
        words,
    })
}
