//! The monthly archive in layer 3: a roll-up, then every note of a month and tag, verbatim and in the order of time.
//!
//! ```text
//! <!-- agent-handover | layer3 | 2026-10-31 -->
//! <!-- roll-up month=2026-10 tag=general -->
//! what the month came to, derived from what follows
//! <!-- /roll-up -->
//!
//! ## 2026-10-03
//!
//! <!-- note run=01K… step=note at=2026-10-03T10:04:05Z -->
//! as it stood in layer 1, to the byte
//! <!-- /note -->
//! <!-- text day=2026-10-03 after=2026-10-03T10:04:05Z -->
//! what people or other tools wrote beside the notes
//! <!-- /text -->
//! ```
//!
//! A pure function of the entries: whoever has the same ones writes the same bytes.

use std::borrow::Cow;
use std::ops::Range;

use chrono::{Datelike, NaiveDate};

use super::note::{self, Note, Span};
use super::{header, marker, rollup};

/// What text of others must not start a line with.
const MARKERS: [&str; 7] =
    ["<!-- text ", "<!-- /text", "<!-- note ", "<!-- /note", "<!-- roll-up", "<!-- /roll-up", "<!-- agent-handover |"];

const END_OF_TEXT: &[u8] = b"\n<!-- /text -->\n";

/// One thing that an archive holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveEntry<'a> {
    /// When it was written, as far as that is known: the sort key, and the day it stands under.
    pub time: Cow<'a, str>,
    /// A text of others, or a note.
    pub is_text: bool,
    /// As it stands in the archive.
    pub block: Cow<'a, [u8]>,
}

impl ArchiveEntry<'_> {
    fn key(&self) -> (&str, bool, &[u8]) {
        (&self.time, self.is_text, &self.block)
    }

    /// `None` for a text of others.
    pub fn note(&self) -> Option<Note> {
        if self.is_text { None } else { note::read(&self.block) }
    }

    /// Whether it is a note that tells how the current state changed.
    pub fn tells_changes(&self) -> bool {
        !self.is_text && note::attributes(&self.block).is_some_and(|says| says.has("changes"))
    }

    fn opening(&self) -> &[u8] {
        self.block.split(|byte| *byte == b'\n').next().unwrap_or_default()
    }

    pub fn content(&self) -> Cow<'_, [u8]> {
        if !self.is_text {
            return note::content(&self.block);
        }
        let start = memchr::memchr(b'\n', &self.block).map_or(self.block.len(), |at| at + 1);
        marker::unescape(self.block[start..].strip_suffix(END_OF_TEXT).unwrap_or_default(), &MARKERS)
    }
}

/// A finished month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Month {
    first: NaiveDate,
}

impl Month {
    /// `YYYY-MM`
    pub fn parse(text: &str) -> Option<Month> {
        let is_shaped = text.len() == 7 && text.as_bytes()[4] == b'-';
        let first: NaiveDate = is_shaped.then(|| format!("{text}-01").parse().ok())??;
        (first.format("%Y-%m").to_string() == text).then_some(Month { first })
    }

    pub fn of(date: NaiveDate) -> Month {
        Month { first: date.with_day(1).unwrap_or(date) }
    }

    /// The first day that is not in it any more.
    pub fn end(self) -> NaiveDate {
        self.first + chrono::Months::new(1)
    }
}

impl std::fmt::Display for Month {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.first.format("%Y-%m"))
    }
}

/// The entries of a layer-1 file.
pub fn of_notes(file: &[u8], day: NaiveDate) -> Vec<ArchiveEntry<'_>> {
    let mut entries: Vec<ArchiveEntry<'_>> = Vec::new();
    let header = header("layer1", day);
    let day = day.to_string();
    let mut after = Cow::Borrowed("");
    for span in note::spans(file) {
        match span {
            Span::Note(range) => {
                let entry = of_note(&file[range]);
                after.clone_from(&entry.time);
                entries.push(entry);
            }
            Span::Foreign(range) => {
                let text = &file[range.clone()];
                let text = if range.start == 0 { without_header(text, &header) } else { text };
                entries.extend(of_text(&day, &after, text));
            }
        }
    }
    entries
}

fn without_header<'t>(text: &'t [u8], header: &str) -> &'t [u8] {
    let body = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    body.strip_prefix(header.as_bytes()).unwrap_or(text)
}

fn of_note(block: &[u8]) -> ArchiveEntry<'_> {
    let time = note::attributes(block).and_then(|says| says.borrowed("at")).unwrap_or_default();
    // The last line of a file may lack its end, which is no part of the note.
    let block = match block.last() {
        Some(b'\n') => Cow::Borrowed(block),
        _ => Cow::Owned([block, b"\n"].concat()),
    };
    ArchiveEntry { time, is_text: false, block }
}

/// Nothing but space is no text.
fn of_text(day: &str, after: &str, text: &[u8]) -> Option<ArchiveEntry<'static>> {
    if text.trim_ascii().is_empty() {
        return None;
    }
    let mut block = marker::line("text", &[("day", day), ("after", after)]).into_bytes();
    block.push(b'\n');
    block.extend_from_slice(&marker::escape(text, &MARKERS));
    block.extend(END_OF_TEXT);
    let time = if after.is_empty() { day } else { after };
    Some(ArchiveEntry { time: Cow::Owned(time.to_owned()), is_text: true, block: Cow::Owned(block) })
}

/// The entries of an archive. What somebody wrote into it by hand is an entry, too.
pub fn parse(file: &[u8]) -> Vec<ArchiveEntry<'_>> {
    let mut reader =
        ArchiveReader { file, entries: Vec::new(), day: String::new(), after: Cow::Borrowed(""), loose: None };
    let mut start = 0;
    while start < file.len() {
        let end = end_of_line(file, start);
        let line = file[start..end].trim_ascii_end();
        let known = match line.first() {
            Some(b'<') => reader.block(line, start..end),
            Some(b'#') => reader.heading(line).then_some(end),
            _ => None,
        };
        match known {
            Some(next) => {
                reader.end_loose(start);
                start = next;
                reader.after_block();
            }
            None => {
                reader.loose.get_or_insert(start);
                start = end;
            }
        }
    }
    reader.end_loose(file.len());
    reader.entries
}

struct ArchiveReader<'a> {
    file: &'a [u8],
    entries: Vec<ArchiveEntry<'a>>,
    day: String,
    after: Cow<'a, str>,
    /// Where text began that is in no block.
    loose: Option<usize>,
}

impl<'a> ArchiveReader<'a> {
    /// A block that begins in this line: read, and where it ends. `None` if it is no block.
    fn block(&mut self, line: &[u8], first: Range<usize>) -> Option<usize> {
        if marker::read(line, "roll-up").is_some() {
            return self.closing(first.end, b"<!-- /roll-up -->").map(|(_, end)| end);
        }
        if let Some(says) = marker::read(line, "text") {
            let (content, end) = self.closing(first.end, b"<!-- /text -->")?;
            self.end_loose(first.start);
            let text = marker::unescape(content, &MARKERS);
            self.entries.extend(of_text(&says.text("day"), &says.text("after"), &text));
            return Some(end);
        }
        if note::is_opening(line) {
            let (content, end) = self.closing(first.end, b"<!-- /note -->")?;
            // An opening inside means that somebody lost the end of this one: then its first line is just text.
            if memchr::memchr(b'<', content).is_some() && content.split(|byte| *byte == b'\n').any(note::is_opening) {
                return None;
            }
            self.end_loose(first.start);
            self.entries.push(of_note(&self.file[first.start..end]));
            return Some(end);
        }
        (first.start == 0 && line.starts_with(b"<!-- agent-handover | layer3 | ")).then_some(first.end)
    }

    /// The heading of a day, which is written anew each time.
    fn heading(&mut self, line: &[u8]) -> bool {
        let day = std::str::from_utf8(line).ok().and_then(|line| line.strip_prefix("## "));
        let Some(day) = day.filter(|day| day.len() == 10 && day.parse::<NaiveDate>().is_ok()) else { return false };
        self.day = day.to_owned();
        true
    }

    /// What stands before the next line that is just this, and where that line ends.
    fn closing(&self, from: usize, close: &[u8]) -> Option<(&'a [u8], usize)> {
        let mut start = from;
        while start < self.file.len() {
            let end = end_of_line(self.file, start);
            if self.file[start] == b'<' && self.file[start..end].trim_ascii_end() == close {
                let content = &self.file[from..start];
                return Some((content.strip_suffix(b"\n").unwrap_or(content), end));
            }
            start = end;
        }
        None
    }

    fn end_loose(&mut self, end: usize) {
        if let Some(start) = self.loose.take() {
            let day = if self.day.is_empty() { "0000-00-00" } else { &self.day };
            self.entries.extend(of_text(day, &self.after, &self.file[start..end]));
        }
    }

    fn after_block(&mut self) {
        if let Some(ArchiveEntry { time, is_text: false, .. }) = self.entries.last() {
            self.after.clone_from(time);
        }
    }
}

fn end_of_line(file: &[u8], start: usize) -> usize {
    memchr::memchr(b'\n', &file[start..]).map_or(file.len(), |at| start + at + 1)
}

/// In their order, each once. A text that went on since it was archived is there once, as it is now.
pub fn sort(entries: &mut Vec<ArchiveEntry<'_>>) {
    entries.sort_by(|a, b| a.key().cmp(&b.key()));
    entries.dedup_by(|a, b| a.key() == b.key());
    let outgrown: Vec<bool> = (0..entries.len()).map(|at| is_outgrown(entries, at)).collect();
    let mut outgrown = outgrown.into_iter();
    entries.retain(|_| outgrown.next() != Some(true));
}

/// Whether another text of the same place begins with this one.
fn is_outgrown(entries: &[ArchiveEntry<'_>], at: usize) -> bool {
    let this = &entries[at];
    if !this.is_text {
        return false;
    }
    // Those of one place stand together, for their blocks begin with the same line.
    let is_near = |other: &&ArchiveEntry<'_>| other.is_text && other.opening() == this.opening();
    let others = entries[..at].iter().rev().take_while(is_near).chain(entries[at + 1..].iter().take_while(is_near));
    let text = this.content();
    others.into_iter().any(|other| match other.content().trim_ascii().strip_prefix(text.trim_ascii()) {
        // The same but for space around it: one of both.
        Some([]) => (other.block.len(), &other.block) > (this.block.len(), &this.block),
        rest => rest.is_some(),
    })
}

/// The archive that holds these, which are sorted.
pub fn write(month: Month, tag: &str, entries: &[ArchiveEntry<'_>]) -> Vec<u8> {
    let mut file = header("layer3", month.end().pred_opt().unwrap_or(month.first)).into_bytes();
    let month = month.to_string();
    file.extend(format!("{}\n", marker::line("roll-up", &[("month", &month), ("tag", tag)])).bytes());
    file.extend(rollup::write(&month, tag, entries).bytes());
    file.extend(b"<!-- /roll-up -->\n");
    file.reserve(entries.iter().map(|entry| entry.block.len()).sum::<usize>() + 1_000);
    let mut day = "";
    for entry in entries {
        let its_day = entry.time.get(..10).unwrap_or(&entry.time);
        if its_day != day {
            day = its_day;
            if day.parse::<NaiveDate>().is_ok() {
                file.extend(format!("\n## {day}\n\n").bytes());
            }
        }
        file.extend(entry.block.iter());
    }
    file
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory::note::Piece;

    fn line() -> impl Strategy<Value = String> {
        let markers = [
            "<!-- note run=A step=note at=2026-10-05T00:00:00Z -->",
            "<!-- /note -->",
            "<!-- text day=2026-10-05 -->",
            "<!-- /text -->",
            "<!-- roll-up month=2026-10 tag=x -->",
            "<!-- /roll-up -->",
            "<!-- agent-handover | layer1 | 2026-10-05 -->",
            "<!-- agent-handover | layer3 | 2026-10-31 -->",
            "## 2026-10-05",
            "",
        ];
        prop_oneof![
            ("\\\\{0,2}", proptest::sample::select(markers.to_vec()), "[ \r]{0,2}")
                .prop_map(|(before, marker, after)| format!("{before}{marker}{after}")),
            any::<String>(),
            "[a-c/.]{0,8}",
        ]
    }

    fn text() -> impl Strategy<Value = String> {
        proptest::collection::vec(line(), 0..4).prop_map(|lines| lines.join("\n"))
    }

    /// A day file as runs, people and the Python tool leave it.
    fn day_file() -> impl Strategy<Value = (u32, Vec<u8>)> {
        let piece = prop_oneof![
            (text(), 0..5u32, 0..3u32, any::<bool>()).prop_map(|(content, run, second, changes)| Ok(Note {
                run: format!("R{run}"),
                step: "note".to_owned(),
                at: format!("2026-10-0{}T00:00:0{second}Z", run + 1),
                agent: String::new(),
                changes: if changes { "abc".to_owned() } else { String::new() },
                content: content.into_bytes(),
            })),
            text().prop_map(Err),
        ];
        (1..6u32, any::<bool>(), proptest::collection::vec(piece, 0..6)).prop_map(|(day, headed, pieces)| {
            let date = NaiveDate::from_ymd_opt(2026, 10, day).unwrap();
            let mut file = if headed { header("layer1", date).into_bytes() } else { Vec::new() };
            for piece in pieces {
                match piece {
                    Ok(note) => file = note::put(&file, &note),
                    Err(text) => file.extend(text.bytes()),
                }
            }
            (day, file)
        })
    }

    fn entries(files: &[(u32, Vec<u8>)]) -> Vec<ArchiveEntry<'_>> {
        let mut all: Vec<ArchiveEntry<'_>> = files
            .iter()
            .flat_map(|(day, file)| of_notes(file, NaiveDate::from_ymd_opt(2026, 10, *day).unwrap()))
            .collect();
        sort(&mut all);
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn an_archive_holds_just_what_the_notes_said_whatever_way_they_came(
            files in proptest::collection::vec(day_file(), 0..6),
            late in 0..6usize,
        ) {
            let month = Month::parse("2026-10").unwrap();
            let all = entries(&files);
            let archive = write(month, "tag", &all);
            prop_assert_eq!(&parse(&archive), &all);
            // In two goes, the later files first.
            let (early, late) = files.split_at(late.min(files.len()));
            let first = write(month, "tag", &entries(late));
            let mut both = parse(&first);
            both.extend(entries(early));
            sort(&mut both);
            prop_assert_eq!(&write(month, "tag", &both), &archive);
            // Every byte that is no marker, header or blank is in it.
            for (_, file) in &files {
                for piece in note::parse(file) {
                    if let Piece::Note { range, .. } = piece {
                        let block = file[range].to_vec();
                        prop_assert!(memchr::memmem::find(&archive, &block).is_some());
                    }
                }
            }
        }

        #[test]
        fn an_archive_that_was_edited_by_hand_loses_nothing(files in proptest::collection::vec(day_file(), 0..4), words in "[a-z]{5,9}", at in 0..1000usize) {
            let month = Month::parse("2026-10").unwrap();
            let mut archive = write(month, "tag", &entries(&files));
            let body = memchr::memmem::find(&archive, b"\n<!-- /roll-up -->\n").unwrap() + 19;
            let cut = body + at % (archive.len() - body + 1);
            let cut = archive[cut..].iter().position(|byte| *byte == b'\n').map_or(archive.len(), |more| cut + more + 1);
            archive.splice(cut..cut, format!("{words}\n").into_bytes());
            let before = parse(&archive);
            let again = write(month, "tag", &before);
            prop_assert!(memchr::memmem::find(&again, words.as_bytes()).is_some());
            let mut after = parse(&again);
            sort(&mut after);
            let mut before = before;
            sort(&mut before);
            prop_assert_eq!(write(month, "tag", &after), write(month, "tag", &before));
            // Read back, it holds all that was written.
            let written = write(month, "tag", &before);
            prop_assert_eq!(&parse(&written), &before);
        }
    }
}
