//! Sessions that ended without calling a hook: killed, crashed, closed with their terminal, or of an agent that has no
//! such hook.
//!
//! There are two sorts: sessions that a hook has seen, and sessions on disk for which no hook was ever called. `session::is_over`
//! says whether a session is over, `owed` which files on disk are owed. A session start does what it has time for. The rest
//! stays owed, and the child that the start leaves behind does it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, FixedOffset};

use super::owed::{self, Owed, OwedFile};
use super::pending::{self, Pending};
use super::session;
use crate::base::clock;
use crate::checkpoint::{AgentSession, DoneFile, FileIdentity, Store};
use crate::engine::{self, RecordOutcome};
use crate::error::Result;
use crate::project::{self, Project};
use crate::steps;
use crate::transcript::{ListingLimits, SessionFile};

/// What a session start does: a person waits for it.
const AT_START: Limits =
    Limits { listing: ListingLimits::GLANCE, opened: 50, sessions: 5, time: Duration::from_millis(700) };
/// What the child does.
const IN_BACKGROUND: Limits =
    Limits { listing: ListingLimits::NONE, opened: usize::MAX, sessions: usize::MAX, time: Duration::from_secs(60) };
/// How many files the child deals with before it carries out what it recorded.
const BATCH: usize = 50;

/// How much one sweep does.
#[derive(Clone, Copy)]
struct Limits {
    listing: ListingLimits,
    /// Files that are opened to find out whose session they hold.
    opened: usize,
    /// Sessions that are handed over.
    sessions: usize,
    /// How long recording them may take.
    time: Duration,
}

/// The session that starts, and so looks for others.
pub(super) struct Caller<'a> {
    pub agent: &'a str,
    pub session: &'a str,
    pub process: &'a str,
}

impl Caller<'_> {
    const NOBODY: Caller<'static> = Caller { agent: "", session: "", process: "" };

    pub(super) fn is(&self, agent: &str, session: &str) -> bool {
        agent == self.agent && session == self.session
    }
}

/// What came of a sweep.
#[derive(Default)]
pub(super) struct Swept {
    pub told: Vec<String>,
    /// How many handovers were recorded.
    pub recorded: usize,
    /// Nothing is left for the background.
    pub is_whole: bool,
}

/// Records a handover for the sessions that are over and have something left, as far as a session start has time for it.
pub(super) fn sweep(project: &Project, store: &mut Store, caller: &Caller<'_>) -> Result<Swept> {
    let open = store.open_sessions()?;
    let owed = owed::on_disk(project, store, &open, caller, AT_START.listing)?;
    let mut sweep = Sweep { project, store, open, swept: Swept { is_whole: owed.is_whole, ..Swept::default() } };
    sweep.hand_over(caller, owed.files, AT_START)?;
    Ok(sweep.swept)
}

/// Everything that is owed, for a process that nobody waits for.
pub(super) struct Backlog(Owed);

impl Backlog {
    /// Looks at every session file, however many there are.
    pub(super) fn find(project: &Project, store: &mut Store) -> Result<Backlog> {
        let open = store.open_sessions()?;
        owed::on_disk(project, store, &open, &Caller::NOBODY, IN_BACKGROUND.listing).map(Backlog)
    }

    /// Records the next handovers, oldest first.
    pub(super) fn hand_over_next(&mut self, project: &Project, store: &mut Store) -> Result<Swept> {
        let open = store.open_sessions()?;
        let rest = self.0.files.split_off(self.0.files.len().min(BATCH));
        let next = std::mem::replace(&mut self.0.files, rest);
        let swept = Swept { is_whole: self.0.files.is_empty(), ..Swept::default() };
        let mut sweep = Sweep { project, store, open, swept };
        sweep.hand_over(&Caller::NOBODY, next, IN_BACKGROUND)?;
        Ok(sweep.swept)
    }
}

struct Sweep<'a> {
    project: &'a Project,
    store: &'a mut Store,
    /// The sessions that hooks have seen and that nobody has ended.
    open: Vec<AgentSession>,
    swept: Swept,
}

/// A session that is over.
struct Over {
    session: AgentSession,
    /// The file on disk by which it was found, if no hook has seen it.
    file: Option<OwedFile>,
    changed: Option<SystemTime>,
}

impl Sweep<'_> {
    fn hand_over(&mut self, caller: &Caller<'_>, files: Vec<OwedFile>, limits: Limits) -> Result<()> {
        let start = Instant::now();
        let mut done = Vec::new();
        let mut over = self.seen_by_hooks(caller);
        over.extend(self.on_disk(files, limits, &mut done)?);
        // The session that ended last is recorded last, so that it is also the last in the notes.
        over.sort_by_key(|over| over.changed);
        let skipped = over.len().saturating_sub(limits.sessions);
        self.swept.is_whole &= skipped == 0;
        let mut nothing = Vec::new();
        for over in &over[skipped..] {
            if start.elapsed() > limits.time {
                self.swept.is_whole = false;
                break;
            }
            let at = over.changed.map(clock::of_file).or_else(|| clock::parse_stamp(&over.session.seen_at));
            match self.left(over, at)? {
                Pending::Nothing(left) => {
                    if !left.trouble.is_empty() {
                        let (agent, id) = (&over.session.agent, &over.session.id);
                        self.swept.told.push(format!("{agent} {id} was not swept: {}", left.why()));
                    }
                    nothing.push((&over.session, left.size, left.file));
                }
                Pending::Something(request) => {
                    // A session that cannot be recorded stays owed, and does not keep the others from coming.
                    if let Err(error) = self.record(&over.session, &request) {
                        let (agent, id) = (&over.session.agent, &over.session.id);
                        self.swept.told.push(format!("{agent} {id} was not swept: {}", error.one_line()));
                        continue;
                    }
                }
            }
            done.extend(over.file.as_ref().map(OwedFile::done));
        }
        let known: Vec<(&AgentSession, u64, FileIdentity)> =
            nothing.into_iter().filter(|(session, ..)| !session.started_at.is_empty()).collect();
        if !known.is_empty() {
            self.store.sessions_are_over(&known)?;
        }
        self.store.nothing_is_owed(&done, &[])
    }

    /// What is left of a session. A file on disk whose session is on record is one that its agent wrote to after the end.
    fn left(&self, over: &Over, at: Option<DateTime<FixedOffset>>) -> Result<Pending> {
        let left = pending::left(self.store, &over.session, &[], at)?;
        let is_late = over.file.is_some() && matches!(left, Pending::Nothing(_));
        let late = if is_late { pending::late(self.store, &over.session, at)? } else { None };
        Ok(late.map_or(left, Pending::Something))
    }

    fn record(&mut self, session: &AgentSession, request: &engine::Request) -> Result<()> {
        // A session belongs to the worktree in which it ran.
        let place = self.project.seen_from(&session.worktree, "", &steps::vocabulary());
        if let RecordOutcome::Recorded(recorded) = engine::record(&place, self.store, request)? {
            let from = pending::instead_of(&request.told);
            self.swept.told.push(format!("swept {} {} into {}{from}", session.agent, session.id, recorded.id));
            self.swept.recorded += 1;
        }
        Ok(())
    }

    /// The sessions that hooks have seen and that are over.
    fn seen_by_hooks(&self, caller: &Caller<'_>) -> Vec<Over> {
        let others = self.open.iter().filter(|session| !caller.is(&session.agent, &session.id));
        // An agent that tells of no end leaves many sessions of one process.
        let mut alive: BTreeMap<&str, Option<bool>> = BTreeMap::new();
        let mut over = Vec::new();
        for session in others {
            let is_alive = *alive.entry(&session.process).or_insert_with(|| session::is_alive(session));
            let changed = session::last_change(session);
            if session::is_over_by(is_alive, session, caller.process, changed) {
                over.push(Over { session: session.clone(), file: None, changed });
            }
        }
        over
    }

    /// The sessions of this project among these files. Files of others need not be looked at again and go to `done`.
    fn on_disk(&mut self, files: Vec<OwedFile>, limits: Limits, done: &mut Vec<DoneFile>) -> Result<Vec<Over>> {
        let roots = self.project.worktree_roots();
        let mut over = Vec::new();
        let mut blocked = None;
        // The newest are at the end.
        for (opened, file) in files.into_iter().rev().enumerate() {
            if opened == limits.opened || over.len() == limits.sessions {
                self.swept.is_whole = false;
                break;
            }
            // A file that cannot be read today may be readable tomorrow.
            let Ok(about) = file.found.open() else { continue };
            let is_kept_out = |about: &SessionFile| is_kept_out(self.project, about);
            let root = about.as_ref().filter(|about| !is_kept_out(about)).map(|about| project::root(&about.cwd));
            let root = root.filter(|root| roots.contains(root));
            let worktree = match root.map(|root| self.project.worktree_of(&root, &steps::vocabulary())) {
                // A worktree that cannot be used today may be usable tomorrow.
                Some(Err(error)) => {
                    blocked.get_or_insert_with(|| format!("`{}` was not swept: {}", file.path, error.one_line()));
                    continue;
                }
                worktree => worktree.and_then(Result::ok).flatten(),
            };
            let (Some(about), Some(worktree)) = (about, worktree) else {
                done.push(file.done());
                continue;
            };
            if self.store.kept_out(about.agent, &about.session)?.is_some() {
                done.push(file.done());
                continue;
            }
            let known = self.store.session(about.agent, &about.session)?;
            let unseen = || AgentSession { worktree, ..pending::unseen(about.agent, &about.session, "") };
            let session = AgentSession { transcript: file.path.clone(), ..known.unwrap_or_else(unseen) };
            over.push(Over { session, changed: Some(about.modified), file: Some(file) });
        }
        self.swept.told.extend(blocked);
        Ok(over)
    }
}

/// Whether a session is not to be handed over: it is part of another one, or the user keeps such sessions out.
pub(super) fn is_kept_out(project: &Project, about: &SessionFile) -> bool {
    let is_headless = about.is_headless == Some(true);
    about.is_subagent || is_headless && !project.config.follows_headless || project.config.ignores(&about.cwd)
}
