//! A record of a transcript as a value. A text stays in its line, as it is written there, until somebody reads it: most of a
//! transcript is the output of tools, of which hardly anything is read.

use std::cell::OnceCell;
use std::ops::Index;

use crate::base::text;

/// The longest text. Requests and patches fit.
pub(super) const MAX_TEXT: usize = 64 << 10;

/// A value of JSON.
#[derive(Debug, Default)]
pub(super) enum Value<'a> {
    #[default]
    Null,
    Bool(bool),
    /// As it is written.
    Number(&'a str),
    String(Text<'a>),
    Array(Vec<Value<'a>>),
    Object(Fields<'a>),
}

/// The fields of an object, in their order.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(Vec<(Text<'a>, Value<'a>)>);

/// A text between its quotes.
#[derive(Debug)]
pub(super) struct Text<'a> {
    written: &'a str,
    /// The text itself, if it is written otherwise.
    read: Option<OnceCell<String>>,
}

impl<'a> Text<'a> {
    /// A text by what is written between its quotes.
    pub(super) fn of(written: &'a str) -> Text<'a> {
        let has_escapes = memchr::memchr(b'\\', written.as_bytes()).is_some();
        Text { written, read: has_escapes.then(OnceCell::new) }
    }

    /// The text, at most its beginning.
    pub(super) fn as_str(&self) -> &str {
        match &self.read {
            None => beginning(self.written, MAX_TEXT),
            Some(read) => read.get_or_init(|| read_escapes(self.written)),
        }
    }

    /// How many bytes are written between its quotes.
    pub(super) fn written(&self) -> usize {
        self.written.len()
    }
}

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

/// A text, cut at the end of a word: half a secret would no longer be recognised as one.
fn beginning(whole: &str, most: usize) -> &str {
    if whole.len() <= most {
        return whole;
    }
    let kept = text::cut(whole, most);
    &kept[..kept.rfind(char::is_whitespace).unwrap_or(kept.len())]
}

/// A string without its escapes. An escape that JSON does not know is left out.
fn read_escapes(written: &str) -> String {
    let mut read = String::with_capacity(written.len().min(MAX_TEXT + 4));
    let mut rest = written;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        read.push_str(&rest[..at]);
        rest = push_escaped(&rest[at + 1..], &mut read);
        if read.len() > MAX_TEXT {
            read.truncate(beginning(&read, MAX_TEXT).len());
            return read;
        }
    }
    read.push_str(rest);
    read.truncate(beginning(&read, MAX_TEXT).len());
    read
}

/// Adds the character that an escape stands for; returns what follows it. The backslash is before it.
fn push_escaped<'t>(escape: &'t str, read: &mut String) -> &'t str {
    let mut rest = escape.chars();
    match rest.next() {
        Some('n') => read.push('\n'),
        Some('t') => read.push('\t'),
        Some('r') => read.push('\r'),
        Some('b') => read.push('\u{8}'),
        Some('f') => read.push('\u{c}'),
        Some('u') => return push_unit(rest.as_str(), read),
        Some(c) => read.push(c),
        None => {}
    }
    rest.as_str()
}

/// Adds the character whose number follows, in one or two units of UTF-16. Half of a pair is no character.
fn push_unit<'t>(digits: &'t str, read: &mut String) -> &'t str {
    let is_digits = |digits: &&str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let unit = |text: &str| u16::from_str_radix(text.get(..4).filter(is_digits)?, 16).ok();
    let Some(first) = unit(digits) else {
        read.push(char::REPLACEMENT_CHARACTER);
        return digits;
    };
    let rest = &digits[4..];
    let second = rest.strip_prefix("\\u").and_then(unit).filter(|second| (0xdc00..0xe000).contains(second));
    let (units, rest) = match second {
        Some(second) if (0xd800..0xdc00).contains(&first) => ([first, second], &rest[6..]),
        _ => ([first, 0], rest),
    };
    let length = if rest.len() + 4 == digits.len() { 1 } else { 2 };
    read.extend(char::decode_utf16(units[..length].iter().copied()).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
    rest
}

impl<'a> Fields<'a> {
    /// Makes room for so many fields if there are none yet.
    pub(super) fn reserve(&mut self, fields: usize) {
        if self.0.is_empty() {
            self.0.reserve(fields);
        }
    }

    pub(super) fn add(&mut self, name: Text<'a>, value: Value<'a>) {
        self.0.push((name, value));
    }

    /// The value of a field. Of two with the same name the last counts.
    pub(super) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.0.iter().rev().find(|(other, _)| other.as_str() == name).map(|(_, value)| value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl<'a> Value<'a> {
    pub(super) fn as_str(&self) -> Option<&str> {
        if let Value::String(text) = self { Some(text.as_str()) } else { None }
    }

    pub(super) fn as_array(&self) -> Option<&Vec<Value<'a>>> {
        if let Value::Array(items) = self { Some(items) } else { None }
    }

    pub(super) fn as_object(&self) -> Option<&Fields<'a>> {
        if let Value::Object(fields) = self { Some(fields) } else { None }
    }

    pub(super) fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self { Some(*value) } else { None }
    }

    pub(super) fn as_i64(&self) -> Option<i64> {
        if let Value::Number(number) = self { number.parse().ok() } else { None }
    }

    pub(super) fn is_u64(&self) -> bool {
        matches!(self, Value::Number(number) if number.parse::<u64>().is_ok())
    }

    pub(super) fn is_string(&self) -> bool {
        matches!(self, Value::String(_))
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self, Value::Array(_))
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self, Value::Object(_))
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The same value, which lasts longer than its line.
    pub(super) fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(number) => serde_json::from_str(number).unwrap_or_default(),
            Value::String(text) => text.as_str().into(),
            Value::Array(items) => items.iter().map(Value::to_json).collect(),
            Value::Object(fields) => fields.iter().map(|(name, value)| (name.to_owned(), value.to_json())).collect(),
        }
    }
}

/// What a value does not have.
const NOTHING: &Value<'static> = &Value::Null;

impl<'a> Index<&str> for Value<'a> {
    type Output = Value<'a>;

    fn index(&self, name: &str) -> &Value<'a> {
        self.as_object().and_then(|fields| fields.get(name)).unwrap_or(NOTHING)
    }
}

impl<'a> Index<&String> for Value<'a> {
    type Output = Value<'a>;

    fn index(&self, name: &String) -> &Value<'a> {
        &self[name.as_str()]
    }
}

impl<'a> Index<usize> for Value<'a> {
    type Output = Value<'a>;

    fn index(&self, number: usize) -> &Value<'a> {
        self.as_array().and_then(|items| items.get(number)).unwrap_or(NOTHING)
    }
}

impl PartialEq<str> for Value<'_> {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<&str> for Value<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<bool> for Value<'_> {
    fn eq(&self, other: &bool) -> bool {
        self.as_bool() == Some(*other)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_what_its_escapes_stand_for() {
        for (written, read) in [
            ("plain", "plain"),
            (r#"a\"b\\c\/d"#, "a\"b\\c/d"),
            (r"\b\f\n\r\t", "\u{8}\u{c}\n\r\t"),
            (r"x\u00e9\u4FEE", "xé修"),
            (r"\ud83d\ude00!", "😀!"),
            (r"\ud83d!", "\u{fffd}!"),
            (r"\ud83d\u0041", "\u{fffd}A"),
            (r"\ude00\ud83d\ude00", "\u{fffd}😀"),
            (r"\u12", "\u{fffd}12"),
            (r"\u+123", "\u{fffd}+123"),
            (r"\", ""),
        ] {
            assert_eq!(Text::of(written).as_str(), read, "{written}");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_words_with_and_without_escapes() {
        for word in ["word ", r"word\n", r"wo\u00e9d "] {
            let written = word.repeat(MAX_TEXT);
            let text = Text::of(&written);
            let read = text.as_str();
            assert!(read.len() <= MAX_TEXT && read.len() > MAX_TEXT - 10 && read.ends_with('d'), "{word}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_as_it_was_written(text in any::<String>()) {
            let written = serde_json::to_string(&text).unwrap();
            let read = Text::of(&written[1..written.len() - 1]);
            prop_assert_eq!(read.as_str(), text);
        }
    }
}
