//! The text of a Markdown list item. Further lines are indented by two spaces.

use crate::base::text;

/// Indents every line but the first, so that all of them belong to one list item. Empty lines stay empty.
pub(crate) fn indent(text: &str) -> String {
    let mut indented = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            indented.push_str(if line.is_empty() { "\n" } else { "\n  " });
        }
        indented.push_str(line);
    }
    indented
}

/// Reads the list item that begins in line `at`, after the `mark` bytes of its bullet.
///
/// Returns its text and the number of the line after it.
pub(crate) fn read_bullet(lines: &[&[u8]], at: usize, mark: usize) -> (String, usize) {
    let content = |line: &[u8]| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        text::of_bytes(line.strip_suffix(b"\r").unwrap_or(line))
    };
    let is_blank = |line: &[u8]| matches!(line, b"\n" | b"\r\n");
    let mut text = content(&lines[at][mark.min(lines[at].len())..]);
    let mut next = at + 1;
    // Empty lines belong to the item only if an indented line follows them.
    while let Some(blanks) = lines[next..].iter().position(|line| !is_blank(line))
        && let Some(rest) = lines[next + blanks].strip_prefix(b"  ")
    {
        text.push_str(&"\n".repeat(blanks + 1));
        text.push_str(&content(rest));
        next += blanks + 1;
    }
    (text, next)
}
