//! The part of a session that nobody has handed over yet.

use std::path::PathBuf;

use chrono::{DateTime, FixedOffset};

use super::session;
use crate::base::fs::{self, FileState};
use crate::checkpoint::{AgentSession, FileIdentity, HandedPart};
use crate::engine::{Attendance, Request};
use crate::error::Result;
use crate::transcript::{self, Asks, Source};

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

/// The part of this session that is left to hand over. `at` is when the session ended, if that is not now.
pub(super) fn left(session: &AgentSession, at: Option<DateTime<FixedOffset>>) -> Pending {
    // An agent whose transcripts can be read, but that names none, has done nothing.
    if session.transcript.is_empty() && !transcript::is_readable(&session.agent) && session.turns > 0 {
        return Pending::Something(Box::new(request_by_words(session, at)));
    }
    match part_of_transcript(session) {
        Ok(Part::Rest(source, file)) => {
            let handed = HandedPart { to: source.end, file, ..unmoved(session) };
            let request = Request { transcript: Some(source), ..request(session, handed, at) };
            Pending::Something(Box::new(request))
        }
        Ok(Part::Nothing(size, file)) => Pending::Nothing(Nothing { size, file, trouble: String::new() }),
        // A transcript that cannot be understood does not say whether anything was asked. The hooks may know.
        Err(_) | Ok(Part::Missing) if has_words(session) => Pending::Something(Box::new(request_by_words(session, at))),
        Ok(Part::Missing) => {
            let (size, file) = (session.handed_over, session.file.clone());
            Pending::Nothing(Nothing { size, file, trouble: String::new() })
        }
        Err(error) => Pending::Nothing(Nothing {
            size: session.handed_over,
            file: session.file.clone(),
            trouble: format!("nothing is handed over: {}", error.one_line()),
        }),
    }
}

/// What a transcript has left.
enum Part {
    Rest(Source, FileIdentity),
    /// Nothing was asked. The transcript has this length.
    Nothing(u64, FileIdentity),
    Missing,
}

fn part_of_transcript(session: &AgentSession) -> Result<Part> {
    if session.transcript.is_empty() {
        return Ok(Part::Missing);
    }
    let path = PathBuf::from(&session.transcript);
    let is_unchanged = |state: &FileState| {
        session.handed_over > 0 && (state.inode, state.length) == (session.file.inode, session.handed_over)
    };
    if fs::state(&path).is_some_and(|state| is_unchanged(&state)) {
        return Ok(Part::Nothing(session.handed_over, session.file.clone()));
    }
    let rest = Source::rest(&path, &session.id, session.handed_over, &session.file)?;
    let Some((mut source, file)) = rest else { return Ok(Part::Missing) };
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

/// A handover of what the agent passed to its hooks.
fn request_by_words(session: &AgentSession, at: Option<DateTime<FixedOffset>>) -> Request {
    Request { note: Some(told(session)), ..request(session, unmoved(session), at) }
}

fn has_words(session: &AgentSession) -> bool {
    !session.asked.is_empty() || !session.said.is_empty()
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
