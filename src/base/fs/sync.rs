//! Whole file systems brought to the disk, for what other programs wrote.
//!
//! What this program writes itself is synced file by file. git can do that, too (`core.fsync`), but a file system may lose
//! the names of files that were linked after their content was synced.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::{Error, Result};

/// Whether what git synced with `core.fsync` survives a power cut on the file system of this path. Measured with
/// `tests/power/cuts.py`; a file system that was not measured counts as one that loses it.
#[cfg(target_os = "linux")]
pub(crate) fn keeps_what_git_synced(path: &Path) -> bool {
    const EXT4: u64 = 0xEF53;
    const XFS: u64 = 0x5846_5342;
    let kind = rustix::fs::statfs(path).ok().and_then(|about| u64::try_from(about.f_type).ok());
    kind.is_some_and(|kind| [EXT4, XFS].contains(&kind))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn keeps_what_git_synced(_: &Path) -> bool {
    false
}

/// Brings everything that was written to the file systems of these paths to the disk, each file system once.
pub(crate) fn sync_file_systems(paths: &[&Path]) -> Result<()> {
    let mut synced: Vec<u64> = Vec::new();
    for path in paths {
        let failed = |cause: std::io::Error| Error::io("sync the file system of", path, cause);
        let file = match File::open(path) {
            Ok(file) => file,
            // A path that cannot be opened is on some file system, so all of them are synced.
            Err(_) => {
                rustix::fs::sync();
                return Ok(());
            }
        };
        let device = file.metadata().map_err(failed)?.dev();
        if !synced.contains(&device) {
            sync(&file).map_err(failed)?;
            synced.push(device);
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn sync(file: &File) -> std::io::Result<()> {
    Ok(rustix::fs::syncfs(file)?)
}

#[cfg(target_vendor = "apple")]
fn sync(file: &File) -> std::io::Result<()> {
    // The first hands everything to the drive, the second makes the drive write it.
    rustix::fs::sync();
    Ok(rustix::fs::fcntl_fullfsync(file)?)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn sync(_: &File) -> std::io::Result<()> {
    rustix::fs::sync();
    Ok(())
}
