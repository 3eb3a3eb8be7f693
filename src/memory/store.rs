//! The memory directory of a project: where its files are, and how they are written safely.

use std::path::{Path, PathBuf};

use chrono::NaiveDate;

use super::month::Month;
use super::note::{self, Note, Span};
use super::state::{self, CurrentState};
use super::{archive, header};
use crate::base::fs::{Anchor, Depth, DirectoryLock, FileError};
use crate::base::text;
use crate::error::Result;
use crate::guard::own_record;

/// The largest file of notes, in bytes. A session's note may have 64 MiB, and a day or a month several of them.
pub(super) const MOST_NOTES: u64 = 1 << 30;

/// The memory directory of a project.
pub(crate) struct Memory {
    pub(super) directory: PathBuf,
    /// Every file of the memory is reached through it: somebody else may have made them.
    pub(super) anchor: Anchor,
}

impl Memory {
    /// The memory in this directory of the project at `root`, or outside of it.
    pub(crate) fn at(root: &Path, directory: PathBuf) -> Memory {
        Memory { anchor: Anchor::around(root, &directory), directory }
    }

    /// `layer1/YYYY-MM/<tag>-YYYY-MM-DD.md`
    pub(crate) fn note_path(&self, tag: &str, date: NaiveDate) -> PathBuf {
        let month = date.format("%Y-%m").to_string();
        self.directory.join("layer1").join(month).join(format!("{}-{date}.md", text::safe_file_name(tag)))
    }

    pub(crate) fn state_path(&self) -> PathBuf {
        self.directory.join("layer2").join("current-state.md")
    }

    /// `layer3/YYYY-MM-<tag>-archive.md`, with the tag as it appears in the names of day files.
    pub(super) fn archive_path(&self, month: Month, tag: &str) -> PathBuf {
        self.directory.join("layer3").join(format!("{month}-{tag}-archive.md"))
    }

    /// The current state; an error if its file has more than `limit` bytes.
    pub(crate) fn state_within(&self, limit: u64) -> Result<CurrentState> {
        match self.anchor.read_within(&self.state_path(), limit) {
            Ok(file) => Ok(CurrentState::parse(&file)),
            Err(error) if error.is_absent() => Ok(CurrentState::parse(b"")),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn state(&self) -> Result<CurrentState> {
        self.state_within(Anchor::LIMIT)
    }

    /// Adds a note to the file of its day, or replaces the block with the same key, so that writing it twice equals
    /// writing it once. Returns the file that holds the note.
    pub(crate) fn write_note(&self, tag: &str, date: NaiveDate, note: &Note) -> Result<PathBuf> {
        let path = self.note_path(tag, date);
        // An interrupted run may resume after its month was compacted.
        if self.is_archived(tag, date, note)? {
            return Ok(self.archive_path(Month::of(date), &text::safe_file_name(tag)));
        }
        let _lock = self.lock_for_writing(&path)?;
        let old = self.read_notes(&path)?.unwrap_or_else(|| header("layer1", date).into_bytes());
        self.remember_note(note);
        self.anchor.replace(&path, &note::replace_or_append(old, note))?;
        Ok(path)
    }

    /// Whether the file of its day has a note with the key of this one, or the archive of its month has this note.
    pub(crate) fn has_note(&self, tag: &str, date: NaiveDate, note: &Note) -> Result<bool> {
        let file = self.read_notes(&self.note_path(tag, date))?.unwrap_or_default();
        Ok(note::find(&file, note).is_some() || self.is_archived(tag, date, note)?)
    }

    /// Whether the archive of its month holds this note.
    fn is_archived(&self, tag: &str, date: NaiveDate, note: &Note) -> Result<bool> {
        let path = self.archive_path(Month::of(date), &text::safe_file_name(tag));
        let Some(file) = self.read_notes(&path)? else { return Ok(false) };
        Ok(archive::parse(&file).iter().any(|entry| entry.note().as_ref() == Some(note)))
    }

    /// Whether a note of that day has exactly this text. The free text of the current state is mostly the note of the
    /// session that wrote it.
    pub(crate) fn is_noted(&self, tag: &str, date: Option<NaiveDate>, text: &str) -> Result<bool> {
        let Some(date) = date else { return Ok(false) };
        let file = self.read_notes(&self.note_path(tag, date))?.unwrap_or_default();
        let text = state::tidy(text);
        let shown = text::before_cut(&text);
        // A long text is shown in part, and its note has all of it.
        let is_same = |content: &[u8]| match shown {
            Some(shown) if content.len() > text.len() => content.starts_with(shown.as_bytes()),
            // Nothing but white space and line ends may differ, so a much longer note is another one.
            _ => content.len() <= text.len() * 2 + 1024 && state::readable(content) == text,
        };
        let is_note = |span| matches!(span, Span::Note(range) if is_same(&note::content(&file[range.clone()])));
        Ok(note::spans(&file).into_iter().any(is_note))
    }

    /// Whether a note of that day has exactly this content.
    pub(crate) fn holds_text(&self, tag: &str, date: NaiveDate, text: &str) -> Result<bool> {
        let file = self.read_notes(&self.note_path(tag, date))?.unwrap_or_default();
        let is_note =
            |span| matches!(span, Span::Note(range) if note::content(&file[range.clone()]) == text.as_bytes());
        Ok(note::spans(&file).into_iter().any(is_note))
    }

    /// The content of a file of notes or an archive, which may hold several notes of the largest size; `None` if there is
    /// no such file.
    pub(super) fn read_notes(&self, path: &Path) -> Result<Option<Vec<u8>>, FileError> {
        match self.anchor.read_within(path, MOST_NOTES) {
            Err(error) if error.is_absent() => Ok(None),
            read => read.map(Some),
        }
    }

    /// Locks the memory, because several projects may share one, and makes the directory of this file. Removes
    /// temporaries that a killed writer left there.
    pub(super) fn lock_for_writing(&self, path: &Path) -> Result<DirectoryLock> {
        self.anchor.require_regular(path)?;
        self.lock_directory_for(path.parent())
    }

    /// Like [`Memory::lock_for_writing`], for the archives of all months.
    pub(super) fn lock_archives(&self) -> Result<DirectoryLock> {
        self.lock_directory_for(Some(&self.directory.join("layer3")))
    }

    fn lock_directory_for(&self, directory: Option<&Path>) -> Result<DirectoryLock> {
        let is_new = !self.anchor.is_taken(&self.directory);
        self.anchor.create_directories(&self.directory)?;
        if is_new {
            own_record::mark_created(&self.directory);
        }
        let lock = self.anchor.lock_directory(&self.directory)?;
        let Some(directory) = directory else { return Ok(lock) };
        // Only under the lock: a compaction removes the directory of a month when it is empty.
        self.anchor.create_directories(directory)?;
        self.anchor.sweep_temporaries(directory, Depth::Directory)?;
        Ok(lock)
    }

    /// Removes temporaries that killed writers left anywhere in the memory.
    pub(crate) fn sweep(&self) -> Result<()> {
        if self.anchor.about(&self.directory)?.is_none() {
            return Ok(());
        }
        let _lock = self.anchor.lock_directory(&self.directory)?;
        Ok(self.anchor.sweep_temporaries(&self.directory, Depth::Tree)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A compaction removes the directory of an empty month, also while a note for that month waits.
    #[test]
    fn the_directory_of_a_month_is_made_only_under_the_lock() {
        let place = crate::base::scratch::directory();
        let month = place.path().join("layer1/2026-11");
        std::fs::create_dir_all(&month).unwrap();
        let lock = crate::base::fs::lock_directory(place.path()).unwrap();
        std::fs::remove_dir(&month).unwrap();
        std::thread::scope(|scope| {
            let memory = Memory::at(place.path(), place.path().to_path_buf());
            let writer = scope.spawn(move || {
                let note = note::read(b"<!-- note run=A step=note at=2026-11-15T10:00:00Z -->\na\n<!-- /note -->\n");
                memory.write_note("t", "2026-11-15".parse().unwrap(), &note.unwrap())
            });
            std::thread::sleep(std::time::Duration::from_millis(100));
            assert!(!month.exists(), "made without the lock");
            drop(lock);
            writer.join().unwrap().unwrap();
        });
        assert!(month.join("t-2026-11-15.md").exists());
    }
}
