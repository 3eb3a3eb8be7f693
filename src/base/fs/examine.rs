//! What is at a path that a person named, or in the user's own directories. Links are followed, and nothing is read.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::plain_read::is_absent;

/// What is at a path itself. It differs once the file is replaced, or anything in the file or directory changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

/// The version of what is at a path, a link being a thing of its own. `None` if nothing is there.
pub(crate) fn version(path: &Path) -> Option<Version> {
    let about = fs::symlink_metadata(path).ok()?;
    Some(Version { device: about.dev(), inode: about.ino(), changed: (about.ctime(), about.ctime_nsec()) })
}

/// The identity of the file at a path, not of its content: device, inode and time of creation. A file that replaces it
/// has another one, also if it reuses the inode.
pub(crate) fn mark(path: &Path) -> Option<String> {
    let about = fs::symlink_metadata(path).ok()?;
    let created = about.created().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    Some(format!("{}:{}:{}", about.dev(), about.ino(), created.unwrap_or_default().as_nanos()))
}

/// Marks a file or directory like [`mark`], without the number of its file system, which may be another one after a reboot.
pub(crate) fn lasting_mark(path: &Path) -> Option<String> {
    mark(path).and_then(|mark| mark.split_once(':').map(|(_, rest)| rest.to_owned()))
}

/// Whether a directory is at the path, or could be created there by this user. Nothing is created to find out.
pub(crate) fn may_be_directory(path: &Path) -> bool {
    let nearest = path.ancestors().find(|directory| directory.symlink_metadata().is_ok());
    nearest.is_some_and(|nearest| {
        nearest.is_dir() && (nearest == path || rustix::fs::access(nearest, rustix::fs::Access::WRITE_OK).is_ok())
    })
}

/// Whether a file or directory is at the path. A dangling link does not count.
pub(crate) fn exists(path: &Path) -> bool {
    path.exists()
}

/// Whether the name is taken, by a dangling link, too.
pub(crate) fn is_taken(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whether the name is taken, or nobody can say. For a brake: a brake that cannot be examined must stop.
pub(crate) fn may_be_taken(path: &Path) -> bool {
    !path.symlink_metadata().is_err_and(|cause| is_absent(&cause))
}

pub(crate) fn is_file(path: &Path) -> bool {
    path.is_file()
}

pub(crate) fn is_directory(path: &Path) -> bool {
    path.is_dir()
}

/// Whether this is a named pipe, whose reader may wait for ever.
pub(crate) fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo())
}

/// Whether this is a file that somebody may execute.
pub(crate) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// Whether this user may create files in a directory.
pub(crate) fn is_writable(directory: &Path) -> bool {
    rustix::fs::access(directory, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
}

/// Whether this user may write this file or directory, or make it if there is none.
pub(crate) fn may_write(path: &Path) -> bool {
    let allows = |path: &Path, access| rustix::fs::access(path, access);
    for (number, at) in path.ancestors().enumerate() {
        match allows(at, rustix::fs::Access::WRITE_OK) {
            Err(rustix::io::Errno::NOENT) => {}
            Err(_) => return false,
            Ok(()) => return number == 0 || allows(at, rustix::fs::Access::EXEC_OK).is_ok(),
        }
    }
    false
}

/// The length of a regular file; `None` for anything else.
pub(crate) fn length(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|about| about.len())
}

/// What the file system knows about a regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    pub inode: u64,
    pub length: u64,
    /// When the content was last changed, which programs may set.
    pub modified: SystemTime,
    /// When the content or the name, owner or mode was last changed, which only the system sets.
    pub changed: SystemTime,
    pub owner: u32,
}

/// The state of a regular file; `None` for anything else.
pub(crate) fn state(path: &Path) -> Option<FileState> {
    let about = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let since_epoch = Duration::new(u64::try_from(about.ctime()).ok()?, u32::try_from(about.ctime_nsec()).ok()?);
    let changed = SystemTime::UNIX_EPOCH + since_epoch;
    Some(FileState {
        inode: about.ino(),
        length: about.len(),
        modified: about.modified().ok()?,
        changed,
        owner: about.uid(),
    })
}

/// When a file was last changed.
pub(crate) fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|about| about.modified()).ok()
}

/// The path without links; as it is if that cannot be found out.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// The path without links, if something is there.
pub(crate) fn real_if_exists(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}
