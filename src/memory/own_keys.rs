//! What identifies items, notes and texts in the user's own record: their content. The run that they name only says in which
//! month to look.

use std::path::Path;

use chrono::NaiveDate;

use super::archive::{self, ArchiveEntry};
use super::listing::ListedNote;
use super::merge::{archive_of, notes_of};
use super::note::Note;
use super::state::{CurrentState, Item, Tombstone, readable, tidy};
use super::{Author, ChangeVerb, Edits, Memory, StateChange, listing};
use crate::config::category::Categories;
use crate::error::Result;
use crate::git;
use crate::guard::own_record::{self, OwnDirectory, OwnKey, OwnRecord};

/// One piece of a memory file.
pub(crate) struct MemoryPiece {
    pub key: OwnKey,
    /// The run that it names; empty if it names none.
    pub run: String,
    /// Somebody said it. `false` for our own record of how the current state changed.
    pub is_statement: bool,
}

pub(crate) fn of_item(category: &str, item: &Item) -> OwnKey {
    of_statement(category, &item.run, &item.text)
}

fn of_statement(category: &str, run: &str, text: &str) -> OwnKey {
    OwnKey::of_said("item", run, "", format!("{category}\0{text}").as_bytes())
}

pub(crate) fn of_note(note: &ListedNote) -> OwnKey {
    of_entry(&note.run, &note.at, note.text.as_bytes())
}

/// The key of a note that is about to be written.
fn of_new_note(note: &Note) -> OwnKey {
    // As a listing shows it, because that is where the key is asked for.
    of_entry(&note.run, &note.at, String::from_utf8_lossy(&note.content).as_bytes())
}

/// The key of a free text of the current state that was written on this day.
pub(crate) fn of_text(date: Option<NaiveDate>, text: &[u8]) -> OwnKey {
    let date = date.map(|date| date.to_string()).unwrap_or_default();
    OwnKey::of_text("text", &date, readable(text).as_bytes())
}

/// The key of the statement that an item is done or deleted.
pub(crate) fn of_removal(category: &str, removed: &Tombstone) -> OwnKey {
    OwnKey::of_text("gone", &removed.at, format!("{category}\0{}", removed.id).as_bytes())
}

/// The key of the free text; `None` if it is blank.
pub(crate) fn of_state_text(state: &CurrentState) -> Option<OwnKey> {
    let text = state.text();
    (!text.trim_ascii().is_empty()).then(|| of_text(state.date(), &text))
}

fn of_entry(run: &str, at: &str, content: &[u8]) -> OwnKey {
    OwnKey::of_said("note", run, at, content)
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
        let items = state.items().map(|(category, item)| (of_item(category, item), item.run.clone()));
        let statements = items.chain(of_state_text(&state).map(|key| (key, String::new())));
        let statements = statements.map(|(key, run)| MemoryPiece { key, run, is_statement: true });
        let removals = state.removals().map(|(category, removed)| of_removal(category, removed));
        let removals = removals.map(|key| MemoryPiece { key, run: String::new(), is_statement: false });
        return statements.chain(removals).collect();
    }
    Vec::new()
}

fn of_archive_entry(entry: &ArchiveEntry<'_>) -> MemoryPiece {
    let run = entry.note().map(|note| note.run).unwrap_or_default();
    // As a listing shows it, because that is where the key is asked for.
    let content = String::from_utf8_lossy(&entry.content()).into_owned();
    let key = of_entry(&run, &entry.time, content.as_bytes());
    MemoryPiece { key, run, is_statement: !entry.records_changes() }
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
                let (key, is_statement) = (of_note(&note), !note.records_changes);
                all.push(MemoryPiece { key, run: note.run, is_statement });
            })?;
        }
        Ok(all)
    }

    /// Remembers a note as this user's own before it is written.
    pub(super) fn remember_note(&self, note: &Note) {
        own_record::remember_texts([of_new_note(note)]);
    }

    /// Remembers the items of these edits as this user's own before they are written.
    pub(super) fn remember_edits(&self, author: &Author<'_>, categories: &Categories, edits: &Edits) {
        let recorded = edits.record.iter().flat_map(|(category, texts)| texts.iter().map(move |text| (category, text)));
        let added = edits.add.iter().map(|added| (&added.category, &added.text));
        let keys = recorded
            .chain(added)
            .map(|(category, text)| of_statement(&categories.get(category).name, author.run, &tidy(text)));
        own_record::remember_texts(keys);
    }

    /// Remembers the removals among these changes, which were stated at the time `at`, as this user's own.
    pub(super) fn remember_removals(&self, changes: &[StateChange], at: &str) {
        let is_removal = |change: &&StateChange| matches!(change.verb, ChangeVerb::Done | ChangeVerb::Deleted);
        let key = |StateChange { category, id, .. }: &StateChange| {
            of_removal(category, &Tombstone { id: id.clone(), at: at.to_owned() })
        };
        own_record::remember_texts(changes.iter().filter(is_removal).map(key));
    }

    /// The current state for what this user says next. Removals that came along are left out: a stranger withdraws nothing
    /// that we say.
    pub(crate) fn state_for_saying(&self) -> Result<CurrentState> {
        let mut state = self.state()?;
        state.keep_removals(self.own_removals());
        Ok(state)
    }

    /// Answers whether this user removed an item. What a stranger removes stays said by us.
    pub(super) fn own_removals(&self) -> impl Fn(&str, &Tombstone) -> bool {
        let (record, directory) = (OwnRecord::open(), OwnDirectory::of(&self.directory, git::may_track));
        move |category, removed| record.owns(&directory, &of_removal(category, removed), "")
    }

    /// Whether these changes quote only text of this user. `before` are the states that they change: text that came along
    /// does not become this user's own because a run of ours records that it left.
    pub(super) fn owns_changes(&self, changes: &[StateChange], before: &[CurrentState]) -> bool {
        let (record, directory) = (OwnRecord::open(), OwnDirectory::of(&self.directory, git::may_track));
        let is_strange = |state: &CurrentState, change: &StateChange| {
            let is_item = |(category, item): &(&str, &Item)| *category == change.category && item.text == change.text;
            let owns_item =
                |(category, item): (&str, &Item)| record.owns(&directory, &of_item(category, item), &item.run);
            let is_text = change.verb == ChangeVerb::Replaced && readable(&state.text()) == change.text;
            let text = of_state_text(state).filter(|_| is_text);
            !state.items().filter(is_item).all(owns_item) || text.is_some_and(|key| !record.owns(&directory, &key, ""))
        };
        changes.iter().all(|change| !before.iter().any(|state| is_strange(state, change)))
    }

    /// Whether this note is on record as this user's own.
    pub(super) fn owns_new_note(&self, note: &Note) -> bool {
        OwnRecord::open().owns(&OwnDirectory::of(&self.directory, git::may_track), &of_new_note(note), &note.run)
    }
}
