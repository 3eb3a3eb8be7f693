//! The current state in layer 2: free text, and a section of items for each category.
//!
//! ```text
//! <!-- agent-handover | layer2 | 2026-11-15 -->
//! free text of people, of `--current-state` or of the Python tool
//!
//! <!-- section name=decision -->
//! ## Decisions
//!
//! <!-- item id=3f2a9c1b07 at=2026-11-15T10:04:05Z run=01K… commit=1a2b3c4d5e6f -->
//! - the item, verbatim;
//!   its further lines are indented, so that none of them can be a marker
//! <!-- gone id=77ab01c2d3 at=2026-11-14T09:00:00Z -->
//! <!-- /section -->
//! ```
//!
//! Whatever else stands in the file stays there, to the byte. A list item that somebody wrote into a section by hand is
//! an item like any other and gets its marker with the next change. The order in a section is the order of time: the
//! first item is the oldest, whatever clocks said.

use std::collections::HashSet;

use chrono::NaiveDate;

use super::change::{ChangeVerb, StateChange};
use super::{header, marker};
use crate::base::{clock, text};
use crate::config::category::{self, Category, Mode};

/// What free text must not start a line with.
const MARKERS: [&str; 3] = ["<!-- section ", "<!-- /section", "<!-- agent-handover |"];
const CLOSE: &str = "<!-- /section -->\n";
/// Of how many items that were deleted or done a section remembers that they are.
const REMEMBERED: usize = 200;

/// One thing that was said, as it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub id: String,
    pub text: String,
    /// The list item as it stands in the file, if that is not UTF-8; `text` shows it.
    bytes: Vec<u8>,
    /// When it was last said, in UTC; empty if somebody wrote it by hand.
    pub at: String,
    /// When it was first said, if that was earlier.
    pub since: String,
    pub run: String,
    pub commit: String,
}

/// Who changes the state, and when.
#[derive(Clone, Debug)]
pub struct Stamp {
    pub at: String,
    pub run: String,
    pub commit: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CurrentState {
    pub sections: Vec<CategorySection>,
    /// What stands after the last section; all there is, without one.
    rest: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CategorySection {
    pub category: String,
    /// When it was last emptied or replaced as a whole; empty if never.
    pub cleared: String,
    /// What stands between the section before and this one.
    before: Vec<u8>,
    open: Vec<u8>,
    parts: Vec<SectionPart>,
    close: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SectionPart {
    /// With the bytes it was read from, so that what nobody changes is not changed.
    Item(Item, Vec<u8>),
    Tombstone(Tombstone, Vec<u8>),
    Text(Vec<u8>),
}

/// An item that was deleted or done, remembered so that another machine's copy does not bring it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    pub id: String,
    pub at: String,
}

/// An item as it comes in: line ends are `\n`, and nothing but text stands at its ends.
pub fn tidy(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").trim().to_owned()
}

impl CurrentState {
    pub fn parse(file: &[u8]) -> CurrentState {
        let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
        let mut state = CurrentState::default();
        let mut at = 0;
        while at < lines.len() {
            let opening = marker::read(lines[at], "section").and_then(|attributes| {
                let name = attributes.get("name").filter(|name| category::is_name(name))?;
                Some((name, time(&attributes, "cleared")))
            });
            match opening {
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

    /// Of two items with one id the second was copied by hand: its marker marks nothing.
    fn unmark_copies(&mut self) {
        let mut seen = HashSet::new();
        for section in &mut self.sections {
            for part in &mut section.parts {
                if let SectionPart::Item(item, _) = part
                    && !item.at.is_empty()
                    && !seen.insert(item.id.clone())
                {
                    *item = Item { bytes: item.bytes.clone(), ..by_hand(&section.category, &item.text) };
                }
            }
        }
    }

    pub fn write(&self) -> Vec<u8> {
        let mut file = Vec::new();
        for section in &self.sections {
            section.write(&mut file);
        }
        if !self.rest.is_empty() && !file.is_empty() && !file.ends_with(b"\n") {
            file.push(b'\n');
        }
        file.extend(&self.rest);
        file
    }

    /// Every item with its category, in the order of the file.
    pub fn items(&self) -> impl Iterator<Item = (&str, &Item)> {
        self.sections.iter().flat_map(|section| section.items().map(|item| (section.category.as_str(), item)))
    }

    /// What stands outside the sections, without the header line.
    pub fn text(&self) -> Vec<u8> {
        let mut text: Vec<u8> = self.sections.iter().flat_map(|section| section.before.iter().copied()).collect();
        text.extend(&self.rest);
        let body = if header_date(&text).is_some() { after_first_line(&text) } else { &text };
        marker::unescape(body, &MARKERS).into_owned()
    }

    /// The latest time that it knows of; empty without one.
    pub fn newest(&self) -> &str {
        let times = self.sections.iter().flat_map(|section| {
            let items = section.items().map(|item| item.at.as_str());
            items.chain(section.gone().map(|gone| gone.at.as_str())).chain([section.cleared.as_str()])
        });
        times.max().unwrap_or_default()
    }

    /// The day in the header line, which is the day the free text was written.
    pub fn date(&self) -> Option<NaiveDate> {
        header_date(self.sections.first().map_or(&self.rest, |section| &section.before))
    }

    /// Replaces the free text, and nothing else. What it was is told, unless it is the same.
    pub fn set_text(&mut self, date: NaiveDate, new: &[u8]) -> Option<StateChange> {
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
        replaced(&old).filter(|change| change.text != readable(new))
    }

    /// New items for a category, taking the place of what is there or joining it. If it was emptied or replaced since
    /// they were said, they made way before they came.
    pub fn put(&mut self, category: &Category, texts: &[String], by: &Stamp) -> Vec<StateChange> {
        let mut seen = HashSet::new();
        let mut texts: Vec<String> = texts.iter().map(|text| tidy(text)).filter(|text| !text.is_empty()).collect();
        texts.retain(|text| seen.insert(text.clone()));
        let name = category.name.as_str();
        if self.sections.iter().any(|section| section.category == name && section.cleared > by.at) {
            let known: HashSet<&str> =
                self.items().filter(|(of, _)| *of == name).map(|(_, item)| &*item.text).collect();
            texts.retain(|text| !known.contains(text.as_str()));
            return self.pass(name, &texts, ChangeVerb::Cleared);
        }
        if texts.is_empty() {
            return Vec::new();
        }
        let mut changes = Vec::new();
        // Of what was said at once, nothing is older: the first of a list are those that were meant to come first.
        let beyond = texts.split_off(texts.len().min(category.keep));
        if category.mode == Mode::Clear {
            let section = self.section(name);
            section.cleared = by.at.clone();
            section.touch();
            changes.extend(section.remove(ChangeVerb::Cleared, |item| item.at <= by.at && !texts.contains(&item.text)));
        }
        for text in &texts {
            changes.extend(self.say(name, text, by));
        }
        if category.mode == Mode::Clear {
            let place = |item: &Item| texts.iter().position(|text| *text == item.text).unwrap_or(usize::MAX);
            self.section(name).order_by(place);
        }
        changes.extend(self.pass(name, &beyond, ChangeVerb::Dropped));
        changes.extend(self.section(name).cap(category.keep));
        changes
    }

    /// What came and went at once is only told.
    fn pass(&self, category: &str, texts: &[String], verb: ChangeVerb) -> Vec<StateChange> {
        let told = texts.iter().flat_map(|text| {
            let id = self.free_id(category, text);
            let change = |verb| StateChange { verb, category: category.to_owned(), id: id.clone(), text: text.clone() };
            [change(ChangeVerb::Added), change(verb)]
        });
        told.collect()
    }

    /// One item more, whatever the mode of its category.
    pub fn add(&mut self, category: &Category, text: &str, by: &Stamp) -> Vec<StateChange> {
        self.put(&Category { mode: Mode::Append, ..category.clone() }, &[text.to_owned()], by)
    }

    /// Empties a category.
    pub fn clear(&mut self, category: &str, by: &Stamp) -> Vec<StateChange> {
        let section = self.section(category);
        section.cleared = by.at.clone();
        section.touch();
        section.remove(ChangeVerb::Cleared, |_| true)
    }

    /// Takes one item out, for good.
    pub fn remove(&mut self, id: &str, verb: ChangeVerb, by: &Stamp) -> Vec<StateChange> {
        let mut changes = Vec::new();
        for section in &mut self.sections {
            let found = section.remove(verb, |item| item.id == id);
            if !found.is_empty() {
                section.remember(Tombstone { id: id.to_owned(), at: by.at.clone() });
            }
            changes.extend(found);
        }
        changes
    }

    /// Puts in order what people and tools left: one section for each category, and a marker with an id of its own for
    /// each item that was written by hand.
    pub fn adopt(&mut self, by: &Stamp) -> Vec<StateChange> {
        let mut changes = self.fold();
        let marked = self.items().filter(|(_, item)| !item.at.is_empty());
        let mut taken: HashSet<String> = marked.map(|(_, item)| item.id.clone()).collect();
        for section in &mut self.sections {
            for part in &mut section.parts {
                if let SectionPart::Item(item, raw) = part
                    && item.at.is_empty()
                {
                    let others = (1..).map(|salt| id_of(&section.category, &item.text, salt));
                    let mut ids = std::iter::once(item.id.clone()).chain(others);
                    item.id = ids.find(|id| taken.insert(id.clone())).unwrap_or_default();
                    item.at.clone_from(&by.at);
                    item.run.clone_from(&by.run);
                    item.commit.clone_from(&by.commit);
                    *raw = write_item(item);
                    changes.push(StateChange::of(ChangeVerb::Added, &section.category, item));
                }
            }
        }
        changes
    }

    /// Several sections of one category, as a merge by line leaves them, become the first of them.
    fn fold(&mut self) -> Vec<StateChange> {
        let mut changes = Vec::new();
        let mut at = 0;
        while at < self.sections.len() {
            let is_same = |section: &CategorySection| section.category == self.sections[at].category;
            match self.sections.iter().position(is_same) {
                Some(first) if first < at => {
                    let copy = self.sections.remove(at);
                    let after = self.sections.get_mut(at).map_or(&mut self.rest, |next| &mut next.before);
                    after.splice(..0, copy.before.iter().copied());
                    changes.extend(self.sections[first].take_in(copy));
                }
                _ => at += 1,
            }
        }
        changes
    }

    /// Makes a section what two machines agreed on. What people wrote into it stays.
    pub(super) fn set_section(
        &mut self,
        category: &str,
        cleared: &str,
        items: Vec<Item>,
        gone: Vec<Tombstone>,
        texts: &[Vec<u8>],
    ) {
        let section = self.section(category);
        section.cleared = cleared.to_owned();
        section.parts.retain(|part| matches!(part, SectionPart::Text(_)));
        section.parts.extend(texts.iter().cloned().map(SectionPart::Text));
        section.parts.extend(items.into_iter().map(|item| {
            let raw = write_item(&item);
            SectionPart::Item(item, raw)
        }));
        section.touch();
        for gone in gone {
            section.remember(gone);
        }
    }

    fn say(&mut self, category: &str, text: &str, by: &Stamp) -> Option<StateChange> {
        let known = self.items().find(|(of, item)| *of == category && item.text == text).map(|(_, item)| item.clone());
        let item = match &known {
            // A session that is late says nothing new about when it was last said, and nothing said twice is new.
            Some(known) if known.at > by.at || known.at == by.at && known.run == by.run => return None,
            Some(known) => Item {
                since: if known.since.is_empty() { known.at.clone() } else { known.since.clone() },
                bytes: known.bytes.clone(),
                ..item(known.id.clone(), text, by)
            },
            None => item(self.free_id(category, text), text, by),
        };
        let change = StateChange::of(ChangeVerb::Added, category, &item);
        let section = self.section(category);
        section.parts.retain(|part| match part {
            SectionPart::Item(old, _) => old.id != item.id,
            SectionPart::Tombstone(gone, _) => gone.id != item.id,
            SectionPart::Text(_) => true,
        });
        section.insert(item);
        known.is_none().then_some(change)
    }

    /// The id of a text: the same wherever it is said, and not one that another text has.
    fn free_id(&self, category: &str, text: &str) -> String {
        let is_taken =
            |id: &String| self.items().any(|(of, item)| item.id == *id && (of != category || item.text != text));
        (0..).map(|salt| id_of(category, text, salt)).find(|id| !is_taken(id)).unwrap_or_default()
    }

    /// The section of a category, made in its place if there is none.
    fn section(&mut self, category: &str) -> &mut CategorySection {
        let at = match self.sections.iter().position(|section| section.category == category) {
            Some(at) => at,
            None => self.insert_section(category),
        };
        &mut self.sections[at]
    }

    fn insert_section(&mut self, category: &str) -> usize {
        let is_before = |section: &CategorySection| rank(&section.category) < rank(category);
        let at = self.sections.iter().rposition(is_before).map_or(0, |at| at + 1);
        let mut section = CategorySection::new(category);
        // A blank line stands between it and what is around it.
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

impl CategorySection {
    fn new(category: &str) -> CategorySection {
        let mut section = CategorySection {
            category: category.to_owned(),
            cleared: String::new(),
            before: Vec::new(),
            open: Vec::new(),
            parts: vec![SectionPart::Text(format!("## {}\n\n", title(category)).into_bytes())],
            close: Vec::new(),
        };
        section.touch();
        section
    }

    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.parts.iter().filter_map(|part| match part {
            SectionPart::Item(item, _) => Some(item),
            _ => None,
        })
    }

    pub fn gone(&self) -> impl Iterator<Item = &Tombstone> {
        self.parts.iter().filter_map(|part| match part {
            SectionPart::Tombstone(gone, _) => Some(gone),
            _ => None,
        })
    }

    /// What people wrote into it, without the heading and blank lines.
    pub(super) fn texts(&self) -> Vec<Vec<u8>> {
        let heading = format!("## {}\n\n", title(&self.category)).into_bytes();
        let texts = self.parts.iter().filter_map(|part| match part {
            SectionPart::Text(text) => Some(text.strip_prefix(heading.as_slice()).unwrap_or(text)),
            _ => None,
        });
        texts.filter(|text| !text.trim_ascii().is_empty()).map(<[u8]>::to_vec).collect()
    }

    fn touch(&mut self) {
        let attributes = [("name", self.category.as_str()), ("cleared", &self.cleared)];
        self.open = format!("{}\n", marker::line("section", &attributes)).into_bytes();
        self.close = CLOSE.as_bytes().to_vec();
    }

    fn write(&self, file: &mut Vec<u8>) {
        if !self.before.is_empty() && !file.is_empty() && !file.ends_with(b"\n") {
            file.push(b'\n');
        }
        file.extend(&self.before);
        if !file.is_empty() && !file.ends_with(b"\n") {
            file.push(b'\n');
        }
        file.extend(&self.open);
        for part in &self.parts {
            match part {
                SectionPart::Item(_, raw) | SectionPart::Tombstone(_, raw) | SectionPart::Text(raw) => {
                    // The last line of a file may lack its end, and would swallow what follows it now.
                    if !file.ends_with(b"\n") {
                        file.push(b'\n');
                    }
                    file.extend(raw);
                }
            }
        }
        if !self.close.is_empty() && !file.ends_with(b"\n") {
            file.push(b'\n');
        }
        file.extend(&self.close);
    }

    /// In the order of time, after what is as old.
    fn insert(&mut self, item: Item) {
        let is_older = |part: &SectionPart| matches!(part, SectionPart::Item(old, _) if old.at <= item.at);
        let is_item = |part: &SectionPart| matches!(part, SectionPart::Item(..));
        let is_gone = |part: &SectionPart| matches!(part, SectionPart::Tombstone(..));
        let at = self.parts.iter().rposition(is_older).map(|at| at + 1);
        let at = at.or_else(|| self.parts.iter().position(is_item));
        let at = at.or_else(|| self.parts.iter().position(is_gone)).unwrap_or(self.parts.len());
        let raw = write_item(&item);
        self.parts.insert(at, SectionPart::Item(item, raw));
        self.touch();
    }

    fn remove(&mut self, verb: ChangeVerb, is_meant: impl Fn(&Item) -> bool) -> Vec<StateChange> {
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

    fn remember(&mut self, gone: Tombstone) {
        let raw = format!("{}\n", marker::line("gone", &[("id", &gone.id), ("at", &gone.at)])).into_bytes();
        self.parts.push(SectionPart::Tombstone(gone, raw));
        let mut beyond = self.gone().count().saturating_sub(REMEMBERED);
        self.parts.retain(|part| {
            let goes = matches!(part, SectionPart::Tombstone(..)) && beyond > 0;
            beyond -= usize::from(goes);
            !goes
        });
        self.touch();
    }

    /// Takes in another section of the same category. What the later of both made way for is not brought back.
    fn take_in(&mut self, copy: CategorySection) -> Vec<StateChange> {
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
        self.touch();
        self.order_by(|item| (item.at.is_empty(), item.at.clone()));
        let cleared = self.cleared.clone();
        self.remove(ChangeVerb::Cleared, |item| !item.at.is_empty() && item.at < cleared)
    }

    /// Puts the items in this order, in the places that items have.
    fn order_by<K: Ord>(&mut self, key: impl Fn(&Item) -> K) {
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

    /// Drops the first beyond so many.
    fn cap(&mut self, keep: usize) -> Vec<StateChange> {
        let beyond = self.items().count().saturating_sub(keep);
        let passed = std::cell::Cell::new(0);
        self.remove(ChangeVerb::Dropped, |_| passed.replace(passed.get() + 1) < beyond)
    }
}

/// The free text that another takes the place of, unless it says nothing.
pub(super) fn replaced(old: &[u8]) -> Option<StateChange> {
    let text = readable(old);
    let id = id_of("text", &text, 0);
    (!text.is_empty()).then(|| StateChange { verb: ChangeVerb::Replaced, category: "text".to_owned(), id, text })
}

/// What a text says, for comparing and telling.
pub(super) fn readable(text: &[u8]) -> String {
    tidy(&text::of_bytes(text))
}

/// An item without a marker.
fn by_hand(category: &str, text: &str) -> Item {
    let nobody = Stamp { at: String::new(), run: String::new(), commit: String::new() };
    item(id_of(category, text, 0), text, &nobody)
}

fn item(id: String, text: &str, by: &Stamp) -> Item {
    Item {
        id,
        text: text.to_owned(),
        bytes: Vec::new(),
        at: by.at.clone(),
        since: String::new(),
        run: by.run.clone(),
        commit: by.commit.clone(),
    }
}

fn id_of(category: &str, text: &str, salt: u32) -> String {
    let salt = if salt == 0 { String::new() } else { format!("\0{salt}") };
    text::digest(format!("{category}\0{text}{salt}").as_bytes(), 5)
}

/// Where a category stands: the built-in ones in their order, then the user's own by name.
fn rank(category: &str) -> (usize, &str) {
    let built_in = category::BUILT_IN.iter().position(|known| known.name == category);
    built_in.map_or((usize::MAX, category), |at| (at, ""))
}

/// The heading of a category.
pub fn title(category: &str) -> String {
    if let Some(known) = category::built_in(category) {
        return known.title.to_owned();
    }
    let words = category.replace(['_', '-'], " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn write_item(item: &Item) -> Vec<u8> {
    let attributes = [
        ("id", item.id.as_str()),
        ("at", &item.at),
        ("since", &item.since),
        ("run", &item.run),
        ("commit", &item.commit),
    ];
    let mut raw = format!("{}\n", marker::line("item", &attributes)).into_bytes();
    match item.bytes.as_slice() {
        [] => raw.extend(format!("- {}\n", indent(&item.text)).bytes()),
        bytes => raw.extend(bytes),
    }
    raw
}

/// The further lines of a list item, indented so that they belong to it; empty ones stay empty.
pub fn indent(text: &str) -> String {
    let mut indented = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            indented.push_str(if line.is_empty() { "\n" } else { "\n  " });
        }
        indented.push_str(line);
    }
    indented
}

/// The text of the list item that begins in this line after `mark`, and the line after it.
pub fn read_bullet(lines: &[&[u8]], at: usize, mark: usize) -> (String, usize) {
    let content = |line: &[u8]| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        text::of_bytes(line.strip_suffix(b"\r").unwrap_or(line))
    };
    let is_blank = |line: &[u8]| matches!(line, b"\n" | b"\r\n");
    let mut text = content(&lines[at][mark.min(lines[at].len())..]);
    let mut next = at + 1;
    // Empty lines belong to it only if it goes on after them.
    while let Some(blanks) = lines[next..].iter().position(|line| !is_blank(line))
        && let Some(rest) = lines[next + blanks].strip_prefix(b"  ")
    {
        text.push_str(&"\n".repeat(blanks + 1));
        text.push_str(&content(rest));
        next += blanks + 1;
    }
    (text, next)
}

/// An id as we write them; nothing else can be one.
fn id(says: &marker::Attributes<'_>) -> Option<String> {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    says.get("id").filter(|id| (4..=40).contains(&id.len()) && id.bytes().all(is_hex))
}

/// A time as we write them; empty if it is none.
fn time(says: &marker::Attributes<'_>, key: &str) -> String {
    let time = says.text(key);
    if time.len() == 20 && time.ends_with('Z') && clock::parse_stamp(&time).is_some() { time } else { String::new() }
}

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
        let marked = marker::read(line, "item").and_then(|says| Some((id(&says)?, says)));
        let bullet = if marked.is_some() { at + 1 } else { at };
        let is_bullet = lines.get(bullet).is_some_and(|line| line.starts_with(b"- ") || line.starts_with(b"* "));
        let gone =
            marker::read(line, "gone").and_then(|says| Some(Tombstone { id: id(&says)?, at: time(&says, "at") }));
        // Where the end was lost, what people wrote below must not become a part of it.
        let is_ours = line.trim_ascii().is_empty() || line.starts_with(b" ") || line.trim_ascii_end() == heading;
        let follows = matches!(section.parts.last(), Some(SectionPart::Item(..) | SectionPart::Tombstone(..)));
        let is_item = is_bullet && (marked.is_some() || follows);
        if close.is_none() && gone.is_none() && !is_item && !is_ours {
            return (section, at);
        }
        if let Some(gone) = gone {
            section.parts.push(SectionPart::Tombstone(gone, line.to_vec()));
            at += 1;
        } else if is_bullet {
            let (text, next) = read_bullet(&lines[..end], bullet, 2);
            let body = lines[bullet..next].concat();
            let item = by_hand(&section.category, text.trim());
            let item = Item { bytes: if std::str::from_utf8(&body).is_ok() { Vec::new() } else { body }, ..item };
            let item = match marked {
                Some((id, says)) => Item {
                    id,
                    at: time(&says, "at"),
                    since: time(&says, "since"),
                    run: says.text("run"),
                    commit: says.text("commit"),
                    ..item
                },
                None => item,
            };
            section.parts.push(SectionPart::Item(item, lines[at..next].concat()));
            at = next;
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

fn header_date(file: &[u8]) -> Option<NaiveDate> {
    let line = std::str::from_utf8(file.split(|byte| *byte == b'\n').next()?).ok()?.trim_end();
    let line = line.trim_start_matches('\u{feff}');
    line.strip_prefix("<!-- agent-handover | layer2 | ")?.strip_suffix(" -->")?.parse().ok()
}

fn after_first_line(file: &[u8]) -> &[u8] {
    file.iter().position(|byte| *byte == b'\n').map_or(&[], |at| &file[at + 1..])
}

#[cfg(test)]
mod tests;
