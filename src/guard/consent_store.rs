//! What the user has said yes to, as files in the user's own state, where no repository can put anything. A file's name is
//! the digest of what was agreed to, so a change of any part of it voids the consent; nothing is read back or locked.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::base::{env, fs, text};
use crate::error::{Error, Result};

/// The marks of one sort.
pub struct ConsentStore {
    directory: PathBuf,
}

impl ConsentStore {
    pub fn of(sort: &str) -> Result<ConsentStore> {
        env::user_state()
            .map(|state| ConsentStore { directory: state.join(sort) })
            .ok_or_else(|| Error::failed("there is no home directory to keep your consent in").hint("set HOME"))
    }

    #[cfg(test)]
    pub fn at(directory: PathBuf) -> ConsentStore {
        ConsentStore { directory }
    }

    /// The mark of one file, wherever it really is, and what is agreed to in it; only the last part may have a zero byte
    /// in it.
    fn path(&self, file: &Path, parts: &[&[u8]]) -> Result<PathBuf> {
        let real = fs::resolve(file)?;
        let mut digest = Sha256::new();
        digest.update(real.as_os_str().as_bytes());
        for part in parts {
            digest.update([0]);
            digest.update(part);
        }
        Ok(self.directory.join(text::hex(&digest.finalize())))
    }

    /// What cannot be looked up is not set.
    pub fn is_set(&self, file: &Path, parts: &[&[u8]]) -> bool {
        let mark = self.path(file, parts);
        mark.is_ok_and(|mark| mark.is_file() && fs::refuse_foreign_owner(&mark, "consent").is_ok())
    }

    pub fn set(&self, file: &Path, parts: &[&[u8]]) -> Result<()> {
        fs::create_private_directories(&self.directory)?;
        // Its name says all; the text is for who looks around.
        fs::create_flag(&self.path(file, parts)?, format!("{}\n", file.display()).as_bytes()).map(|_| ())
    }

    /// `false` if there was nothing to take back.
    pub fn clear(&self, file: &Path, parts: &[&[u8]]) -> Result<bool> {
        let mark = self.path(file, parts)?;
        if !mark.is_file() {
            return Ok(false);
        }
        fs::remove_file(&mark).map(|()| true)
    }
}
