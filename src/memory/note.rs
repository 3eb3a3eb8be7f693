//! The block grammar of layer-1 files.
//!
//! ```text
//! <!-- note run=01K… step=note at=2026-11-15T10:04:05Z agent=codex -->
//! content, verbatim
//! <!-- /note -->
//! ```
//!
//! Lines end at `\n` only. The newline before the closing marker belongs to the marker, so content comes back to the
//! byte. A content line that would read as a marker gets one leading backslash, and loses one on reading. Text outside
//! blocks belongs to people or other tools and is not moved.

use std::borrow::Cow;
use std::ops::Range;

use super::marker;

const NAME: &str = "note";
const CLOSE: &str = "<!-- /note -->";
/// Markers that a content line must not start with; such a line is escaped.
const MARKERS: [&str; 3] = ["<!-- note ", "<!-- /note", "<!-- agent-handover |"];

/// One note of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Run and step are the key: two blocks with the same key are the same note.
    pub run: String,
    pub step: String,
    pub at: String,
    pub agent: String,
    /// If the content records changes of the current state: the digest of the state before them. Empty otherwise.
    pub changes: String,
    pub content: Vec<u8>,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Note {
        note: Note,
        range: Range<usize>,
    },
    /// Text of people or other tools, header lines included.
    Foreign(Range<usize>),
}

/// Replaces the block with the key of this note, or appends the note to the file.
///
/// Notes and files may be long, so both are copied as seldom as possible.
pub(crate) fn replace_or_append(file: impl Into<Vec<u8>>, note: &Note) -> Vec<u8> {
    let mut file = file.into();
    match find(&file, note) {
        Some(range) => {
            file.splice(range, write(note));
        }
        None => {
            file.reserve_exact(note.content.len() + 512);
            if file.last().is_some_and(|last| *last != b'\n') {
                file.push(b'\n');
            }
            write_to(&mut file, note);
        }
    }
    file
}

/// Where the block with the key of this note is.
pub(super) fn find(file: &[u8], note: &Note) -> Option<Range<usize>> {
    let is_same = |block: &[u8]| {
        attributes(block).is_some_and(|found| {
            found.get("run").as_ref() == Some(&note.run) && found.get("step").as_ref() == Some(&note.step)
        })
    };
    spans(file).into_iter().find_map(|span| match span {
        Span::Note(range) if is_same(&file[range.clone()]) => Some(range),
        _ => None,
    })
}

pub(crate) fn write(note: &Note) -> Vec<u8> {
    let mut block = Vec::with_capacity(note.content.len() + 512);
    write_to(&mut block, note);
    block
}

/// Appends the block of a note to a file.
fn write_to(file: &mut Vec<u8>, note: &Note) {
    let attributes = [
        ("run", note.run.as_str()),
        ("step", &note.step),
        ("at", &note.at),
        ("agent", &note.agent),
        ("changes", &note.changes),
    ];
    file.extend_from_slice(marker::line(NAME, &attributes).as_bytes());
    file.push(b'\n');
    file.extend_from_slice(&marker::escape(&note.content, &MARKERS));
    file.extend_from_slice(format!("\n{CLOSE}\n").as_bytes());
}

/// The pieces of a file, in order and without gaps.
pub fn parse(file: &[u8]) -> Vec<Piece> {
    let piece = |span| match span {
        Span::Note(range) => match read(&file[range.clone()]) {
            Some(note) => Piece::Note { note, range },
            None => Piece::Foreign(range),
        },
        Span::Foreign(range) => Piece::Foreign(range),
    };
    spans(file).into_iter().map(piece).collect()
}

/// The place of a piece in a file. Cheaper than a [`Piece`], because notes are not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Span {
    Note(Range<usize>),
    Foreign(Range<usize>),
}

pub(super) fn spans(file: &[u8]) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut outside_from = 0;
    let mut note_from: Option<usize> = None;
    // Only lines that begin with this byte matter, and few do.
    let first = file.first().filter(|byte| **byte == b'<').map(|_| 0);
    let others = memchr::memmem::find_iter(file, b"\n<").map(|at| at + 1);
    for start in first.into_iter().chain(others) {
        let end = memchr::memchr(b'\n', &file[start..]).map_or(file.len(), |at| start + at + 1);
        let line = file[start..end].trim_ascii_end();
        if is_opening(line) {
            // An opening inside a block means that the block was never closed: it is then only text.
            note_from = Some(start);
        } else if line == CLOSE.as_bytes()
            && let Some(from) = note_from.take()
        {
            if outside_from < from {
                spans.push(Span::Foreign(outside_from..from));
            }
            spans.push(Span::Note(from..end));
            outside_from = end;
        }
    }
    if outside_from < file.len() {
        spans.push(Span::Foreign(outside_from..file.len()));
    }
    spans
}

/// Whether a block begins in this line.
pub(super) fn is_opening(line: &[u8]) -> bool {
    marker::read(line, NAME).is_some_and(|attributes| attributes.has("run") && attributes.has("step"))
}

/// The attributes in the opening line of a block; `None` if it is not an opening line.
pub(super) fn attributes(block: &[u8]) -> Option<marker::Attributes<'_>> {
    let end = memchr::memchr(b'\n', block).unwrap_or(block.len());
    marker::read(block[..end].trim_ascii_end(), NAME)
}

/// The content of a block, byte for byte.
pub(super) fn content(block: &[u8]) -> Cow<'_, [u8]> {
    let start = memchr::memchr(b'\n', block).map_or(block.len(), |at| at + 1);
    let body = block[start..].trim_ascii_end();
    let body = body.strip_suffix(CLOSE.as_bytes()).unwrap_or(body);
    marker::unescape(body.strip_suffix(b"\n").unwrap_or(body), &MARKERS)
}

/// Reads a whole block.
pub(super) fn read(block: &[u8]) -> Option<Note> {
    let attributes = attributes(block)?;
    Some(Note {
        run: attributes.get("run")?,
        step: attributes.get("step")?,
        at: attributes.text("at"),
        agent: attributes.text("agent"),
        changes: attributes.text("changes"),
        content: content(block).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn note(run: &str, content: &str) -> Note {
        Note {
            run: run.to_owned(),
            step: "note".to_owned(),
            at: "2026-11-15T10:04:05Z".to_owned(),
            agent: String::new(),
            changes: String::new(),
            content: content.as_bytes().to_vec(),
        }
    }

    fn notes(file: &[u8]) -> Vec<Note> {
        let pieces = parse(file).into_iter();
        pieces.filter_map(|piece| if let Piece::Note { note, .. } = piece { Some(note) } else { None }).collect()
    }

    #[test]
    fn a_block_is_written_as_documented() {
        let mut first = note("01K", "one\ntwo");
        first.agent = "codex cli".to_owned();
        let file = replace_or_append(b"<!-- agent-handover | layer1 | 2026-11-15 -->\n", &first);
        assert_eq!(
            String::from_utf8(file).unwrap(),
            "<!-- agent-handover | layer1 | 2026-11-15 -->\n\
             <!-- note run=01K step=note at=2026-11-15T10:04:05Z agent=codex%20cli -->\n\
             one\ntwo\n<!-- /note -->\n"
        );
    }

    #[test]
    fn text_of_people_and_of_the_python_tool_stays() {
        let old = b"<!-- agent-handover | layer1 | 2026-11-15 -->\nfrom Python, without a newline at the end";
        let file = replace_or_append(replace_or_append(old, &note("A", "a")), &note("B", "b"));
        assert!(file.starts_with(old));
        assert_eq!(notes(&file).len(), 2);
        let again = replace_or_append(file.clone(), &note("A", "changed"));
        assert_eq!(notes(&again)[0].content, b"changed");
        assert_eq!(notes(&again)[1].content, b"b");
        assert!(again.starts_with(old));
    }

    #[test]
    fn an_unclosed_block_swallows_nothing() {
        let torn = b"<!-- note run=X step=note at=t -->\nhalf of it";
        let file = replace_or_append(torn, &note("A", "a"));
        assert!(file.starts_with(torn));
        assert_eq!(notes(&file), [note("A", "a")]);
    }

    #[test]
    fn windows_line_ends_do_not_hide_a_block() {
        let file = String::from_utf8(replace_or_append(b"", &note("A", "a"))).unwrap().replace('\n', "\r\n");
        assert_eq!(notes(file.as_bytes())[0].run, "A");
    }

    fn hostile_line() -> impl Strategy<Value = String> {
        let markers =
            ["<!-- /note -->", "<!-- note run=A step=note at=x -->", "<!-- agent-handover | layer1 | x -->", "---"];
        prop_oneof![
            (0..3usize, proptest::sample::select(markers.to_vec()), "[ \r]{0,2}")
                .prop_map(|(slashes, marker, tail)| format!("{}{marker}{tail}", "\\".repeat(slashes))),
            any::<String>(),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn any_text_comes_back_to_the_byte_and_twice_equals_once(
            contents in proptest::collection::vec(proptest::collection::vec(hostile_line(), 0..5), 1..4),
            before in proptest::collection::vec(hostile_line(), 0..3),
        ) {
            let before = before.join("\n");
            let mut file = before.clone().into_bytes();
            let foreign = notes(&file).len();
            let all: Vec<Note> =
                contents.iter().enumerate().map(|(n, lines)| note(&format!("run{n}"), &lines.join("\n"))).collect();
            for note in &all {
                file = replace_or_append(file.clone(), note);
            }
            prop_assert!(file.starts_with(before.as_bytes()));
            prop_assert_eq!(&notes(&file)[foreign..], &all[..]);
            for note in &all {
                prop_assert_eq!(&replace_or_append(file.clone(), note), &file);
            }
        }
    }
}
