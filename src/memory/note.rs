//! The block grammar of layer-1 files.
//!
//! ```text
//! <!-- note run=01K… step=note at=2026-11-15T10:04:05Z agent=codex -->
//! content, verbatim
//! <!-- /note -->
//! ```
//!
//! Lines end at `\n` only. The newline before the closing marker belongs to the marker, so content comes back to the
//! byte. A content line that would read as a marker gets one leading backslash, and loses one on reading. Everything
//! outside blocks is somebody else's text and stays where it stands.

use std::ops::Range;

const OPEN: &str = "<!-- note ";
const CLOSE: &str = "<!-- /note -->";
const END: &str = " -->";
/// What a content line must not start with: our two markers and the header line of a memory file.
const MARKERS: [&str; 3] = [OPEN, "<!-- /note", "<!-- agent-handover |"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Run and step are the key: a block with the same key is the same note.
    pub run: String,
    pub step: String,
    pub at: String,
    pub agent: String,
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

/// The file with this note in it: in the place of the block with its key, else at the end.
pub fn put(file: &[u8], note: &Note) -> Vec<u8> {
    let block = write(note);
    let existing = parse(file).into_iter().find_map(|piece| match piece {
        Piece::Note { note: found, range } if found.run == note.run && found.step == note.step => Some(range),
        _ => None,
    });
    let mut new = Vec::with_capacity(file.len() + block.len() + 1);
    match existing {
        Some(range) => {
            new.extend(&file[..range.start]);
            new.extend(&block);
            new.extend(&file[range.end..]);
        }
        None => {
            new.extend(file);
            if new.last().is_some_and(|last| *last != b'\n') {
                new.push(b'\n');
            }
            new.extend(&block);
        }
    }
    new
}

fn write(note: &Note) -> Vec<u8> {
    let mut block = Vec::with_capacity(note.content.len() + 160);
    block
        .extend(format!("{OPEN}run={} step={} at={}", encode(&note.run), encode(&note.step), encode(&note.at)).bytes());
    if !note.agent.is_empty() {
        block.extend(format!(" agent={}", encode(&note.agent)).bytes());
    }
    block.extend(END.bytes());
    for line in note.content.split(|byte| *byte == b'\n') {
        block.push(b'\n');
        if looks_like_a_marker(line) {
            block.push(b'\\');
        }
        block.extend(line);
    }
    block.push(b'\n');
    block.extend(CLOSE.bytes());
    block.push(b'\n');
    block
}

/// The pieces of a file, in order and without gaps.
pub fn parse(file: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut foreign = 0;
    let mut open: Option<(Note, usize, usize)> = None;
    let mut start = 0;
    while start < file.len() {
        let end = file[start..].iter().position(|byte| *byte == b'\n').map_or(file.len(), |at| start + at + 1);
        let line = file[start..end].trim_ascii_end();
        if let Some(note) = read_opening(line) {
            // An opening inside a block means that the block before was never closed: then it is just text.
            open = Some((note, start, end));
        } else if line == CLOSE.as_bytes()
            && let Some((mut note, from, content)) = open.take()
        {
            note.content = read_content(&file[content..start]);
            if foreign < from {
                pieces.push(Piece::Foreign(foreign..from));
            }
            pieces.push(Piece::Note { note, range: from..end });
            foreign = end;
        }
        start = end;
    }
    if foreign < file.len() {
        pieces.push(Piece::Foreign(foreign..file.len()));
    }
    pieces
}

fn read_opening(line: &[u8]) -> Option<Note> {
    let line = std::str::from_utf8(line).ok()?;
    let attributes = line.strip_prefix(OPEN)?.strip_suffix(END)?;
    let value = |name: &str| {
        let found = attributes.split(' ').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        found.map(decode)
    };
    Some(Note {
        run: value("run")?,
        step: value("step")?,
        at: value("at").unwrap_or_default(),
        agent: value("agent").unwrap_or_default(),
        content: Vec::new(),
    })
}

fn read_content(lines: &[u8]) -> Vec<u8> {
    let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
    let mut content = Vec::with_capacity(lines.len());
    for (number, line) in lines.split(|byte| *byte == b'\n').enumerate() {
        if number > 0 {
            content.push(b'\n');
        }
        let escaped = line.first() == Some(&b'\\') && looks_like_a_marker(line);
        content.extend(if escaped { &line[1..] } else { line });
    }
    content
}

fn looks_like_a_marker(line: &[u8]) -> bool {
    let backslashes = line.iter().take_while(|byte| **byte == b'\\').count();
    MARKERS.iter().any(|marker| line[backslashes..].starts_with(marker.as_bytes()))
}

/// Percent-encodes what could end the attribute, the line or the comment.
fn encode(value: &str) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:/@+".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut value = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                value.push(byte);
                at += 3;
            }
            None => {
                value.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&value).into_owned()
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
        let file = put(b"<!-- agent-handover | layer1 | 2026-11-15 -->\n", &first);
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
        let file = put(&put(old, &note("A", "a")), &note("B", "b"));
        assert!(file.starts_with(old));
        assert_eq!(notes(&file).len(), 2);
        let again = put(&file, &note("A", "changed"));
        assert_eq!(notes(&again)[0].content, b"changed");
        assert_eq!(notes(&again)[1].content, b"b");
        assert!(again.starts_with(old));
    }

    #[test]
    fn an_unclosed_block_swallows_nothing() {
        let torn = b"<!-- note run=X step=note at=t -->\nhalf of it";
        let file = put(torn, &note("A", "a"));
        assert!(file.starts_with(torn));
        assert_eq!(notes(&file), [note("A", "a")]);
    }

    #[test]
    fn windows_line_ends_do_not_hide_a_block() {
        let file = String::from_utf8(put(b"", &note("A", "a"))).unwrap().replace('\n', "\r\n");
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
                file = put(&file, note);
            }
            prop_assert!(file.starts_with(before.as_bytes()));
            prop_assert_eq!(&notes(&file)[foreign..], &all[..]);
            for note in &all {
                prop_assert_eq!(&put(&file, note), &file);
            }
        }
    }
}
