//! A section of a page: what it could show, and what of it is placed.

use std::fmt::Write;

use serde::Serialize;

use super::item::{Cut, Entry, beginning};
use super::room::{Room, longest};
use super::shares::Share;

/// A shorter beginning of an item says nothing.
const SHORTEST: usize = 30;
/// The same for sentences, unless they are half of the item.
const SHORTEST_SENTENCES: usize = 100;

/// Items under a heading.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    pub title: &'static str,
    pub parts: Vec<Part>,
    /// The command that shows the items for which there was no room; empty if none does.
    pub more: String,
}

/// Items of one kind, and how much room they get.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub entries: Vec<Entry>,
    pub share: Share,
}

/// The part of a section that is on the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ShownSection {
    pub title: &'static str,
    pub items: Vec<String>,
    pub omitted: usize,
}

/// An item that fills room.
pub(super) struct Filler {
    /// The title of its section.
    pub title: &'static str,
    /// Its place among the fillers of its section.
    pub order: usize,
    pub entry: Entry,
}

impl Section {
    pub(super) fn has_entries(&self) -> bool {
        self.parts.iter().any(|part| !part.entries.is_empty())
    }
}

/// A section while it is placed.
pub(super) struct Placed<'a> {
    pub section: &'a Section,
    /// How many items of each part are shown whole.
    counts: Vec<usize>,
    /// The beginning of the next item of each part, where only that fitted.
    beginnings: Vec<Option<Entry>>,
    /// What filled the free room.
    pub added: Vec<Filler>,
}

impl Placed<'_> {
    pub(super) fn all(sections: &[Section]) -> Vec<Placed<'_>> {
        sections.iter().map(Placed::none).collect()
    }

    fn none(section: &Section) -> Placed<'_> {
        let parts = section.parts.len();
        Placed { section, counts: vec![0; parts], beginnings: vec![None; parts], added: Vec::new() }
    }

    pub(super) fn whole(section: &Section) -> Placed<'_> {
        Placed { counts: section.parts.iter().map(|part| part.entries.len()).collect(), ..Placed::none(section) }
    }

    /// Shows as many further items of a part as fit into `room`, and returns what is then left of `left`.
    pub(super) fn grow(&mut self, part: usize, room: Room, may_cut: bool, left: Room) -> Room {
        let before = self.size();
        let (shown, beginning) = (self.counts[part], self.beginnings[part].take());
        let entries = &self.section.parts[part].entries;
        let fits = |placed: &Placed<'_>| {
            let grown = placed.size();
            grown.bytes <= before.bytes + room.bytes && grown.tokens <= before.tokens + room.tokens
        };
        let more = (shown + 1..=entries.len()).rev().find(|count| {
            self.counts[part] = *count;
            fits(self)
        });
        self.counts[part] = more.unwrap_or(shown);
        if more.is_none() {
            self.beginnings[part] = beginning;
        }
        if may_cut && self.beginnings[part].is_none() && self.counts[part] < entries.len() {
            self.cut_next(part, before.and(room));
        }
        left.and(before).without(self.size())
    }

    /// Shows the beginning of the next item of a part, if the section then still fits into `room`.
    fn cut_next(&mut self, part: usize, room: Room) {
        let Part { entries, share } = &self.section.parts[part];
        let entry = &entries[self.counts[part]];
        self.beginnings[part] = Some(Entry { text: String::new(), label: entry.label.clone() });
        let room = if room.takes(self.size()) { room.without(self.size()) } else { Room { bytes: 0, tokens: 0 } };
        let most = longest(&entry.text, room);
        // The first sentence of a message is often only "Good." and "Now I have the full picture."
        let shortest =
            if share.cut == Cut::Sentences { SHORTEST_SENTENCES.min(entry.text.len() / 2) } else { SHORTEST };
        let kept = beginning(&entry.text, most, share.cut).filter(|text| text.len() >= shortest.max(SHORTEST));
        self.beginnings[part] = kept.map(|text| Entry { text, label: entry.label.clone() });
    }

    /// The texts of the items that are shown whole.
    pub(super) fn whole_items(&self) -> impl Iterator<Item = &str> {
        let parts = self.section.parts.iter().zip(&self.counts);
        parts.flat_map(|(part, count)| &part.entries[..*count]).map(|entry| entry.text.as_str())
    }

    pub(super) fn size(&self) -> Room {
        Room::taken_by(&self.text())
    }

    /// What is on the page, in order. What filled the room follows the first parts, which it belongs to.
    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (at, part) in self.section.parts.iter().enumerate() {
            if part.share.follows_filling {
                continue;
            }
            self.push_part(at, &mut lines);
        }
        lines.extend(self.added.iter().map(|filler| filler.entry.line()));
        for (at, _) in self.section.parts.iter().enumerate().filter(|(_, part)| part.share.follows_filling) {
            self.push_part(at, &mut lines);
        }
        lines
    }

    fn push_part(&self, at: usize, lines: &mut Vec<String>) {
        lines.extend(self.section.parts[at].entries[..self.counts[at]].iter().map(Entry::line));
        lines.extend(self.beginnings[at].iter().map(Entry::line));
    }

    fn omitted(&self) -> usize {
        let parts = self.section.parts.iter().zip(&self.counts).zip(&self.beginnings);
        parts
            .filter(|((part, _), _)| part.share.is_counted)
            .map(|((part, count), beginning)| part.entries.len() - count - usize::from(beginning.is_some()))
            .sum()
    }

    pub(super) fn text(&self) -> String {
        let lines = self.lines();
        let mut text = String::new();
        if lines.is_empty() {
            return text;
        }
        let _ = writeln!(text, "\n## {}", self.section.title);
        for line in lines {
            let _ = writeln!(text, "- {line}");
        }
        // Without the dash of an item, which a stored text cannot leave out.
        let omitted = self.omitted();
        if omitted > 0 && !self.section.more.is_empty() {
            let _ = writeln!(text, "({omitted} more: `{}`)", self.section.more);
        }
        text
    }

    pub(super) fn shown(&self) -> Option<ShownSection> {
        let items = self.lines();
        let shown = ShownSection { title: self.section.title, omitted: self.omitted(), items };
        (!shown.items.is_empty()).then_some(shown)
    }
}
