//! Changes to the current state. Each returns what it added and removed, so that the caller can record it in layer 1.

use std::collections::HashSet;

use chrono::NaiveDate;

use super::current::{CurrentState, MARKERS};
use super::item::{Item, Stamp, Tombstone, item_id, readable, second_after, tidy};
use super::section::{CategorySection, SectionPart, rank};
use super::write;
use crate::config::category::{Category, Mode};
use crate::memory::change::{ChangeVerb, StateChange};
use crate::memory::{header, marker};

/// How large the items of the current state may be together, in bytes.
const MAX_SIZE: usize = 16 << 10;
/// How many decisions stay, however large the others are.
const LEAST_DECISIONS: usize = 10;

/// A change that reports this free text as replaced; `None` if the text is blank.
pub(in crate::memory) fn replaced_text(old: &[u8]) -> Option<StateChange> {
    let text = readable(old);
    let id = item_id("text", &text, 0);
    (!text.is_empty()).then(|| StateChange { verb: ChangeVerb::Replaced, category: "text".to_owned(), id, text })
}

impl CurrentState {
    /// Replaces the free text and nothing else. Reports the old text unless it was blank or the same.
    pub(crate) fn set_text(&mut self, date: NaiveDate, new: &[u8]) -> Option<StateChange> {
        let old = self.text();
        let mut text = header("layer2", date).into_bytes();
        text.extend_from_slice(&marker::escape(new, &MARKERS));
        if !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        for section in &mut self.sections {
            section.before = b"\n".to_vec();
        }
        match self.sections.first_mut() {
            Some(first) => {
                text.push(b'\n');
                first.before = text;
                self.rest.clear();
            }
            None => self.rest = text,
        }
        replaced_text(&old).filter(|change| change.text != readable(new))
    }

    /// Records items in a category as its mode says: they replace what is there, or join it.
    ///
    /// If the category was cleared after the time of `stamp`, the items come too late: they are reported as added and
    /// cleared, and the section does not change.
    pub(crate) fn record(&mut self, category: &Category, texts: &[String], stamp: &Stamp) -> Vec<StateChange> {
        let mut texts = distinct(texts);
        let name = category.name.as_str();
        if self.sections.iter().any(|section| section.category == name && section.cleared > stamp.at) {
            let known: HashSet<&str> =
                self.items().filter(|(of, _)| *of == name).map(|(_, item)| &*item.text).collect();
            texts.retain(|text| !known.contains(text.as_str()));
            return self.added_and(ChangeVerb::Cleared, name, &texts);
        }
        if texts.is_empty() {
            return Vec::new();
        }
        let mut changes = Vec::new();
        // If there are more items than the category keeps, the first ones win: they are all equally new.
        let beyond = texts.split_off(texts.len().min(category.keep));
        if category.mode == Mode::Clear {
            let section = self.section_mut(name);
            section.cleared = stamp.at.clone();
            section.rewrite_markers();
            let is_replaced = |item: &Item| stamp.follows(item) && !texts.contains(&item.text);
            changes.extend(section.remove(ChangeVerb::Cleared, is_replaced));
        }
        for text in &texts {
            changes.extend(self.insert_or_renew(name, text, stamp));
        }
        if category.mode == Mode::Clear {
            let place = |item: &Item| texts.iter().position(|text| *text == item.text).unwrap_or(usize::MAX);
            self.section_mut(name).sort_by(place);
        }
        changes.extend(self.added_and(ChangeVerb::Dropped, name, &beyond));
        changes.extend(self.section_mut(name).limit(category.keep));
        changes
    }

    /// Drops the oldest decisions while the items are larger together than an agent should have to read. Sessions add
    /// decisions without being asked, and layer 1 keeps them all.
    pub(crate) fn limit_size(&mut self) -> Vec<StateChange> {
        let mut changes = Vec::new();
        while self.sections.iter().map(CategorySection::size).sum::<usize>() > MAX_SIZE {
            let Some(decisions) = self.sections.iter_mut().find(|section| section.category == "decision") else {
                break;
            };
            let count = decisions.items().count();
            if count <= LEAST_DECISIONS {
                break;
            }
            changes.extend(decisions.limit(count - 1));
        }
        changes
    }

    /// Adds one item, whatever the mode of its category.
    pub(crate) fn add(&mut self, category: &Category, text: &str, stamp: &Stamp) -> Vec<StateChange> {
        self.record(&Category { mode: Mode::Append, ..category.clone() }, &[text.to_owned()], stamp)
    }

    /// Removes every item of a category that was stated until then.
    pub(crate) fn clear(&mut self, category: &str, stamp: &Stamp) -> Vec<StateChange> {
        let section = self.section_mut(category);
        section.cleared = std::mem::take(&mut section.cleared).max(stamp.at.clone());
        section.rewrite_markers();
        section.remove(ChangeVerb::Cleared, |item| stamp.follows(item))
    }

    /// Removes one item and leaves a tombstone, unless the item was stated again since then.
    pub(crate) fn remove(&mut self, id: &str, verb: ChangeVerb, stamp: &Stamp) -> Vec<StateChange> {
        let mut changes = Vec::new();
        for section in &mut self.sections {
            let removed = section.remove(verb, |item| item.id == id && stamp.follows(item));
            if !removed.is_empty() {
                section.bury(Tombstone { id: id.to_owned(), at: stamp.at.clone() });
            }
            changes.extend(removed);
        }
        changes
    }

    /// Tidies up after people and other tools: joins several sections of one category, and gives each item that was
    /// written by hand a marker with an id of its own. The marker names no run, because no run said it: it may have come
    /// with the repository.
    pub(crate) fn adopt(&mut self, stamp: &Stamp) -> Vec<StateChange> {
        let mut changes = self.join_sections();
        let marked = self.items().filter(|(_, item)| !item.at.is_empty());
        let mut taken: HashSet<String> = marked.map(|(_, item)| item.id.clone()).collect();
        for section in &mut self.sections {
            for part in &mut section.parts {
                if let SectionPart::Item(item, bytes) = part
                    && item.at.is_empty()
                {
                    let others = (1..).map(|salt| item_id(&section.category, &item.text, salt));
                    let mut ids = std::iter::once(item.id.clone()).chain(others);
                    item.id = ids.find(|id| taken.insert(id.clone())).unwrap_or_default();
                    item.at.clone_from(&stamp.at);
                    item.commit.clone_from(&stamp.commit);
                    item.branch.clone_from(&stamp.branch);
                    *bytes = write::item(item);
                    changes.push(StateChange::of(ChangeVerb::Added, &section.category, item));
                }
            }
        }
        changes
    }

    /// Joins several sections of one category into the first of them. A merge by line leaves such copies.
    fn join_sections(&mut self) -> Vec<StateChange> {
        let mut changes = Vec::new();
        let mut at = 0;
        while at < self.sections.len() {
            let is_same = |section: &CategorySection| section.category == self.sections[at].category;
            match self.sections.iter().position(is_same) {
                Some(first) if first < at => {
                    let copy = self.sections.remove(at);
                    let after = self.sections.get_mut(at).map_or(&mut self.rest, |next| &mut next.before);
                    after.splice(..0, copy.before.iter().copied());
                    changes.extend(self.sections[first].absorb(copy));
                }
                _ => at += 1,
            }
        }
        changes
    }

    /// Replaces the items and tombstones of a section with the result of a merge. Text that people wrote into it stays,
    /// and `texts` from the other side join it.
    pub(in crate::memory) fn set_section(
        &mut self,
        category: &str,
        cleared: &str,
        items: Vec<Item>,
        tombstones: Vec<Tombstone>,
        texts: &[Vec<u8>],
    ) {
        let section = self.section_mut(category);
        section.cleared = cleared.to_owned();
        section.parts.retain(|part| matches!(part, SectionPart::Text(_)));
        section.parts.extend(texts.iter().cloned().map(SectionPart::Text));
        section.parts.extend(items.into_iter().map(SectionPart::of_item));
        section.rewrite_markers();
        for tombstone in tombstones {
            section.bury(tombstone);
        }
    }

    /// Inserts an item, or gives the one with the same text a new time. Reports only an item that is new.
    fn insert_or_renew(&mut self, category: &str, text: &str, stamp: &Stamp) -> Option<StateChange> {
        let known = self.items().find(|(of, item)| *of == category && item.text == text).map(|(_, item)| item.clone());
        let item = match &known {
            // A late session does not change when an item was last stated, and neither does a repetition in one run.
            Some(known) if known.at > stamp.at || known.at == stamp.at && known.run == stamp.run => return None,
            Some(known) => Item {
                since: if known.since.is_empty() { known.at.clone() } else { known.since.clone() },
                bytes: known.bytes.clone(),
                by: if stamp.by.is_empty() { known.by.clone() } else { stamp.by.clone() },
                ..Item::new(known.id.clone(), text, stamp)
            },
            None => self.new_item(category, text, stamp),
        };
        let change = StateChange::of(ChangeVerb::Added, category, &item);
        let section = self.section_mut(category);
        section.forget(&item.id);
        section.insert(item);
        known.is_none().then_some(change)
    }

    /// A new item. One that follows a tombstone of its own id is strictly later than the tombstone: every machine that
    /// still has the tombstone must see that the item was added again after it.
    fn new_item(&self, category: &str, text: &str, stamp: &Stamp) -> Item {
        let mut item = Item::new(self.free_id(category, text), text, stamp);
        let removals = self.removals().filter(|(of, removed)| *of == category && removed.id == item.id);
        if let Some(removed) = removals.map(|(_, removed)| &removed.at).max().filter(|removed| **removed >= item.at) {
            item.at = second_after(removed);
        }
        item
    }

    /// Reports texts that were added and left again at once; the section never held them.
    fn added_and(&self, verb: ChangeVerb, category: &str, texts: &[String]) -> Vec<StateChange> {
        let changes = texts.iter().flat_map(|text| {
            let id = self.free_id(category, text);
            let change = |verb| StateChange { verb, category: category.to_owned(), id: id.clone(), text: text.clone() };
            [change(ChangeVerb::Added), change(verb)]
        });
        changes.collect()
    }

    /// The id of a text: the same on every machine, unless another text of this file has it.
    fn free_id(&self, category: &str, text: &str) -> String {
        let is_taken =
            |id: &String| self.items().any(|(of, item)| item.id == *id && (of != category || item.text != text));
        (0..).map(|salt| item_id(category, text, salt)).find(|id| !is_taken(id)).unwrap_or_default()
    }

    /// The section of a category; a new one in its place if there is none.
    fn section_mut(&mut self, category: &str) -> &mut CategorySection {
        let at = match self.sections.iter().position(|section| section.category == category) {
            Some(at) => at,
            None => self.insert_section(category),
        };
        &mut self.sections[at]
    }

    /// Inserts an empty section, with a blank line around it. Returns its place.
    fn insert_section(&mut self, category: &str) -> usize {
        let is_before = |section: &CategorySection| rank(&section.category) < rank(category);
        let at = self.sections.iter().rposition(is_before).map_or(0, |at| at + 1);
        let mut section = CategorySection::new(category);
        if self.sections.is_empty() {
            let mut before = std::mem::take(&mut self.rest);
            let missing = match before.as_slice() {
                [] | [.., b'\n', b'\n'] => "",
                [.., b'\n'] => "\n",
                _ => "\n\n",
            };
            before.extend(missing.bytes());
            section.before = before;
        } else if at == 0 {
            section.before = std::mem::replace(&mut self.sections[0].before, b"\n".to_vec());
        } else {
            section.before = b"\n".to_vec();
        }
        self.sections.insert(at, section);
        at
    }
}

/// The texts, tidied, without blank ones and repetitions.
fn distinct(texts: &[String]) -> Vec<String> {
    let mut seen = HashSet::new();
    let tidied = texts.iter().map(|text| tidy(text)).filter(|text| !text.is_empty());
    tidied.filter(|text| seen.insert(text.clone())).collect()
}
