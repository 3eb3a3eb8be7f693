//! The part of a session that nobody has handed over yet.

use std::path::PathBuf;

use chrono::{DateTime, FixedOffset};

use super::session;
use crate::checkpoint::{AgentSession, FileIdentity, HandedPart};
use crate::engine::{Attendance, Request};
use crate::error::Result;
use crate::transcript::{self, Source};

/// How many bytes are searched for a request. In a longer transcript one is assumed.
const LOOK: u64 = 8 << 20;

/// What a session has left to hand over.
pub(super) enum Pending {
    /// Nothing was asked since the last handover. The transcript has this length.
    Nothing(u64),
    Something(Box<Request>),
}

/// The part of this session that is left to hand over. `at` is when the session ended, if that is not now.
pub(super) fn left(session: &AgentSession, at: Option<DateTime<FixedOffset>>) -> Result<Pending> {
    let mut handed = HandedPart {
        agent: session.agent.clone(),
        id: session.id.clone(),
        transcript: session.transcript.clone(),
        before: session.handed_over,
        turns: session.turns,
        to: session.handed_over,
        file: session.file.clone(),
        is_over: true,
    };
    let request = |handed: HandedPart| Request {
        note: Some(String::new()),
        agent: Some(session.agent.clone()),
        attendance: Attendance::Hook,
        handed: Some(handed),
        branch: session.branch.clone(),
        at,
        ..Request::default()
    };
    if session.transcript.is_empty() {
        // An agent whose transcripts can be read, but that names none, has done nothing.
        if session.turns == 0 || transcript::is_readable(&session.agent) {
            return Ok(Pending::Nothing(0));
        }
        return Ok(Pending::Something(Box::new(Request { note: Some(told(session)), ..request(handed) })));
    }
    let path = PathBuf::from(&session.transcript);
    let mut source = Source::pin(&path, &session.id)?;
    source.start = session.handed_over;
    if source.end <= source.start || source.asks(LOOK)? == Some(false) {
        return Ok(Pending::Nothing(source.end));
    }
    handed.to = source.end;
    Ok(Pending::Something(Box::new(Request { transcript: Some(source), ..request(handed) })))
}

/// A note of what the agent told its hooks, for a session whose transcript cannot be read. It is empty if the agent told
/// nothing; git may still know something about the session.
fn told(session: &AgentSession) -> String {
    let mut note = String::new();
    for (what, text) in [("Asked first", &session.asked), ("Answered last", &session.said)] {
        if !text.is_empty() {
            note.push_str(&format!("{what}: {text} (derived)\n"));
        }
    }
    if !note.is_empty() {
        note.push_str("\n(derived from what the agent told its hooks; the session gave no note)\n");
    }
    note
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
        seen: session::size(std::path::Path::new(transcript)),
        handed_over: 0,
        turns: 0,
        asked: String::new(),
        said: String::new(),
        run: String::new(),
        worktree: String::new(),
        branch: String::new(),
        file: FileIdentity::default(),
        is_fork: false,
    }
}
