//! A branch with the code on it: ours is added, and nothing of the user's is moved or pushed along.

use std::path::PathBuf;

use super::failure::Result;
use super::publisher::{Publisher, short};
use crate::error::Error;
use crate::git::{Git, Tip};

/// What stands in the way of a commit on the branch that is checked out: files and directories in the git directory.
const IN_PROGRESS: [(&str, &str); 7] = [
    ("sequencer", "a sequence of picks"),
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisect"),
];

impl Publisher<'_> {
    pub(super) fn publish_shared(&mut self, tip: Option<Tip>, is_checked_out: bool) -> Result<String> {
        // In a rebase or a bisect HEAD is on no branch, and the branch is not to be moved all the same.
        if let Some((_, what)) = IN_PROGRESS.iter().find(|(name, _)| self.git_dir.join(name).exists()) {
            let message = format!("{what} is in progress, and nothing is committed on `{}` meanwhile", self.branch());
            return Err(Error::failed(message).hint("finish it, then `agent-handover push`").into());
        }
        // The files here belong to what is checked out, which may be older: they are added to, and nothing is taken away.
        if let Some(tip) = tip.as_ref().filter(|_| !is_checked_out) {
            self.absorb_since(&tip.commit.clone(), None)?;
        }
        let Some(commit) = self.commit(tip.as_ref(), None)? else {
            return Err(Error::failed(format!("`{}` moved while it was being committed to", self.branch()))
                .hint("`agent-handover push` tries again")
                .into());
        };
        if is_checked_out {
            self.bring_index_along(&commit)?;
        }
        if !self.delivery.destination.push {
            return Ok(format!("committed {} on `{}`; not pushed", short(&commit), self.branch()));
        }
        self.stop_if_pressed()?;
        self.check_remote_alive()?;
        self.ledger.travels.clear();
        let there = self.remote_git().fetch(self.remote(), self.branch(), &self.fetched_ref())?;
        let has_it = there.as_ref().map(|there| self.git().is_ancestor(&commit, there)).transpose()?.unwrap_or(false);
        if !has_it {
            if let Some(there) = &there
                && !self.git().is_ancestor(there, &commit)?
            {
                return Err(Error::failed(format!("`{}` on {} has moved on", self.branch(), self.remote()))
                    .hint(format!("`git pull` on `{}`, then `agent-handover push`", self.branch()))
                    .into());
            }
            let is_ours = |path: &PathBuf| self.paths.iter().any(|ours| path.starts_with(ours));
            let between = self.git().commits_between(there.as_deref(), &commit)?;
            if !between.iter().all(|(is_run, paths)| *is_run && paths.iter().all(is_ours)) {
                return Ok(self.travels(&commit));
            }
            self.stop_if_pressed()?;
            self.refuse_secrets_in_push(&commit, there.as_deref())?;
            self.remote_git().push(self.remote(), &commit, self.branch())?;
            if !self.has_arrived(&commit)? {
                return Err(Error::failed(format!("{} does not have what was pushed", self.remote()))
                    .hint("`agent-handover push` tries again")
                    .into());
            }
        }
        commit.clone_into(&mut self.ledger.delivered);
        Ok(format!("{} is on {}/{}", short(&commit), self.remote(), self.branch()))
    }

    /// Commits of the user's lie between the remote and ours: pushing ours would push theirs.
    pub(super) fn travels(&mut self, commit: &str) -> String {
        self.ledger.travels = format!("{} on `{}` travels with your next push", short(commit), self.branch());
        format!("committed; {}", self.ledger.travels)
    }

    /// The user's index gets the entries of our paths, so that `git status` shows no change that nobody made.
    pub(super) fn bring_index_along(&mut self, commit: &str) -> Result<()> {
        let pathspecs = self.pathspecs();
        let git = Git::at(&self.top).writing();
        if git.index_is_at(commit, &pathspecs)? {
            return Ok(());
        }
        self.unless_locked(|_| Ok(git.reset_paths(commit, &pathspecs)?))
    }
}
