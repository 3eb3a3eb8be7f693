//! Why a file below an anchor was not opened.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, RawMode};

use crate::base::fs::is_absent;
use crate::error::{Category, Error};

/// Why a file below an [`Anchor`](super::Anchor) was not read or written. Never carries content of the file.
#[derive(Debug)]
pub enum FileError {
    /// Something else than a regular file is at the path, or a link is on the way to it.
    NotRegular {
        /// The component that is not as it must be.
        path: PathBuf,
        what: FileKind,
        /// For a link that leads to a place below the anchor: that place, relative to the anchor.
        real: Option<PathBuf>,
    },
    /// The file has more bytes than the caller reads.
    TooLarge { path: PathBuf, limit: u64 },
    /// The content is not UTF-8.
    NotText { path: PathBuf },
    /// The path is not below the anchor.
    Outside { path: PathBuf, anchor: PathBuf },
    /// The system refused. `doing` reads after "cannot".
    Io { doing: &'static str, path: PathBuf, cause: io::Error },
}

/// The kinds of things that a path can lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Regular,
    Directory,
    Link,
    Fifo,
    Socket,
    Device,
    Unknown,
}

impl FileKind {
    pub(super) fn of(mode: RawMode) -> FileKind {
        FileKind::of_type(FileType::from_raw_mode(mode))
    }

    pub(super) fn of_type(found: FileType) -> FileKind {
        match found {
            FileType::RegularFile => FileKind::Regular,
            FileType::Directory => FileKind::Directory,
            FileType::Symlink => FileKind::Link,
            FileType::Fifo => FileKind::Fifo,
            FileType::Socket => FileKind::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => FileKind::Device,
            FileType::Unknown => FileKind::Unknown,
        }
    }

    /// The kind in words, with its article.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Regular => "a regular file",
            FileKind::Directory => "a directory",
            FileKind::Link => "a symlink",
            FileKind::Fifo => "a named pipe",
            FileKind::Socket => "a socket",
            FileKind::Device => "a device",
            FileKind::Unknown => "of an unknown kind",
        }
    }
}

impl FileError {
    /// Whether this means that nothing is there, rather than that we cannot know or refuse to look.
    pub fn is_absent(&self) -> bool {
        matches!(self, FileError::Io { cause, .. } if is_absent(cause))
    }

    /// Whether something is there that is not read because of what it is: a link, a special file, or too large.
    pub fn is_refusal(&self) -> bool {
        matches!(self, FileError::NotRegular { .. } | FileError::TooLarge { .. })
    }

    pub fn path(&self) -> &Path {
        match self {
            FileError::NotRegular { path, .. }
            | FileError::TooLarge { path, .. }
            | FileError::NotText { path }
            | FileError::Outside { path, .. }
            | FileError::Io { path, .. } => path,
        }
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Error {
        let shown = error.path().display().to_string();
        match error {
            FileError::NotRegular { what: FileKind::Link, real, .. } => {
                match real {
                    // In the message, too: many reports are a single line without hints.
                    Some(real) => {
                        let real = real.display();
                        Error::failed(format!("`{shown}` is a symlink to `{real}`")).hint(format!(
                            "nothing was read or written through it; it leads to `{real}`: configure that path, or \
                             replace the symlink by a real file or directory"
                        ))
                    }
                    None => Error::failed(format!("`{shown}` is a symlink")).hint(
                        "replace the symlink by a real file or directory; nothing was read or written through it",
                    ),
                }
            }
            FileError::NotRegular { what, .. } => {
                Error::new(Category::Io, format!("`{shown}` is not a plain file, it is {}", what.name()))
                    .hint("move it away, then try again")
            }
            FileError::TooLarge { limit, .. } => Error::bad_data(format!("`{shown}` is larger than {}", bytes(limit)))
                .hint("move it away, then try again"),
            FileError::NotText { .. } => Error::bad_data(format!("`{shown}` is not UTF-8 text")),
            FileError::Outside { anchor, .. } => {
                Error::failed(format!("`{shown}` is not below `{}`", anchor.display()))
                    .hint("write a path below that directory, without `..`")
            }
            FileError::Io { doing, path, cause } => Error::io(doing, &path, cause),
        }
    }
}

fn bytes(count: u64) -> String {
    match count {
        count if count >= 1 << 20 && count.is_multiple_of(1 << 20) => format!("{} MiB", count >> 20),
        count if count >= 1 << 10 && count.is_multiple_of(1 << 10) => format!("{} KiB", count >> 10),
        count => format!("{count} bytes"),
    }
}
