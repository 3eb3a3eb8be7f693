//! Questions about the local repository. They change nothing and reach no network.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::parse::{self, Change, Commit, is_object_id};
use super::{Failure, Git, Result, head, index, top_level};

/// How long the question may take whether a directory is tracked. A session start waits for it.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// More than the ids of all commits that a branch has.
const MAX_IDS: u64 = 256 << 20;

/// The commit that is checked out.
#[derive(Debug)]
pub(crate) struct Head {
    pub commit: String,
    /// Empty if HEAD is detached.
    pub branch: String,
}

/// Whether git tracks something in this directory. `true` also if git does not answer.
pub(crate) fn may_track(directory: &Path) -> bool {
    let here = PathBuf::from(".");
    top_level(directory).is_some() && Git::at(directory).within(PATIENCE).tracks_any(&[&here]).unwrap_or(true)
}

/// The tree without files, which every repository knows.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// The same in a repository that names objects by SHA-256.
const EMPTY_TREE_OF_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

impl Git {
    /// The commit and the branch that are checked out. `None` before the first commit. A process is started only where the
    /// files of the repository do not answer.
    pub(crate) fn head(&self) -> Result<Option<Head>> {
        if let Some(found) = self.work_tree().and_then(head::read) {
            return Ok(found);
        }
        let answer = self.ask(&["rev-parse", "--quiet", "HEAD^{commit}", "--symbolic-full-name", "HEAD"])?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        let mut lines = text.lines();
        let commit = lines.next().unwrap_or_default().to_owned();
        let branch = lines.next().and_then(|name| name.strip_prefix("refs/heads/")).unwrap_or_default().to_owned();
        Ok((answer.succeeded && is_object_id(&commit)).then_some(Head { commit, branch }))
    }

    /// The branch that is checked out, also before its first commit. `None` if HEAD is detached.
    pub(crate) fn branch(&self) -> Result<Option<String>> {
        let answer = self.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        let name = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        Ok((answer.succeeded && !name.is_empty()).then_some(name))
    }

    /// The best common ancestor. `None` if there is none, or if git no longer knows one of the two.
    pub(crate) fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>> {
        let answer = self.ask(&["merge-base", one, other])?;
        let commit = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        Ok((answer.succeeded && is_object_id(&commit)).then_some(commit))
    }

    /// Whether `new` contains `old`. A commit that is not known here is nobody's ancestor.
    pub(crate) fn is_ancestor(&self, old: &str, new: &str) -> Result<bool> {
        if old == new {
            return Ok(true);
        }
        Ok(self.ask(&["merge-base", "--is-ancestor", old, new])?.succeeded)
    }

    /// Those of these commits that `new` contains.
    pub(crate) fn contained(&self, commits: &[&str], new: &str) -> Result<HashSet<String>> {
        let lines = |ids: &[&str]| ids.iter().map(|id| format!("{id}\n")).collect::<String>();
        // What is not here is not worth fetching for this question.
        let git = self.clone().with_env("GIT_NO_LAZY_FETCH", "1");
        let known = git.must(&["cat-file", "--batch-check"], Some(lines(commits).as_bytes()), MAX_IDS)?;
        let known = String::from_utf8_lossy(&known).into_owned();
        let is_commit = |line: &&str| line.split(' ').nth(1) == Some("commit");
        let known: Vec<&str> = known.lines().filter(is_commit).filter_map(|line| line.split(' ').next()).collect();
        if known.is_empty() {
            return Ok(HashSet::new());
        }
        let input = format!("{}^{new}\n", lines(&known));
        let beyond = git.must(&["rev-list", "--stdin"], Some(input.as_bytes()), MAX_IDS)?;
        let beyond = String::from_utf8_lossy(&beyond).into_owned();
        let beyond: HashSet<&str> = beyond.lines().collect();
        Ok(known.into_iter().filter(|id| !beyond.contains(id)).map(str::to_owned).collect())
    }

    /// Commits after `base` up to `head`, newest first, at most `max`.
    pub(crate) fn log(&self, base: &str, head: &str, max: usize) -> Result<Vec<Commit>> {
        let range = if base.is_empty() { head.to_owned() } else { format!("{base}..{head}") };
        let count = format!("--max-count={max}");
        // `log` reads the user's config. These options switch off what would start another program or change the format.
        let fixed =
            ["log", "-z", "--no-show-signature", "--no-notes", "--no-color", "--no-decorate", "--encoding=UTF-8"];
        let arguments = [&fixed[..], &[parse::LOG_FORMAT, &count, &range, "--"]].concat();
        Ok(parse::log(&self.read(&arguments)?))
    }

    /// Files that differ between two commits; all files of `head` if `base` is empty.
    pub(crate) fn changes(&self, base: &str, head: &str) -> Result<Vec<Change>> {
        let empty = if head.len() == EMPTY_TREE.len() { EMPTY_TREE } else { EMPTY_TREE_OF_SHA256 };
        let base = if base.is_empty() { empty } else { base };
        let answer =
            self.read(&["diff-tree", "-r", "-z", "-M", "-l1000", "--no-ext-diff", "--name-status", base, head, "--"])?;
        Ok(parse::name_status(&answer))
    }

    /// Files that differ from the last commit, staged or not, and untracked files.
    pub(crate) fn dirty(&self) -> Result<Vec<Change>> {
        let arguments = ["status", "--porcelain=v2", "-z", "--untracked-files=normal", "--ignore-submodules=dirty"];
        let answer = self.read(&arguments)?;
        Ok(parse::status(&self.without_unfiltered(answer)?))
    }

    /// Whether the index has a file of this name in the directory of this `Git`.
    pub(crate) fn tracks(&self, name: &OsStr) -> Result<bool> {
        if self.has_none_of(&[&PathBuf::from(name)]) {
            return Ok(false);
        }
        let mut pattern = OsString::from(":(literal)");
        pattern.push(name);
        let answer = self.ask(&["ls-files".as_ref(), "-z".as_ref(), "--".as_ref(), pattern.as_os_str()])?;
        Ok(answer.succeeded && !answer.stdout.is_empty())
    }

    /// Whether the index has a file at or below one of these paths.
    pub(crate) fn tracks_any(&self, paths: &[&PathBuf]) -> Result<bool> {
        if self.has_none_of(paths) {
            return Ok(false);
        }
        let mut arguments: Vec<OsString> = ["ls-files", "-z", "--"].map(OsString::from).to_vec();
        arguments.extend(paths.iter().map(|path| {
            let mut spec = OsString::from(":(literal)");
            spec.push(path);
            spec
        }));
        let answer = self.ask(&arguments)?;
        if !answer.succeeded {
            let said = String::from_utf8_lossy(&answer.stderr);
            return Err(Failure::of_git("`git ls-files` failed".to_owned(), said.trim()));
        }
        Ok(!answer.stdout.is_empty())
    }

    /// Whether the user's index certainly has none of these paths, which are relative to the directory of this `Git`, and
    /// nothing below them.
    fn has_none_of(&self, paths: &[&PathBuf]) -> bool {
        let is_of_user = |directory: &&Path| !directory.as_os_str().is_empty() && self.uses_the_users_index();
        let of = |directory: &Path| paths.iter().map(|path| directory.join(path)).collect::<Vec<PathBuf>>();
        self.work_tree().filter(is_of_user).is_some_and(|directory| index::has_none_of(directory, &of(directory)))
    }

    /// The files in which a merge or a rebase of the user's left a conflict, relative to the top of the work tree.
    pub(crate) fn unmerged(&self) -> Result<Vec<PathBuf>> {
        let answer = self.read(&["ls-files", "--unmerged", "-z", "--full-name"])?;
        Ok(parse::unmerged(&answer))
    }

    /// Fails where this is not a repository that git can use.
    pub(crate) fn check_repository(&self) -> Result<()> {
        self.read(&["rev-parse", "--git-dir"]).map(drop)
    }

    /// The address that a push to this remote goes to.
    pub(crate) fn push_address(&self, remote: &str) -> Result<String> {
        let address = self.read(&["remote", "get-url", "--push", remote])?;
        Ok(String::from_utf8_lossy(&address).into_owned())
    }

    /// The names of the remotes.
    pub(crate) fn remotes(&self) -> Result<Vec<String>> {
        let answer = self.read(&["remote"])?;
        Ok(String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect())
    }

    /// Whether the user's config asks for signed commits.
    pub(crate) fn signs(&self) -> Result<bool> {
        if let Some(signs) = self.known_to_sign() {
            return Ok(signs);
        }
        let answer = self.ask(&["config", "--type=bool", "--get", "commit.gpgsign"])?;
        Ok(answer.succeeded && answer.stdout.starts_with(b"true"))
    }
}
