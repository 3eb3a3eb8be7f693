//! The part of a session that nobody has handed over yet.

use std::path::Path;

use chrono::{DateTime, FixedOffset};

use super::session;
use crate::base::fs;
use crate::checkpoint::{AgentSession, FileIdentity, HandedPart, Store, Told, Word};
use crate::engine::{Attendance, Request};
use crate::error::{Error, Result};
use crate::transcript::{self, Source};

/// How many bytes are searched for a request. In a longer transcript one is assumed.
const LOOK: u64 = 8 << 20;

/// What a session has left to hand over.
pub(super) enum Pending {
    /// Nothing was asked since the last handover. The transcript has this length.
    Nothing(u64),
    Something(Box<Request>),
}

/// What the transcript of a session shows.
enum Shown {
    /// A request that nobody has handed over, or so much that one is assumed.
    Request(Source),
    /// No request. The transcript has this length.
    NoRequest(u64),
    /// Nothing, because nothing is there.
    Nothing(Error),
    /// Nothing that this program understands.
    Unreadable(Error),
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
    let mut told = Told { session: session.id.clone(), words: known, instead_of: String::new() };
    let handed = |to: u64| HandedPart {
        agent: session.agent.clone(),
        id: session.id.clone(),
        transcript: session.transcript.clone(),
        before: session.handed_over,
        turns: session.turns,
        to,
        file: session.file.clone(),
        is_over: true,
        words: mark,
    };
    let request = |handed: HandedPart, transcript: Option<Source>, told: Told| {
        Pending::Something(Box::new(Request {
            note: Some(String::new()),
            agent: Some(session.agent.clone()),
            attendance: Attendance::Hook,
            transcript,
            told,
            handed: Some(handed),
            branch: session.branch.clone(),
            at,
            ..Request::default()
        }))
    };
    let (is_there, why) = match look(session).unwrap_or_else(Shown::Unreadable) {
        Shown::Request(source) => return Ok(request(handed(source.end), Some(source), told)),
        Shown::NoRequest(size) => return Ok(Pending::Nothing(size)),
        Shown::Nothing(why) => (false, why),
        Shown::Unreadable(why) => (true, why),
    };
    // An agent whose transcripts cannot be read may tell its hooks nothing, and git may still know something.
    let is_expected = !transcript::is_readable(&session.agent);
    if told.says_something() || is_expected && session.turns > 0 {
        told.instead_of = why.one_line();
        return Ok(request(handed(session.handed_over), None, told));
    }
    // A session in which nobody asked anything may never get a transcript.
    let is_lost = is_there || session.turns > 0;
    if is_lost { Err(why.follow("; the hooks were told nothing either")) } else { Ok(Pending::Nothing(0)) }
}

fn look(session: &AgentSession) -> Result<Shown> {
    if session.transcript.is_empty() {
        return Ok(Shown::Nothing(Error::failed("the agent names no transcript that can be read")));
    }
    let path = Path::new(&session.transcript);
    let mut source = Source::pin(path, &session.id)?;
    if source.end == 0 {
        let what = if fs::exists(path) { "is empty" } else { "does not exist" };
        return Ok(Shown::Nothing(Error::failed(format!("the transcript `{}` {what}", path.display()))));
    }
    if source.agent().is_none() {
        let message = format!("the transcript `{}` has an unknown format", path.display());
        return Ok(Shown::Unreadable(Error::bad_data(message)));
    }
    source.start = session.handed_over;
    let is_silent = source.end <= source.start || source.asks(LOOK)? == Some(false);
    Ok(if is_silent { Shown::NoRequest(source.end) } else { Shown::Request(source) })
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
