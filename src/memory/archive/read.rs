//! Reads the entries of an archive. Text that somebody wrote into it by hand becomes an entry, too.

use std::borrow::Cow;
use std::ops::Range;

use chrono::NaiveDate;

use super::entry::{ArchiveEntry, MARKERS};
use crate::memory::{marker, note};

/// The entries of an archive, in the order of the file.
pub(crate) fn parse(file: &[u8]) -> Vec<ArchiveEntry<'_>> {
    let mut reader =
        ArchiveReader { file, entries: Vec::new(), day: String::new(), after: Cow::Borrowed(""), loose: None };
    let mut start = 0;
    while start < file.len() {
        let end = end_of_line(file, start);
        let line = file[start..end].trim_ascii_end();
        let known = match line.first() {
            Some(b'<') => reader.read_block(line, start..end),
            Some(b'#') => reader.read_heading(line).then_some(end),
            _ => None,
        };
        match known {
            Some(next) => {
                reader.end_loose_text(start);
                start = next;
                reader.remember_time();
            }
            None => {
                reader.loose.get_or_insert(start);
                start = end;
            }
        }
    }
    reader.end_loose_text(file.len());
    reader.entries
}

struct ArchiveReader<'a> {
    file: &'a [u8],
    entries: Vec<ArchiveEntry<'a>>,
    /// The date of the last heading.
    day: String,
    /// The time of the last note.
    after: Cow<'a, str>,
    /// Where text outside any block began.
    loose: Option<usize>,
}

impl<'a> ArchiveReader<'a> {
    /// Reads the block that begins in this line and returns where it ends. `None` if no block begins here.
    fn read_block(&mut self, line: &[u8], first: Range<usize>) -> Option<usize> {
        if marker::read(line, "roll-up").is_some() {
            return self.until(first.end, b"<!-- /roll-up -->").map(|(_, end)| end);
        }
        if let Some(attributes) = marker::read(line, "text") {
            let (content, end) = self.until(first.end, b"<!-- /text -->")?;
            self.end_loose_text(first.start);
            let text = marker::unescape(content, &MARKERS);
            self.entries.extend(ArchiveEntry::of_text(&attributes.text("day"), &attributes.text("after"), &text));
            return Some(end);
        }
        if note::is_opening(line) {
            let (content, end) = self.until(first.end, b"<!-- /note -->")?;
            // Another opening inside means that the end of this note was lost: its first line is then only text.
            if memchr::memchr(b'<', content).is_some() && content.split(|byte| *byte == b'\n').any(note::is_opening) {
                return None;
            }
            self.end_loose_text(first.start);
            self.entries.push(ArchiveEntry::of_note(&self.file[first.start..end]));
            return Some(end);
        }
        (first.start == 0 && line.starts_with(b"<!-- agent-handover | layer3 | ")).then_some(first.end)
    }

    /// Reads the heading of a day. Headings are not entries: they are written anew each time.
    fn read_heading(&mut self, line: &[u8]) -> bool {
        let day = std::str::from_utf8(line).ok().and_then(|line| line.strip_prefix("## "));
        let Some(day) = day.filter(|day| day.len() == 10 && day.parse::<NaiveDate>().is_ok()) else { return false };
        self.day = day.to_owned();
        true
    }

    /// The bytes before the next line that equals `close`, and the end of that line.
    fn until(&self, from: usize, close: &[u8]) -> Option<(&'a [u8], usize)> {
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

    /// Makes an entry of the text outside any block that ends here.
    fn end_loose_text(&mut self, end: usize) {
        if let Some(start) = self.loose.take() {
            let day = if self.day.is_empty() { "0000-00-00" } else { &self.day };
            self.entries.extend(ArchiveEntry::of_text(day, &self.after, &self.file[start..end]));
        }
    }

    fn remember_time(&mut self) {
        if let Some(ArchiveEntry { time, is_text: false, .. }) = self.entries.last() {
            self.after.clone_from(time);
        }
    }
}

fn end_of_line(file: &[u8], start: usize) -> usize {
    memchr::memchr(b'\n', &file[start..]).map_or(file.len(), |at| start + at + 1)
}
