//! Keeps our directories out of `git status` through the repository's own `info/exclude`, which is never committed.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::settings::Settings;
use super::{Failure, Git, repository};
use crate::base::fs::{self, Anchor};
use crate::error::{Error, Result};

/// Longer lists are left to git.
const MAX_EXCLUDE: u64 = 1 << 20;
const COMMENT: &str = "# agent-handover: session memory, kept out of git status\n";

/// Registers those of `directories` that are in the work tree around `root` and contain nothing that git tracks. Returns
/// the patterns that were added. Starts no git process if all of them are in the file that git usually has. A link in the
/// place of the file or of its directory is refused: the repository could lead us to any file of the user.
pub(crate) fn keep_out(root: &Path, directories: &[PathBuf]) -> Result<Vec<String>> {
    if is_kept_out(root, directories) == Some(true) {
        return Ok(Vec::new());
    }
    let git = Git::at(root);
    // git knows where the file is, even in a linked work tree or a submodule.
    let answer =
        git.read(&["rev-parse", "--show-toplevel", "--git-path", "info/exclude"]).map_err(Failure::into_error)?;
    let mut lines = answer.split(|byte| *byte == b'\n');
    let (Some(top), Some(file), None) = (lines.next(), lines.next(), lines.next()) else {
        return Err(Error::failed("the name of the directory has a line break in it"));
    };
    let top = Path::new(std::ffi::OsStr::from_bytes(top));
    let file = root.join(std::ffi::OsStr::from_bytes(file));
    let Some((git_dir, info)) = file.parent().and_then(|info| Some((info.parent()?, info))) else {
        return Ok(Vec::new());
    };
    let git_dir = Anchor::new(git_dir);
    git_dir.create_directories(info)?;
    // Worktrees share the file.
    let _alone = git_dir.lock_directory(info)?;
    let old = git_dir.read_if_exists(&file)?.unwrap_or_default();
    let mut added = Vec::new();
    for directory in directories {
        let Ok(below) = fs::resolve(directory)?.strip_prefix(top).map(Path::to_path_buf) else { continue };
        let pattern = pattern(&below);
        if below.as_os_str().is_empty() || has_line(&old, &pattern) {
            continue;
        }
        if pattern.contains(&b'\n') {
            return Err(Error::failed("the name of a directory has a line break in it"));
        }
        if git.tracks_any(&[&top.join(&below)]).is_ok_and(|is_tracked| !is_tracked) {
            added.push(pattern);
        }
    }
    if added.is_empty() {
        return Ok(Vec::new());
    }
    let mut new = old;
    if new.last().is_some_and(|last| *last != b'\n') {
        new.push(b'\n');
    }
    if !has_line(&new, COMMENT.trim_end().as_bytes()) {
        new.extend(COMMENT.as_bytes());
    }
    for pattern in &added {
        new.extend(pattern);
        new.push(b'\n');
    }
    // A process that was killed while it wrote left the lines missing, so its temporary file is found here.
    git_dir.sweep_temporaries(info, fs::Depth::Directory)?;
    git_dir.replace(&file, &new)?;
    Ok(shown(&added))
}

/// Whether the file has a line for each of these directories that is in the work tree. `None` if only git knows where the
/// top of the work tree is.
fn is_kept_out(root: &Path, wanted: &[PathBuf]) -> Option<bool> {
    let top = fs::real(repository::top_level(root)?);
    let common = repository::directories(&top)?.common;
    if Settings::read(&common).worktree(&common).is_some() {
        return None;
    }
    let lines = Anchor::new(&common).read_within(Path::new("info/exclude"), MAX_EXCLUDE).ok()?;
    let is_listed = |directory: &PathBuf| {
        let real = fs::resolve(directory).ok()?;
        Some(real.strip_prefix(&top).map_or(true, |below| has_line(&lines, &pattern(below))))
    };
    wanted.iter().map(is_listed).collect::<Option<Vec<_>>>().map(|listed| listed.into_iter().all(|is| is))
}

fn has_line(text: &[u8], line: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|found| found.trim_ascii_end() == line)
}

fn shown(patterns: &[Vec<u8>]) -> Vec<String> {
    patterns.iter().map(|pattern| String::from_utf8_lossy(pattern).into_owned()).collect()
}

/// The pattern for a directory: anchored at the top, literal, with wildcards escaped.
fn pattern(below: &Path) -> Vec<u8> {
    let mut pattern = b"/".to_vec();
    for byte in below.as_os_str().as_bytes() {
        if b"*?[]\\!# ".contains(byte) {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    pattern.push(b'/');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_exactly_one_directory() {
        assert_eq!(pattern(Path::new("memory")), b"/memory/");
        assert_eq!(pattern(Path::new("a b/[x]*")), b"/a\\ b/\\[x\\]\\*/");
    }
}
