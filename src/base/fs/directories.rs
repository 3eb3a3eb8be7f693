//! Creating directories level by level, and locking them.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::holder::Holder;
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

/// How long to wait for a lock. Most holders write one file, so one that takes longer hangs.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How long to wait for a holder that works. An import writes and syncs up to 10,000 files.
const LONGEST_WAIT: Duration = Duration::from_secs(150);
/// How often to look whether the holder works.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long to wait for the lock of a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// [`LOCK_WAIT`].
    Short,
    /// [`LOCK_WAIT`] from the last time at which the holder worked, and [`LONGEST_WAIT`] at most.
    WhileHolderWorks,
}

/// Locks a directory, waiting up to [`LOCK_WAIT`] for another process.
pub(crate) fn lock_directory(path: &Path) -> Result<DirectoryLock> {
    lock_opened(File::open(path).map_err(|cause| Error::io("open", path, cause))?, path, Patience::Short)
}

/// Like [`lock_directory`], for a directory that is already open.
pub(super) fn lock_opened(directory: File, path: &Path, patience: Patience) -> Result<DirectoryLock> {
    let mut waiting = Waiting::new(patience);
    loop {
        match directory.try_lock() {
            Ok(()) => return Ok(DirectoryLock(directory)),
            Err(TryLockError::WouldBlock) if signals::received().is_some() => {
                let signal = signals::received().unwrap_or(0);
                return Err(Error::new(Category::Signal(signal), format!("interrupted by {}", signals::name(signal))));
            }
            Err(TryLockError::WouldBlock) if waiting.goes_on(&directory) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(TryLockError::WouldBlock) => return Err(held(path, Holder::of(&directory))),
            // Some network file systems cannot lock a directory. Working without the lock is better than not at all.
            Err(TryLockError::Error(_)) => return Ok(DirectoryLock(directory)),
        }
    }
}

/// The wait for a lock that another process holds.
struct Waiting {
    patience: Patience,
    since: Instant,
    looked: Instant,
    /// When the holder was last seen to work, and its trace then.
    worked: Instant,
    trace: String,
}

impl Waiting {
    fn new(patience: Patience) -> Waiting {
        let now = Instant::now();
        Waiting { patience, since: now, looked: now, worked: now, trace: String::new() }
    }

    fn goes_on(&mut self, directory: &File) -> bool {
        let now = Instant::now();
        if self.patience == Patience::WhileHolderWorks && now - self.looked >= LOOK_EVERY {
            self.looked = now;
            let trace = Holder::of(directory).map(|holder| holder.trace()).unwrap_or_default();
            if !trace.is_empty() && trace != self.trace {
                (self.trace, self.worked) = (trace, now);
            }
        }
        now - self.worked < LOCK_WAIT && now - self.since < LONGEST_WAIT
    }
}

/// The error about a lock that another process holds.
fn held(path: &Path, holder: Option<Holder>) -> Error {
    let shown = path.display();
    match holder {
        Some(Holder { pid }) => Error::failed(format!("process {pid} is working in the directory `{shown}`"))
            .hint(format!("try again when it has ended; `ps -fp {pid}` shows what it is, and `kill {pid}` ends it")),
        None => Error::failed(format!("another process is working in the directory `{shown}`"))
            .hint("try again when it has ended; `lsof` finds it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wait that began so many seconds ago, for a holder that was last seen to work that long ago.
    fn waiting(patience: Patience, since: u64, worked: u64) -> Waiting {
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        Waiting { patience, since: ago(since), looked: ago(1), worked: ago(worked), trace: "before".to_owned() }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_holder_that_works_is_waited_for_and_one_that_hangs_is_not() {
        let world = crate::base::scratch::directory();
        let (holder, other) = (File::open(world.path()).unwrap(), File::open(world.path()).unwrap());
        holder.lock().unwrap();
        assert!(waiting(Patience::Short, 5, 5).goes_on(&other));
        assert!(!waiting(Patience::Short, 60, 60).goes_on(&other));
        // This process has another trace than the one that was seen before.
        assert!(waiting(Patience::WhileHolderWorks, 60, 60).goes_on(&other));
        assert!(!waiting(Patience::WhileHolderWorks, LONGEST_WAIT.as_secs() + 1, 60).goes_on(&other));
        // Of a lock that nobody is known to hold, no more is seen.
        holder.unlock().unwrap();
        assert!(!waiting(Patience::WhileHolderWorks, 60, 60).goes_on(&other));
    }

    #[test]
    fn the_error_names_the_process_and_what_to_do() {
        let error = held(Path::new("/p/.agent-history"), Some(Holder { pid: 4711 }));
        assert_eq!(error.message(), "process 4711 is working in the directory `/p/.agent-history`");
        assert!(error.hints().iter().any(|hint| hint.contains("try again when it has ended")));
        let error = held(Path::new("/p/.agent-history"), None);
        assert!(error.message().contains("another process is working in"), "{}", error.message());
    }
}
