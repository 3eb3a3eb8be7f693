//! Careful access to files below a directory, for trees that a stranger may have made.
//!
//! | file | owns |
//! |---|---|
//! | `walk` | reaching a path below the anchor without following a link |
//! | `read` | reading and examining regular files of bounded size |
//! | `write` | replacing, creating, appending and moving files |
//! | `directories` | creating, listing, locking and removing directories |
//! | `error` | why a file was not opened, as a type and as a sentence |
//!
//! An [`Anchor`] is the directory that a person chose: the project root, or a directory that the configuration names by
//! an absolute path. Links above and at the anchor are the person's own and are followed. Below it:
//!
//! - no component may be a link, and no path may contain `..`;
//! - opening never blocks, so a named pipe cannot hang a hook;
//! - only regular files are read or written, and no more than a limit is read;
//! - each check is made on the descriptor that is then used, so nothing can change in between.
//!
//! Methods take a path relative to the anchor, or one that begins with the anchor's own path.

mod directories;
mod error;
mod read;
#[cfg(test)]
mod tests;
mod walk;
mod write;

use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

pub(crate) use error::{FileError, FileKind};
pub(crate) use read::About;

/// A directory below which no link is followed.
#[derive(Clone, Debug)]
pub struct Anchor {
    path: PathBuf,
    held: Option<Arc<HeldDirectory>>,
}

/// A directory below an anchor that stays open. What is in it is reached from here, not from the anchor.
#[derive(Debug)]
struct HeldDirectory {
    below: PathBuf,
    descriptor: OwnedFd,
}

impl Anchor {
    /// More than any file of memory or history that a person or agent writes, and little enough to hold in memory.
    pub const LIMIT: u64 = 64 << 20;

    pub fn new(path: &Path) -> Anchor {
        Anchor { path: path.to_path_buf(), held: None }
    }

    /// The anchor for a configured directory: the project root if the directory is below it, else the directory itself,
    /// which somebody named by an absolute path.
    pub fn around(root: &Path, directory: &Path) -> Anchor {
        Anchor::new(if directory.starts_with(root) { root } else { directory })
    }

    /// The anchor for a single file that a person named: the directory that the file is in.
    pub fn beside(file: &Path) -> Anchor {
        Anchor::new(super::directories::parent(file))
    }

    /// The same anchor, holding a directory below it open: for reading many files of one directory. A directory that cannot
    /// be opened is not held; each access then reports why.
    pub fn holding(&self, directory: &Path) -> Anchor {
        let held = self.below(directory).and_then(|below| {
            let descriptor = self.open_to_pass(&below)?;
            Ok(Arc::new(HeldDirectory { below, descriptor }))
        });
        Anchor { path: self.path.clone(), held: held.ok() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `path` relative to the anchor, made of names only.
    fn below(&self, path: &Path) -> Result<PathBuf, FileError> {
        let relative = path.strip_prefix(&self.path).unwrap_or(path);
        let mut below = PathBuf::new();
        for part in relative.components() {
            match part {
                Component::Normal(name) => below.push(name),
                Component::CurDir => {}
                _ => return Err(FileError::Outside { path: path.to_path_buf(), anchor: self.path.clone() }),
            }
        }
        Ok(below)
    }

    /// The whole path of something below the anchor, for messages.
    fn shown(&self, below: &Path) -> PathBuf {
        if below.as_os_str().is_empty() { self.path.clone() } else { self.path.join(below) }
    }
}
