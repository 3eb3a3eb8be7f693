//! The session that goes on in a worktree: the one that changed last, whatever agent runs it and whether or not a hook has
//! seen it. A person who continues in another agent hands it over first.

use std::path::Path;
use std::time::SystemTime;

use super::pending::{self, Pending};
use crate::base::{clock, process_identity};
use crate::checkpoint::{AgentSession, Store};
use crate::engine::{self, Attendance, Request};
use crate::error::Result;
use crate::project::{self, Project};
use crate::transcript::{self, Source, Transcript};
use crate::warmup;

/// How much of both ends of its transcript is read.
const BEGINNING: u64 = 1 << 20;
const END: u64 = 8 << 20;

/// The session that goes on in a worktree.
pub(crate) struct GoingOn {
    /// What nobody has handed over of it yet.
    pub left: Option<Request>,
    /// What it said and did, if its transcript can be read.
    pub transcript: Option<Transcript>,
}

/// The session that goes on in this worktree, if there is one.
pub(crate) fn going_on(project: &Project) -> Result<Option<GoingOn>> {
    project.prepare()?;
    let mut store = Store::open(&project.checkpoint_file())?;
    engine::adopt_sessions(project, &mut store)?;
    let Some(session) = newest(project, &store)? else { return Ok(None) };
    let left = match pending::left(&store, &session, &[], None)? {
        Pending::Something(request) => Some(typed(project, *request, &session)),
        Pending::Nothing(_) => None,
    };
    let whole = Source::pin(Path::new(&session.transcript), &session.id).ok();
    Ok(Some(GoingOn { left, transcript: whole.and_then(|whole| warmup::both_ends(&whole, BEGINNING, END)) }))
}

/// The request of a person who typed a command. Nobody can take a secret out of a transcript, so it is redacted. A session
/// that may go on keeps its row, so that its later parts are handed over as well. Who continues in another agent does not
/// expect that commands of a repository run, so without consent this is a request of a hook.
fn typed(project: &Project, mut request: Request, session: &AgentSession) -> Request {
    if let Some(handed) = &mut request.handed {
        handed.is_over = process_identity::is_alive(&session.process) == Some(false);
    }
    let attendance = if project.is_allowed() { Attendance::Detached } else { Attendance::Hook };
    Request { attendance, ..request }
}

/// The session of this worktree that changed last: one that hooks have seen, or one on disk.
fn newest(project: &Project, store: &Store) -> Result<Option<AgentSession>> {
    let seen = store.open_sessions()?.into_iter().filter(|session| session.worktree == project.worktree());
    let seen = seen.map(|session| (last_change(&session), session)).max_by_key(|(at, _)| *at);
    let is_here = |cwd: &Path| project::root(cwd) == project.root;
    let found = transcript::sessions(&project.root, None, is_here).find(|session| !session.is_subagent);
    let Some(found) = found else { return Ok(seen.map(|(_, session)| session)) };
    if let Some((at, session)) = seen.filter(|(at, _)| *at >= Some(found.modified)) {
        tracing::debug!(agent = session.agent, ?at, "the session that a hook has seen is the newest");
        return Ok(Some(session));
    }
    let Some(path) = found.path.to_str().map(str::to_owned) else { return Ok(None) };
    let known = store.session(found.agent, &found.session)?;
    let unseen = || AgentSession { worktree: project.worktree(), ..pending::unseen(found.agent, &found.session, "") };
    Ok(Some(AgentSession { transcript: path, ..known.unwrap_or_else(unseen) }))
}

/// When the session last changed, as far as its transcript or its last hook says.
fn last_change(session: &AgentSession) -> Option<SystemTime> {
    let of_file = transcript::state(Path::new(&session.transcript)).map(|state| state.modified);
    of_file.max(clock::parse_stamp(&session.seen_at).map(SystemTime::from))
}
