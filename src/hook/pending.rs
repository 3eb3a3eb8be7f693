//! The part of a session that nobody has handed over yet.

use std::path::Path;

use chrono::{DateTime, FixedOffset};

use super::session;
use crate::base::fs::FileState;
use crate::checkpoint::{AgentSession, FileIdentity, HandedPart, Store, Told, Word};
use crate::engine::{Attendance, Request};
use crate::error::{Error, Result};
use crate::transcript::{self, Asks, Source, Transcript};

/// How many bytes are searched for a request. In a longer transcript one is assumed.
const LOOK: u64 = 8 << 20;

/// What a session has left to hand over.
pub(super) enum Pending {
    Nothing(Nothing),
    Something(Box<Request>),
}

/// Why a session has nothing left to hand over, and how far its transcript was looked at.
pub(super) struct Nothing {
    pub size: u64,
    pub file: FileIdentity,
    /// What was not understood; empty if nothing was asked.
    pub trouble: String,
}

impl Nothing {
    /// The reason, for the log.
    pub(super) fn why(&self) -> &str {
        if self.trouble.is_empty() { "nothing was asked since the last handover" } else { &self.trouble }
    }
}

/// The part of this session that is left to hand over. `words` are those of the present call, which are not recorded yet. `at`
/// is when the session ended, if that is not now.
pub(super) fn left(
    store: &Store,
    session: &AgentSession,
    words: &[Word],
    at: Option<DateTime<FixedOffset>>,
) -> Result<Pending> {
    let (mark, mut known) = store.words(&session.agent, &session.id)?;
    known.extend_from_slice(words);
    let told = Told { session: session.id.clone(), words: known, instead_of: String::new() };
    let unmoved = HandedPart { words: mark, ..unmoved(session) };
    let (is_there, why) = match part_of_transcript(session) {
        Ok(Part::Rest(source, file)) => {
            let handed = HandedPart { to: source.end, file, ..unmoved };
            let request = Request { transcript: Some(source), told, ..request(session, handed, at) };
            return Ok(Pending::Something(Box::new(request)));
        }
        Ok(Part::Nothing(size, file)) => {
            return Ok(Pending::Nothing(Nothing { size, file, trouble: String::new() }));
        }
        Ok(Part::Missing(why)) => (false, why),
        Err(why) => (true, why),
    };
    // A transcript that cannot be used does not say whether anything was asked. The hooks may know. If an agent does not
    // always name a transcript that can be read, its hooks may be told nothing, and git may still know something.
    let is_expected = !transcript::is_always_named(&session.agent);
    if told.says_something() || is_expected && session.turns > 0 {
        let told = Told { instead_of: why.one_line(), ..told };
        return Ok(Pending::Something(Box::new(Request { told, ..request(session, unmoved, at) })));
    }
    // A session in which nobody asked anything may never get a transcript.
    let is_lost = is_there || session.turns > 0;
    let trouble = format!("nothing is handed over: {}; the hooks were told nothing either", why.one_line());
    Ok(Pending::Nothing(Nothing {
        size: session.handed_over,
        file: session.file.clone(),
        trouble: if is_lost { trouble } else { String::new() },
    }))
}

/// What an agent wrote to its log after a session was handed over at its end, if it is an answer or work. It belongs to what
/// was asked before, so nothing is asked in it.
pub(super) fn late(
    store: &Store,
    session: &AgentSession,
    at: Option<DateTime<FixedOffset>>,
) -> Result<Option<Box<Request>>> {
    if session.run.is_empty() || session.handed_over == 0 {
        return Ok(None);
    }
    let rest = Source::rest(Path::new(&session.transcript), &session.id, session.handed_over, &session.file)?;
    let Some((source, file)) = rest.filter(|(source, _)| source.start > 0 && source.start < source.end) else {
        return Ok(None);
    };
    let did_something = |found: &Transcript| {
        !(found.edited.is_empty() && found.commands.is_empty() && found.tests.is_empty() && found.talk.is_empty())
    };
    if !source.read()?.as_ref().is_some_and(did_something) {
        return Ok(None);
    }
    let (words, _) = store.words(&session.agent, &session.id)?;
    let handed = HandedPart { to: source.end, file, words, ..unmoved(session) };
    Ok(Some(Box::new(Request { transcript: Some(source), ..request(session, handed, at) })))
}

/// What a transcript has left.
enum Part {
    Rest(Source, FileIdentity),
    /// Nothing was asked. The transcript has this length.
    Nothing(u64, FileIdentity),
    /// The session has no transcript yet, or none any more.
    Missing(Error),
}

fn part_of_transcript(session: &AgentSession) -> Result<Part> {
    if session.transcript.is_empty() {
        return Ok(Part::Missing(Error::failed("the agent names no transcript that can be read")));
    }
    let path = Path::new(&session.transcript);
    let missing = |what: &str| Part::Missing(Error::failed(format!("the transcript `{}` {what}", path.display())));
    let is_unchanged = |state: &FileState| {
        session.handed_over > 0 && (state.inode, state.length) == (session.file.inode, session.handed_over)
    };
    if transcript::state(path).is_some_and(|state| is_unchanged(&state)) {
        return Ok(Part::Nothing(session.handed_over, session.file.clone()));
    }
    let rest = Source::rest(path, &session.id, session.handed_over, &session.file)?;
    let Some((mut source, file)) = rest else { return Ok(missing("does not exist")) };
    if source.end == 0 {
        return Ok(missing("is empty"));
    }
    // Later parts are the session's own.
    if session.run.is_empty() {
        source = source.without_copy(session.is_fork)?;
    }
    if source.end <= source.start || source.asks(LOOK)? == Asks::No {
        return Ok(Part::Nothing(source.end, file));
    }
    Ok(Part::Rest(source, file))
}

/// The part of a session that hands nothing of its transcript over.
fn unmoved(session: &AgentSession) -> HandedPart {
    HandedPart {
        agent: session.agent.clone(),
        id: session.id.clone(),
        transcript: session.transcript.clone(),
        before: session.handed_over,
        turns: session.turns,
        to: session.handed_over,
        file: session.file.clone(),
        is_over: true,
        words: 0,
    }
}

fn request(session: &AgentSession, handed: HandedPart, at: Option<DateTime<FixedOffset>>) -> Request {
    Request {
        note: Some(String::new()),
        agent: Some(session.agent.clone()),
        attendance: Attendance::Hook,
        handed: Some(handed),
        branch: session.branch.clone(),
        at,
        ..Request::default()
    }
}

/// The end of a log line about a handover that is not made from a transcript.
pub(super) fn instead_of(told: &Told) -> String {
    match told.instead_of.as_str() {
        "" => String::new(),
        why => format!(", from what the hooks were told: {why}"),
    }
}

/// A session that no hook has seen, known by its transcript.
pub(super) fn unseen(agent: &str, id: &str, transcript: &str) -> AgentSession {
    AgentSession {
        agent: agent.to_owned(),
        id: id.to_owned(),
        transcript: transcript.to_owned(),
        process: String::new(),
        started_at: String::new(),
        seen_at: String::new(),
        seen: session::size(Path::new(transcript)),
        handed_over: 0,
        turns: 0,
        run: String::new(),
        worktree: String::new(),
        branch: String::new(),
        file: FileIdentity::default(),
        is_fork: false,
    }
}
