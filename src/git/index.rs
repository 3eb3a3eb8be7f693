//! Whether the index names nothing at a path, read from its file: the start of a git process takes much longer.
//!
//! Formats 2 and 3 have each name as it is, so a name that is nowhere in the file is not in the index. Everything else is
//! left to git: a name that is in the file, which may be there for another reason; format 4, which shortens names; an index
//! that is split over two files; one whose entries stand for whole directories; a large one; and names beyond ASCII, which a
//! file system may spell in another way than the index.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::repository::{directories, top_level};
use super::settings::Settings;
use crate::base::fs::{self, Anchor};

/// Larger files take longer than git needs to start.
const MAX_INDEX: u64 = 16 << 20;
/// How a file begins whose format has whole names: a signature and the number of the format.
const WITH_WHOLE_NAMES: [&[u8]; 2] = [b"DIRC\0\0\0\x02", b"DIRC\0\0\0\x03"];
/// The names of the extensions with which names are elsewhere, or stand for more than themselves. A length follows, whose
/// first byte is zero in a file of this size.
const NAMES_ELSEWHERE: [&[u8]; 2] = [b"link\0", b"sdir\0"];

/// Whether the index certainly names none of these paths and nothing below them, in the repository around `start`.
pub(super) fn has_none_of(start: &Path, paths: &[PathBuf]) -> bool {
    looked_up(start, paths).unwrap_or(false)
}

/// `None` if git has to be asked.
fn looked_up(start: &Path, paths: &[PathBuf]) -> Option<bool> {
    let top = top_level(start)?;
    let found = directories(top)?;
    // A linked worktree may have settings of its own.
    let has_worktree = |directory: &Path| Settings::read(directory).worktree(directory).is_some();
    let is_elsewhere =
        found.is_bare() || has_worktree(&found.common) || found.is_linked() && has_worktree(&found.private);
    let (top, here) = (fs::real(top), fs::resolve(start).ok()?);
    let below = |path: &PathBuf| {
        // git follows the links to the directory in which it runs and none below it, where links can be in the index.
        let real = here.join(path.strip_prefix(start).ok()?);
        let below = fs::resolve(path).ok().filter(|found| *found == real)?.strip_prefix(&top).ok()?.to_path_buf();
        (!below.as_os_str().is_empty() && below.as_os_str().as_bytes().is_ascii()).then_some(below)
    };
    let names = paths.iter().map(below).collect::<Option<Vec<PathBuf>>>().filter(|_| !is_elsewhere)?;
    let index = match Anchor::new(&found.private).read_within(Path::new("index"), MAX_INDEX) {
        // Nothing was added yet.
        Err(error) if error.is_absent() => return Some(true),
        index => index.ok()?,
    };
    let has_whole_names = WITH_WHOLE_NAMES.iter().any(|start| index.starts_with(start))
        && NAMES_ELSEWHERE.iter().all(|name| memmem::find(&index, name).is_none());
    let is_absent = |name: &PathBuf| memmem::find(&index, name.as_os_str().as_bytes()).is_none();
    has_whole_names.then(|| names.iter().all(is_absent))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Repository(tempfile::TempDir);

    impl Repository {
        fn new() -> Repository {
            let repository = Repository(crate::base::scratch::directory());
            repository.git(&["init", "--quiet", "--initial-branch=main"]);
            repository.write("src/main.rs");
            repository.write("deep/inside/file");
            repository.write("memory/note.md");
            repository.git(&["add", "src", "deep"]);
            repository
        }

        fn git(&self, arguments: &[&str]) {
            let mut git = std::process::Command::new("git");
            git.current_dir(self.0.path()).args(["-c", "user.name=t", "-c", "user.email=t@example"]).args(arguments);
            let ended = git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").output();
            let ended = ended.unwrap();
            assert!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
        }

        fn write(&self, path: &str) {
            let path = self.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "text").unwrap();
        }

        fn has_none_of(&self, path: &str) -> bool {
            has_none_of(self.0.path(), &[self.0.path().join(path)])
        }
    }

    #[test]
    fn what_the_index_does_not_name_is_known_without_git() {
        let repository = Repository::new();
        for absent in ["memory", "memory/note.md", "memory/.", "not/there", "source", ".agent-history"] {
            assert!(repository.has_none_of(absent), "{absent}");
        }
        for tracked in ["src", "src/main.rs", "src/.", "deep", "deep/inside", "deep/inside/file", "."] {
            assert!(!repository.has_none_of(tracked), "{tracked}");
        }
        repository.git(&["add", "memory"]);
        assert!(!repository.has_none_of("memory"));
        assert!(!has_none_of(repository.0.path(), &["not/there", "memory"].map(|path| repository.0.path().join(path))));
        // A name that only contains the one that is looked for is for git to decide, and so is one that has two spellings.
        assert!(!repository.has_none_of("inside"));
        assert!(!repository.has_none_of("m\u{e9}moire"));
    }

    #[test]
    fn before_the_first_file_is_added_there_is_no_index() {
        let repository = Repository::new();
        std::fs::remove_file(repository.0.path().join(".git/index")).unwrap();
        assert!(repository.has_none_of("src"));
    }

    #[test]
    fn a_path_counts_where_it_leads() {
        let repository = Repository::new();
        // A link in the place of a directory is in the index itself.
        std::os::unix::fs::symlink("memory", repository.0.path().join("shortcut")).unwrap();
        repository.git(&["add", "shortcut"]);
        assert!(repository.has_none_of("memory"));
        assert!(!repository.has_none_of("shortcut"));
        assert!(!repository.has_none_of("memory/../shortcut"));
        let shortcut = repository.0.path().join("shortcut");
        assert!(has_none_of(&shortcut, &[shortcut.join("note.md")]));
        std::os::unix::fs::symlink("src", repository.0.path().join("alias")).unwrap();
        assert!(!repository.has_none_of("alias/main.rs"));
        let outside = crate::base::scratch::directory();
        assert!(!has_none_of(repository.0.path(), &[outside.path().to_path_buf()]));
    }

    #[test]
    fn an_index_of_another_form_is_left_to_git() {
        let changes: [&[&[&str]]; 4] = [
            &[&["update-index", "--index-version", "4"]],
            &[&["update-index", "--split-index"]],
            &[&["commit", "--quiet", "-m", "one"], &["sparse-checkout", "set", "--cone", "--sparse-index", "src"]],
            &[&["config", "core.worktree", "../src"]],
        ];
        for change in changes {
            let repository = Repository::new();
            change.iter().for_each(|arguments| repository.git(arguments));
            assert!(!repository.has_none_of("memory"), "{change:?}");
        }
    }

    #[test]
    fn a_damaged_index_and_a_directory_without_a_repository_are_left_to_git() {
        let repository = Repository::new();
        std::fs::write(repository.0.path().join(".git/index"), "damaged").unwrap();
        assert!(!repository.has_none_of("memory"));
        let outside = crate::base::scratch::directory();
        assert!(!has_none_of(outside.path(), &[outside.path().join("memory")]));
    }

    #[test]
    fn each_worktree_has_an_index_of_its_own() {
        let repository = Repository::new();
        repository.git(&["commit", "--quiet", "-m", "one"]);
        repository.git(&["worktree", "add", "--quiet", "linked"]);
        repository.git(&["add", "memory"]);
        let linked = repository.0.path().join("linked");
        assert!(has_none_of(&linked, &[linked.join("memory")]));
        assert!(!has_none_of(&linked, &[linked.join("src")]));
        assert!(!repository.has_none_of("memory"));
        repository.git(&["config", "extensions.worktreeConfig", "true"]);
        let status = std::process::Command::new("git")
            .current_dir(&linked)
            .args(["config", "--worktree", "core.worktree"])
            .arg(linked.join("deep"))
            .status();
        assert!(status.unwrap().success());
        assert!(!has_none_of(&linked, &[linked.join("memory")]));
    }
}
