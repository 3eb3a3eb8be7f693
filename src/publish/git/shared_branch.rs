//! Publish for a branch with the user's code on it. Our files are added, and nothing of the user's is moved or pushed.
//!
//! Several machines may publish on such a branch. With T where the branch is here, R where it is on the remote, and B the
//! last commit that both have:
//!
//! | commits of the user that are not on the remote | committed here | pushed if R is below T | pushed if R has moved on |
//! |---|---|---|---|
//! | none | L on T | L | a merge of R and L |
//! | some | S on B, and L as a merge of T and S | S | a merge of R and S |
//!
//! L has the user's files of T and our files, merged by item with those of R. S has the user's files of B and our files, so no
//! commit of the user's is below it. The merge that is pushed has the user's files of R and our files. So a `git pull` is a
//! fast-forward where the user has no commits of their own. Otherwise it is a merge in which S is the common ancestor, or a
//! rebase that leaves out L: either way our files have no conflict.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Instant;

use super::failure::{Halted, Result, explain};
use super::publisher::{BranchKind, Publisher, short};
use super::race::{Move, Race};
use super::remote::{Pushed, chance};
use crate::base::fs;
use crate::error::Error;
use crate::git::{CommitBetween, FailureKind, Tip};
use crate::publish::NotDelivered;

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

/// How one round of a delivery ended.
enum Round {
    Done(String),
    /// The remote moved meanwhile.
    Again(Halted),
}

impl Publisher<'_> {
    /// Commits our files on the user's branch, and pushes them without any commit of the user's.
    pub(super) fn publish_shared(&mut self, tip: Option<Tip>, is_checked_out: bool) -> Result<String> {
        self.restore_kept()?;
        let done = self.publish_in_rounds(tip, is_checked_out);
        match (self.keep_or_forget(&done), done) {
            (Err(halted), Ok(_)) => Err(halted),
            // The files here have more than what is checked out, so git would refuse to overwrite them.
            (Ok(()), Ok(detail)) if !is_checked_out => {
                let (branch, paths) = (self.branch(), self.shown_paths());
                Ok(format!("{detail}; before you switch to `{branch}`: `git checkout {branch} -- {paths}`"))
            }
            (Ok(()), Err(Halted::Other(error))) if self.users_work().is_some() => {
                Err(error.hint("what was said is kept, even if git changes or removes these files").into())
            }
            (Err(not_kept), Err(Halted::Other(error))) => Err(self.say_that_nothing_is_kept(error, not_kept).into()),
            (Err(not_kept), Err(Halted::Git(failure))) => {
                self.remember_if_unreachable(&failure);
                let error = explain(failure, self.delivery.destination);
                Err(self.say_that_nothing_is_kept(error, not_kept).into())
            }
            (_, done) => done,
        }
    }

    /// Adds to an error that the words are only in the files, where a command of the user's may take them away.
    fn say_that_nothing_is_kept(&self, error: Error, not_kept: Halted) -> Error {
        let NotDelivered::Failed(why) = not_kept.explained(self.delivery.destination) else { return error };
        let paths = self.shown_paths();
        let commands = "`git reset --hard`, `git stash` or an abort";
        error.hint(format!("what was said is only in {paths}, and {commands} would take it away: {}", why.one_line()))
    }

    /// Our paths, for a command line.
    fn shown_paths(&self) -> String {
        let paths: Vec<_> = self.paths.iter().map(|path| path.display().to_string()).collect();
        paths.join(" ")
    }

    /// What the user is in the middle of.
    pub(super) fn users_work(&self) -> Option<&'static str> {
        let is_there = |(name, _): &&(&str, &str)| fs::exists(&self.git_dir.join(name));
        IN_PROGRESS.iter().find(is_there).map(|(_, what)| *what)
    }

    fn publish_in_rounds(&mut self, mut tip: Option<Tip>, mut is_checked_out: bool) -> Result<String> {
        let start = Instant::now();
        let mut race = Race::until(self.time_left(), false);
        loop {
            self.refuse_during_users_work()?;
            // The files here belong to what is checked out, which may be older than the branch. A merge without a base only
            // adds to them.
            if let Some(tip) = tip.as_ref().filter(|_| !is_checked_out) {
                self.absorb_since(&tip.commit.clone(), None)?;
            }
            self.settle_files()?;
            if !self.delivery.destination.push {
                let commit = self.commit_shared(tip.as_ref(), None, None, is_checked_out)?;
                return Ok(format!("committed {} on `{}`; not pushed", short(&commit), self.branch()));
            }
            let there = match self.fetch_shared() {
                Ok(there) => there,
                Err(halted @ Halted::Stopped(_)) => return Err(halted),
                Err(halted) => return Err(self.commit_offline(tip.as_ref(), is_checked_out, halted)?),
            };
            self.ledger.travels.clear();
            match self.deliver_shared(tip.as_ref(), there.as_deref(), is_checked_out)? {
                Round::Done(detail) => return Ok(detail),
                Round::Again(why) => match race.after_lost(start.elapsed(), chance()) {
                    Move::Retry(wait) => self.wait(wait)?,
                    Move::PushAside | Move::Fail => return Err(why),
                },
            }
            tip = self.tip()?;
            match self.branch_kind(tip.as_ref())? {
                BranchKind::Shared { is_checked_out: now } => is_checked_out = now,
                BranchKind::Own => return self.publish_own(tip),
            }
        }
    }

    /// Fails while the user is in the middle of something in which the branch must not move. During a rebase or a bisect HEAD
    /// is on no branch.
    fn refuse_during_users_work(&self) -> Result<()> {
        let Some(what) = self.users_work() else { return Ok(()) };
        let message = format!("{what} is in progress, and nothing is committed on `{}` meanwhile", self.branch());
        let error = Error::failed(message).hint("finish or abort it, then `agent-handover push`");
        // git does not go on while files that it tracks have changes or a conflict.
        let paths = self.shown_paths();
        Err(error
            .hint(format!("if git stops at {paths}: `git add {paths}`; conflicts in them are merged by item"))
            .into())
    }

    /// Where the branch is on the remote.
    fn fetch_shared(&self) -> Result<Option<String>> {
        self.stop_if_pressed()?;
        self.check_remote_alive()?;
        Ok(self.fetch_branch()?)
    }

    /// Commits although the remote cannot be asked, on what is known of it. Returns why, with what to do before the next
    /// `git pull`.
    fn commit_offline(&mut self, tip: Option<&Tip>, is_checked_out: bool, halted: Halted) -> Result<Halted> {
        match self.joined_to_last_known(tip)? {
            Some(there) => drop(self.commit_here(tip, Some(&there), is_checked_out)?),
            None => drop(self.commit_shared(tip, None, None, is_checked_out)?),
        }
        let error = match halted {
            Halted::Git(failure) => {
                self.remember_if_unreachable(&failure);
                explain(failure, self.delivery.destination)
            }
            Halted::Other(error) => error,
            other => return Ok(other),
        };
        let branch = self.branch();
        Ok(error.hint(format!("run `agent-handover push` before `git pull` on `{branch}`: it merges by item")).into())
    }

    /// The last commit of the remote's branch that is known here, if it has a history in common with the branch here.
    fn joined_to_last_known(&self, tip: Option<&Tip>) -> Result<Option<String>> {
        let (Some(tip), Some(there)) = (tip, self.last_known()?) else { return Ok(None) };
        Ok(self.git().merge_base(&tip.commit, &there)?.map(|_| there))
    }

    fn deliver_shared(&mut self, tip: Option<&Tip>, there: Option<&str>, is_checked_out: bool) -> Result<Round> {
        let Some(there) = there else { return self.deliver_first(tip, is_checked_out) };
        let base = tip.map(|tip| self.git().merge_base(&tip.commit, there)).transpose()?.flatten();
        if let Some(tip) = tip
            && !self.has_news(tip, base.as_deref())?
        {
            there.clone_into(&mut self.ledger.delivered);
            return Ok(Round::Done(self.arrived(there)));
        }
        let has_moved_on = base.as_deref() != Some(there);
        if has_moved_on {
            self.absorb_since(there, base.filter(|_| is_checked_out))?;
            self.settle_files()?;
        }
        let ours = self.commit_here(tip, Some(there), is_checked_out)?;
        if !has_moved_on {
            let pushed = self.push_shared(&ours, Some(there))?;
            return Ok(self.ended(pushed, &ours, ""));
        }
        let merge = self.commit_on(there, &[ours])?;
        let pushed = self.keeping_users_view(|publisher| publisher.push_shared(&merge, Some(there)))?;
        Ok(self.ended(pushed, &merge, "; `git pull` brings what others pushed"))
    }

    /// Delivers to a remote that does not have the branch.
    fn deliver_first(&mut self, tip: Option<&Tip>, is_checked_out: bool) -> Result<Round> {
        let commit = self.commit_shared(tip, None, None, is_checked_out)?;
        if self.git().commits_between(None, &commit)?.iter().any(|commit| !self.is_ours(commit)) {
            return Ok(Round::Done(self.leave_to_users_push(&commit)));
        }
        let pushed = self.push_shared(&commit, None)?;
        Ok(self.ended(pushed, &commit, ""))
    }

    /// Commits our files on the branch here. Returns the commit to push: the same one, or one aside that has no commit of
    /// the user's below it.
    fn commit_here(&mut self, tip: Option<&Tip>, there: Option<&str>, is_checked_out: bool) -> Result<String> {
        let between = match tip {
            Some(tip) => self.git().commits_between(there, &tip.commit)?,
            None => Vec::new(),
        };
        if between.iter().all(|commit| self.is_ours(commit)) {
            return self.commit_shared(tip, None, there, is_checked_out);
        }
        let common = match (tip, there) {
            (Some(tip), Some(there)) => self.git().merge_base(&tip.commit, there)?,
            _ => None,
        };
        let Some(base) = common else {
            // Nothing joins two histories that have nothing in common, unless the user says so.
            return Err(Error::failed(format!("`{}` on {} has another history", self.branch(), self.remote()))
                .hint(format!("`git pull` on `{}`, then `agent-handover push`", self.branch()))
                .into());
        };
        let aside = self.commit_on(&base, &self.without_users(&between))?;
        self.commit_shared(tip, Some(&aside), there, is_checked_out)?;
        Ok(aside)
    }

    /// The newest of these commits that have no commit of the user's below them. They were made before the user's, or aside,
    /// and are not delivered yet.
    fn without_users(&self, between: &[CommitBetween]) -> Vec<String> {
        let all: HashSet<&str> = between.iter().map(|commit| commit.id.as_str()).collect();
        let (mut without, mut below) = (HashSet::new(), HashSet::new());
        // Parents come after their children.
        for commit in between.iter().rev() {
            let is_known = |parent: &String| !all.contains(parent.as_str()) || without.contains(parent.as_str());
            if self.is_ours(commit) && commit.parents.iter().all(is_known) {
                without.insert(commit.id.as_str());
                below.extend(commit.parents.iter().map(String::as_str));
            }
        }
        between
            .iter()
            .map(|commit| &commit.id)
            .filter(|id| without.contains(id.as_str()) && !below.contains(id.as_str()))
            .cloned()
            .collect()
    }

    /// Whether we made a commit, and nobody added other files to it.
    pub(super) fn is_ours(&self, commit: &CommitBetween) -> bool {
        let is_published = |path: &PathBuf| self.paths.iter().any(|ours| path.starts_with(ours));
        commit.is_run && commit.paths.iter().all(is_published)
    }

    /// Whether our files, here or on the branch, differ from those of the commit that the remote has, too.
    fn has_news(&mut self, tip: &Tip, base: Option<&str>) -> Result<bool> {
        if self.tree(Some(tip), None)? != tip.tree {
            return Ok(true);
        }
        let Some(base) = base else { return Ok(true) };
        let differences = self.git().differences(Some(base), &tip.commit)?;
        Ok(differences.iter().any(|difference| self.is_published(&difference.path)))
    }

    /// Writes a commit with the user's files of `below` and our files as they are here, on `below` and other commits. No
    /// branch moves.
    fn commit_on(&mut self, below: &str, others: &[String]) -> Result<String> {
        let tree = self.git().tree_of(below)?;
        let tip = Tip { commit: below.to_owned(), tree, checked_out: None, symbolic: None };
        let tree = self.tree(Some(&tip), None)?;
        // What is pushed has no file of the user's that the remote does not have, whatever happened to our index.
        if self.git().differences(Some(&tip.tree), &tree)?.iter().any(|found| !self.is_published(&found.path)) {
            return Err(Error::bug("a commit of our files has changes of other files").into());
        }
        let mut parents = vec![below];
        for other in others {
            if self.git().is_ancestor(below, other)? {
                parents.retain(|parent| *parent != below);
            }
        }
        parents.extend(others.iter().map(String::as_str));
        self.write_commit(&tree, &parents)
    }

    /// Commits our files on the branch here, as a merge with `aside` if there is one. Files that `there` has were searched
    /// for secrets where they were committed.
    fn commit_shared(
        &mut self,
        tip: Option<&Tip>,
        aside: Option<&str>,
        there: Option<&str>,
        is_checked_out: bool,
    ) -> Result<String> {
        let tree = self.tree(tip, None)?;
        if let Some(tip) = tip.filter(|tip| tip.tree == tree && aside.is_none()) {
            let commit = self.already_at(tip);
            if is_checked_out {
                self.update_users_index(&commit)?;
            }
            return Ok(commit);
        }
        let mut differences = self.git().differences(tip.map(|tip| tip.tree.as_str()), &tree)?;
        if let Some(there) = there {
            let unknown = self.git().differences(Some(there), &tree)?;
            let unknown: HashSet<PathBuf> = unknown.into_iter().map(|difference| difference.path).collect();
            differences.retain(|difference| unknown.contains(&difference.path));
        }
        let changed: Vec<(String, PathBuf)> =
            differences.into_iter().filter_map(|difference| Some((difference.new?, difference.path))).collect();
        self.refuse_secrets_in(&changed)?;
        let old = tip.map(|tip| tip.commit.as_str());
        let parents: Vec<&str> = old.into_iter().chain(aside).collect();
        let commit = self.write_commit(&tree, &parents)?;
        self.remember_searched(&commit, old);
        // The index comes first: if this process is killed in between, the user's next commit has our files, too. The other way
        // round it would take them back.
        if is_checked_out {
            self.update_users_index(&commit)?;
        }
        // Until the remote has it, a user who resets the branch must not lose it.
        commit.clone_into(&mut self.ledger.kept);
        if !self.move_branch(&commit, old)? {
            return Err(Error::failed(format!("`{}` moved while it was being committed to", self.branch()))
                .hint("`agent-handover push` tries again")
                .into());
        }
        Ok(commit)
    }

    fn push_shared(&mut self, commit: &str, there: Option<&str>) -> Result<Pushed> {
        self.stop_if_pressed()?;
        self.refuse_secrets_in_push(commit, there)?;
        match self.git().push(self.remote(), commit, self.branch()) {
            Err(failure) if matches!(failure.kind, FailureKind::Rejected | FailureKind::LockedThere) => {
                return Ok(Pushed::NotYet(failure.into()));
            }
            pushed => drop(pushed?),
        }
        if let Some(asides) = self.has_arrived(commit)? {
            return Ok(Pushed::Arrived(asides));
        }
        Err(Error::failed(format!("{} does not have what was pushed", self.remote()))
            .hint("`agent-handover push` tries again")
            .into())
    }

    /// Pushes without moving the user's own idea of where the remote is: `--force-with-lease` depends on it, and what is
    /// pushed has commits of others that the user has not seen.
    fn keeping_users_view(&mut self, push: impl FnOnce(&mut Self) -> Result<Pushed>) -> Result<Pushed> {
        let name = format!("refs/remotes/{}/{}", self.remote(), self.branch());
        let seen = self.git().commit_of(&name)?;
        let pushed = push(self);
        if let (Some(seen), Some(now)) = (seen, self.git().commit_of(&name)?)
            && seen != now
        {
            self.git().move_ref(&name, &seen, Some(&now))?;
        }
        pushed
    }

    fn ended(&self, pushed: Pushed, commit: &str, hint: &str) -> Round {
        match pushed {
            Pushed::Arrived(_) => Round::Done(format!("{}{hint}", self.arrived(commit))),
            Pushed::NotYet(why) => Round::Again(why),
        }
    }

    fn arrived(&self, commit: &str) -> String {
        format!("{} is on {}/{}", short(commit), self.remote(), self.branch())
    }

    /// Records that the commit waits for the user: pushing it would push their commits below it.
    fn leave_to_users_push(&mut self, commit: &str) -> String {
        self.ledger.travels = format!("{} on `{}` travels with your next push", short(commit), self.branch());
        format!("committed; {}", self.ledger.travels)
    }

    /// Gives the user's index the entries of our paths, so that `git status` shows no change that nobody made.
    fn update_users_index(&mut self, commit: &str) -> Result<()> {
        let pathspecs = self.pathspecs();
        let git = self.users_git().writing();
        if git.index_is_at(commit, &pathspecs)? {
            return Ok(());
        }
        self.unless_locked(|_| Ok(git.reset_paths(commit, &pathspecs)?))
    }
}
