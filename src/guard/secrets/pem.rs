//! A private key in its armour: from the first line to the last, or as much as was left of it.

use std::ops::Range;

/// The longest key there is has less between its first line and its last.
const LONGEST: usize = 64 << 10;

/// No word is as long as this, and most lines of a key are.
const LINE: usize = 40;

/// A key from its first line to its last; of one that was cut off, the lines that look like its inside, forwards or
/// backwards, but not into what is `known` already. `None` where the line is only spoken of.
pub fn armor(text: &[u8], marker: Range<usize>, known: usize) -> Option<Range<usize>> {
    if text[marker.clone()].starts_with(b"-----BEGIN") {
        let end = marker.end + inside(&text[marker.end..text.len().min(marker.end + LONGEST)]);
        let is_followed = matches!(text[marker.end..], [] | [b'\n' | b'\r' | b'\\', ..]);
        return (is_followed || has_body(&text[marker.end..end])).then_some(marker.start..end);
    }
    let start = known + before(&text[known..marker.start]);
    let is_preceded = matches!(text[..marker.start], [] | [.., b'\n'] | [.., b'\\', b'n']);
    (is_preceded || has_body(&text[start..marker.start])).then_some(start..marker.end)
}

/// Whether there is more than the quotes around a line that is only spoken of.
fn has_body(text: &[u8]) -> bool {
    text.iter().filter(|byte| is_armor(**byte)).count() >= 8
}

/// How much after the first line belongs to the key, its last line included.
fn inside(text: &[u8]) -> usize {
    let mut end = 0;
    for (number, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if let Some(last) = find(line, b"-----END ") {
            // Only if the key goes on until there; else it is another's last line.
            if is_inside(&line[..last]) {
                let close = find(&line[last + 9..], b"-----").map_or(line.len(), |at| last + 9 + at + 5);
                return end + close;
            }
        }
        // On its first line nothing is put before the key, but a quote may end it.
        let belongs = if number == 0 { line.trim_ascii().iter().all(|byte| is_armor(*byte)) } else { is_inside(line) };
        if !belongs {
            return end + line.iter().position(|byte| !is_armor(*byte)).unwrap_or(line.len());
        }
        end += line.len();
    }
    end
}

/// Where before the last line the key begins.
fn before(text: &[u8]) -> usize {
    let mut start = text.len();
    for line in text.split_inclusive(|byte| *byte == b'\n').rev() {
        if !is_inside(line) {
            return start - line.iter().rev().take_while(|byte| is_armor(**byte)).count();
        }
        start -= line.len();
    }
    start
}

/// A line of the key, whatever a quotation, a comment or a listing has put before it.
fn is_inside(line: &[u8]) -> bool {
    let marks = |byte: &u8| b">#|\"'`+*/!;:,-".contains(byte) || byte.is_ascii_whitespace();
    let skip = |line: &[u8], what: &dyn Fn(&u8) -> bool| line.iter().take_while(|byte| what(byte)).count();
    let line = &line[skip(line, &marks)..];
    let number = skip(line, &|byte| byte.is_ascii_digit());
    let behind = &line[number..];
    // A number with a mark behind it is the line's; else it begins the key's own text.
    let line = if number < 7 && behind.first().is_some_and(marks) { &behind[skip(behind, &marks)..] } else { line };
    let line = line.trim_ascii();
    let headers: [&[u8]; 5] = [b"Proc-Type: ", b"DEK-Info: ", b"Version: ", b"Comment: ", b"Hash: "];
    let is_long = || line.split(|byte| !is_armor(*byte)).any(|run| run.len() >= LINE);
    headers.iter().any(|header| line.starts_with(header)) || line.iter().all(|byte| is_armor(*byte)) || is_long()
}

/// Base64, and the backslash of a line's end in a quoted text.
fn is_armor(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=\\".contains(&byte)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
