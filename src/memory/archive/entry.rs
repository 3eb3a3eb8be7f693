//! One entry of an archive: a note, or a text that people or other tools wrote beside the notes.

use std::borrow::Cow;

use chrono::NaiveDate;

use crate::memory::note::{self, Note, Span};
use crate::memory::{header, marker};

/// Markers that a line of foreign text must not start with; such a line is escaped.
pub(super) const MARKERS: [&str; 7] =
    ["<!-- text ", "<!-- /text", "<!-- note ", "<!-- /note", "<!-- roll-up", "<!-- /roll-up", "<!-- agent-handover |"];

const END_OF_TEXT: &[u8] = b"\n<!-- /text -->\n";

/// One entry of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArchiveEntry<'a> {
    /// When it was written, as far as that is known. Entries are sorted by it, and its date is their heading.
    pub time: Cow<'a, str>,
    /// Whether it is a foreign text and not a note.
    pub is_text: bool,
    /// The bytes of the whole block in the archive.
    pub block: Cow<'a, [u8]>,
}

impl<'a> ArchiveEntry<'a> {
    pub(super) fn of_note(block: &'a [u8]) -> ArchiveEntry<'a> {
        let time = note::attributes(block).and_then(|attributes| attributes.borrowed("at")).unwrap_or_default();
        // The last line of a file may lack its newline, which does not belong to the note.
        let block = match block.last() {
            Some(b'\n') => Cow::Borrowed(block),
            _ => Cow::Owned([block, b"\n"].concat()),
        };
        ArchiveEntry { time, is_text: false, block }
    }

    /// A foreign text of a day, after the note with the time `after`. `None` if the text is blank.
    pub(super) fn of_text(day: &str, after: &str, text: &[u8]) -> Option<ArchiveEntry<'static>> {
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

    pub(super) fn sort_key(&self) -> (&str, bool, &[u8]) {
        (&self.time, self.is_text, &self.block)
    }

    /// The day of a foreign text; empty for a note.
    pub(super) fn day(&self) -> String {
        let attributes = if self.is_text { marker::read(self.opening(), "text") } else { None };
        attributes.map(|attributes| attributes.text("day")).unwrap_or_default()
    }

    /// Bytes that are equal for the same note in two files. They do not depend on line ends, which an editor may change.
    pub(super) fn identity(&self) -> Vec<u8> {
        without_returns(&self.block).into_owned()
    }

    /// Whether a line of the block ends as Windows writes it.
    pub(super) fn has_returns(&self) -> bool {
        memchr::memmem::find(&self.block, b"\r\n").is_some()
    }

    /// The same place with another foreign text. `None` if the text is blank.
    pub(super) fn with_text(&self, text: &[u8]) -> Option<ArchiveEntry<'static>> {
        let after = marker::read(self.opening(), "text").map(|attributes| attributes.text("after"));
        ArchiveEntry::of_text(&self.day(), &after.unwrap_or_default(), text)
    }

    /// The note; `None` for a foreign text.
    pub(crate) fn note(&self) -> Option<Note> {
        if self.is_text { None } else { note::read(&self.block) }
    }

    /// Whether it is a note that records changes of the current state.
    pub(crate) fn records_changes(&self) -> bool {
        !self.is_text && note::attributes(&self.block).is_some_and(|attributes| attributes.has("changes"))
    }

    /// The first line of the block.
    pub(super) fn opening(&self) -> &[u8] {
        self.block.split(|byte| *byte == b'\n').next().unwrap_or_default()
    }

    /// The content without its markers, byte for byte.
    pub(crate) fn content(&self) -> Cow<'_, [u8]> {
        if !self.is_text {
            return note::content(&self.block);
        }
        let start = memchr::memchr(b'\n', &self.block).map_or(self.block.len(), |at| at + 1);
        marker::unescape(self.block[start..].strip_suffix(END_OF_TEXT).unwrap_or_default(), &MARKERS)
    }
}

/// The entries of a layer-1 file.
pub(crate) fn of_notes(file: &[u8], day: NaiveDate) -> Vec<ArchiveEntry<'_>> {
    let mut entries: Vec<ArchiveEntry<'_>> = Vec::new();
    let header = header("layer1", day);
    let day = day.to_string();
    let mut after = Cow::Borrowed("");
    for span in note::spans(file) {
        match span {
            Span::Note(range) => {
                let entry = ArchiveEntry::of_note(&file[range]);
                after.clone_from(&entry.time);
                entries.push(entry);
            }
            Span::Foreign(range) => {
                let text = &file[range.clone()];
                let text = if range.start == 0 { without_header(text, &header) } else { text };
                entries.extend(ArchiveEntry::of_text(&day, &after, text));
            }
        }
    }
    entries
}

fn without_header<'t>(text: &'t [u8], header: &str) -> &'t [u8] {
    let body = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    match body.strip_prefix(header.trim_end().as_bytes()) {
        // An editor may have changed the line ends.
        Some(rest) => rest.strip_prefix(b"\r\n").or(rest.strip_prefix(b"\n")).unwrap_or(text),
        None => text,
    }
}

/// The text with `\n` for each `\r\n`.
fn without_returns(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memmem::find(text, b"\r\n").is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    for (at, byte) in text.iter().enumerate() {
        if *byte != b'\r' || text.get(at + 1) != Some(&b'\n') {
            plain.push(*byte);
        }
    }
    Cow::Owned(plain)
}
