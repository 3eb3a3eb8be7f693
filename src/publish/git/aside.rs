//! Branches of single machines on the remote, beside the branch that all of them share.
//!
//! A commit that lost the race too often goes to a branch that only this machine pushes to: from then on the remote has
//! it. A publish asks the remote whether its commit arrived, and the answer also lists such branches. The publish merges a
//! few of them and pushes once more. `pull` merges them without pushing. A branch whose commit the shared branch has is removed by
//! whoever publishes next, so a process may be killed at any moment.
//!
//! Whoever may push to the remote can put anything there, under any name and in any number. So a delivery looks at a few
//! at a time, in random order, fetches them into refs with names of our own, and remembers what it cannot merge.

use std::collections::HashSet;

use super::failure::{Halted, Result};
use super::own_branch::MERGED_AT_ONCE;
use super::publisher::{Publisher, short};
use super::remote::{Pushed, chance};
use crate::base::text;
use crate::git::{self, FailureKind, Other};

/// How many branches are fetched in one go.
const FETCHED_AT_ONCE: usize = 32;
/// How many commits are remembered that cannot be merged.
const MAX_REMEMBERED: usize = 20_000;
/// How much of each commit's id is remembered.
const REMEMBERED: usize = 16;
/// One of so many deliveries asks a remote again to remove branches that it did not let go.
const ASKED_AGAIN: u16 = 16;

impl Publisher<'_> {
    /// The directory of these branches on the remote.
    pub(super) fn asides(&self) -> String {
        format!("{}-machines/", self.branch())
    }

    /// Merges some of the branches of machines that the remote has beside the shared one, which has `commit`, pushes what comes
    /// of it once, and removes those that are merged. What fails here is left to the next publish: this one has arrived.
    pub(super) fn fold(&mut self, commit: &str, asides: &[Other]) {
        if asides.is_empty() || self.is_late() || self.delivery.brake.pressed().is_some() {
            return;
        }
        if let Err(halted) = self.try_to_fold(commit, asides) {
            let why = match halted {
                Halted::Git(failure) => failure.one_line(),
                Halted::Other(error) => error.one_line(),
                Halted::Stopped(_) | Halted::NotFromHere(_) => "stopped".to_owned(),
            };
            tracing::debug!("branches of machines stay on {}: {why}", self.remote());
        }
    }

    fn try_to_fold(&mut self, commit: &str, asides: &[Other]) -> Result<()> {
        let mut merged = commit.to_owned();
        let wanted = self.not_merged_yet(asides, commit)?;
        if !wanted.is_empty() {
            merged = self.merge_asides(commit, &wanted, MERGED_AT_ONCE)?;
        }
        if merged != commit {
            // Another machine may be faster. Then the branch here has what it merged, and the next publish pushes that.
            let Pushed::Arrived(_) = self.push_own(&merged, Some(commit))? else { return Ok(()) };
        }
        self.remove_merged(asides, &merged)
    }

    /// Those of these branches that `commit` does not contain and that may be merged, each commit once.
    pub(super) fn not_merged_yet(&self, asides: &[Other], commit: &str) -> Result<Vec<Other>> {
        let contained = self.contained(asides, commit)?;
        let refused: HashSet<&str> = self.ledger.not_merged.iter().map(String::as_str).collect();
        let mut seen = HashSet::new();
        let is_wanted = |aside: &&Other| {
            !contained.contains(&aside.commit)
                && !refused.contains(remembered(&aside.commit))
                && seen.insert(aside.commit.clone())
        };
        Ok(asides.iter().filter(is_wanted).cloned().collect())
    }

    fn contained(&self, asides: &[Other], commit: &str) -> Result<HashSet<String>> {
        let commits: Vec<&str> = asides.iter().map(|aside| aside.commit.as_str()).collect();
        Ok(self.git().contained(&commits, commit)?)
    }

    /// Fetches branches of single machines and merges them, one after the other, into the files here and the branch here, which
    /// is at `commit`. Looks at `most` of them, and at none after half of the time of this delivery. Returns where the branch is
    /// then.
    pub(super) fn merge_asides(&mut self, commit: &str, asides: &[Other], most: usize) -> Result<String> {
        let mut commit = commit.to_owned();
        let mut wanted = asides.to_vec();
        // Many machines merge at the same time, and a stranger may have put thousands there: all have their turn.
        shuffle(&mut wanted);
        wanted.truncate(most);
        for some in wanted.chunks(FETCHED_AT_ONCE) {
            for found in self.fetch_asides(some)? {
                if self.is_late() {
                    return Ok(commit);
                }
                if !self.is_of_this_project(&found, &commit)? {
                    self.remember_not_merged(&found);
                    continue;
                }
                self.absorb(&found)?;
                self.settle_files()?;
                let tip = self.tip()?;
                match self.commit(tip.as_ref(), Some(&found))? {
                    Some(merged) => commit = merged,
                    // Another process moved the branch here. The next delivery merges the rest.
                    None => return Ok(commit),
                }
            }
        }
        Ok(commit)
    }

    /// Whether a commit adds nothing to the shared branch but changes of our files. Others may be of anybody, or of another project
    /// in this repository, whose machines know how to merge them.
    fn is_of_this_project(&self, commit: &str, here: &str) -> Result<bool> {
        let shared = self.git().commit_of(&self.fetched_ref())?;
        let changed = self.git().paths_changed_since(shared.as_deref().unwrap_or(here), commit)?;
        Ok(changed.iter().all(|path| self.is_published(path)))
    }

    /// Fetches branches of single machines, and the shared one with them, so that it has all that they are based on. Returns
    /// the commits of those that are still there.
    fn fetch_asides(&mut self, asides: &[Other]) -> Result<Vec<String>> {
        if self.is_late() {
            return Ok(Vec::new());
        }
        let fetched = format!("{}-machines", self.fetched_ref());
        let into = |number: usize| format!("{fetched}/{number}");
        let all: Vec<(String, String)> = asides
            .iter()
            .enumerate()
            .map(|(number, aside)| (format!("{}{}", self.asides(), aside.name), into(number)))
            .collect();
        let shared = (self.branch().to_owned(), self.fetched_ref());
        let mut there: Vec<bool> = vec![true; asides.len()];
        if !self.git().fetch_all(self.remote(), &[&all[..], &[shared]].concat()).or_else(only_of_content)? {
            // One of them is gone, or holds what git does not take. The others are fetched without it.
            for (number, one) in all.iter().enumerate() {
                self.stop_if_pressed()?;
                match self.git().fetch_all(self.remote(), std::slice::from_ref(one)) {
                    Ok(is_there) => there[number] = is_there,
                    Err(failure) => {
                        there[number] = false;
                        if failure.kind == FailureKind::Other {
                            self.remember_not_merged(&asides[number].commit);
                        }
                        only_of_content(failure)?;
                    }
                }
            }
        }
        let mut commits = Vec::new();
        for number in (0..asides.len()).filter(|number| there[*number]) {
            commits.extend(self.git().commit_of(&into(number))?);
        }
        Ok(commits)
    }

    fn remember_not_merged(&mut self, commit: &str) {
        let known = &mut self.ledger.not_merged;
        if known.len() >= MAX_REMEMBERED {
            known.remove(0);
        }
        known.push(remembered(commit).to_owned());
    }

    /// Removes those branches of single machines whose commits the shared branch has, which is at `commit` on the remote. A
    /// branch that stays does no harm.
    fn remove_merged(&mut self, asides: &[Other], commit: &str) -> Result<()> {
        let contained = self.contained(asides, commit)?;
        let merged: Vec<(String, String)> = asides
            .iter()
            .filter(|aside| contained.contains(&aside.commit))
            .map(|aside| (format!("{}{}", self.asides(), aside.name), aside.commit.clone()))
            .take(FETCHED_AT_ONCE)
            .collect();
        let digest = text::digest(format!("{merged:?}").as_bytes(), 8);
        if merged.is_empty() || (digest == self.ledger.not_removed && !chance().is_multiple_of(ASKED_AGAIN)) {
            return Ok(());
        }
        self.stop_if_pressed()?;
        match self.git().remove_branches(self.remote(), &merged) {
            Ok(()) => self.ledger.not_removed.clear(),
            Err(failure) => {
                if is_refusal(failure.kind) {
                    self.ledger.not_removed = digest;
                }
                return Err(failure.into());
            }
        }
        Ok(())
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
                self.is_aside = true;
                let (commit, remote) = (short(commit), self.remote());
                return Ok(Some(format!(
                    "{commit} is on {remote}/{branch}, because other machines were faster; the next publish of any machine merges it"
                )));
            }
            // Somebody else has merged and removed it already, or it went to another repository than is read from.
            if self.has_arrived(commit)?.is_some() {
                return Ok(Some(format!("{} is on {}/{}", short(commit), self.remote(), self.branch())));
            }
            return Ok(None);
        }
        Ok(None)
    }
}

/// Passes over failures that are about what is fetched, and not about the remote or this machine.
fn only_of_content(failure: git::Failure) -> git::Result<bool> {
    match failure.kind {
        FailureKind::Other | FailureKind::Damaged | FailureKind::DamagedThere => Ok(false),
        _ => Err(failure),
    }
}

/// The part of a commit's id that is remembered.
fn remembered(commit: &str) -> &str {
    commit.get(..REMEMBERED).unwrap_or(commit)
}

fn shuffle<T>(list: &mut [T]) {
    for at in (1..list.len()).rev() {
        list.swap(at, usize::from(chance()) % (at + 1));
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
