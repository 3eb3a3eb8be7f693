//! Parses JSON of any size into a value of bounded size: long lists end early, deep nesting is refused. Long texts are cut when
//! somebody reads them.

use std::borrow::Cow;

use super::json::{Fields, Text, Value};

/// The longest key. Some keys are paths.
const MAX_KEY: usize = 4096;
/// The most values of one record. Each costs some hundred bytes, so this bounds the cost of a line full of brackets.
const MAX_VALUES: usize = 5_000;
/// How deep values may be within each other: to read them recurses.
const MAX_DEPTH: usize = 127;

/// How many fields most records have at most, and how many other objects have.
const OF_RECORD: usize = 20;
const OF_OTHERS: usize = 6;

/// How much of a torn line is parsed, as a multiple of its length. A line full of beginnings would cost more.
const MOST_PASSES: usize = 4;

/// Fields of a record that are read in part, each with the fields of it that are read. Clients repeat there what tools printed,
/// which is most of a transcript, and to skip a text costs less than to read it.
pub(super) type ReadInPart = &'static [(&'static str, &'static [&'static str])];

/// Parses one record. `None` if it is not a JSON object or is nested too deeply.
///
/// A client that is killed while it writes leaves half a record without a line break. When it continues the session, the next
/// record comes on the same line; that one is returned.
pub(super) fn parse(line: &str) -> Option<Value<'_>> {
    parse_in_part(line, &[])
}

/// Like [`parse`], without what nobody reads.
pub(super) fn parse_in_part<'a>(line: &'a str, in_part: ReadInPart) -> Option<Value<'a>> {
    let mut work = match object(line, in_part) {
        Ok(found) => return found,
        Err(parsed) => parsed,
    };
    for (start, _) in line.match_indices("{\"").filter(|(start, _)| *start > 0) {
        match object(&line[start..], in_part) {
            Ok(found) => return found,
            Err(parsed) => work += parsed,
        }
        if work > line.len().saturating_mul(MOST_PASSES) {
            break;
        }
    }
    None
}

/// Parses one record that is all of a text. No beginning of a record is one, so that this tells whether a record is complete.
pub(super) fn parse_complete<'a>(text: &'a str, in_part: ReadInPart) -> Option<Value<'a>> {
    object(text, in_part).ok().flatten()
}

/// The object that a text begins with.
pub(super) fn parse_beginning(text: &str) -> Option<Value<'_>> {
    Parser { text, at: 0, values: MAX_VALUES }.value(0, &Wanted::default()).filter(Value::is_object)
}

/// Like [`parse`], for a record that lasts longer than its text.
pub(crate) fn parse_to_keep(text: &[u8]) -> Option<serde_json::Value> {
    parse(&text_of(text)).map(|record| record.to_json())
}

/// The text of a line. Nearly every line is UTF-8, and to see that costs a fraction of repairing it.
pub(super) fn text_of(line: &[u8]) -> Cow<'_, str> {
    simdutf8::basic::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed)
}

/// The object that a text is, `None` if it is another value. If the text is not JSON, how much of it was parsed.
fn object(text: &str, in_part: ReadInPart) -> Result<Option<Value<'_>>, usize> {
    let mut parser = Parser { text, at: 0, values: MAX_VALUES };
    let value = parser.value(0, &Wanted { in_part, only: None }).filter(|_| parser.next().is_none());
    value.map(|value| value.is_object().then_some(value)).ok_or(parser.at)
}

/// What is read of an object.
#[derive(Clone, Copy, Default)]
struct Wanted {
    in_part: ReadInPart,
    /// The fields that are read; `None` for all.
    only: Option<&'static [&'static str]>,
}

impl Wanted {
    /// What is read of the field with this name; `None` for nothing.
    fn field(&self, name: &Text<'_>) -> Option<Wanted> {
        let is_read = name.written() <= MAX_KEY && self.only.is_none_or(|only| only.contains(&name.as_str()));
        let only = || self.in_part.iter().find(|(other, _)| *other == name.as_str()).map(|(_, fields)| *fields);
        is_read.then(|| Wanted { in_part: &[], only: only() })
    }
}

/// Reads JSON. Nothing is read that is not well-formed, except for the escapes of texts, which are looked at when somebody reads
/// the text, and for what is skipped, of which only quotes and brackets must fit.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// How many values may still be read.
    values: usize,
}

impl<'a> Parser<'a> {
    /// The next byte that is not white space; it stays the next one.
    fn next(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let space = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).unwrap_or(rest.len());
        self.at += space;
        rest.get(space).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    fn value(&mut self, depth: usize, wanted: &Wanted) -> Option<Value<'a>> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.next()? {
            b'"' => self.string().map(Value::String),
            b'{' => self.object(depth, wanted),
            b'[' => self.array(depth),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize, wanted: &Wanted) -> Option<Value<'a>> {
        let mut fields = Fields::default();
        self.at += 1;
        if self.next()? == b'}' {
            self.at += 1;
            return Some(Value::Object(fields));
        }
        loop {
            self.next().filter(|byte| *byte == b'"')?;
            let name = self.string()?;
            self.take(b':')?;
            match wanted.field(&name).filter(|_| self.allows_another()) {
                Some(wanted) => {
                    fields.reserve(if depth == 0 { OF_RECORD } else { OF_OTHERS });
                    fields.add(name, self.value(depth + 1, &wanted)?);
                }
                None => self.skip()?,
            }
            if self.ends_with(b'}')? {
                return Some(Value::Object(fields));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value<'a>> {
        let mut items = Vec::new();
        self.at += 1;
        if self.next()? == b']' {
            self.at += 1;
            return Some(Value::Array(items));
        }
        loop {
            if self.allows_another() {
                items.push(self.value(depth + 1, &Wanted::default())?);
            } else {
                self.skip()?;
            }
            if self.ends_with(b']')? {
                return Some(Value::Array(items));
            }
        }
    }

    fn allows_another(&mut self) -> bool {
        let left = self.values;
        self.values = left.saturating_sub(1);
        left > 0
    }

    /// Whether this bracket comes next, and not a comma.
    fn ends_with(&mut self, bracket: u8) -> Option<bool> {
        let next = self.next()?;
        self.at += 1;
        if next == bracket { Some(true) } else { (next == b',').then_some(false) }
    }

    /// A text, to its closing quote: one with an even number of backslashes before it.
    fn string(&mut self) -> Option<Text<'a>> {
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut end = start;
        loop {
            end += memchr::memchr(b'"', &bytes[end..])?;
            let backslashes = bytes[start..end].iter().rev().take_while(|byte| **byte == b'\\').count();
            if backslashes % 2 == 0 {
                self.at = end + 1;
                return Some(Text::of(&self.text[start..end]));
            }
            end += 1;
        }
    }

    /// A number, or one of the three words of JSON.
    fn word(&mut self) -> Option<Value<'a>> {
        let rest = &self.text[self.at..];
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let word = &rest[..rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len())];
        self.at += word.len();
        match word {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ if word.as_bytes() == [b'n', b'u', b'l', b'l'] => Some(Value::Null),
            number => is_number(number).then_some(Value::Number(number)),
        }
    }

    /// Skips a value of any depth.
    fn skip(&mut self) -> Option<()> {
        let mut open = Vec::new();
        loop {
            match self.next()? {
                b'"' => drop(self.string()?),
                bracket @ (b'{' | b'[') => {
                    // "}" and "]" come two after their counterparts.
                    open.push(bracket + 2);
                    self.at += 1;
                    continue;
                }
                bracket @ (b'}' | b']') => {
                    open.pop().filter(|expected| *expected == bracket)?;
                    self.at += 1;
                }
                b',' | b':' if !open.is_empty() => {
                    self.at += 1;
                    continue;
                }
                _ => drop(self.word()?),
            }
            if open.is_empty() {
                return Some(());
            }
        }
    }
}

/// Whether a word is a number as JSON writes it.
fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && (digits.len() < 16 && digits.bytes().all(|c| c.is_ascii_digit()) || word.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::super::json::MAX_TEXT;
    use super::*;

    /// The record of a line, whole or in part, as a value that can be compared.
    fn read(line: &[u8], in_part: ReadInPart) -> Option<serde_json::Value> {
        parse_in_part(&text_of(line), in_part).map(|record| record.to_json())
    }

    #[test]
    fn what_is_small_is_read_as_it_is() {
        let text = r#"{"a":[1,-2,3.5,true,null,"x\u00e9"],"b":{"c":"d"}}"#;
        assert_eq!(read(text.as_bytes(), &[]), serde_json::from_str(text).ok());
    }

    #[test]
    fn what_is_large_is_cut_and_what_follows_is_still_read() {
        let long = format!(r#"{{"a":"{}","b":[{}],"c":"end"}}"#, "word ".repeat(50_000), vec!["[]"; 100_000].join(","));
        let value = read(long.as_bytes(), &[]).unwrap();
        assert!(value["a"].as_str().unwrap().len() <= MAX_TEXT);
        assert!(value["b"].as_array().unwrap().len() <= MAX_VALUES);
        let early = format!(r#"{{"c":"end","b":[{}]}}"#, vec!["1"; 100_000].join(","));
        assert_eq!(read(early.as_bytes(), &[]).unwrap()["c"], "end");
    }

    #[test]
    fn of_a_field_that_is_read_in_part_only_that_part_is_kept() {
        const IN_PART: ReadInPart = &[("result", &["plan"])];
        let text = r#"{"result":{"stdout":"x\ny","plan":{"stdout":1}},"a":{"result":{"stdout":2}}}"#;
        let found = read(text.as_bytes(), IN_PART);
        assert_eq!(found, serde_json::from_str(r#"{"result":{"plan":{"stdout":1}},"a":{"result":{"stdout":2}}}"#).ok());
        let text = r#"{"result":"a text","a":[{"stdout":1}]}"#;
        assert_eq!(read(text.as_bytes(), IN_PART), serde_json::from_str(text).ok());
    }

    #[test]
    fn what_is_deep_or_no_record_is_refused() {
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(1_000_000), "]".repeat(1_000_000));
        for text in [&deep, "", "[]", "1", "{", r#"{"a":1} x"#, "\u{0}"] {
            assert_eq!(read(text.as_bytes(), &[]), None);
        }
        assert!(read(b"{\"a\":\"\xff\"}", &[]).is_some());
    }

    #[test]
    fn a_record_after_a_torn_one_is_read() {
        let whole = r#"{"type":"user","message":{"content":[{"type":"text","text":"{\"a\":1}"}]}}"#;
        for torn in
            ["\0\0\0", r#"{"type":"user","message":{"content":[{"type":"te"#, r#"{"a":"{\"b\":1}"#, r#"{"a":{"b":1},"#]
        {
            assert_eq!(read(format!("{torn}{whole}").as_bytes(), &[]), serde_json::from_str(whole).ok(), "{torn}");
            assert_eq!(read(torn.as_bytes(), &[]), None);
        }
    }

    #[test]
    fn what_is_skipped_is_skipped_to_its_end() {
        const IN_PART: ReadInPart = &[("result", &["plan"])];
        for skipped in [r#""a\\\"]}{[""#, "[[{},[]],{\"a\":[null,true,-1.5e3]}]", "null", "0", "{}", r#""\\""#] {
            let line = format!(r#"{{"result":{{"stdout":{skipped},"plan":1}},"b":2}}"#);
            let expected = serde_json::json!({ "result": { "plan": 1 }, "b": 2 });
            assert_eq!(read(line.as_bytes(), IN_PART), Some(expected), "{skipped}");
        }
        for torn in [r#""a"#, r#""a\""#, "[1", "[}", "{]", "nul", "1x", "", ",", ":", r#"{"a":1,{"b":2}"#] {
            let line = format!(r#"{{"result":{{"stdout":{torn},"plan":1}},"b":2}}"#);
            assert_eq!(read(line.as_bytes(), IN_PART), None, "{torn}");
        }
    }

    #[test]
    fn a_field_that_is_there_twice_counts_as_it_is_there_last() {
        assert_eq!(parse(r#"{"a":1,"a":"x"}"#).unwrap()["a"], "x");
        assert_eq!(parse_beginning("{\"a\":1}) x").unwrap()["a"].as_i64(), Some(1));
    }

    #[test]
    fn a_line_full_of_beginnings_costs_a_few_passes() {
        assert_eq!(read(r#"{"a":"#.repeat(100_000).as_bytes(), &[]), None);
        assert_eq!(read(r#"{"":[1,"#.repeat(100_000).as_bytes(), &[]), None);
    }

    #[test]
    fn a_cut_leaves_no_half_of_a_word() {
        let text = format!("{} {}", "a".repeat(MAX_TEXT - 10), "b".repeat(100));
        let value = read(format!(r#"{{"a":"{text}"}}"#).as_bytes(), &[]).unwrap();
        assert!(!value["a"].as_str().unwrap().contains('b'));
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]

        /// Whatever another parser reads is read alike. What it refuses may be read if only an escape or a character is wrong.
        #[test]
        fn any_line_is_read_as_others_read_it(line in "\\{(\"[ab\\\\n]{0,3}\"|[\\[\\]{}:, 1e.-]|null|true){0,12}\\}") {
            if let Ok(expected @ serde_json::Value::Object(_)) = serde_json::from_str::<serde_json::Value>(&line) {
                proptest::prop_assert_eq!(object(&line, &[]).ok().flatten().map(|found| found.to_json()), Some(expected));
            }
        }
    }
}
