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
//! an item like any other and gets its marker with the next change.

use chrono::NaiveDate;

use super::change::{Change, Verb};
use super::{header, marker};
use crate::base::text;
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
    /// When it was last said, in UTC.
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
    /// The run that has done this since, if another was faster: then only what is appended still counts.
    pub is_late: bool,
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
                Some((name, attributes.text("cleared")))
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
        state
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
    pub fn text(&self) -> String {
        let mut text: Vec<u8> = self.sections.iter().flat_map(|section| section.before.iter().copied()).collect();
        text.extend(&self.rest);
        let body = if header_date(&text).is_some() { after_first_line(&text) } else { &text };
        String::from_utf8_lossy(&marker::unescape(body, &MARKERS)).into_owned()
    }

    /// The day in the header line, which is the day the free text was written.
    pub fn date(&self) -> Option<NaiveDate> {
        header_date(self.sections.first().map_or(&self.rest, |section| &section.before))
    }

    /// Replaces the free text, and nothing else. What it was is told, unless it is the same.
    pub fn set_text(&mut self, date: NaiveDate, new: &str) -> Option<Change> {
        let old = tidy(&self.text());
        let mut text = header("layer2", date).into_bytes();
        text.extend_from_slice(&marker::escape(new.as_bytes(), &MARKERS));
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
        (!old.is_empty() && old != tidy(new)).then(|| Change {
            verb: Verb::Replaced,
            category: "text".to_owned(),
            id: id_of("text", &old, 0),
            text: old,
        })
    }

    /// New items for a category, taking the place of what is there or joining it.
    pub fn put(&mut self, category: &Category, texts: &[String], by: &By) -> Vec<Change> {
        let is_newer = |section: &Section| section.category == category.name && section.cleared > by.at;
        if category.mode == Mode::Clear && (by.is_late || self.sections.iter().any(is_newer)) {
            return Vec::new();
        }
        let mut texts: Vec<String> = texts.iter().map(|text| tidy(text)).filter(|text| !text.is_empty()).collect();
        let mut seen = std::collections::HashSet::new();
        texts.retain(|text| seen.insert(text.clone()));
        if texts.is_empty() {
            return Vec::new();
        }
        let mut changes = Vec::new();
        // Of what was said at once, nothing is older: the first of a list are those that were meant to come first.
        let beyond = texts.split_off(texts.len().min(category.keep));
        if category.mode == Mode::Clear {
            let section = self.section(&category.name);
            section.cleared = by.at.clone();
            section.touch();
            changes.extend(section.remove(Verb::Cleared, |item| !texts.contains(&item.text)));
        }
        for text in &texts {
            changes.extend(self.say(&category.name, text, by));
        }
        if category.mode == Mode::Clear {
            self.section(&category.name).order_by(&texts);
        }
        for text in beyond {
            let id = self.free_id(&category.name, &text);
            let change = |verb| Change { verb, category: category.name.clone(), id: id.clone(), text: text.clone() };
            changes.extend([change(Verb::Added), change(Verb::Dropped)]);
        }
        changes.extend(self.section(&category.name).cap(category.keep));
        changes
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

    /// Gives items that somebody wrote by hand the marker of an item.
    pub fn adopt(&mut self, by: &By) {
        for section in &mut self.sections {
            for part in &mut section.parts {
                if let Part::Item(item, raw) = part
                    && item.at.is_empty()
                {
                    item.at.clone_from(&by.at);
                    item.run.clone_from(&by.run);
                    item.commit.clone_from(&by.commit);
                    *raw = write_item(item);
                }
            }
        }
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
            // An old session that is late says nothing new about when it was last said.
            Some(known) if known.at >= by.at => return None,
            Some(known) => Item {
                since: if known.since.is_empty() { known.at.clone() } else { known.since.clone() },
                ..item(known.id.clone(), text, by)
            },
            None => item(self.free_id(category, text), text, by),
        };
        let change =
            Change { verb: Verb::Added, category: category.to_owned(), id: item.id.clone(), text: text.to_owned() };
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
                let (category, id, text) = (self.category.clone(), item.id.clone(), item.text.clone());
                changes.push(Change { verb, category, id, text });
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

    /// Puts the items with these texts in this order, in the places that items have.
    fn order_by(&mut self, texts: &[String]) {
        let rank = |item: &Item| texts.iter().position(|text| *text == item.text).unwrap_or(usize::MAX);
        let mut items: Vec<Part> = Vec::new();
        let mut places = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            if let Part::Item(..) = part {
                places.push(at);
                items.push(part.clone());
            }
        }
        items.sort_by_key(|part| if let Part::Item(item, _) = part { rank(item) } else { usize::MAX });
        for (at, item) in places.into_iter().zip(items) {
            self.parts[at] = item;
        }
    }

    /// Drops the oldest beyond so many.
    fn cap(&mut self, keep: usize) -> Vec<Change> {
        let mut changes = Vec::new();
        while self.items().count() > keep {
            let Some(oldest) = self.items().min_by(|a, b| a.at.cmp(&b.at)).map(|item| item.id.clone()) else { break };
            changes.extend(self.remove(Verb::Dropped, |item| item.id == oldest));
        }
        changes
    }
}

fn item(id: String, text: &str, by: &By) -> Item {
    Item {
        id,
        text: text.to_owned(),
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
    format!("{}\n- {}\n", marker::line("item", &attributes), indent(&item.text)).into_bytes()
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
        String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
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

fn read_section(lines: &[&[u8]], start: usize, category: String, cleared: String) -> (Section, usize) {
    let mut section = Section {
        category,
        cleared,
        before: Vec::new(),
        open: lines[start].to_vec(),
        parts: Vec::new(),
        close: Vec::new(),
    };
    let mut at = start + 1;
    while at < lines.len() {
        let line = lines[at];
        if marker::read(line, "/section").is_some() {
            section.close = line.to_vec();
            return (section, at + 1);
        }
        if marker::read(line, "section").is_some() {
            break;
        }
        let marked = marker::read(line, "item").and_then(|attributes| Some((attributes.get("id")?, attributes)));
        let bullet = if marked.is_some() { at + 1 } else { at };
        let is_bullet = lines.get(bullet).is_some_and(|line| line.starts_with(b"- ") || line.starts_with(b"* "));
        if let Some(gone) = marker::read(line, "gone")
            && let Some(id) = gone.get("id")
        {
            section.parts.push(Part::Gone(Gone { id, at: gone.text("at") }, line.to_vec()));
            at += 1;
        } else if is_bullet {
            let (text, next) = read_bullet(lines, bullet, 2);
            let text = text.trim().to_owned();
            let item = match marked {
                Some((id, says)) => Item {
                    id,
                    at: says.text("at"),
                    since: says.text("since"),
                    run: says.text("run"),
                    commit: says.text("commit"),
                    text,
                },
                None => Item {
                    id: id_of(&section.category, &text, 0),
                    at: String::new(),
                    since: String::new(),
                    run: String::new(),
                    commit: String::new(),
                    text,
                },
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
    (section, at)
}

fn header_date(file: &[u8]) -> Option<NaiveDate> {
    let line = std::str::from_utf8(file.split(|byte| *byte == b'\n').next()?).ok()?.trim_end();
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
            is_late: false,
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
    fn what_is_late_joins_and_replaces_nothing() {
        let mut state = State::default();
        state.put(&category("goal"), &owned(&["new"]), &by(9));
        state.put(&category("decision"), &owned(&["new"]), &by(9));
        let late = By { is_late: true, ..by(1) };
        assert_eq!(state.put(&category("goal"), &owned(&["old"]), &late), []);
        state.put(&category("decision"), &owned(&["old"]), &late);
        assert_eq!(texts(&state, "goal"), ["new"]);
        assert_eq!(texts(&state, "decision"), ["old", "new"]);
        // Not flagged as late, but older than what is there.
        assert_eq!(state.put(&category("goal"), &owned(&["old"]), &by(1)), []);
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
            state.set_text("2026-11-15".parse().unwrap(), &free);
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
            prop_assert_eq!(tidy(&read.text()), tidy(&free));
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
