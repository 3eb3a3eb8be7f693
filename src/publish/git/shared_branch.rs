//! Publish for a branch with the user's code on it. Our files are added, and nothing of the user's is moved or pushed.

use std::path::PathBuf;

use super::failure::Result;
use super::publisher::{Publisher, short};
use crate::base::fs;
use crate::error::Error;
use crate::git::{Git, Tip};

/// Files and directories in the git directory during which nothing may be committed on the user's branch.
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
    /// Commits our files on the user's branch, and pushes the commit if it would take none of the user's along.
    pub(super) fn publish_shared(&mut self, tip: Option<Tip>, is_checked_out: bool) -> Result<String> {
        // During a rebase or a bisect HEAD is on no branch, but the branch must not move either.
        if let Some((_, what)) = IN_PROGRESS.iter().find(|(name, _)| fs::exists(&self.git_dir.join(name))) {
            let message = format!("{what} is in progress, and nothing is committed on `{}` meanwhile", self.branch());
            return Err(Error::failed(message).hint("finish it, then `agent-handover push`").into());
        }
        // The files here belong to what is checked out, which may be older than the branch. A merge without a base only
        // adds to them.
        if let Some(tip) = tip.as_ref().filter(|_| !is_checked_out) {
            self.absorb_since(&tip.commit.clone(), None)?;
        }
        let Some(commit) = self.commit(tip.as_ref(), None)? else {
            return Err(Error::failed(format!("`{}` moved while it was being committed to", self.branch()))
                .hint("`agent-handover push` tries again")
                .into());
        };
        if is_checked_out {
            self.update_users_index(&commit)?;
        }
        if !self.delivery.destination.push {
            return Ok(format!("committed {} on `{}`; not pushed", short(&commit), self.branch()));
        }
        self.push_shared(&commit)
    }

    fn push_shared(&mut self, commit: &str) -> Result<String> {
        self.stop_if_pressed()?;
        self.check_remote_alive()?;
        self.ledger.travels.clear();
        let there = self.fetch_branch()?;
        let has_it = there.as_ref().map(|there| self.git().is_ancestor(commit, there)).transpose()?.unwrap_or(false);
        if !has_it {
            if let Some(there) = &there
                && !self.git().is_ancestor(there, commit)?
            {
                return Err(Error::failed(format!("`{}` on {} has moved on", self.branch(), self.remote()))
                    .hint(format!("`git pull` on `{}`, then `agent-handover push`", self.branch()))
                    .into());
            }
            if self.has_users_commits(there.as_deref(), commit)? {
                return Ok(self.leave_to_users_push(commit));
            }
            self.stop_if_pressed()?;
            self.refuse_secrets_in_push(commit, there.as_deref())?;
            self.remote_git().push(self.remote(), commit, self.branch())?;
            if !self.has_arrived(commit)? {
                return Err(Error::failed(format!("{} does not have what was pushed", self.remote()))
                    .hint("`agent-handover push` tries again")
                    .into());
            }
        }
        commit.clone_into(&mut self.ledger.delivered);
        Ok(format!("{} is on {}/{}", short(commit), self.remote(), self.branch()))
    }

    /// Whether a commit that is not ours, or that changed other files, is between the remote and our commit.
    fn has_users_commits(&self, there: Option<&str>, commit: &str) -> Result<bool> {
        let is_ours = |path: &PathBuf| self.paths.iter().any(|ours| path.starts_with(ours));
        let between = self.git().commits_between(there, commit)?;
        Ok(!between.iter().all(|(is_run, paths)| *is_run && paths.iter().all(is_ours)))
    }

    /// Records that the commit waits for the user: pushing it would push their commits below it.
    fn leave_to_users_push(&mut self, commit: &str) -> String {
        self.ledger.travels = format!("{} on `{}` travels with your next push", short(commit), self.branch());
        format!("committed; {}", self.ledger.travels)
    }

    /// Gives the user's index the entries of our paths, so that `git status` shows no change that nobody made.
    fn update_users_index(&mut self, commit: &str) -> Result<()> {
        let pathspecs = self.pathspecs();
        let git = Git::at(&self.top).writing();
        if git.index_is_at(commit, &pathspecs)? {
            return Ok(());
        }
        self.unless_locked(|_| Ok(git.reset_paths(commit, &pathspecs)?))
    }
}
