//! Writing files that a person named and only they may read: keys and exports.
//!
//! The content is written to a file without a name, which gets its name when it is whole and on the disk. A kill before that
//! leaves nothing behind. Where the system has no such files, a temporary sibling stands in.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, linkat};
use rustix::io::Errno;

use super::directories::{parent, sync_directory};
use super::replace::{Created, TEMPORARY_PREFIX, TEMPORARY_SUFFIX, fill_temporary, new_temporary};
use crate::base::fault;
use crate::error::{Error, Result};

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
    // A link cannot take the place of a file, so the file has another name for the time between two calls.
    let random = getrandom::u64().map_err(|cause| failed(io::Error::other(cause)))?;
    let between = parent(path).join(format!("{TEMPORARY_PREFIX}{random:016x}{TEMPORARY_SUFFIX}"));
    link(&between).map_err(|cause| failed(cause.into()))?;
    fs::rename(&between, path).map_err(|cause| {
        let _ = fs::remove_file(&between);
        failed(cause)
    })?;
    Ok(Created::Now)
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
}
