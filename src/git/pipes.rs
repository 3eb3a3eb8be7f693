//! Named pipes in the place of files that git reads. git would wait for their other end until its time is up, so they are
//! looked for before it starts. An unpacked archive can hold them; a clone cannot.
//!
//! Before git starts, only files that cost one system call each are looked at: those that every git reads, the branch that is
//! checked out, and those that the repository's own configuration names. The others, such as an object, another branch or a
//! `.gitignore` deep in the tree, are searched while a git runs that does not answer. A pipe that was found is remembered, so
//! that no other git of the same process waits for it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::failure::{Failure, Result};
use super::repository::{GitDirectories, directories};
use crate::base::env;
use crate::base::fs::{self, Anchor, FileKind};
use crate::error::Error;

const IN_GIT_DIRECTORY: &[&str] = &["HEAD", "index", "commondir", "config.worktree", "info/sparse-checkout"];
const IN_COMMON_DIRECTORY: &[&str] = &[
    "config",
    "packed-refs",
    "shallow",
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "objects/info/alternates",
    "objects/info/commit-graph",
];
const IN_WORK_TREE: &[&str] = &[".git", ".gitignore", ".gitattributes", ".gitmodules", ".mailmap"];

/// The last part of the keys whose values are files that git reads.
const KEYS: &[&str] = &["path", "excludesfile", "attributesfile", "file"];

/// How long the search in a whole repository may take.
const SEARCH: Duration = Duration::from_secs(1);

/// The pipe that the last search found.
static FOUND: Mutex<Option<PathBuf>> = Mutex::new(None);

/// More than the name of a branch has.
const MAX_HEAD: u64 = 4 << 10;
/// More than a configuration file has.
const MAX_CONFIG: u64 = 1 << 20;

/// Refuses a repository in which git would wait for a pipe.
pub(super) fn refuse(top: &Path) -> Result<()> {
    let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner).clone();
    look(found.filter(|path| is_read_in(top, path)))?;
    look(IN_WORK_TREE.iter().map(|name| top.join(name)))?;
    let Some(GitDirectories { private, common }) = directories(top) else { return Ok(()) };
    refuse_below(top, &private, &common)
}

/// Whether a git in this work tree may read this file.
fn is_read_in(top: &Path, path: &Path) -> bool {
    path.starts_with(top) || directories(top).is_some_and(|found| path.starts_with(found.common))
}

/// Like [`refuse`], but searches everything that git may read, as far as there is time.
pub(super) fn search(top: &Path) -> Result<()> {
    let git = directories(top).map(|found| found.common).unwrap_or_else(|| top.join(".git"));
    let deadline = Instant::now() + SEARCH;
    let found = first_pipe(&git, |_| true, deadline).or_else(|| {
        // A repository inside of the work tree is asked what it has checked out.
        let is_of_other =
            |path: &Path| path.strip_prefix(top).is_ok_and(|below| below.iter().any(|name| name == ".git"));
        let is_read = |path: &Path| IN_WORK_TREE.iter().any(|name| path.ends_with(name)) || is_of_other(path);
        first_pipe(top, is_read, deadline)
    });
    FOUND.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&found);
    look(found)
}

/// The first pipe below a directory that git reads.
fn first_pipe(directory: &Path, is_read: impl Fn(&Path) -> bool, deadline: Instant) -> Option<PathBuf> {
    let anchor = Anchor::new(directory);
    // The git directory of the work tree itself is searched as a whole.
    let own = directory.join(".git");
    let mut left = vec![directory.to_path_buf()];
    while let Some(directory) = left.pop() {
        for (name, kind) in anchor.names_and_kinds(&directory).unwrap_or_default() {
            if Instant::now() > deadline {
                return None;
            }
            let path = directory.join(&name);
            match kind {
                FileKind::Directory if path != own => left.push(path),
                FileKind::Fifo | FileKind::Link | FileKind::Unknown if is_read(&path) && fs::is_pipe(&path) => {
                    return Some(path);
                }
                _ => {}
            }
        }
    }
    None
}

/// Like [`refuse`], for a bare repository.
pub(super) fn refuse_in(repository: &Path) -> Result<()> {
    refuse_below(repository, repository, repository)
}

fn refuse_below(top: &Path, private: &Path, common: &Path) -> Result<()> {
    look(IN_GIT_DIRECTORY.iter().map(|name| private.join(name)))?;
    look(IN_COMMON_DIRECTORY.iter().map(|name| common.join(name)))?;
    let head = fs::read_within(&private.join("HEAD"), MAX_HEAD).unwrap_or_default();
    look(String::from_utf8_lossy(&head).strip_prefix("ref: ").map(|branch| common.join(branch.trim())))?;
    for config in [common.join("config"), private.join("config.worktree")] {
        let text = fs::read_within(&config, MAX_CONFIG).unwrap_or_default();
        look(named_files(&String::from_utf8_lossy(&text), config.parent().unwrap_or(top), top))?;
    }
    Ok(())
}

fn look(paths: impl IntoIterator<Item = PathBuf>) -> Result<()> {
    match paths.into_iter().find(|path| fs::is_pipe(path)) {
        None => Ok(()),
        Some(path) => {
            let message = format!("`{}` is a named pipe, which git would wait for", path.display());
            Err(Failure::of_answer(Error::failed(message).hint("move it away, then try again")))
        }
    }
}

/// The files that a configuration names. git takes relative ones from the directory of the configuration or from the work
/// tree, depending on the key, so both are returned.
fn named_files(text: &str, beside: &Path, top: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in text.lines() {
        // A variable may follow the name of its section on one line.
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.rsplit(']').next().unwrap_or(key).trim().to_lowercase();
        let value = value.trim().trim_matches('"');
        if !KEYS.contains(&key.as_str()) || value.is_empty() {
            continue;
        }
        match (value.strip_prefix("~/"), env::home()) {
            (Some(rest), Some(home)) => files.push(home.join(rest)),
            _ => files.extend([beside.join(value), top.join(value)]),
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_a_configuration_names_are_found() {
        let text = "[core]\n\texcludesFile = a\n[include] path = \"/b\"\n[user]\n\tname = path\n[mailmap]\nfile=../c\n";
        let found = named_files(text, Path::new("/x/.git"), Path::new("/x"));
        let found: Vec<_> = found.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(found, ["/x/.git/a", "/x/a", "/b", "/b", "/x/.git/../c", "/x/../c"]);
    }
}
