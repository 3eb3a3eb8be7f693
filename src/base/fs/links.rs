//! Paths and links: where a path really is, and whether a link is on the way to it.

use std::path::{Component, Path, PathBuf};

use super::plain_read::is_absent;
use crate::error::{Error, Result};

/// Opening a pipe does not wait for its other end.
pub(super) const NO_WAIT: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
/// Opening fails if the last component is a link.
pub(super) const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

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

/// Where `path` really is: its longest existing part with links followed, the rest appended.
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
