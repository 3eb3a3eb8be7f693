//! The one door to the file system for writing. What it reports as written would survive a power cut, except where a
//! function says that it is for logs, copies or leftovers; and every error names its path.

#![allow(clippy::disallowed_methods)]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use super::{fault, signals};
use crate::error::{Category, Error, Result};

const TEMPORARY_PREFIX: &str = ".agent-handover-";
const TEMPORARY_SUFFIX: &str = ".tmp";
/// The same as a pattern.
pub const TEMPORARY_GLOB: &str = ".agent-handover-*.tmp";
/// A symlink at a place of ours is somebody's trap.
/// A pipe in the place of a file is not waited for.
const NO_WAIT: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|cause| Error::io("read", path, cause))
}

/// `None` if there is nothing at the path.
pub fn read_if_exists(path: &Path) -> Result<Option<Vec<u8>>> {
    refuse_what_is_no_file(path)?;
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(cause) if is_absent(&cause) => Ok(None),
        Err(cause) => Err(Error::io("read", path, cause)),
    }
}

/// The beginning and the end of a file, each at most `size` bytes; of a small file the same whole text twice.
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

/// Opening a pipe or a device where a file should be could wait for ever.
pub fn refuse_what_is_no_file(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(about) if !about.is_file() => {
            let message = format!("`{}` is not a plain file", path.display());
            Err(Error::new(Category::Io, message).hint("move it away, then try again"))
        }
        _ => Ok(()),
    }
}

/// At most `max` bytes; one more than that means there was more.
pub fn read_at_most(source: impl Read, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(max + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// At most `max` bytes of a file that is no symlink. For many small files: it asks nothing but for the content.
pub fn read_plain(path: &Path, max: u64) -> Result<Vec<u8>> {
    let failed = |cause: io::Error| Error::io("read", path, cause);
    let flags = NO_FOLLOW | rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
    let mut bytes = Vec::with_capacity(8 << 10);
    file.take(max).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

pub fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|cause| Error::io("read", path, cause))
}

/// Whether this error says that nothing is there, rather than that we cannot tell.
pub fn is_absent(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Replaces the file or creates it: temporary sibling, fsync, rename, fsync of the directory. A reader, and the
/// next boot, see the old content or the new, never a part.
pub fn replace(path: &Path, content: &[u8]) -> Result<()> {
    persist(write_temporary(path, content)?, path)
}

fn persist(temporary: tempfile::NamedTempFile, path: &Path) -> Result<()> {
    temporary.persist(path).map_err(|failed| Error::io("write", path, failed.error))?;
    fault::at("fs.renamed");
    sync_directory(parent(path))?;
    fault::at("fs.replaced");
    Ok(())
}

/// The same for a file that is to be started.
pub fn replace_executable(path: &Path, content: &[u8]) -> Result<()> {
    let temporary = write_temporary(path, content)?;
    let failed = |cause: io::Error| Error::io("write", path, cause);
    let mode = temporary.as_file().metadata().map_err(failed)?.permissions().mode();
    // Whoever may read it may run it.
    let mode = mode | (mode & 0o444) >> 2;
    temporary.as_file().set_permissions(fs::Permissions::from_mode(mode)).map_err(failed)?;
    persist(temporary, path)
}

/// Creates the file with this content, whole, or reports that something is there already.
pub fn create_new(path: &Path, content: &[u8]) -> Result<Created> {
    let temporary = write_temporary(path, content)?;
    match temporary.persist_noclobber(path) {
        Ok(_) => {
            fault::at("fs.renamed");
            sync_directory(parent(path))?;
            fault::at("fs.replaced");
            Ok(Created::Now)
        }
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(Created::Before),
        Err(failed) => Err(Error::io("write", path, failed.error)),
    }
}

/// Writes a file that only this user can read, whole; over an existing one only if that is wanted, and never through or over a
/// symlink.
pub fn write_private(path: &Path, content: &[u8], over_existing: bool) -> Result<Created> {
    match fs::symlink_metadata(path) {
        Ok(_) if !over_existing => return Ok(Created::Before),
        Ok(about) if !about.is_file() => {
            return Err(Error::failed(format!("`{}` is not a plain file", path.display())).hint("name another file"));
        }
        _ => {}
    }
    let temporary = fill_temporary(new_temporary(path, 0o600)?, path, content)?;
    let persisted = if over_existing { temporary.persist(path) } else { temporary.persist_noclobber(path) };
    match persisted {
        Ok(_) => {
            fault::at("fs.renamed");
            sync_directory(parent(path))?;
            fault::at("fs.replaced");
            Ok(Created::Now)
        }
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(Created::Before),
        Err(failed) => Err(Error::io("write", path, failed.error)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    Now,
    Before,
}

fn write_temporary(path: &Path, content: &[u8]) -> Result<tempfile::NamedTempFile> {
    let failed = |cause: io::Error| Error::io("write", path, cause);
    let temporary = new_temporary(path, 0o666)?;
    if let Ok(existing) = fs::metadata(path) {
        temporary.as_file().set_permissions(existing.permissions()).map_err(failed)?;
    }
    fill_temporary(temporary, path, content)
}

fn new_temporary(path: &Path, mode: u32) -> Result<tempfile::NamedTempFile> {
    tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .suffix(TEMPORARY_SUFFIX)
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(parent(path))
        .map_err(|cause| Error::io("write", path, cause))
}

fn fill_temporary(
    mut temporary: tempfile::NamedTempFile,
    path: &Path,
    content: &[u8],
) -> Result<tempfile::NamedTempFile> {
    let failed = |cause: io::Error| Error::io("write", path, cause);
    temporary.write_all(content).map_err(failed)?;
    temporary.as_file().sync_all().map_err(failed)?;
    fault::at("fs.written");
    Ok(temporary)
}

/// Writes a small file in place, where everybody who writes it writes the same: no temporary to be left behind.
pub fn write_marker(path: &Path, content: &[u8]) -> Result<()> {
    refuse_what_is_no_file(path)?;
    let failed = |cause: io::Error| Error::io("write", path, cause);
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).custom_flags(NO_FOLLOW).open(path).map_err(failed)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(failed)?;
    sync_directory(parent(path))?;
    fault::at("fs.marked");
    Ok(())
}

/// Creates a file whose existence is what counts. A part of its text may be missing after a kill.
pub fn create_flag(path: &Path, content: &[u8]) -> Result<Created> {
    let failed = |cause: io::Error| Error::io("write", path, cause);
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => return Ok(Created::Before),
        Err(cause) => return Err(failed(cause)),
        Ok(mut file) => file.write_all(content).and_then(|()| file.sync_all()).map_err(failed)?,
    }
    sync_directory(parent(path))?;
    fault::at("fs.marked");
    Ok(Created::Now)
}

/// Creates what is missing of the directory, each level durable before the next.
pub fn create_directories(path: &Path) -> Result<()> {
    create_levels(path, 0o777)
}

/// The same, readable by this user only.
pub fn create_private_directories(path: &Path) -> Result<()> {
    create_levels(path, 0o700)
}

/// For logs, which need not survive a power cut: nothing is waited for.
pub fn create_log_directory(path: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let made = fs::DirBuilder::new().mode(0o700).recursive(true).create(path);
    made.map_err(|cause| Error::io("create the directory", path, cause))
}

fn create_levels(path: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    match fs::DirBuilder::new().mode(mode).create(path) {
        Ok(()) => {
            sync_directory(parent(path))?;
            fault::at("fs.directory");
            Ok(())
        }
        Err(_) if path.is_dir() => Ok(()),
        // Some file systems say so although the directory above is there.
        Err(cause) if cause.kind() == io::ErrorKind::NotFound && !parent(path).is_dir() => {
            create_levels(parent(path), 0o777)?;
            create_levels(path, mode)
        }
        Err(cause) => Err(Error::io("create the directory", path, cause)),
    }
}

fn sync_directory(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|cause| Error::io("make durable the directory", path, cause))
}

/// The directory a path is in; `.` for a bare name.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Removes a file or a symlink, not what it points at.
pub fn remove_file(path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(|cause| Error::io("remove", path, cause))?;
    sync_directory(parent(path))?;
    fault::at("fs.removed");
    Ok(())
}

/// A file as it was when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

impl Seen {
    fn of(about: &fs::Metadata) -> Seen {
        Seen { inode: about.ino(), length: about.len(), modified: (about.mtime(), about.mtime_nsec()) }
    }

    pub fn is_still(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|about| Seen::of(&about) == *self)
    }
}

/// The content of a plain file, and what it looked like; `None` if there is none. A symlink is refused.
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

/// Removes a file that may come back after a power cut.
pub fn remove_file_lazily(path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(|cause| Error::io("remove", path, cause))?;
    fault::at("fs.removed");
    Ok(())
}

/// Removes an empty directory that may come back after a power cut.
pub fn remove_empty_directory_lazily(path: &Path) -> Result<()> {
    fs::remove_dir(path).map_err(|cause| Error::io("remove", path, cause))
}

pub fn remove_empty_directory(path: &Path) -> Result<()> {
    fs::remove_dir(path).map_err(|cause| Error::io("remove", path, cause))?;
    sync_directory(parent(path))
}

pub fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|cause| Error::io("move", from, cause))?;
    sync_directory(parent(to))?;
    fault::at("fs.moved");
    Ok(())
}

/// A file for appending that only this user can read: logs and the lock.
pub fn open_private(path: &Path) -> Result<File> {
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

/// Adds a line to a log that only this user can read, not waiting for the disk. One that has grown beyond `most` bytes is
/// moved aside first, over what was moved aside before.
pub fn append_to_log(path: &Path, line: &str, most: u64) -> Result<()> {
    let mut file = open_private(path)?;
    if file.metadata().is_ok_and(|about| about.len() > most) {
        let mut aside = path.as_os_str().to_owned();
        aside.push(".1");
        fs::rename(path, aside).map_err(|cause| Error::io("move", path, cause))?;
        file = open_private(path)?;
    }
    // In one write, so that lines of several processes do not mix.
    file.write_all(format!("{line}\n").as_bytes()).map_err(|cause| Error::io("write", path, cause))
}

/// Makes an empty file that only this user can read, unless something is there.
pub fn create_private_if_absent(path: &Path) -> Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => Err(Error::io("create", path, cause)),
        _ => Ok(()),
    }
}

/// Held by who reads and then replaces files in a directory, so that no two do so at once, whatever project or
/// checkpoint they come from. It is the directory itself that is locked, so nothing is left behind.
#[must_use]
pub struct DirectoryLock(#[allow(dead_code, reason = "held, not read")] File);

pub fn lock_directory(path: &Path) -> Result<DirectoryLock> {
    let directory = File::open(path).map_err(|cause| Error::io("open", path, cause))?;
    // Each holder writes one file; who waits longer than this waits for something that hangs.
    let start = Instant::now();
    loop {
        match directory.try_lock() {
            Ok(()) => return Ok(DirectoryLock(directory)),
            Err(TryLockError::WouldBlock) if signals::received().is_some() => {
                let signal = signals::received().unwrap_or(0);
                return Err(Error::new(Category::Signal(signal), format!("interrupted by {}", signals::name(signal))));
            }
            Err(TryLockError::WouldBlock) if start.elapsed() < Duration::from_secs(10) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Error::failed(format!("another process holds the directory `{}`", path.display()))
                    .hint("look with `lsof` who it is, end it, and try again"));
            }
            // Some network file systems cannot lock a directory; then this protection is not to be had.
            Err(TryLockError::Error(_)) => return Ok(DirectoryLock(directory)),
        }
    }
}

/// Whoever can write a file that we obey could make us do anything: it must be ours or root's.
pub fn refuse_foreign_owner(path: &Path, what: &str) -> Result<()> {
    let Ok(about) = fs::symlink_metadata(path) else { return Ok(()) };
    let owners = [Some(about.uid()), fs::metadata(path).ok().map(|about| about.uid())];
    let user = rustix::process::geteuid().as_raw();
    match owners.into_iter().flatten().find(|owner| *owner != user && *owner != 0) {
        None => Ok(()),
        Some(owner) => {
            Err(Error::bad_data(format!("the {what} `{}` belongs to user {owner}, not to you", path.display()))
                .hint("it can make this program run commands: look at it, then make it yours with `chown`"))
        }
    }
}

/// Whether somebody else than its owner may read a file.
pub fn is_readable_by_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && about.mode() & 0o044 != 0)
}

/// Copies a file to where it may be opened for writing; the copy is to be read once and thrown away.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map(|_| ()).map_err(|cause| Error::io("copy", from, cause))
}

/// Rewrites a log through `change`, not waiting for the disk; `change` reads the old content and writes the new.
pub fn rewrite_private(
    path: &Path,
    change: impl FnOnce(&mut dyn Read, &mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let failed = |cause: io::Error| Error::io("rewrite", path, cause);
    let mut old = File::open(path).map_err(failed)?;
    let temporary = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .suffix(TEMPORARY_SUFFIX)
        .tempfile_in(parent(path))
        .map_err(failed)?;
    let mut new = io::BufWriter::new(temporary);
    change(&mut old, &mut new).map_err(failed)?;
    let temporary = new.into_inner().map_err(|unwritten| failed(unwritten.into_error()))?;
    temporary.persist(path).map_err(|unmoved| failed(unmoved.error))?;
    Ok(())
}

/// Removes a whole directory of ours, but nothing through a symlink. What is already gone is no error.
pub fn remove_tree(path: &Path) -> Result<()> {
    if !fs::symlink_metadata(path).is_ok_and(|about| about.is_dir()) {
        return Ok(());
    }
    match fs::remove_dir_all(path) {
        Err(cause) if !is_absent(&cause) => Err(Error::io("remove", path, cause)),
        _ => Ok(()),
    }
}

/// The names in a directory, sorted; none if it is not there.
pub fn names(directory: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(cause) if is_absent(&cause) => return Ok(Vec::new()),
        Err(cause) => return Err(Error::io("list", directory, cause)),
    };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// The names in a directory that begin like this, sorted.
pub fn names_beginning(directory: &Path, beginning: &str) -> Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(cause) if is_absent(&cause) => return Ok(Vec::new()),
        Err(cause) => return Err(Error::io("list", directory, cause)),
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut names: Vec<String> = names
        .filter(|name| name.as_bytes().starts_with(beginning.as_bytes()))
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// Whether one was last changed when the other was, or later. What cannot be asked is not.
pub fn is_at_least_as_new(one: &Path, other: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|about| about.modified());
    changed(one).is_ok_and(|one| changed(other).is_ok_and(|other| one >= other))
}

/// The names in a directory in any order; `None` if there are more than `most`, which is found out without reading them all.
pub fn names_at_most(directory: &Path, most: usize) -> Option<Vec<String>> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().take(most.saturating_add(1));
    let names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    (names.len() <= most).then_some(names)
}

/// How many names in a directory end like this.
pub fn count_names(directory: &Path, ending: &str) -> Result<usize> {
    match fs::read_dir(directory) {
        Ok(entries) => {
            Ok(entries.flatten().filter(|entry| entry.file_name().as_bytes().ends_with(ending.as_bytes())).count())
        }
        Err(cause) if is_absent(&cause) => Ok(0),
        Err(cause) => Err(Error::io("list", directory, cause)),
    }
}

/// Removes the temporaries that a killed process left in `directory`. Only who is alone in writing there may call
/// this: the temporaries of a living writer look the same.
pub fn sweep_temporaries(directory: &Path, depth: Depth) -> Result<()> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(cause) if is_absent(&cause) => return Ok(()),
        Err(cause) => return Err(Error::io("list", directory, cause)),
    };
    for entry in entries.flatten() {
        let (name, kind) = (entry.file_name(), entry.file_type());
        let is_ours = name.as_bytes().starts_with(TEMPORARY_PREFIX.as_bytes())
            && name.as_bytes().ends_with(TEMPORARY_SUFFIX.as_bytes());
        match kind {
            Ok(kind) if kind.is_dir() && depth == Depth::Tree => sweep_temporaries(&entry.path(), depth)?,
            Ok(kind) if kind.is_file() && is_ours => remove_file(&entry.path())?,
            _ => {}
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    Directory,
    Tree,
}

/// Refuses a symlink at `path` or at any directory between it and `base`: writing through one would
/// land somewhere the user did not say.
pub fn refuse_symlinks(base: &Path, path: &Path) -> Result<()> {
    let Ok(below) = path.strip_prefix(base) else {
        return Err(Error::bug(format!("`{}` is not below `{}`", path.display(), base.display())));
    };
    let mut place = base.to_path_buf();
    for part in below.components() {
        place.push(part);
        match fs::symlink_metadata(&place) {
            Ok(about) if about.file_type().is_symlink() => {
                return Err(through_symlink(&place));
            }
            Ok(_) => {}
            Err(cause) if is_absent(&cause) => return Ok(()),
            Err(cause) => return Err(Error::io("examine", &place, cause)),
        }
    }
    Ok(())
}

fn through_symlink(path: &Path) -> Error {
    Error::failed(format!("`{}` is a symlink", path.display()))
        .hint("replace the symlink by a real file or directory; nothing was written through it")
}

/// `path` with `.` and `..` resolved by name alone; `None` if it climbs above its start.
pub fn tidy(path: &Path) -> Option<PathBuf> {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                if !tidy.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            other => tidy.push(other),
        }
    }
    Some(tidy)
}

/// Where `path` really is: its longest existing part with symlinks followed, the rest appended.
pub fn resolve(path: &Path) -> Result<PathBuf> {
    let mut existing = path;
    let mut rest = Vec::new();
    loop {
        match existing.canonicalize() {
            Ok(mut real) => {
                real.extend(rest.iter().rev());
                return Ok(real);
            }
            // A dangling link has no real place; report the link itself.
            Err(cause) if is_absent(&cause) && !existing.is_symlink() => {
                let (Some(name), Some(up)) = (existing.file_name(), existing.parent()) else {
                    return Ok(path.to_path_buf());
                };
                rest.push(name);
                existing = if up.as_os_str().is_empty() { Path::new(".") } else { up };
            }
            Err(cause) => return Err(Error::io("examine", existing, cause)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_keeps_the_mode_and_leaves_no_temporary() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a/b/file.md");
        create_directories(file.parent().unwrap()).unwrap();
        replace(&file, b"one").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        replace(&file, b"two").unwrap();
        assert_eq!(read(&file).unwrap(), b"two");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o666);
        assert_eq!(names(file.parent().unwrap()).unwrap(), ["file.md"]);
    }

    #[test]
    fn creating_never_overwrites() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f");
        assert_eq!(create_new(&file, b"one").unwrap(), Created::Now);
        assert_eq!(create_new(&file, b"two").unwrap(), Created::Before);
        assert_eq!(read(&file).unwrap(), b"one");
        assert_eq!(names(directory.path()).unwrap(), ["f"]);
    }

    #[test]
    fn a_symlink_anywhere_on_the_way_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path();
        fs::create_dir(base.join("real")).unwrap();
        std::os::unix::fs::symlink("real", base.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", base.join("real/dangling")).unwrap();
        assert!(refuse_symlinks(base, &base.join("real/new/file")).is_ok());
        assert!(refuse_symlinks(base, &base.join("link/file")).is_err());
        assert!(refuse_symlinks(base, &base.join("real/dangling")).is_err());
    }

    #[test]
    fn only_our_own_temporaries_are_swept() {
        let directory = tempfile::tempdir().unwrap();
        let deep = directory.path().join("a");
        fs::create_dir(&deep).unwrap();
        for name in [".agent-handover-x.tmp", "note.tmp", ".agent-handover-notes.md"] {
            fs::write(deep.join(name), "").unwrap();
        }
        sweep_temporaries(directory.path(), Depth::Tree).unwrap();
        assert_eq!(names(&deep).unwrap(), [".agent-handover-notes.md", "note.tmp"]);
    }

    #[test]
    fn climbing_out_by_dots_is_noticed() {
        assert_eq!(tidy(Path::new("a/./b/../c")), Some(PathBuf::from("a/c")));
        assert_eq!(tidy(Path::new("a/../..")), None);
    }
}
