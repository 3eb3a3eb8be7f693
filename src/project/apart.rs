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
use crate::git::Git;
use crate::guard::own_record;

const DIRECTORY: &str = "apart";
/// The copy that is left as it was.
const BASE: &str = "base";
/// Says whose the memory is.
const OF: &str = "of";
/// More than that file has.
const MAX_OF: u64 = 4 << 10;
/// The beginning of the name of memory that is merged.
const MERGED: &str = "merged-";
/// How deep our directories are.
const DEPTH: u32 = 4;

/// Whose memory is kept: the repository, and the directories of the config that it was said with. The worktrees of a
/// repository may have different configs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Of {
    /// Names the git directory, so that the memory is found when the repository was moved, and another repository at the
    /// same path does not get it.
    repository: String,
    /// A digest of the path.
    path: String,
    /// A commit of the repository, which also one that was restored or cloned again has.
    commit: String,
    /// The directories for memory, history and state.
    layout: [String; 3],
}

impl Of {
    /// The fields end with a NUL, which no path has.
    fn read(apart: &Path) -> Option<Of> {
        let text = String::from_utf8(fs::read_within(&apart.join(OF), MAX_OF).ok()?).ok()?;
        let mut fields = text.split_terminator('\0').map(str::to_owned);
        let mut next = || fields.next();
        let (repository, path, commit) = (next()?, next()?, next()?);
        Some(Of { repository, path, commit, layout: [next()?, next()?, next()?] })
    }

    fn write(&self, new: &Path) -> Result<()> {
        let Of { repository, path, commit, layout } = self;
        let fields = [repository, path, commit].into_iter().chain(layout);
        let text: String = fields.flat_map(|field| [field, "\0"]).collect();
        Ok(Anchor::new(new).replace(&new.join(OF), text.as_bytes())?)
    }

    /// Whether the memory belongs to this repository.
    fn is_of(&self, shared: &Shared) -> bool {
        Some(&self.repository) == repository_id(shared).as_ref()
            || self.path == path_digest(&shared.root) && self.has_commit(shared)
    }

    fn has_commit(&self, shared: &Shared) -> bool {
        if self.commit.len() < 40 || !self.commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return false;
        }
        let git = if shared.is_bare { Git::in_bare(&shared.git, &shared.top) } else { Git::at(&shared.top) };
        let object = format!("{}^{{commit}}", self.commit);
        git.ask(&["cat-file", "-e", &object]).is_ok_and(|answer| answer.succeeded)
    }

    /// A config with these directories.
    fn apply(&self, config: &Config) -> Config {
        let mut config = config.clone();
        [config.memory_dir, config.history_dir, config.state_dir] = self.layout.clone();
        config
    }
}

fn layout(config: &Config) -> [String; 3] {
    [&config.memory_dir, &config.history_dir, &config.state_dir].map(Clone::clone)
}

fn repository_id(shared: &Shared) -> Option<String> {
    let mark = fs::lasting_mark(&shared.git)?;
    let below = shared.root.strip_prefix(&shared.top).unwrap_or(&shared.root);
    Some(text::digest(&[mark.as_bytes(), b"\0", below.as_os_str().as_bytes()].concat(), 16))
}

fn above() -> Option<PathBuf> {
    env::user_state().filter(|_| !cfg!(test)).map(|state| state.join(DIRECTORY))
}

/// Where the memory of a repository is while its main work tree cannot be written. `None` without a home directory that can
/// be written.
fn place_for(shared: &Shared, config: &Config) -> Option<PathBuf> {
    let layout = layout(config);
    let name = [repository_id(shared)?, layout.join("\0")].join("\0");
    let directory = above()?.join(text::digest(name.as_bytes(), 16));
    if fs::is_directory(&directory) {
        return Some(directory);
    }
    let other = all().into_iter().find(|(_, of)| of.layout == layout && of.is_of(shared));
    other.map(|(path, _)| path).or_else(|| fs::may_be_directory(&directory).then_some(directory))
}

/// Whether a directory has the memory of this repository.
pub(super) fn is_place_of(directory: &Path, shared: &Shared) -> bool {
    above().is_some_and(|above| directory.starts_with(above)) && Of::read(directory).is_some_and(|of| of.is_of(shared))
}

/// All memory that is kept apart and not merged yet.
fn all() -> Vec<(PathBuf, Of)> {
    let Some(above) = above().filter(|above| fs::is_directory(above)) else { return Vec::new() };
    let names = fs::names(&above).unwrap_or_default().into_iter().filter(|name| !name.starts_with(MERGED));
    names.map(|name| above.join(name)).filter_map(|path| Of::read(&path).map(|of| (path, of))).collect()
}

fn path_digest(path: &Path) -> String {
    text::digest(path.as_os_str().as_bytes(), 16)
}

/// The same as [`place_for`], and makes it if it does not exist. `root` is in a worktree of the repository.
pub(super) fn open(root: &Path, shared: &Shared, config: &Config) -> Option<PathBuf> {
    let apart = place_for(shared, config)?;
    if !fs::is_directory(&apart) {
        // Another process may have been faster.
        let _ = create(root, shared, &apart, config);
    } else if may_read(shared) && !has_words(&apart, config) && !is_copy(&shared.root, &apart, config) {
        let _ = renew(root, shared, &apart, config);
    }
    fs::is_directory(&apart).then_some(apart)
}

/// Makes the directory under another name first, because two processes may do it at once.
fn create(root: &Path, shared: &Shared, apart: &Path, config: &Config) -> Result<()> {
    let above = apart.parent().unwrap_or(apart);
    fs::create_private_directories(above)?;
    let anchor = Anchor::new(above);
    let new = above.join(format!("{MERGED}{}", ids::new_run_id()?));
    let made = copy_places(shared, &new, config)
        .and_then(|()| describe(root, shared, config).write(&new))
        .and_then(|()| Ok(anchor.rename(&new, apart)?));
    if made.is_err() {
        let _ = anchor.remove_tree(&new);
        return made;
    }
    // The copy may hold what came with the repository, so the directory vouches for nothing.
    for text in [&config.memory_dir, &config.history_dir] {
        own_record::unmark_created(&apart.join(text));
    }
    Ok(())
}

/// Replaces a copy in which nobody said anything.
fn renew(root: &Path, shared: &Shared, apart: &Path, config: &Config) -> Result<()> {
    let above = apart.parent().unwrap_or(apart);
    let anchor = Anchor::new(above);
    let old = above.join(format!("{MERGED}{}", ids::new_run_id()?));
    anchor.rename(apart, &old)?;
    if has_words(&old, config) {
        // Somebody has said something just now.
        return Ok(anchor.rename(&old, apart)?);
    }
    create(root, shared, apart, config)?;
    Ok(anchor.remove_tree(&old)?)
}

fn describe(root: &Path, shared: &Shared, config: &Config) -> Of {
    Of {
        repository: repository_id(shared).unwrap_or_default(),
        path: path_digest(&shared.root),
        commit: Git::at(root).head().ok().flatten().map(|head| head.commit).unwrap_or_default(),
        layout: layout(config),
    }
}

fn copy_places(shared: &Shared, new: &Path, config: &Config) -> Result<()> {
    fs::create_private_directories(new)?;
    if !may_read(shared) {
        return Ok(());
    }
    for (from, below) in places(&shared.root, config)? {
        for to in [new.join(&below), new.join(BASE).join(&below)] {
            copy_tree(&Anchor::new(&shared.root), &from, &Anchor::new(new), &to, DEPTH)?;
        }
    }
    Ok(())
}

/// Nobody may read the memory of another user on their behalf.
fn may_read(shared: &Shared) -> bool {
    fs::refuse_foreign_owner(&shared.root, "directory").is_ok()
}

/// The directories of memory and history that are below a directory, and their paths below it.
fn places(root: &Path, config: &Config) -> Result<Vec<(PathBuf, PathBuf)>> {
    let mut places = Vec::new();
    for text in [&config.memory_dir, &config.history_dir] {
        let path = place(root, text)?;
        let below = path.strip_prefix(root).map(Path::to_path_buf);
        places.extend(below.into_iter().map(|below| (path.clone(), below)));
    }
    Ok(places)
}

/// Whether anything was said here, or may have been.
fn has_words(apart: &Path, config: &Config) -> bool {
    fs::is_taken(&apart.join(&config.state_dir)) || !is_copy(apart, apart, config)
}

/// Whether memory and history below `root` are what was copied.
fn is_copy(root: &Path, apart: &Path, config: &Config) -> bool {
    let base = apart.join(BASE);
    let is_same = |(path, below): (PathBuf, PathBuf)| {
        let files = |root: &Path, directory: &Path| {
            let mut files = Vec::new();
            read_tree(&Anchor::new(root), directory, DEPTH, &mut files).ok()?;
            files.sort();
            Some(files)
        };
        files(root, &path).is_some_and(|found| files(apart, &base.join(below)) == Some(found))
    };
    places(root, config).is_ok_and(|places| places.into_iter().all(is_same))
}

/// The regular files of a directory that would be copied, with their content.
fn read_tree(anchor: &Anchor, directory: &Path, depth: u32, files: &mut Vec<(PathBuf, Vec<u8>)>) -> Result<()> {
    if !anchor.is_directory(directory) {
        return Ok(());
    }
    read_below(anchor, directory, Path::new(""), depth, files)
}

fn read_below(
    anchor: &Anchor,
    directory: &Path,
    below: &Path,
    depth: u32,
    files: &mut Vec<(PathBuf, Vec<u8>)>,
) -> Result<()> {
    for (name, _) in anchor.names_and_kinds(&directory.join(below))? {
        let path = below.join(&name);
        match anchor.about(&directory.join(&path))?.map(|about| about.kind) {
            Some(FileKind::Directory) if depth > 0 => read_below(anchor, directory, &path, depth - 1, files)?,
            Some(FileKind::Regular) if !name.ends_with(".tmp") => {
                let content = anchor.read(&directory.join(&path))?;
                files.push((path, content));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Copies the regular files of a directory. Links and special files are left out.
fn copy_tree(source: &Anchor, from: &Path, target: &Anchor, to: &Path, depth: u32) -> Result<()> {
    let mut files = Vec::new();
    read_tree(source, from, depth, &mut files)?;
    if source.is_directory(from) {
        target.create_directories(to)?;
    }
    for (below, content) in files {
        let to = to.join(below);
        target.create_directories(to.parent().unwrap_or(&to))?;
        target.replace(&to, &content)?;
    }
    Ok(())
}

impl Project {
    /// The project with the memory that was kept apart while the main work tree could not be written, once for each layout.
    /// Nothing while this project does not use the main work tree.
    pub(crate) fn kept_apart(&self) -> Vec<Project> {
        let kept = all();
        let Some(shared) = self.shared_by_all().filter(|shared| !kept.is_empty() && shared.root == self.memory_root)
        else {
            return Vec::new();
        };
        let open = |(apart, of): (PathBuf, Of)| {
            let config = of.apply(&self.config);
            let has_words = of.is_of(&shared) && has_words(&apart, &config);
            let project = Project { shared: Some(shared.clone()), config, ..self.clone() };
            has_words.then(|| project.with_places_at(&apart)).flatten()
        };
        kept.into_iter().filter_map(open).collect()
    }

    /// The directories with memory of other repositories that were at the path of this one.
    pub(crate) fn kept_for_others_here(&self) -> Vec<PathBuf> {
        let kept = all();
        let Some(shared) = self.shared_by_all().filter(|_| !kept.is_empty()) else { return Vec::new() };
        let is_other = |(apart, of): &(PathBuf, Of)| {
            of.path == path_digest(&shared.root) && !of.is_of(&shared) && has_words(apart, &of.apply(&self.config))
        };
        kept.into_iter().filter(is_other).map(|(apart, _)| apart).collect()
    }

    fn shared_by_all(&self) -> Option<Shared> {
        self.shared.clone().or_else(|| Shared::of_main_tree(&self.root))
    }

    /// This project with the directories that another one has for memory, history and state. `None` if they cannot be used.
    pub(crate) fn with_layout_of(&self, other: &Project) -> Option<Project> {
        if layout(&self.config) == layout(&other.config) {
            return Some(self.clone());
        }
        Project { config: other.config.clone(), ..self.clone() }.with_places_at(&self.memory_root)
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
        let merged = above.join(format!("{MERGED}{}", ids::new_run_id()?));
        Ok(Anchor::new(above).rename(&self.memory_root, &merged)?)
    }
}
