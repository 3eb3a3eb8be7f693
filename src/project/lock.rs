//! Where the lock of a project is.

use std::path::PathBuf;

use super::Project;
use super::open::{DATABASE, LOCK};
use crate::base::lock::LockFile;

impl Project {
    /// The lock file beside the checkpoint: `lock`, or the name of the database with `.lock` if it is not the default one.
    pub(crate) fn lock(&self) -> LockFile {
        LockFile { anchor: self.checkpoint_anchor(), path: self.lock_path() }
    }

    fn lock_path(&self) -> PathBuf {
        match self.checkpoint.file_name() {
            Some(name) if name != DATABASE => {
                let mut name = name.to_owned();
                name.push(".lock");
                self.checkpoint.with_file_name(name)
            }
            _ => self.checkpoint.with_file_name(LOCK),
        }
    }
}
