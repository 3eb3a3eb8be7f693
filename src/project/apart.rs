//! The memory of a repository whose main work tree cannot be written, in the user's own state: the linked worktrees share it,
//! and removing one of them loses nothing.
//!
//! It begins as a copy of the shared memory, so that sessions see what was known. `base` beside it is the same copy, left as
//! it was: a later merge into the main work tree then knows what has changed since.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::worktree::Shared;
use super::{Project, place};
use crate::base::fs::{self, Anchor, FileKind};
use crate::base::{env, ids, text};
use crate::config::Config;
use crate::error::Result;

const DIRECTORY: &str = "apart";
/// The copy that is left as it was.
const BASE: &str = "base";
/// How deep our directories are.
const DEPTH: u32 = 4;

/// Where the memory of the project at `shared` is while that directory cannot be written. `None` without a home directory
/// that can be written.
pub(super) fn place_for(shared: &Path) -> Option<PathBuf> {
    let state = env::user_state().filter(|_| !cfg!(test))?;
    let directory = state.join(DIRECTORY).join(text::digest(shared.as_os_str().as_bytes(), 16));
    fs::may_be_directory(&directory).then_some(directory)
}

/// The same, and makes it if it does not exist.
pub(super) fn open(shared: &Path, config: &Config) -> Option<PathBuf> {
    let apart = place_for(shared)?;
    if !fs::is_directory(&apart) {
        // Another process may have been faster.
        let _ = create(shared, &apart, config);
    }
    fs::is_directory(&apart).then_some(apart)
}

/// Copies memory and history under another name first, because two processes may do it at once.
fn create(shared: &Path, apart: &Path, config: &Config) -> Result<()> {
    let above = apart.parent().unwrap_or(apart);
    fs::create_private_directories(above)?;
    let anchor = Anchor::new(above);
    let new = above.join(ids::new_run_id()?);
    let copied = copy_places(shared, &new, config).and_then(|()| Ok(anchor.rename(&new, apart)?));
    if copied.is_err() {
        let _ = anchor.remove_tree(&new);
    }
    copied
}

fn copy_places(shared: &Path, new: &Path, config: &Config) -> Result<()> {
    fs::create_private_directories(new)?;
    // Nobody may read the memory of another user on their behalf.
    if fs::refuse_foreign_owner(shared, "directory").is_err() {
        return Ok(());
    }
    for text in [&config.memory_dir, &config.history_dir] {
        let from = place(shared, text)?;
        let Ok(below) = from.strip_prefix(shared) else { continue };
        for to in [new.join(below), new.join(BASE).join(below)] {
            copy_tree(&Anchor::new(shared), &from, &Anchor::new(new), &to, DEPTH)?;
        }
    }
    Ok(())
}

/// Copies the regular files of a directory. Links and special files are left out.
fn copy_tree(source: &Anchor, from: &Path, target: &Anchor, to: &Path, depth: u32) -> Result<()> {
    if !source.is_directory(from) {
        return Ok(());
    }
    target.create_directories(to)?;
    for (name, _) in source.names_and_kinds(from)? {
        let (from, to) = (from.join(&name), to.join(&name));
        match source.about(&from)?.map(|about| about.kind) {
            Some(FileKind::Directory) if depth > 0 => copy_tree(source, &from, target, &to, depth - 1)?,
            Some(FileKind::Regular) if !name.ends_with(".tmp") => target.replace(&to, &source.read(&from)?)?,
            _ => {}
        }
    }
    Ok(())
}

impl Project {
    /// The project with the memory that was kept apart while the main work tree could not be written. `None` if there is
    /// none, or if this project uses it.
    pub(crate) fn kept_apart(&self) -> Option<Project> {
        let shared = self.shared.as_ref().map_or(&self.root, |shared| &shared.root);
        let apart = place_for(shared).filter(|apart| self.memory_root != *apart && fs::is_directory(apart))?;
        let shared = self.shared.clone().or_else(|| Shared::of_main_tree(&self.root))?;
        Project { shared: Some(shared), ..self.clone() }.with_places_at(&apart)
    }

    /// Where a directory of the memory that was kept apart has its unchanged copy. `None` if this project does not keep
    /// its memory apart.
    pub(crate) fn base_of(&self, directory: &Path) -> Option<PathBuf> {
        let base = self.memory_root.join(BASE);
        let below = directory.strip_prefix(&self.memory_root).ok()?;
        self.is_apart().then(|| base.join(below))
    }

    /// Whether memory and state are in the user's own state, because the main work tree cannot be written.
    pub(crate) fn is_apart(&self) -> bool {
        env::user_state().is_some_and(|state| self.memory_root.starts_with(state.join(DIRECTORY)))
    }

    /// Moves memory that was kept apart out of the way after it was merged. Nothing is deleted.
    pub(crate) fn put_apart_away(&self) -> Result<()> {
        let above = self.memory_root.parent().unwrap_or(&self.memory_root);
        let merged = above.join(format!("merged-{}", ids::new_run_id()?));
        Ok(Anchor::new(above).rename(&self.memory_root, &merged)?)
    }
}
