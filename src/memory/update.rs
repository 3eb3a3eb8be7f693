//! Changes to the current state. Whatever enters or leaves it is recorded in layer 1 first.

use std::collections::HashSet;

use chrono::{DateTime, FixedOffset};
use serde::{Deserialize, Serialize};

use super::note::{self, Note, Span};
use super::state::{self, CurrentState, Stamp};
use super::{ChangeVerb, Memory, StateChange, change, header, marker_time, repeat};
use crate::base::fs::Depth;
use crate::base::{clock, ids, text};
use crate::config::category::Categories;
use crate::error::Result;

/// Who changes the current state and when, and the tag of the notes in which the change is recorded.
pub(crate) struct Author<'a> {
    pub run: &'a str,
    pub step: &'a str,
    pub at: DateTime<FixedOffset>,
    pub agent: &'a str,
    pub tag: &'a str,
    pub commit: &'a str,
    /// The branch that is checked out; empty if it is unknown.
    pub branch: &'a str,
    /// A newer run has already written its free text, which stays.
    pub is_late: bool,
}

/// Changes to the current state. All of them are made, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Edits {
    /// The new free text.
    pub text: Option<String>,
    /// Categories to empty.
    pub clear: Vec<String>,
    /// Items for categories, which replace or join as the mode of the category says.
    pub record: Vec<(String, Vec<String>)>,
    /// One more item for a category.
    pub add: Vec<Added>,
    /// Decisions that a person made in the talk.
    #[serde(default)]
    pub rulings: Vec<String>,
    /// Ids of items that are done.
    pub done: Vec<String>,
    /// Ids of items to delete.
    pub delete: Vec<String>,
}

/// One more item for a category. A recorded one may be a list of the category and the text, as 0.1.0 wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Added {
    pub category: String,
    pub text: String,
    /// Where it comes from, if not from a session; a name as in a marker.
    #[serde(default)]
    pub source: String,
}

impl Added {
    /// An item that a session states.
    pub(crate) fn new(category: &str, text: impl Into<String>) -> Added {
        Added { category: category.to_owned(), text: text.into(), source: String::new() }
    }
}

impl Edits {
    /// Records items in a category. An empty list is not an edit.
    pub(crate) fn record(&mut self, category: &str, texts: Vec<String>) {
        if !texts.is_empty() {
            self.record.push((category.to_owned(), texts));
        }
    }
}

/// When the edits were stated, relative to what the current state holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stated<'a> {
    /// Just now: the edits are newer than everything in the file, even if its times lie in the future.
    Now,
    /// At the author's time, which may be before other changes.
    AtItsTime,
    /// Like `AtItsTime`, but not before this time, and perhaps applied already by a process that was killed afterwards.
    Once { not_before: &'a str },
}

impl Memory {
    /// Applies edits that are stated now. They count as the newest, whatever the clocks say.
    pub(crate) fn update_now(
        &self,
        author: &Author<'_>,
        categories: &Categories,
        edits: &Edits,
    ) -> Result<Vec<StateChange>> {
        self.change_state(author, categories, edits, Stated::Now)
    }

    /// Applies edits that a session stated when it ended, possibly before other changes.
    pub(crate) fn update(
        &self,
        author: &Author<'_>,
        categories: &Categories,
        edits: &Edits,
    ) -> Result<Vec<StateChange>> {
        self.change_state(author, categories, edits, Stated::AtItsTime)
    }

    /// Applies edits that were stated at the author's time, unless the same run and step applied them already. What was
    /// stated since then wins: an item that was deleted later does not come back. `newest_before` is the latest time in the
    /// state when they were stated, if that is known: they are newer, whatever the clocks say.
    pub(crate) fn update_once(
        &self,
        author: &Author<'_>,
        categories: &Categories,
        edits: &Edits,
        newest_before: &str,
    ) -> Result<Vec<StateChange>> {
        self.change_state(author, categories, edits, Stated::Once { not_before: newest_before })
    }

    /// Changes the current state. Layer 1 is written first, so that each item is always in one of the two layers; a
    /// repetition after a kill finds the changes already recorded.
    fn change_state(
        &self,
        author: &Author<'_>,
        categories: &Categories,
        edits: &Edits,
        stated: Stated<'_>,
    ) -> Result<Vec<StateChange>> {
        let path = self.state_path();
        let _lock = self.lock_for_writing(&path)?;
        let old = self.anchor.read_if_exists(&path)?;
        let empty = header("layer2", author.at.date_naive());
        let mut state = CurrentState::parse(old.as_deref().unwrap_or(empty.as_bytes()));
        let before = text::digest(old.as_deref().unwrap_or_default(), 5);
        let mut edits = edits.clone();
        let mut not_before = "";
        if let Stated::Once { not_before: newest } = stated {
            not_before = newest;
            if self.is_applied(author, &state, &before)? {
                return Ok(Vec::new());
            }
            repeat::leave_out_deleted(&mut edits, &state, &marker_time(&author.at), self.own_removals());
        }
        let edits = &edits;
        // Time never goes back: an item with a time in the future is not newer than one that is stated now.
        let is_ahead = !author.is_late && state.newest() > marker_time(&clock::now()).as_str();
        let is_newest = stated == Stated::Now || is_ahead;
        let mut stamp = author.stamp(if is_newest { state.newest() } else { not_before });
        // Among items of the same second, those of a later run are newer. A time of another clock does not say that.
        let is_own_time = !is_newest && stamp.at == marker_time(&author.at);
        stamp.moment = if is_own_time { ids::time_of_run_id(author.run) } else { None };
        // Whoever wrote by hand saw everything that was in the file, so that text is newer.
        let mut recorded = state.adopt(&author.stamp(state.newest()));
        let changes = self.apply(&mut state, author, &stamp, categories, edits)?;
        recorded.extend(changes.iter().cloned());
        let new = state.write();
        let held = [CurrentState::parse(old.as_deref().unwrap_or_default())];
        let is_ours = self.owns_changes(&recorded, &held);
        self.remember_edits(author, categories, edits);
        self.remember_removals(&changes, &stamp.at);
        self.record_changes(author, &recorded, &before, is_ours)?;
        let has_content = old.is_some() || !changes.is_empty() || edits.text.is_some();
        if has_content && old.as_deref() != Some(&new) {
            self.anchor.replace(&path, &new)?;
        }
        Ok(changes)
    }

    fn apply(
        &self,
        state: &mut CurrentState,
        author: &Author<'_>,
        stamp: &Stamp,
        categories: &Categories,
        edits: &Edits,
    ) -> Result<Vec<StateChange>> {
        let mut changes = Vec::new();
        if let Some(text) = &edits.text {
            changes.extend(self.apply_text(state, author, text)?);
        }
        for category in &edits.clear {
            changes.extend(state.clear(category, stamp));
        }
        for (category, texts) in &edits.record {
            changes.extend(state.record(&categories.get(category), texts, stamp));
        }
        for Added { category, text, source } in &edits.add {
            let of_source = Stamp { by: source.clone(), ..stamp.clone() };
            changes.extend(state.add(&categories.get(category), text, &of_source));
        }
        let of_person = Stamp { by: state::BY_PERSON.to_owned(), ..stamp.clone() };
        for ruling in &edits.rulings {
            changes.extend(state.add(&categories.get("decision"), ruling, &of_person));
        }
        changes.extend(state.limit_size());
        for (ids, verb) in [(&edits.done, ChangeVerb::Done), (&edits.delete, ChangeVerb::Deleted)] {
            for id in ids {
                changes.extend(state.remove(id, verb, stamp));
            }
        }
        Ok(changes)
    }

    /// Replaces the free text; a late author's text is only recorded. Text that a note already holds is not recorded
    /// again.
    fn apply_text(&self, state: &mut CurrentState, author: &Author<'_>, text: &str) -> Result<Option<StateChange>> {
        let today = author.at.date_naive();
        let (written_on, replaced) = if author.is_late {
            (Some(today), state::replaced_text(text.as_bytes()))
        } else {
            (state.date(), state.set_text(today, text.as_bytes()))
        };
        match replaced {
            Some(change) if !self.is_noted(author.tag, written_on, &change.text)? => Ok(Some(change)),
            _ => Ok(None),
        }
    }

    /// Records changes in the notes of the day, in the block of the same run and step. `state_before` is the digest of
    /// the state that they change. The note is this user's own only if all text that it quotes `is_ours`.
    pub(super) fn record_changes(
        &self,
        author: &Author<'_>,
        changes: &[StateChange],
        state_before: &str,
        is_ours: bool,
    ) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let date = author.at.date_naive();
        let path = self.note_path(author.tag, date);
        if let Some(directory) = path.parent() {
            self.anchor.create_directories(directory)?;
            self.anchor.sweep_temporaries(directory, Depth::Directory)?;
        }
        let old = self.read_notes(&path)?.unwrap_or_else(|| header("layer1", date).into_bytes());
        let recorded = change_notes(&old);
        let content = change::write(changes);
        // Somebody recorded the same and was killed before the state itself could change.
        if recorded.iter().any(|note| note.changes == state_before && note.content == content) {
            return Ok(());
        }
        // The same for a part of them, such as an item that was written by hand.
        let is_of_others = |note: &&Note| note.changes == state_before && note.run != author.run;
        let mut known: HashSet<StateChange> =
            recorded.iter().filter(is_of_others).flat_map(|note| change::parse(&note.content)).collect();
        let own = recorded.into_iter().find(|note| note.run == author.run && note.step == author.step);
        let mut all = own.as_ref().map(|note| change::parse(&note.content)).unwrap_or_default();
        let is_ours = is_ours && own.as_ref().is_none_or(|note| self.owns_new_note(note));
        known.extend(all.iter().cloned());
        all.extend(changes.iter().filter(|change| known.insert((*change).clone())).cloned());
        if all.is_empty() {
            return Ok(());
        }
        let note = Note {
            run: author.run.to_owned(),
            step: author.step.to_owned(),
            at: marker_time(&author.at),
            agent: author.agent.to_owned(),
            changes: own.map_or(state_before.to_owned(), |note| note.changes),
            content: change::write(&all),
        };
        if is_ours {
            self.remember_note(&note);
        }
        Ok(self.anchor.replace(&path, &note::replace_or_append(old, &note))?)
    }
}

/// The notes of a day file that record changes.
pub(super) fn change_notes(file: &[u8]) -> Vec<Note> {
    let records_changes = |block: &&[u8]| note::attributes(block).is_some_and(|found| found.has("changes"));
    let blocks = note::spans(file).into_iter().filter_map(|span| match span {
        Span::Note(range) => Some(&file[range]),
        Span::Foreign(_) => None,
    });
    blocks.filter(records_changes).filter_map(note::read).filter(|note| !note.changes.is_empty()).collect()
}

impl Author<'_> {
    /// The stamp of this author's changes, not before a given time.
    pub(super) fn stamp(&self, not_before: &str) -> Stamp {
        Stamp {
            at: marker_time(&self.at).max(not_before.to_owned()),
            run: self.run.to_owned(),
            commit: self.commit.get(..12).unwrap_or(self.commit).to_owned(),
            moment: None,
            branch: self.branch.to_owned(),
            by: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another machine's clock is ahead. A command was killed, and it is finished when that time is over.
    #[test]
    fn what_was_stated_once_is_newer_than_what_was_there_whatever_the_clocks_say() {
        let place = crate::base::scratch::directory();
        let memory = Memory::at(place.path(), place.path().to_path_buf());
        let author = |step: &'static str, at: &str| Author {
            run: "01K00000000000000000000000",
            step,
            at: DateTime::parse_from_rfc3339(at).unwrap(),
            agent: "",
            tag: "t",
            commit: "",
            branch: "",
            is_late: false,
        };
        let add = Edits { add: vec![Added::new("open_loop", "x")], ..Edits::default() };
        let ahead = "2020-01-01T10:05:00Z";
        memory.update_now(&author("add", ahead), &Categories::default(), &add).unwrap();
        let id = memory.state().unwrap().items().map(|(_, item)| item.id.clone()).collect();
        let done = Edits { done: id, ..Edits::default() };
        memory.update_once(&author("done", "2020-01-01T10:00:00Z"), &Categories::default(), &done, ahead).unwrap();
        assert_eq!(memory.state().unwrap().items().count(), 0);
    }

    #[test]
    fn an_item_written_by_hand_is_newer_than_the_items_beside_it() {
        let place = crate::base::scratch::directory();
        let memory = Memory::at(place.path(), place.path().to_path_buf());
        std::fs::create_dir_all(place.path().join("layer2")).unwrap();
        let cleared = "2026-11-15T10:00:00Z";
        let file = format!("<!-- section name=goal cleared={cleared} -->\n- by hand\n<!-- /section -->\n");
        std::fs::write(memory.state_path(), file).unwrap();
        // A session that ended before the goal was emptied.
        let at = DateTime::parse_from_rfc3339("2026-11-14T10:00:00Z").unwrap();
        let late = Author { run: "R", step: "state", at, agent: "", tag: "t", commit: "", branch: "", is_late: true };
        memory.update(&late, &Categories::default(), &Edits::default()).unwrap();
        let state = memory.state().unwrap();
        assert_eq!(state.items().map(|(_, item)| item.at.as_str()).collect::<Vec<_>>(), [cleared]);
    }

    #[test]
    fn an_added_item_is_read_as_0_1_0_recorded_it() {
        let recorded = r#"{"text":null,"clear":[],"record":[],"add":[["goal","ship"]],"done":[],"delete":[]}"#;
        let edits: Edits = serde_json::from_str(recorded).unwrap();
        assert_eq!(edits, Edits { add: vec![Added::new("goal", "ship")], ..Edits::default() });
        let again: Edits = serde_json::from_str(&serde_json::to_string(&edits).unwrap()).unwrap();
        assert_eq!(again, edits);
    }
}
