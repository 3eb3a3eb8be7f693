//! Reading and examining regular files below an anchor.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, fstat, statat};

use super::{Anchor, FileError, FileKind, HeldDirectory};
use crate::base::fs::owner::is_shared;
use crate::base::fs::{Seen, is_absent};

/// What is known of a path without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    pub kind: FileKind,
    pub length: u64,
    pub modified: SystemTime,
    /// The user it belongs to.
    pub owner: u32,
    /// Whether other users may write it.
    pub is_shared: bool,
}

/// The beginning and the end of a file.
pub(super) type Ends = (Vec<u8>, Vec<u8>);

impl Anchor {
    /// Opens a regular file for reading.
    pub fn open(&self, path: &Path) -> Result<File, FileError> {
        self.open_regular(path).map(|(file, _)| file)
    }

    /// The content of a file of at most [`Anchor::LIMIT`] bytes.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, FileError> {
        self.read_within(path, Anchor::LIMIT)
    }

    /// Like [`Anchor::read`]; `None` if nothing is at the path.
    pub fn read_if_exists(&self, path: &Path) -> Result<Option<Vec<u8>>, FileError> {
        if_exists(self.read(path))
    }

    /// The content of a file of at most `limit` bytes. A longer one is refused without being read.
    pub fn read_within(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
        let (file, about) = self.open_regular(path)?;
        self.read_whole(path, file, about.length, limit)
    }

    /// The text of a file of at most `limit` bytes; `None` if nothing is at the path.
    pub fn read_text(&self, path: &Path, limit: u64) -> Result<Option<String>, FileError> {
        let Some(bytes) = if_exists(self.read_within(path, limit))? else { return Ok(None) };
        let not_text = |_| FileError::NotText { path: self.path.join(path) };
        String::from_utf8(bytes).map(Some).map_err(not_text)
    }

    /// The first `most` bytes of a file, however long it is.
    pub fn read_start(&self, path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
        let mut bytes = Vec::with_capacity(8 << 10);
        self.open(path)?.take(most).read_to_end(&mut bytes).map_err(self.unread(path))?;
        Ok(bytes)
    }

    /// The first and the last `size` bytes of a file. Both are the whole content if the file has at most twice that size.
    /// `None` if nothing is at the path.
    pub fn read_ends(&self, path: &Path, size: u64) -> Result<Option<Ends>, FileError> {
        let Some((mut file, about)) = if_exists(self.open_regular(path))? else { return Ok(None) };
        let is_whole = about.length <= 2 * size;
        let size = if is_whole { about.length } else { size };
        let room = || Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(64));
        let mut head = room();
        (&file).take(size).read_to_end(&mut head).map_err(self.unread(path))?;
        if is_whole {
            return Ok(Some((head.clone(), head)));
        }
        let mut tail = room();
        file.seek(io::SeekFrom::Start(about.length - size)).map_err(self.unread(path))?;
        file.take(size).read_to_end(&mut tail).map_err(self.unread(path))?;
        Ok(Some((head, tail)))
    }

    /// The content of a file and what the file looked like; `None` if nothing is at the path.
    pub fn read_seen(&self, path: &Path, limit: u64) -> Result<Option<(Vec<u8>, Seen)>, FileError> {
        let Some((file, about)) = if_exists(self.open_regular(path))? else { return Ok(None) };
        let seen = Seen::of(&file.metadata().map_err(self.unread(path))?);
        self.read_whole(path, file, about.length, limit).map(|content| Some((content, seen)))
    }

    /// Whether a file is still as it was when it was read.
    pub fn is_still(&self, path: &Path, seen: &Seen) -> bool {
        let now = self.open(path).ok().and_then(|file| file.metadata().ok());
        now.is_some_and(|about| Seen::of(&about) == *seen)
    }

    /// What is at a path; `None` if nothing is. A link at the path is reported as a link; one on the way is an error.
    pub fn about(&self, path: &Path) -> Result<Option<About>, FileError> {
        let below = self.below(path)?;
        if below.as_os_str().is_empty() {
            return self.about_itself();
        }
        let found = if below.iter().nth(1).is_none() {
            // Nothing is on the way to a single name.
            statat(CWD, self.path.join(&below), AtFlags::SYMLINK_NOFOLLOW)
        } else if let Some((held, name)) = self.name_in_held(&below) {
            statat(&held.descriptor, name, AtFlags::SYMLINK_NOFOLLOW)
        } else {
            let Some(place) = if_exists(self.open_parent("examine", path))? else { return Ok(None) };
            statat(&place.directory, &place.name, AtFlags::SYMLINK_NOFOLLOW)
        };
        match found {
            Ok(stat) => Ok(Some(About::of(&stat))),
            Err(cause) if is_absent(&cause.into()) => Ok(None),
            Err(cause) => Err(FileError::Io { doing: "examine", path: self.shown(&below), cause: cause.into() }),
        }
    }

    /// The directory that is held open, if this path is that of a name in it.
    fn name_in_held<'a>(&'a self, below: &'a Path) -> Option<(&'a HeldDirectory, &'a OsStr)> {
        let held = self.held.as_deref().filter(|held| below.parent() == Some(&held.below))?;
        Some((held, below.file_name()?))
    }

    /// What is at the anchor itself, where a link is followed.
    fn about_itself(&self) -> Result<Option<About>, FileError> {
        match rustix::fs::stat(&self.path) {
            Ok(stat) => Ok(Some(About::of(&stat))),
            Err(cause) if is_absent(&cause.into()) => Ok(None),
            Err(cause) => Err(FileError::Io { doing: "examine", path: self.path.clone(), cause: cause.into() }),
        }
    }

    /// Whether the name is taken: by whatever it is, also if it can only be reached through a link.
    pub fn is_taken(&self, path: &Path) -> bool {
        !matches!(self.about(path), Ok(None))
    }

    /// Copies a file to a place of the caller's, where it is read once and thrown away; nothing is synced.
    pub fn copy_out(&self, path: &Path, to: &Path) -> Result<(), FileError> {
        let mut from = self.open(path)?;
        File::create_new(to).and_then(|mut to| io::copy(&mut from, &mut to)).map(|_| ()).map_err(self.unread(path))
    }

    /// Whether a directory is at the path, not behind a link.
    pub fn is_directory(&self, path: &Path) -> bool {
        self.kind(path) == Some(FileKind::Directory)
    }

    /// Whether a regular file is at the path, not behind a link.
    pub fn is_regular(&self, path: &Path) -> bool {
        self.kind(path) == Some(FileKind::Regular)
    }

    /// Refuses whatever is at the path if it is not a regular file. For files that somebody else opens by name, such as
    /// SQLite; nothing at the path is fine.
    pub fn require_regular(&self, path: &Path) -> Result<(), FileError> {
        match self.about(path)? {
            None | Some(About { kind: FileKind::Regular, .. }) => Ok(()),
            Some(About { kind: FileKind::Link, .. }) => Err(self.refuse_link(self.path.join(path))),
            Some(About { kind, .. }) => {
                Err(FileError::NotRegular { path: self.path.join(path), what: kind, real: None })
            }
        }
    }

    fn kind(&self, path: &Path) -> Option<FileKind> {
        self.about(path).ok().flatten().map(|about| about.kind)
    }

    /// Opens a regular file for reading and says what is known of it, both by the same descriptor.
    pub fn open_regular(&self, path: &Path) -> Result<(File, About), FileError> {
        let below = self.below(path)?;
        let descriptor = self.open_below("read", &below, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())?;
        let file = File::from(descriptor);
        let about = self.check_regular(&file, &below)?;
        Ok((file, about))
    }

    /// Refuses an open file that is not a regular one.
    pub(super) fn check_regular(&self, file: &File, below: &Path) -> Result<About, FileError> {
        let stat = fstat(file).map_err(|cause| self.unread(below)(cause.into()))?;
        match About::of(&stat) {
            about @ About { kind: FileKind::Regular, .. } => Ok(about),
            About { kind, .. } => Err(FileError::NotRegular { path: self.shown(below), what: kind, real: None }),
        }
    }

    fn read_whole(&self, path: &Path, file: File, length: u64, limit: u64) -> Result<Vec<u8>, FileError> {
        let too_large = || FileError::TooLarge { path: self.path.join(path), limit };
        if length > limit {
            return Err(too_large());
        }
        let unread = |cause| self.unread(path)(cause);
        let length = usize::try_from(length).unwrap_or(0);
        // Room for one byte more, so that a file that grows meanwhile is noticed.
        let (mut content, mut read) = (vec![0; length + 1], 0);
        while read < length {
            match (&file).read(&mut content[read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(unread(cause)),
            }
        }
        content.truncate(read);
        // Of some files the system does not know the length.
        if read > length || length == 0 {
            let left = limit.saturating_add(1).saturating_sub(read as u64);
            file.take(left).read_to_end(&mut content).map_err(unread)?;
        }
        if content.len() as u64 > limit { Err(too_large()) } else { Ok(content) }
    }

    fn unread(&self, path: &Path) -> impl Fn(io::Error) -> FileError {
        let path = self.path.join(path);
        move |cause| FileError::Io { doing: "read", path: path.clone(), cause }
    }
}

impl About {
    #[allow(clippy::unnecessary_cast, reason = "the types of the fields differ between systems")]
    fn of(stat: &Stat) -> About {
        let seconds = u64::try_from(stat.st_mtime as i64).unwrap_or(0);
        About {
            kind: FileKind::of(stat.st_mode),
            length: u64::try_from(stat.st_size as i64).unwrap_or(0),
            modified: SystemTime::UNIX_EPOCH + Duration::new(seconds, stat.st_mtime_nsec as u32),
            owner: stat.st_uid,
            is_shared: is_shared(stat.st_mode as u32, stat.st_gid),
        }
    }
}

pub(super) fn if_exists<T>(answer: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error),
    }
}
