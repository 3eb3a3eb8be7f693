//! The place of `checkpoint.db`. SQLite opens files by name, so everything is checked right before.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::identity::{Accepts, Ids};
use crate::base::fs::{self, About, Anchor, FileError};
use crate::error::{Error, Result};

/// The files that SQLite keeps beside a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The path of a checkpoint, the anchor below which it is reached without following a link, and whose it may be.
#[derive(Clone, Debug)]
pub(crate) struct CheckpointFile {
    pub(super) anchor: Anchor,
    pub(super) path: PathBuf,
    pub(super) ids: Ids,
    pub(super) accepts: Accepts,
    /// The file may belong to another user.
    pub(super) may_be_foreign: bool,
}

impl CheckpointFile {
    pub(crate) fn new(anchor: Anchor, path: &Path, ids: Ids, accepts: Accepts) -> CheckpointFile {
        CheckpointFile { anchor, path: path.to_path_buf(), ids, accepts, may_be_foreign: false }
    }

    /// The same file, which may belong to another user if the answer is yes. It is only asked if it does.
    #[must_use]
    pub(crate) fn of_another_user_if(self, may_be_foreign: impl FnOnce() -> bool) -> CheckpointFile {
        let owner = self.anchor.about(&self.path).ok().flatten().map(|about| about.owner);
        let may_be_foreign = owner.is_some_and(fs::is_foreign_owner) && may_be_foreign();
        CheckpointFile { may_be_foreign, ..self }
    }

    #[cfg(test)]
    /// A file that a person named: the links above it are the person's own.
    pub(crate) fn beside(path: &Path) -> CheckpointFile {
        let ids = Ids { create: |_| Ok(None), is_known: |_| false, keep: |_, _| {}, forget: |_| {} };
        CheckpointFile::new(Anchor::beside(path), path, ids, Accepts::Any)
    }

    /// The path for SQLite, which then refuses a link anywhere in it: those above the anchor are resolved.
    pub(super) fn path_without_links(&self) -> PathBuf {
        match self.path.strip_prefix(self.anchor.path()) {
            Ok(below) => fs::real(self.anchor.path()).join(below),
            Err(_) => self.path.clone(),
        }
    }

    /// Whether anything is there, be it a checkpoint or not.
    pub(crate) fn is_there(&self) -> bool {
        self.anchor.is_taken(&self.path)
    }

    /// Creates the file if it is missing, because SQLite would create it readable by everybody.
    pub(super) fn create_if_absent(&self) -> Result<(), FileError> {
        self.anchor.create_private_if_absent(&self.path)
    }

    /// Refuses links and special files in the place of the database and of the files beside it. `None` if there is no
    /// database.
    pub(super) fn examine(&self) -> Result<Option<About>, FileError> {
        let anchor = self.path.parent().map_or_else(|| self.anchor.clone(), |parent| self.anchor.holding(parent));
        for suffix in BESIDE {
            anchor.require_regular(&self.sibling(suffix))?;
        }
        anchor.require_regular(&self.path)?;
        anchor.about(&self.path)
    }

    /// Refuses a database of another user.
    pub(super) fn refuse_foreign_owner(&self, about: &About) -> Result<()> {
        if fs::is_foreign_owner(about.owner) && !self.may_be_foreign {
            return Err(fs::foreign_owner(about.owner, &self.path, "checkpoint"));
        }
        Ok(())
    }

    /// The length of the log that SQLite keeps beside the database.
    pub(super) fn log_length(&self) -> u64 {
        self.anchor.about(&self.sibling("-wal")).ok().flatten().map_or(0, |about| about.length)
    }

    /// Copies the database and its log into a directory, and returns the path of the copy.
    pub(super) fn copy_into(&self, directory: &Path) -> Result<PathBuf, FileError> {
        let copy = directory.join("checkpoint.db");
        for suffix in ["", "-wal"] {
            let part = self.sibling(suffix);
            if self.anchor.is_taken(&part) {
                self.anchor.copy_out(&part, &with_suffix(&copy, suffix))?;
            }
        }
        Ok(copy)
    }

    /// Renames the database and the files that SQLite keeps beside it; returns the new path.
    pub(super) fn move_aside(&self, suffix: &str) -> Result<PathBuf, FileError> {
        let numbered = |number: u32| match number {
            0 => self.sibling(suffix),
            number => self.sibling(&format!("{suffix}-{number}")),
        };
        let aside = (0..).map(numbered).find(|aside| !self.anchor.is_taken(aside));
        let aside = aside.unwrap_or_else(|| self.sibling(suffix));
        for part in ["-shm", "-wal", ""] {
            let from = self.sibling(part);
            if self.anchor.is_taken(&from) {
                self.anchor.rename(&from, &with_suffix(&aside, part))?;
            }
        }
        Ok(aside)
    }

    fn sibling(&self, suffix: &str) -> PathBuf {
        with_suffix(&self.path, suffix)
    }
}

/// When a database was last written to, itself or the log that SQLite keeps beside it.
pub(super) fn last_written(path: &Path) -> Option<SystemTime> {
    fs::modified(path).max(fs::modified(&with_suffix(path, "-wal")))
}

/// The error for a reader that meets a link or a special file: for it that is a checkpoint that cannot be used.
pub(super) fn unreadable(error: FileError) -> Error {
    match error {
        FileError::NotRegular { path, what, .. } => {
            Error::bad_data(format!("`{}` is not read: it is {}", path.display(), what.name()))
                .hint("move it away, then try again")
        }
        other => other.into(),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
