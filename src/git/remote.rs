//! The verbs that reach another repository.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::budget::WaitsFor;
use super::failure::{Failure, is_missing_branch, names_damage};
use super::{Git, Result, is_object_id};

/// The git that receives a push in a repository on this machine. It reads the settings of that repository, not ours, and
/// by default it does not sync the objects that it writes.
const RECEIVE_DURABLY: &str = "--receive-pack=git -c core.fsync=objects,reference receive-pack";

/// Remotes with the repositories on this machine that are behind them.
pub(super) type KnownRemotes = Rc<RefCell<Vec<(String, Vec<PathBuf>)>>>;

impl Git {
    /// The commit that the branch is at on the remote. `None` if the remote has no such branch.
    pub(crate) fn remote_tip(&self, remote: &str, branch: &str) -> Result<Option<String>> {
        let name = format!("refs/heads/{branch}");
        let git = self.waiting_for(WaitsFor::Remote);
        let answer =
            git.must(&["ls-remote", "--refs", "--", remote, &name], None, 1 << 20).map_err(Failure::at_remote)?;
        let text = String::from_utf8_lossy(&answer).into_owned();
        let of = |line: &str| {
            let (id, found) = line.split_once('\t')?;
            (found == name && is_object_id(id)).then(|| id.to_owned())
        };
        Ok(text.lines().find_map(of))
    }

    /// Fetches a branch into a ref of ours and returns its commit. `None` if the remote has no such branch.
    pub(crate) fn fetch(&self, remote: &str, branch: &str, into: &str) -> Result<Option<String>> {
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
        let git = self.waiting_for(WaitsFor::Remote);
        let answer =
            git.ask_with_input(&[&arguments[..], &[&refspec]].concat(), None, 1 << 20).map_err(Failure::at_remote)?;
        if !answer.succeeded {
            let said = String::from_utf8_lossy(&answer.stderr);
            if is_missing_branch(&said) {
                return Ok(None);
            }
            return Err(Failure::of_git("`git fetch` failed", said.trim()).at_remote());
        }
        self.id(&["rev-parse", "--verify", "--quiet", into], None).map(Some)
    }

    /// Pushes a commit to a branch, forward only. Returns the start of the id that the branch had before, or `None` if the
    /// branch is new.
    pub(crate) fn push(&self, remote: &str, commit: &str, branch: &str) -> Result<Option<String>> {
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
        Ok((!line.starts_with('*')).then(|| was.to_owned()))
    }

    /// The repositories on this machine that a push to this remote goes to. Empty if the remote is somewhere else.
    pub(crate) fn local_remotes(&self, remote: &str) -> Result<Vec<PathBuf>> {
        if let Some((_, known)) = self.known_remotes.borrow().iter().find(|(name, _)| name == remote) {
            return Ok(known.clone());
        }
        let mut answer = self.ask(&["remote", "get-url", "--push", "--all", "--", remote])?;
        if !answer.succeeded {
            // Not a name that git knows, so an address.
            answer = self.ask(&["ls-remote", "--get-url", "--", remote])?;
        }
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        let found: Vec<PathBuf> = text.lines().filter_map(|address| local_path(&self.directory, address)).collect();
        self.known_remotes.borrow_mut().push((remote.to_owned(), found.clone()));
        Ok(found)
    }

    /// Whether the user's configuration names the program that receives a push to this remote.
    fn has_own_receiver(&self, remote: &str) -> Result<bool> {
        Ok(self.ask(&["config", "--get", &format!("remote.{remote}.receivepack")])?.succeeded)
    }
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
