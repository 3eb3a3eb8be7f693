//! Locks that a killed git left on our branch.
//!
//! git holds the lock of a ref for milliseconds. A power cut or a kill leaves the lock file behind, and then nothing can
//! move the ref.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::failure::Result;
use super::publisher::{PATIENCE, Publisher};
use crate::base::fs;

impl Publisher<'_> {
    /// Whether a lock on our own branch here is older than git holds one, so that waiting for it is in vain.
    pub(super) fn has_stale_lock(&self) -> bool {
        self.ledger.is_own && self.locks_in(&self.common_dir).iter().any(|lock| !is_young(lock))
    }

    /// Removes locks on our own branch, here and in a repository behind a path, that are older than git holds one. Waits
    /// until a younger lock is that old, or gone. Returns whether it is worth trying again.
    pub(super) fn remove_stale_locks(&mut self) -> Result<bool> {
        if !self.ledger.is_own {
            return Ok(false);
        }
        let mut locks = self.locks_in(&self.common_dir);
        for remote in self.git().local_remotes(self.remote())? {
            locks.extend(self.locks_in(&remote));
        }
        for lock in &locks {
            while is_young(lock) {
                self.stop_if_pressed()?;
                if self.time_left() <= Duration::from_millis(1) {
                    return Ok(false);
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            if fs::is_file(lock) {
                fs::remove_file(lock)?;
                self.notices.push(format!("removed `{}`, which a git that was killed had left", lock.display()));
            }
        }
        Ok(!locks.is_empty())
    }

    fn locks_in(&self, repository: &Path) -> Vec<PathBuf> {
        let refs = [self.branch_ref(), self.fetched_ref()];
        refs.iter().map(|name| repository.join(format!("{name}.lock"))).filter(|lock| fs::is_file(lock)).collect()
    }
}

/// Whether a lock is there that git may still hold.
fn is_young(lock: &Path) -> bool {
    let age = fs::modified(lock).map(|modified| SystemTime::now().duration_since(modified).unwrap_or_default());
    age.is_some_and(|age| age < PATIENCE)
}
