//! The verbs that write objects and refs, and those that reach another repository. None of them touches a work tree,
//! the user's index, HEAD or a hook.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::hermetic::Purpose;
use super::{Git, is_object_id};
use crate::error::{Error, Result};

/// What is read of other machines' files at once. More than anybody has written by hand.
const MAX_BLOBS: u64 = 1 << 30;

/// The run that a commit's message names.
const RUN_FORMAT: &str = "--format=%x00%(trailers:key=Handover-Run,valueonly,separator=%x2C)";
const COMMIT_FORMAT: &str = "--format=%x01%(trailers:key=Handover-Run,valueonly,separator=%x2C)%x02";

/// Where a branch is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tip {
    pub commit: String,
    pub tree: String,
    /// The work tree in which it is checked out.
    pub checked_out: Option<PathBuf>,
}

/// A file that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub path: PathBuf,
    /// `None` if it is not there, or is no plain file.
    pub old: Option<String>,
    pub new: Option<String>,
}

impl Git {
    /// For who writes: no hook, no filter and no housekeeping of the user's runs, and what is written is durable.
    #[must_use]
    pub fn writing(self) -> Git {
        let git = Git { purpose: Purpose::Publishing, ..self };
        git.with_config(&[
            "core.hooksPath=/dev/null",
            "core.fsync=objects,reference",
            "core.fsyncMethod=batch",
            "core.autocrlf=false",
            "core.safecrlf=false",
            "core.attributesFile=/dev/null",
            "core.ignoreStat=false",
            "core.checkStat=default",
            "fetch.writeCommitGraph=false",
            "core.sparseCheckout=false",
            "core.untrackedCache=false",
            "core.splitIndex=false",
            "index.sparse=false",
            "gc.auto=0",
            "maintenance.auto=false",
            "submodule.recurse=false",
            "push.recurseSubmodules=no",
            "push.followTags=false",
            "push.gpgSign=false",
            "fetch.recurseSubmodules=no",
            // Whoever has no identity of their own gets a neutral one, not one made of the name of their machine.
            "user.useConfigOnly=true",
        ])
        .with_env("GIT_ATTR_NOSYSTEM", "1")
        // What a partial clone lacks of the branch is fetched.
        .with_env("GIT_NO_LAZY_FETCH", "0")
        // Nobody is there to answer a question, in whatever window it may be asked.
        .with_env("GIT_ASKPASS", "false")
        .with_env("SSH_ASKPASS", "false")
        .with_env("SSH_ASKPASS_REQUIRE", "force")
        .with_env("GCM_INTERACTIVE", "never")
    }

    /// The answer of a git that must succeed; what it said instead is the cause of the error.
    fn must<A: AsRef<OsStr>>(&self, arguments: &[A], input: Option<&[u8]>, max: u64) -> Result<Vec<u8>> {
        let answer = self.tell(arguments, input, max)?;
        if !answer.succeeded {
            let verb = arguments.first().map(|verb| verb.as_ref().to_string_lossy().into_owned()).unwrap_or_default();
            let said = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
            let said = if said.is_empty() { "it said nothing; it may have been killed".to_owned() } else { said };
            return Err(Error::failed(format!("`git {verb}` failed")).cause(said));
        }
        if !answer.whole {
            return Err(Error::failed("git had more to say than this program reads").hint(
                "the branch holds a file of a gigabyte or more, or very many: remove what does not belong there",
            ));
        }
        Ok(answer.stdout)
    }

    fn id<A: AsRef<OsStr>>(&self, arguments: &[A], input: Option<&[u8]>) -> Result<String> {
        let answer = self.must(arguments, input, 1_000)?;
        let id = String::from_utf8_lossy(&answer).trim().to_owned();
        if is_object_id(&id) { Ok(id) } else { Err(Error::failed("git gave no object id")) }
    }

    /// `None` if there is no such branch.
    pub fn tip(&self, branch: &str) -> Result<Option<Tip>> {
        let name = format!("refs/heads/{branch}");
        let format = "--format=%(refname)%00%(objectname)%00%(tree)%00%(worktreepath)";
        let answer = self.must(&["for-each-ref", format, &name], None, 1 << 20)?;
        // A branch `a` and one `a/b` cannot both be, but a pattern that ends in a name takes what is below it.
        for line in answer.split(|byte| *byte == b'\n') {
            let fields: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            if let [found, commit, tree, place] = fields.as_slice()
                && *found == name.as_bytes()
            {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let checked_out = (!place.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(place)));
                return Ok(Some(Tip { commit: text(commit), tree: text(tree), checked_out }));
            }
        }
        Ok(None)
    }

    /// Fills the index with a tree; what it knew of files that are the same stays known.
    pub fn read_tree(&self, tree: &str) -> Result<()> {
        self.must(&["read-tree", "-m", tree], None, 1_000).map(drop)
    }

    /// Fills an empty index with what two commits made of a third.
    pub fn read_merge(&self, base: &str, ours: &str, theirs: &str) -> Result<()> {
        self.must(&["read-tree", "-i", "-m", "--aggressive", base, ours, theirs], None, 1_000).map(drop)
    }

    /// Brings these paths in the index up to what is on disk, ignored or not.
    pub fn add(&self, paths: &[PathBuf]) -> Result<()> {
        let mut arguments: Vec<&OsStr> = ["add", "--all", "--force", "--sparse", "--"].map(OsStr::new).to_vec();
        arguments.extend(paths.iter().map(|path| path.as_os_str()));
        self.must(&arguments, None, 1 << 20).map(drop)
    }

    pub fn write_tree(&self) -> Result<String> {
        self.id(&["write-tree"], None)
    }

    pub fn tree_of(&self, commit: &str) -> Result<String> {
        self.id(&["rev-parse", "--verify", "--quiet", &format!("{commit}^{{tree}}")], None)
    }

    /// Whether commits are to be signed.
    pub fn signs(&self) -> Result<bool> {
        let answer = self.ask(&["config", "--type=bool", "--get", "commit.gpgsign"])?;
        Ok(answer.succeeded && answer.stdout.starts_with(b"true"))
    }

    pub fn commit_tree(&self, tree: &str, parents: &[&str], message: &str, sign: bool) -> Result<String> {
        let mut arguments = vec!["commit-tree"];
        arguments.push(if sign { "-S" } else { "--no-gpg-sign" });
        for parent in parents {
            arguments.extend(["-p", parent]);
        }
        arguments.extend(["-F", "-", tree]);
        self.id(&arguments, Some(message.as_bytes()))
    }

    /// Moves a ref, if it still is where it was; `false` if somebody else moved it.
    pub fn move_ref(&self, name: &str, new: &str, old: Option<&str>) -> Result<bool> {
        let none = "0".repeat(new.len());
        let arguments = ["update-ref", "-m", "agent-handover", name, new, old.unwrap_or(&none)];
        let answer = self.ask(&arguments)?;
        if answer.succeeded {
            return Ok(true);
        }
        let said = String::from_utf8_lossy(&answer.stderr);
        let is_race = said.contains("but expected") || said.contains("reference already exists");
        if is_race { Ok(false) } else { Err(Error::failed("`git update-ref` failed").cause(said.trim())) }
    }

    /// The files that differ; without an old tree all of the new one.
    pub fn differences(&self, old: Option<&str>, new: &str) -> Result<Vec<Difference>> {
        match old {
            Some(old) => {
                let arguments = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", old, new, "--"];
                Ok(parse_raw(&self.must(&arguments, None, MAX_BLOBS)?))
            }
            None => Ok(parse_tree(&self.must(&["ls-tree", "-r", "-z", "--full-tree", new], None, MAX_BLOBS)?)),
        }
    }

    /// The content of these files, in their order; `None` for what is no file.
    pub fn blobs(&self, ids: &[&str]) -> Result<Vec<Option<Vec<u8>>>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let answer = self.must(&["cat-file", "--batch"], Some(input.as_bytes()), MAX_BLOBS)?;
        let mut rest = answer.as_slice();
        let mut blobs = Vec::with_capacity(ids.len());
        for id in ids {
            let broken = || {
                Error::failed(format!("git does not have the object {id}"))
                    .hint("`git fsck` says what else is missing; `git fetch --refetch` brings it back")
            };
            let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(broken)?;
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let mut words = head.split(' ').skip(1);
            let kind = words.next().unwrap_or_default();
            let size: usize = words.next().and_then(|size| size.parse().ok()).ok_or_else(broken)?;
            let content = rest.get(end + 1..end + 1 + size).ok_or_else(broken)?;
            blobs.push((kind == "blob").then(|| content.to_vec()));
            rest = rest.get(end + 2 + size..).unwrap_or_default();
        }
        Ok(blobs)
    }

    /// Everything that a push of `commit` to who has `there` would send, with a path for each file.
    pub fn objects_to_send(&self, commit: &str, there: Option<&str>) -> Result<Vec<(String, PathBuf)>> {
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
    pub fn paths_of(&self, tree: &str) -> Result<Vec<PathBuf>> {
        let answer = self.must(&["ls-tree", "-r", "--name-only", "-z", "--full-tree", tree], None, MAX_BLOBS)?;
        let names = answer.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
    }

    /// Whether every line of history that leads to a commit was begun by a handover.
    pub fn is_begun_by_us(&self, commit: &str) -> Result<bool> {
        let arguments = ["log", "--no-show-signature", "--no-color", "--max-parents=0", RUN_FORMAT, commit, "--"];
        let answer = self.must(&arguments, None, 16 << 20)?;
        let text = String::from_utf8_lossy(&answer).into_owned();
        Ok(text.split('\0').skip(1).all(|run| !run.trim().is_empty()))
    }

    pub fn is_ancestor(&self, old: &str, new: &str) -> Result<bool> {
        if old == new {
            return Ok(true);
        }
        // Fails also for a commit that is not known here, which then is no ancestor either.
        Ok(self.ask(&["merge-base", "--is-ancestor", old, new])?.succeeded)
    }

    /// The commits that are in `new` and not in `old`: whether a handover made each, and which files it changed.
    pub fn commits_between(&self, old: Option<&str>, new: &str) -> Result<Vec<(bool, Vec<PathBuf>)>> {
        let range = old.map_or_else(|| new.to_owned(), |old| format!("{old}..{new}"));
        let fixed = ["log", "--no-show-signature", "--no-color", "-z", "--name-only", "--no-renames", "--no-ext-diff"];
        let arguments = [&fixed[..], &["--diff-merges=first-parent", COMMIT_FORMAT, &range, "--"]].concat();
        let answer = self.must(&arguments, None, MAX_BLOBS)?;
        let mut commits = Vec::new();
        // Each begins with a 0x01, the run, and a 0x02; then come its files.
        for commit in answer.split(|byte| *byte == 1).skip(1) {
            let end = commit.iter().position(|byte| *byte == 2).unwrap_or(commit.len());
            let is_ours = !commit[..end].trim_ascii().is_empty();
            let names = commit[(end + 1).min(commit.len())..].split(|byte| matches!(byte, 0 | b'\n'));
            let paths = names.filter(|name| !name.is_empty()).map(|name| PathBuf::from(OsStr::from_bytes(name)));
            commits.push((is_ours, paths.collect()));
        }
        Ok(commits)
    }

    /// When a file was last changed on the way to a commit.
    pub fn time_of(&self, commit: &str, path: &Path) -> Result<Option<SystemTime>> {
        let arguments: [&OsStr; 6] = ["log", "-1", "--no-show-signature", "--format=%ct", commit, "--"].map(OsStr::new);
        let answer = self.must(&[&arguments[..], &[path.as_os_str()]].concat(), None, 1_000)?;
        let seconds = String::from_utf8_lossy(&answer).trim().parse::<u64>().ok();
        Ok(seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)))
    }

    /// Where the remote has the branch now; `None` if it has none.
    pub fn remote_tip(&self, remote: &str, branch: &str) -> Result<Option<String>> {
        let name = format!("refs/heads/{branch}");
        let answer = self.must(&["ls-remote", "--refs", "--", remote, &name], None, 1 << 20)?;
        let text = String::from_utf8_lossy(&answer).into_owned();
        let of = |line: &str| {
            let (id, found) = line.split_once('\t')?;
            (found == name && is_object_id(id)).then(|| id.to_owned())
        };
        Ok(text.lines().find_map(of))
    }

    /// Fetches a branch into a ref of ours; `None` if the remote has no such branch.
    pub fn fetch(&self, remote: &str, branch: &str, into: &str) -> Result<Option<String>> {
        let refspec = format!("+refs/heads/{branch}:{into}");
        let arguments = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-filter",
            "--refmap=",
            "--",
            remote,
        ];
        let answer = self.tell(&[&arguments[..], &[&refspec]].concat(), None, 1 << 20)?;
        if !answer.succeeded {
            let said = String::from_utf8_lossy(&answer.stderr);
            if said.contains("couldn't find remote ref") {
                return Ok(None);
            }
            return Err(Error::failed("`git fetch` failed").cause(said.trim()));
        }
        self.id(&["rev-parse", "--verify", "--quiet", into], None).map(Some)
    }

    /// Pushes a commit to a branch, forward only. Says where the branch was, as far as the remote told; `None` if it was not
    /// there.
    pub fn push(&self, remote: &str, commit: &str, branch: &str) -> Result<Option<String>> {
        let refspec = format!("{commit}:refs/heads/{branch}");
        let answer = self.tell(&["push", "--porcelain", "--no-verify", "--", remote, &refspec], None, 1 << 20)?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        if !answer.succeeded {
            // What became of the ref is told in one place, and why in the other.
            let said = format!("{} {text}", String::from_utf8_lossy(&answer.stderr).trim());
            return Err(Error::failed("`git push` failed").cause(said.trim()));
        }
        let line = text.lines().find(|line| line.contains(&refspec)).unwrap_or_default();
        let was = line.rsplit('\t').next().and_then(|range| range.split("..").next()).unwrap_or_default();
        Ok((!line.starts_with('*')).then(|| was.to_owned()))
    }

    /// Makes the index entries of these paths, and no others, those of a commit.
    pub fn reset_paths(&self, commit: &str, paths: &[PathBuf]) -> Result<()> {
        let mut arguments: Vec<&OsStr> = ["reset", "--quiet", commit, "--"].map(OsStr::new).to_vec();
        arguments.extend(paths.iter().map(|path| path.as_os_str()));
        self.must(&arguments, None, 1 << 20).map(drop)
    }

    /// Whether the index entries of these paths are those of a commit.
    pub fn index_is_at(&self, commit: &str, paths: &[PathBuf]) -> Result<bool> {
        let mut arguments: Vec<&OsStr> =
            ["diff-index", "--cached", "--quiet", "--no-ext-diff", commit, "--"].map(OsStr::new).to_vec();
        arguments.extend(paths.iter().map(|path| path.as_os_str()));
        Ok(self.ask(&arguments)?.succeeded)
    }
}

/// `:100644 100644 <old> <new> M\0path\0…`; only plain files count.
fn parse_raw(answer: &[u8]) -> Vec<Difference> {
    let mut fields = answer.split(|byte| *byte == 0);
    let mut differences = Vec::new();
    while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
        let head = String::from_utf8_lossy(head).into_owned();
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        if let [old_mode, new_mode, old, new, _] = words.as_slice() {
            let side = |mode: &str, id: &str| mode.starts_with("100").then(|| id.to_owned());
            let path = Path::new(OsStr::from_bytes(path)).to_path_buf();
            differences.push(Difference { path, old: side(old_mode, old), new: side(new_mode, new) });
        }
    }
    differences
}

/// `100644 blob <id>\tpath\0…`
fn parse_tree(answer: &[u8]) -> Vec<Difference> {
    let mut differences = Vec::new();
    for entry in answer.split(|byte| *byte == 0) {
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
        let head = String::from_utf8_lossy(&entry[..tab]).into_owned();
        let words: Vec<&str> = head.split(' ').collect();
        if let [mode, _, id] = words.as_slice() {
            let new = mode.starts_with("100").then(|| (*id).to_owned());
            let path = Path::new(OsStr::from_bytes(&entry[tab + 1..])).to_path_buf();
            differences.push(Difference { path, old: None, new });
        }
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_differences_tell_plain_files_from_the_rest() {
        let answer = b":100644 000000 aa 00 D\0gone\0:000000 120000 00 bb A\0link\0:100644 100755 aa cc M\0a\tb\0";
        let found: Vec<_> = parse_raw(answer).into_iter().map(|d| (d.path, d.old, d.new)).collect();
        let id = |text: &str| Some(text.to_owned());
        assert_eq!(
            found,
            [
                (PathBuf::from("gone"), id("aa"), None),
                (PathBuf::from("link"), None, None),
                (PathBuf::from("a\tb"), id("aa"), id("cc")),
            ]
        );
    }
}
