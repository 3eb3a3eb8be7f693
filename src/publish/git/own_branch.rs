//! Publish and pull for a branch that holds nothing but our files. Many machines share it, so each merges what the others
//! wrote and tries again until its own commit is on top.

use std::time::Instant;

use super::failure::Result;
use super::publisher::{BranchKind, Publisher, short};
use super::race::{Move, Race};
use super::remote::{Pushed, chance};
use crate::base::text;
use crate::error::Error;
use crate::git::{Other, Tip};

/// How many branches of single machines a publish merges, so that it does not take much longer than others.
pub(super) const MERGED_AT_ONCE: usize = 8;

impl Publisher<'_> {
    /// Commits the files here on top of what other machines wrote, and pushes until the remote has the commit.
    pub(super) fn publish_own(&mut self, mut tip: Option<Tip>) -> Result<String> {
        let mut theirs: Option<String> = None;
        // Another machine may have begun a branch that is unknown here.
        if tip.is_none() && self.ledger.synced.is_empty() && self.delivery.destination.push {
            match self.fetch_branch() {
                Ok(Some(found)) if !self.is_without_code(&found)? => {
                    // The remote has code on this branch. So the branch here gets it, too, and our commit goes on top.
                    self.git().move_ref(&self.branch_ref(), &found, None)?;
                    self.ledger.is_own = false;
                    return self.publish_shared(self.tip()?, false);
                }
                Ok(found) => theirs = found,
                // The files are committed all the same, and the push reports the failure.
                Err(failure) => self.remember_if_unreachable(&failure),
            }
        }
        let start = Instant::now();
        let mut race = Race::until(self.time_left(), true);
        loop {
            let commit = self.commit_on_top(&mut tip, theirs.as_deref())?;
            if !self.delivery.destination.push {
                return Ok(format!("committed {} on `{}`; not pushed", short(&commit), self.branch()));
            }
            let why = match self.push_own(&commit, theirs.as_deref())? {
                Pushed::Arrived(asides) => {
                    self.fold(&commit, &asides);
                    return Ok(format!("{} is on {}/{}", short(&commit), self.remote(), self.branch()));
                }
                // A lock that stays is one that a killed git left.
                Pushed::NotYet(why) if why.is_locked() && race.lost() > 1 => return Err(why),
                Pushed::NotYet(why) => why,
            };
            let mut next = race.after_lost(start.elapsed(), chance());
            if next == Move::PushAside {
                if let Some(detail) = self.push_aside(&commit)? {
                    return Ok(detail);
                }
                next = race.after_refusal(start.elapsed(), chance());
            }
            match next {
                Move::Retry(wait) => self.wait(wait)?,
                Move::PushAside | Move::Fail => return Err(why),
            }
            theirs = self.fetch_own()?;
            tip = self.tip()?;
        }
    }

    /// Merges what other machines wrote into the files here, and commits them on top of it.
    fn commit_on_top(&mut self, tip: &mut Option<Tip>, theirs: Option<&str>) -> Result<String> {
        loop {
            self.stop_if_pressed()?;
            if let Some(theirs) = theirs {
                self.absorb(theirs)?;
            }
            if let Some(tip) = tip.as_ref().filter(|tip| tip.commit != self.ledger.synced) {
                self.absorb(&tip.commit.clone())?;
            }
            self.settle_files()?;
            if let Some(commit) = self.commit(tip.as_ref(), theirs)? {
                return Ok(commit);
            }
            // Another process moved the branch here.
            *tip = self.tip()?;
        }
    }

    /// Merges what the remote has into the files and the branch here, and pushes nothing.
    pub(super) fn pull(&mut self) -> Result<String> {
        let tip = self.tip()?;
        if let BranchKind::Shared { .. } = self.branch_kind(tip.as_ref())? {
            return Err(Error::failed(format!("the branch `{}` holds the code, too", self.branch()))
                .hint("use `git pull`; only a branch of its own is merged here")
                .into());
        }
        let (theirs, asides) = self.fetch_own_and_list()?;
        let Some(theirs) = theirs else {
            if !self.ledger.delivered.is_empty() {
                let gone = format!("{} has no branch `{}` any more", self.remote(), self.branch());
                let error = Error::failed(gone).hint("`agent-handover push` creates it again from the files here");
                return Err(error.into());
            }
            return Ok(format!("{} has no branch `{}` yet", self.remote(), self.branch()));
        };
        if let Some(tip) = tip.as_ref().filter(|tip| tip.commit != self.ledger.synced) {
            self.absorb(&tip.commit.clone())?;
        }
        if theirs != self.ledger.synced {
            self.absorb(&theirs)?;
        }
        self.settle_files()?;
        theirs.clone_into(&mut self.ledger.delivered);
        if !self.bring_branch_to(&theirs, tip.as_ref())? {
            return Err(Error::failed("another process moved the branch meanwhile").hint("pull again").into());
        }
        self.pull_asides(&theirs, &asides)?;
        Ok(format!("{} of {}/{} is here", short(&theirs), self.remote(), self.branch()))
    }

    /// Merges what machines pushed beside the branch, which is at `theirs` on the remote.
    fn pull_asides(&mut self, theirs: &str, asides: &[Other]) -> Result<()> {
        if asides.is_empty() {
            return Ok(());
        }
        let commit = self.tip()?.map_or_else(|| theirs.to_owned(), |tip| tip.commit);
        let wanted = self.not_merged_yet(asides, &commit)?;
        let commit = self.merge_asides(&commit, &wanted, wanted.len())?;
        let left = self.not_merged_yet(&wanted, &commit)?.len();
        if left > 0 {
            let machines = text::count(left, "machine");
            self.notices.push(format!("what {machines} pushed beside the branch is not here yet: pull again"));
        }
        Ok(())
    }

    /// Makes the branch here contain `theirs`: forward if it is behind, by a merge commit if both have moved. `false` if
    /// another process moved the branch meanwhile.
    fn bring_branch_to(&mut self, theirs: &str, tip: Option<&Tip>) -> Result<bool> {
        let local = tip.map(|tip| tip.commit.as_str());
        let is_behind = match local {
            Some(local) => self.git().is_ancestor(local, theirs)?,
            None => true,
        };
        if is_behind {
            return Ok(local == Some(theirs) || self.move_branch(theirs, local)?);
        }
        let is_ahead = self.git().is_ancestor(theirs, local.unwrap_or_default())?;
        Ok(is_ahead || self.commit(tip, Some(theirs))?.is_some())
    }
}
