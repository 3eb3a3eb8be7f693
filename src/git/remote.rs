//! The verbs that reach another repository.

use super::failure::{Failure, is_missing_branch};
use super::{Git, Result, is_object_id};

impl Git {
    /// The commit that the branch is at on the remote. `None` if the remote has no such branch.
    pub(crate) fn remote_tip(&self, remote: &str, branch: &str) -> Result<Option<String>> {
        let name = format!("refs/heads/{branch}");
        let answer = self.must(&["ls-remote", "--refs", "--", remote, &name], None, 1 << 20)?;
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
        let answer = self.ask_with_input(&[&arguments[..], &[&refspec]].concat(), None, 1 << 20)?;
        if !answer.succeeded {
            let said = String::from_utf8_lossy(&answer.stderr);
            if is_missing_branch(&said) {
                return Ok(None);
            }
            return Err(Failure::of_git("`git fetch` failed", said.trim()));
        }
        self.id(&["rev-parse", "--verify", "--quiet", into], None).map(Some)
    }

    /// Pushes a commit to a branch, forward only. Returns the start of the id that the branch had before, or `None` if the
    /// branch is new.
    pub(crate) fn push(&self, remote: &str, commit: &str, branch: &str) -> Result<Option<String>> {
        let refspec = format!("{commit}:refs/heads/{branch}");
        let answer =
            self.ask_with_input(&["push", "--porcelain", "--no-verify", "--", remote, &refspec], None, 1 << 20)?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        if !answer.succeeded {
            // stdout says what happened to the ref, stderr says why.
            let said = format!("{} {text}", String::from_utf8_lossy(&answer.stderr).trim());
            return Err(Failure::of_git("`git push` failed", said.trim()));
        }
        let line = text.lines().find(|line| line.contains(&refspec)).unwrap_or_default();
        let was = line.rsplit('\t').next().and_then(|range| range.split("..").next()).unwrap_or_default();
        Ok((!line.starts_with('*')).then(|| was.to_owned()))
    }
}
