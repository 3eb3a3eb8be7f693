//! The three layers of plain Markdown: session notes, the current state, and the monthly archive.

pub mod archive;
pub mod capture;
mod change;
pub mod compact;
pub mod listing;
mod marker;
mod merge;
pub mod note;
mod rollup;
pub mod state;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use chrono::{DateTime, FixedOffset, NaiveDate};

pub use change::{ChangeVerb, StateChange};

use crate::base::fs::{self, Depth, DirectoryLock};
use crate::base::{clock, text};
use crate::config::category::Categories;
use crate::error::{Error, Result};
use archive::Month;
use note::{Note, Piece};
use state::{CurrentState, Stamp};

/// The first line of every memory file; the Python tool writes the same.
pub fn header(layer: &str, date: NaiveDate) -> String {
    format!("<!-- agent-handover | {layer} | {date} -->\n")
}

/// A time as it stands in markers.
pub fn stamp(at: &DateTime<FixedOffset>) -> String {
    at.to_utc().format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The memory directory of a project.
pub struct Memory {
    directory: PathBuf,
}

/// Who changes the current state, when and in which part of the notes that is told.
pub struct Author<'a> {
    pub run: &'a str,
    pub step: &'a str,
    pub at: DateTime<FixedOffset>,
    pub agent: &'a str,
    pub tag: &'a str,
    pub commit: &'a str,
    /// A younger run has done this since: its free text counts.
    pub is_late: bool,
}

/// What shall become of the current state; all of it or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// The free text.
    pub text: Option<String>,
    /// Categories to empty.
    pub clear: Vec<String>,
    /// What categories shall take, as their mode says.
    pub put: Vec<(String, Vec<String>)>,
    /// One item more for a category.
    pub add: Vec<(String, String)>,
    /// Ids of items that are done.
    pub done: Vec<String>,
    /// Ids of items that shall go.
    pub delete: Vec<String>,
}

impl Edits {
    /// Nothing said about a category is no edit.
    pub fn put(&mut self, category: &str, texts: Vec<String>) {
        if !texts.is_empty() {
            self.put.push((category.to_owned(), texts));
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Edits::default()
    }
}

impl Memory {
    pub fn at(directory: PathBuf) -> Memory {
        Memory { directory }
    }

    /// `layer1/YYYY-MM/<tag>-YYYY-MM-DD.md`
    pub fn note_path(&self, tag: &str, date: NaiveDate) -> PathBuf {
        let month = date.format("%Y-%m").to_string();
        self.directory.join("layer1").join(month).join(format!("{}-{date}.md", text::safe_file_name(tag)))
    }

    pub fn state_path(&self) -> PathBuf {
        self.directory.join("layer2").join("current-state.md")
    }

    /// Adds a note to its day, or replaces the block with the same key. Twice equals once.
    pub fn put_note(&self, tag: &str, date: NaiveDate, note: &Note) -> Result<PathBuf> {
        let path = self.note_path(tag, date);
        // A run that was interrupted may come back after its month was compacted.
        if self.is_archived(tag, date, note)? {
            return Ok(self.archive_path(Month::of(date), &text::safe_file_name(tag)));
        }
        let _alone = self.make_way(&path)?;
        let old = fs::read_if_exists(&path)?.unwrap_or_else(|| header("layer1", date).into_bytes());
        fs::replace(&path, &note::put(&old, note))?;
        Ok(path)
    }

    pub fn state(&self) -> Result<CurrentState> {
        Ok(CurrentState::parse(&fs::read_if_exists(&self.state_path())?.unwrap_or_default()))
    }

    /// Takes in what is said now: it counts, whatever clocks say.
    pub fn say(&self, author: &Author<'_>, categories: &Categories, edits: &Edits) -> Result<Vec<StateChange>> {
        self.change(author, categories, edits, true)
    }

    /// Takes in what a session said when it ended, which may be older than what is there.
    pub fn update(&self, author: &Author<'_>, categories: &Categories, edits: &Edits) -> Result<Vec<StateChange>> {
        self.change(author, categories, edits, false)
    }

    /// Changes the current state. What enters or leaves it is told in layer 1 first, so that it is always in one of
    /// both; whoever was killed in between and comes again finds it told.
    fn change(
        &self,
        author: &Author<'_>,
        categories: &Categories,
        edits: &Edits,
        is_said_now: bool,
    ) -> Result<Vec<StateChange>> {
        let path = self.state_path();
        let _alone = self.make_way(&path)?;
        let old = fs::read_if_exists(&path)?;
        let mut state =
            CurrentState::parse(old.as_deref().unwrap_or(header("layer2", author.at.date_naive()).as_bytes()));
        // Time never goes back: what is there from the future is not newer than what is said now.
        let is_ahead = !author.is_late && state.newest() > stamp(&clock::now()).as_str();
        let by = by(author, if is_said_now || is_ahead { state.newest() } else { "" });
        // What people wrote by hand is newer than all that they saw there.
        let mut told = state.adopt(&self::by(author, state.newest()));
        let changes = self.apply(&mut state, author, &by, categories, edits)?;
        told.extend(changes.iter().cloned());
        let new = state.write();
        self.tell(author, &told, &text::digest(old.as_deref().unwrap_or_default(), 5))?;
        let says_something = old.is_some() || !changes.is_empty() || edits.text.is_some();
        if says_something && old.as_deref() != Some(&new) {
            fs::replace(&path, &new)?;
        }
        Ok(changes)
    }

    fn apply(
        &self,
        state: &mut CurrentState,
        author: &Author<'_>,
        by: &Stamp,
        categories: &Categories,
        edits: &Edits,
    ) -> Result<Vec<StateChange>> {
        let mut changes = Vec::new();
        if let Some(text) = &edits.text {
            let today = author.at.date_naive();
            let (was, replaced) = if author.is_late {
                (Some(today), state::replaced_text(text.as_bytes()))
            } else {
                (state.date(), state.set_text(today, text.as_bytes()))
            };
            if let Some(change) = replaced
                && !self.is_noted(author.tag, was, &change.text)?
            {
                changes.push(change);
            }
        }
        for category in &edits.clear {
            changes.extend(state.clear(category, by));
        }
        for (category, texts) in &edits.put {
            changes.extend(state.record(&categories.get(category), texts, by));
        }
        for (category, text) in &edits.add {
            changes.extend(state.add(&categories.get(category), text, by));
        }
        for (ids, verb) in [(&edits.done, ChangeVerb::Done), (&edits.delete, ChangeVerb::Deleted)] {
            for id in ids {
                changes.extend(state.remove(id, verb, by));
            }
        }
        Ok(changes)
    }

    /// Whether a note of that day says just this. Most free text is the note of the session that wrote it.
    pub fn is_noted(&self, tag: &str, date: Option<NaiveDate>, text: &str) -> Result<bool> {
        let Some(date) = date else { return Ok(false) };
        let file = fs::read_if_exists(&self.note_path(tag, date))?.unwrap_or_default();
        let text = state::tidy(text);
        Ok(note::parse(&file).iter().any(|piece| match piece {
            Piece::Note { note, .. } => state::readable(&note.content) == text,
            Piece::Foreign(_) => false,
        }))
    }

    /// Tells changes in the notes of the day, beside what the same run and step told before.
    fn tell(&self, author: &Author<'_>, changes: &[StateChange], was: &str) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let date = author.at.date_naive();
        let path = self.note_path(author.tag, date);
        if let Some(directory) = path.parent() {
            fs::refuse_symlinks(&self.directory, &path)?;
            fs::create_directories(directory)?;
            fs::sweep_temporaries(directory, Depth::Directory)?;
        }
        let old = fs::read_if_exists(&path)?.unwrap_or_else(|| header("layer1", date).into_bytes());
        let told: Vec<Note> = note::parse(&old)
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Note { note, .. } if !note.changes.is_empty() => Some(note),
                _ => None,
            })
            .collect();
        let content = change::write(changes);
        // Told by somebody who was killed before the state itself could change.
        if told.iter().any(|note| note.changes == was && note.content == content) {
            return Ok(());
        }
        let before = told.into_iter().find(|note| note.run == author.run && note.step == author.step);
        let mut all = before.as_ref().map(|note| change::parse(&note.content)).unwrap_or_default();
        let mut known: HashSet<StateChange> = all.iter().cloned().collect();
        all.extend(changes.iter().filter(|change| known.insert((*change).clone())).cloned());
        let note = Note {
            run: author.run.to_owned(),
            step: author.step.to_owned(),
            at: stamp(&author.at),
            agent: author.agent.to_owned(),
            changes: before.map_or(was.to_owned(), |note| note.changes),
            content: change::write(&all),
        };
        fs::replace(&path, &note::put(&old, &note))
    }

    /// Makes the directories, and makes sure that nobody else writes here meanwhile: several projects may share one
    /// memory. What a killed writer left in this place goes.
    fn make_way(&self, path: &Path) -> Result<DirectoryLock> {
        fs::refuse_symlinks(&self.directory, path)?;
        if !self.directory.is_dir() {
            fs::create_directories(&self.directory)?;
        }
        let alone = fs::lock_directory(&self.directory)?;
        let Some(directory) = path.parent() else { return Ok(alone) };
        // Under the lock: a compaction takes the directory of a month away when it is empty.
        if !directory.is_dir() {
            fs::create_directories(directory)?;
        }
        fs::sweep_temporaries(directory, Depth::Directory)?;
        Ok(alone)
    }

    /// Removes what killed writers left anywhere.
    pub fn sweep(&self) -> Result<()> {
        if !self.directory.is_dir() {
            return Ok(());
        }
        let _alone = fs::lock_directory(&self.directory)?;
        fs::sweep_temporaries(&self.directory, Depth::Tree)
    }
}

/// Who says something to the current state, not before this time.
fn by(author: &Author<'_>, not_before: &str) -> Stamp {
    Stamp {
        at: stamp(&author.at).max(not_before.to_owned()),
        run: author.run.to_owned(),
        commit: author.commit.get(..12).unwrap_or(author.commit).to_owned(),
    }
}

/// What a note tells about the current state; nothing for any other note.
pub fn changes(note: &Note) -> Vec<StateChange> {
    if note.changes.is_empty() { Vec::new() } else { change::parse(&note.content) }
}

/// The one item that an id or its beginning means.
pub fn find<'s>(state: &'s CurrentState, id: &str) -> Result<(&'s str, &'s state::Item)> {
    let (shown, id) = (capture::shown(id), id.to_lowercase());
    let mut matching: Vec<_> = state.items().filter(|(_, item)| !id.is_empty() && item.id.starts_with(&id)).collect();
    // Sections that a merge doubled have the same item twice.
    let mut seen = HashSet::new();
    matching.retain(|(_, item)| seen.insert(&item.id));
    if let Some(exact) = matching.iter().position(|(_, item)| item.id == id) {
        return Ok(matching.swap_remove(exact));
    }
    match matching.as_slice() {
        [one] => Ok(*one),
        [] => Err(Error::failed(format!("no item has the id `{shown}`"))
            .hint("`agent-handover memory list` shows what there is")),
        several => {
            let ids: Vec<&str> = several.iter().map(|(_, item)| item.id.as_str()).collect();
            Err(Error::usage(format!("`{id}` is the beginning of several ids: {}", ids.join(", ")))
                .hint("give one more letter"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_by_hand_is_newer_than_what_it_stands_beside() {
        let place = tempfile::tempdir().unwrap();
        let memory = Memory::at(place.path().to_path_buf());
        std::fs::create_dir_all(place.path().join("layer2")).unwrap();
        let cleared = "2026-11-15T10:00:00Z";
        let file = format!("<!-- section name=goal cleared={cleared} -->\n- by hand\n<!-- /section -->\n");
        std::fs::write(memory.state_path(), file).unwrap();
        // A session that ended before the goal was emptied.
        let at = DateTime::parse_from_rfc3339("2026-11-14T10:00:00Z").unwrap();
        let late = Author { run: "R", step: "state", at, agent: "", tag: "t", commit: "", is_late: true };
        memory.update(&late, &Categories::default(), &Edits::default()).unwrap();
        let state = memory.state().unwrap();
        assert_eq!(state.items().map(|(_, item)| item.at.as_str()).collect::<Vec<_>>(), [cleared]);
    }

    /// A compaction takes the directory of an empty month away, also while a note for it waits.
    #[test]
    fn a_month_is_made_only_by_who_holds_the_memory() {
        let place = tempfile::tempdir().unwrap();
        let month = place.path().join("layer1/2026-11");
        std::fs::create_dir_all(&month).unwrap();
        let alone = fs::lock_directory(place.path()).unwrap();
        std::fs::remove_dir(&month).unwrap();
        std::thread::scope(|scope| {
            let memory = Memory::at(place.path().to_path_buf());
            let writer = scope.spawn(move || {
                let note = note::read(b"<!-- note run=A step=note at=2026-11-15T10:00:00Z -->\na\n<!-- /note -->\n");
                memory.put_note("t", "2026-11-15".parse().unwrap(), &note.unwrap())
            });
            std::thread::sleep(std::time::Duration::from_millis(100));
            assert!(!month.exists(), "made without the lock");
            drop(alone);
            writer.join().unwrap().unwrap();
        });
        assert!(month.join("t-2026-11-15.md").exists());
    }
}
