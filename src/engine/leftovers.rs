//! Memory that is elsewhere although it belongs to the main work tree. 0.1.0 kept it in each linked worktree. A session that
//! cannot write the main work tree keeps it in the user's own state, or else in its worktree. It is merged once.
//!
//! 1. Runs that are unfinished in the checkpoint there are finished there.
//! 2. Notes, current state and handoffs are merged into those of the main work tree, by run, item and session, as `pull`
//!    does. Merging twice changes nothing, so a kill anywhere is harmless.
//! 3. The originals are moved into `merged` in the worktree's state directory, which git ignores: nothing is merged again,
//!    and `git worktree remove` works.
//! 4. The checkpoint is taken out of use, so that a process that has it open records nothing in it any more, and then moved.
//!    It is the last, because it is the evidence that the files are ours.
//!
//! In the user's own state, steps 3 and 4 rename the whole directory.

use std::path::{Path, PathBuf};

use super::before_run::keep_out_of_git;
use super::event::{Event, Listener};
use super::plan::Plan;
use super::queue::{Drained, Goal, drain_locked, drain_unattended};
use crate::base::fs::{Anchor, FileKind};
use crate::base::lock::Lock;
use crate::base::three_way::Theirs;
use crate::base::{clock, ids};
use crate::checkpoint::Store;
use crate::error::{Error, Result};
use crate::guard::{own_record, registry};
use crate::history::{History, own_keys as history_keys, registry as known_histories};
use crate::memory::{Author, Memory};
use crate::project::Project;
use crate::steps::Provided;

/// The parts of a memory directory that are ours. Other files in it are the user's.
const LAYERS: [&str; 3] = ["layer1", "layer2", "layer3"];
/// How deep our directories are.
const DEPTH: u32 = 4;

/// The project with the memory and state that are elsewhere, once for each place. A second database of ours for the same
/// memory is such a place, too, while something in it is unfinished.
pub(crate) fn left_behind(project: &Project) -> Vec<Project> {
    let places = left_in_worktree(project).into_iter().chain(project.kept_apart());
    places.chain(project.with_other_own_databases()).collect()
}

/// The project with the memory and state that are in this worktree itself, if there are any. Only what our own checkpoint or
/// record vouches for counts: a directory of the same name may be the user's.
fn left_in_worktree(project: &Project) -> Option<Project> {
    let local = project.with_own_places()?;
    let history = local.history_dir().ok()?;
    let anchor = Anchor::new(&local.root);
    let is_vouched_for = || own_record::is_created(&history) || registry::is_remembered_by_0_1_0(&local.root, &history);
    let is_left = anchor.is_regular(&local.checkpoint) || anchor.is_directory(&history) && is_vouched_for();
    is_left.then_some(local)
}

/// Memory in a worktree that is not merged yet.
pub(crate) struct Unmerged {
    /// The oldest run there that is unfinished.
    pub unfinished: Option<String>,
    /// Where that run is, for a person.
    pub place: &'static str,
    /// What there is, for a person. The next handover or session merges it, too.
    pub sentence: &'static str,
}

/// What is left elsewhere, if anything.
pub(crate) fn unmerged(project: &Project) -> Option<Unmerged> {
    let left = left_behind(project);
    let unfinished = left.iter().find_map(|local| {
        let store = Store::read(&local.checkpoint_file()).ok().flatten()?;
        store.oldest_unfinished().ok().flatten()
    });
    let first = left.first()?;
    let (place, sentence) = if first.is_apart() {
        (
            "in your own state",
            "your own state has memory of the time when this repository could not be written: `agent-handover run --resume` merges it",
        )
    } else if first.memory_root == project.memory_root {
        (
            "in a second database of yours",
            "a second database of yours has unfinished handovers: `agent-handover run --resume` finishes them",
        )
    } else {
        (
            "in this worktree itself",
            "this worktree has memory of its own that is not shown here: `agent-handover run --resume` merges it",
        )
    };
    Some(Unmerged { unfinished: unfinished.map(|run| run.id), place, sentence })
}

/// Makes the sessions that the worktree's own checkpoint knows known to the shared one, so that no part of them is handed
/// over twice.
pub(crate) fn adopt_sessions(project: &Project, store: &mut Store) -> Result<()> {
    left_behind(project).iter().try_for_each(|local| adopt_sessions_of(local, project, store))
}

fn adopt_sessions_of(local: &Project, project: &Project, store: &mut Store) -> Result<()> {
    let Some(left) = Store::read(&local.checkpoint_file())? else { return Ok(()) };
    store.adopt_sessions(&left.all_sessions()?, &project.worktree())
}

/// Merges what was left in this worktree. A failure is reported, and what is left waits for the next run.
pub(super) fn bring_home(project: &Project, is_asked: bool, listener: &mut Listener<'_>) {
    if let Some(text) = where_words_are_kept(project) {
        listener(Event::Notice { text });
    }
    for local in left_behind(project) {
        if project.brake().pressed().is_some() {
            return;
        }
        let what =
            if local.is_apart() { "the memory that was kept in your own state" } else { "the memory of this worktree" };
        let no_place = || Error::failed("the directories of its config cannot be used here");
        let target = project.with_layout_of(&local).ok_or_else(no_place);
        let text = match target.and_then(|target| merge(&target, &local, is_asked, listener)) {
            Ok(true) => format!("merged {what} into {}", project.known_root().display()),
            Ok(false) => continue,
            Err(error) => format!("{what} is not merged yet: {}", error.one_line()),
        };
        listener(Event::Notice { text });
    }
}

/// Where the words of a session are, if the main work tree cannot be written.
fn where_words_are_kept(project: &Project) -> Option<String> {
    if project.is_apart() {
        let (main, place) = (project.known_root().display(), project.memory_root.display());
        return Some(format!("`{main}` cannot be written: the words are kept in `{place}` and merged when it can"));
    }
    project.has_no_place.then(|| {
        "neither the main worktree nor your own state can be written: the words are kept in this worktree, so do not \
         remove it before a later handover has merged them"
            .to_owned()
    })
}

/// `false` if another process uses the worktree's own checkpoint, and if there are only runs to finish.
fn merge(project: &Project, local: &Project, is_asked: bool, listener: &mut Listener<'_>) -> Result<bool> {
    local.prepare()?;
    project.prepare()?;
    let Some(lock) = Lock::try_take(&local.lock())? else { return Ok(false) };
    if let Some(text) = keep_out_of_git(project, &Plan::of(&project.config)) {
        listener(Event::Notice { text });
    }
    let has_checkpoint = local.checkpoint_file().is_there();
    if has_checkpoint {
        adopt_sessions_of(local, project, &mut Store::open(&project.checkpoint_file())?)?;
        finish_runs(local, lock, is_asked, listener)?;
    } else {
        drop(lock);
    }
    if local.memory_root == project.memory_root {
        return Ok(false);
    }
    // The lock is free again; nobody but an older version takes it.
    let Some(_lock) = Lock::try_take(&local.lock())? else { return Ok(false) };
    let moved = [merge_memory(project, local)?, merge_history(project, local)?].concat();
    // Only now: whoever finds the checkpoint out of use may rely on the rest being merged.
    let is_finished = !has_checkpoint || Store::open(&local.checkpoint_file())?.retire()?;
    if local.is_apart() {
        return if is_finished { local.put_apart_away().map(|()| true) } else { Ok(true) };
    }
    let aside = local.state.join("merged").join(ids::new_run_id()?);
    for path in &moved {
        move_aside(local, path, &aside)?;
    }
    // What is left in it are the user's own files.
    let _ = Anchor::new(&local.root).remove_empty_directory_lazily(&local.memory_dir()?);
    if is_finished && has_checkpoint {
        // A foreign database may have the usual name. It stays where it is.
        for ending in ["-shm", "-wal", ""] {
            let mut path = local.checkpoint.clone().into_os_string();
            path.push(ending);
            move_aside(local, Path::new(&path), &aside)?;
        }
    }
    Ok(true)
}

/// Finishes the runs that are unfinished in the worktree.
fn finish_runs(local: &Project, lock: Lock, is_asked: bool, listener: &mut Listener<'_>) -> Result<()> {
    let mut store = Store::open(&local.checkpoint_file())?;
    let drained = if is_asked {
        drain_locked(local, &mut store, Goal::Resume, lock, &Provided::default(), listener)?
    } else {
        drain_unattended(local, &mut store, lock, listener)?
    };
    if let Drained::Tried { failures, .. } = drained {
        for failure in failures {
            let text = format!("handover {}: {}", ids::short_run_id(&failure.run), failure.error.one_line());
            listener(Event::Notice { text });
        }
    }
    Ok(())
}

/// The project with the place that its memory has now, if another process has merged and put away the place that it had when
/// this process began. `None` if nothing of the sort has happened.
pub(super) fn reopen(project: &Project) -> Result<Option<Project>> {
    if !project.is_apart() && !project.has_no_place {
        return Ok(None);
    }
    let is_retired = || match Store::read(&project.checkpoint_file())? {
        Some(store) => store.is_retired(),
        None => Ok(!project.checkpoint_file().is_there()),
    };
    if !is_retired()? {
        return Ok(None);
    }
    // A process that was killed in between has merged everything.
    if project.is_apart()
        && project.checkpoint_file().is_there()
        && let Some(_lock) = Lock::try_take(&project.lock())?
        && is_retired()?
    {
        project.put_apart_away()?;
    }
    Ok(project.at_present_place())
}

/// Merges the layers, and returns the paths that are merged.
fn merge_memory(project: &Project, local: &Project) -> Result<Vec<PathBuf>> {
    let (from, to) = (local.memory_dir()?, project.memory_dir()?);
    let anchor = local.anchor(&from);
    let mut theirs = Vec::new();
    for layer in LAYERS {
        read_files(&anchor, &from, Path::new(layer), DEPTH, &mut theirs)?;
    }
    compare_with_base(local, &from, &mut theirs)?;
    if theirs.is_empty() {
        return Ok(Vec::new());
    }
    if is_ours(local, &from) {
        own_record::remember(
            Memory::at(&local.memory_root, from.clone()).pieces()?.into_iter().map(|piece| piece.key),
        )?;
    }
    let their_time = anchor.about(&from.join("layer2/current-state.md"))?.map(|about| about.modified);
    let run = ids::new_run_id()?;
    let author = Author {
        run: &run,
        step: "merge",
        at: clock::now(),
        agent: "",
        tag: &project.config.tag,
        commit: "",
        branch: "",
        is_late: false,
    };
    let memory = Memory::at(&project.memory_root, to);
    memory.absorb(&author, &project.config.categories, &theirs, their_time, &project.brake())?;
    Ok(LAYERS.iter().map(|layer| from.join(layer)).collect())
}

/// Merges the handoffs, and returns the path that is merged.
fn merge_history(project: &Project, local: &Project) -> Result<Vec<PathBuf>> {
    let (from, to) = (local.history_dir()?, project.history_dir()?);
    let mut theirs = Vec::new();
    read_files(&local.anchor(&from), &from, Path::new(""), DEPTH, &mut theirs)?;
    compare_with_base(local, &from, &mut theirs)?;
    if theirs.is_empty() {
        return Ok(Vec::new());
    }
    if is_ours(local, &from) {
        let keys = History::at(&local.memory_root, from.clone()).own_keys()?.0;
        let names = theirs.iter().filter_map(|theirs| theirs.path.strip_prefix("sessions").ok()?.to_str());
        let names = names.map(|name| history_keys::of_name_in(&to, name));
        own_record::remember(keys.into_iter().chain(names))?;
    }
    History::at(&project.memory_root, to.clone()).absorb(&theirs, &project.brake())?;
    known_histories::remember(&project.memory_root, &to);
    Ok(vec![from])
}

/// Whether everything in this directory was written by this user's runs. Memory that is kept apart begins as a copy of what
/// may have come with the repository; what runs of this user add there is on record already.
fn is_ours(local: &Project, directory: &Path) -> bool {
    if local.is_apart() {
        return false;
    }
    let history = local.history_dir().unwrap_or_default();
    registry::is_remembered_by_0_1_0(&local.root, &history) || own_record::is_created(directory)
}

/// The regular files below a directory. Links and special files are left where they are.
fn read_files(anchor: &Anchor, base: &Path, below: &Path, depth: u32, files: &mut Vec<Theirs>) -> Result<()> {
    for (name, _) in anchor.names_and_kinds(&base.join(below))? {
        let path = below.join(&name);
        match anchor.about(&base.join(&path))?.map(|about| about.kind) {
            Some(FileKind::Directory) if depth > 0 => read_files(anchor, base, &path, depth - 1, files)?,
            Some(FileKind::Regular) if !name.ends_with(".tmp") => {
                let now = Some(anchor.read(&base.join(&path))?);
                files.push(Theirs { path, base: None, now });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Adds what the files were when the memory was copied, and the files that are gone since.
fn compare_with_base(local: &Project, directory: &Path, files: &mut Vec<Theirs>) -> Result<()> {
    let Some(base) = local.base_of(directory) else { return Ok(()) };
    let mut before = Vec::new();
    read_files(&local.anchor(&base), &base, Path::new(""), DEPTH, &mut before)?;
    for Theirs { path, now: base, .. } in before {
        match files.iter_mut().find(|file| file.path == path) {
            Some(file) => file.base = base,
            None => files.push(Theirs { path, base, now: None }),
        }
    }
    Ok(())
}

/// Moves a file or directory of the worktree into a directory of its state.
fn move_aside(local: &Project, path: &Path, aside: &Path) -> Result<()> {
    let anchor = Anchor::new(&local.root);
    if anchor.about(path)?.is_none() {
        return Ok(());
    }
    let to = aside.join(path.strip_prefix(&local.root).unwrap_or(path));
    if let Some(directory) = to.parent() {
        anchor.create_directories(directory)?;
    }
    Ok(anchor.rename(path, &to)?)
}
