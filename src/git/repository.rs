//! Where a repository is, found without starting git: every command needs to know, and most need nothing else of git.
//!
//! A directory with a `.git` in it is a repository only if its git directory belongs to it. A stranger's directory can hold
//! a `.git` file, a link or a `commondir` that leads to another repository of this user, whose branches and files are
//! nobody's business here. git itself would follow it.
//!
//! | `.git` is | and belongs to the directory if |
//! |---|---|
//! | a directory | it has no `commondir` |
//! | a file that leads to `<common>/worktrees/<name>` | the `gitdir` there leads back: a linked worktree |
//! | a file or link that leads elsewhere | `core.worktree` there leads back, as in a submodule |
//! | | or the git directory is inside this directory |
//! | | or no other directory can claim it: not bare, no `core.worktree`, not named `.git` |
//!
//! In each case HEAD, the index, the refs and the ref that is checked out must not be links that leave the git directory:
//! the names of files and branches would be those of another repository.
//!
//! The last row is `git init --separate-git-dir`, which writes nothing that leads back. `objects` may be a link or have
//! alternates: without the refs of the other repository, its objects cannot be found.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::parse::is_object_id;
use super::settings::Settings;
use crate::base::fs::{self, Anchor, FileKind};

/// More than a file has that names a directory.
const MAX_POINTER: u64 = 64 << 10;

/// The files of a git directory that say what is checked out. A link that leaves the git directory would make them those
/// of another repository.
const OWN_NAMES: [&str; 6] = ["HEAD", "index", "refs", "refs/heads", "packed-refs", "reftable"];

/// How long an answer about a repository is believed without another look: longer than a look takes, and shorter than any
/// process of git.
const BELIEVED: Duration = Duration::from_millis(2);

/// How often a repository is looked at that changes meanwhile.
const MOST_LOOKS: usize = 8;

/// More than a ref has.
const MAX_REF: u64 = 4 << 10;
/// How often a ref may name another one. git follows fewer.
const MAX_REFS: usize = 8;

/// The git directories of a work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitDirectories {
    /// The git directory of this work tree: its HEAD and its index are here.
    pub private: PathBuf,
    /// The git directory that all work trees of the repository share.
    pub common: PathBuf,
}

impl GitDirectories {
    fn plain(directory: PathBuf) -> GitDirectories {
        GitDirectories { common: directory.clone(), private: directory }
    }

    /// Whether the directory with this `.git` is not a work tree, because the repository is bare.
    pub(super) fn is_bare(&self) -> bool {
        !self.is_linked() && Settings::read(&self.common).is_bare()
    }

    /// Whether `git worktree add` made this work tree.
    pub(crate) fn is_linked(&self) -> bool {
        self.private != self.common
    }
}

/// The nearest directory upward in which git would look for a repository, whether or not it is one.
pub(crate) fn boundary(start: &Path) -> Option<&Path> {
    start.ancestors().find(|directory| fs::exists(&directory.join(".git")))
}

/// The top of the work tree around `start`. `None` also if the nearest `.git` does not belong to its directory, and beside a
/// bare repository, whose worktrees are elsewhere.
pub(crate) fn top_level(start: &Path) -> Option<&Path> {
    boundary(start).filter(|top| known(top).is_some_and(|known| !known.is_bare))
}

/// A sentence about the `.git` of this directory if it is there and git cannot use it: without a HEAD that names a branch or
/// a commit, without objects, or leading nowhere. `None` if it can be used, or if there is none.
pub(crate) fn broken_at(root: &Path) -> Option<String> {
    let link = root.join(".git");
    let directory = match Anchor::new(root).about(Path::new(".git")).ok()??.kind {
        FileKind::Directory => link.clone(),
        FileKind::Regular => {
            let target = read_pointer(root, ".git", b"gitdir: ").and_then(|target| fs::real_if_exists(&target));
            match target {
                // Another check decides whether it belongs to this directory.
                Some(_) => return None,
                None => return Some(format!("`{}` leads to no repository", link.display())),
            }
        }
        _ => return None,
    };
    let head = Anchor::new(&directory).read_within(Path::new("HEAD"), MAX_REF).unwrap_or_default();
    let head = String::from_utf8_lossy(&head);
    let names_something = head.starts_with("ref: refs/") || is_object_id(head.trim());
    let is_whole = names_something && fs::is_directory(&directory.join("objects"));
    (!is_whole).then(|| format!("`{}` is damaged: git cannot use it", link.display()))
}

/// Whether a directory itself is a bare repository.
pub(super) fn is_bare_repository(directory: &Path) -> bool {
    let has = |name: &str| fs::is_directory(&directory.join(name));
    let found = GitDirectories::plain(directory.to_path_buf());
    has("objects") && has("refs") && has_own_names(&found) && found.is_bare()
}

/// The git directories of the work tree at `top`. `None` if its `.git` does not belong to it.
pub(crate) fn directories(top: &Path) -> Option<GitDirectories> {
    known(top).map(|known| known.found)
}

/// What is known of a work tree.
#[derive(Clone)]
struct Known {
    versions: Vec<Option<fs::Version>>,
    /// When the versions were looked at last.
    looked: Instant,
    found: GitDirectories,
    is_bare: bool,
}

/// What is known of the work tree at `top`; `None` if its `.git` does not belong to it.
///
/// One command asks this dozens of times, and each answer takes dozens of system calls. So an answer is kept as long as
/// nothing changed in the places that it depends on, and for an instant without looking at them.
fn known(top: &Path) -> Option<Known> {
    static KNOWN: Mutex<BTreeMap<PathBuf, Known>> = Mutex::new(BTreeMap::new());
    let keep = |known: Known| {
        if let Ok(mut all) = KNOWN.lock() {
            all.insert(top.to_path_buf(), known.clone());
        }
        Some(known)
    };
    let known = KNOWN.lock().ok().and_then(|known| known.get(top).cloned());
    if known.as_ref().is_some_and(|known| known.looked.elapsed() < BELIEVED) {
        return known;
    }
    let looked = Instant::now();
    if let Some(known) = known.filter(|known| known.versions == versions_of(top, &known.found)) {
        return keep(Known { looked, ..known });
    }
    // Most repositories are in `.git`. Of others, nobody knows before the first look what their answer depends on.
    let mut expected = GitDirectories::plain(top.join(".git"));
    let mut agreed = None;
    for _ in 0..MOST_LOOKS {
        let versions = versions_of(top, &expected);
        let found = find_directories(top)?;
        let is_bare = found.is_bare();
        let known = Known { versions, looked, found: found.clone(), is_bare };
        if found == expected && known.versions == versions_of(top, &found) {
            return keep(known);
        }
        agreed = (found == expected).then_some(known);
        expected = found;
    }
    // Branches come and go all the time while git fetches many. Looks that agree are an answer, which is not kept.
    agreed
}

/// The versions of what decides where the git directories are, whether they belong to the work tree, and whether the
/// repository is bare.
fn versions_of(top: &Path, found: &GitDirectories) -> Vec<Option<fs::Version>> {
    let GitDirectories { private, common } = found;
    let link = top.join(".git");
    let files = ["config", "config.worktree", "refs", "refs/heads"].map(|name| common.join(name));
    let elsewhere = [private, common].into_iter().filter(|directory| **directory != link);
    let places = elsewhere.cloned().chain(files).chain([private.join("HEAD"), link.clone()]);
    places.map(|path| fs::version(&path)).collect()
}

fn find_directories(top: &Path) -> Option<GitDirectories> {
    let link = top.join(".git");
    match Anchor::new(top).about(Path::new(".git")).ok()??.kind {
        FileKind::Directory => {
            let anchor = Anchor::new(&link);
            let found = GitDirectories::plain(link);
            (!anchor.is_taken(Path::new("commondir")) && has_own_names(&found)).then_some(found)
        }
        FileKind::Regular => {
            let target = read_pointer(top, ".git", b"gitdir: ")?;
            led_to(top, &fs::real_if_exists(&target)?)
        }
        FileKind::Link => led_to(top, &fs::real_if_exists(&link).filter(|target| fs::is_directory(target))?),
        _ => None,
    }
}

/// The git directories of the work tree at `top`, whose `.git` leads to the git directory at `private`.
fn led_to(top: &Path, private: &Path) -> Option<GitDirectories> {
    if Anchor::new(private).is_taken(Path::new("commondir")) {
        return linked(top, private);
    }
    let settings = Settings::read(private);
    let belongs = match settings.worktree(private) {
        Some(back) => is_same(&back, top),
        None => {
            let is_claimed = settings.is_bare() || private.file_name().is_none_or(|name| name == ".git");
            !is_claimed || private.starts_with(fs::real(top))
        }
    };
    let found = GitDirectories::plain(private.to_path_buf());
    (belongs && has_own_names(&found)).then_some(found)
}

/// The git directories of a linked worktree, if its repository knows it.
fn linked(top: &Path, private: &Path) -> Option<GitDirectories> {
    let common = fs::real_if_exists(&read_pointer(private, "commondir", b"")?)?;
    let back = read_pointer(private, "gitdir", b"")?;
    let belongs = private.parent() == Some(&common.join("worktrees"))
        && back.file_name().is_some_and(|name| name == ".git")
        && back.parent().is_some_and(|back| is_same(back, top));
    let found = GitDirectories { private: private.to_path_buf(), common };
    (belongs && has_own_names(&found)).then_some(found)
}

/// The path in a file of `directory` that leads elsewhere, read exactly as git reads it.
pub(super) fn read_pointer(directory: &Path, name: &str, prefix: &[u8]) -> Option<PathBuf> {
    let text = Anchor::new(directory).read_within(Path::new(name), MAX_POINTER).ok()?;
    pointer(&text, prefix).map(|path| directory.join(path))
}

pub(super) fn pointer(text: &[u8], prefix: &[u8]) -> Option<PathBuf> {
    let mut path = text.strip_prefix(prefix)?;
    while let [rest @ .., b'\n' | b'\r'] = path {
        path = rest;
    }
    (!path.is_empty() && !path.contains(&0)).then(|| PathBuf::from(OsStr::from_bytes(path)))
}

/// Whether no file that says what is checked out is a link that leaves the git directories.
fn has_own_names(found: &GitDirectories) -> bool {
    let mut directories = vec![fs::real(&found.private)];
    directories.extend(found.is_linked().then(|| fs::real(&found.common)));
    let is_own = |name: &Path| directories.iter().all(|directory| is_inside(directory, name));
    OWN_NAMES.iter().all(|name| is_own(Path::new(name))) && has_own_head(found, &is_own)
}

/// Follows HEAD from ref to ref as git does. A single ref can be a link, too.
fn has_own_head(GitDirectories { private, common }: &GitDirectories, is_own: &dyn Fn(&Path) -> bool) -> bool {
    let mut file = private.join("HEAD");
    for _ in 0..MAX_REFS {
        // A link that stays inside is followed: HEAD of an old git is a link to the branch.
        let real = fs::real(&file);
        let Ok(text) = Anchor::beside(&real).read_start(&real, MAX_REF) else { return true };
        let Some(name) = text.strip_prefix(b"ref:") else { return true };
        let name = Path::new(OsStr::from_bytes(name.trim_ascii()));
        if text.len() as u64 >= MAX_REF || !is_own(name) {
            return false;
        }
        file = common.join(name);
    }
    false
}

/// Whether this path below a directory without links stays in it, whatever links are on the way. A path to nothing does.
fn is_inside(directory: &Path, name: &Path) -> bool {
    // Without a link there is nothing to resolve, which costs a system call for each directory above.
    let has_no_link = match Anchor::new(directory).about(name) {
        Ok(found) => found.is_none_or(|about| about.kind != FileKind::Link),
        Err(_) => false,
    };
    if has_no_link {
        return true;
    }
    fs::resolve(&directory.join(name)).is_ok_and(|real| real.starts_with(directory))
}

fn is_same(one: &Path, other: &Path) -> bool {
    fs::real_if_exists(one).is_some_and(|one| one == fs::real(other))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_pointer_is_read_as_git_reads_it() {
        assert_eq!(pointer(b"gitdir: ../x \r\n", b"gitdir: "), Some(PathBuf::from("../x ")));
        assert_eq!(pointer(b"gitdir:../x", b"gitdir: "), None);
        assert_eq!(pointer(b"\n", b""), None);
    }

    /// Files of a directory by path and content; an empty content makes a directory.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let tree = crate::base::scratch::directory();
        for (path, content) in files {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            if content.is_empty() {
                std::fs::create_dir_all(path).unwrap();
            } else {
                std::fs::write(path, content).unwrap();
            }
        }
        tree
    }

    #[test]
    fn a_worktree_counts_only_if_its_repository_leads_back_to_it() {
        let tree = tree(&[
            ("main/.git/config", "[core]\n\tbare = false\n"),
            ("main/.git/worktrees/wt/commondir", "../..\n"),
            ("main/.git/worktrees/wt/gitdir", "../../../../wt/.git\n"),
            ("wt/.git", "gitdir: ../main/.git/worktrees/wt\n"),
            ("thief/.git", "gitdir: ../main/.git/worktrees/wt\n"),
            ("direct/.git", "gitdir: ../main/.git\n"),
            ("forger/.git", "gitdir: own\n"),
            ("forger/own/commondir", "../../main/.git\n"),
            ("forger/own/gitdir", "../.git\n"),
            ("grafted/.git/commondir", "../../main/.git\n"),
        ]);
        let at = |name: &str| tree.path().join(name);
        let found = directories(&at("wt")).unwrap();
        assert!(found.is_linked());
        assert_eq!(found.common, fs::real(&at("main/.git")));
        assert!(!directories(&at("main")).unwrap().is_linked());
        for refused in ["thief", "direct", "forger", "grafted"] {
            assert_eq!(directories(&at(refused)), None, "{refused}");
            assert_eq!(top_level(&at(refused)), None, "{refused}");
            assert_eq!(boundary(&at(refused)), Some(at(refused).as_path()));
        }
    }

    #[test]
    fn a_git_directory_elsewhere_must_belong_to_the_directory() {
        let tree = tree(&[
            ("super/.git/modules/sub/config", "[core]\n\tworktree = ../../../sub\n"),
            ("super/sub/.git", "gitdir: ../.git/modules/sub\n"),
            ("thief/.git", "gitdir: ../super/.git/modules/sub\n"),
            ("apart.git/config", "[core]\n\tbare = false\n"),
            ("apart/.git", "gitdir: ../apart.git\n"),
            ("bare.git/config", "[core]\n\tbare = true\n"),
            ("of-bare/.git", "gitdir: ../bare.git\n"),
            ("hub/.bare/config", "[core]\n\tbare = true\n"),
            ("hub/.git", "gitdir: ./.bare\n"),
            ("private/.git/config", "[core]\n\tbare = false\n"),
            ("private/.git/refs/heads/main", "1\n"),
            ("linked/x", "x"),
            ("inner/.git/objects", ""),
        ]);
        let at = |name: &str| tree.path().join(name);
        std::os::unix::fs::symlink("../private/.git", at("linked/.git")).unwrap();
        std::os::unix::fs::symlink("../../private/.git/refs", at("inner/.git/refs")).unwrap();
        for accepted in ["super/sub", "apart", "hub", "private"] {
            assert!(directories(&at(accepted)).is_some(), "{accepted}");
        }
        for refused in ["thief", "of-bare", "linked", "inner"] {
            assert_eq!(directories(&at(refused)), None, "{refused}");
        }
    }

    #[test]
    fn a_repository_whose_branches_change_all_the_time_is_found() {
        let tree = tree(&[("busy/.git/HEAD", "ref: refs/heads/main\n"), ("busy/.git/refs/heads/main", "1\n")]);
        let top = tree.path().join("busy");
        let (has_started, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::fs::write(top.join(".git/refs/heads/other"), "").unwrap();
                    std::fs::remove_file(top.join(".git/refs/heads/other")).unwrap();
                    has_started.store(true, Ordering::Relaxed);
                }
            });
            while !has_started.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            let missed = (0..5_000).filter(|_| top_level(&top).is_none()).count();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(missed, 0);
        });
    }

    #[test]
    fn no_part_of_what_is_checked_out_may_be_a_link_to_another_repository() {
        let head = "ref: refs/heads/main\n";
        let tree = tree(&[
            ("private/.git/refs/heads/main", "1\n"),
            ("private/.git/index", "DIRC"),
            ("index/.git/HEAD", head),
            ("heads/.git/HEAD", head),
            ("heads/.git/refs", ""),
            ("branch/.git/HEAD", head),
            ("branch/.git/refs/heads", ""),
            ("chain/.git/HEAD", head),
            ("chain/.git/refs/heads/main", "ref:  refs/x/y\n"),
            ("chain/.git/refs/x", ""),
            ("padded/.git/HEAD", &format!("ref: {}refs/x/y\n", " ".repeat(5_000))),
            ("loop/.git/HEAD", "ref: HEAD\n"),
            ("store/worktrees/wt/commondir", "../..\n"),
            ("store/worktrees/wt/gitdir", "../../../wt/.git\n"),
            ("store/worktrees/wt/HEAD", head),
            ("wt/.git", "gitdir: ../store/worktrees/wt\n"),
            ("old/.git/refs/heads/main", "1\n"),
            ("plain/.git/HEAD", head),
        ]);
        let at = |name: &str| tree.path().join(name);
        assert!(directories(&at("wt")).is_some());
        for (link, target) in [
            ("index/.git/index", "../../private/.git/index"),
            ("heads/.git/refs/heads", "../../../private/.git/refs/heads"),
            ("branch/.git/refs/heads/main", "../../../../private/.git/refs/heads/main"),
            ("chain/.git/refs/x/y", "../../../../private/.git/refs/heads/main"),
            ("store/refs", "../private/.git/refs"),
            ("old/.git/HEAD", "refs/heads/main"),
        ] {
            std::os::unix::fs::symlink(target, at(link)).unwrap();
        }
        // What was found before is believed for an instant.
        let start = Instant::now();
        while directories(&at("wt")).is_some() && start.elapsed() < Duration::from_secs(30) {
            std::thread::yield_now();
        }
        for accepted in ["private", "old", "plain"] {
            assert!(directories(&at(accepted)).is_some(), "{accepted}");
        }
        for refused in ["index", "heads", "branch", "chain", "padded", "loop", "wt"] {
            assert_eq!(directories(&at(refused)), None, "{refused}");
        }
    }
}
