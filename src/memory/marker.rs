//! The comment lines that structure memory files: `<!-- name key=value … -->`, alone at the start of a line.

use std::borrow::Cow;
use std::fmt::Write;

use chrono::{DateTime, FixedOffset, NaiveDate};

const OPEN: &str = "<!-- ";
const END: &str = " -->";

/// The header line of a memory file. The Python tool writes the same.
pub(crate) fn header(layer: &str, date: NaiveDate) -> String {
    format!("<!-- agent-handover | {layer} | {date} -->\n")
}

/// A time in the form that markers have. Such times sort as text.
pub(crate) fn marker_time(at: &DateTime<FixedOffset>) -> String {
    at.to_utc().format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A marker line, without its newline. Attributes with an empty value are left out.
pub(super) fn line(name: &str, attributes: &[(&str, &str)]) -> String {
    let mut line = format!("{OPEN}{name}");
    for (key, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = write!(line, " {key}={}", encode(value));
    }
    line.push_str(END);
    line
}

/// The attributes of a marker.
pub(super) struct Attributes<'a>(&'a str);

/// The attributes of this line if it is a marker of this name.
pub(super) fn read<'a>(line: &'a [u8], name: &str) -> Option<Attributes<'a>> {
    // This runs for every line of every file, and most lines are not comments.
    let rest = line.strip_prefix(OPEN.as_bytes())?.strip_prefix(name.as_bytes())?;
    let rest = std::str::from_utf8(rest.trim_ascii_end()).ok()?.strip_suffix(END)?;
    (rest.is_empty() || rest.starts_with(' ')).then_some(Attributes(rest))
}

impl<'a> Attributes<'a> {
    pub(super) fn get(&self, key: &str) -> Option<String> {
        self.borrowed(key).map(Cow::into_owned)
    }

    pub(super) fn borrowed(&self, key: &str) -> Option<Cow<'a, str>> {
        self.raw(key).map(|raw| if raw.contains('%') { Cow::Owned(decode(raw)) } else { Cow::Borrowed(raw) })
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.raw(key).is_some()
    }

    fn raw(&self, key: &str) -> Option<&'a str> {
        // Each pair has a space before it. There are few `=`, so they are looked at, and not every pair.
        let is_it = |at: &usize| self.0[..*at].strip_suffix(key).is_some_and(|before| before.ends_with(' '));
        let start = memchr::memchr_iter(b'=', self.0.as_bytes()).find(is_it)? + 1;
        let rest = &self.0[start..];
        Some(&rest[..memchr::memchr(b' ', rest.as_bytes()).unwrap_or(rest.len())])
    }

    /// The value of an attribute; empty if it is missing.
    pub(super) fn text(&self, key: &str) -> String {
        self.get(key).unwrap_or_default()
    }
}

/// Escapes lines that would be read as one of these markers, by a leading backslash. Lines that are escaped already get
/// one more, so that [`unescape`] restores the text exactly.
pub(super) fn escape<'t>(text: &'t [u8], markers: &[&str]) -> Cow<'t, [u8]> {
    // Few texts contain a comment at all.
    if memchr::memchr(b'<', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut escaped = Vec::with_capacity(text.len() + 8);
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if number > 0 {
            escaped.push(b'\n');
        }
        if is_like(line, markers) {
            escaped.push(b'\\');
        }
        escaped.extend(line);
    }
    Cow::Owned(escaped)
}

pub(super) fn unescape<'t>(text: &'t [u8], markers: &[&str]) -> Cow<'t, [u8]> {
    if memchr::memchr(b'<', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if number > 0 {
            plain.push(b'\n');
        }
        let is_escaped = line.first() == Some(&b'\\') && is_like(line, markers);
        plain.extend(if is_escaped { &line[1..] } else { line });
    }
    Cow::Owned(plain)
}

fn is_like(line: &[u8], markers: &[&str]) -> bool {
    // The first byte is enough to rule out nearly every line.
    if !matches!(line.first(), Some(b'\\' | b'<')) {
        return false;
    }
    let backslashes = line.iter().take_while(|byte| **byte == b'\\').count();
    markers.iter().any(|marker| line[backslashes..].starts_with(marker.as_bytes()))
}

/// Percent-encodes every byte that could end the attribute, the line or the comment.
fn encode(value: &str) -> String {
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
