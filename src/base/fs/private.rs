//! Writing files that a person named and only they may read: keys and exports.
//!
//! The content is written to a file without a name, which gets its name when it is whole and on the disk. A kill before that
//! leaves nothing behind. Where the system has no such files, a temporary sibling stands in.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, linkat};
use rustix::io::Errno;

use super::directories::{parent, sync_directory};
use super::replace::{Created, TEMPORARY_PREFIX, TEMPORARY_SUFFIX, fill_temporary, new_temporary};
use crate::base::{fault, text};
use crate::error::{Error, Result};

/// A file that is older than this has been left by a process that was killed.
const LEFT_AFTER: Duration = Duration::from_secs(60);

/// Writes a file that only this user can read, whole. Replaces an existing file only with `over_existing`, and never a link.
pub(crate) fn write_private(path: &Path, content: &[u8], over_existing: bool) -> Result<Created> {
    let exists = match fs::symlink_metadata(path) {
        Ok(_) if !over_existing => return Ok(Created::Before),
        Ok(about) if !about.is_file() => {
            return Err(Error::failed(format!("`{}` is not a plain file", path.display())).hint("name another file"));
        }
        about => about.is_ok(),
    };
    let created = match nameless(path)? {
        Some(file) => give_name(fill(file, path, content)?, path, exists)?,
        None => with_sibling(path, content, over_existing)?,
    };
    if created == Created::Now {
        fault::at("fs.renamed");
        sync_directory(parent(path))?;
        fault::at("fs.replaced");
    }
    Ok(created)
}

/// A file without a name in the directory of this path; `None` where the system has no such files.
#[cfg(target_os = "linux")]
fn nameless(path: &Path) -> Result<Option<File>> {
    use rustix::fs::{Mode, OFlags, open};

    // The name is given through /proc, which some containers do not have.
    if !Path::new("/proc/self/fd").is_dir() {
        return Ok(None);
    }
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    match open(parent(path), flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(Some(file.into())),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => Ok(None),
        Err(cause) => Err(Error::io("write", path, io::Error::from(cause))),
    }
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Path) -> Result<Option<File>> {
    Ok(None)
}

fn fill(mut file: File, path: &Path, content: &[u8]) -> Result<File> {
    file.write_all(content).and_then(|()| file.sync_all()).map_err(|cause| Error::io("write", path, cause))?;
    fault::at("fs.written");
    Ok(file)
}

/// Gives a written file its name.
fn give_name(file: File, path: &Path, exists: bool) -> Result<Created> {
    let source = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |name: &Path| linkat(CWD, &source, CWD, name, AtFlags::SYMLINK_FOLLOW);
    let failed = |cause: io::Error| Error::io("write", path, cause);
    if !exists {
        return match link(path) {
            Ok(()) => Ok(Created::Now),
            Err(Errno::EXIST) => Ok(Created::Before),
            Err(cause) => Err(failed(cause.into())),
        };
    }
    // A link cannot take the place of a file, so the file has another name for the time between two calls. A kill between
    // them leaves that name, and the next one who overwrites the file removes it.
    let random = getrandom::u64().map_err(|cause| failed(io::Error::other(cause)))?;
    let prefix = between_prefix(path);
    remove_left(parent(path), &prefix);
    let between = parent(path).join(format!("{prefix}{random:016x}{TEMPORARY_SUFFIX}"));
    link(&between).map_err(|cause| failed(cause.into()))?;
    fs::rename(&between, path).map_err(|cause| {
        let _ = fs::remove_file(&between);
        failed(cause)
    })?;
    Ok(Created::Now)
}

/// How the other name of a file begins while it is being overwritten.
fn between_prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    format!("{TEMPORARY_PREFIX}{}-", text::digest(name.as_bytes(), 8))
}

/// Removes what a kill left. A living process needs its file for a moment only, so an old one is nobody's.
fn remove_left(directory: &Path, prefix: &str) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_left = name.as_bytes().starts_with(prefix.as_bytes())
            && name.as_bytes().ends_with(TEMPORARY_SUFFIX.as_bytes())
            && entry.metadata().is_ok_and(|about| about.is_file() && is_old(&about));
        if is_left {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_old(about: &fs::Metadata) -> bool {
    about.modified().ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age > LEFT_AFTER)
}

fn with_sibling(path: &Path, content: &[u8], over_existing: bool) -> Result<Created> {
    let temporary = fill_temporary(new_temporary(path, 0o600)?, path, content)?;
    let persisted = if over_existing { temporary.persist(path) } else { temporary.persist_noclobber(path) };
    match persisted {
        Ok(_) => Ok(Created::Now),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(Created::Before),
        Err(failed) => Err(Error::io("write", path, failed.error)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_private_file_is_written_with_and_without_files_that_have_no_name() {
        let world = crate::base::scratch::directory();
        let path = world.path().join("key");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(write_private(&path, b"one", false).unwrap(), Created::Now);
        assert_eq!(write_private(&path, b"two", false).unwrap(), Created::Before);
        assert_eq!((fs::read(&path).unwrap().as_slice(), mode()), (&b"one"[..], 0o600));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(write_private(&path, b"two", true).unwrap(), Created::Now);
        assert_eq!((fs::read(&path).unwrap().as_slice(), mode()), (&b"two"[..], 0o600));
        assert_eq!(with_sibling(&path, b"three", false).unwrap(), Created::Before);
        assert_eq!(with_sibling(&path, b"three", true).unwrap(), Created::Now);
        assert_eq!((fs::read(&path).unwrap().as_slice(), mode()), (&b"three"[..], 0o600));
        let link = world.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(write_private(&link, b"four", true).is_err());
        assert_eq!(fs::read_dir(world.path()).unwrap().count(), 2, "a temporary file is left");
    }
    #[test]
    fn what_a_kill_left_is_removed_when_the_file_is_overwritten_again() {
        let world = tempfile::tempdir().unwrap();
        let path = world.path().join("export.json");
        write_private(&path, b"one", false).unwrap();
        let at = |prefix: &str, number: u8| world.path().join(format!("{prefix}{number}{TEMPORARY_SUFFIX}"));
        let (left, living) = (at(&between_prefix(&path), 1), at(&between_prefix(&path), 2));
        let other = at(&between_prefix(&world.path().join("other.json")), 1);
        for file in [&left, &living, &other] {
            fs::write(file, "two").unwrap();
        }
        let long_ago = std::time::SystemTime::now() - 2 * LEFT_AFTER;
        for file in [&left, &other] {
            File::options().write(true).open(file).unwrap().set_modified(long_ago).unwrap();
        }
        write_private(&path, b"three", true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"three");
        assert_eq!((left.exists(), living.exists(), other.exists()), (false, true, true));
    }
}
