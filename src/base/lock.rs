//! A lock of the operating system that ends with its process. The text of the lock file only names the holder.

use std::fs::{File, Metadata, TryLockError};
use std::io::{Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{clock, fault, fs};
use crate::error::{Error, Result};

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Owner {
    pub pid: u32,
    pub host: String,
    pub run: String,
    pub since: String,
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Owner { pid, host, run, since } = self;
        match run.as_str() {
            "" => write!(f, "pid {pid} on {host} is compacting or delivering since {since}"),
            run => write!(f, "pid {pid} on {host} is running handover {run} since {since}"),
        }
    }
}

/// A held lock. It is released when dropped or when the process ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock. `None` if another process holds it. A reader that looks for the holder takes it for the length of a
    /// system call, so this tries a few times.
    pub fn try_take(path: &Path) -> Result<Option<Lock>> {
        let file = fs::open_private(path)?;
        for pause in [0, 1, 2, 4, 8] {
            std::thread::sleep(std::time::Duration::from_millis(pause));
            match file.try_lock() {
                Ok(()) => {
                    let mut lock = Lock { file, path: path.to_path_buf() };
                    // The text names a former holder, unless the file is not a lock of ours at all.
                    if !could_be_ours(&fs::read(path)?) {
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

    /// The lock that our parent took and passed to us as standard input. It is the same open file, so the lock is held without
    /// interruption.
    pub fn inherited(path: &Path) -> Result<Lock> {
        let failed = |cause| Error::io("take over the lock", path, cause);
        let file = File::from(std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
        let same = |a: &Metadata, b: &Metadata| a.dev() == b.dev() && a.ino() == b.ino();
        let (ours, theirs) = (file.metadata().map_err(failed)?, std::fs::metadata(path).map_err(failed)?);
        if !same(&ours, &theirs) {
            return Err(Error::usage("standard input is not the lock of this project"));
        }
        file.try_lock().map_err(|cause| failed(cause.into()))?;
        // No other descriptor may keep the file open, or dropping the lock would not release it.
        let nothing = File::open("/dev/null").map_err(failed)?;
        rustix::stdio::dup2_stdin(&nothing).map_err(|cause| failed(cause.into()))?;
        Ok(Lock { file, path: path.to_path_buf() })
    }

    /// The open file, for a child process. The lock is then held for as long as the child has the file open.
    pub fn hand_over(self) -> File {
        self.file
    }

    /// Writes into the file what is done under this lock. It is not synced, because nobody holds the lock after a power cut.
    pub fn sign(&mut self, run: &str) -> Result<()> {
        let owner = Owner {
            pid: std::process::id(),
            host: host(),
            run: run.to_owned(),
            since: clock::now().format("%Y-%m-%d %H:%M:%S").to_string(),
        };
        let text = serde_json::to_string(&owner).unwrap_or_default();
        self.write(text.as_bytes())
    }

    fn write(&mut self, text: &[u8]) -> Result<()> {
        self.file
            .set_len(0)
            .and_then(|()| self.file.rewind())
            .and_then(|()| self.file.write_all(text))
            .map_err(|cause| Error::io("write", &self.path, cause))
    }
}

/// Whether this can be the text of our lock file: nothing, an owner, or the remains of one after a power cut.
fn could_be_ours(text: &[u8]) -> bool {
    let is_text = text.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    text.len() <= 1_000 && (!is_text || text.is_empty() || text.starts_with(b"{\"pid\":"))
}

/// The holder in words, even if it has not written its name yet.
pub fn describe(owner: Option<&Owner>) -> String {
    owner.map_or_else(|| "another process is running a handover".to_owned(), Owner::to_string)
}

/// The present holder of the lock, if there is one. This takes the lock for no longer than a system call.
pub fn holder(path: &Path) -> Option<Option<Owner>> {
    fs::refuse_what_is_no_file(path).ok()?;
    let file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(owner(path)),
        _ => None,
    }
}

/// The owner in the text of the lock file. `None` if it has not been written yet.
pub fn owner(path: &Path) -> Option<Owner> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

pub fn host() -> String {
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
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        assert_eq!(holder(&path), None);
        let mut lock = Lock::try_take(&path).unwrap().unwrap();
        lock.sign("01X").unwrap();
        assert!(Lock::try_take(&path).unwrap().is_none());
        assert_eq!(holder(&path).unwrap().unwrap().run, "01X");
        drop(lock);
        // Another test may be forking just now, and its child has the lock for as long as it takes to start a program.
        wait_until(|| holder(&path).is_none());
        let _lock = Lock::try_take(&path).unwrap().unwrap();
        assert_eq!(holder(&path), Some(None), "nobody takes the last owner for this one");
    }

    #[test]
    fn a_lock_that_is_handed_over_stays_held() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let file = Lock::try_take(&path).unwrap().unwrap().hand_over();
        assert!(Lock::try_take(&path).unwrap().is_none());
        drop(file);
        wait_until(|| Lock::try_take(&path).unwrap().is_some());
    }
}
