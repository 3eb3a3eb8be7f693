//! The root of a project, found from a directory inside it, and whether hooks may act there.
//!
//! The nearest directory upward that has a config or a state directory of ours is the root; else the top of the git work
//! tree; else the directory itself. The search does not leave the git work tree, and it passes over the home directory, `/`,
//! and what another user put into a directory that everybody can write to.

use std::path::{Path, PathBuf};

use super::claim::Claim;
use super::{DATABASE, STATE_DIR};
use crate::base::{env, fs};
use crate::config::{self, Config};
use crate::git;

/// The root of the project around `cwd`, without opening the project.
pub(crate) fn root(cwd: &Path) -> PathBuf {
    find_root(cwd, env::home().as_deref())
}

/// Whether hooks may act in the project around `cwd`. Nobody asked for what a hook does, so it needs a git work tree, or a
/// directory that a person made a project by a config or by a command. The home directory and `/` never are.
pub(crate) fn is_for_hooks(cwd: &Path) -> bool {
    let home = env::home().map(|home| fs::real(&home));
    let root = root(cwd);
    let is_excluded = root.parent().is_none() || home.as_deref() == Some(&*root);
    !is_excluded
        && (work_tree(&root, &|top| !is_top_of_all(top, home.as_deref())).is_some()
            || find_config(&root).is_some()
            || has_our_state(&root))
}

pub(super) fn find_config(directory: &Path) -> Option<PathBuf> {
    let places = [directory.join(config::FILE_NAME), directory.join(STATE_DIR).join(config::FILE_NAME)];
    // A link counts, so that loading it refuses it.
    places.into_iter().find(|path| fs::is_taken(path))
}

fn find_root(cwd: &Path, home: Option<&Path>) -> PathBuf {
    // The current directory has no symlinks, but the home directory may.
    let home = home.map(fs::real);
    let allowed = |directory: &Path| directory == cwd || !is_top_of_all(directory, home.as_deref());
    let top = work_tree(cwd, &allowed);
    // The top of the work tree is the root whoever made what is in it, so nobody needs to look.
    let claims = |directory: &&Path| {
        Some(*directory) == top
            || find_config(directory).is_some_and(|config| !is_planted(&config))
            || has_our_state(directory)
    };
    let below_top = |directory: &&Path| top.is_none_or(|top| directory.starts_with(top));
    let mut upward = cwd.ancestors().take_while(below_top).filter(|directory| allowed(directory));
    upward.find(claims).unwrap_or(cwd).to_path_buf()
}

/// The home directory and `/` are above everything, so what is in them says nothing about what is below.
fn is_top_of_all(directory: &Path, home: Option<&Path>) -> bool {
    directory.parent().is_none() || Some(directory) == home
}

/// The top of the nearest git work tree that counts.
fn work_tree<'p>(start: &'p Path, allowed: &dyn Fn(&Path) -> bool) -> Option<&'p Path> {
    let next = |top: &&'p Path| top.parent().and_then(git::boundary);
    let mut tops = std::iter::successors(git::boundary(start), next);
    // A work tree of the home directory is not the one of what is below it.
    tops.find(|top| !is_planted(&top.join(".git"))).filter(|top| allowed(top))
}

/// Whether another user put this into a directory that everybody can write to, such as `/tmp`.
fn is_planted(path: &Path) -> bool {
    fs::refuse_foreign_owner(path, "directory").is_err() && path.parent().is_some_and(fs::is_open_to_all)
}

/// Whether a directory has a state directory with a database of ours.
fn has_our_state(directory: &Path) -> bool {
    let database = directory.join(STATE_DIR).join(DATABASE);
    let history = directory.join(Config::default().history_dir);
    fs::is_taken(&directory.join(STATE_DIR))
        && Claim { root: directory, history: &history, may_be_foreign: &|| false }.has_ours(&database)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> tempfile::TempDir {
        let directory = crate::base::scratch::directory();
        for path in paths {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        directory
    }

    #[test]
    fn the_root_is_the_nearest_place_with_something_of_ours() {
        let tree =
            tree(&["repo/.git/HEAD", "repo/handover.toml", "repo/a/.agent-handover/x", "repo/a/b/x", "repo/c/x"]);
        let database = tree.path().join("repo/a/.agent-handover/checkpoint.db");
        crate::checkpoint::Store::open(&crate::checkpoint::CheckpointFile::beside(&database)).unwrap();
        let root =
            |from: &str| find_root(&tree.path().join(from), None).strip_prefix(tree.path()).unwrap().to_path_buf();
        assert_eq!(root("repo/a/b"), Path::new("repo/a"));
        assert_eq!(root("repo/c"), Path::new("repo"));
    }

    #[test]
    fn the_root_is_never_above_the_repository_nor_the_home() {
        let tree =
            tree(&["home/handover.toml", "home/repo/.git/HEAD", "home/repo/a/x", "home/plain/x", "home/.git/HEAD"]);
        let home = tree.path().join("home");
        let root = |from: &str| find_root(&home.join(from), Some(&home));
        assert_eq!(root("repo/a"), home.join("repo"));
        assert_eq!(root("plain"), home.join("plain"));
        assert_eq!(find_root(&home, Some(&home)), home);
    }
}
