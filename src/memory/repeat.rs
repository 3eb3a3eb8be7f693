//! Edits that a killed process may have applied already: doing them again must neither double nor undo anything.
//!
//! A change is recorded in layer 1 before the current state is replaced, and the state is replaced as a whole. So there are
//! three cases after a kill:
//!
//! | layer 1 has the changes of this run | the state | the edits |
//! |---|---|---|
//! | no | as it was | are not applied |
//! | yes | as it was: its digest is the recorded one | are not applied |
//! | yes | has changed | are applied if the state shows a trace of any of them |

use super::state::{CurrentState, Tombstone};
use super::update::change_notes;
use super::{Author, ChangeVerb, Edits, Memory, StateChange, change, marker_time};
use crate::base::{clock, fs};
use crate::error::Result;

impl Memory {
    /// Whether the edits of this run and step are in the current state, or were until somebody changed their items again.
    pub(super) fn is_applied(&self, author: &Author<'_>, state: &CurrentState, digest: &str) -> Result<bool> {
        let notes = fs::read_if_exists(&self.note_path(author.tag, author.at.date_naive()))?.unwrap_or_default();
        let own = change_notes(&notes).into_iter().find(|note| note.run == author.run && note.step == author.step);
        let Some(own) = own.filter(|note| note.changes != digest) else { return Ok(false) };
        let at = marker_time(&author.at);
        Ok(change::parse(&own.content).iter().any(|change| shows(state, change, author.run, &at)))
    }
}

/// Whether the state shows that this change was made by `run` at the time `at`.
fn shows(state: &CurrentState, change: &StateChange, run: &str, at: &str) -> bool {
    state.sections.iter().filter(|section| section.category == change.category).any(|section| {
        let is_buried = section.tombstones().any(|gone| gone.id == change.id && gone.at.as_str() >= at);
        match change.verb {
            ChangeVerb::Added => is_buried || section.items().any(|item| item.id == change.id && item.run == run),
            ChangeVerb::Done | ChangeVerb::Deleted => is_buried,
            ChangeVerb::Cleared => section.cleared.as_str() >= at,
            ChangeVerb::Dropped | ChangeVerb::Replaced => false,
        }
    })
}

/// Leaves out items that were deleted or done after `at`, when they were stated. `counts` says whether a removal is this
/// user's own. One with a time in the future says nothing about what came first: the words are kept.
pub(super) fn leave_out_deleted(
    edits: &mut Edits,
    state: &CurrentState,
    at: &str,
    counts: impl Fn(&str, &Tombstone) -> bool,
) {
    let now = marker_time(&clock::now());
    let is_deleted = |category: &str, text: &str| {
        let is_later = |gone: &Tombstone| gone.at.as_str() > at && gone.at <= now;
        state.removals_of(category, text).any(|gone| is_later(gone) && counts(category, gone))
    };
    for (category, texts) in &mut edits.record {
        texts.retain(|text| !is_deleted(category, text));
    }
    edits.add.retain(|added| !is_deleted(&added.category, &added.text));
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::config::category::Categories;
    use crate::memory::Added;

    fn author<'a>(run: &'a str, at: &str) -> Author<'a> {
        let at = DateTime::parse_from_rfc3339(at).unwrap();
        Author { run, step: "add", at, agent: "", tag: "t", commit: "", branch: "", is_late: false }
    }

    fn add(text: &str) -> Edits {
        Edits { add: vec![Added::new("decision", text)], ..Edits::default() }
    }

    fn texts(memory: &Memory) -> Vec<String> {
        memory.state().unwrap().items().map(|(_, item)| item.text.clone()).collect()
    }

    fn id(memory: &Memory, text: &str) -> String {
        memory.state().unwrap().items().find(|(_, item)| item.text == text).unwrap().1.id.clone()
    }

    #[test]
    fn a_repetition_does_not_bring_a_deleted_item_back() {
        // In the same second, and later.
        for later in ["2026-11-15T10:00:00Z", "2026-11-15T10:00:09Z"] {
            let place = crate::base::scratch::directory();
            let memory = Memory::at(place.path(), place.path().to_path_buf());
            let first = author("A", "2026-11-15T10:00:00Z");
            memory.update_once(&first, &Categories::default(), &add("x"), "").unwrap();
            let gone = Edits { delete: vec![id(&memory, "x")], ..Edits::default() };
            memory.update_now(&author("B", later), &Categories::default(), &gone).unwrap();
            assert_eq!(memory.update_once(&first, &Categories::default(), &add("x"), "").unwrap(), []);
            assert_eq!(texts(&memory), [""; 0], "{later}");
        }
    }

    #[test]
    fn a_late_deletion_spares_what_was_stated_after_it() {
        let place = crate::base::scratch::directory();
        let memory = Memory::at(place.path(), place.path().to_path_buf());
        memory.update_now(&author("A", "2026-11-15T10:00:00Z"), &Categories::default(), &add("x")).unwrap();
        let gone = Edits { delete: vec![id(&memory, "x")], clear: vec!["decision".to_owned()], ..Edits::default() };
        memory.update_now(&author("B", "2026-11-15T10:00:09Z"), &Categories::default(), &add("x")).unwrap();
        memory.update_once(&author("C", "2026-11-15T10:00:05Z"), &Categories::default(), &gone, "").unwrap();
        assert_eq!(texts(&memory), ["x"]);
    }

    #[test]
    fn within_one_second_a_late_deletion_spares_what_was_stated_after_it() {
        // Their times, in milliseconds, are 1, 2 and 3.
        let [first, deleter, again] = ["1", "2", "3"].map(|time| format!("000000000{time}0000000000000000"));
        let at = "2026-11-15T10:00:00Z";
        for is_again in [true, false] {
            let place = crate::base::scratch::directory();
            let memory = Memory::at(place.path(), place.path().to_path_buf());
            memory.update_now(&author(&first, at), &Categories::default(), &add("x")).unwrap();
            let gone = Edits { delete: vec![id(&memory, "x")], clear: vec!["decision".to_owned()], ..Edits::default() };
            if is_again {
                memory.update_now(&author(&again, at), &Categories::default(), &add("x")).unwrap();
            }
            memory.update_once(&author(&deleter, at), &Categories::default(), &gone, "").unwrap();
            assert_eq!(texts(&memory).len(), usize::from(is_again));
        }
    }

    #[test]
    fn a_deletion_and_the_same_item_again_in_one_second_are_done_in_order() {
        let place = crate::base::scratch::directory();
        let memory = Memory::at(place.path(), place.path().to_path_buf());
        let at = "2026-11-15T10:00:00Z";
        memory.update_now(&author("A", at), &Categories::default(), &add("x")).unwrap();
        let gone = Edits { delete: vec![id(&memory, "x")], ..Edits::default() };
        for _ in 0..2 {
            memory.update_once(&author("B", at), &Categories::default(), &gone, "").unwrap();
        }
        for _ in 0..2 {
            memory.update_once(&author("C", at), &Categories::default(), &add("x"), "").unwrap();
        }
        assert_eq!(texts(&memory), ["x"]);
    }
}
