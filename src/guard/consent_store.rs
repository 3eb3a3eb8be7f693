//! The consents of the user, as files in the user's own state, where no repository can put anything.
//!
//! The name of such a file is the digest of what the user agreed to, so any change voids the consent. The files are never
//! read or locked.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::base::fs::{self, Anchor, FileKind};
use crate::base::{env, text};
use crate::error::{Error, Result};

/// The consents of one sort.
pub(super) struct ConsentStore {
    directory: PathBuf,
}

impl ConsentStore {
    pub(super) fn of(sort: &str) -> Result<ConsentStore> {
        env::user_state()
            .map(|state| ConsentStore { directory: state.join(sort) })
            .ok_or_else(|| Error::failed("there is no home directory to keep your consent in").hint("set HOME"))
    }

    #[cfg(test)]
    pub(super) fn at(directory: PathBuf) -> ConsentStore {
        ConsentStore { directory }
    }

    /// The path of the consent to these parts of a file. Symlinks to the file are resolved. Only the last part may contain a
    /// zero byte, because zero bytes separate the parts.
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

    /// Whether there is such a consent. If that cannot be looked up, there is none.
    pub(super) fn is_set(&self, file: &Path, parts: &[&[u8]]) -> bool {
        let mark = self.path(file, parts).ok().and_then(|mark| Some((self.anchor().about(&mark).ok()??, mark)));
        mark.is_some_and(|(about, mark)| {
            about.kind == FileKind::Regular && fs::refuse_owner(about.owner, &mark, "consent").is_ok()
        })
    }

    pub(super) fn set(&self, file: &Path, parts: &[&[u8]]) -> Result<()> {
        let anchor = self.anchor();
        anchor.create_private_directories(&self.directory)?;
        // Only the name counts. The text is for a person who looks into the directory.
        anchor.create_flag(&self.path(file, parts)?, format!("{}\n", file.display()).as_bytes())?;
        Ok(())
    }

    /// Removes a consent. `false` if there was none.
    pub(super) fn clear(&self, file: &Path, parts: &[&[u8]]) -> Result<bool> {
        let mark = self.path(file, parts)?;
        if !self.anchor().is_regular(&mark) {
            return Ok(false);
        }
        self.anchor().remove_file(&mark)?;
        Ok(true)
    }

    fn anchor(&self) -> Anchor {
        Anchor::new(&self.directory)
    }
}
