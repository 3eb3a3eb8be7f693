//! Forks: sessions that begin with a copy of another one, which hands its part over itself.
//!
//! | agent | a fork | what is compared |
//! |---|---|---|
//! | Claude Code, `/branch` and SDK | every copied record names the record that it is a copy of | nothing: the mark is enough |
//! | Claude Code, `--fork-session` | copied records keep their `uuid`; nothing names the parent | `uuid`s |
//! | Codex | the first record names the parent; copied records get new times and may get ids | contents |

use std::borrow::Cow;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::lines::{Line, Lines};
use super::{TranscriptFormat, bounded_json, source};
use crate::error::{Error, Result};

/// How much of a parent and of a fork is compared.
const MAX_COMPARED: u64 = 64 << 20;

/// What a record says about where it came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// The record is marked as a copy.
    pub is_copy: bool,
    /// The session of which this one is a fork.
    pub parent: Option<String>,
    /// What a copy of the record has in common with it.
    pub key: Option<Key>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    hash: u64,
    /// Somebody may well have said the same again, so that a copy is not assumed to end with this record.
    is_repeatable: bool,
}

impl Key {
    pub(super) fn of_id(id: &str) -> Key {
        Key { hash: hash(id), is_repeatable: false }
    }

    pub(super) fn of_content(content: &serde_json::Value, is_repeatable: bool) -> Key {
        Key { hash: hash(&content.to_string()), is_repeatable }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Where the part of a session begins that is not a copy of another session; 0 if it is no fork. `is_fork`: the agent said
/// that it is one.
pub(super) fn own_part(
    format: &TranscriptFormat,
    path: &Path,
    file: &mut File,
    end: u64,
    is_fork: bool,
) -> Result<u64> {
    let failed = |cause: io::Error| Error::io("read", path, cause);
    let mut first = First::default();
    each_origin(format, file, end, |origin, at| first.take(origin, at)).map_err(failed)?;
    if first.copied > 0 {
        return Ok(first.copied);
    }
    let Some(key) = first.key else { return Ok(0) };
    let parent = match first.parent {
        Some(id) => (format.file_of)(path, &id),
        None if is_fork => sibling_with(format, path, key),
        None => None,
    };
    let Some(mut parent) = parent.and_then(|parent| source::open(&parent).ok()?) else { return Ok(0) };
    let mut keys = Vec::new();
    each_origin(format, &mut parent, MAX_COMPARED, |origin, _| {
        keys.extend(origin.key.map(|key| key.hash));
        true
    })
    .map_err(failed)?;
    let mut copied = Copied { keys: &keys, end: 0 };
    each_origin(format, file, end.min(MAX_COMPARED), |origin, at| copied.take(&origin, at)).map_err(failed)?;
    Ok(copied.end)
}

/// The beginning of a session: what is marked as copied, or the first record that can be compared.
#[derive(Default)]
struct First {
    /// Where the marked copies end.
    copied: u64,
    parent: Option<String>,
    key: Option<Key>,
}

impl First {
    /// Takes a record that ends at `at`. `false` if no other is wanted.
    fn take(&mut self, origin: Origin, at: u64) -> bool {
        if origin.is_copy {
            self.copied = at;
            return true;
        }
        if self.parent.is_none() {
            self.parent = origin.parent;
        }
        self.key = origin.key;
        self.key.is_none()
    }
}

/// The records of a fork that are also in its parent, in the same order. A parent may have others in between, such as
/// those of branches that were left.
struct Copied<'a> {
    /// What is left of the parent.
    keys: &'a [u64],
    end: u64,
}

impl Copied<'_> {
    fn take(&mut self, origin: &Origin, at: u64) -> bool {
        let Some(key) = origin.key else { return true };
        let Some(found) = self.keys.iter().position(|known| *known == key.hash) else { return false };
        self.keys = &self.keys[found + 1..];
        if !key.is_repeatable {
            self.end = at;
        }
        true
    }
}

/// The newest other session in the same directory that begins with this record.
fn sibling_with(format: &TranscriptFormat, path: &Path, key: Key) -> Option<PathBuf> {
    (format.siblings)(path).into_iter().find(|sibling| {
        let mut first = None;
        let file = source::open_beginning(sibling).ok().flatten();
        file.is_some_and(|mut file| {
            let look = each_origin(format, &mut file, MAX_COMPARED, |origin, _| {
                first = origin.key;
                first.is_none()
            });
            look.is_ok() && first.is_some_and(|first| first.hash == key.hash)
        })
    })
}

/// Reads records from the beginning for as long as `take` returns true. It gets each with the place where it ends.
fn each_origin(
    format: &TranscriptFormat,
    file: &mut File,
    end: u64,
    mut take: impl FnMut(Origin, u64) -> bool,
) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let mut lines = Lines::of(BufReader::new(Read::by_ref(file).take(end)));
    loop {
        let line = match lines.next()? {
            None => return Ok(()),
            Some(Line::TooLong) => Cow::Borrowed(""),
            Some(Line::Whole(line) | Line::Unended(line)) => bounded_json::text_of(line),
        };
        let origin = bounded_json::parse(&line).map(|record| (format.origin)(&record)).unwrap_or_default();
        drop(line);
        if !take(origin, lines.position()) {
            return Ok(());
        }
    }
}
