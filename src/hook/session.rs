//! The session that a call is about: its process, its transcript, and whether it is over.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, FixedOffset};

use crate::agents::{self, Call, Event};
use crate::base::process_identity::Ancestor;
use crate::base::{clock, process_identity};
use crate::checkpoint::{AgentSession, AtOnce, SessionSighting, Store, Word, WordKind};
use crate::error::Result;
use crate::project::Project;
use crate::transcript;

/// A session whose process is unknown counts as over after this time without a change.
const QUIET: Duration = Duration::from_secs(10 * 60);
/// Calls within this time may be about the same event: two installations, or two hooks of one, may call.
const AT_ONCE: chrono::Duration = chrono::Duration::seconds(5);
/// Programs that may run between an agent and this process.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "env", "nu", "agent-handover"];

/// The process of the agent that called us, and the processes above it, the nearest first, as they are when this is asked
/// first: a call asks several times.
pub(super) fn agent_process() -> Option<&'static (Ancestor, Vec<Ancestor>)> {
    static FOUND: OnceLock<Option<(Ancestor, Vec<Ancestor>)>> = OnceLock::new();
    let find = || {
        let mut above = process_identity::ancestors();
        let at = above.iter().position(|above| !is_shell(above))?;
        let rest = above.split_off(at + 1);
        above.pop().map(|agent| (agent, rest))
    };
    FOUND.get_or_init(find).as_ref()
}

/// Whether this process runs commands for another one.
pub(super) fn is_shell(process: &Ancestor) -> bool {
    SHELLS.contains(&process.name.as_str())
}

/// The process of the agent that called us; empty if nobody knows, or if it has many sessions.
pub(super) fn process(agent: &str) -> String {
    let Some(agent) = agents::by_name(agent).filter(|agent| agent.processes.one_session_each) else {
        return String::new();
    };
    let above = agent_process().map(|(process, _)| process);
    let is_one_session = |above: &&Ancestor| {
        agent
            .processes
            .is_session_server
            .is_none_or(|is_server| !is_server(&process_identity::arguments(&above.identity)))
    };
    above.filter(is_one_session).map(|above| above.identity.text().to_owned()).unwrap_or_default()
}

/// The transcript of a call, if its format can be read. An agent that does not name it may keep it under the session's id.
pub(super) fn transcript(call: &Call) -> Option<PathBuf> {
    let is_named = |path: &PathBuf| path.to_str().is_some() && transcript::is_readable(call.agent.name);
    let by_id = || {
        let path = transcript::path_of(call.agent.name, call.session_id.as_deref()?)?;
        transcript::state(&path).map(|_| path)
    };
    call.transcript_path.clone().filter(is_named).or_else(by_id)
}

/// The length of a transcript; 0 if there is none.
pub(super) fn size(path: &Path) -> u64 {
    transcript::state(path).map_or(0, |state| state.length)
}

/// When another call may be about the same event as a call that began then. A call may wait long for the record.
pub(super) fn at_once(begun: &DateTime<FixedOffset>) -> AtOnce {
    AtOnce { after: clock::stamp(&(*begun - AT_ONCE)), until: clock::stamp(&(clock::now() + AT_ONCE)) }
}

/// What is recorded of every call.
pub(super) fn seen(project: &Project, call: &Call, session: &str) -> SessionSighting {
    let path = transcript(call);
    SessionSighting {
        agent: call.agent.name.to_owned(),
        id: session.to_owned(),
        transcript: path.as_deref().and_then(Path::to_str).unwrap_or_default().to_owned(),
        process: process(call.agent.name),
        at: clock::stamp(&clock::now()),
        size: path.as_deref().map_or(0, size),
        words: words(call),
        is_prompt: call.event == Event::PromptSubmitted,
        worktree: project.worktree(),
        branch: project.branch(),
        ..SessionSighting::default()
    }
}

/// What the agent passed to this call, fit to be kept. The transcript normally has the same, but may be gone or unreadable
/// when the session ends.
fn words(call: &Call) -> Vec<Word> {
    let is_end = call.event == Event::SessionEnd;
    let answer = call.last_message.as_deref().filter(|_| call.error.is_none());
    let error = call.error.as_deref().map(|error| match &call.last_message {
        Some(message) if message != error => format!("{error}: {message}"),
        _ => error.to_owned(),
    });
    let mut found = vec![
        (WordKind::Request, call.prompt.as_deref()),
        (WordKind::Command, call.command.as_deref()),
        (WordKind::Answer, answer),
        (WordKind::Error, error.as_deref()),
        (WordKind::Reason, call.reason.as_deref().filter(|_| is_end)),
    ];
    found.extend(call.edited.iter().map(|path| (WordKind::Edited, Some(path.as_str()))));
    found.into_iter().filter_map(|(kind, text)| transcript::word(kind, text?)).collect()
}

/// Whether a session whose start nobody reported may be a fork: its process has reported another session. Claude Code reports
/// the start of a fork by the id of its parent, as a resumed session.
pub(super) fn may_be_fork(store: &Store, seen: &SessionSighting) -> Result<bool> {
    if seen.process.is_empty() || store.session(&seen.agent, &seen.id)?.is_some() {
        return Ok(false);
    }
    let is_of_same_process = |session: &AgentSession| process_identity::is_same(&session.process, &seen.process);
    Ok(store.open_sessions()?.iter().any(is_of_same_process))
}

/// Whether a session is over, for a call from `process`: its process has ended, or has begun another session. If its process
/// is unknown, or runs in another container, the session is over when it has not changed for a while.
pub(super) fn is_over(session: &AgentSession, process: &str, last_change: Option<SystemTime>) -> bool {
    is_over_by(is_alive(session), session, process, last_change)
}

/// Whether the process of a session still runs, if that can be known.
pub(super) fn is_alive(session: &AgentSession) -> Option<bool> {
    Some(session.process.as_str()).filter(|text| !text.is_empty()).and_then(process_identity::is_alive)
}

/// Like [`is_over`], for a process of which is known whether it runs.
pub(super) fn is_over_by(
    is_alive: Option<bool>,
    session: &AgentSession,
    process: &str,
    last_change: Option<SystemTime>,
) -> bool {
    let is_reused = agents::by_name(&session.agent).is_some_and(|agent| agent.processes.reused_by_next_session);
    match is_alive {
        Some(true) => is_reused && process_identity::is_same(&session.process, process),
        Some(false) => true,
        None => is_quiet(session, last_change),
    }
}

/// Whether the process of a session is known, and gone.
pub(super) fn is_without_process(session: &AgentSession) -> bool {
    !session.process.is_empty() && process_identity::is_alive(&session.process) == Some(false)
}

/// When the transcript of a session was last changed.
pub(super) fn last_change(session: &AgentSession) -> Option<SystemTime> {
    transcript::state(Path::new(&session.transcript)).map(|state| state.modified)
}

fn is_quiet(session: &AgentSession, last_change: Option<SystemTime>) -> bool {
    match last_change {
        Some(changed) => has_passed(changed),
        None => clock::parse_stamp(&session.seen_at)
            .is_none_or(|seen| (clock::now() - seen).abs().to_std().is_ok_and(|passed| passed >= QUIET)),
    }
}

/// Whether a change is long enough ago for its session to be over. A change in the future was made while the clock was
/// ahead, so it is not one of just now either.
pub(super) fn has_passed(changed: SystemTime) -> bool {
    let apart = SystemTime::now().duration_since(changed).unwrap_or_else(|ahead| ahead.duration());
    apart >= QUIET
}
