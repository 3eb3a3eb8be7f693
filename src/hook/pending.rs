//! The part of a session that nobody has handed over yet.

use std::path::PathBuf;

use chrono::{DateTime, FixedOffset};

use super::session;
use crate::checkpoint::{AgentSession, HandedPart, Store};
use crate::engine::{self, Recorded, Request};
use crate::error::{Category, Result};
use crate::project::Project;
use crate::transcript::{self, Source};

/// How far it is looked for a request before it is taken for granted.
const LOOK: u64 = 8 << 20;

/// What was found of a session.
pub enum Part {
    /// Nothing was asked since the last handover; the transcript is this long.
    Nothing(u64),
    Something(Box<Request>),
}

/// What of this session is left to hand over. `at` is when it was, if that is not now.
pub fn left(session: &AgentSession, at: Option<DateTime<FixedOffset>>) -> Result<Part> {
    let mut handed = HandedPart {
        agent: session.agent.clone(),
        id: session.id.clone(),
        transcript: session.transcript.clone(),
        from: session.handed_over,
        turns: session.turns,
        to: session.handed_over,
        is_over: true,
    };
    let request = |handed: HandedPart| Request {
        note: Some(String::new()),
        agent: Some(session.agent.clone()),
        unattended: true,
        by_itself: true,
        handed: Some(handed),
        at,
        ..Request::default()
    };
    if session.transcript.is_empty() {
        // An agent that could be read and names nothing to read has nothing to say.
        if session.turns == 0 || transcript::is_readable(&session.agent) {
            return Ok(Part::Nothing(0));
        }
        return Ok(Part::Something(Box::new(Request { note: Some(told(session)), ..request(handed) })));
    }
    let path = PathBuf::from(&session.transcript);
    let mut source = Source::pin(&path, &session.id)?;
    source.start = session.handed_over;
    if source.end <= source.start || source.asks(LOOK)? == Some(false) {
        return Ok(Part::Nothing(source.end));
    }
    handed.to = source.end;
    Ok(Part::Something(Box::new(Request { transcript: Some(source), ..request(handed) })))
}

/// What hooks were told of a session whose transcript cannot be read; empty if nothing, and then git may know something.
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

/// Writes the run down, with one git process and one transaction. `None` if another process was faster.
pub fn record(project: &Project, store: &mut Store, request: &Request) -> Result<Option<Recorded>> {
    match engine::record(project, store, request) {
        Ok(recorded) => Ok(Some(recorded)),
        Err(error) if error.category() == Category::Busy => Ok(None),
        Err(error) => Err(error),
    }
}

/// A session that no hook has seen, known by its file.
pub fn unseen(agent: &str, id: &str, transcript: &str) -> AgentSession {
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
    }
}
