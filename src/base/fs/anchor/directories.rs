//! Creating, listing, locking and removing directories below an anchor.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fsync, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use super::read::if_exists;
use super::walk::{DIRECTORY, kind_at};
use super::{Anchor, FileError, FileKind};
use crate::base::fault;
use crate::base::fs::directories::{Patience, create_levels, lock_opened};
use crate::base::fs::remove::is_temporary;
use crate::base::fs::{Depth, DirectoryLock};
use crate::error::{Error, Result as Outcome};

const CREATE: &str = "create the directory";
const LIST: &str = "list";

/// Deeper trees are not ours.
const MAX_DEPTH: usize = 64;

/// Removes a directory and everything in it; each level is entered through the descriptor of the one above.
fn remove_all(above: &OwnedFd, name: &OsStr, depth: usize) -> Result<(), Errno> {
    if depth == 0 {
        return Err(Errno::NAMETOOLONG);
    }
    let directory = openat(above, name, DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    for entry in Dir::read_from(&directory)? {
        let inner = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
        if matches!(inner.as_bytes(), b"." | b"..") {
            continue;
        }
        if kind_at(&directory, &inner)? == FileKind::Directory {
            remove_all(&directory, &inner, depth - 1)?;
        } else {
            unlinkat(&directory, &inner, AtFlags::empty())?;
        }
    }
    unlinkat(above, name, AtFlags::REMOVEDIR)
}

/// Who may use the levels that are created.
#[derive(Clone, Copy)]
struct Levels {
    above: u32,
    last: u32,
    is_durable: bool,
}

impl Anchor {
    /// Creates the missing levels of a directory, each durable before the next.
    pub fn create_directories(&self, path: &Path) -> Result<(), FileError> {
        self.create_levels(path, Levels { above: 0o777, last: 0o777, is_durable: true })
    }

    /// Like [`Anchor::create_directories`]; only this user can read the last level.
    pub fn create_private_directories(&self, path: &Path) -> Result<(), FileError> {
        self.create_levels(path, Levels { above: 0o777, last: 0o700, is_durable: true })
    }

    /// Creates a directory for logs. Logs need not survive a power cut, so this does not wait for the disk.
    pub fn create_log_directory(&self, path: &Path) -> Result<(), FileError> {
        self.create_levels(path, Levels { above: 0o700, last: 0o700, is_durable: false })
    }

    /// The names in a directory, sorted; none if the directory does not exist.
    pub fn names(&self, path: &Path) -> Result<Vec<String>, FileError> {
        self.names_beginning(path, "")
    }

    /// The names in a directory with what each leads to, sorted. Costs no system call for each name; some file systems
    /// answer `Unknown`.
    pub fn names_and_kinds(&self, path: &Path) -> Result<Vec<(String, FileKind)>, FileError> {
        let mut names = Vec::new();
        self.each_entry(path, |name, kind| {
            names.push((String::from_utf8_lossy(name).into_owned(), kind));
            true
        })?;
        names.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(names)
    }

    /// The names in a directory that begin with `beginning`, sorted.
    pub fn names_beginning(&self, path: &Path, beginning: &str) -> Result<Vec<String>, FileError> {
        let mut names = Vec::new();
        self.each_name(path, |name| {
            if name.starts_with(beginning.as_bytes()) {
                names.push(String::from_utf8_lossy(name).into_owned());
            }
            true
        })?;
        names.sort();
        Ok(names)
    }

    /// The names in a directory in any order; `None` if there are more than `most`. Reads no more than `most + 1` of them.
    pub fn names_at_most(&self, path: &Path, most: usize) -> Result<Option<Vec<String>>, FileError> {
        let mut names = Vec::new();
        self.each_name(path, |name| {
            names.push(String::from_utf8_lossy(name).into_owned());
            names.len() <= most
        })?;
        Ok((names.len() <= most).then_some(names))
    }

    /// How many names in a directory end with `ending`.
    pub fn count_names(&self, path: &Path, ending: &str) -> Result<usize, FileError> {
        let mut count = 0;
        self.each_name(path, |name| {
            count += usize::from(name.ends_with(ending.as_bytes()));
            true
        })?;
        Ok(count)
    }

    /// Locks a directory, waiting up to ten seconds for another process.
    pub fn lock_directory(&self, path: &Path) -> Outcome<DirectoryLock> {
        self.lock_with(path, Patience::Short)
    }

    /// Like [`Anchor::lock_directory`], where a holder may work for minutes: waits for longer as long as it works.
    pub fn lock_directory_after_work(&self, path: &Path) -> Outcome<DirectoryLock> {
        self.lock_with(path, Patience::WhileHolderWorks)
    }

    fn lock_with(&self, path: &Path, patience: Patience) -> Outcome<DirectoryLock> {
        let below = self.below(path)?;
        let directory = self.open_below("open", &below, DIRECTORY, Mode::empty()).map_err(Error::from)?;
        lock_opened(File::from(directory), &self.shown(&below), patience)
    }

    /// Whether another process holds the lock of a directory. Keeps others from taking it for no longer than a system call.
    pub fn is_directory_locked(&self, path: &Path) -> bool {
        let Ok(below) = self.below(path) else { return false };
        let Ok(directory) = self.open_below("open", &below, DIRECTORY, Mode::empty()) else { return false };
        matches!(File::from(directory).try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// Removes the temporary files that a killed process left. Call it only where nobody else writes: the temporary files of
    /// a living writer look the same.
    pub fn sweep_temporaries(&self, path: &Path, depth: Depth) -> Result<(), FileError> {
        self.sweep_and_see(path, depth, &mut |_| ())
    }

    /// Removes the temporary files in a directory like [`Anchor::sweep_temporaries`], and counts the names that end with
    /// `ending`. To list a directory twice takes twice as long.
    pub fn sweep_and_count(&self, path: &Path, ending: &str) -> Result<usize, FileError> {
        let mut count = 0;
        self.sweep_and_see(path, Depth::Directory, &mut |name| {
            count += usize::from(name.ends_with(ending.as_bytes()));
        })?;
        Ok(count)
    }

    fn sweep_and_see(&self, path: &Path, depth: Depth, see: &mut dyn FnMut(&[u8])) -> Result<(), FileError> {
        let below = self.below(path)?;
        match if_exists(self.open_below(LIST, &below, DIRECTORY, Mode::empty()))? {
            Some(directory) => self.sweep(&below, directory, depth, see),
            None => Ok(()),
        }
    }

    /// Removes an empty directory, durably.
    pub fn remove_empty_directory(&self, path: &Path) -> Result<(), FileError> {
        let place = self.open_parent("remove", path)?;
        let removed = unlinkat(&place.directory, &place.name, AtFlags::REMOVEDIR);
        removed.and_then(|()| fsync(&place.directory)).map_err(|cause| place.failed("remove")(cause.into()))
    }

    /// Removes an empty directory without waiting for the disk: it may come back after a power cut.
    pub fn remove_empty_directory_lazily(&self, path: &Path) -> Result<(), FileError> {
        let place = self.open_parent("remove", path)?;
        let removed = unlinkat(&place.directory, &place.name, AtFlags::REMOVEDIR);
        removed.map_err(|cause| place.failed("remove")(cause.into()))
    }

    /// Removes a whole directory of ours, following no link. A directory that is already gone is no error.
    pub fn remove_tree(&self, path: &Path) -> Result<(), FileError> {
        let Some(place) = if_exists(self.open_parent("remove", path))? else { return Ok(()) };
        if kind_at(&place.directory, &place.name) != Ok(FileKind::Directory) {
            return Ok(());
        }
        match remove_all(&place.directory, &place.name, MAX_DEPTH) {
            Err(cause) if cause != Errno::NOENT => Err(place.failed("remove")(cause.into())),
            _ => Ok(()),
        }
    }

    fn create_levels(&self, path: &Path, levels: Levels) -> Result<(), FileError> {
        let below = self.below(path)?;
        // Usually it is there.
        match self.open_below(CREATE, &below, DIRECTORY, Mode::empty()) {
            Ok(_) => return Ok(()),
            Err(error) if error.is_absent() => {}
            Err(error) => return Err(error),
        }
        if !self.path.is_dir() {
            // The anchor is a configured directory that does not exist yet.
            let mode = if below.as_os_str().is_empty() { levels.last } else { levels.above };
            create_levels(&self.path, mode)
                .map_err(|error| self.uncreated(Path::new(""), std::io::Error::other(error.one_line())))?;
        }
        let mut here = self.open_below(CREATE, Path::new(""), DIRECTORY, Mode::empty())?;
        let mut names = below.iter().peekable();
        let mut reached = std::path::PathBuf::new();
        while let Some(name) = names.next() {
            reached.push(name);
            let mode = if names.peek().is_none() { levels.last } else { levels.above };
            here = self.enter_or_create(&here, name, &reached, mode, levels.is_durable)?;
        }
        Ok(())
    }

    fn enter_or_create(
        &self,
        here: &OwnedFd,
        name: &OsStr,
        reached: &Path,
        mode: u32,
        is_durable: bool,
    ) -> Result<OwnedFd, FileError> {
        let failed = |cause: Errno| match kind_at(here, name) {
            Ok(FileKind::Link) => self.refuse_link(self.shown(reached)),
            // A file is where the directory must be.
            Ok(_) if cause == Errno::NOTDIR => self.uncreated(reached, Errno::EXIST.into()),
            _ => self.uncreated(reached, cause.into()),
        };
        let enter = || openat(here, name, DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
        match enter() {
            Err(Errno::NOENT) => {}
            answer => return answer.map_err(failed),
        }
        match mkdirat(here, name, super::write::raw_mode(mode)) {
            Ok(()) if is_durable => {
                fsync(here).map_err(failed)?;
                fault::at("fs.directory");
            }
            // Somebody else may have created it just now.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(cause) => return Err(failed(cause)),
        }
        enter().map_err(failed)
    }

    fn uncreated(&self, below: &Path, cause: std::io::Error) -> FileError {
        FileError::Io { doing: CREATE, path: self.shown(below), cause }
    }

    /// Calls `each` with the names in a directory until it returns `false`.
    fn each_name(&self, path: &Path, mut each: impl FnMut(&[u8]) -> bool) -> Result<(), FileError> {
        self.each_entry(path, |name, _| each(name))
    }

    fn each_entry(&self, path: &Path, mut each: impl FnMut(&[u8], FileKind) -> bool) -> Result<(), FileError> {
        let below = self.below(path)?;
        let Some(directory) = if_exists(self.open_below(LIST, &below, DIRECTORY, Mode::empty()))? else {
            return Ok(());
        };
        let failed = |cause: Errno| FileError::Io { doing: LIST, path: self.shown(&below), cause: cause.into() };
        for entry in Dir::new(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") && !each(name, FileKind::of_type(entry.file_type())) {
                break;
            }
        }
        Ok(())
    }

    fn sweep(
        &self,
        below: &Path,
        directory: OwnedFd,
        depth: Depth,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<(), FileError> {
        let failed = |cause: Errno| FileError::Io { doing: LIST, path: self.shown(below), cause: cause.into() };
        let again = directory.try_clone().map_err(|cause| self.unlisted(below, cause))?;
        for entry in Dir::new(directory).map_err(failed)? {
            let Ok(entry) = entry else { continue };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if matches!(name.as_bytes(), b"." | b"..") {
                continue;
            }
            match entry.file_type() {
                FileType::Directory if depth == Depth::Tree => {
                    let flags = DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    if let Ok(inner) = openat(&again, name, flags, Mode::empty()) {
                        self.sweep(&below.join(name), inner, depth, see)?;
                    }
                }
                FileType::RegularFile if is_temporary(name.as_bytes()) => {
                    let removed = unlinkat(&again, name, AtFlags::empty()).and_then(|()| fsync(&again));
                    removed.map_err(|cause| FileError::Io {
                        doing: "remove",
                        path: self.shown(&below.join(name)),
                        cause: cause.into(),
                    })?;
                    fault::at("fs.removed");
                }
                _ => see(name.as_bytes()),
            }
        }
        Ok(())
    }

    fn unlisted(&self, below: &Path, cause: std::io::Error) -> FileError {
        FileError::Io { doing: LIST, path: self.shown(below), cause }
    }
}
