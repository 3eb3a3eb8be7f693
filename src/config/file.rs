//! Where a config is and how it is read. A config that came with a project is reached without following a link, because
//! its diagnostics quote it.

use std::path::{Path, PathBuf};

use crate::base::fs::{self, Anchor, FileError, FileKind};
use crate::error::{Category, Error, Result};

/// A config is written by hand; anything larger is not one.
const MAX_SIZE: u64 = 1 << 20;

/// A config that may exist.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    pub path: PathBuf,
    /// The project that the file came with; `None` for a file that a person named.
    root: Option<PathBuf>,
    /// Whether this text of another user may be used.
    may_be_foreign: fn(&ConfigFile, &str) -> bool,
}

impl ConfigFile {
    /// A file that a person named. Links to it are the person's own.
    pub fn named(path: PathBuf) -> ConfigFile {
        ConfigFile { path, root: None, may_be_foreign: |_, _| false }
    }

    /// A file that came with the project at `root`.
    pub fn of_project(path: PathBuf, root: &Path) -> ConfigFile {
        ConfigFile { path, root: Some(root.to_path_buf()), may_be_foreign: |_, _| false }
    }

    /// The same file, which may also belong to another user if `may_be_foreign` agrees.
    #[must_use]
    pub fn of_another_user_if(self, may_be_foreign: fn(&ConfigFile, &str) -> bool) -> ConfigFile {
        ConfigFile { may_be_foreign, ..self }
    }

    /// The project that the file came with.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// The text of the file. Its kind, its owner and its content are those of one open file.
    pub(super) fn read(&self) -> Result<String> {
        let (anchor, real) = match &self.root {
            Some(root) => (Anchor::new(root), self.path.clone()),
            None => {
                let real = fs::resolve(&self.path)?;
                (Anchor::beside(&real), real)
            }
        };
        let (file, about) = anchor.open_regular(&real).map_err(|error| self.refused(error))?;
        let bytes = fs::read_at_most(file, MAX_SIZE).map_err(|cause| Error::io("read", &self.path, cause))?;
        if bytes.len() as u64 > MAX_SIZE {
            return Err(Error::bad_data(format!("`{}` is larger than 1 MiB", self.path.display())));
        }
        let text = String::from_utf8(bytes)
            .map_err(|cause| Error::bad_data(format!("`{}` is not UTF-8 text", self.path.display())).cause(cause));
        if fs::is_foreign_owner(about.owner) && !text.as_ref().is_ok_and(|text| (self.may_be_foreign)(self, text)) {
            return Err(fs::foreign_owner(about.owner, &self.path, "config"));
        }
        text
    }

    fn refused(&self, error: FileError) -> Error {
        let name = self.path.display();
        match error {
            FileError::NotRegular { path, what: FileKind::Link, .. } => {
                let message = format!("the config `{name}` is not read: `{}` is a symlink", path.display());
                Error::bad_data(message)
                    .hint("replace it by a regular file, or name the file that you mean with `--config`")
            }
            FileError::NotRegular { .. } => Error::bad_data(format!("the config `{name}` is not a file")),
            FileError::Io { cause, .. } => {
                let category = if fs::is_absent(&cause) { Category::Failed } else { Category::BadData };
                Error::new(category, format!("cannot read the config `{name}`"))
                    .cause(&cause)
                    .hint("run `agent-handover init` to write one, or name another with `--config`")
            }
            other => other.into(),
        }
    }
}
