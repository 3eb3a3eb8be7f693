//! Writing whole files so that they survive a power cut, and moving them.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::directories::{parent, sync_directory};
use super::links::NO_FOLLOW;
use super::plain_read::refuse_what_is_no_file;
use crate::base::fault;
use crate::error::{Error, Result};

pub(super) const TEMPORARY_PREFIX: &str = ".agent-handover-";
pub(super) const TEMPORARY_SUFFIX: &str = ".tmp";
/// Matches every temporary file of ours.
pub(crate) const TEMPORARY_GLOB: &str = ".agent-handover-*.tmp";

/// Whether a function that creates a file did so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    Now,
    /// Something was there already.
    Before,
}

/// Replaces or creates a file: temporary sibling, fsync, rename, fsync of the directory. A reader, and the next boot,
/// see the old content or the new one, never a part.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<()> {
    persist(write_temporary(path, content)?, path)
}

fn persist(temporary: tempfile::NamedTempFile, path: &Path) -> Result<()> {
    temporary.persist(path).map_err(|failed| Error::io("write", path, failed.error))?;
    fault::at("fs.renamed");
    sync_directory(parent(path))?;
    fault::at("fs.replaced");
    Ok(())
}

/// Like [`replace`], for a file that can be executed.
pub(crate) fn replace_executable(path: &Path, content: &[u8]) -> Result<()> {
    let temporary = write_temporary(path, content)?;
    let failed = |cause: io::Error| Error::io("write", path, cause);
    let mode = temporary.as_file().metadata().map_err(failed)?.permissions().mode();
    // Whoever may read it may run it.
    let mode = mode | (mode & 0o444) >> 2;
    temporary.as_file().set_permissions(fs::Permissions::from_mode(mode)).map_err(failed)?;
    persist(temporary, path)
}

fn write_temporary(path: &Path, content: &[u8]) -> Result<tempfile::NamedTempFile> {
    let failed = |cause: io::Error| Error::io("write", path, cause);
    let temporary = new_temporary(path, 0o666)?;
    if let Ok(existing) = fs::metadata(path) {
        temporary.as_file().set_permissions(existing.permissions()).map_err(failed)?;
    }
    fill_temporary(temporary, path, content)
}

pub(super) fn new_temporary(path: &Path, mode: u32) -> Result<tempfile::NamedTempFile> {
    tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .suffix(TEMPORARY_SUFFIX)
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(parent(path))
        .map_err(|cause| Error::io("write", path, cause))
}

pub(super) fn fill_temporary(
    mut temporary: tempfile::NamedTempFile,
    path: &Path,
    content: &[u8],
) -> Result<tempfile::NamedTempFile> {
    let failed = |cause: io::Error| Error::io("write", path, cause);
    temporary.write_all(content).map_err(failed)?;
    temporary.as_file().sync_all().map_err(failed)?;
    fault::at("fs.written");
    Ok(temporary)
}

/// Writes a small file in place. For files in which every writer writes the same bytes: a kill leaves no temporary behind.
pub(crate) fn write_marker(path: &Path, content: &[u8]) -> Result<()> {
    refuse_what_is_no_file(path)?;
    let failed = |cause: io::Error| Error::io("write", path, cause);
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).custom_flags(NO_FOLLOW).open(path).map_err(failed)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(failed)?;
    sync_directory(parent(path))?;
    fault::at("fs.marked");
    Ok(())
}
