//! Where a repository is, found without starting git: every command needs to know, and most need nothing else of git.

use std::path::{Path, PathBuf};

use crate::base::fs;

/// More than a file has that names a directory.
const MAX_POINTER: u64 = 64 << 10;

/// The top of the work tree around `start`.
pub(crate) fn top_level(start: &Path) -> Option<&Path> {
    start.ancestors().find(|directory| fs::exists(&directory.join(".git")))
}

/// The git directory of the work tree at `top`, and the one it shares with the other work trees of its repository.
pub(crate) fn directories(top: &Path) -> Option<(PathBuf, PathBuf)> {
    let link = top.join(".git");
    let read = |path: &Path| String::from_utf8(fs::read_within(path, MAX_POINTER).ok()?).ok();
    let private = if fs::is_directory(&link) { link } else { top.join(read(&link)?.strip_prefix("gitdir:")?.trim()) };
    let common = read(&private.join("commondir"));
    let common = common.map_or_else(|| private.clone(), |common| private.join(common.trim()));
    Some((private, common))
}
