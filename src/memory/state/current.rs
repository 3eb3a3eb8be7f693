//! The current state as a value, and what it answers.

use chrono::NaiveDate;

use super::item::{Item, Tombstone, item_id, tidy};
use super::section::{CategorySection, SectionPart};
use crate::memory::marker;

/// Markers that a line of free text must not start with; such a line is escaped.
pub(super) const MARKERS: [&str; 3] = ["<!-- section ", "<!-- /section", "<!-- agent-handover |"];

/// The content of `layer2/current-state.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CurrentState {
    pub sections: Vec<CategorySection>,
    /// The text after the last section; the whole file if it has no sections.
    pub(super) rest: Vec<u8>,
}

impl CurrentState {
    /// Every item with its category, in the order of the file.
    pub(crate) fn items(&self) -> impl Iterator<Item = (&str, &Item)> {
        self.sections.iter().flat_map(|section| section.items().map(|item| (section.category.as_str(), item)))
    }

    /// The free text: everything outside the sections, without the header line.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text: Vec<u8> = self.sections.iter().flat_map(|section| section.before.iter().copied()).collect();
        text.extend(&self.rest);
        let body = if header_date(&text).is_some() { after_first_line(&text) } else { &text };
        marker::unescape(body, &MARKERS).into_owned()
    }

    /// The items that somebody deleted or said to be done, each with its category.
    pub(crate) fn removals(&self) -> impl Iterator<Item = (&str, &Tombstone)> {
        self.sections
            .iter()
            .flat_map(|section| section.tombstones().map(|removed| (section.category.as_str(), removed)))
    }

    /// Whether somebody deleted this item, or said that it is done.
    pub(crate) fn is_withdrawn(&self, category: &str, text: &str) -> bool {
        self.removals_of(category, text).next().is_some()
    }

    /// Leaves out the removals that do not count.
    pub(in crate::memory) fn keep_removals(&mut self, counts: impl Fn(&str, &Tombstone) -> bool) {
        for CategorySection { category, parts, .. } in &mut self.sections {
            parts.retain(|part| !matches!(part, SectionPart::Tombstone(removed, _) if !counts(category, removed)));
        }
    }

    /// Where somebody deleted this item, or said that it is done.
    pub(crate) fn removals_of<'a>(&'a self, category: &str, text: &str) -> impl Iterator<Item = &'a Tombstone> {
        let (category, id) = (category.to_owned(), item_id(category, &tidy(text), 0));
        let is_it = move |(of, removed): &(&str, &Tombstone)| *of == category && removed.id == id;
        self.removals().filter(is_it).map(|(_, removed)| removed)
    }

    /// The latest time in any marker; empty if there is none.
    pub(crate) fn newest(&self) -> &str {
        let times = self.sections.iter().flat_map(|section| {
            let items = section.items().map(|item| item.at.as_str());
            items.chain(section.tombstones().map(|tombstone| tombstone.at.as_str())).chain([section.cleared.as_str()])
        });
        times.max().unwrap_or_default()
    }

    /// The date in the header line: the day on which the free text was written.
    pub(crate) fn date(&self) -> Option<NaiveDate> {
        header_date(self.sections.first().map_or(&self.rest, |section| &section.before))
    }
}

fn header_date(file: &[u8]) -> Option<NaiveDate> {
    let line = std::str::from_utf8(file.split(|byte| *byte == b'\n').next()?).ok()?.trim_end();
    let line = line.trim_start_matches('\u{feff}');
    line.strip_prefix("<!-- agent-handover | layer2 | ")?.strip_suffix(" -->")?.parse().ok()
}

fn after_first_line(file: &[u8]) -> &[u8] {
    file.iter().position(|byte| *byte == b'\n').map_or(&[], |at| &file[at + 1..])
}
