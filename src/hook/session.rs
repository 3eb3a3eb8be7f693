//! Whose session it is: the process it runs in, its transcript, and whether it may still go on.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::agents::{self, Call};
use crate::base::{clock, process};
use crate::checkpoint::{Handed, Seen, Session, Store};
use crate::transcript;

/// A session that is silent for so long counts as over where nothing else can be asked.
pub const QUIET: Duration = Duration::from_secs(10 * 60);
/// What an agent may put between itself and us.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "env", "nu", "agent-handover"];
/// How much of a text that a hook was told is kept.
const MAX_TEXT: usize = 2_000;

/// The process of the agent that called us; empty if nobody knows, or if it has many sessions.
pub fn process(agent: &str) -> String {
    let Some(agent) = agents::by_name(agent).filter(|agent| agent.processes.one_session_each) else {
        return String::new();
    };
    let above = process::ancestors().into_iter().find(|above| !SHELLS.contains(&above.name.as_str()));
    let is_one_session = |above: &process::Ancestor| {
        agent.processes.is_session_server.is_none_or(|is_server| !is_server(&process::arguments(&above.identity)))
    };
    above.filter(is_one_session).map(|above| above.identity.text().to_owned()).unwrap_or_default()
}

/// The transcript, if it is of a kind that can be read.
pub fn transcript(call: &Call) -> Option<&Path> {
    let is_named = |path: &&Path| path.to_str().is_some() && transcript::is_readable(call.agent.name);
    call.transcript_path.as_deref().filter(is_named)
}

/// How long a file is; nothing, if it is none.
pub fn size(path: &Path) -> u64 {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map_or(0, |about| about.len())
}

/// What is written down of any call.
pub fn seen(call: &Call, session: &str) -> Seen {
    let path = transcript(call);
    let kept = |text: &Option<String>| {
        // Whoever has a transcript has it all.
        let text = text.as_deref().filter(|_| path.is_none());
        text.and_then(|text| transcript::keepable(text, MAX_TEXT)).unwrap_or_default()
    };
    Seen {
        agent: call.agent.name.to_owned(),
        id: session.to_owned(),
        transcript: path.and_then(Path::to_str).unwrap_or_default().to_owned(),
        process: process(call.agent.name),
        at: clock::stamp(&clock::now()),
        size: path.map_or(0, size),
        asked: kept(&call.prompt),
        said: kept(&call.last_message),
        ..Seen::default()
    }
}

/// Whether a session is over, asked by a call from `process`. It is if its process is gone, or has begun another session; where
/// no process can be asked, if it has been silent for a while.
pub fn is_over(session: &Session, process: &str, last_change: Option<SystemTime>) -> bool {
    let is_alive = Some(session.process.as_str()).filter(|text| !text.is_empty()).and_then(process::is_alive);
    let is_reused = agents::by_name(&session.agent).is_some_and(|agent| agent.processes.reused_by_next_session);
    match is_alive {
        Some(true) => is_reused && session.process == process,
        Some(false) => true,
        None => is_quiet(session, last_change),
    }
}

fn is_quiet(session: &Session, last_change: Option<SystemTime>) -> bool {
    match last_change {
        Some(changed) => has_passed(changed),
        None => clock::parse_stamp(&session.seen_at)
            .is_none_or(|seen| (clock::now() - seen).to_std().is_ok_and(|passed| passed >= QUIET)),
    }
}

/// Whether this was long ago.
pub fn has_passed(changed: SystemTime) -> bool {
    SystemTime::now().duration_since(changed).is_ok_and(|passed| passed >= QUIET)
}

/// The session that this very process runs in, as far as hooks have seen it: what is said here is said by it.
pub fn own_session(store: &Store) -> Option<Handed> {
    let above: Vec<String> = process::ancestors().iter().map(|above| above.identity.text().to_owned()).collect();
    let session = store.open_sessions().ok()?.into_iter().rev().find(|session| above.contains(&session.process))?;
    let to = if session.transcript.is_empty() { 0 } else { size(Path::new(&session.transcript)) };
    Some(Handed {
        from: session.handed_over,
        turns: session.turns,
        to: to.max(session.handed_over),
        transcript: session.transcript,
        agent: session.agent,
        id: session.id,
        is_over: false,
    })
}
