//! The sessions of a project whose transcripts are there: those that hooks have seen, and those from before there were hooks.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::page::Page;
use crate::base::fs::{self, FileState};
use crate::base::{clock, text};
use crate::checkpoint::{AgentSession, Store};
use crate::error::Result;
use crate::project::{self, Project};
use crate::recap::{self, Account, Material};
use crate::search::Progress;
use crate::transcript::{self, FoundFile, ListingLimits, Source, Transcript};

/// How many transcripts are looked at, the newest.
const MOST: usize = 2_000;
/// The kind of what the ledger has about a session.
pub(super) const KIND: &str = "session";

/// A session of the project.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Session {
    pub agent: String,
    pub id: String,
    pub file: SessionFile,
    /// The root of the worktree in which it ran.
    pub place: String,
    pub branch: String,
    pub started_at: String,
    /// What it was for; empty if nobody said so.
    pub goal: String,
}

/// The transcript of a session, as it is now.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SessionFile {
    pub path: PathBuf,
    pub is_fork: bool,
    state: FileState,
}

impl SessionFile {
    /// Marks the content: another content has another mark.
    pub(super) fn mark(&self) -> String {
        let modified = self.state.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        format!("{} {} {modified}", self.state.inode, self.state.length)
    }

    pub(super) fn key(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// The session without what it copied from another one; `None` if it cannot be read.
    pub(super) fn read(&self, id: &str) -> Option<Transcript> {
        self.own_part(id)?.read().ok().flatten()
    }

    /// The warmup that the session began with, if its transcript has one: the last one before the agent did anything. A fork has
    /// that of its parent, too, and a session that was compacted or resumed got another one later.
    pub(super) fn given(&self) -> Option<Given> {
        let texts = transcript::injected_at_start(&self.own_part("")?).ok().flatten()?;
        let last = texts.iter().rfind(|injected| Page::is_one(&injected.text))?;
        Some(Given { page: Page::of(&last.text), is_whole: last.is_whole })
    }

    fn own_part(&self, id: &str) -> Option<Source> {
        Source::pin(&self.path, id).ok()?.without_copy(self.is_fork).ok()
    }
}

/// The warmup that a session began with.
pub(super) struct Given {
    pub page: Page,
    /// Its mark shows that nothing is missing.
    pub is_whole: bool,
}

/// A transcript before it is read.
struct Listed {
    file: SessionFile,
    recorded: Option<AgentSession>,
    found: Option<FoundFile>,
}

/// What a transcript says about its session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Said {
    agent: String,
    id: String,
    place: String,
    branch: String,
    started_at: String,
    goal: String,
}

/// The sessions of a project, oldest first, and the keys under which the ledger knows them.
pub(super) fn sessions(
    project: &Project,
    store: Option<&Store>,
    ledger: &mut Ledger,
    progress: &mut Progress<'_>,
) -> Result<Vec<Session>> {
    let roots: Vec<PathBuf> = project.worktree_roots();
    let main = fs::real(&project.memory_root).display().to_string();
    let mut sessions = Vec::new();
    let mut keys = HashSet::new();
    let all = listed(store, &roots)?;
    let total = all.len();
    for (number, listed) in all.into_iter().enumerate() {
        let key = listed.file.key();
        let said = ledger.get(KIND, &key, &listed.file.mark(), || listed.said(&roots));
        keys.insert(key);
        progress(number + 1, total);
        sessions.extend(said.flatten().and_then(|said| session(listed, said, &main)));
    }
    if ledger.missing == 0 {
        ledger.forget(KIND, &keys);
    }
    sessions.sort_by_cached_key(|session| {
        (clock::parse_stamp(&session.started_at), session.file.state.modified, session.id.clone())
    });
    Ok(sessions)
}

/// The newest transcripts, newest first. No file is opened.
fn listed(store: Option<&Store>, roots: &[PathBuf]) -> Result<Vec<Listed>> {
    let recorded = store.map(Store::all_sessions).transpose()?.unwrap_or_default();
    let mut by_path: HashMap<PathBuf, AgentSession> = HashMap::new();
    for (session, _) in recorded.into_iter().filter(|(session, _)| !session.transcript.is_empty()) {
        by_path.insert(PathBuf::from(&session.transcript), session);
    }
    let places = transcript::places_of(roots, ListingLimits::NONE);
    let found = places.into_iter().flat_map(|place| place.files).filter(|file| !by_path.contains_key(&file.path));
    let mut all: Vec<Listed> = found
        .map(|found| {
            let file = SessionFile { path: found.path.clone(), is_fork: false, state: found.state };
            Listed { file, recorded: None, found: Some(found) }
        })
        .collect();
    all.extend(by_path.into_iter().filter_map(|(path, recorded)| {
        let file = SessionFile { state: transcript::state(&path)?, is_fork: recorded.is_fork, path };
        Some(Listed { file, recorded: Some(recorded), found: None })
    }));
    all.sort_by(|a, b| (b.file.state.modified, &b.file.path).cmp(&(a.file.state.modified, &a.file.path)));
    all.truncate(MOST);
    Ok(all)
}

impl Listed {
    /// What the transcript says. `None` if it is not that of a session of this project.
    fn said(&self, roots: &[PathBuf]) -> Option<Said> {
        if let Some(found) = &self.found {
            let about = found.open().ok().flatten()?;
            if about.is_subagent || !roots.contains(&project::root(&about.cwd)) {
                return None;
            }
        }
        let session = self.file.read("")?;
        let started = session.started.or(session.ended).unwrap_or_else(|| clock::of_file(self.file.state.modified));
        Some(Said {
            agent: session.agent.to_owned(),
            id: session.session.clone(),
            place: fs::real(&project::root(Path::new(&session.cwd))).display().to_string(),
            branch: session.branch.clone(),
            started_at: clock::stamp(&started),
            goal: goal(&session, &self.file),
        })
    }
}

/// What a session was for: its own task, else the goal that it was given.
fn goal(session: &Transcript, file: &SessionFile) -> String {
    let account = account(session);
    let own = account.goal.as_ref().filter(|_| account.replaces_goal()).map(|goal| goal.text.clone());
    let given = || file.given().and_then(|given| given.page.goal().map(str::to_owned));
    text::kept_line(&own.or_else(given).unwrap_or_default(), 300)
}

/// What a session amounts to, by its transcript alone.
pub(super) fn account(session: &Transcript) -> Account {
    let has_changes = !session.edited.is_empty();
    recap::recap(&Material { transcript: Some(session), note: "", state: "", has_changes })
}

/// The session of a transcript. What hooks recorded about it counts more than what it says itself.
fn session(listed: Listed, said: Said, main: &str) -> Option<Session> {
    let Listed { file, recorded, .. } = listed;
    let (agent, id, place, branch, started_at) = match recorded {
        Some(known) => {
            let branch = if known.branch.is_empty() { said.branch } else { known.branch };
            let place = if known.worktree.is_empty() { main.to_owned() } else { known.worktree };
            (known.agent, known.id, place, branch, known.started_at)
        }
        None => (said.agent, said.id, said.place, said.branch, said.started_at),
    };
    (!id.is_empty()).then_some(Session { agent, id, file, place, branch, started_at, goal: said.goal })
}

/// A session for tests.
#[cfg(test)]
pub(super) fn example(place: &str, branch: &str, goal: &str) -> Session {
    let epoch = SystemTime::UNIX_EPOCH;
    let state = FileState { inode: 0, length: 0, modified: epoch, changed: epoch, owner: 0 };
    Session {
        agent: "codex".to_owned(),
        id: "s".to_owned(),
        file: SessionFile { path: PathBuf::new(), is_fork: false, state },
        place: place.to_owned(),
        branch: branch.to_owned(),
        started_at: String::new(),
        goal: goal.to_owned(),
    }
}
