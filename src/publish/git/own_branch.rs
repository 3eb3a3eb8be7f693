//! Publish and pull for a branch that holds nothing but our files. Many machines share it, so each merges what the others
//! wrote and tries again until its own commit is on top.

use super::failure::Result;
use super::publisher::{BranchKind, Publisher, short};
use super::remote::Pushed;
use crate::error::Error;
use crate::git::Tip;

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
        for round in 0.. {
            self.stop_if_pressed()?;
            if let Some(theirs) = &theirs {
                self.absorb(theirs)?;
            }
            if let Some(tip) = tip.as_ref().filter(|tip| tip.commit != self.ledger.synced) {
                self.absorb(&tip.commit.clone())?;
            }
            self.settle_files()?;
            let Some(commit) = self.commit(tip.as_ref(), theirs.as_deref())? else {
                tip = self.tip()?;
                continue;
            };
            if !self.delivery.destination.push {
                return Ok(format!("committed {} on `{}`; not pushed", short(&commit), self.branch()));
            }
            match self.push_own(&commit, theirs.as_deref())? {
                Pushed::Arrived => {
                    return Ok(format!("{} is on {}/{}", short(&commit), self.remote(), self.branch()));
                }
                Pushed::NotYet(why) => self.wait_for_next_round(round, why)?,
            }
            theirs = self.fetch_own()?;
            tip = self.tip()?;
        }
        Err(Error::bug("the remote moved in every round").into())
    }

    /// Merges what the remote has into the files and the branch here, and pushes nothing.
    pub(super) fn pull(&mut self) -> Result<String> {
        let tip = self.tip()?;
        if let BranchKind::Shared { .. } = self.branch_kind(tip.as_ref())? {
            return Err(Error::failed(format!("the branch `{}` holds the code, too", self.branch()))
                .hint("use `git pull`; only a branch of its own is merged here")
                .into());
        }
        let Some(theirs) = self.fetch_own()? else {
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
        Ok(format!("{} of {}/{} is here", short(&theirs), self.remote(), self.branch()))
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
