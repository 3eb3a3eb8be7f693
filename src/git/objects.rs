//! Trees, commits, refs and index entries. Nothing here changes a work tree or HEAD, or runs a hook. The index is the one
//! that `GIT_INDEX_FILE` names; only `reset_paths` is meant for the user's.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::budget::WaitsFor;
use super::command::Asked;
use super::failure::{Failure, is_ref_race};
use super::parse::{self, Difference};
use super::{FailureKind, Git, Result};
use crate::error::Error;

/// How much of other machines' files is read at once. Nobody writes that much by hand.
const MAX_BLOBS: u64 = 1 << 30;

/// How many paths one git process gets on its command line.
const PATHS_AT_ONCE: usize = 500;

/// For each commit, the run that its message names: empty if no handover made it.
const RUN_FORMAT: &str = "--format=%x00%(trailers:key=Handover-Run,valueonly,separator=%x2C)";
/// For each commit, also its id and those of its parents.
const COMMIT_FORMAT: &str = "--format=%x01%H %P%x02%(trailers:key=Handover-Run,valueonly,separator=%x2C)%x02";

/// Where a branch is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tip {
    pub commit: String,
    pub tree: String,
    /// The work tree in which it is checked out.
    pub checked_out: Option<PathBuf>,
    /// The ref that the branch is only another name for.
    pub symbolic: Option<String>,
}

/// A commit that one history has and another has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommitBetween {
    pub id: String,
    pub parents: Vec<String>,
    /// A handover made it.
    pub is_run: bool,
    /// The files that it changed against its first parent.
    pub paths: Vec<PathBuf>,
}

impl Git {
    /// The branch or other ref that this local branch is only another name for; `None` if it is a branch of its own.
    pub(crate) fn symbolic_target(&self, branch: &str) -> Result<Option<String>> {
        let answer = self.ask(&["symbolic-ref", "--quiet", &format!("refs/heads/{branch}")])?;
        let target = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        Ok(Some(target).filter(|target| answer.succeeded && !target.is_empty()))
    }

    /// Where a local branch is. `None` if there is no such branch.
    pub(crate) fn tip(&self, branch: &str) -> Result<Option<Tip>> {
        let name = format!("refs/heads/{branch}");
        let format = "--format=%(refname)%00%(objectname)%00%(tree)%00%(worktreepath)%00%(symref)";
        let answer = self.must(&["for-each-ref", format, &name], None, 1 << 20)?;
        // The pattern `a` also matches a branch `a/b`.
        for line in answer.split(|byte| *byte == b'\n') {
            let fields: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            if let [found, commit, tree, place, symref] = fields.as_slice()
                && *found == name.as_bytes()
            {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let checked_out = (!place.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(place)));
                let symbolic = Some(text(symref)).filter(|target| !target.is_empty());
                return Ok(Some(Tip { commit: text(commit), tree: text(tree), checked_out, symbolic }));
            }
        }
        Ok(None)
    }

    /// The commit that a ref names. `None` if there is no such ref.
    pub(crate) fn commit_of(&self, name: &str) -> Result<Option<String>> {
        let answer = self.ask(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])?;
        let commit = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        Ok(Some(commit).filter(|_| answer.succeeded))
    }

    /// Fills the index with a tree. Entries that stay the same keep what they know of the file on disk.
    pub(crate) fn read_tree(&self, tree: &str) -> Result<()> {
        self.must(&["read-tree", "-m", tree], None, 1_000).map(drop)
    }

    /// Fills an empty index with the merge of two commits over their base.
    pub(crate) fn read_merge(&self, base: &str, ours: &str, theirs: &str) -> Result<()> {
        self.must(&["read-tree", "-i", "-m", "--aggressive", base, ours, theirs], None, 1_000).map(drop)
    }

    /// Updates the index entries of these paths from the files on disk, ignored or not, byte for byte: no attribute of a file
    /// changes what is stored. `no_files` is the tree without files.
    pub(crate) fn add(&self, paths: &[PathBuf], no_files: &str) -> Result<()> {
        let attributes = format!("--attr-source={no_files}");
        let add = ["add", "--all", "--force", "--sparse", "--"];
        let with = |options: &[&str]| {
            let arguments = options.iter().map(OsString::from).chain(paths.iter().map(OsString::from));
            self.must(&arguments.collect::<Vec<_>>(), None, 1 << 20).map(drop)
        };
        match with(&[&[attributes.as_str()], add.as_slice()].concat()) {
            // git before 2.41 converts what attributes say.
            Err(failure) if failure.names_unknown_option() => with(&add).and_then(|()| self.store_unconverted(paths)),
            done => done,
        }
    }

    /// Replaces the index entries of the files that attributes convert by what the files hold.
    fn store_unconverted(&self, paths: &[PathBuf]) -> Result<()> {
        let list = ["ls-files", "-z", "--stage", "--"].map(OsString::from);
        let list: Vec<OsString> = list.into_iter().chain(paths.iter().map(OsString::from)).collect();
        let files = parse::staged_files(&self.must(&list, None, MAX_BLOBS)?);
        let names =
            files.iter().flat_map(|(_, path)| [path.as_os_str().as_bytes(), b"\0"].concat()).collect::<Vec<_>>();
        let converting = ["text", "crlf", "eol", "ident", "working-tree-encoding"];
        let ask = [["check-attr", "-z", "--stdin"].as_slice(), &converting].concat();
        let converted = parse::attributed(&self.must(&ask, Some(&names), MAX_BLOBS)?);
        let converted: Vec<_> = files.iter().filter(|(_, path)| converted.contains(path)).collect();
        for some in converted.chunks(PATHS_AT_ONCE) {
            let hash = ["hash-object", "-w", "--no-filters", "--"].map(OsString::from);
            let hash: Vec<OsString> = hash.into_iter().chain(some.iter().map(|(_, path)| path.into())).collect();
            let ids = String::from_utf8_lossy(&self.must(&hash, None, 1 << 20)?).into_owned();
            let entry = |((mode, path), id): (&&(String, PathBuf), &str)| {
                [format!("{mode} {id} 0\t").as_bytes(), path.as_os_str().as_bytes(), b"\0"].concat()
            };
            let entries: Vec<u8> = some.iter().zip(ids.lines()).flat_map(entry).collect();
            self.must(&["update-index", "-z", "--index-info"], Some(&entries), 1_000)?;
        }
        Ok(())
    }

    /// Writes the index as a tree.
    pub(crate) fn write_tree(&self) -> Result<String> {
        self.id(&["write-tree"], None)
    }

    /// The tree of a commit.
    pub(crate) fn tree_of(&self, commit: &str) -> Result<String> {
        self.id(&["rev-parse", "--verify", "--quiet", &format!("{commit}^{{tree}}")], None)
    }

    /// Writes a commit. No branch moves.
    pub(crate) fn commit_tree(&self, tree: &str, parents: &[&str], message: &str, sign: bool) -> Result<String> {
        let mut arguments = vec!["commit-tree"];
        arguments.push(if sign { "-S" } else { "--no-gpg-sign" });
        for parent in parents {
            arguments.extend(["-p", parent]);
        }
        arguments.extend(["-F", "-", tree]);
        if !sign {
            return self.id(&arguments, Some(message.as_bytes()));
        }
        let git = self.waiting_for(WaitsFor::Signing);
        git.id(&arguments, Some(message.as_bytes())).map_err(Failure::at_signing)
    }

    /// Moves a ref from `old`, or makes it where `old` is `None`. `false` if somebody else was faster.
    pub(crate) fn move_ref(&self, name: &str, new: &str, old: Option<&str>) -> Result<bool> {
        let none = "0".repeat(new.len());
        let arguments = ["update-ref", "-m", "agent-handover", name, new, old.unwrap_or(&none)];
        let answer = self.ask(&arguments)?;
        if answer.succeeded {
            return Ok(true);
        }
        let said = String::from_utf8_lossy(&answer.stderr);
        if is_ref_race(&said) { Ok(false) } else { Err(Failure::of_git("`git update-ref` failed", said.trim())) }
    }

    /// The files that differ between two trees. Without an old tree, all files of the new one.
    pub(crate) fn differences(&self, old: Option<&str>, new: &str) -> Result<Vec<Difference>> {
        match old {
            Some(old) => {
                let arguments = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", old, new, "--"];
                Ok(parse::raw_differences(&self.must(&arguments, None, MAX_BLOBS)?))
            }
            None => Ok(parse::tree(&self.must(&["ls-tree", "-r", "-z", "--full-tree", new], None, MAX_BLOBS)?)),
        }
    }

    /// Begins to ask which files differ between a tree and the index.
    pub(crate) fn begin_differences_of_index(&self, tree: &str) -> Result<Asked> {
        let arguments = ["diff-index", "--cached", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff"];
        self.begin(&[&arguments[..], &[tree, "--"]].concat(), None)
    }

    /// The files that differ between a tree and the index.
    pub(crate) fn differences_of_index(asked: Asked) -> Result<Vec<Difference>> {
        Ok(parse::raw_differences(&asked.must(MAX_BLOBS)?))
    }

    /// The contents of these objects, in their order. `None` for an object that is not a file.
    pub(crate) fn blobs(&self, ids: &[&str]) -> Result<Vec<Option<Vec<u8>>>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let answer = self.must(&["cat-file", "--batch"], Some(input.as_bytes()), MAX_BLOBS)?;
        let mut rest = answer.as_slice();
        let mut blobs = Vec::with_capacity(ids.len());
        for id in ids {
            let missing = || {
                let error = Error::failed(format!("git does not have the object {id}"))
                    .hint("`git fsck` says what else is missing; `git fetch --refetch` brings it back");
                Failure::new(FailureKind::Damaged, error)
            };
            let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(missing)?;
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let mut words = head.split(' ').skip(1);
            let kind = words.next().unwrap_or_default();
            let size: usize = words.next().and_then(|size| size.parse().ok()).ok_or_else(missing)?;
            let content = rest.get(end + 1..end + 1 + size).ok_or_else(missing)?;
            blobs.push((kind == "blob").then(|| content.to_vec()));
            rest = rest.get(end + 2 + size..).unwrap_or_default();
        }
        Ok(blobs)
    }

    /// The objects that a push of `commit` would send to a repository that has `there`, each file with its path.
    pub(crate) fn objects_to_send(&self, commit: &str, there: Option<&str>) -> Result<Vec<(String, PathBuf)>> {
        let mut arguments = vec!["rev-list", "--objects", commit];
        if let Some(there) = there {
            arguments.extend(["--not", there]);
        }
        let answer = self.must(&arguments, None, MAX_BLOBS)?;
        let named = answer.split(|byte| *byte == b'\n').filter_map(|line| {
            let space = line.iter().position(|byte| *byte == b' ')?;
            let id = String::from_utf8_lossy(&line[..space]).into_owned();
            (space + 1 < line.len()).then(|| (id, PathBuf::from(OsStr::from_bytes(&line[space + 1..]))))
        });
        Ok(named.collect())
    }

    /// The paths of all files of a tree.
    pub(crate) fn paths_of(&self, tree: &str) -> Result<Vec<PathBuf>> {
        let answer = self.must(&["ls-tree", "-r", "--name-only", "-z", "--full-tree", tree], None, MAX_BLOBS)?;
        let names = answer.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
    }

    /// Whether a handover made every root commit of a commit's history.
    pub(crate) fn is_begun_by_us(&self, commit: &str) -> Result<bool> {
        let arguments = ["log", "--no-show-signature", "--no-color", "--max-parents=0", RUN_FORMAT, commit, "--"];
        let answer = self.must(&arguments, None, 16 << 20)?;
        let text = String::from_utf8_lossy(&answer).into_owned();
        Ok(text.split('\0').skip(1).all(|run| !run.trim().is_empty()))
    }

    /// The commits that `new` has and `old` has not, each before its parents.
    pub(crate) fn commits_between(&self, old: Option<&str>, new: &str) -> Result<Vec<CommitBetween>> {
        let range = old.map_or_else(|| new.to_owned(), |old| format!("{old}..{new}"));
        let fixed = ["log", "--no-show-signature", "--no-color", "-z", "--name-only", "--no-renames", "--no-ext-diff"];
        let order = ["--topo-order", "--diff-merges=first-parent", COMMIT_FORMAT, &range, "--"];
        let answer = self.must(&[&fixed[..], &order].concat(), None, MAX_BLOBS)?;
        let mut commits = Vec::new();
        // Each commit is a 0x01, its id and parents, a 0x02, the run, a 0x02, and the names of its files.
        for commit in answer.split(|byte| *byte == 1).skip(1) {
            let mut parts = commit.splitn(3, |byte| *byte == 2);
            let mut part = || parts.next().unwrap_or_default();
            let ids = String::from_utf8_lossy(part()).into_owned();
            let mut ids = ids.split_ascii_whitespace().map(str::to_owned);
            let (id, parents) = (ids.next().unwrap_or_default(), ids.collect());
            let is_run = !part().trim_ascii().is_empty();
            let names = part().split(|byte| matches!(byte, 0 | b'\n')).filter(|name| !name.is_empty());
            let paths = names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
            commits.push(CommitBetween { id, parents, is_run, paths });
        }
        Ok(commits)
    }

    /// What the commits that `new` has and `old` has not did to files below these paths, the newest first: whether a handover
    /// made the commit, and the files.
    pub(crate) fn commits_with_files(
        &self,
        old: Option<&str>,
        new: &str,
        paths: &[PathBuf],
    ) -> Result<Vec<(bool, Vec<Difference>)>> {
        let fixed = ["log", "--no-show-signature", "--no-color", "-z", "--raw", "--no-abbrev", "--no-renames"];
        let range = old.map_or_else(|| new.to_owned(), |old| format!("{old}..{new}"));
        let order = ["--no-ext-diff", "--topo-order", "--diff-merges=first-parent", COMMIT_FORMAT, &range, "--"];
        let mut arguments: Vec<&OsStr> = fixed.iter().chain(&order).map(OsStr::new).collect();
        let specs: Vec<PathBuf> = paths.iter().map(|path| literal(path)).collect();
        arguments.extend(specs.iter().map(|spec| spec.as_os_str()));
        let answer = self.must(&arguments, None, MAX_BLOBS)?;
        let commits = answer.split(|byte| *byte == 1).skip(1).map(|commit| {
            let mut parts = commit.splitn(3, |byte| *byte == 2).skip(1);
            let is_run = !parts.next().unwrap_or_default().trim_ascii().is_empty();
            let files = parts.next().unwrap_or_default();
            let start = files.iter().position(|byte| *byte == b':').unwrap_or(files.len());
            (is_run, parse::raw_differences(&files[start..]))
        });
        Ok(commits.collect())
    }

    /// The paths that the commits changed which `new` has and `old` has not. Of a merge, those that differ from all its parents.
    pub(crate) fn paths_changed_since(&self, old: &str, new: &str) -> Result<Vec<PathBuf>> {
        let fixed = ["log", "--no-show-signature", "--no-color", "-z", "--name-only", "--no-renames", "--no-ext-diff"];
        let order = ["--diff-merges=combined", "--format=", new, "--not", old, "--"];
        let answer = self.must(&[&fixed[..], &order].concat(), None, MAX_BLOBS)?;
        let names = answer.split(|byte| matches!(byte, 0 | b'\n')).filter(|name| !name.is_empty());
        Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
    }

    /// When the last commit that changed a file was made, looking back from `commit`.
    pub(crate) fn time_of(&self, commit: &str, path: &Path) -> Result<Option<SystemTime>> {
        let arguments: [&OsStr; 6] = ["log", "-1", "--no-show-signature", "--format=%ct", commit, "--"].map(OsStr::new);
        let answer = self.must(&[&arguments[..], &[path.as_os_str()]].concat(), None, 1_000)?;
        let seconds = String::from_utf8_lossy(&answer).trim().parse::<u64>().ok();
        Ok(seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)))
    }

    /// Sets the index entries of these paths, and no others, to those of a commit.
    pub(crate) fn reset_paths(&self, commit: &str, paths: &[PathBuf]) -> Result<()> {
        let mut arguments: Vec<&OsStr> = ["reset", "--quiet", commit, "--"].map(OsStr::new).to_vec();
        arguments.extend(paths.iter().map(|path| path.as_os_str()));
        self.must(&arguments, None, 1 << 20).map(drop)
    }

    /// Whether the index entries of these paths equal those of a commit.
    pub(crate) fn index_is_at(&self, commit: &str, paths: &[PathBuf]) -> Result<bool> {
        let mut arguments: Vec<&OsStr> =
            ["diff-index", "--cached", "--quiet", "--no-ext-diff", commit, "--"].map(OsStr::new).to_vec();
        arguments.extend(paths.iter().map(|path| path.as_os_str()));
        Ok(self.ask(&arguments)?.succeeded)
    }
}

/// A pathspec for exactly this path below the top of the work tree.
fn literal(path: &Path) -> PathBuf {
    let mut spec = std::ffi::OsString::from(":(top,literal)");
    spec.push(path);
    PathBuf::from(spec)
}
