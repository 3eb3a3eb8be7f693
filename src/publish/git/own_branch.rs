//! A branch that holds nothing but handovers, shared by many machines.

use std::time::{Duration, Instant};

use super::failure::{Halted, Result};
use super::publisher::{BranchKind, Publisher, short};
use crate::error::Error;
use crate::git::{FailureKind, Tip};

impl Publisher<'_> {
    pub(super) fn publish_own(&mut self, mut tip: Option<Tip>) -> Result<String> {
        let mut theirs: Option<String> = None;
        // Where a branch is not known yet, another machine may have begun it.
        if tip.is_none() && self.ledger.synced.is_empty() && self.delivery.destination.push {
            match self.remote_git().fetch(self.remote(), self.branch(), &self.fetched_ref()) {
                Ok(Some(found)) if !self.is_without_code(&found)? => {
                    // The code is on it, there: then it is here, too, and ours goes on top.
                    self.git().move_ref(&self.branch_ref(), &found, None)?;
                    self.ledger.is_own = false;
                    return self.publish_shared(self.git().tip(self.branch())?, false);
                }
                Ok(found) => theirs = found,
                // What is said is committed all the same, and the failure is told by the push.
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
            let Some(commit) = self.commit(tip.as_ref(), theirs.as_deref())? else {
                tip = self.git().tip(self.branch())?;
                continue;
            };
            if !self.delivery.destination.push {
                return Ok(format!("committed {} on `{}`; not pushed", short(&commit), self.branch()));
            }
            self.stop_if_pressed()?;
            self.refuse_secrets_in_push(&commit, theirs.as_deref())?;
            self.check_remote_alive()?;
            match self.remote_git().push(self.remote(), &commit, self.branch()) {
                Ok(was) => self.notice_what_was(was.as_deref()),
                Err(failure) if failure.kind == FailureKind::Rejected => {
                    self.wait_a_little(round, failure)?;
                    theirs = self.fetch()?;
                    tip = self.git().tip(self.branch())?;
                    continue;
                }
                Err(failure) => return Err(failure.into()),
            }
            if self.has_arrived(&commit)? {
                return Ok(format!("{} is on {}/{}", short(&commit), self.remote(), self.branch()));
            }
            let missing = Error::failed(format!("{} does not have what was pushed to it", self.remote()))
                .hint("its push address may be another repository than the one it is read from");
            self.wait_a_little(round, missing)?;
            theirs = self.fetch()?;
            tip = self.git().tip(self.branch())?;
        }
        Err(Error::bug("there is no end to the rounds").into())
    }

    /// What a person should know about how the remote branch was found.
    pub(super) fn notice_what_was(&mut self, was: Option<&str>) {
        let (branch, remote) = (self.branch().to_owned(), self.remote().to_owned());
        match was {
            _ if self.ledger.delivered.is_empty() => {}
            None => self.notices.push(format!("{remote} had lost the branch `{branch}`; it has it again")),
            Some(was) if is_part(was) && !self.ledger.delivered.starts_with(was) => {
                self.notices
                    .push(format!("`{branch}` on {remote} had been moved back; it is where it was, and further"));
            }
            Some(_) => {}
        }
    }

    /// Asks the remote whether it has the commit, alone or below others.
    pub(super) fn has_arrived(&mut self, commit: &str) -> Result<bool> {
        let found = self.remote_git().remote_tip(self.remote(), self.branch())?;
        let arrived = match &found {
            Some(found) if found == commit => true,
            Some(_) => match self.remote_git().fetch(self.remote(), self.branch(), &self.fetched_ref())? {
                Some(found) => self.git().is_ancestor(commit, &found)?,
                None => false,
            },
            None => false,
        };
        if arrived {
            self.delivery.unreachable.remove(&self.top, self.remote());
            commit.clone_into(&mut self.ledger.delivered);
        }
        Ok(arrived)
    }

    /// What the remote has, if that is news; and what a person should know about how it came to be there.
    pub(super) fn fetch(&mut self) -> Result<Option<String>> {
        let found = self.remote_git().fetch(self.remote(), self.branch(), &self.fetched_ref())?;
        if let Some(found) = &found
            && !self.is_without_code(found)?
        {
            let message = format!("`{}` on {} holds more than memory now", self.branch(), self.remote());
            return Err(Error::failed(message).hint("name another branch under `[backend]`").into());
        }
        let delivered = self.ledger.delivered.clone();
        if !delivered.is_empty() {
            match &found {
                None => self.notices.push(format!(
                    "{} had lost the branch `{}`; the files here are as they were",
                    self.remote(),
                    self.branch()
                )),
                Some(found) if !self.git().is_ancestor(&delivered, found)? => self.notices.push(format!(
                    "`{}` on {} was moved by force; the files here have kept what they had",
                    self.branch(),
                    self.remote()
                )),
                Some(_) => {}
            }
        }
        Ok(found)
    }

    /// Longer after each round and a little at random, so that machines that met do not meet again; until the time is up.
    pub(super) fn wait_a_little(&self, round: u32, error: impl Into<Halted>) -> Result<()> {
        let mut random = [0u8];
        let _ = getrandom::fill(&mut random);
        let wait = Duration::from_millis((20 << round.min(5)) + (u64::from(random[0]) << round.min(4)) / 8);
        if self.left() <= wait {
            return Err(error.into());
        }
        let start = Instant::now();
        while start.elapsed() < wait {
            self.stop_if_pressed()?;
            std::thread::sleep(wait.saturating_sub(start.elapsed()).min(Duration::from_millis(50)));
        }
        Ok(())
    }

    pub fn pull(&mut self) -> Result<String> {
        let tip = self.git().tip(self.branch())?;
        if let BranchKind::Shared { .. } = self.branch_kind(tip.as_ref())? {
            return Err(Error::failed(format!("the branch `{}` holds the code, too", self.branch()))
                .hint("use `git pull`; only a branch of its own is merged here")
                .into());
        }
        let Some(theirs) = self.fetch()? else {
            if !self.ledger.delivered.is_empty() {
                let gone = format!("{} has no branch `{}` any more", self.remote(), self.branch());
                let error = Error::failed(gone).hint("`agent-handover push` makes it anew from the files here");
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
        theirs.clone_into(&mut self.ledger.delivered);
        let local = tip.as_ref().map(|tip| tip.commit.clone());
        let is_behind = match &local {
            Some(local) => self.git().is_ancestor(local, &theirs)?,
            None => true,
        };
        if is_behind {
            if local.as_ref() != Some(&theirs) && !self.move_branch(&theirs, local.as_deref())? {
                return Err(Error::failed("another process moved the branch meanwhile").hint("pull again").into());
            }
        } else if !self.git().is_ancestor(&theirs, local.as_deref().unwrap_or_default())?
            && self.commit(tip.as_ref(), Some(&theirs))?.is_none()
        {
            return Err(Error::failed("another process moved the branch meanwhile").hint("pull again").into());
        }
        Ok(format!("{} of {}/{} is here", short(&theirs), self.remote(), self.branch()))
    }

    pub(super) fn move_branch(&mut self, commit: &str, from: Option<&str>) -> Result<bool> {
        let name = self.branch_ref();
        let moved = self.unless_locked(|publisher| Ok(publisher.git().move_ref(&name, commit, from)?))?;
        if moved {
            commit.clone_into(&mut self.ledger.synced);
            let there = self.paths.iter().filter(|path| self.top.join(path).symlink_metadata().is_ok());
            self.ledger.published = there.cloned().collect();
            // The files and the branch agree from here on; who is killed before this is written only compares again.
            self.ledger.write(self.delivery.files.state)?;
        }
        Ok(moved)
    }
}

/// The beginning of an object id.
fn is_part(text: &str) -> bool {
    text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
