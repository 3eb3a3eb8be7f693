//! Reading files that a person named: arguments, transcripts, the user's own configuration. Links are followed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::Anchor;
use super::links::{NO_FOLLOW, NO_WAIT, through_symlink};
use crate::error::{Category, Error, Result};

/// Reads a whole file that a person named. Follows links, and has no limit.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|cause| Error::io("read", path, cause))
}

/// The content of a regular file of at most `limit` bytes. Follows links, and never waits for the other end of a pipe.
pub fn read_within(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let real = super::resolve(path)?;
    Ok(Anchor::beside(&real).read_within(&real, limit)?)
}

/// Like [`read`]; `None` if nothing is at the path.
pub fn read_if_exists(path: &Path) -> Result<Option<Vec<u8>>> {
    refuse_what_is_no_file(path)?;
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(cause) if is_absent(&cause) => Ok(None),
        Err(cause) => Err(Error::io("read", path, cause)),
    }
}

/// The first and the last `size` bytes of a file. Both are the whole content if the file has at most twice that size.
pub fn read_ends(path: &Path, size: u64) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    refuse_what_is_no_file(path)?;
    let failed = |cause: io::Error| Error::io("read", path, cause);
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(cause) if is_absent(&cause) => return Ok(None),
        Err(cause) => return Err(failed(cause)),
    };
    let length = file.metadata().map_err(failed)?.len();
    let mut head = Vec::new();
    let size = if length <= 2 * size { length } else { size };
    (&file).take(size).read_to_end(&mut head).map_err(failed)?;
    let mut tail = Vec::new();
    file.seek(io::SeekFrom::Start(length - size)).map_err(failed)?;
    file.read_to_end(&mut tail).map_err(failed)?;
    Ok(Some((head, tail)))
}

/// Refuses a pipe, a device or a directory in the place of a file: opening a pipe could block for ever.
pub fn refuse_what_is_no_file(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(about) if !about.is_file() => Err(not_a_file(path)),
        _ => Ok(()),
    }
}

fn not_a_file(path: &Path) -> Error {
    Error::new(Category::Io, format!("`{}` is not a plain file", path.display())).hint("move it away, then try again")
}

/// Reads at most `max + 1` bytes. A caller that gets more than `max` knows that the source is too long.
pub fn read_at_most(source: impl Read, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(max + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The first `max` bytes of a file that is not a link. Costs no system call besides open, read and close: for many small
/// files.
pub fn read_plain(path: &Path, max: u64) -> Result<Vec<u8>> {
    let failed = |cause: io::Error| Error::io("read", path, cause);
    let file = OpenOptions::new().read(true).custom_flags(NO_FOLLOW | NO_WAIT).open(path).map_err(failed)?;
    let mut bytes = Vec::with_capacity(8 << 10);
    file.take(max).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Opens a file that a person named for reading. Follows links.
pub fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|cause| Error::io("read", path, cause))
}

/// Opens a regular file that a person named; `None` if nothing is at the path. Follows links, and refuses anything else,
/// because reading it could block.
pub fn open_if_exists(path: &Path) -> Result<Option<File>> {
    let failed = |cause: io::Error| Error::io("read", path, cause);
    let file = match OpenOptions::new().read(true).custom_flags(NO_WAIT).open(path) {
        Ok(file) => file,
        Err(cause) if is_absent(&cause) => return Ok(None),
        Err(cause) => return Err(failed(cause)),
    };
    if file.metadata().map_err(failed)?.is_file() { Ok(Some(file)) } else { Err(not_a_file(path)) }
}

/// Whether an error means that nothing is there, rather than that we cannot know.
pub fn is_absent(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A file as it was when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

impl Seen {
    pub(super) fn of(about: &fs::Metadata) -> Seen {
        Seen { inode: about.ino(), length: about.len(), modified: (about.mtime(), about.mtime_nsec()) }
    }

    pub fn is_still(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|about| Seen::of(&about) == *self)
    }
}

/// The content of a regular file and what the file looked like; `None` if there is none. Refuses a link.
pub fn read_seen(path: &Path) -> Result<Option<(Vec<u8>, Seen)>> {
    let failed = |cause: io::Error| Error::io("read", path, cause);
    let mut file = match OpenOptions::new().read(true).custom_flags(NO_FOLLOW | NO_WAIT).open(path) {
        Ok(file) => file,
        Err(cause) if is_absent(&cause) => return Ok(None),
        Err(_) if path.is_symlink() => return Err(through_symlink(path)),
        Err(cause) => return Err(failed(cause)),
    };
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(Error::failed(format!("`{}` is not a file", path.display())));
    }
    let mut content = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0) + 1);
    file.read_to_end(&mut content).map_err(failed)?;
    Ok(Some((content, Seen::of(&about))))
}

/// Whether `one` was last changed when `other` was, or later. `false` if either cannot be examined.
pub fn is_at_least_as_new(one: &Path, other: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|about| about.modified());
    changed(one).is_ok_and(|one| changed(other).is_ok_and(|other| one >= other))
}
