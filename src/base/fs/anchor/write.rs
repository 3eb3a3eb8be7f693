//! Replacing, creating, appending and moving files below an anchor. As durable as the functions of the same names that take
//! a bare path, with the same number of fsyncs and renames.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, fchmod, fsync, linkat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::walk::Sibling;
use super::{Anchor, FileError, FileKind};
use crate::base::fault;
use crate::base::fs::Created;
use crate::base::fs::replace::{TEMPORARY_PREFIX, TEMPORARY_SUFFIX};

const WRITE: &str = "write";

impl Anchor {
    /// Replaces or creates a file: temporary sibling, fsync, rename, fsync of the directory. A reader, and the next boot,
    /// see the old content or the new one, never a part.
    pub fn replace(&self, path: &Path, content: &[u8]) -> Result<(), FileError> {
        let place = self.open_parent(WRITE, path)?;
        let temporary = self.write_temporary(&place, content)?;
        temporary.move_over(&place.name).map_err(place.failed(WRITE))?;
        finish(&place)
    }

    /// Creates a file with this content, whole, or reports that something is there already.
    pub fn create_new(&self, path: &Path, content: &[u8]) -> Result<Created, FileError> {
        let place = self.open_parent(WRITE, path)?;
        let temporary = Temporary::create(&place, 0o666)?.fill(&place, content)?;
        match temporary.move_to_free(&place.name) {
            Ok(()) => finish(&place).map(|()| Created::Now),
            Err(Errno::EXIST) => Ok(Created::Before),
            Err(cause) => Err(place.failed(WRITE)(cause.into())),
        }
    }

    /// Writes a small file in place. For files in which every writer writes the same bytes: a kill leaves no temporary
    /// file behind.
    pub fn write_marker(&self, path: &Path, content: &[u8]) -> Result<(), FileError> {
        let place = self.open_parent(WRITE, path)?;
        let mut file = self.open_in(&place, OFlags::WRONLY | OFlags::CREATE, 0o666)?;
        let written = file.write_all(content).and_then(|()| file.sync_all());
        written.and_then(|()| Ok(fsync(&place.directory)?)).map_err(place.failed(WRITE))?;
        fault::at("fs.marked");
        Ok(())
    }

    /// Creates a file whose existence is its message. After a kill a part of its text may be missing.
    pub fn create_flag(&self, path: &Path, content: &[u8]) -> Result<Created, FileError> {
        let place = self.open_parent(WRITE, path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mut file = match open_at(&place, flags, 0o666) {
            Ok(file) => file,
            Err(Errno::EXIST) => return Ok(Created::Before),
            Err(cause) => return Err(place.failed(WRITE)(cause.into())),
        };
        let written = file.write_all(content).and_then(|()| file.sync_all());
        written.and_then(|()| Ok(fsync(&place.directory)?)).map_err(place.failed(WRITE))?;
        fault::at("fs.marked");
        Ok(Created::Now)
    }

    /// Creates an empty file that only this user can read, unless something is there already.
    pub fn create_private_if_absent(&self, path: &Path) -> Result<(), FileError> {
        let place = self.open_parent("create", path)?;
        match open_at(&place, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, 0o600) {
            Ok(_) | Err(Errno::EXIST) => Ok(()),
            Err(cause) => Err(place.failed("create")(cause.into())),
        }
    }

    /// Opens a file for reading and appending that only this user can read: logs and the lock. Creates it if needed.
    pub fn open_private(&self, path: &Path) -> Result<File, FileError> {
        let below = self.below(path)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND | OFlags::NONBLOCK;
        let file = File::from(self.open_below("open", &below, flags, Mode::from_raw_mode(0o600))?);
        self.check_regular(&file, &below)?;
        Ok(file)
    }

    /// Appends a line to a log that only this user can read, without waiting for the disk. A log of more than `most` bytes
    /// is first moved aside, replacing the one that was moved aside before.
    pub fn append_to_log(&self, path: &Path, line: &str, most: u64) -> Result<(), FileError> {
        let mut file = self.open_private(path)?;
        let failed = |cause: io::Error| FileError::Io { doing: WRITE, path: self.path.join(path), cause };
        if file.metadata().map_err(failed)?.len() > most {
            let place = self.open_parent("move", path)?;
            let mut aside = place.name.clone();
            aside.push(".1");
            let moved = renameat(&place.directory, &place.name, &place.directory, &aside);
            moved.map_err(|cause| place.failed("move")(cause.into()))?;
            file = self.open_private(path)?;
        }
        // In one write, so that lines of several processes do not mix.
        file.write_all(format!("{line}\n").as_bytes()).map_err(failed)
    }

    /// Rewrites a log without waiting for the disk. `change` reads the old content and writes the new one.
    pub fn rewrite_private(
        &self,
        path: &Path,
        change: impl FnOnce(&mut dyn Read, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FileError> {
        let mut old = self.open(path)?;
        let place = self.open_parent("rewrite", path)?;
        let temporary = Temporary::create(&place, 0o600)?;
        let mut new = io::BufWriter::new(&temporary.file);
        change(&mut old, &mut new).and_then(|()| new.flush()).map_err(place.failed("rewrite"))?;
        drop(new);
        temporary.move_over(&place.name).map_err(place.failed("rewrite"))
    }

    /// Moves a file or directory, durably.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), FileError> {
        let (from, to) = (self.open_parent("move", from)?, self.open_parent("move", to)?);
        renameat(&from.directory, &from.name, &to.directory, &to.name)
            .and_then(|()| fsync(&to.directory))
            .map_err(|cause| from.failed("move")(cause.into()))?;
        fault::at("fs.moved");
        Ok(())
    }

    /// Removes a file or a link, durably; what the link points at stays.
    pub fn remove_file(&self, path: &Path) -> Result<(), FileError> {
        let place = self.open_parent("remove", path)?;
        let removed = unlinkat(&place.directory, &place.name, AtFlags::empty());
        removed.and_then(|()| fsync(&place.directory)).map_err(|cause| place.failed("remove")(cause.into()))?;
        fault::at("fs.removed");
        Ok(())
    }

    /// Removes a file without waiting for the disk: it may come back after a power cut.
    pub fn remove_file_lazily(&self, path: &Path) -> Result<(), FileError> {
        let place = self.open_parent("remove", path)?;
        let removed = unlinkat(&place.directory, &place.name, AtFlags::empty());
        removed.map_err(|cause| place.failed("remove")(cause.into()))?;
        fault::at("fs.removed");
        Ok(())
    }

    /// Opens a file in an open directory and refuses what is not a regular file.
    fn open_in(&self, place: &Sibling, flags: OFlags, mode: u32) -> Result<File, FileError> {
        let refused = |cause| match super::walk::kind_at(&place.directory, &place.name) {
            Ok(FileKind::Link) => self.refuse_link(place.path.clone()),
            Ok(what) if what != FileKind::Regular => {
                FileError::NotRegular { path: place.path.clone(), what, real: None }
            }
            _ => place.failed(WRITE)(io::Error::from(cause)),
        };
        let file = open_at(place, flags, mode).map_err(refused)?;
        self.check_regular(&file, &self.below(&place.path)?)?;
        Ok(file)
    }

    /// A temporary sibling with this content and the mode of the file that it will replace.
    fn write_temporary<'a>(&self, place: &'a Sibling, content: &[u8]) -> Result<Temporary<'a>, FileError> {
        let existing = match statat(&place.directory, &place.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => match FileKind::of(about.st_mode) {
                FileKind::Regular => Some(Mode::from_raw_mode(about.st_mode)),
                FileKind::Link => return Err(self.refuse_link(place.path.clone())),
                what => return Err(FileError::NotRegular { path: place.path.clone(), what, real: None }),
            },
            Err(Errno::NOENT) => None,
            Err(cause) => return Err(place.failed(WRITE)(cause.into())),
        };
        let temporary = Temporary::create(place, 0o666)?;
        if let Some(mode) = existing {
            fchmod(&temporary.file, mode).map_err(|cause| place.failed(WRITE)(cause.into()))?;
        }
        temporary.fill(place, content)
    }
}

fn open_at(place: &Sibling, flags: OFlags, mode: u32) -> Result<File, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    openat(&place.directory, &place.name, flags, raw_mode(mode)).map(File::from)
}

#[allow(clippy::unnecessary_cast, reason = "the type differs between systems")]
pub(super) fn raw_mode(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as rustix::fs::RawMode)
}

/// Makes a renamed file's name durable.
fn finish(place: &Sibling) -> Result<(), FileError> {
    fault::at("fs.renamed");
    fsync(&place.directory).map_err(|cause| place.failed("sync the directory of")(cause.into()))?;
    fault::at("fs.replaced");
    Ok(())
}

/// A temporary file in an open directory. It is removed unless it is moved to its final name.
struct Temporary<'a> {
    directory: &'a OwnedFd,
    name: String,
    file: File,
    is_moved: bool,
}

impl<'a> Temporary<'a> {
    fn create(place: &'a Sibling, mode: u32) -> Result<Temporary<'a>, FileError> {
        const TRIES: usize = 16;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut answer = Errno::EXIST;
        for _ in 0..TRIES {
            let random = getrandom::u64().map_err(|cause| place.failed(WRITE)(io::Error::other(cause)))?;
            let name = format!("{TEMPORARY_PREFIX}{random:016x}{TEMPORARY_SUFFIX}");
            match openat(&place.directory, &name, flags, raw_mode(mode)) {
                Ok(file) => {
                    return Ok(Temporary { directory: &place.directory, name, file: file.into(), is_moved: false });
                }
                Err(Errno::EXIST) => {}
                Err(cause) => {
                    answer = cause;
                    break;
                }
            }
        }
        Err(place.failed(WRITE)(answer.into()))
    }

    fn fill(mut self, place: &Sibling, content: &[u8]) -> Result<Temporary<'a>, FileError> {
        self.file.write_all(content).and_then(|()| self.file.sync_all()).map_err(place.failed(WRITE))?;
        fault::at("fs.written");
        Ok(self)
    }

    fn move_over(mut self, name: &std::ffi::OsStr) -> io::Result<()> {
        renameat(self.directory, &self.name, self.directory, name)?;
        self.is_moved = true;
        Ok(())
    }

    /// Fails with `EXIST` if the name is taken.
    fn move_to_free(mut self, name: &std::ffi::OsStr) -> Result<(), Errno> {
        match renameat_with(self.directory, &self.name, self.directory, name, RenameFlags::NOREPLACE) {
            // Not every file system can do it; a second name for the file, then removing the first, is as good.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                linkat(self.directory, &self.name, self.directory, name, AtFlags::empty())
            }
            Err(cause) => Err(cause),
            Ok(()) => {
                self.is_moved = true;
                Ok(())
            }
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_moved {
            let _ = unlinkat(self.directory, &self.name, AtFlags::empty());
        }
    }
}
