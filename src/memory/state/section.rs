//! The section of one category: its items, tombstones, and the text that people wrote between them.

use std::collections::HashSet;

use super::item::{Item, Tombstone};
use super::write;
use crate::config::category;
use crate::memory::change::{ChangeVerb, StateChange};

/// How many tombstones a section keeps.
const MAX_TOMBSTONES: usize = 200;

/// One section of the file, together with the bytes that it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CategorySection {
    pub category: String,
    /// When it was last emptied or replaced as a whole; empty if never.
    pub cleared: String,
    /// The text between the previous section and this one.
    pub(super) before: Vec<u8>,
    pub(super) open: Vec<u8>,
    pub(super) parts: Vec<SectionPart>,
    pub(super) close: Vec<u8>,
}

/// One part of a section. Each keeps the bytes it was read from, so that unchanged parts are written back as they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SectionPart {
    Item(Item, Vec<u8>),
    Tombstone(Tombstone, Vec<u8>),
    Text(Vec<u8>),
}

impl SectionPart {
    pub(super) fn of_item(item: Item) -> SectionPart {
        let bytes = write::item(&item);
        SectionPart::Item(item, bytes)
    }
}

impl CategorySection {
    pub(super) fn new(category: &str) -> CategorySection {
        let mut section = CategorySection {
            category: category.to_owned(),
            cleared: String::new(),
            before: Vec::new(),
            open: Vec::new(),
            parts: vec![SectionPart::Text(heading(category))],
            close: Vec::new(),
        };
        section.rewrite_markers();
        section
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = &Item> {
        self.parts.iter().filter_map(|part| match part {
            SectionPart::Item(item, _) => Some(item),
            _ => None,
        })
    }

    pub(crate) fn tombstones(&self) -> impl Iterator<Item = &Tombstone> {
        self.parts.iter().filter_map(|part| match part {
            SectionPart::Tombstone(tombstone, _) => Some(tombstone),
            _ => None,
        })
    }

    /// The texts that people wrote into the section, without its heading and blank lines.
    pub(in crate::memory) fn texts(&self) -> Vec<Vec<u8>> {
        let heading = heading(&self.category);
        let texts = self.parts.iter().filter_map(|part| match part {
            SectionPart::Text(text) => Some(text.strip_prefix(heading.as_slice()).unwrap_or(text)),
            _ => None,
        });
        texts.filter(|text| !text.trim_ascii().is_empty()).map(<[u8]>::to_vec).collect()
    }

    /// Writes the opening and closing markers anew, after `cleared` or the parts changed.
    pub(super) fn rewrite_markers(&mut self) {
        self.open = write::section_open(&self.category, &self.cleared);
        self.close = write::SECTION_CLOSE.as_bytes().to_vec();
    }

    /// The size of all items, in bytes.
    pub(super) fn size(&self) -> usize {
        let items = self.parts.iter().map(|part| match part {
            SectionPart::Item(_, bytes) => bytes.len(),
            SectionPart::Tombstone(..) | SectionPart::Text(_) => 0,
        });
        items.sum()
    }

    /// Inserts an item by its time, after items of the same time.
    pub(super) fn insert(&mut self, item: Item) {
        let is_older = |part: &SectionPart| matches!(part, SectionPart::Item(old, _) if old.at <= item.at);
        let is_item = |part: &SectionPart| matches!(part, SectionPart::Item(..));
        let is_tombstone = |part: &SectionPart| matches!(part, SectionPart::Tombstone(..));
        let at = self.parts.iter().rposition(is_older).map(|at| at + 1);
        let at = at.or_else(|| self.parts.iter().position(is_item));
        let at = at.or_else(|| self.parts.iter().position(is_tombstone)).unwrap_or(self.parts.len());
        self.parts.insert(at, SectionPart::of_item(item));
        self.rewrite_markers();
    }

    /// Removes every item for which `is_meant` holds.
    pub(super) fn remove(&mut self, verb: ChangeVerb, is_meant: impl Fn(&Item) -> bool) -> Vec<StateChange> {
        let mut changes = Vec::new();
        self.parts.retain(|part| match part {
            SectionPart::Item(item, _) if is_meant(item) => {
                changes.push(StateChange::of(verb, &self.category, item));
                false
            }
            _ => true,
        });
        changes
    }

    /// Removes the item and the tombstone with this id.
    pub(super) fn forget(&mut self, id: &str) {
        self.parts.retain(|part| match part {
            SectionPart::Item(item, _) => item.id != id,
            SectionPart::Tombstone(tombstone, _) => tombstone.id != id,
            SectionPart::Text(_) => true,
        });
    }

    /// Adds a tombstone. The oldest ones make room for it.
    pub(super) fn bury(&mut self, tombstone: Tombstone) {
        let bytes = write::tombstone(&tombstone);
        self.parts.push(SectionPart::Tombstone(tombstone, bytes));
        let mut beyond = self.tombstones().count().saturating_sub(MAX_TOMBSTONES);
        self.parts.retain(|part| {
            let goes = matches!(part, SectionPart::Tombstone(..)) && beyond > 0;
            beyond -= usize::from(goes);
            !goes
        });
        self.rewrite_markers();
    }

    /// Takes over the parts of another section of the same category. Items that are older than the later `cleared` of
    /// the two stay removed.
    pub(super) fn absorb(&mut self, copy: CategorySection) -> Vec<StateChange> {
        let texts = self.texts();
        self.parts.extend(copy.texts().into_iter().filter(|text| !texts.contains(text)).map(SectionPart::Text));
        let known: HashSet<(String, Vec<u8>)> =
            self.items().map(|item| (item.text.clone(), item.bytes.clone())).collect();
        self.parts.extend(copy.parts.into_iter().filter(|part| match part {
            SectionPart::Item(item, _) => !known.contains(&(item.text.clone(), item.bytes.clone())),
            SectionPart::Tombstone(..) => true,
            SectionPart::Text(_) => false,
        }));
        self.cleared = std::mem::take(&mut self.cleared).max(copy.cleared);
        self.rewrite_markers();
        self.sort_by(|item| (item.at.is_empty(), item.at.clone()));
        let cleared = self.cleared.clone();
        self.remove(ChangeVerb::Cleared, |item| !item.at.is_empty() && item.at < cleared)
    }

    /// Sorts the items among the places that items have; other parts stay where they are.
    pub(super) fn sort_by<K: Ord>(&mut self, key: impl Fn(&Item) -> K) {
        let mut items: Vec<(K, SectionPart)> = Vec::new();
        let mut places = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            if let SectionPart::Item(item, _) = part {
                places.push(at);
                items.push((key(item), part.clone()));
            }
        }
        items.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (at, (_, item)) in places.into_iter().zip(items) {
            self.parts[at] = item;
        }
    }

    /// Drops the oldest items until at most `keep` are left.
    pub(super) fn limit(&mut self, keep: usize) -> Vec<StateChange> {
        let beyond = self.items().count().saturating_sub(keep);
        let passed = std::cell::Cell::new(0);
        self.remove(ChangeVerb::Dropped, |_| passed.replace(passed.get() + 1) < beyond)
    }
}

/// The place of a category in the file: the built-in ones in their order, then the user's own by name.
pub(super) fn rank(category: &str) -> (usize, &str) {
    let built_in = category::BUILT_IN.iter().position(|known| known.name == category);
    built_in.map_or((usize::MAX, category), |at| (at, ""))
}

/// The title of a category, such as "Open loops".
pub(crate) fn title(category: &str) -> String {
    if let Some(known) = category::built_in(category) {
        return known.title.to_owned();
    }
    let words = category.replace(['_', '-'], " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn heading(category: &str) -> Vec<u8> {
    format!("## {}\n\n", title(category)).into_bytes()
}
