//! Where a repository is, found without starting git: every command needs to know, and most need nothing else of git.

use std::path::{Path, PathBuf};

/// The top of the work tree around `start`.
pub fn top_level(start: &Path) -> Option<&Path> {
    start.ancestors().find(|directory| directory.join(".git").exists())
}

/// The git directory of the work tree at `top`, and the one it shares with the other work trees of its repository.
pub fn directories(top: &Path) -> Option<(PathBuf, PathBuf)> {
    let link = top.join(".git");
    let private = if link.is_dir() {
        link
    } else {
        let text = std::fs::read_to_string(&link).ok()?;
        top.join(text.strip_prefix("gitdir:")?.trim())
    };
    let common = std::fs::read_to_string(private.join("commondir")).ok();
    let common = common.map_or_else(|| private.clone(), |common| private.join(common.trim()));
    Some((private, common))
}
