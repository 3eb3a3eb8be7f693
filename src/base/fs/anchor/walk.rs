//! Reaching a path below an anchor without following a link.
//!
//! Linux does it in one system call (`openat2`). Where that is missing or filtered out, and on other systems, the path is
//! walked one component at a time, each opened relative to the one before.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::{Anchor, FileError, FileKind};

/// What a directory on the way is opened for: only to go on from there.
#[cfg(target_os = "linux")]
const PASS_THROUGH: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const PASS_THROUGH: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// A directory that can be listed, locked and synced.
pub(super) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

impl Anchor {
    /// Opens something below the anchor. The caller checks what it is.
    pub(super) fn open_below(
        &self,
        doing: &'static str,
        below: &Path,
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd, FileError> {
        let failed = |cause: Errno| self.explain(doing, below, flags, cause);
        if below.as_os_str().is_empty() {
            return openat(CWD, &self.path, flags | OFlags::CLOEXEC, mode).map_err(failed);
        }
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        if let Some(held) = &self.held
            && let Ok(rest) = below.strip_prefix(&held.below)
            && !rest.as_os_str().is_empty()
        {
            return open_without_links(&held.descriptor, rest, flags, mode).map_err(failed);
        }
        if below.iter().nth(1).is_none() {
            // Nothing is on the way to a single name.
            return openat(CWD, self.path.join(below), flags, mode).map_err(failed);
        }
        let start = openat(CWD, &self.path, PASS_THROUGH, Mode::empty()).map_err(failed)?;
        open_without_links(&start, below, flags, mode).map_err(failed)
    }

    /// Opens a directory only to go on from there.
    pub(super) fn open_to_pass(&self, below: &Path) -> Result<OwnedFd, FileError> {
        self.open_below("open", below, PASS_THROUGH, Mode::empty())
    }

    /// Opens the directory that something is in, and says what its name is there.
    pub(super) fn open_parent(&self, doing: &'static str, path: &Path) -> Result<Sibling, FileError> {
        let below = self.below(path)?;
        let Some(name) = below.file_name() else {
            let path = self.shown(&below);
            return Err(FileError::NotRegular { path, what: FileKind::Directory, real: None });
        };
        let parent = below.parent().unwrap_or(Path::new(""));
        let directory = self.open_below(doing, parent, DIRECTORY, Mode::empty())?;
        Ok(Sibling { directory, name: name.into(), path: self.shown(&below) })
    }

    /// Turns an error number into what a person can act on: names the link or the special file, if one is the reason.
    fn explain(&self, doing: &'static str, below: &Path, flags: OFlags, cause: Errno) -> FileError {
        let io = || FileError::Io { doing, path: self.shown(below), cause: cause.into() };
        // Only these can mean that a link or a special file is in the way.
        if !matches!(cause, Errno::LOOP | Errno::NOTDIR | Errno::ISDIR | Errno::NXIO | Errno::MLINK) {
            return io();
        }
        self.find_obstacle(below, flags.contains(OFlags::DIRECTORY)).unwrap_or_else(io)
    }

    /// The first link on the way, or the special file at its end. Only for messages: no decision to open a file depends on it.
    fn find_obstacle(&self, below: &Path, wants_directory: bool) -> Option<FileError> {
        let mut here = openat(CWD, &self.path, PASS_THROUGH, Mode::empty()).ok()?;
        let mut shown = self.path.clone();
        let mut names = below.iter().peekable();
        while let Some(name) = names.next() {
            shown.push(name);
            let what = kind_at(&here, name).ok()?;
            let is_last = names.peek().is_none();
            match what {
                FileKind::Link => return Some(self.refuse_link(shown)),
                FileKind::Directory if !is_last => {
                    here = openat(&here, name, PASS_THROUGH | OFlags::NOFOLLOW, Mode::empty()).ok()?;
                }
                FileKind::Regular => return None,
                FileKind::Directory if wants_directory => return None,
                what if is_last => return Some(FileError::NotRegular { path: shown, what, real: None }),
                _ => return None,
            }
        }
        None
    }

    /// The refusal of a link, with the place below the anchor that it leads to, if there is one.
    pub(super) fn refuse_link(&self, path: PathBuf) -> FileError {
        let real = path.canonicalize().ok().and_then(|real| {
            let anchor = self.path.canonicalize().ok()?;
            real.strip_prefix(anchor).ok().map(Path::to_path_buf)
        });
        FileError::NotRegular { path, what: FileKind::Link, real }
    }
}

/// A name in an open directory.
pub(super) struct Sibling {
    pub directory: OwnedFd,
    pub name: std::ffi::OsString,
    /// The whole path, for messages.
    pub path: PathBuf,
}

impl Sibling {
    pub(super) fn failed(&self, doing: &'static str) -> impl Fn(std::io::Error) -> FileError {
        let path = self.path.clone();
        move |cause| FileError::Io { doing, path: path.clone(), cause }
    }
}

/// What a name in an open directory leads to; a link is a link.
pub(super) fn kind_at(directory: impl AsFd, name: &OsStr) -> Result<FileKind, Errno> {
    let about = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileKind::of(about.st_mode))
}

#[cfg(target_os = "linux")]
fn open_without_links(start: &OwnedFd, below: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(start, below, flags, mode, resolve) {
        // An old kernel, a sandbox that does not know the call, or a rename on the way while we looked.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => walk(start, below, flags, mode),
        answer => answer,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(start: &OwnedFd, below: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    walk(start, below, flags, mode)
}

/// One component at a time. A link in the middle fails because it is not a directory, one at the end because of `NOFOLLOW`.
pub(super) fn walk(start: &OwnedFd, below: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let mut here: Option<OwnedFd> = None;
    let mut names = below.iter().peekable();
    while let Some(name) = names.next() {
        let from = here.as_ref().unwrap_or(start);
        if names.peek().is_none() {
            return openat(from, name, flags, mode);
        }
        here = Some(openat(from, name, PASS_THROUGH | OFlags::NOFOLLOW, Mode::empty())?);
    }
    Err(Errno::INVAL)
}
