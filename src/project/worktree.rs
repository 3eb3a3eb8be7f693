//! Linked worktrees: where memory, history, state and lock of a repository are.
//!
//! Memory that git does not track belongs to the repository, so all worktrees use that of the main work tree. Memory that
//! git tracks belongs to the branch and stays in its worktree.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::open::DATABASE;
use super::{Options, Project, apart, own_pause_file, place};
use crate::base::fs::{self, Anchor, FileKind};
use crate::base::{env, text};
use crate::config::{Config, Vocabulary};
use crate::error::Result;
use crate::git::{self, Git, MainTree};
use crate::guard::PauseFile;

/// The directory for memory in the common directory of a bare repository.
const IN_BARE: &str = "agent-handover";
/// The last line of the record of a bare repository's worktree.
const BARE: &str = "bare";
/// More than the record of a worktree has.
const MAX_RECORD: u64 = 64 << 10;

/// The place that all worktrees of a repository share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    /// The top of the main work tree, or the common directory of a bare repository.
    pub top: PathBuf,
    /// The directory that corresponds to the root of the project. It may not exist yet.
    pub root: PathBuf,
    /// The repository has no main work tree.
    pub is_bare: bool,
    /// The git directory that all worktrees share.
    pub git: PathBuf,
}

impl Shared {
    /// The place that the project at `root` shares with other worktrees. `None` in the main work tree and outside of
    /// repositories.
    pub(super) fn of(root: &Path) -> Option<Shared> {
        let (worktree, main_tree) = git::shared_tree(root)?;
        let below = root.strip_prefix(worktree).ok()?;
        let (top, start, is_bare) = match main_tree {
            MainTree::Tree(top) => (top.clone(), top, false),
            MainTree::Bare(common) => (common.clone(), common.join(IN_BARE), true),
        };
        let root = if below.as_os_str().is_empty() { start } else { start.join(below) };
        // A link on the way, on whatever branch is checked out there, could lead anywhere.
        let is_plain = match Anchor::new(&top).about(&root) {
            Ok(None) => true,
            Ok(Some(about)) => about.kind == FileKind::Directory,
            Err(_) => false,
        };
        let git = if is_bare { top.clone() } else { git::directories(&top)?.common };
        is_plain.then_some(Shared { top, root, is_bare, git })
    }

    /// The same place, for the project at `root` in the main work tree.
    pub(super) fn of_main_tree(root: &Path) -> Option<Shared> {
        let top = git::top_level(root)?;
        let git = git::directories(top)?.common;
        Some(Shared { top: top.to_path_buf(), root: root.to_path_buf(), is_bare: false, git })
    }

    /// Where memory and state of all worktrees are now. `None` if neither that directory nor one in the user's own state can
    /// be written.
    /// `root` is in a worktree of the repository.
    pub(super) fn place(&self, root: &Path, config: &Config) -> Option<PathBuf> {
        if self.is_writable(config) { Some(self.root.clone()) } else { apart::open(root, self, config) }
    }

    /// Whether memory and state of all worktrees are, or may be, at `memory_root`.
    fn is_at(&self, memory_root: &Path) -> bool {
        self.root == memory_root || apart::is_place_of(memory_root, self)
    }

    /// The path of the project below the top of its work tree.
    fn below(&self) -> Option<&Path> {
        let start = if self.is_bare { self.top.join(IN_BARE) } else { self.top.clone() };
        self.root.strip_prefix(start).ok()
    }

    /// Whether this user can write memory, history and state there.
    pub(super) fn is_writable(&self, config: &Config) -> bool {
        let places = [&config.memory_dir, &config.history_dir, &config.state_dir].map(|place| self.root.join(place));
        places.iter().all(|place| {
            let nearest = place.ancestors().find(|place| fs::exists(place));
            nearest.is_some_and(|place| fs::is_writable(place) && fs::refuse_foreign_owner(place, "directory").is_ok())
        })
    }
}

/// A project in one of several worktrees.
impl Project {
    /// The same project as a session in another worktree of the repository sees it. `worktree` and `mark` are as a run
    /// records them; the mark may be empty.
    pub(crate) fn seen_from(&self, worktree: &str, mark: &str, vocabulary: &Vocabulary) -> Project {
        if worktree == self.worktree() && is_worktree(&self.root, mark) {
            return self.clone();
        }
        let root = if worktree.is_empty() { self.memory_root.clone() } else { PathBuf::from(worktree) };
        let root = self.moved_to(&root, mark).unwrap_or(root);
        let places = |project: Project| Project {
            memory_root: self.memory_root.clone(),
            state: self.state.clone(),
            checkpoint: self.checkpoint.clone(),
            configured_checkpoint: self.configured_checkpoint.clone(),
            accepts: self.accepts,
            ..project
        };
        let is_known = root == self.memory_root
            || Shared::of(&root).is_some_and(|found| found.is_at(&self.memory_root)) && is_worktree(&root, mark);
        if !is_known || !fs::is_directory(&root) {
            let pause_files = vec![own_pause_file(&root)];
            return Project { root, is_gone: true, pause_files, ..self.clone() };
        }
        let opened = Project::open(&root, &Options::default(), vocabulary);
        let opened = opened.ok().filter(|opened| opened.root == root);
        opened.map_or_else(|| Project { root, is_gone: false, ..self.clone() }, places)
    }

    /// Where the worktree that was at `root` is now, if `git worktree move` has moved it. It is known by its git directory.
    fn moved_to(&self, root: &Path, mark: &str) -> Option<PathBuf> {
        let is_here = |root: &Path| Shared::of(root).is_some_and(|found| found.is_at(&self.memory_root));
        if root == self.memory_root || is_here(root) && is_worktree(root, mark) {
            return None;
        }
        let known = recall_at(root)?;
        let mark = if mark.is_empty() { &known.git_mark } else { mark };
        let top = git::top_level(&self.root).filter(|_| !self.is_gone)?;
        let is_same = |top: &PathBuf| git_mark(top).is_some_and(|found| found == mark);
        let moved = git::linked_worktrees(top).into_iter().find(is_same)?;
        let below = known.shared.below()?;
        let moved = if below.as_os_str().is_empty() { moved } else { moved.join(below) };
        is_here(&moved).then_some(moved)
    }

    /// The project as if memory and state were in this worktree itself. `None` if they are, or if the config puts them
    /// outside of it.
    pub(crate) fn with_own_places(&self) -> Option<Project> {
        if self.root == self.memory_root || self.is_gone { None } else { self.with_places_at(&self.root) }
    }

    /// The project with memory and state below another directory. `None` if the config puts them outside of it.
    pub(super) fn with_places_at(&self, memory_root: &Path) -> Option<Project> {
        let state = place(memory_root, &self.config.state_dir).ok()?;
        let checkpoint = state.join(DATABASE);
        let mut local = Project {
            memory_root: memory_root.to_path_buf(),
            configured_checkpoint: checkpoint.clone(),
            checkpoint,
            state,
            ..self.clone()
        };
        local.choose_database().ok()?;
        let places = [Some(local.state.clone()), local.memory_dir().ok(), local.history_dir().ok()];
        places.iter().all(|place| place.as_ref().is_some_and(|place| place.starts_with(memory_root))).then_some(local)
    }

    /// The project with memory and state where they are now, if the place that it had is not the right one any more.
    pub(crate) fn at_present_place(&self) -> Option<Project> {
        let place = self.shared.as_ref()?.place(&self.root, &self.config);
        let has_no_place = place.is_none();
        let moved = self.with_places_at(&place.unwrap_or_else(|| self.root.clone()))?;
        Some(Project { has_no_place, ..moved })
    }

    /// The roots of this project in all work trees of its repository: `memory_root` and this one first.
    pub(crate) fn worktree_roots(&self) -> Vec<PathBuf> {
        let mut roots = vec![self.root.clone()];
        let Some(top) = git::top_level(&self.root).filter(|_| !self.is_gone) else { return roots };
        let below = self.root.strip_prefix(top).unwrap_or(Path::new(""));
        let linked = git::linked_worktrees(top).into_iter().map(|top| top.join(below));
        for root in linked.chain([self.memory_root.clone()]) {
            let root = fs::tidy(&root).unwrap_or(root);
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        roots
    }

    /// The worktree at `root` as a run records it; `None` if it does not share the memory of this project. It fails while
    /// that cannot be known, for example because of its config.
    pub(crate) fn worktree_of(&self, root: &Path, vocabulary: &Vocabulary) -> Result<Option<String>> {
        if root == self.root {
            return Ok(Some(self.worktree()));
        }
        let other = Project::open(root, &Options::default(), vocabulary)?;
        Ok((other.memory_root == self.memory_root).then(|| other.worktree()))
    }

    /// The worktree as a run records it: empty for the directory that memory and state are in.
    pub(crate) fn worktree(&self) -> String {
        if self.root == self.memory_root { String::new() } else { self.root.display().to_string() }
    }

    /// Marks the worktree: another one at the same path has another mark. Empty for the directory that memory and state are
    /// in, and if nothing can be told apart.
    pub(crate) fn worktree_mark(&self) -> String {
        let is_elsewhere = self.root != self.memory_root && !self.is_gone;
        is_elsewhere.then(|| git_mark(&self.root)).flatten().unwrap_or_default()
    }

    /// The git directory of a repository whose memory and state are not in a work tree: the repository is bare, or they are
    /// kept apart. `None` if they are in a work tree.
    pub(crate) fn bare(&self) -> Option<&Path> {
        let shared = self.shared.as_ref().filter(|shared| shared.is_at(&self.memory_root));
        shared.filter(|shared| shared.is_bare || self.is_apart()).map(|shared| &*shared.git)
    }

    /// The directory by which a person knows the project: the main work tree, or the bare repository.
    pub(crate) fn known_root(&self) -> &Path {
        match &self.shared {
            Some(shared) if self.is_apart() && !shared.is_bare => &shared.root,
            _ => self.bare().unwrap_or(&self.memory_root),
        }
    }

    /// Remembers in the user's own state where the memory of this worktree is.
    pub(crate) fn remember_worktree(&self) -> Result<()> {
        match &self.shared {
            Some(shared) if shared.is_at(&self.memory_root) => remember(&self.root, shared),
            _ => Ok(()),
        }
    }

    /// The branch that is checked out, if HEAD can be read without git; empty otherwise.
    pub(crate) fn branch(&self) -> String {
        let top = git::top_level(&self.root).filter(|_| !self.is_gone);
        top.and_then(git::checked_out_branch).unwrap_or_default()
    }

    /// The PAUSE file of the main work tree, which stops all worktrees.
    pub(crate) fn shared_pause_file(&self) -> Option<PauseFile> {
        self.shared.as_ref().map(|shared| own_pause_file(&shared.root))
    }

    /// Creates the directory that all worktrees share. The main work tree may have another branch without it.
    pub(crate) fn prepare_memory_root(&self) -> Result<()> {
        match &self.shared {
            Some(shared) if shared.is_at(&self.memory_root) && self.is_apart() => self.remember_worktree(),
            Some(shared) if shared.root == self.memory_root => {
                // Without the record a session is only lost if its worktree goes away before it ends.
                let _ = self.remember_worktree();
                Ok(Anchor::new(&shared.top).create_directories(&shared.root)?)
            }
            _ => Ok(()),
        }
    }
}

/// Whether git tracks memory or history in the worktree around `root`, or will: they are published on the branch that is
/// checked out. git is asked only if one of the directories is there.
pub(super) fn is_memory_tracked(root: &Path, config: &Config) -> bool {
    let Some(top) = git::top_level(root) else { return false };
    if published_branch(config).is_some_and(|branch| is_checked_out(top, branch)) {
        return true;
    }
    let places = [&config.memory_dir, &config.history_dir].map(|place| root.join(place));
    let is_there = |place: &&PathBuf| place.starts_with(root) && fs::is_taken(place);
    let there: Vec<&PathBuf> = places.iter().filter(is_there).collect();
    // If git does not answer, nothing is moved away from where it is.
    !there.is_empty() && Git::at(root).tracks_any(&there).unwrap_or(true)
}

/// The branch of this repository that the config names for publishing. The index knows about a branch that is only the
/// default.
fn published_branch(config: &Config) -> Option<&str> {
    let backend = config.backend.as_ref();
    let is_here = backend.and_then(|backend| backend.repo_dir.as_deref()).is_none_or(|directory| directory == ".");
    let named = backend.and_then(|backend| backend.branch.as_deref());
    named.or_else(|| config.is_python().then_some("main")).filter(|_| is_here)
}

fn is_checked_out(top: &Path, branch: &str) -> bool {
    // A detached HEAD has no branch, and neither has one that only git can read.
    git::checked_out_branch(top).or_else(|| Git::at(top).branch().ok().flatten()).is_some_and(|found| found == branch)
}

/// A worktree that this user's sessions ran in, as the user's own state remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownWorktree {
    /// The root of the project in the worktree.
    pub root: PathBuf,
    pub shared: Shared,
    /// Marks the git directory of the worktree, which stays the same when the worktree is moved.
    git_mark: String,
}

/// Remembers where the memory of a worktree is, so that a session is not lost if the worktree is gone when it ends. Costs no
/// write if it is known.
fn remember(root: &Path, shared: &Shared) -> Result<()> {
    let paths = [root, &shared.top, &shared.root].map(|path| path.to_str().filter(|path| !path.contains('\n')));
    let (Some(file), [Some(root), Some(top), Some(memory)]) = (record(root), paths) else { return Ok(()) };
    let git_mark = git_mark(Path::new(root)).unwrap_or_default();
    let content = format!("{root}\n{top}\n{memory}\n{}\n{git_mark}\n", if shared.is_bare { BARE } else { "" });
    if fs::read_if_exists(&file)?.as_deref() == Some(content.as_bytes()) {
        return Ok(());
    }
    if let Some(directory) = file.parent() {
        fs::create_private_directories(directory)?;
    }
    // Nobody sweeps this directory, so a kill must not leave a temporary file there. If another process has just written it,
    // it wrote the same.
    fs::write_private(&file, content.as_bytes(), true).map(|_| ())
}

/// The worktree that was at this path or around it, if its repository still exists.
pub(crate) fn recall(path: &Path) -> Option<KnownWorktree> {
    let path = fs::resolve(path).unwrap_or_else(|_| path.to_path_buf());
    path.ancestors().find_map(recall_at)
}

/// The worktree whose project was at exactly this path.
fn recall_at(root: &Path) -> Option<KnownWorktree> {
    let file = record(root).filter(|file| fs::is_file(file))?;
    fs::refuse_foreign_owner(&file, "record").ok()?;
    let content = String::from_utf8(fs::read_within(&file, MAX_RECORD).ok()?).ok()?;
    let mut lines = content.lines();
    let (known, top, memory): (PathBuf, PathBuf, PathBuf) =
        (lines.next()?.into(), lines.next()?.into(), lines.next()?.into());
    let is_bare = lines.next() == Some(BARE);
    let git_mark = lines.next().unwrap_or_default().to_owned();
    let git: PathBuf = if is_bare { PathBuf::from(&top) } else { git::directories(&top)?.common };
    let shared = Shared { top, root: memory, is_bare, git };
    let is_there = known == root && fs::is_directory(&shared.top);
    is_there.then_some(KnownWorktree { root: known, shared, git_mark })
}

/// Marks the git directory of the worktree around a directory, and the one that all worktrees share. `None` where the file
/// system does not know when they were created: another directory may have the same number then.
fn git_mark(directory: &Path) -> Option<String> {
    let found = git::top_level(directory).and_then(git::directories)?;
    let mark = |path: &Path| fs::lasting_mark(path).filter(|mark| !mark.ends_with(":0"));
    Some(format!("{} {}", mark(&found.private)?, mark(&found.common)?))
}

/// Whether the worktree around a directory is the one with this mark. If the whole repository was restored or copied, its
/// path is all that is left to know it by.
fn is_worktree(directory: &Path, mark: &str) -> bool {
    let Some((_, common)) = mark.split_once(' ') else { return true };
    git_mark(directory).is_none_or(|found| found == mark || found.split_once(' ').is_none_or(|(_, now)| now != common))
}

fn record(root: &Path) -> Option<PathBuf> {
    let name = text::digest(root.as_os_str().as_bytes(), 16);
    env::user_state().filter(|_| !cfg!(test)).map(|state| state.join("worktrees").join(name))
}
