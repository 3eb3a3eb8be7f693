//! Sessions that ended without calling a hook: killed, crashed, closed with their terminal, or of an agent that has no
//! such hook.
//!
//! There are two sorts: sessions that a hook has seen, and sessions on disk for which no hook was ever called. `session::is_over`
//! says whether a session is over. Sessions from before hooks first ran in this project are ignored.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, FixedOffset};

use super::pending::{self, Pending};
use super::session;
use crate::base::{clock, fs};
use crate::checkpoint::{AgentSession, Store};
use crate::engine::{self, RecordOutcome};
use crate::error::Result;
use crate::project::{self, Project};
use crate::steps;
use crate::transcript;

/// How many sessions are handed over at one start; the others follow at the next.
const MOST: usize = 5;
/// How long recording them may take, because a person waits.
const LIMIT: Duration = Duration::from_millis(700);
/// How many files on disk are looked into.
const MOST_FILES: usize = 50;
/// With more transcripts than this, a session start does not look at all of them; the next child does.
const FEW: usize = 1_000;
/// Sessions that are older than this are not handed over.
const LONG_AGO: Duration = Duration::from_secs(14 * 24 * 3600);

/// The session that starts, and so looks for others.
pub(super) struct Caller<'a> {
    pub agent: &'a str,
    pub session: &'a str,
    pub process: &'a str,
}

impl Caller<'_> {
    fn is(&self, agent: &str, session: &str) -> bool {
        agent == self.agent && session == self.session
    }
}

/// What came of a sweep.
pub(super) struct Swept {
    pub told: Vec<String>,
    /// Every session on disk was looked at.
    pub is_whole: bool,
}

/// Records a handover for each session on disk that no hook has seen, however many files there are. For a process that
/// nobody waits for.
pub(super) fn sweep_disk(project: &Project, store: &mut Store) -> Result<Vec<String>> {
    let nobody = Caller { agent: "", session: "", process: "" };
    let open = store.open_sessions()?;
    let (_, unseen) = never_seen(project, store, &nobody, &open, usize::MAX)?;
    let told = hand_over(project, store, unseen)?;
    store.swept(&clock::stamp(&clock::now()))?;
    Ok(told)
}

/// Records a handover for each session that is over and has something left.
pub(super) fn sweep(project: &Project, store: &mut Store, caller: &Caller<'_>) -> Result<Swept> {
    let open = store.open_sessions()?;
    let mut over: Vec<AgentSession> = Vec::new();
    for session in open.iter().filter(|session| !caller.is(&session.agent, &session.id)) {
        if session::is_over(session, caller.process, changed(Path::new(&session.transcript))) {
            over.push(session.clone());
        }
    }
    let (is_whole, unseen) = never_seen(project, store, caller, &open, FEW)?;
    over.extend(unseen);
    Ok(Swept { told: hand_over(project, store, over)?, is_whole })
}

fn hand_over(project: &Project, store: &mut Store, mut over: Vec<AgentSession>) -> Result<Vec<String>> {
    let start = Instant::now();
    // The session that ended last is recorded last, so that it is also the last in the notes.
    over.sort_by_key(|session| changed(Path::new(&session.transcript)));
    let skipped = over.len().saturating_sub(MOST);
    let mut told = Vec::new();
    let mut nothing = Vec::new();
    for session in &over[skipped..] {
        if start.elapsed() > LIMIT {
            break;
        }
        let at = changed(Path::new(&session.transcript)).map(local);
        let at = at.or_else(|| clock::parse_stamp(&session.seen_at));
        match pending::left(session, at) {
            Ok(Pending::Nothing(size)) => nothing.push((session, size)),
            Ok(Pending::Something(request)) => {
                // A session belongs to the worktree in which it ran.
                let place = project.seen_from(&session.worktree, "", &steps::vocabulary());
                if let RecordOutcome::Recorded(recorded) = engine::record(&place, store, &request)? {
                    told.push(format!("swept {} {} into {}", session.agent, session.id, recorded.id));
                }
            }
            // A transcript that cannot be read today cannot be read tomorrow either.
            Err(error) => {
                told.push(format!("{} {} was not swept: {}", session.agent, session.id, error.one_line()));
                nothing.push((session, session.handed_over));
            }
        }
    }
    let known: Vec<(&AgentSession, u64)> =
        nothing.into_iter().filter(|(session, _)| !session.started_at.is_empty()).collect();
    if !known.is_empty() {
        store.sessions_are_over(&known)?;
    }
    Ok(told)
}

/// The sessions of this project on disk that no hook has seen, and whether all files were looked at.
fn never_seen(
    project: &Project,
    store: &Store,
    caller: &Caller<'_>,
    open: &[AgentSession],
    most: usize,
) -> Result<(bool, Vec<AgentSession>)> {
    let (first, last) = store.listening_since()?;
    // No hook was ever called here, so none was missed.
    let Some(first) = first.and_then(|first| clock::parse_stamp(&first)) else { return Ok((true, Vec::new())) };
    // Sessions that were over at the last sweep were handled then.
    let again = last
        .and_then(|last| clock::parse_stamp(&last))
        .map(|last| time(&last) - (session::QUIET + Duration::from_secs(60)));
    let since = [Some(time(&first)), again, SystemTime::now().checked_sub(LONG_AGO)].into_iter().flatten().max();
    // The mark of the last sweep is that of all worktrees, so the sessions of all are looked for.
    let roots = project.worktree_roots();
    let belongs = |cwd: &Path| roots.contains(&project::root(cwd));
    let mut found = Vec::new();
    let (is_whole, files) = transcript::sessions_of(roots.clone(), since, most, belongs);
    for file in files.take(MOST_FILES) {
        let Some(worktree) = project.worktree_of(&project::root(&file.cwd), &steps::vocabulary()) else { continue };
        let is_open = open.iter().any(|session| session.agent == file.agent && session.id == file.session);
        if file.is_subagent || is_open || caller.is(file.agent, &file.session) || !session::has_passed(file.modified) {
            continue;
        }
        let Some(path) = file.path.to_str() else { continue };
        let known = store.session(file.agent, &file.session)?;
        let unseen = || AgentSession { worktree, ..pending::unseen(file.agent, &file.session, path) };
        let session = known.unwrap_or_else(unseen);
        if file.size > session.handed_over {
            found.push(session);
        }
    }
    Ok((is_whole, found))
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::modified(path)
}

fn local(time: SystemTime) -> DateTime<FixedOffset> {
    DateTime::<chrono::Local>::from(time).fixed_offset()
}

fn time(stamp: &DateTime<FixedOffset>) -> SystemTime {
    SystemTime::from(*stamp)
}
