//! Asks git what happened since the last session, and which recorded items belong to another branch.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use chrono::{DateTime, FixedOffset};

use super::item::item;
use crate::git::{self, Change, Commit, Git, Head, Relation};
use crate::history;
use crate::memory::state::Item;
use crate::project::Project;

/// How long git may take. A person waits for the session to start, so later answers are left out.
const PATIENCE: Duration = Duration::from_millis(1_500);
const MAX_COMMITS: usize = 100;
/// For how many commits git is asked whether they are in HEAD.
const MAX_RELATIONS: usize = 60;

/// The end of an earlier session, which git compares HEAD with.
#[derive(Clone, Debug)]
pub(super) struct Base {
    /// A commit, by its full or partial id.
    pub commit: String,
    pub at: Option<DateTime<FixedOffset>>,
    /// Whether the session ended with a handover. Otherwise somebody recorded an item.
    pub is_handover: bool,
}

impl Base {
    pub(super) fn handover(commit: String, at: &str) -> Base {
        Base { commit, at: history::time_of(at), is_handover: true }
    }

    pub(super) fn item(item: &Item) -> Base {
        Base { commit: item.commit.clone(), at: history::time_of(&item.at), is_handover: false }
    }

    /// Whether this is later than the other, and at another commit.
    pub(super) fn follows(&self, other: &Base) -> bool {
        let is_later = self.at.zip(other.at).is_some_and(|(this, other)| this > other);
        is_later && !self.is_at(&other.commit)
    }

    fn is_at(&self, commit: &str) -> bool {
        commit.starts_with(&self.commit)
    }
}

/// The answers of git.
#[derive(Default)]
pub(super) struct Since {
    pub head: Option<Head>,
    /// The end of the last session, if git was asked about it.
    pub base: Option<(Base, Relation)>,
    /// The newest commits; there may be more.
    pub commits: Vec<Commit>,
    pub changes: Vec<Change>,
    pub dirty: Vec<Change>,
    relations: Vec<(String, Relation)>,
    pub notices: Vec<String>,
    /// Whether git said what is checked out.
    has_answered: bool,
}

/// What is not committed in a work tree. git takes its time for the answer, so it is asked while other things are read.
pub(crate) struct WorkTree {
    root: PathBuf,
    asked: Option<JoinHandle<git::Result<Vec<Change>>>>,
    is_unwanted: Arc<AtomicBool>,
}

impl WorkTree {
    /// Asks git about the work tree around `root`. `None` outside of work trees.
    fn ask(root: &Path) -> Option<WorkTree> {
        git::top_level(root)?;
        let is_unwanted = Arc::new(AtomicBool::new(false));
        let (place, flag) = (root.to_path_buf(), Arc::clone(&is_unwanted));
        let asked = std::thread::Builder::new().spawn(move || WorkTree::dirty(&place, flag));
        Some(WorkTree { root: root.to_path_buf(), asked: asked.ok(), is_unwanted })
    }

    /// Asks git if a session was recorded in this project: only then does a warmup need the answer.
    pub(crate) fn ask_if_used(project: &Project) -> Option<WorkTree> {
        project.checkpoint_file().is_there().then(|| WorkTree::ask(&project.root)).flatten()
    }

    fn answer(mut self) -> git::Result<Vec<Change>> {
        let answer = self.asked.take().and_then(|asked| asked.join().ok());
        answer.unwrap_or_else(|| WorkTree::dirty(&self.root, Arc::clone(&self.is_unwanted)))
    }

    fn dirty(root: &Path, is_unwanted: Arc<AtomicBool>) -> git::Result<Vec<Change>> {
        Git::at(root).within(PATIENCE).until(Rc::new(move || is_unwanted.load(Ordering::Relaxed))).dirty()
    }
}

/// A git whose answer nobody needs is ended, and does not outlive this process.
impl Drop for WorkTree {
    fn drop(&mut self) {
        self.is_unwanted.store(true, Ordering::Relaxed);
        if let Some(asked) = self.asked.take() {
            let _ = asked.join();
        }
    }
}

/// The end of the label of an item that another branch has.
pub(super) const NOT_HERE: &str = ", which is not in this branch)";

impl Since {
    /// Asks git about the first base whose commit it knows. For each, this starts at most five processes, and none if nothing
    /// was committed since; one more looks at the work tree, unless it has done so already.
    pub(super) fn ask(root: &Path, bases: Vec<Base>, commits: &BTreeSet<String>, work_tree: Option<WorkTree>) -> Since {
        let Some(work_tree) = work_tree.or_else(|| WorkTree::ask(root)) else { return Since::default() };
        let mut bases = bases.into_iter().peekable();
        let mut since = loop {
            let since = Since::ask_about(root, bases.next(), commits);
            let is_known = since.base.as_ref().is_none_or(|(_, relation)| *relation != Relation::Unknown);
            if is_known || bases.peek().is_none() {
                break since;
            }
        };
        match work_tree.answer() {
            // git has failed at a simpler question, and has said why.
            _ if !since.has_answered => {}
            Ok(dirty) => since.dirty = dirty,
            Err(error) => since.notices.push(format!("git: {}", error.without_words())),
        }
        since
    }

    fn ask_about(root: &Path, base: Option<Base>, commits: &BTreeSet<String>) -> Since {
        let mut since = Since::default();
        let git = || Git::at(root).within(PATIENCE);
        match git().head() {
            Ok(head) => (since.head, since.has_answered) = (head, true),
            Err(error) => {
                since.notices.push(format!("git did not answer: {}", error.without_words()));
                return since;
            }
        }
        let head = since.head.as_ref().map(|head| head.commit.clone()).unwrap_or_default();
        let base = base.filter(|_| git::is_object_id(&head));
        let moved = base.as_ref().filter(|base| !base.is_at(&head)).map(|base| base.commit.clone());
        let mut asked: Vec<String> = moved.iter().cloned().collect();
        let others = commits.iter().filter(|commit| git::is_part_of_id(commit) && !head.starts_with(commit.as_str()));
        asked.extend(others.cloned());
        asked.dedup();
        asked.truncate(MAX_RELATIONS);
        // These do not depend on each other, and most of their time is the start of a process.
        let (relations, after) = std::thread::scope(|scope| {
            let after = moved.as_ref().map(|base| scope.spawn(|| git().since(base, &head, MAX_COMMITS + 1)));
            let relations = git().relations(&asked, &head);
            (relations, after.map(std::thread::ScopedJoinHandle::join))
        });
        let mut report = |error: git::Failure| since.notices.push(format!("git: {}", error.without_words()));
        match relations {
            Ok(relations) if !head.is_empty() => since.relations = relations,
            Ok(_) => {}
            Err(error) => report(error),
        }
        since.base = base.map(|base| {
            let relation = moved.as_ref().map_or(Relation::Ancestor, |moved| relation_of(&since.relations, moved));
            (base, relation)
        });
        match after {
            Some(Ok(Ok((commits, changes)))) => (since.commits, since.changes) = (commits, changes),
            // If git does not know the base, its relation already says so.
            Some(Ok(Err(error))) if since.base.as_ref().is_some_and(|(_, is)| *is != Relation::Unknown) => {
                since.notices.push(format!("git: {}", error.without_words()));
            }
            _ => {}
        }
        since
    }

    /// The label of an item that was recorded at this commit of this branch.
    pub(super) fn label(&self, commit: &str, branch: &str) -> String {
        let branch = Some(item(branch, 60)).filter(|branch| !branch.is_empty() && branch != "unknown");
        let on = branch.map(|branch| format!(" on {branch}")).unwrap_or_default();
        match self.relations.iter().find(|(known, _)| known == commit).map(|(_, relation)| *relation) {
            Some(Relation::Aside) => format!(" (from commit {}{on}{NOT_HERE}", short(commit)),
            Some(Relation::Unknown) => format!(" (from commit {}, which is not known here)", short(commit)),
            Some(Relation::Ancestor) | None => String::new(),
        }
    }

    /// Whether commits since the base changed a file. What is not committed is listed by itself.
    pub(super) fn has_changed(&self, path: &str) -> bool {
        let is_it = |change: &Change| change.path == path || change.from.as_deref() == Some(path);
        self.changes.iter().any(is_it)
    }

    pub(super) fn commit_count(&self) -> String {
        match self.commits.len() {
            more if more > MAX_COMMITS => format!("more than {MAX_COMMITS} commits"),
            count => crate::base::text::count(count, "commit"),
        }
    }
}

fn relation_of(relations: &[(String, Relation)], commit: &str) -> Relation {
    relations.iter().find(|(known, _)| known == commit).map_or(Relation::Unknown, |(_, relation)| *relation)
}

pub(super) fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
