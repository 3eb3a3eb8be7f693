//! Private files that are appended to: logs, locks and records. Nobody needs logs and locks after a power cut, so they
//! are not synced; records are.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::directories::{parent, sync_directory};
use super::links::NO_FOLLOW;
use super::plain_read::refuse_what_is_no_file;
use crate::error::{Error, Result};

/// Opens a file for appending. A new one is readable only by this user.
pub(super) fn open_private(path: &Path) -> Result<File> {
    refuse_what_is_no_file(path)?;
    OpenOptions::new()
        .create(true)
        .append(true)
        .read(true)
        .mode(0o600)
        .custom_flags(NO_FOLLOW)
        .open(path)
        .map_err(|cause| Error::io("open", path, cause))
}

/// Appends lines to a private file, durably.
pub(crate) fn append_durably(path: &Path, lines: &[String]) -> Result<()> {
    let is_new = !path.exists();
    let file = append(path, lines)?;
    file.sync_data().map_err(|cause| Error::io("write", path, cause))?;
    if is_new { sync_directory(parent(path)) } else { Ok(()) }
}

/// Appends lines to a private file. They outlive this process, but a power cut may take them. A line that a power cut
/// tore is ended first.
pub(crate) fn append(path: &Path, lines: &[String]) -> Result<File> {
    let failed = |cause: io::Error| Error::io("write", path, cause);
    let mut file = open_private(path)?;
    let mut last = [b'\n'];
    if file.seek(io::SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last).map_err(failed)?;
    }
    let torn = if last == [b'\n'] { "" } else { "\n" };
    // In one write, so that lines of several processes do not mix.
    let text = format!("{torn}{}\n", lines.join("\n"));
    file.write_all(text.as_bytes()).map_err(failed)?;
    Ok(file)
}
