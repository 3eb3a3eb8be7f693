//! Who owns a file and who may read it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::base::env;
use crate::error::{Error, Result};

/// Refuses a file that belongs to somebody else than this user or root: its owner could make us do anything.
pub(crate) fn refuse_foreign_owner(path: &Path, what: &str) -> Result<()> {
    let Ok(about) = fs::symlink_metadata(path) else { return Ok(()) };
    let owners = [Some(about.uid()), fs::metadata(path).ok().map(|about| about.uid())];
    owners.into_iter().flatten().try_for_each(|owner| refuse_owner(owner, path, what))
}

/// Like [`refuse_foreign_owner`], for a file that was examined already.
pub(crate) fn refuse_owner(owner: u32, path: &Path, what: &str) -> Result<()> {
    refuse_owner_because(owner, path, what, "it can make this program run commands")
}

/// Like [`refuse_owner`], with what the owner of such a file could do.
pub(crate) fn refuse_owner_because(owner: u32, path: &Path, what: &str, why: &str) -> Result<()> {
    if !is_foreign_owner(owner) {
        return Ok(());
    }
    Err(Error::bad_data(format!("the {what} `{}` belongs to user {owner}, not to you", path.display()))
        .hint(format!("{why}: look at it, then make it yours with `chown`")))
}

/// Whether this is somebody else than this user or root.
pub(crate) fn is_foreign_owner(owner: u32) -> bool {
    owner != 0 && owner != rustix::process::geteuid().as_raw()
}

/// Whether a file is this user's own: by its owner, or because its owner has the home directory, as with `sudo`.
pub(crate) fn is_own(owner: u32) -> bool {
    let has_home = || env::home().and_then(|home| fs::metadata(home).ok()).is_some_and(|home| home.uid() == owner);
    !is_foreign_owner(owner) || has_home()
}

/// The error about a file of a project that belongs to another user.
pub(crate) fn foreign_owner(owner: u32, path: &Path, what: &str) -> Error {
    Error::bad_data(format!("the {what} `{}` belongs to user {owner}, not to you", path.display())).hint(
        "it can make this program run commands: look at it, then make it yours with `chown`, list the project in git's \
         global `safe.directory`, or run `agent-handover allow`",
    )
}

/// Whether anybody but its owner may read a file.
pub(crate) fn is_readable_by_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && about.mode() & 0o044 != 0)
}

/// Whether others than this user may write a file or directory with this mode and group. The group of this process is taken
/// for the user's own, as most systems have it.
pub(super) fn is_shared(mode: u32, group: u32) -> bool {
    mode & 0o002 != 0 || mode & 0o020 != 0 && group != rustix::process::getegid().as_raw()
}

/// Whether everybody may create files in a directory.
pub(crate) fn is_open_to_all(directory: &Path) -> bool {
    fs::metadata(directory).is_ok_and(|about| about.mode() & 0o002 != 0)
}
