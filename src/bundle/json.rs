//! Reads JSON from strangers within limits, and writes JSON as Go writes it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// The largest file of handoffs. An import needs about ten times as much memory: its record holds every document.
pub(crate) const MAX_BYTES: usize = 32 << 20;
const MAX_DEPTH: usize = 16;
/// The most elements. Each costs more memory than its two bytes in the file.
const MAX_ELEMENTS: usize = 1_000_000;
/// What to do with a file that is too large.
pub(crate) const IN_PARTS: &str = "import it in parts: `split --lines=1000` cuts a file with one bundle for each line, \
    and `agent-handover history export` takes `--since`, `--until` and `--project`";

/// Reads one value. Depth and number of elements are checked first, so that a small hostile text cannot use much memory.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    within_limits(text)?;
    serde_json::from_str(text).map_err(|cause| Error::bad_data("this is not a bundle of handoffs").cause(cause))
}

/// The error about a file that is too large.
pub(crate) fn too_large() -> Error {
    Error::bad_data(format!("the file is larger than {} MiB, which is the most", MAX_BYTES >> 20)).hint(IN_PARTS)
}

/// Checks the size of a text, and how deeply and how often it has values.
pub(super) fn within_limits(text: &str) -> Result<()> {
    let too = |what: &str| Error::bad_data(format!("this is not a bundle of handoffs: {what}"));
    if text.len() > MAX_BYTES {
        return Err(too_large());
    }
    let (mut depth, mut elements, mut in_string, mut is_escaped) = (0usize, 0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => elements += 1,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(too("it is nested too deeply"));
        }
        if elements > MAX_ELEMENTS {
            return Err(too("it has too many values").hint(IN_PARTS));
        }
    }
    Ok(())
}

/// Writes a value on one line, without spaces.
pub(super) fn compact(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map(as_go_escapes).map_err(unwritable)
}

/// Writes a value with two spaces a level and no newline at the end.
pub(crate) fn pretty(value: &impl Serialize) -> Result<String> {
    serde_json::to_string_pretty(value).map(as_go_escapes).map_err(unwritable)
}

fn unwritable(cause: serde_json::Error) -> Error {
    Error::bug("a bundle cannot be written as JSON").cause(cause)
}

/// Escapes the five characters that Go escapes and serde does not. None of them occurs outside strings.
fn as_go_escapes(json: String) -> String {
    const ESCAPES: [(char, &str); 5] =
        [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
    if !json.contains(|c| ESCAPES.iter().any(|(plain, _)| *plain == c)) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + json.len() / 8);
    for c in json.chars() {
        match ESCAPES.iter().find(|(plain, _)| *plain == c) {
            Some((_, escape)) => escaped.push_str(escape),
            None => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Go's documented rules, character by character.
    fn described(text: &str) -> String {
        let mut json = String::from("\"");
        for c in text.chars() {
            match c {
                '"' => json.push_str("\\\""),
                '\\' => json.push_str("\\\\"),
                '\u{8}' => json.push_str("\\b"),
                '\u{c}' => json.push_str("\\f"),
                '\n' => json.push_str("\\n"),
                '\r' => json.push_str("\\r"),
                '\t' => json.push_str("\\t"),
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => json.push_str(&format!("\\u{:04x}", u32::from(c))),
                c if u32::from(c) < 0x20 => json.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => json.push(c),
            }
        }
        json + "\""
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn any_text_is_escaped_as_go_does(text in any::<String>(), odd in "[\u{0}-\u{9f}<>&\u{2028}\u{2029}\u{fffd}\"\\\\/]{0,40}") {
            for text in [text, odd] {
                prop_assert_eq!(compact(&text).unwrap(), described(&text));
                prop_assert_eq!(read::<String>(&described(&text)).unwrap(), text);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let text = String::from_utf8_lossy(&bytes);
            if let Ok(value) = read::<serde_json::Value>(&text) {
                prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&text).ok(), Some(value), "read as others do");
            }
        }
    }

    #[test]
    fn deep_and_long_texts_are_refused_before_they_are_read() {
        let deep = "[".repeat(100_000);
        let many = format!("[{}0]", "0,".repeat(MAX_ELEMENTS + 1));
        for (text, reason) in [(deep.as_str(), "nested too deeply"), (many.as_str(), "too many values")] {
            let error = read::<serde_json::Value>(text).unwrap_err();
            assert!(error.message().contains(reason), "{}", error.message());
        }
        // Brackets and commas inside strings are text, also after an escaped quote.
        let text = format!("[\"\\\"{}\"]", "[,".repeat(1_000));
        assert!(read::<Vec<String>>(&text).is_ok());
    }
}
