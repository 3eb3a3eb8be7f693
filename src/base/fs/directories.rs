//! Creating directories level by level, and locking them.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::base::{fault, signals};
use crate::error::{Category, Error, Result};

/// Creates a directory and the missing ones above it. Each is synced before the next is created in it.
pub(crate) fn create_directories(path: &Path) -> Result<()> {
    create_levels(path, 0o777)
}

/// Like [`create_directories`]; only this user can read the last directory.
pub(crate) fn create_private_directories(path: &Path) -> Result<()> {
    create_levels(path, 0o700)
}

/// Creates a directory with this mode, and the missing ones above it with the usual mode.
pub(super) fn create_levels(path: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    match fs::DirBuilder::new().mode(mode).create(path) {
        Ok(()) => {
            sync_directory(parent(path))?;
            fault::at("fs.directory");
            Ok(())
        }
        Err(_) if path.is_dir() => Ok(()),
        // Some file systems report NotFound although the directory above exists.
        Err(cause) if cause.kind() == io::ErrorKind::NotFound && !parent(path).is_dir() => {
            create_levels(parent(path), 0o777)?;
            create_levels(path, mode)
        }
        Err(cause) => Err(Error::io("create the directory", path, cause)),
    }
}

pub(super) fn sync_directory(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|cause| Error::io("sync the directory", path, cause))
}

/// The directory a path is in; `.` for a bare name.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A lock on a directory, held while a process reads a file in it and then replaces that file.
///
/// Processes of different projects and checkpoints may use the same directory, so the lock of the checkpoint is not enough.
/// The directory itself is locked, so no lock file is left behind.
#[must_use]
pub struct DirectoryLock(File);

impl DirectoryLock {
    /// Whether the directory was removed while this process waited for the lock.
    pub fn is_of_removed(&self) -> bool {
        self.0.metadata().is_ok_and(|about| about.nlink() == 0)
    }
}

/// How long to wait for a lock. Each holder writes one file, so one that takes longer hangs.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Locks a directory, waiting up to [`LOCK_WAIT`] for another process.
pub(crate) fn lock_directory(path: &Path) -> Result<DirectoryLock> {
    lock_opened(File::open(path).map_err(|cause| Error::io("open", path, cause))?, path)
}

/// Like [`lock_directory`], for a directory that is already open.
pub(super) fn lock_opened(directory: File, path: &Path) -> Result<DirectoryLock> {
    let start = Instant::now();
    loop {
        match directory.try_lock() {
            Ok(()) => return Ok(DirectoryLock(directory)),
            Err(TryLockError::WouldBlock) if signals::received().is_some() => {
                let signal = signals::received().unwrap_or(0);
                return Err(Error::new(Category::Signal(signal), format!("interrupted by {}", signals::name(signal))));
            }
            Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_WAIT => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Error::failed(format!("another process holds the directory `{}`", path.display()))
                    .hint("find that process with `lsof`, end it, and try again"));
            }
            // Some network file systems cannot lock a directory. Working without the lock is better than not at all.
            Err(TryLockError::Error(_)) => return Ok(DirectoryLock(directory)),
        }
    }
}
