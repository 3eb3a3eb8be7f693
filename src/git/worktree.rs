//! The work trees of one repository: which is the main one, and what is checked out here. git is not started.

use std::path::{Path, PathBuf};

use super::repository::{self, GitDirectories};
use super::settings::Settings;
use crate::base::fs::{self, Anchor};

/// The directory for the repositories of submodules in a git directory.
const MODULES: &str = "modules";
/// How many worktrees of a repository are looked at.
const MAX_WORKTREES: usize = 100;
/// More than a HEAD has.
const MAX_HEAD: u64 = 4 << 10;

/// Where a repository keeps what belongs to all its work trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MainTree {
    /// The top of the main work tree.
    Tree(PathBuf),
    /// The repository has no main work tree. This is its common directory.
    Bare(PathBuf),
}

/// The main work tree of the repository, for a linked worktree at `top`, for a submodule in a linked worktree, and for a
/// directory whose `.git` leads to a bare repository. `None` if `top` is the main work tree.
pub(crate) fn main_tree(top: &Path) -> Option<MainTree> {
    let found = repository::directories(top)?;
    if let Some(tree) = main_submodule(&found.common) {
        return Some(MainTree::Tree(tree));
    }
    if !found.is_linked() && !found.is_bare() {
        return None;
    }
    let GitDirectories { common, .. } = found;
    let settings = Settings::read(&common);
    if settings.is_bare() {
        return Some(MainTree::Bare(common));
    }
    let by_name = || common.parent().filter(|_| common.file_name().is_some_and(|name| name == ".git"));
    let tree = settings.worktree(&common).or_else(|| by_name().map(Path::to_path_buf));
    let tree = tree.and_then(|tree| fs::real_if_exists(&tree)).filter(|tree| leads_to(tree, &common));
    Some(tree.map_or(MainTree::Bare(common), MainTree::Tree))
}

/// Whether a directory is the main work tree of the repository whose git directory is `common`: each must lead to the other.
fn leads_to(tree: &Path, common: &Path) -> bool {
    repository::directories(tree).is_some_and(|found| fs::real(&found.private) == common && !found.is_linked())
}

/// The work tree of the same submodule in the main work tree, for the git directory of a submodule in a linked worktree. git
/// gives it a repository of its own, `worktrees/<name>/modules/<submodule>`, which goes away with the worktree.
fn main_submodule(git_directory: &Path) -> Option<PathBuf> {
    modules_around(git_directory).find_map(|(modules, name)| {
        let worktrees = modules.parent()?.parent().filter(|above| above.ends_with("worktrees"))?;
        let main = fs::real_if_exists(&worktrees.with_file_name(MODULES).join(name))?;
        let tree = fs::real_if_exists(&Settings::read(&main).worktree(&main)?)?;
        leads_to(&tree, &main).then_some(tree)
    })
}

/// The directories named `modules` around a git directory, each with the path below it. A submodule may have submodules.
fn modules_around(git_directory: &Path) -> impl Iterator<Item = (&Path, &Path)> {
    let above = git_directory.ancestors().skip(1).filter(|above| above.ends_with(MODULES));
    above.filter_map(|above| Some((above, git_directory.strip_prefix(above).ok()?)))
}

/// The work trees of the same submodule in the linked worktrees, for the git directory of a submodule.
fn linked_submodules(git_directory: &Path) -> Vec<PathBuf> {
    let directories = modules_around(git_directory).filter_map(|(modules, name)| {
        let worktrees = modules.with_file_name("worktrees");
        let names = fs::names_at_most(&worktrees, MAX_WORKTREES)?.into_iter();
        Some(names.map(move |tree| worktrees.join(tree).join(MODULES).join(name)).collect::<Vec<_>>())
    });
    let tree = |directory: PathBuf| fs::real_if_exists(&Settings::read(&directory).worktree(&directory)?);
    directories.flatten().filter_map(tree).collect()
}

/// The directory around `start` that shares its repository with other worktrees, and the place that all of them share. Inside
/// of a bare repository, the directory is the repository itself; what is below it shares nothing.
pub(crate) fn shared_tree(start: &Path) -> Option<(&Path, MainTree)> {
    match repository::boundary(start) {
        Some(top) => {
            let main = main_tree(top)?;
            let is_inside = matches!(&main, MainTree::Bare(common) if fs::real(start).starts_with(common));
            (!is_inside).then_some((top, main))
        }
        None if repository::is_bare_repository(start) => Some((start, MainTree::Bare(fs::real(start)))),
        None => None,
    }
}

/// The tops of the linked worktrees of the repository that the work tree at `top` belongs to, as git knows them. Some may be
/// gone.
pub(crate) fn linked_worktrees(top: &Path) -> Vec<PathBuf> {
    let Some(GitDirectories { common, .. }) = repository::directories(top) else { return Vec::new() };
    let names = Anchor::new(&common).names(Path::new("worktrees")).unwrap_or_default();
    let names = names.into_iter().take(MAX_WORKTREES);
    let back = |name: String| repository::read_pointer(&common.join("worktrees").join(name), "gitdir", b"");
    let linked = names.filter_map(back).filter_map(|back| fs::real_if_exists(back.parent()?));
    linked.chain(linked_submodules(&common)).collect()
}

/// The branch that HEAD names at `top`. `None` if HEAD is detached, or if only git can read it.
pub(crate) fn checked_out_branch(top: &Path) -> Option<String> {
    let GitDirectories { private, .. } = repository::directories(top)?;
    let head = Anchor::new(&private).read_within(Path::new("HEAD"), MAX_HEAD).ok()?;
    let name = String::from_utf8(head).ok()?.trim_end().strip_prefix("ref: refs/heads/")?.to_owned();
    // What a repository with reftables has there.
    (name != ".invalid").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(directory: &Path, arguments: &[&str]) {
        let mut git = std::process::Command::new("git");
        git.current_dir(directory).args(["-c", "user.name=t", "-c", "user.email=t@example"]).args(arguments);
        let ended = git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").output().unwrap();
        assert!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
    }

    #[test]
    fn the_main_tree_is_found_from_each_kind_of_worktree() {
        let world = crate::base::scratch::directory();
        let at = |name: &str| fs::real(world.path()).join(name);
        std::fs::create_dir(at("main")).unwrap();
        git(&at("main"), &["init", "-q", "-b", "trunk"]);
        git(&at("main"), &["commit", "-qm", "x", "--allow-empty"]);
        git(&at("main"), &["worktree", "add", "-q", "-b", "topic/a", "../wt"]);
        git(&at(""), &["clone", "-q", "--bare", "main", "b.git"]);
        git(&at("b.git"), &["worktree", "add", "-q", "-b", "b", "../of-bare"]);
        git(&at("main"), &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../b.git", "sub"]);
        git(&at("main/sub"), &["worktree", "add", "-q", "-b", "s", "../../of-sub"]);
        assert_eq!(main_tree(&at("main")), None);
        assert_eq!(main_tree(&at("main/sub")), None);
        assert_eq!(main_tree(&at("wt")), Some(MainTree::Tree(at("main"))));
        assert_eq!(main_tree(&at("of-bare")), Some(MainTree::Bare(at("b.git"))));
        assert_eq!(main_tree(&at("of-sub")), Some(MainTree::Tree(at("main/sub"))));
        assert_eq!(checked_out_branch(&at("wt")).as_deref(), Some("topic/a"));
        git(&at("wt"), &["checkout", "-q", "--detach"]);
        assert_eq!(checked_out_branch(&at("wt")), None);
        git(&at("main"), &["worktree", "move", "../wt", "../moved"]);
        assert_eq!(main_tree(&at("moved")), Some(MainTree::Tree(at("main"))));
    }
}
