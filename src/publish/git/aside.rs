//! Branches of single machines on the remote, beside the branch that all of them share.
//!
//! A commit that lost the race too often goes to a branch that only this machine pushes to: from then on the remote has
//! it. Every `pull` merges such branches, and so does every publish that had to fetch. Once the shared branch on the remote
//! has the commit, the branch of the machine is removed. A process that is killed before that leaves a branch that is merged
//! already, and whoever fetches next removes it.

use super::failure::Result;
use super::publisher::{Publisher, short};
use crate::git::{self, FailureKind, Other};

/// The branch of a machine, as it was fetched.
pub(super) struct Aside {
    /// Its name without the directory.
    name: String,
    commit: String,
    /// The branch here has its commit.
    is_merged: bool,
}

impl Publisher<'_> {
    /// The directory of these branches on the remote.
    fn asides(&self) -> String {
        format!("{}-machines/", self.branch())
    }

    /// Fetches the shared branch and those of single machines. The commit is `None` if the remote has no shared branch.
    pub(super) fn fetch_with_asides(&self) -> git::Result<(Option<String>, Vec<Aside>)> {
        let (into, directory) = (self.fetched_ref(), self.asides());
        let others_into = format!("{into}-machines/");
        let found = self.git().fetch_with_others(self.remote(), (self.branch(), &into), (&directory, &others_into))?;
        Ok(match found {
            None => (None, Vec::new()),
            Some((commit, others)) => {
                let aside = |Other { name, commit }| Aside { name, commit, is_merged: false };
                (Some(commit), others.into_iter().map(aside).collect())
            }
        })
    }

    /// Merges branches of single machines, one after the other, into the files here and the branch here, which is at
    /// `commit`. Looks at `most` of them, and at none after half of the time of this delivery. Returns where the branch is then,
    /// and how many of them are left for another time.
    pub(super) fn merge_asides(
        &mut self,
        mut commit: String,
        asides: &mut [Aside],
        most: usize,
    ) -> Result<(String, usize)> {
        let all = asides.len().min(most);
        for (at, aside) in asides.iter_mut().take(most).enumerate() {
            if self.is_late() {
                return Ok((commit, all - at));
            }
            if self.git().is_ancestor(&aside.commit, &commit)? {
                aside.is_merged = true;
                continue;
            }
            // What others put there may be anything.
            if !self.is_without_code(&aside.commit)? {
                continue;
            }
            self.absorb(&aside.commit)?;
            self.settle_files()?;
            let tip = self.tip()?;
            match self.commit(tip.as_ref(), Some(&aside.commit))? {
                Some(merged) => commit = merged,
                // Another process moved the branch here. The next delivery merges the rest.
                None => return Ok((commit, all - at)),
            }
            aside.is_merged = true;
        }
        Ok((commit, 0))
    }

    /// Removes those branches of single machines whose commits the shared branch on the remote has now. That they stay is no
    /// failure: nothing is lost.
    pub(super) fn remove_merged(&self, asides: &[Aside]) {
        let merged: Vec<(String, String)> = asides
            .iter()
            .filter(|aside| aside.is_merged)
            .map(|aside| (format!("{}{}", self.asides(), aside.name), aside.commit.clone()))
            .collect();
        if merged.is_empty() || self.delivery.brake.pressed().is_some() {
            return;
        }
        if let Err(failure) = self.git().remove_branches(self.remote(), &merged) {
            tracing::debug!("branches of machines stay on {}: {}", self.remote(), failure.one_line());
        }
    }

    /// Pushes a commit to the branch of this machine, and asks whether it arrived. `None` if the remote does not take it.
    pub(super) fn push_aside(&mut self, commit: &str) -> Result<Option<String>> {
        // A copy of this project may use the same name. Then another one helps.
        for _ in 0..2 {
            self.stop_if_pressed()?;
            self.check_remote_alive()?;
            if self.ledger.aside.is_empty() {
                self.ledger.aside = random_name();
                self.ledger.write(&self.delivery.files)?;
            }
            let branch = format!("{}{}", self.asides(), self.ledger.aside);
            match self.git().push(self.remote(), commit, &branch) {
                Ok(_) => {}
                Err(failure) if failure.kind == FailureKind::Rejected => {
                    self.ledger.aside.clear();
                    continue;
                }
                Err(failure) if is_refusal(failure.kind) => return Ok(None),
                Err(failure) => return Err(failure.into()),
            }
            if self.git().remote_tip(self.remote(), &branch)?.as_deref() == Some(commit) {
                self.delivery.unreachable.remove(&self.top, self.remote());
                let (commit, remote) = (short(commit), self.remote());
                return Ok(Some(format!(
                    "{commit} is on {remote}/{branch}, because other machines were faster; the next publish of any machine merges it"
                )));
            }
            // Somebody else has merged and removed it already, or it went to another repository than is read from.
            if self.has_arrived(commit)? {
                return Ok(Some(format!("{} is on {}/{}", short(commit), self.remote(), self.branch())));
            }
            return Ok(None);
        }
        Ok(None)
    }
}

/// Whether the remote answered, and does not take a new branch.
fn is_refusal(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::HookDeclined
            | FailureKind::Protected
            | FailureKind::Authentication
            | FailureKind::NameTaken
            | FailureKind::LockedThere
            | FailureKind::Other
    )
}

/// A name that says nothing about the machine. Without randomness it is that of others, and their pushes are rejected.
fn random_name() -> String {
    let mut random = [0; 8];
    let _ = getrandom::fill(&mut random);
    format!("{:016x}", u64::from_le_bytes(random))
}
