//! The verbs that reach another repository.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use super::budget::WaitsFor;
use super::command::Asked;
use super::failure::{Failure, is_missing_branch, names_damage};
use super::{Git, Result, is_object_id};
use crate::base::process::Captured;

/// The git that receives a push in a repository on this machine. It reads the settings of that repository, not ours, and
/// by default it does not sync the objects that it writes.
const RECEIVE_DURABLY: &str = "--receive-pack=git -c core.fsync=objects,reference receive-pack";

/// More than the names of all branches have that machines push beside the shared one.
const MAX_REFS: u64 = 16 << 20;

/// A branch of a remote that is listed beside another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Other {
    /// Its name, below the directory that was asked for.
    pub name: String,
    pub commit: String,
}

/// What a push reported.
pub(crate) struct PushedTo {
    /// The start of the id that the branch had before; `None` if the branch is new.
    pub before: Option<String>,
    /// The repository that was pushed to said that the branch has the commit.
    pub is_confirmed: bool,
}

/// Remotes with the repositories on this machine that are behind them.
pub(super) type KnownRemotes = Rc<RefCell<Vec<(String, Vec<PathBuf>)>>>;

impl Git {
    /// The commit that the branch is at on the remote. `None` if the remote has no such branch.
    pub(crate) fn remote_tip(&self, remote: &str, branch: &str) -> Result<Option<String>> {
        Ok(self.remote_refs(remote, &[&format!("refs/heads/{branch}")])?.into_iter().next().map(|(_, id)| id))
    }

    /// The commit that the branch is at on the remote, and the branches below `directory`. Of very many branches, some are
    /// left out.
    pub(crate) fn remote_tips(
        &self,
        remote: &str,
        branch: &str,
        directory: &str,
    ) -> Result<(Option<String>, Vec<Other>)> {
        let (name, below) = (format!("refs/heads/{branch}"), format!("refs/heads/{directory}"));
        let refs = self.remote_refs(remote, &[&name, &format!("{below}*")])?;
        let tip = refs.iter().find(|(found, _)| *found == name).map(|(_, id)| id.clone());
        Ok((tip, others(refs, &below)))
    }

    /// Begins to ask for the branches of the remote below `directory`.
    pub(crate) fn begin_listing(&self, remote: &str, directory: &str) -> Result<Asked> {
        let pattern = format!("refs/heads/{directory}*");
        self.waiting_for(WaitsFor::Remote).begin(&["ls-remote", "--refs", "--", remote, &pattern], None)
    }

    /// The branches below `directory`, as the remote lists them. Of very many, some are left out.
    pub(crate) fn listed(&self, asked: Asked, directory: &str) -> Result<Vec<Other>> {
        // The push took the time until now.
        let git = self.waiting_for(WaitsFor::Remote);
        let answer = git.answer_since(Instant::now(), asked, MAX_REFS).map_err(Failure::at_remote)?;
        if !answer.succeeded {
            let said = String::from_utf8_lossy(&answer.stderr);
            return Err(Failure::of_git("`git ls-remote` failed", said.trim()).at_remote());
        }
        let below = format!("refs/heads/{directory}");
        Ok(others(refs_in(&answer, &[&format!("{below}*")]), &below))
    }

    /// The refs of the remote that are named or, where a pattern ends in `*`, begin like this, with their objects.
    fn remote_refs(&self, remote: &str, patterns: &[&str]) -> Result<Vec<(String, String)>> {
        let git = self.waiting_for(WaitsFor::Remote);
        let arguments = [&["ls-remote", "--refs", "--", remote], patterns].concat();
        let answer = git.must_or_be_cut(&arguments, None, MAX_REFS).map_err(Failure::at_remote)?;
        Ok(refs_in(&answer, patterns))
    }

    /// Fetches a branch into a ref of ours and returns its commit. `None` if the remote has no such branch.
    pub(crate) fn fetch(&self, remote: &str, branch: &str, into: &str) -> Result<Option<String>> {
        if !self.fetch_refs(remote, &[format!("+refs/heads/{branch}:{into}")])? {
            return Ok(None);
        }
        self.id(&["rev-parse", "--verify", "--quiet", into], None).map(Some)
    }

    /// Fetches branches, each into a ref of ours. `false` if the remote no longer has one of them.
    pub(crate) fn fetch_all(&self, remote: &str, branches: &[(String, String)]) -> Result<bool> {
        let refspecs: Vec<String> =
            branches.iter().map(|(branch, into)| format!("+refs/heads/{branch}:{into}")).collect();
        self.fetch_refs(remote, &refspecs)
    }

    /// `false` if the remote does not have a branch that a refspec names.
    fn fetch_refs(&self, remote: &str, refspecs: &[String]) -> Result<bool> {
        let mut arguments = vec![
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
        arguments.extend(refspecs.iter().map(String::as_str));
        let git = self.waiting_for(WaitsFor::Remote);
        let answer = git.ask_with_input(&arguments, None, 1 << 20).map_err(Failure::at_remote)?;
        if !answer.succeeded {
            let said = String::from_utf8_lossy(&answer.stderr);
            if is_missing_branch(&said) {
                return Ok(false);
            }
            return Err(Failure::of_git("`git fetch` failed", said.trim()).at_remote());
        }
        Ok(true)
    }

    /// Removes branches of the remote, each only if it is still at the commit that is given with it.
    pub(crate) fn remove_branches(&self, remote: &str, branches: &[(String, String)]) -> Result<()> {
        let leases: Vec<String> = branches
            .iter()
            .map(|(branch, commit)| format!("--force-with-lease=refs/heads/{branch}:{commit}"))
            .collect();
        let refspecs: Vec<String> = branches.iter().map(|(branch, _)| format!(":refs/heads/{branch}")).collect();
        let mut arguments = vec!["push", "--porcelain", "--no-verify"];
        arguments.extend(leases.iter().map(String::as_str));
        arguments.extend(["--", remote]);
        arguments.extend(refspecs.iter().map(String::as_str));
        let git = self.waiting_for(WaitsFor::Remote);
        let answer = git.ask_with_input(&arguments, None, 1 << 20).map_err(Failure::at_remote)?;
        if answer.succeeded {
            return Ok(());
        }
        Err(Failure::of_git("`git push` failed", String::from_utf8_lossy(&answer.stderr).trim()).at_remote())
    }

    /// Pushes a commit to a branch, forward only.
    pub(crate) fn push(&self, remote: &str, commit: &str, branch: &str) -> Result<PushedTo> {
        let refspec = format!("{commit}:refs/heads/{branch}");
        let mut arguments = vec!["push", "--porcelain", "--no-verify"];
        if !self.local_remotes(remote)?.is_empty() && !self.has_own_receiver(remote)? {
            arguments.push(RECEIVE_DURABLY);
        }
        arguments.extend(["--", remote, &refspec]);
        let git = self.waiting_for(WaitsFor::Remote);
        let answer = git.ask_with_input(&arguments, None, 1 << 20).map_err(Failure::at_remote)?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&answer.stderr).into_owned();
        // A repository that has lost an object takes the push all the same if it has the object's name.
        if !answer.succeeded || names_damage(&complaint) {
            // stdout says what happened to the ref, stderr says why.
            let said = format!("{} {text}", complaint.trim());
            return Err(Failure::of_git("`git push` failed", said.trim()).at_remote());
        }
        let line = text.lines().find(|line| line.contains(&refspec)).unwrap_or_default();
        let was = line.rsplit('\t').next().and_then(|range| range.split("..").next()).unwrap_or_default();
        Ok(PushedTo {
            before: (!line.starts_with('*')).then(|| was.to_owned()),
            // The repository that was pushed to has reported the ref: new, moved forward, or there already.
            is_confirmed: line.starts_with(['*', ' ', '=']),
        })
    }

    /// The repositories on this machine that a push to this remote goes to. Empty if the remote is somewhere else.
    pub(crate) fn local_remotes(&self, remote: &str) -> Result<Vec<PathBuf>> {
        if let Some((_, known)) = self.known_remotes.borrow().iter().find(|(name, _)| name == remote) {
            return Ok(known.clone());
        }
        let addresses = match self.known_push_addresses(remote) {
            Some(addresses) => addresses,
            None => self.push_addresses(remote)?,
        };
        let found: Vec<PathBuf> = addresses.iter().filter_map(|address| local_path(&self.directory, address)).collect();
        self.known_remotes.borrow_mut().push((remote.to_owned(), found.clone()));
        Ok(found)
    }

    fn push_addresses(&self, remote: &str) -> Result<Vec<String>> {
        let mut answer = self.ask(&["remote", "get-url", "--push", "--all", "--", remote])?;
        if !answer.succeeded {
            // Not a name that git knows, so an address.
            answer = self.ask(&["ls-remote", "--get-url", "--", remote])?;
        }
        Ok(String::from_utf8_lossy(&answer.stdout).lines().map(str::to_owned).collect())
    }

    /// Whether the user's configuration names the program that receives a push to this remote.
    fn has_own_receiver(&self, remote: &str) -> Result<bool> {
        if let Some(names) = self.is_known_to_name_receiver(remote) {
            return Ok(names);
        }
        Ok(self.ask(&["config", "--get", &format!("remote.{remote}.receivepack")])?.succeeded)
    }
}

/// The refs in an answer of `git ls-remote` that fit one of these patterns, with their objects.
fn refs_in(answer: &Captured, patterns: &[&str]) -> Vec<(String, String)> {
    // git also lists names that end like a pattern.
    let fits = |name: &str| {
        patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *pattern,
        })
    };
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let whole = if answer.whole { &text } else { text.rsplit_once('\n').map_or("", |(whole, _)| whole) };
    let refs = whole.lines().filter_map(|line| line.split_once('\t'));
    let fitting = refs.filter(|(id, name)| is_object_id(id) && fits(name));
    fitting.map(|(id, name)| (name.to_owned(), id.to_owned())).collect()
}

/// The refs below a directory, without it.
fn others(refs: Vec<(String, String)>, below: &str) -> Vec<Other> {
    let other = |(found, commit): (String, String)| {
        let name = found.strip_prefix(below)?.to_owned();
        Some(Other { name, commit })
    };
    refs.into_iter().filter_map(other).collect()
}

/// The path of an address on this machine, for a git that runs in `directory`.
pub(crate) fn local_path(directory: &Path, address: &str) -> Option<PathBuf> {
    if let Some(path) = address.strip_prefix("file://") {
        return Some(PathBuf::from(decode(path)));
    }
    let before_colon = address.split('/').next().unwrap_or_default();
    (!before_colon.contains(':')).then(|| directory.join(address))
}

/// An address with each `%XX` as the byte that it means.
fn decode(address: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = address.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_on_this_machine_is_a_path() {
        let path = |address: &str| local_path(Path::new("/here"), address);
        assert_eq!(path("/x/y.git"), Some(PathBuf::from("/x/y.git")));
        assert_eq!(path("../y.git"), Some(PathBuf::from("/here/../y.git")));
        assert_eq!(path("file:///x/a%20b%2fc%"), Some(PathBuf::from("/x/a b/c%")));
        for elsewhere in ["https://example.com/x", "git@example.com:x.git", "ssh://example.com/x", "host:x"] {
            assert_eq!(path(elsewhere), None, "{elsewhere}");
        }
        assert_eq!(path("./a:b"), Some(PathBuf::from("/here/./a:b")));
    }
}
