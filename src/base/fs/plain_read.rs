//! Reading files that a person named: arguments, transcripts, the user's own configuration. Links are followed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::Anchor;
use super::links::NO_WAIT;
use crate::error::{Category, Error, Result};

/// The content of a regular file of at most `limit` bytes. Follows links, and never waits for the other end of a pipe.
pub(crate) fn read_within(path: &Path, limit: u64) -> Result<Vec<u8>> {
    if let Some(bytes) = read_small(path, limit) {
        return Ok(bytes);
    }
    // Somebody reads why not.
    let real = super::resolve(path)?;
    Ok(Anchor::beside(&real).read_within(&real, limit)?)
}

/// The content of a regular file of at most `limit` bytes; `None` for anything else, whatever the reason.
fn read_small(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(NO_WAIT).open(path).ok()?;
    let about = file.metadata().ok().filter(|about| about.is_file() && about.len() <= limit)?;
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0).saturating_add(64));
    file.take(limit + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= limit).then_some(bytes)
}

/// Like [`read`]; `None` if nothing is at the path.
pub(crate) fn read_if_exists(path: &Path) -> Result<Option<Vec<u8>>> {
    refuse_what_is_no_file(path)?;
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(cause) if is_absent(&cause) => Ok(None),
        Err(cause) => Err(Error::io("read", path, cause)),
    }
}

/// Refuses a pipe, a device or a directory in the place of a file: opening a pipe could block for ever.
pub(super) fn refuse_what_is_no_file(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(about) if !about.is_file() => Err(not_a_file(path)),
        _ => Ok(()),
    }
}

fn not_a_file(path: &Path) -> Error {
    Error::new(Category::Io, format!("`{}` is not a plain file", path.display())).hint("move it away, then try again")
}

/// Reads at most `max + 1` bytes. A caller that gets more than `max` knows that the source is too long.
pub(crate) fn read_at_most(source: impl Read, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(max + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the beginning and the end of a source, `each` bytes of either, without holding what is between them.
pub(crate) fn read_ends(mut source: impl Read, each: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let read = source.by_ref().take(each as u64).read_to_end(&mut bytes)?;
        if read == 0 {
            return Ok(bytes);
        }
        // What is read next is as long at most, so that the end is whole.
        if bytes.len() > 3 * each {
            bytes.drain(each..bytes.len() - each);
        }
    }
}

/// Opens a file that a person named for reading. Follows links. A file that does not exist is not an I/O error: the person
/// named no such thing.
pub(crate) fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|cause| {
        let is_absent = is_absent(&cause);
        let error = Error::io("read", path, cause);
        if is_absent { error.in_category(Category::Failed) } else { error }
    })
}

/// The error about something else than a file that a person named. It may be where it belongs, such as the pipe that a shell
/// makes for `<(…)`.
fn named_no_file(path: &Path, about: &fs::Metadata) -> Error {
    let (kind, shown) = (about.file_type(), path.display());
    let hint = if kind.is_fifo() {
        "it is a pipe: write what comes out of it to a file, and name that file"
    } else if kind.is_dir() {
        "it is a directory: name a file"
    } else {
        "name a file"
    };
    Error::new(Category::Io, format!("`{shown}` is not a plain file")).hint(hint)
}

/// Opens a regular file that a person named; `None` if nothing is at the path. Follows links, and refuses anything else,
/// because reading it could block.
pub(crate) fn open_if_exists(path: &Path) -> Result<Option<File>> {
    let failed = |cause: io::Error| Error::io("read", path, cause);
    let file = match OpenOptions::new().read(true).custom_flags(NO_WAIT).open(path) {
        Ok(file) => file,
        Err(cause) if is_absent(&cause) => return Ok(None),
        Err(cause) => return Err(failed(cause)),
    };
    let about = file.metadata().map_err(failed)?;
    if about.is_file() { Ok(Some(file)) } else { Err(named_no_file(path, &about)) }
}

/// Like [`open`], for a regular file: anything else is refused, because reading it could block.
pub(crate) fn open_plain(path: &Path) -> Result<File> {
    open_if_exists(path)?.ok_or_else(|| absent(path))
}

/// The error for a file that a person named and that does not exist.
pub(crate) fn absent(path: &Path) -> Error {
    Error::io("read", path, io::Error::from(rustix::io::Errno::NOENT)).in_category(Category::Failed)
}

/// A file without a name, which is gone when it is closed, for content that is too large to hold.
pub(crate) fn scratch_file() -> io::Result<File> {
    tempfile::tempfile()
}

/// Whether an error means that nothing is there, rather than that we cannot know.
pub(crate) fn is_absent(cause: &io::Error) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_source_both_ends_are_read() {
        let text: Vec<u8> = (0..100).collect();
        assert_eq!(read_ends(&text[..25], 10).unwrap(), text[..25]);
        for length in 31..100 {
            let read = read_ends(&text[..length], 10).unwrap();
            assert!(read.len() <= 30 && read.starts_with(&text[..10]) && read.ends_with(&text[length - 10..length]));
        }
    }
}
