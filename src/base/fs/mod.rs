//! The one door to the file system. Whatever it reports as written survives a power cut, except where a function is for
//! logs, copies or leftovers; and every error names its path.
//!
//! | file | owns |
//! |---|---|
//! | `anchor/` | careful access below a directory: no link followed, no blocking, only regular files of bounded size |
//! | `plain_read` | reading files that a person named; follows links |
//! | `examine` | what is at a path that a person named; follows links |
//! | `replace` | writing whole files durably, moving them |
//! | `private` | writing keys and exports, which a kill must not leave behind half-done |
//! | `directories` | creating directories durably, locking them |
//! | `draft` | a text that a person edits in their own editor |
//! | `holder` | the process that holds the lock of a directory |
//! | `remove` | removing files, trees and stale temporary files |
//! | `names` | listing directories |
//! | `log` | private files that are appended to: logs, locks, records |
//! | `owner` | who owns a file and who may read it |
//! | `sync` | bringing whole file systems to the disk, for what other programs wrote |
//! | `links` | where a path really is, and whether a link is on the way |
//!
//! Everything under memory, history, state and configuration of a project came, or may have come, with a repository that a
//! stranger made. It is opened through an [`Anchor`]; the functions that take a bare path are for files that a person
//! named and for the user's own state.

#![allow(clippy::disallowed_methods)]

mod anchor;
mod directories;
mod draft;
mod examine;
mod holder;
mod links;
mod log;
mod names;
mod owner;
mod plain_read;
mod private;
mod remove;
mod replace;
mod sync;
#[cfg(test)]
mod tests;

pub(crate) use anchor::{About, Anchor, FileError, FileKind};
pub(crate) use directories::{DirectoryLock, create_directories, create_private_directories, lock_directory};
pub(crate) use draft::Draft;
pub(crate) use examine::{
    FileState, Version, exists, is_directory, is_executable, is_file, is_pipe, is_taken, is_writable, lasting_mark,
    length, mark, may_be_directory, may_be_taken, may_write, modified, real, real_if_exists, state, version,
};
pub(crate) use links::{resolve, tidy};
pub(crate) use log::{append, append_durably};
pub(crate) use names::{names, names_at_most};
pub(crate) use owner::{
    foreign_owner, is_foreign_owner, is_open_to_all, is_own, is_readable_by_others, refuse_foreign_owner, refuse_owner,
    refuse_owner_because,
};
pub(crate) use plain_read::{
    Seen, absent, is_absent, open, open_if_exists, open_plain, read_at_most, read_ends, read_if_exists, read_within,
    scratch_file,
};
pub(crate) use private::write_private;
pub(crate) use remove::{Depth, remove_empty_directory, remove_file, sweep_temporaries};
pub(crate) use replace::{Created, TEMPORARY_GLOB, replace, replace_executable, write_marker};
pub(crate) use sync::{keeps_what_git_synced, sync_file_systems};
