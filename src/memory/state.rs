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

use super::change::{Change, Verb};
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
pub struct By {
    pub at: String,
    pub run: String,
    pub commit: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub sections: Vec<Section>,
    /// What stands after the last section; all there is, without one.
    rest: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub category: String,
    /// When it was last emptied or replaced as a whole; empty if never.
    pub cleared: String,
    /// What stands between the section before and this one.
    before: Vec<u8>,
    open: Vec<u8>,
    parts: Vec<Part>,
    close: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// With the bytes it was read from, so that what nobody changes is not changed.
    Item(Item, Vec<u8>),
    Gone(Gone, Vec<u8>),
    Text(Vec<u8>),
}

/// An item that was deleted or done, remembered so that another machine's copy does not bring it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    pub id: String,
    pub at: String,
}

/// An item as it comes in: line ends are `\n`, and nothing but text stands at its ends.
pub fn tidy(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").trim().to_owned()
}

impl State {
    pub fn parse(file: &[u8]) -> State {
        let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
        let mut state = State::default();
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
                if let Part::Item(item, _) = part
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
    pub fn set_text(&mut self, date: NaiveDate, new: &[u8]) -> Option<Change> {
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
    pub fn put(&mut self, category: &Category, texts: &[String], by: &By) -> Vec<Change> {
        let mut seen = HashSet::new();
        let mut texts: Vec<String> = texts.iter().map(|text| tidy(text)).filter(|text| !text.is_empty()).collect();
        texts.retain(|text| seen.insert(text.clone()));
        let name = category.name.as_str();
        if self.sections.iter().any(|section| section.category == name && section.cleared > by.at) {
            let known: HashSet<&str> =
                self.items().filter(|(of, _)| *of == name).map(|(_, item)| &*item.text).collect();
            texts.retain(|text| !known.contains(text.as_str()));
            return self.pass(name, &texts, Verb::Cleared);
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
            changes.extend(section.remove(Verb::Cleared, |item| item.at <= by.at && !texts.contains(&item.text)));
        }
        for text in &texts {
            changes.extend(self.say(name, text, by));
        }
        if category.mode == Mode::Clear {
            let place = |item: &Item| texts.iter().position(|text| *text == item.text).unwrap_or(usize::MAX);
            self.section(name).order_by(place);
        }
        changes.extend(self.pass(name, &beyond, Verb::Dropped));
        changes.extend(self.section(name).cap(category.keep));
        changes
    }

    /// What came and went at once is only told.
    fn pass(&self, category: &str, texts: &[String], verb: Verb) -> Vec<Change> {
        let told = texts.iter().flat_map(|text| {
            let id = self.free_id(category, text);
            let change = |verb| Change { verb, category: category.to_owned(), id: id.clone(), text: text.clone() };
            [change(Verb::Added), change(verb)]
        });
        told.collect()
    }

    /// One item more, whatever the mode of its category.
    pub fn add(&mut self, category: &Category, text: &str, by: &By) -> Vec<Change> {
        self.put(&Category { mode: Mode::Append, ..category.clone() }, &[text.to_owned()], by)
    }

    /// Empties a category.
    pub fn clear(&mut self, category: &str, by: &By) -> Vec<Change> {
        let section = self.section(category);
        section.cleared = by.at.clone();
        section.touch();
        section.remove(Verb::Cleared, |_| true)
    }

    /// Takes one item out, for good.
    pub fn remove(&mut self, id: &str, verb: Verb, by: &By) -> Vec<Change> {
        let mut changes = Vec::new();
        for section in &mut self.sections {
            let found = section.remove(verb, |item| item.id == id);
            if !found.is_empty() {
                section.remember(Gone { id: id.to_owned(), at: by.at.clone() });
            }
            changes.extend(found);
        }
        changes
    }

    /// Puts in order what people and tools left: one section for each category, and a marker with an id of its own for
    /// each item that was written by hand.
    pub fn adopt(&mut self, by: &By) -> Vec<Change> {
        let mut changes = self.fold();
        let marked = self.items().filter(|(_, item)| !item.at.is_empty());
        let mut taken: HashSet<String> = marked.map(|(_, item)| item.id.clone()).collect();
        for section in &mut self.sections {
            for part in &mut section.parts {
                if let Part::Item(item, raw) = part
                    && item.at.is_empty()
                {
                    let others = (1..).map(|salt| id_of(&section.category, &item.text, salt));
                    let mut ids = std::iter::once(item.id.clone()).chain(others);
                    item.id = ids.find(|id| taken.insert(id.clone())).unwrap_or_default();
                    item.at.clone_from(&by.at);
                    item.run.clone_from(&by.run);
                    item.commit.clone_from(&by.commit);
                    *raw = write_item(item);
                    changes.push(Change::of(Verb::Added, &section.category, item));
                }
            }
        }
        changes
    }

    /// Several sections of one category, as a merge by line leaves them, become the first of them.
    fn fold(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut at = 0;
        while at < self.sections.len() {
            let is_same = |section: &Section| section.category == self.sections[at].category;
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
        gone: Vec<Gone>,
        texts: &[Vec<u8>],
    ) {
        let section = self.section(category);
        section.cleared = cleared.to_owned();
        section.parts.retain(|part| matches!(part, Part::Text(_)));
        section.parts.extend(texts.iter().cloned().map(Part::Text));
        section.parts.extend(items.into_iter().map(|item| {
            let raw = write_item(&item);
            Part::Item(item, raw)
        }));
        section.touch();
        for gone in gone {
            section.remember(gone);
        }
    }

    fn say(&mut self, category: &str, text: &str, by: &By) -> Option<Change> {
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
        let change = Change::of(Verb::Added, category, &item);
        let section = self.section(category);
        section.parts.retain(|part| match part {
            Part::Item(old, _) => old.id != item.id,
            Part::Gone(gone, _) => gone.id != item.id,
            Part::Text(_) => true,
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
    fn section(&mut self, category: &str) -> &mut Section {
        let at = match self.sections.iter().position(|section| section.category == category) {
            Some(at) => at,
            None => self.insert_section(category),
        };
        &mut self.sections[at]
    }

    fn insert_section(&mut self, category: &str) -> usize {
        let is_before = |section: &Section| rank(&section.category) < rank(category);
        let at = self.sections.iter().rposition(is_before).map_or(0, |at| at + 1);
        let mut section = Section::new(category);
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

impl Section {
    fn new(category: &str) -> Section {
        let mut section = Section {
            category: category.to_owned(),
            cleared: String::new(),
            before: Vec::new(),
            open: Vec::new(),
            parts: vec![Part::Text(format!("## {}\n\n", title(category)).into_bytes())],
            close: Vec::new(),
        };
        section.touch();
        section
    }

    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.parts.iter().filter_map(|part| match part {
            Part::Item(item, _) => Some(item),
            _ => None,
        })
    }

    pub fn gone(&self) -> impl Iterator<Item = &Gone> {
        self.parts.iter().filter_map(|part| match part {
            Part::Gone(gone, _) => Some(gone),
            _ => None,
        })
    }

    /// What people wrote into it, without the heading and blank lines.
    pub(super) fn texts(&self) -> Vec<Vec<u8>> {
        let heading = format!("## {}\n\n", title(&self.category)).into_bytes();
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.strip_prefix(heading.as_slice()).unwrap_or(text)),
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
                Part::Item(_, raw) | Part::Gone(_, raw) | Part::Text(raw) => {
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
        let is_older = |part: &Part| matches!(part, Part::Item(old, _) if old.at <= item.at);
        let is_item = |part: &Part| matches!(part, Part::Item(..));
        let is_gone = |part: &Part| matches!(part, Part::Gone(..));
        let at = self.parts.iter().rposition(is_older).map(|at| at + 1);
        let at = at.or_else(|| self.parts.iter().position(is_item));
        let at = at.or_else(|| self.parts.iter().position(is_gone)).unwrap_or(self.parts.len());
        let raw = write_item(&item);
        self.parts.insert(at, Part::Item(item, raw));
        self.touch();
    }

    fn remove(&mut self, verb: Verb, is_meant: impl Fn(&Item) -> bool) -> Vec<Change> {
        let mut changes = Vec::new();
        self.parts.retain(|part| match part {
            Part::Item(item, _) if is_meant(item) => {
                changes.push(Change::of(verb, &self.category, item));
                false
            }
            _ => true,
        });
        changes
    }

    fn remember(&mut self, gone: Gone) {
        let raw = format!("{}\n", marker::line("gone", &[("id", &gone.id), ("at", &gone.at)])).into_bytes();
        self.parts.push(Part::Gone(gone, raw));
        let mut beyond = self.gone().count().saturating_sub(REMEMBERED);
        self.parts.retain(|part| {
            let goes = matches!(part, Part::Gone(..)) && beyond > 0;
            beyond -= usize::from(goes);
            !goes
        });
        self.touch();
    }

    /// Takes in another section of the same category. What the later of both made way for is not brought back.
    fn take_in(&mut self, copy: Section) -> Vec<Change> {
        let texts = self.texts();
        self.parts.extend(copy.texts().into_iter().filter(|text| !texts.contains(text)).map(Part::Text));
        let known: HashSet<(String, Vec<u8>)> =
            self.items().map(|item| (item.text.clone(), item.bytes.clone())).collect();
        self.parts.extend(copy.parts.into_iter().filter(|part| match part {
            Part::Item(item, _) => !known.contains(&(item.text.clone(), item.bytes.clone())),
            Part::Gone(..) => true,
            Part::Text(_) => false,
        }));
        self.cleared = std::mem::take(&mut self.cleared).max(copy.cleared);
        self.touch();
        self.order_by(|item| (item.at.is_empty(), item.at.clone()));
        let cleared = self.cleared.clone();
        self.remove(Verb::Cleared, |item| !item.at.is_empty() && item.at < cleared)
    }

    /// Puts the items in this order, in the places that items have.
    fn order_by<K: Ord>(&mut self, key: impl Fn(&Item) -> K) {
        let mut items: Vec<(K, Part)> = Vec::new();
        let mut places = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            if let Part::Item(item, _) = part {
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
    fn cap(&mut self, keep: usize) -> Vec<Change> {
        let beyond = self.items().count().saturating_sub(keep);
        let passed = std::cell::Cell::new(0);
        self.remove(Verb::Dropped, |_| passed.replace(passed.get() + 1) < beyond)
    }
}

/// The free text that another takes the place of, unless it says nothing.
pub(super) fn replaced(old: &[u8]) -> Option<Change> {
    let text = readable(old);
    let id = id_of("text", &text, 0);
    (!text.is_empty()).then(|| Change { verb: Verb::Replaced, category: "text".to_owned(), id, text })
}

/// What a text says, for comparing and telling.
pub(super) fn readable(text: &[u8]) -> String {
    tidy(&text::of_bytes(text))
}

/// An item without a marker.
fn by_hand(category: &str, text: &str) -> Item {
    let nobody = By { at: String::new(), run: String::new(), commit: String::new() };
    item(id_of(category, text, 0), text, &nobody)
}

fn item(id: String, text: &str, by: &By) -> Item {
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

fn read_section(lines: &[&[u8]], start: usize, category: String, cleared: String) -> (Section, usize) {
    let mut section = Section {
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
        let gone = marker::read(line, "gone").and_then(|says| Some(Gone { id: id(&says)?, at: time(&says, "at") }));
        // Where the end was lost, what people wrote below must not become a part of it.
        let is_ours = line.trim_ascii().is_empty() || line.starts_with(b" ") || line.trim_ascii_end() == heading;
        let follows = matches!(section.parts.last(), Some(Part::Item(..) | Part::Gone(..)));
        let is_item = is_bullet && (marked.is_some() || follows);
        if close.is_none() && gone.is_none() && !is_item && !is_ours {
            return (section, at);
        }
        if let Some(gone) = gone {
            section.parts.push(Part::Gone(gone, line.to_vec()));
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
            section.parts.push(Part::Item(item, lines[at..next].concat()));
            at = next;
        } else {
            match section.parts.last_mut() {
                Some(Part::Text(text)) => text.extend(line),
                _ => section.parts.push(Part::Text(line.to_vec())),
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::category::Categories;
    use crate::memory::change;

    fn by(second: u32) -> By {
        By {
            at: format!("2026-11-15T10:{:02}:{:02}Z", second / 60, second % 60),
            run: format!("R{second}"),
            commit: "1a2b3c".to_owned(),
        }
    }

    fn category(name: &str) -> Category {
        Categories::default().get(name)
    }

    fn texts(state: &State, category: &str) -> Vec<String> {
        state.items().filter(|(name, _)| *name == category).map(|(_, item)| item.text.clone()).collect()
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_section_is_written_as_documented() {
        let mut state = State::parse(b"<!-- agent-handover | layer2 | 2026-11-15 -->\nfree text");
        state.put(&category("decision"), &owned(&["use SQLite", "two\n\nparagraphs"]), &by(5));
        state.put(&category("goal"), &owned(&["ship"]), &by(5));
        assert_eq!(
            String::from_utf8(state.write()).unwrap(),
            "<!-- agent-handover | layer2 | 2026-11-15 -->\nfree text\n\n\
             <!-- section name=goal cleared=2026-11-15T10:00:05Z -->\n## Goal\n\n\
             <!-- item id=2d2445b0dd at=2026-11-15T10:00:05Z run=R5 commit=1a2b3c -->\n- ship\n<!-- /section -->\n\n\
             <!-- section name=decision -->\n## Decisions\n\n\
             <!-- item id=5a41864dfd at=2026-11-15T10:00:05Z run=R5 commit=1a2b3c -->\n- use SQLite\n\
             <!-- item id=de0ebc71f4 at=2026-11-15T10:00:05Z run=R5 commit=1a2b3c -->\n- two\n\n  paragraphs\n<!-- /section -->\n"
        );
        assert_eq!(State::parse(&state.write()), state);
    }

    #[test]
    fn full_categories_drop_the_oldest_and_never_the_newest() {
        let mut state = State::default();
        let mut dropped = Vec::new();
        for number in 0..40 {
            let changes = state.put(&category("decision"), &[format!("d{number}")], &by(number));
            dropped.extend(changes.into_iter().filter(|change| change.verb == Verb::Dropped).map(|change| change.text));
        }
        assert_eq!(texts(&state, "decision"), (25..40).map(|n| format!("d{n}")).collect::<Vec<_>>());
        assert_eq!(dropped, (0..25).map(|n| format!("d{n}")).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_said_at_once_keeps_its_order_and_its_first() {
        let mut state = State::default();
        let many = owned(&["c1", "c2", "c3", "c4", "c5", "c6", "c7"]);
        let changes = state.put(&category("constraint"), &many, &by(1));
        assert_eq!(texts(&state, "constraint"), ["c1", "c2", "c3", "c4", "c5"]);
        let dropped: Vec<_> = changes.iter().filter(|change| change.verb == Verb::Dropped).map(|c| &c.text).collect();
        assert_eq!(dropped, ["c6", "c7"]);
    }

    #[test]
    fn said_again_it_keeps_its_id_and_since_when() {
        let mut state = State::default();
        state.put(&category("open_loop"), &owned(&["a", "b"]), &by(1));
        let before: Vec<String> = state.items().map(|(_, item)| item.id.clone()).collect();
        let changes = state.put(&category("open_loop"), &owned(&["b", "c"]), &by(2));
        assert_eq!(texts(&state, "open_loop"), ["b", "c"]);
        let (_, b) = state.items().next().unwrap();
        assert_eq!(
            (b.id.as_str(), b.since.as_str(), b.at.as_str()),
            (before[1].as_str(), "2026-11-15T10:00:01Z", "2026-11-15T10:00:02Z")
        );
        let told: Vec<_> = changes.iter().map(|change| (change.verb, change.text.as_str())).collect();
        assert_eq!(told, [(Verb::Cleared, "a"), (Verb::Added, "c")]);
    }

    #[test]
    fn what_is_late_joins_and_replaces_nothing_that_is_newer() {
        let mut state = State::default();
        state.put(&category("goal"), &owned(&["new"]), &by(9));
        state.put(&category("decision"), &owned(&["new"]), &by(9));
        let told = |changes: Vec<Change>| -> Vec<_> { changes.into_iter().map(|it| (it.verb, it.text)).collect() };
        let passed = [(Verb::Added, "old".to_owned()), (Verb::Cleared, "old".to_owned())];
        assert_eq!(told(state.put(&category("goal"), &owned(&["old", "new"]), &by(1))), passed);
        state.put(&category("decision"), &owned(&["old"]), &by(1));
        assert_eq!(texts(&state, "goal"), ["new"]);
        assert_eq!(texts(&state, "decision"), ["old", "new"]);
        // Nothing newer was said of these: they count, and what was added since stays.
        state.add(&category("open_loop"), "added since", &by(9));
        state.put(&category("open_loop"), &owned(&["late"]), &by(1));
        assert_eq!(texts(&state, "open_loop"), ["late", "added since"]);
        // Emptied since, it stays so.
        state.clear("decision", &by(10));
        assert_eq!(told(state.put(&category("decision"), &owned(&["old"]), &by(1))), passed);
        assert_eq!(texts(&state, "decision"), [""; 0]);
    }

    #[test]
    fn full_categories_drop_by_their_order_whatever_the_clock_said() {
        let mut state = State::default();
        for number in 0..15 {
            state.put(&category("decision"), &[format!("d{number}")], &by(50));
        }
        let file = String::from_utf8(state.write()).unwrap().replacen("2026-11-15", "2062-11-15", 1);
        let mut state = State::parse(file.as_bytes());
        assert!(state.newest().starts_with("2062"));
        let now = By { at: state.newest().to_owned(), ..by(60) };
        let changes = state.put(&category("decision"), &owned(&["new"]), &now);
        assert_eq!(texts(&state, "decision").last().unwrap(), "new");
        assert_eq!(changes.last().map(|change| (change.verb, change.text.as_str())), Some((Verb::Dropped, "d0")));
        // A time that is none is no time.
        let file = String::from_utf8(state.write()).unwrap().replace("2062-11-15T10:00:50Z", "zzzz");
        assert!(State::parse(file.as_bytes()).newest().starts_with("2026"));
    }

    #[test]
    fn a_copied_marker_marks_nothing() {
        let mut state = State::default();
        state.put(&category("decision"), &owned(&["original"]), &by(1));
        let file = String::from_utf8(state.write()).unwrap();
        let start = file.find("<!-- item").unwrap();
        let copy = file[start..].replace("original", "copy");
        let mut state = State::parse(format!("{}{copy}", &file[..file.len() - CLOSE.len()]).as_bytes());
        let changes = state.adopt(&by(2));
        assert_eq!(changes.iter().map(|change| change.text.as_str()).collect::<Vec<_>>(), ["copy"]);
        let ids: Vec<String> = state.items().map(|(_, item)| item.id.clone()).collect();
        assert_ne!(ids[0], ids[1]);
        state.remove(&ids[0], Verb::Deleted, &by(3));
        assert_eq!(texts(&State::parse(&state.write()), "decision"), ["copy"]);
    }

    #[test]
    fn only_an_id_as_we_write_them_is_one() {
        for id in ["x:%20y%0A-%20added", "ABCDEF", "abc", "a%0Ab0", &"a".repeat(41)] {
            let file =
                format!("<!-- section name=goal -->\n<!-- item id={id} at=2026-11-15T10:00:05Z -->\n- g\n{CLOSE}");
            let state = State::parse(file.as_bytes());
            assert_eq!(state.items().next().unwrap().1.id, id_of("goal", "g", 0));
            assert_eq!(state.write(), file.as_bytes());
        }
    }

    #[test]
    fn sections_that_a_merge_doubled_become_one() {
        let mut state = State::default();
        state.put(&category("goal"), &owned(&["stale"]), &by(1));
        state.put(&category("decision"), &owned(&["a", "b"]), &by(1));
        let mut newer = State::parse(&state.write());
        newer.put(&category("goal"), &owned(&["true"]), &by(5));
        newer.put(&category("decision"), &owned(&["c"]), &by(5));
        let both = [state.write(), b"\nmine\n".to_vec(), newer.write(), b"the end\n".to_vec()].concat();
        let mut state = State::parse(&both);
        let changes = state.adopt(&by(6));
        assert_eq!((texts(&state, "goal"), texts(&state, "decision")), (owned(&["true"]), owned(&["a", "b", "c"])));
        assert_eq!(
            changes.iter().map(|it| (it.verb, it.text.as_str())).collect::<Vec<_>>(),
            [(Verb::Cleared, "stale")]
        );
        let file = String::from_utf8(state.write()).unwrap();
        assert!(file.contains("\nmine\n") && file.ends_with("the end\n"), "{file}");
        assert_eq!(State::parse(file.as_bytes()), state);
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        let file = b"caf\xe9\n\n<!-- section name=decision -->\n- caf\xe9\n  a\xff\n- plain\n<!-- /section -->\n";
        let mut state = State::parse(file);
        state.adopt(&by(1));
        state.put(&category("decision"), &owned(&["d"]), &by(2));
        let written = state.write();
        assert!(memchr::memmem::find(&written, b"\n- caf\xe9\n  a\xff\n").is_some());
        assert_eq!(texts(&State::parse(&written), "decision"), ["caf\\xe9\na\\xff", "plain", "d"]);
        let told = state.set_text("2026-11-15".parse().unwrap(), b"new").unwrap();
        assert_eq!(told.text, "caf\\xe9");
    }

    #[test]
    fn below_a_lost_end_the_words_of_people_stay_theirs() {
        let mut state = State::default();
        state.put(&category("decision"), &owned(&["d"]), &by(1));
        let file = String::from_utf8(state.write()).unwrap().replace(CLOSE, "- by hand\n\n# Mine\n- my own bullet\n");
        let mut state = State::parse(file.as_bytes());
        assert_eq!(texts(&state, "decision"), ["d", "by hand"]);
        state.adopt(&by(2));
        state.put(&category("decision"), &owned(&["e"]), &by(2));
        let written = String::from_utf8(state.write()).unwrap();
        assert!(written.ends_with(&format!("{CLOSE}# Mine\n- my own bullet\n")), "{written}");
    }

    #[test]
    fn a_byte_order_mark_does_not_hide_the_header() {
        let mut state = State::parse("\u{feff}<!-- agent-handover | layer2 | 2026-11-15 -->\nold\n".as_bytes());
        assert_eq!(state.set_text("2026-11-16".parse().unwrap(), b"new").unwrap().text, "old");
    }

    #[test]
    fn an_edited_item_keeps_its_id_and_one_written_by_hand_gets_one() {
        let mut state = State::default();
        state.put(&category("decision"), &owned(&["typpo"]), &by(1));
        let id = state.items().next().unwrap().1.id.clone();
        let file = String::from_utf8(state.write()).unwrap().replace("- typpo\n", "- typo\n- by hand\n  and more\n");
        let mut state = State::parse(file.as_bytes());
        assert_eq!(String::from_utf8(state.write()).unwrap(), file, "reading changes nothing");
        assert_eq!(texts(&state, "decision"), ["typo", "by hand\nand more"]);
        assert_eq!(state.items().next().unwrap().1.id, id);
        state.adopt(&by(2));
        // What it was is said again: it is another item now.
        state.put(&category("decision"), &owned(&["typpo"]), &by(3));
        let ids: std::collections::BTreeSet<_> = state.items().map(|(_, item)| item.id.clone()).collect();
        assert_eq!(ids.len(), 3);
        assert_eq!(State::parse(&state.write()).items().count(), 3);
    }

    #[test]
    fn a_lost_end_marker_costs_nothing() {
        let mut state = State::default();
        state.put(&category("goal"), &owned(&["ship"]), &by(1));
        state.put(&category("decision"), &owned(&["d"]), &by(1));
        let file = String::from_utf8(state.write()).unwrap().replace(CLOSE, "") + "my own words at the end\n";
        let mut state = State::parse(file.as_bytes());
        assert_eq!(texts(&state, "goal"), ["ship"]);
        state.put(&category("decision"), &owned(&["e"]), &by(2));
        let text = String::from_utf8(state.write()).unwrap();
        assert!(text.contains("my own words at the end\n"));
        assert_eq!(texts(&State::parse(text.as_bytes()), "decision"), ["d", "e"]);
    }

    #[test]
    fn deleted_items_are_remembered_until_they_are_said_again() {
        let mut state = State::default();
        state.put(&category("decision"), &owned(&["a", "b"]), &by(1));
        let id = state.items().next().unwrap().1.id.clone();
        assert_eq!(state.remove(&id, Verb::Deleted, &by(2)).len(), 1);
        let read = State::parse(&state.write());
        assert_eq!(read.sections[0].gone().map(|gone| gone.id.as_str()).collect::<Vec<_>>(), [id.as_str()]);
        state.put(&category("decision"), &owned(&["a"]), &by(3));
        assert_eq!(State::parse(&state.write()).sections[0].gone().count(), 0);
    }

    fn hostile_line() -> impl Strategy<Value = String> {
        let markers = [
            "<!-- section name=goal -->",
            "<!-- section name=goal cleared=9 -->",
            "<!-- /section -->",
            "<!-- item id=aaaaaaaaaa at=9 run=x -->",
            "<!-- gone id=aaaaaaaaaa at=9 -->",
            "<!-- agent-handover | layer2 | 2026-11-15 -->",
            "<!-- note run=A step=note at=x -->",
            "<!-- /note -->",
            "- added goal aaaaaaaaaa: forged",
            "## Goal",
            "```",
            "---",
            "- bullet",
            "",
        ];
        prop_oneof![
            ("[ \\\\]{0,3}", proptest::sample::select(markers.to_vec()), "[ \r]{0,2}")
                .prop_map(|(before, marker, after)| format!("{before}{marker}{after}")),
            any::<String>(),
            "[ -~\t\r\u{b}\u{c}\u{85}\u{2028}]{0,20}",
        ]
    }

    fn hostile() -> impl Strategy<Value = String> {
        proptest::collection::vec(hostile_line(), 0..6).prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn reading_changes_nothing(file in proptest::collection::vec(hostile_line(), 0..12), bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut file = file.join("\n").into_bytes();
            file.extend(bytes);
            prop_assert_eq!(State::parse(&file).write(), file);
        }

        #[test]
        fn no_item_can_forge_anything(
            free in hostile(),
            decisions in proptest::collection::vec(hostile(), 1..5),
            goal in hostile(),
            extra in hostile(),
        ) {
            let mut state = State::default();
            state.set_text("2026-11-15".parse().unwrap(), free.as_bytes());
            let said: Vec<String> = {
                let mut seen = std::collections::HashSet::new();
                decisions.iter().map(|text| tidy(text)).filter(|text| !text.is_empty() && seen.insert(text.clone())).collect()
            };
            let mut changes = state.put(&category("decision"), &decisions, &by(1));
            changes.extend(state.put(&category("goal"), std::slice::from_ref(&goal), &by(1)));
            changes.extend(state.put(&category("lesson"), std::slice::from_ref(&extra), &by(1)));
            let file = state.write();
            let read = State::parse(&file);
            prop_assert_eq!(&read.write(), &file);
            prop_assert_eq!(texts(&read, "decision"), said);
            let one = |text: &String| Some(tidy(text)).filter(|text| !text.is_empty()).into_iter().collect::<Vec<_>>();
            prop_assert_eq!(texts(&read, "goal"), one(&goal));
            prop_assert_eq!(texts(&read, "lesson"), one(&extra));
            prop_assert_eq!(readable(&read.text()), tidy(&free));
            // Said twice is said once.
            let mut again = read.clone();
            prop_assert_eq!(again.put(&category("decision"), &decisions, &by(1)), []);
            prop_assert_eq!(again.put(&category("goal"), &[goal], &by(1)), []);
            prop_assert_eq!(again.write(), file);
            // What is told of it in layer 1 comes back, too.
            prop_assert_eq!(change::parse(&change::write(&changes)), changes);
        }

        #[test]
        fn free_text_of_others_stays_to_the_byte(before in hostile(), after in hostile()) {
            // Without markers of ours, any file is free text.
            let plain = |text: &str| text.lines().map(|line| line.trim_start_matches('<')).collect::<Vec<_>>().join("\n");
            let (before, after) = (plain(&before), plain(&after));
            let mut state = State::parse(before.as_bytes());
            state.put(&category("decision"), &owned(&["d"]), &by(1));
            let mut file = state.write();
            prop_assert!(file.starts_with(before.as_bytes()));
            file.extend(after.as_bytes());
            let mut state = State::parse(&file);
            state.put(&category("decision"), &owned(&["e"]), &by(2));
            state.put(&category("goal"), &owned(&["g"]), &by(2));
            let file = state.write();
            prop_assert!(file.starts_with(before.as_bytes()));
            prop_assert!(file.ends_with(after.as_bytes()));
        }
    }
}
