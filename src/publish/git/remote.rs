//! What is asked of the remote and sent to it.

use std::time::{Duration, Instant};

use super::failure::{Halted, Result, explain};
use super::publisher::Publisher;
use crate::base::text;
use crate::error::Error;
use crate::git::{self, FailureKind, Other, PushedTo};

/// How a push ended that may be tried again.
pub(super) enum Pushed {
    /// The remote confirmed that it has the commit. It also has these branches of single machines beside the shared one.
    Arrived(Vec<Other>),
    /// The commit is not on the branch there, and another round may get it there.
    NotYet(Halted),
}

impl Publisher<'_> {
    /// The ref for what is fetched, away from the user's own.
    pub(super) fn fetched_ref(&self) -> String {
        // A remote may be an address, which cannot be part of a ref's name.
        format!("refs/agent-handover/{}/{}", text::digest(self.remote().as_bytes(), 4), self.branch())
    }

    /// The last commit of the remote's branch that is known here, from us or from the user. `None` if none is.
    pub(super) fn last_known(&self) -> git::Result<Option<String>> {
        let of_user = self.git().commit_of(&format!("refs/remotes/{}/{}", self.remote(), self.branch()))?;
        let ours = self.git().commit_of(&self.fetched_ref())?;
        match (ours, of_user) {
            (Some(ours), Some(of_user)) if self.git().is_ancestor(&ours, &of_user)? => Ok(Some(of_user)),
            (ours, of_user) => Ok(ours.or(of_user)),
        }
    }

    /// Fetches the branch and returns its commit. `None` if the remote does not have the branch.
    pub(super) fn fetch_branch(&self) -> git::Result<Option<String>> {
        self.git().fetch(self.remote(), self.branch(), &self.fetched_ref())
    }

    /// Fetches our own branch and returns its commit. Refuses code on it, and notes for the user what somebody did to it.
    pub(super) fn fetch_own(&mut self) -> Result<Option<String>> {
        let found = self.fetch_branch()?;
        self.look_at(found)
    }

    /// Like `fetch_own`. Also returns the branches of single machines that the remote has beside the shared one. Fetches nothing
    /// if nothing is new.
    pub(super) fn fetch_own_and_list(&mut self) -> Result<(Option<String>, Vec<Other>)> {
        let (tip, asides) = self.git().remote_tips(self.remote(), self.branch(), &self.asides())?;
        let found = match tip {
            Some(tip) if self.git().commit_of(&self.fetched_ref())?.as_ref() == Some(&tip) => Some(tip),
            Some(_) => self.fetch_branch()?,
            None => None,
        };
        Ok((self.look_at(found)?, asides))
    }

    /// Refuses code on our own branch, which is at `found` on the remote, and notes for the user what somebody did to it.
    fn look_at(&mut self, found: Option<String>) -> Result<Option<String>> {
        if let Some(found) = &found
            && !self.is_without_code(found)?
        {
            let message = format!("`{}` on {} holds more than memory now", self.branch(), self.remote());
            return Err(Error::failed(message).hint("name another branch under `[backend]`").into());
        }
        let delivered = self.ledger.delivered.clone();
        if !delivered.is_empty() {
            match &found {
                None => self.note(format!(
                    "{} had lost the branch `{}`; the files here were not changed",
                    self.remote(),
                    self.branch()
                )),
                Some(found) if !self.git().is_ancestor(&delivered, found)? => self.note(format!(
                    "`{}` on {} was moved by force; the files here were not changed",
                    self.branch(),
                    self.remote()
                )),
                Some(_) => {}
            }
        }
        Ok(found)
    }

    /// Pushes a commit to our own branch and makes sure that it arrived. `theirs` is what the remote is known to have.
    pub(super) fn push_own(&mut self, commit: &str, theirs: Option<&str>) -> Result<Pushed> {
        self.stop_if_pressed()?;
        self.refuse_secrets_in_push(commit, theirs)?;
        self.check_remote_alive()?;
        // If a push goes where the remote is read, the answer to the push is enough. The branches of machines are listed
        // at the same time.
        let listing = if self.git().pushes_where_it_reads(self.remote()) {
            self.git().begin_listing(self.remote(), &self.asides()).ok()
        } else {
            None
        };
        let confirmed = match self.git().push(self.remote(), commit, self.branch()) {
            Ok(PushedTo { before, is_confirmed }) => {
                self.note_tip_before_push(before.as_deref())?;
                is_confirmed
            }
            Err(failure) if matches!(failure.kind, FailureKind::Rejected | FailureKind::LockedThere) => {
                return Ok(Pushed::NotYet(failure.into()));
            }
            Err(failure) => return Err(failure.into()),
        };
        if let Some(listing) = listing.filter(|_| confirmed) {
            self.remember_delivered(commit);
            let asides = self.git().listed(listing, &self.asides());
            // The commit has arrived. Whoever publishes next merges what could not be listed now.
            return Ok(Pushed::Arrived(asides.unwrap_or_default()));
        }
        if let Some(asides) = self.has_arrived(commit)? {
            return Ok(Pushed::Arrived(asides));
        }
        let missing = Error::failed(format!("{} does not have what was pushed to it", self.remote()))
            .hint("its push address may be another repository than the one it is read from");
        Ok(Pushed::NotYet(missing.into()))
    }

    /// Notes for the user if somebody removed the branch on the remote, or moved it back. That other machines moved it
    /// forward is ordinary.
    fn note_tip_before_push(&mut self, before: Option<&str>) -> Result<()> {
        let (branch, remote) = (self.branch().to_owned(), self.remote().to_owned());
        match before {
            _ if self.ledger.delivered.is_empty() => {}
            None => self.note(format!("{remote} had lost the branch `{branch}`; it has it again")),
            Some(before) if is_start_of_id(before) && self.has_lost_what_it_had(before)? => {
                self.note(format!("`{branch}` on {remote} had been moved back; what was missing was pushed again"));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Whether the commit that the remote was last seen to have is not below this one.
    fn has_lost_what_it_had(&self, before: &str) -> Result<bool> {
        let delivered = &self.ledger.delivered;
        Ok(!delivered.starts_with(before) && !self.git().is_ancestor(delivered, before)?)
    }

    /// Notes something for the user, once.
    fn note(&mut self, notice: String) {
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    /// Asks the remote whether its branch has the commit, at the tip or below it. Returns the branches of single machines that
    /// it has beside that branch. `None` if the commit did not arrive.
    pub(super) fn has_arrived(&mut self, commit: &str) -> Result<Option<Vec<Other>>> {
        let (found, asides) = self.git().remote_tips(self.remote(), self.branch(), &self.asides())?;
        let arrived = match &found {
            Some(found) if found == commit => true,
            Some(_) => match self.fetch_branch()? {
                Some(found) => self.git().is_ancestor(commit, &found)?,
                None => false,
            },
            None => false,
        };
        if !arrived {
            return Ok(None);
        }
        self.remember_delivered(commit);
        Ok(Some(asides))
    }

    /// Records that the remote has a commit.
    fn remember_delivered(&mut self, commit: &str) {
        self.delivery.unreachable.remove(&self.top, self.remote());
        commit.clone_into(&mut self.ledger.delivered);
    }

    /// Remembers what did not answer, a remote or git itself, so that asking it again does not waste time.
    pub(super) fn remember_if_unreachable(&self, failure: &git::Failure) {
        let destination = self.delivery.destination;
        let (known, timeout) = (self.delivery.unreachable, destination.timeout_ms);
        let message = || explain(failure.clone(), destination).one_line();
        match failure.kind {
            FailureKind::RemoteTimedOut | FailureKind::Unreachable => {
                known.add(&self.top, self.remote(), timeout, explain(failure.clone(), destination).message());
            }
            FailureKind::TimedOut => known.add_git(&self.top, timeout, &message()),
            _ => {}
        }
    }

    /// Fails if git itself did not answer to an earlier delivery of this command.
    pub(super) fn check_git_answers(&self) -> Result<()> {
        let timeout_ms = self.delivery.destination.timeout_ms;
        self.delivery.unreachable.git_message(&self.top, timeout_ms).map_or(Ok(()), |message| {
            Err(Error::failed(message).hint("`agent-handover push`, or the next handover, tries again").into())
        })
    }

    /// Fails if the remote did not answer before.
    pub(super) fn check_remote_alive(&self) -> Result<()> {
        let timeout_ms = self.delivery.destination.timeout_ms;
        self.delivery.unreachable.message(&self.top, self.remote(), timeout_ms).map_or(Ok(()), |message| {
            Err(Error::failed(message).hint("`agent-handover push`, or the next handover, delivers it").into())
        })
    }

    /// Waits before another round.
    pub(super) fn wait(&self, wait: Duration) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < wait {
            self.stop_if_pressed()?;
            std::thread::sleep(wait.saturating_sub(start.elapsed()).min(Duration::from_millis(50)));
        }
        Ok(())
    }
}

/// A number that two machines do not have in common. Without randomness they meet again, which costs a round.
pub(super) fn chance() -> u16 {
    let mut random = [0; 2];
    let _ = getrandom::fill(&mut random);
    u16::from_le_bytes(random)
}

/// Whether this is the beginning of an object id, as `git push` prints it.
fn is_start_of_id(text: &str) -> bool {
    text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
