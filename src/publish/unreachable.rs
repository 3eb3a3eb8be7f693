//! Remotes, signing programs and gits that did not answer, so that ten deliveries which are due do not wait ten times for the
//! same one.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// The place of a remote's name for the program that signs commits. No remote can have this name.
const SIGNING: &str = "";
/// The place of a remote's name for git itself. No remote can have this name.
const GIT: &str = " ";
/// The place of a remote's name for a lock in the repository. No remote can have this name.
const LOCK: &str = "  ";

/// The remotes that did not answer so far, and the signing program and git itself if they did
/// not. Whoever makes several deliveries in a row owns one and lends it to each.
#[derive(Debug, Default)]
pub struct UnreachableRemotes(RefCell<Vec<UnreachableRemote>>);

#[derive(Debug)]
struct UnreachableRemote {
    repository: PathBuf,
    remote: String,
    /// How long the delivery had waited for it.
    waited_ms: u64,
    message: String,
}

impl UnreachableRemote {
    fn is(&self, repository: &Path, remote: &str) -> bool {
        self.repository == repository && self.remote == remote
    }
}

impl UnreachableRemotes {
    pub(super) fn add(&self, repository: &Path, remote: &str, waited_ms: u64, message: &str) {
        let (repository, remote, message) = (repository.to_path_buf(), remote.to_owned(), message.to_owned());
        self.0.borrow_mut().push(UnreachableRemote { repository, remote, waited_ms, message });
    }

    /// Why a remote was not reached, unless `timeout_ms` is longer than it was waited for: then it may answer.
    pub(super) fn message(&self, repository: &Path, remote: &str, timeout_ms: u64) -> Option<String> {
        let remotes = self.0.borrow();
        let known = remotes.iter().find(|known| known.is(repository, remote) && known.waited_ms >= timeout_ms);
        known.map(|known| known.message.clone())
    }

    pub(super) fn add_signing(&self, repository: &Path, waited_ms: u64, message: &str) {
        self.add(repository, SIGNING, waited_ms, message);
    }

    /// Like `message`, for the program that signs commits.
    pub(super) fn signing_message(&self, repository: &Path, timeout_ms: u64) -> Option<String> {
        self.message(repository, SIGNING, timeout_ms)
    }

    pub(super) fn add_git(&self, repository: &Path, waited_ms: u64, message: &str) {
        self.add(repository, GIT, waited_ms, message);
    }

    /// Like `message`, for git itself.
    pub(super) fn git_message(&self, repository: &Path, timeout_ms: u64) -> Option<String> {
        self.message(repository, GIT, timeout_ms)
    }

    /// Remembers a lock that was waited for in vain.
    pub(super) fn add_lock(&self, repository: &Path) {
        self.add(repository, LOCK, u64::MAX, "locked");
    }

    /// Whether a lock was waited for in vain.
    pub(super) fn has_lock(&self, repository: &Path) -> bool {
        self.message(repository, LOCK, 0).is_some()
    }

    /// Forgets a remote, because it answered.
    pub(super) fn remove(&self, repository: &Path, remote: &str) {
        self.0.borrow_mut().retain(|known| !known.is(repository, remote));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_is_asked_again_only_by_a_more_patient_delivery() {
        let (here, remotes) = (Path::new("/here"), UnreachableRemotes::default());
        assert_eq!(remotes.message(here, "origin", 1), None);
        remotes.add(here, "origin", 1_000, "no answer");
        assert_eq!(remotes.message(here, "origin", 1_000).as_deref(), Some("no answer"));
        assert_eq!(remotes.message(here, "origin", 2_000), None);
        assert_eq!(remotes.message(here, "other", 1), None);
        assert_eq!(remotes.message(Path::new("/there"), "origin", 1), None);
        remotes.remove(here, "origin");
        assert_eq!(remotes.message(here, "origin", 1), None);
    }
}
