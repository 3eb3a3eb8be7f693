//! Keeps our directories out of `git status` through the repository's own `info/exclude`, which is never committed.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Git;
use crate::base::fs;
use crate::error::Result;

const COMMENT: &str = "# agent-handover: session memory, kept out of git status\n";

/// Registers those of `directories` that lie in the work tree around `root` and hold nothing tracked. Says which
/// were added. One git process when there is nothing to do.
pub fn keep_out(root: &Path, directories: &[PathBuf]) -> Result<Vec<String>> {
    let git = Git::at(root);
    // git knows where the file is, also in a worktree or a submodule.
    let answer = git.read(&["rev-parse", "--show-toplevel", "--git-path", "info/exclude"])?;
    let mut lines = answer.split(|byte| *byte == b'\n');
    let (Some(top), Some(file), None) = (lines.next(), lines.next(), lines.next()) else { return Ok(Vec::new()) };
    let top = Path::new(std::ffi::OsStr::from_bytes(top));
    let file = root.join(std::ffi::OsStr::from_bytes(file));

    let old = fs::read_if_exists(&file)?.unwrap_or_default();
    let mut added = Vec::new();
    for directory in directories {
        let Ok(below) = fs::resolve(directory)?.strip_prefix(top).map(Path::to_path_buf) else { continue };
        let pattern = pattern(&below);
        if below.as_os_str().is_empty() || has_line(&old, pattern.as_bytes()) {
            continue;
        }
        let tracked = git.ask(&["ls-files", "-z", "--", &format!(":(top,literal){}", below.display())])?;
        if tracked.status.success() && tracked.stdout.is_empty() {
            added.push(pattern);
        }
    }
    if added.is_empty() {
        return Ok(added);
    }
    let mut new = old;
    if new.last().is_some_and(|last| *last != b'\n') {
        new.push(b'\n');
    }
    if !has_line(&new, COMMENT.trim_end().as_bytes()) {
        new.extend(COMMENT.as_bytes());
    }
    for pattern in &added {
        new.extend(pattern.as_bytes());
        new.push(b'\n');
    }
    if let Some(directory) = file.parent() {
        fs::create_directories(directory)?;
        // Who was killed while writing left the lines missing, so this is where its temporary is found.
        fs::sweep_temporaries(directory, fs::Depth::Directory)?;
    }
    fs::replace(&file, &new)?;
    Ok(added)
}

fn has_line(text: &[u8], line: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').any(|found| found.trim_ascii_end() == line)
}

/// Anchored at the top, for a directory only, and literal: what git would take for a wildcard is escaped.
fn pattern(below: &Path) -> String {
    let mut pattern = String::from("/");
    for c in below.to_string_lossy().chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\' | '!' | '#' | ' ') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('/');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_exactly_one_directory() {
        assert_eq!(pattern(Path::new("memory")), "/memory/");
        assert_eq!(pattern(Path::new("a b/[x]*")), "/a\\ b/\\[x\\]\\*/");
    }
}
