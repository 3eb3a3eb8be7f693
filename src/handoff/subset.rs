//! The YAML subset of Session Glue: reads it exactly as Session Glue does, and writes it so that every YAML library reads
//! the same values.

use std::borrow::Cow;

use super::value::{Field, SyntaxError, Value, repr};

const MULTI_LINE: &str = "multi-line YAML values are not supported — keep each value on one line";

/// Reads a mapping in the subset.
pub(super) fn read(text: &str) -> Result<Vec<Field>, SyntaxError> {
    let lines = split_lines(text);
    let mut fields: Vec<Field> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let number = at + 1;
        at += 1;
        if is_blank_or_comment(line) {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            return Err(SyntaxError::at(number, format!("{MULTI_LINE} (unexpected indentation at: {})", repr(line))));
        }
        let Some((key, rest)) = line.split_once(':') else {
            return Err(SyntaxError::at(number, format!("expected 'key: value', got: {}", repr(line))));
        };
        let key = key.trim().to_owned();
        if fields.iter().any(|field| field.key == key) {
            return Err(SyntaxError::at(number, format!("duplicate top-level key: {}", repr(&key))));
        }
        let rest = rest.trim();
        if is_block_scalar(rest) {
            return Err(SyntaxError::at(number, MULTI_LINE));
        }
        let value = if rest.is_empty() {
            let start = at;
            while at < lines.len() && (lines[at].trim().is_empty() || lines[at].starts_with([' ', '\t'])) {
                at += 1;
            }
            Value::List(read_list(&lines[start..at], start + 1)?)
        } else {
            scalar(rest)
        };
        fields.push(Field { key, value, line: number });
    }
    Ok(fields)
}

/// Splits like Python's `splitlines`, for which more than `\n` ends a line.
fn split_lines(text: &str) -> Vec<&str> {
    // Nearly every text has only `\n`; the other line ends begin with one of these bytes.
    let is_odd = |byte: &u8| matches!(byte, b'\r' | 0x0b | 0x0c | 0x1c..=0x1e | 0xc2 | 0xe2);
    if !text.as_bytes().iter().any(is_odd) {
        return text
            .strip_suffix('\n')
            .unwrap_or(text)
            .split('\n')
            .take(if text.is_empty() { 0 } else { usize::MAX })
            .collect();
    }
    let mut lines = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let ends =
            matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
        if ends {
            lines.push(&text[start..at]);
            if c == '\r' {
                characters.next_if(|(_, next)| *next == '\n');
            }
            start = characters.peek().map_or(text.len(), |(next, _)| *next);
        }
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// Whether this introduces a block scalar: `|` or `>`, then only signs and digits.
fn is_block_scalar(text: &str) -> bool {
    let rest = text.strip_prefix(['|', '>']);
    rest.is_some_and(|rest| rest.chars().all(|c| matches!(c, '+' | '-') || c.is_ascii_digit()))
}

fn scalar(text: &str) -> Value {
    if text == "[]" {
        return Value::List(Vec::new());
    }
    Value::Text(unquote(text))
}

fn unquote(text: &str) -> String {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(inner) = inner('"').filter(|_| text.len() >= 2) {
        let mut plain = String::with_capacity(inner.len());
        let mut characters = inner.chars();
        while let Some(c) = characters.next() {
            match c {
                '\\' => plain.extend(characters.next()),
                c => plain.push(c),
            }
        }
        return plain;
    }
    inner('\'').filter(|_| text.len() >= 2).unwrap_or(text).to_owned()
}

fn read_list(lines: &[&str], first: usize) -> Result<Vec<Value>, SyntaxError> {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let mut items = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if is_blank_or_comment(line) {
            continue;
        }
        let dash = indent(line);
        let Some(rest) = line.trim_start().strip_prefix('-') else {
            return Err(SyntaxError::at(first + at - 1, format!("expected a list item, got: {}", repr(line.trim()))));
        };
        let rest = rest.trim();
        let Some((key, value)) = pair(rest) else {
            items.push(scalar(rest));
            continue;
        };
        let mut pairs = vec![(key, value)];
        while at < lines.len()
            && (lines[at].trim().is_empty() || indent(lines[at]) > dash && !lines[at].trim_start().starts_with('-'))
        {
            let line = lines[at].trim();
            at += 1;
            if is_blank_or_comment(line) {
                continue;
            }
            let (key, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.trim();
            pairs.push((key.trim().to_owned(), if value.is_empty() { Value::from("") } else { scalar(value) }));
        }
        items.push(Value::Map(pairs));
    }
    Ok(items)
}

/// The first pair of a list item that is a mapping: an identifier, a colon, white space and a value.
fn pair(text: &str) -> Option<(String, Value)> {
    let (key, rest) = text.split_once(':')?;
    let is_identifier = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let value = rest.trim();
    (is_identifier && rest.starts_with(char::is_whitespace) && !value.is_empty())
        .then(|| (key.to_owned(), scalar(value)))
}

/// Whether `write` could have written every line. YAML then reads the same, and need not be asked.
pub(super) fn is_as_we_write(text: &str) -> bool {
    text.lines().all(|line| {
        let rest = line.strip_prefix("  - ").or_else(|| line.strip_prefix("    ")).unwrap_or(line);
        let is_item = rest.len() < line.len();
        if is_item && is_quoted(rest) {
            return line.starts_with("  - ");
        }
        let Some((key, value)) = rest.split_once(':') else { return false };
        let value = value.strip_prefix(' ').unwrap_or(value);
        let is_value = is_quoted(value) || value == "[]" || is_our_number(key, value) || value.is_empty() && !is_item;
        is_our_key(key) && is_value
    })
}

/// Reads a text of which `write` could have written every line, in one pass. `None` for any other text, and for one that
/// [`read`] refuses.
pub(super) fn read_as_we_write(text: &str) -> Option<Vec<Field>> {
    let mut fields: Vec<Field> = Vec::with_capacity(32);
    // The last field is a list that may get items.
    let mut is_open = false;
    let lines = text.strip_suffix('\n')?.split('\n');
    for (number, line) in lines.enumerate() {
        if !line.starts_with(' ') {
            let (key, value) = line.split_once(':')?;
            if !is_our_key(key) || fields.iter().any(|field| field.key == key) {
                return None;
            }
            is_open = value.is_empty();
            let value = if is_open { Value::List(Vec::new()) } else { scalar_of_ours(key, value.strip_prefix(' ')?)? };
            fields.push(Field { key: key.to_owned(), value, line: number + 1 });
            continue;
        }
        let Some(Field { value: Value::List(items), .. }) = fields.last_mut().filter(|_| is_open) else { return None };
        if let Some(pair) = line.strip_prefix("    ") {
            let Some(Value::Map(pairs)) = items.last_mut() else { return None };
            pairs.push(pair_of_ours(pair)?);
            continue;
        }
        let item = line.strip_prefix("  - ")?;
        items.push(match unquote_ours(item) {
            Some(text) => Value::Text(text.into_owned()),
            None => Value::Map(vec![pair_of_ours(item)?]),
        });
    }
    Some(fields)
}

fn pair_of_ours(text: &str) -> Option<(String, Value)> {
    let (key, value) = text.split_once(": ").filter(|(key, _)| is_our_key(key))?;
    Some((key.to_owned(), scalar_of_ours(key, value)?))
}

fn scalar_of_ours(key: &str, value: &str) -> Option<Value> {
    match value {
        "[]" => Some(Value::List(Vec::new())),
        number if is_our_number(key, number) => Some(Value::from(number)),
        text => Some(Value::Text(unquote_ours(text)?.into_owned())),
    }
}

/// Whether `write` could have written this key: a letter, then letters, digits and `_`.
fn is_our_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether this is the number that `write` writes without quotes.
fn is_our_number(key: &str, value: &str) -> bool {
    key == "schema_version" && !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit())
}

/// The content of a text in double quotes that `write` could have written; `None` for any other text.
pub(crate) fn unquote_ours(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.get(1..text.len().checked_sub(1)?).filter(|_| is_quoted(text))?;
    Some(if inner.contains('\\') { Cow::Owned(unquote(text)) } else { Cow::Borrowed(inner) })
}

/// Whether a text is in double quotes, with only the escapes `\\` and `\"` and no control characters.
fn is_quoted(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).filter(|_| text.len() >= 2) else {
        return false;
    };
    let mut bytes = inner.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if !matches!(bytes.next(), Some(b'\\' | b'"')) => return false,
            b'"' | 0x7f | 0..=8 | 10..=31 => return false,
            _ => {}
        }
    }
    // Some characters beyond ASCII end a line in YAML or are not allowed in it.
    inner.is_ascii() || one_line(inner) == inner
}

/// Writes fields. The subset, YAML 1.2 and this program read the same values back.
pub(super) fn write<'a>(fields: impl IntoIterator<Item = (&'a str, &'a Value)>) -> String {
    let mut text = String::new();
    for (key, value) in fields {
        write_field(&mut text, key, value);
    }
    text
}

fn write_field(text: &mut String, key: &str, value: &Value) {
    match value {
        Value::Text(value) => push(text, &[key, ": ", &quote(key, value), "\n"]),
        Value::List(items) => write_list(text, key, items),
        // The subset cannot write a mapping here, so it becomes a list with one item.
        Value::Map(_) => write_list(text, key, std::slice::from_ref(value)),
    }
}

fn write_list(text: &mut String, key: &str, items: &[Value]) {
    // The subset cannot write a mapping without pairs, which says nothing.
    let says_something = |item: &&Value| !matches!(item, Value::Map(pairs) if pairs.is_empty());
    let mut items = items.iter().filter(says_something).peekable();
    if items.peek().is_none() {
        return push(text, &[key, ": []\n"]);
    }
    push(text, &[key, ":\n"]);
    for item in items {
        write_item(text, item);
    }
}

fn write_item(text: &mut String, item: &Value) {
    match item {
        Value::Text(value) => push(text, &["  - ", &quote("", value), "\n"]),
        Value::List(items) => {
            // The subset cannot write a list in a list, so its texts are joined.
            let joined: Vec<&str> = items.iter().filter_map(Value::text).collect();
            push(text, &["  - ", &quote("", &joined.join(", ")), "\n"]);
        }
        Value::Map(pairs) => {
            for (number, (key, value)) in pairs.iter().enumerate() {
                let lead = if number == 0 { "  - " } else { "    " };
                let value = match value {
                    Value::Text(value) => quote(key, value),
                    Value::List(items) if items.is_empty() => "[]".to_owned(),
                    other => quote("", &flatten(other)),
                };
                push(text, &[lead, key, ": ", &value, "\n"]);
            }
        }
    }
}

fn flatten(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::List(items) => items.iter().map(flatten).collect::<Vec<_>>().join(", "),
        Value::Map(pairs) => pairs.iter().map(|(k, v)| format!("{k}: {}", flatten(v))).collect::<Vec<_>>().join(", "),
    }
}

fn push(text: &mut String, parts: &[&str]) {
    text.extend(parts.iter().copied());
}

/// Quotes a value with the two escapes that every reader understands. Session Glue reads `schema_version` as a number, so
/// it is not quoted.
fn quote(key: &str, value: &str) -> String {
    let digits = value.strip_prefix('-').unwrap_or(value);
    if key == "schema_version" && !digits.is_empty() && digits.len() <= 9 && digits.bytes().all(|b| b.is_ascii_digit())
    {
        return value.to_owned();
    }
    format!("\"{}\"", one_line(value).replace('\\', "\\\\").replace('"', "\\\""))
}

/// The value on one line: characters that YAML does not allow in a line become spaces.
pub(crate) fn one_line(value: &str) -> String {
    let is_odd = |c: char| {
        c.is_control() && c != '\t' || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    value.chars().map(|c| if is_odd(c) { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        read(&format!("k: {text}\n")).unwrap().remove(0).value
    }

    #[test]
    fn scalars_are_read_as_session_glue_reads_them() {
        for (text, expected) in [
            ("\"a \\\"b\\\" \\n\"", "a \"b\" n"),
            ("'it''s'", "it''s"),
            ("[a, b]", "[a, b]"),
            ("a # b", "a # b"),
            ("null", "null"),
            ("\"fast\" vs \"slow\"", "fast\" vs \"slow"),
            ("\"", "\""),
        ] {
            assert_eq!(value(text), Value::from(expected), "{text}");
        }
        assert_eq!(value("[]"), Value::List(Vec::new()));
        assert_eq!(read("k:\n").unwrap()[0].value, Value::List(Vec::new()));
    }

    #[test]
    fn lists_are_read_as_session_glue_reads_them() {
        let text = "a:\n  - one\n  -two\n    - [standing] three\n  # comment\n\n  - path: x.rs\n    reason: because\n  - Fix: it\n  - time: \nb: 1\n";
        let fields = read(text).unwrap();
        let map = |pairs: &[(&str, &str)]| {
            Value::Map(pairs.iter().map(|(k, v)| ((*k).to_owned(), Value::from(*v))).collect())
        };
        let expected = vec![
            Value::from("one"),
            Value::from("two"),
            Value::from("[standing] three"),
            map(&[("path", "x.rs"), ("reason", "because")]),
            map(&[("Fix", "it")]),
            Value::from("time:"),
        ];
        assert_eq!(fields[0].value, Value::List(expected));
        assert_eq!((fields[1].key.as_str(), fields[1].line), ("b", 11));
    }

    #[test]
    fn only_our_own_writing_is_recognised_as_such() {
        for text in ["a: \"x\"\nb: []\nc:\n  - \"y\"\n  - path: \"z\"\n    reason: \"w\\\"\"\nschema_version: 1\n", ""]
        {
            assert!(is_as_we_write(text), "{text}");
            assert_eq!(read_as_we_write(text).map(Ok), (!text.is_empty()).then(|| read(text)), "{text}");
        }
        for text in [
            "a: x\n",
            "a: \"x\" # c\n",
            "a: \"\\n\"\n",
            "  - x\n",
            "a: 'x'\n",
            "a: \"x\"y\"\n",
            " b: \"x\"\n",
            "a: \"\u{85}\"\n",
            "-: \"x\"\n",
            "    k:\n",
        ] {
            assert!(!is_as_we_write(text), "{text:?}");
            assert_eq!(read_as_we_write(text), None, "{text:?}");
        }
        // The subset refuses these, or reads them as something else than their lines look like.
        for text in [
            "a: \"x\"\na: \"y\"\n",
            "a: \"x\"\n  - \"y\"\n",
            "a: []\n  - \"y\"\n",
            "  - \"y\"\n",
            "a:\n    b: \"y\"\n",
            "a:\n  - \"x\"\n    b: \"y\"\n",
            "a:\n  - b:\"y\"\n",
            "a: \"x\"\r\n",
            "a: \"x\"",
        ] {
            assert_eq!(read_as_we_write(text), None, "{text:?}");
        }
    }

    #[test]
    fn errors_have_session_glues_words_and_the_line() {
        for (text, line, message) in [
            (
                "a: 1\n b: 2\n",
                2,
                "multi-line YAML values are not supported — keep each value on one line (unexpected indentation at: ' b: 2')",
            ),
            ("a: 1\nnothing\n", 2, "expected 'key: value', got: 'nothing'"),
            ("a: 1\na: 2\n", 2, "duplicate top-level key: 'a'"),
            ("a: |\n  x\n", 1, MULTI_LINE),
            ("a:\n  x\n", 2, "expected a list item, got: 'x'"),
        ] {
            assert_eq!(read(text), Err(SyntaxError::at(line, message)), "{text}");
        }
    }
}
