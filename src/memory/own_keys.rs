//! What identifies items, notes and texts in the user's own record: the run that wrote them, or their content.

use std::path::Path;

use chrono::NaiveDate;

use super::archive::{self, ArchiveEntry};
use super::listing::ListedNote;
use super::merge::{archive_of, notes_of};
use super::state::{CurrentState, Item, readable};
use super::{Memory, listing};
use crate::error::Result;
use crate::guard::own_record::OwnKey;

/// One piece of a memory file.
pub(crate) struct MemoryPiece {
    pub key: OwnKey,
    /// Somebody said it. `false` for our own record of how the current state changed.
    pub is_statement: bool,
}

pub(crate) fn of_item(item: &Item) -> OwnKey {
    OwnKey::of_run(&item.run).unwrap_or_else(|| OwnKey::of_text("item", "", item.text.as_bytes()))
}

pub(crate) fn of_note(note: &ListedNote) -> OwnKey {
    of_entry(&note.run, &note.at, note.text.as_bytes())
}

/// The key of a free text of the current state that was written on this day.
pub(crate) fn of_text(date: Option<NaiveDate>, text: &[u8]) -> OwnKey {
    let date = date.map(|date| date.to_string()).unwrap_or_default();
    OwnKey::of_text("text", &date, readable(text).as_bytes())
}

/// The key of the free text; `None` if it is blank.
pub(crate) fn of_state_text(state: &CurrentState) -> Option<OwnKey> {
    let text = state.text();
    (!text.trim_ascii().is_empty()).then(|| of_text(state.date(), &text))
}

fn of_entry(run: &str, at: &str, content: &[u8]) -> OwnKey {
    OwnKey::of_run(run).unwrap_or_else(|| OwnKey::of_text("note", at, content))
}

/// The pieces of a file; `path` is relative to the memory directory.
pub(crate) fn pieces(path: &Path, file: &[u8]) -> Vec<MemoryPiece> {
    if archive_of(path).is_some() {
        return archive::parse(file).iter().map(of_archive_entry).collect();
    }
    if let Some((_, day)) = notes_of(path) {
        return archive::of_notes(file, day).iter().map(of_archive_entry).collect();
    }
    if path == Path::new("layer2/current-state.md") {
        let state = CurrentState::parse(file);
        let keys = state.items().map(|(_, item)| of_item(item)).chain(of_state_text(&state));
        return keys.map(|key| MemoryPiece { key, is_statement: true }).collect();
    }
    Vec::new()
}

fn of_archive_entry(entry: &ArchiveEntry<'_>) -> MemoryPiece {
    let run = entry.note().map(|note| note.run).unwrap_or_default();
    // As a listing shows it, because that is where the key is asked for.
    let content = String::from_utf8_lossy(&entry.content()).into_owned();
    MemoryPiece { key: of_entry(&run, &entry.time, content.as_bytes()), is_statement: !entry.records_changes() }
}

impl Memory {
    /// The pieces of every layer. A file that cannot be read is left out: its text then counts as having come along.
    pub(crate) fn pieces(&self) -> Result<Vec<MemoryPiece>> {
        let state = self.state_path();
        let mut all = match self.anchor.read_if_exists(&state)? {
            Some(file) => pieces(Path::new("layer2/current-state.md"), &file),
            None => Vec::new(),
        };
        for layer in [1, 3] {
            listing::notes(self, layer, None, &mut |note| {
                all.push(MemoryPiece { key: of_note(&note), is_statement: !note.records_changes });
            })?;
        }
        Ok(all)
    }
}
