//! A lock of the operating system that ends with its process. The text of the lock file only names the holder.

use std::fs::{File, Metadata, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::fs::{Anchor, FileError};
use super::{clock, fault};
use crate::error::{Error, Result};

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Owner {
    pub pid: u32,
    pub host: String,
    pub run: String,
    pub since: String,
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Owner { pid, host, run, since } = self;
        match run.as_str() {
            "" => write!(f, "pid {pid} on {host} has been compacting or delivering since {since}"),
            run => write!(
                f,
                "pid {pid} on {host} has been running handover {} since {since}",
                super::ids::short_run_id(run)
            ),
        }
    }
}

/// The place of a lock, and the anchor below which it is reached without following a link.
#[derive(Clone, Debug)]
pub(crate) struct LockFile {
    pub anchor: Anchor,
    pub path: PathBuf,
}

/// A lock that is held until it is dropped or the process is gone.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock; `None` if another process holds it. A reader that only looks holds it for the length of a system
    /// call, so this tries a few times.
    pub(crate) fn try_take(place: &LockFile) -> Result<Option<Lock>> {
        let path = place.path.as_path();
        let file = place.anchor.open_private(path).map_err(|error| explain(error, path))?;
        for pause in [0, 1, 2, 4, 8] {
            std::thread::sleep(std::time::Duration::from_millis(pause));
            match file.try_lock() {
                Ok(()) => {
                    let mut lock = Lock { file, path: path.to_path_buf() };
                    // The text names an owner that is gone, unless the file is not a lock of ours at all.
                    if !could_be_ours(&lock.read()?) {
                        return Err(Error::failed(format!("`{}` is not a lock of agent-handover", path.display()))
                            .hint("it was not changed: move it away, or choose another `--checkpoint`"));
                    }
                    lock.write(b"")?;
                    fault::at("lock.taken");
                    return Ok(Some(lock));
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(cause)) => return Err(Error::io("lock", path, cause)),
            }
        }
        Ok(None)
    }

    /// The lock that our parent took and gave us as standard input. It is the same open file, so the lock was never free
    /// in between.
    #[allow(clippy::disallowed_methods, reason = "only compares the lock with standard input")]
    pub(crate) fn inherited(place: &LockFile) -> Result<Lock> {
        let path = place.path.as_path();
        let failed = |cause| Error::io("take over the lock", path, cause);
        let file = File::from(std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
        let same = |a: &Metadata, b: &Metadata| a.dev() == b.dev() && a.ino() == b.ino();
        let (ours, theirs) = (file.metadata().map_err(failed)?, std::fs::metadata(path).map_err(failed)?);
        if !same(&ours, &theirs) {
            return Err(Error::usage("standard input is not the lock of this project"));
        }
        file.try_lock().map_err(|cause| failed(cause.into()))?;
        // No other descriptor may keep the file open, or dropping this one would not release the lock.
        let nothing = File::open("/dev/null").map_err(failed)?;
        rustix::stdio::dup2_stdin(&nothing).map_err(|cause| failed(cause.into()))?;
        Ok(Lock { file, path: path.to_path_buf() })
    }

    /// The open file, to be given to a child. From now on the lock is held as long as the child keeps it open.
    pub(crate) fn hand_over(self) -> File {
        self.file
    }

    /// Writes into the file what is done under this lock. Not synced: after a power cut nobody holds it.
    pub(crate) fn sign(&mut self, run: &str) -> Result<()> {
        let owner = Owner {
            pid: std::process::id(),
            host: host(),
            run: run.to_owned(),
            since: clock::now().format("%Y-%m-%d %H:%M:%S").to_string(),
        };
        let text = serde_json::to_string(&owner).unwrap_or_default();
        self.write(text.as_bytes())
    }

    fn read(&mut self) -> Result<Vec<u8>> {
        read_start(&mut self.file).map_err(|cause| Error::io("read", &self.path, cause))
    }

    fn write(&mut self, text: &[u8]) -> Result<()> {
        self.file
            .set_len(0)
            .and_then(|()| self.file.rewind())
            .and_then(|()| self.file.write_all(text))
            .map_err(|cause| Error::io("write", &self.path, cause))
    }
}

/// The error about a lock that cannot be opened.
fn explain(error: FileError, path: &Path) -> Error {
    let is_refusal = error.is_refusal();
    let error = Error::from(error);
    if is_refusal {
        return error;
    }
    error.hint(format!("make `{}` writable for you, or remove it while no handover is running", path.display()))
}

/// More than a lock of ours ever holds.
const MAX_TEXT: u64 = 1_000;

fn read_start(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.rewind()?;
    file.take(MAX_TEXT + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// Whether a lock file of ours may hold this text: nothing, an owner, or what a power cut made of one.
fn could_be_ours(text: &[u8]) -> bool {
    let is_text = text.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    text.len() as u64 <= MAX_TEXT && (!is_text || text.is_empty() || text.starts_with(b"{\"pid\":"))
}

/// The owner in words, also while the owner has not signed.
pub(crate) fn describe(owner: Option<&Owner>) -> String {
    owner.map_or_else(|| "another process is running a handover".to_owned(), Owner::to_string)
}

/// Who holds the lock right now, if anybody does. Keeps a runner from taking it for no longer than a system call.
pub(crate) fn holder(place: &LockFile) -> Option<Option<Owner>> {
    let mut file = open(place).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(owner_in(&mut file)),
        _ => None,
    }
}

/// The owner that the lock file names; `None` while its owner has not signed.
pub(crate) fn owner(place: &LockFile) -> Option<Owner> {
    owner_in(&mut open(place).ok()?)
}

fn owner_in(file: &mut File) -> Option<Owner> {
    serde_json::from_slice(&read_start(file).ok()?).ok()
}

fn open(place: &LockFile) -> Result<File, FileError> {
    place.anchor.open(&place.path)
}

pub(crate) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_until(condition: impl Fn() -> bool) {
        let start = std::time::Instant::now();
        while !condition() {
            assert!(start.elapsed() < std::time::Duration::from_secs(30), "waited in vain");
            std::thread::yield_now();
        }
    }

    #[test]
    fn one_owner_at_a_time_and_its_name_is_known() {
        let directory = crate::base::scratch::directory();
        let place = LockFile { anchor: Anchor::new(directory.path()), path: directory.path().join("lock") };
        assert_eq!(holder(&place), None);
        let mut lock = Lock::try_take(&place).unwrap().unwrap();
        lock.sign("01X").unwrap();
        assert!(Lock::try_take(&place).unwrap().is_none());
        assert_eq!(holder(&place).unwrap().unwrap().run, "01X");
        drop(lock);
        // Another test may be forking just now, and its child has the lock for as long as it takes to start a program.
        wait_until(|| holder(&place).is_none());
        let _lock = Lock::try_take(&place).unwrap().unwrap();
        assert_eq!(holder(&place), Some(None), "nobody takes the last owner for this one");
    }

    #[test]
    fn a_lock_that_is_handed_over_stays_held() {
        let directory = crate::base::scratch::directory();
        let place = LockFile { anchor: Anchor::new(directory.path()), path: directory.path().join("lock") };
        let file = Lock::try_take(&place).unwrap().unwrap().hand_over();
        assert!(Lock::try_take(&place).unwrap().is_none());
        drop(file);
        wait_until(|| Lock::try_take(&place).unwrap().is_some());
    }

    #[test]
    fn a_link_in_the_place_of_the_directory_is_not_followed() {
        let (directory, elsewhere) = (crate::base::scratch::directory(), tempfile::tempdir().unwrap());
        let state = directory.path().join("state");
        std::os::unix::fs::symlink(elsewhere.path(), &state).unwrap();
        let place = LockFile { anchor: Anchor::new(directory.path()), path: state.join("lock") };
        let error = Lock::try_take(&place).unwrap_err();
        assert!(error.message().contains("is a symlink"), "{error:?}");
        assert!(!elsewhere.path().join("lock").exists());
    }
}
