//! Finds the extent of a private key in PEM: from its first line to its last, or the part that is left of it.

use std::ops::Range;

/// How far the last line may be from the first. No key is longer.
const MAX_KEY: usize = 64 << 10;

/// Most lines of a key are as long as this, and no word is.
const LONG_RUN: usize = 40;

/// The key that the line at `marker` begins or ends. If the other end is missing, the key reaches as far as lines look like
/// its inside, but not into the first `known` bytes. `None` if the text only mentions the line.
pub(super) fn key_around(text: &[u8], marker: Range<usize>, known: usize) -> Option<Range<usize>> {
    if text[marker.clone()].starts_with(b"-----BEGIN") {
        let end = marker.end + inside(&text[marker.end..text.len().min(marker.end + MAX_KEY)]);
        let is_followed = matches!(text[marker.end..], [] | [b'\n' | b'\r' | b'\\', ..]);
        return (is_followed || has_body(&text[marker.end..end])).then_some(marker.start..end);
    }
    // A text may be one long line of markers, so none of them looks further than a key is long.
    let known = known.max(marker.start.saturating_sub(MAX_KEY));
    let start = known + before(&text[known..marker.start]);
    let is_preceded = matches!(text[..marker.start], [] | [.., b'\n'] | [.., b'\\', b'n']);
    (is_preceded || has_body(&text[start..marker.start])).then_some(start..marker.end)
}

/// Whether there is more text of a key than the quotes around a line that is only mentioned.
fn has_body(text: &[u8]) -> bool {
    text.iter().filter(|byte| is_key_text(**byte)).count() >= 8
}

/// The length of the key after its first line, including its last line.
fn inside(text: &[u8]) -> usize {
    let mut end = 0;
    for number in 0.. {
        let rest = &text[end..];
        if rest.is_empty() {
            break;
        }
        let line = &rest[..memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1)];
        if let Some(last) = find(line, b"-----END ") {
            // Only if the key continues up to here. Otherwise this is the last line of another key.
            if is_inside(&line[..last]) {
                let close = find(&line[last + 9..], b"-----").map_or(line.len(), |at| last + 9 + at + 5);
                return end + close;
            }
        }
        // Nothing precedes the key on the rest of its first line, but a quote may end it.
        let belongs =
            if number == 0 { line.trim_ascii().iter().all(|byte| is_key_text(*byte)) } else { is_inside(line) };
        if !belongs {
            return end + line.iter().position(|byte| !is_key_text(*byte)).unwrap_or(line.len());
        }
        end += line.len();
    }
    end
}

/// The start of the key before its last line.
fn before(text: &[u8]) -> usize {
    let mut start = text.len();
    while start > 0 {
        let line = &text[memchr::memrchr(b'\n', &text[..start - 1]).map_or(0, |at| at + 1)..start];
        if !is_inside(line) {
            return start - line.iter().rev().take_while(|byte| is_key_text(**byte)).count();
        }
        start -= line.len();
    }
    start
}

/// Whether this is a line of a key, possibly behind the marks of a quotation, a comment or a listing.
fn is_inside(line: &[u8]) -> bool {
    let marks = |byte: &u8| b">#|\"'`+*/!;:,-".contains(byte) || byte.is_ascii_whitespace();
    let skip = |line: &[u8], what: &dyn Fn(&u8) -> bool| line.iter().take_while(|byte| what(byte)).count();
    let line = &line[skip(line, &marks)..];
    let number = skip(line, &|byte| byte.is_ascii_digit());
    let behind = &line[number..];
    // A number with a mark behind it is a line number. Otherwise it belongs to the key.
    let line = if number < 7 && behind.first().is_some_and(marks) { &behind[skip(behind, &marks)..] } else { line };
    let line = line.trim_ascii();
    let headers: [&[u8]; 5] = [b"Proc-Type: ", b"DEK-Info: ", b"Version: ", b"Comment: ", b"Hash: "];
    headers.iter().any(|header| line.starts_with(header))
        || line.iter().all(|byte| is_key_text(*byte))
        || has_long_run(line)
}

/// Whether the line has a run as long as those of a key. One of every `LONG_RUN` bytes is enough to find it.
fn has_long_run(line: &[u8]) -> bool {
    (LONG_RUN - 1..line.len()).step_by(LONG_RUN).any(|at| {
        let after = line[at..].iter().take(LONG_RUN).take_while(|byte| is_key_text(**byte)).count();
        let before = line[..at].iter().rev().take(LONG_RUN).take_while(|byte| is_key_text(**byte)).count();
        after > 0 && before + after >= LONG_RUN
    })
}

/// Whether this is Base64, or the backslash of `\n` in a quoted text.
fn is_key_text(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=\\".contains(&byte)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, part)
}
