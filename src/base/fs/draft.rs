//! A text that a person edits in their own editor, in a private file that is gone when it is no longer needed.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::plain_read::read_within;
use crate::error::{Error, Result};

/// The largest text that is read back.
const MAX: u64 = 64 << 20;

pub(crate) struct Draft(tempfile::NamedTempFile);

impl Draft {
    /// A file with this text that only this user can read.
    pub(crate) fn new(text: &str) -> Result<Draft> {
        let failed = |cause: std::io::Error| Error::io("write a draft in", &std::env::temp_dir(), cause);
        let mut file = tempfile::Builder::new().prefix("handover-").suffix(".md").tempfile().map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        Ok(Draft(file))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The text as it is now. Editors may replace the file, so it is opened by its name.
    pub(crate) fn read(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&read_within(self.path(), MAX)?).into_owned())
    }

    /// Leaves the file where it is.
    pub(crate) fn keep(self) -> PathBuf {
        let path = self.path().to_path_buf();
        let _ = self.0.keep();
        path
    }
}
