//! Reads the current state from a file. Any bytes are accepted; whatever is not a section is free text.

use std::collections::HashSet;

use super::bullet::read_bullet;
use super::current::CurrentState;
use super::item::{Item, Tombstone};
use super::section::{CategorySection, SectionPart, title};
use crate::base::clock;
use crate::config::category;
use crate::memory::marker::{self, Attributes};

impl CurrentState {
    pub(crate) fn parse(file: &[u8]) -> CurrentState {
        let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
        let mut state = CurrentState::default();
        let mut at = 0;
        while at < lines.len() {
            match section_opening(lines[at]) {
                Some((name, cleared)) => {
                    let (mut section, next) = read_section(&lines, at, name, cleared);
                    section.before = std::mem::take(&mut state.rest);
                    state.sections.push(section);
                    at = next;
                }
                None => {
                    state.rest.extend(lines[at]);
                    at += 1;
                }
            }
        }
        state.unmark_copies();
        state
    }

    /// Treats the second of two items with one id as written by hand: somebody copied it together with its marker.
    fn unmark_copies(&mut self) {
        let mut seen = HashSet::new();
        for section in &mut self.sections {
            for part in &mut section.parts {
                if let SectionPart::Item(item, _) = part
                    && !item.at.is_empty()
                    && !seen.insert(item.id.clone())
                {
                    *item = Item { bytes: item.bytes.clone(), ..Item::by_hand(&section.category, &item.text) };
                }
            }
        }
    }
}

/// The category that a section marker names, and when it was cleared.
fn section_opening(line: &[u8]) -> Option<(String, String)> {
    let attributes = marker::read(line, "section")?;
    let name = attributes.get("name").filter(|name| category::is_name(name))?;
    Some((name, time(&attributes, "cleared")))
}

/// Reads the section whose marker is in line `start`. Returns it and the number of the line after it.
///
/// A section without a closing marker ends before the first line that we would not have written, so that text below it
/// does not become a part of it.
fn read_section(lines: &[&[u8]], start: usize, category: String, cleared: String) -> (CategorySection, usize) {
    let mut section = CategorySection {
        category,
        cleared,
        before: Vec::new(),
        open: lines[start].to_vec(),
        parts: Vec::new(),
        close: Vec::new(),
    };
    let heading = format!("## {}", title(&section.category)).into_bytes();
    let below = &lines[start + 1..];
    let is_closing = |line: &&[u8]| marker::read(line, "/section").is_some();
    let end = below.iter().position(|line| is_closing(line) || marker::read(line, "section").is_some());
    let end = end.map_or(lines.len(), |at| start + 1 + at);
    let close = lines.get(end).filter(|line| is_closing(line));
    let mut at = start + 1;
    while at < end {
        let line = lines[at];
        let item = item_at(lines, at, end, &section.category);
        let tombstone = tombstone_of(line);
        if close.is_none() && tombstone.is_none() {
            let is_blank_or_indented = line.trim_ascii().is_empty() || line.starts_with(b" ");
            let is_heading = line.trim_ascii_end() == heading;
            let is_after_ours =
                matches!(section.parts.last(), Some(SectionPart::Item(..) | SectionPart::Tombstone(..)));
            let is_our_item = item.as_ref().is_some_and(|found| found.is_marked || is_after_ours);
            if !is_our_item && !is_blank_or_indented && !is_heading {
                return (section, at);
            }
        }
        if let Some(tombstone) = tombstone {
            section.parts.push(SectionPart::Tombstone(tombstone, line.to_vec()));
            at += 1;
        } else if let Some(found) = item {
            section.parts.push(SectionPart::Item(found.item, lines[at..found.next].concat()));
            at = found.next;
        } else {
            match section.parts.last_mut() {
                Some(SectionPart::Text(text)) => text.extend(line),
                _ => section.parts.push(SectionPart::Text(line.to_vec())),
            }
            at += 1;
        }
    }
    section.close = close.map(|line| line.to_vec()).unwrap_or_default();
    (section, if close.is_some() { end + 1 } else { end })
}

struct ItemAt {
    item: Item,
    /// Whether a marker stands before the list item.
    is_marked: bool,
    /// The number of the line after it.
    next: usize,
}

/// The item that begins in line `at`: a list item, or a marker and then a list item.
fn item_at(lines: &[&[u8]], at: usize, end: usize, category: &str) -> Option<ItemAt> {
    let marked = marker::read(lines[at], "item").and_then(|attributes| Some((id(&attributes)?, attributes)));
    let bullet = if marked.is_some() { at + 1 } else { at };
    lines.get(bullet).filter(|line| line.starts_with(b"- ") || line.starts_with(b"* "))?;
    let (text, next) = read_bullet(&lines[..end], bullet, 2);
    let body = lines[bullet..next].concat();
    let bytes = if std::str::from_utf8(&body).is_ok() { Vec::new() } else { body };
    let by_hand = Item { bytes, ..Item::by_hand(category, text.trim()) };
    let is_marked = marked.is_some();
    let item = match marked {
        Some((id, attributes)) => Item {
            id,
            at: time(&attributes, "at"),
            since: time(&attributes, "since"),
            run: attributes.text("run"),
            commit: attributes.text("commit"),
            branch: attributes.text("branch"),
            by: attributes.text("by"),
            ..by_hand
        },
        None => by_hand,
    };
    Some(ItemAt { item, is_marked, next })
}

fn tombstone_of(line: &[u8]) -> Option<Tombstone> {
    let attributes = marker::read(line, "gone")?;
    Some(Tombstone { id: id(&attributes)?, at: time(&attributes, "at") })
}

/// The id, if it has the form in which we write ids.
fn id(attributes: &Attributes<'_>) -> Option<String> {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    attributes.get("id").filter(|id| (4..=40).contains(&id.len()) && id.bytes().all(is_hex))
}

/// The time, if it has the form in which we write times; else empty.
fn time(attributes: &Attributes<'_>, key: &str) -> String {
    let time = attributes.text(key);
    if time.len() == 20 && time.ends_with('Z') && clock::parse_stamp(&time).is_some() { time } else { String::new() }
}
