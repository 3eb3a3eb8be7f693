//! Removing what is ours: files, empty directories, whole trees, and temporary files that a kill left behind.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::directories::{parent, sync_directory};
use super::plain_read::is_absent;
use super::replace::{TEMPORARY_PREFIX, TEMPORARY_SUFFIX};
use crate::base::fault;
use crate::error::{Error, Result};

/// How far [`sweep_temporaries`] goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    Directory,
    Tree,
}

/// Whether a name is one of our temporary files.
pub(super) fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(TEMPORARY_PREFIX.as_bytes()) && name.ends_with(TEMPORARY_SUFFIX.as_bytes())
}

/// Removes a file or a link; what the link points at stays.
pub fn remove_file(path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(|cause| Error::io("remove", path, cause))?;
    sync_directory(parent(path))?;
    fault::at("fs.removed");
    Ok(())
}

pub fn remove_empty_directory(path: &Path) -> Result<()> {
    fs::remove_dir(path).map_err(|cause| Error::io("remove", path, cause))?;
    sync_directory(parent(path))
}

/// Removes the temporary files that a killed process left in `directory`. Call it only where nobody else writes: the
/// temporary files of a living writer look the same.
pub fn sweep_temporaries(directory: &Path, depth: Depth) -> Result<()> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(cause) if is_absent(&cause) => return Ok(()),
        Err(cause) => return Err(Error::io("list", directory, cause)),
    };
    for entry in entries.flatten() {
        let (name, kind) = (entry.file_name(), entry.file_type());
        match kind {
            Ok(kind) if kind.is_dir() && depth == Depth::Tree => sweep_temporaries(&entry.path(), depth)?,
            Ok(kind) if kind.is_file() && is_temporary(name.as_bytes()) => remove_file(&entry.path())?,
            _ => {}
        }
    }
    Ok(())
}
