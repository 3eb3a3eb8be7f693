//! The commit that is checked out, read from the files of the repository: most commands need nothing else of git, and the
//! start of a process costs more than the rest of their question.
//!
//! Only what cannot be misread is answered here: HEAD is a commit or names a branch, and the branch is a file, a line of
//! `packed-refs`, or not there yet. For reftables, refs that name other refs, damage and everything unexpected, git is asked.

use std::path::Path;

use super::parse::is_object_id;
use super::question::Head;
use super::repository::{GitDirectories, directories, top_level};
use crate::base::fs::Anchor;

/// More than a file has that names one commit or one branch.
const MAX_REF: u64 = 4 << 10;
/// Longer lists of packed refs are left to git, which does not read all of them.
const MAX_PACKED: u64 = 1 << 20;
const BRANCHES: &str = "refs/heads/";

/// What HEAD names in the work tree around `start`: `Some(None)` before the first commit of its branch. `None` if git has to
/// be asked.
pub(super) fn read(start: &Path) -> Option<Option<Head>> {
    let GitDirectories { private, common } = directories(top_level(start)?)?;
    let common = Anchor::new(&common);
    let head = line(&Anchor::new(&private), Path::new("HEAD"))??;
    let found = match head.strip_prefix("ref: ") {
        None => Head { commit: head, branch: String::new() },
        Some(name) => {
            let branch = name.strip_prefix(BRANCHES)?.to_owned();
            // git moves a ref into the list before it removes the file, so this order finds it.
            let commit = match line(&common, Path::new(name))? {
                Some(commit) => Some(commit),
                None => packed(&common, name)?,
            };
            match commit {
                Some(commit) => Head { commit, branch },
                None => return is_plain(&branch).then_some(None),
            }
        }
    };
    (is_object_id(&found.commit) && may_have(&common, &found.commit)).then_some(Some(found))
}

/// Whether git allows this name for a branch, as far as it is plain. Reftables leave a name that is not allowed in HEAD.
fn is_plain(branch: &str) -> bool {
    branch.split('/').all(|part| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with(".lock")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    }) && !branch.contains("..")
}

/// The only line of a file; `Some(None)` if the file is missing, `None` if it does not have exactly one line.
fn line(anchor: &Anchor, path: &Path) -> Option<Option<String>> {
    let Some(text) = anchor.read_text(path, MAX_REF).ok()? else { return Some(None) };
    let line = text.strip_suffix('\n')?;
    (!line.contains(['\n', '\r'])).then(|| Some(line.to_owned()))
}

/// The commit of a ref in the list of packed refs; `Some(None)` if the list does not have it.
fn packed(common: &Anchor, name: &str) -> Option<Option<String>> {
    let text = common.read_text(Path::new("packed-refs"), MAX_PACKED).ok()?.unwrap_or_default();
    let mut entries = text.lines().filter_map(|line| line.split_once(' '));
    Some(entries.find(|(_, found)| *found == name).map(|(commit, _)| commit.to_owned()))
}

/// Whether the repository has a place for this commit: a file of its own, or packs. Without either it is damaged, and git
/// says how.
fn may_have(common: &Anchor, commit: &str) -> bool {
    let objects = Path::new("objects");
    let is_there = |path: &Path| matches!(common.about(path), Ok(Some(_)));
    is_there(&objects.join(&commit[..2]).join(&commit[2..]))
        || is_there(&objects.join("info/alternates"))
        || common.names(&objects.join("pack")).is_ok_and(|names| !names.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(directory: &Path, arguments: &[&str]) -> String {
        let mut git = std::process::Command::new("git");
        git.current_dir(directory).args(["-c", "user.name=t", "-c", "user.email=t@example"]).args(arguments);
        let ended = git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").output().unwrap();
        assert!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8(ended.stdout).unwrap().trim().to_owned()
    }

    fn assert_as_git_says(directory: &Path) {
        let found = read(directory).unwrap().unwrap();
        assert_eq!(found.commit, git(directory, &["rev-parse", "HEAD"]));
        let name = git(directory, &["rev-parse", "--symbolic-full-name", "HEAD"]);
        assert_eq!(found.branch, name.strip_prefix(BRANCHES).unwrap_or_default());
    }

    #[test]
    fn head_is_what_git_says_it_is() {
        let world = crate::base::scratch::directory();
        let main = world.path().join("main");
        std::fs::create_dir_all(main.join("deep/er")).unwrap();
        git(&main, &["init", "-q", "-b", "topic/a"]);
        assert!(matches!(read(&main), Some(None)), "there is no commit");
        git(&main, &["commit", "-qm", "x", "--allow-empty"]);
        assert_as_git_says(&main);
        assert_as_git_says(&main.join("deep/er"));
        git(&main, &["worktree", "add", "-q", "-b", "side", "../linked"]);
        git(&world.path().join("linked"), &["commit", "-qm", "y", "--allow-empty"]);
        assert_as_git_says(&world.path().join("linked"));
        assert_as_git_says(&main);
        git(&main, &["gc", "-q"]);
        assert_as_git_says(&main);
        assert!(!main.join(".git/refs/heads/topic/a").exists(), "the ref is packed");
        // A file is newer than the list.
        git(&main, &["commit", "-qm", "z", "--allow-empty"]);
        assert_as_git_says(&main);
        git(&main, &["checkout", "-q", "--detach"]);
        assert_as_git_says(&main);
        git(&main, &["checkout", "-q", "--orphan", "new"]);
        assert!(matches!(read(&main), Some(None)), "the branch has no commit");
    }

    #[test]
    fn git_is_asked_where_files_do_not_say_it() {
        let world = crate::base::scratch::directory();
        let commit = |name: &str| {
            let place = world.path().join(name);
            std::fs::create_dir(&place).unwrap();
            git(&place, &["init", "-q", "-b", "main"]);
            git(&place, &["commit", "-qm", "x", "--allow-empty"]);
            place
        };
        let symbolic = commit("symbolic");
        git(&symbolic, &["symbolic-ref", "refs/heads/other", "refs/heads/main"]);
        git(&symbolic, &["symbolic-ref", "HEAD", "refs/heads/other"]);
        assert!(read(&symbolic).is_none());
        let elsewhere = commit("elsewhere");
        std::fs::write(elsewhere.join(".git/HEAD"), "ref: refs/remotes/origin/main\n").unwrap();
        assert!(read(&elsewhere).is_none());
        let damaged = commit("damaged");
        std::fs::remove_dir_all(damaged.join(".git/objects")).unwrap();
        std::fs::create_dir_all(damaged.join(".git/objects/pack")).unwrap();
        assert!(read(&damaged).is_none(), "the commit is gone");
        let odd = commit("odd");
        std::fs::write(odd.join(".git/refs/heads/main"), "not a commit\n").unwrap();
        assert!(read(&odd).is_none());
        for name in [".invalid", "a/../none", "a..b", "a.lock", "a b", "", "a//b", "a~1", "\u{e4}"] {
            std::fs::write(odd.join(".git/HEAD"), format!("ref: refs/heads/{name}\n")).unwrap();
            assert!(read(&odd).is_none(), "{name}");
        }
        // A directory is in the place of the branch.
        std::fs::create_dir(odd.join(".git/refs/heads/topic")).unwrap();
        std::fs::write(odd.join(".git/HEAD"), "ref: refs/heads/topic\n").unwrap();
        assert!(read(&odd).is_none());
    }
}
