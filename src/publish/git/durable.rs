//! What makes a delivery survive a power cut.
//!
//! git syncs the objects and refs that it writes (`core.fsync`). On some file systems that is not enough, and in a
//! repository behind a path nobody knows which git wrote what. There the whole file system is synced before a delivery
//! counts as done. In our own repository it is also synced before a ref moves: otherwise the ref may reach the disk before
//! its objects, and a power cut in between leaves a branch that git cannot read.

use std::path::{Path, PathBuf};

use super::failure::Result;
use super::publisher::Publisher;
use crate::base::fs;

impl Publisher<'_> {
    /// Whether what git wrote into this repository survives a power cut by itself.
    pub(super) fn keeps_what_git_synced(&self) -> bool {
        stores(&self.common_dir).iter().all(|directory| fs::keeps_what_git_synced(directory))
    }

    /// Brings the objects that git wrote to the disk before a ref names them, where git's own syncing is not enough.
    pub(super) fn sync_objects(&self) -> Result<()> {
        if self.keeps_what_git_synced() {
            return Ok(());
        }
        let directories = stores(&self.common_dir);
        Ok(fs::sync_file_systems(&directories.iter().map(PathBuf::as_path).collect::<Vec<_>>())?)
    }

    /// Brings what was delivered to the disk, where git's own syncing is not enough.
    pub(super) fn make_durable(&mut self) -> Result<()> {
        let mut directories = Vec::new();
        if self.ledger.unsynced {
            directories.extend(stores(&self.common_dir));
        }
        if self.delivery.destination.push && (self.is_aside || self.ledger.delivered != self.delivered_before) {
            for remote in self.git().local_remotes(self.remote())? {
                directories.extend(stores(&remote));
            }
        }
        let directories: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
        if let Err(error) = fs::sync_file_systems(&directories) {
            self.ledger.delivered.clone_from(&self.delivered_before);
            return Err(error.into());
        }
        self.ledger.unsynced = false;
        Ok(())
    }
}

/// The directories of a repository that may be on different file systems: its own, and those of its objects and refs.
fn stores(repository: &Path) -> Vec<PathBuf> {
    let link = repository.join(".git");
    if !fs::is_directory(repository) || fs::is_file(&link) {
        // The repository is wherever this leads. A path that cannot be opened makes all file systems be synced.
        return vec![link.join("objects")];
    }
    let names = ["", "objects", "refs", ".git", ".git/objects", ".git/refs"];
    names.iter().map(|name| repository.join(name)).filter(|path| fs::is_directory(path)).collect()
}
