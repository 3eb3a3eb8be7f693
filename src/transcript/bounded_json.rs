//! Parses JSON of any size into a value of bounded size: long texts are cut, long lists end early, deep nesting is refused.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The longest text. Requests and patches fit.
pub(super) const MAX_TEXT: usize = 64 << 10;
/// The longest key. Some keys are paths.
const MAX_KEY: usize = 4096;
/// The most values of one record. Each costs some hundred bytes, so this bounds the cost of a line full of brackets.
const MAX_VALUES: usize = 5_000;
const MAX_TEXTS: usize = 1 << 20;

/// The values and bytes that one record may still use.
struct Budget {
    values: Cell<usize>,
    bytes: Cell<usize>,
}

/// How much of a torn line is parsed, as a multiple of its length. A line full of beginnings would cost more.
const MOST_PASSES: usize = 4;

/// Fields of a record that are read in part, each with the fields of it that are read. Clients repeat there what tools printed,
/// which is most of a transcript, and to skip a text costs less than to read it.
pub(super) type ReadInPart = &'static [(&'static str, &'static [&'static str])];

/// Parses one record. `None` if it is not a JSON object or is nested too deeply.
///
/// A client that is killed while it writes leaves half a record without a line break. When it continues the session, the next
/// record comes on the same line; that one is returned.
pub(super) fn parse(line: &[u8]) -> Option<Value> {
    parse_in_part(line, &[])
}

/// Like [`parse`], without what nobody reads.
pub(super) fn parse_in_part(line: &[u8], in_part: ReadInPart) -> Option<Value> {
    // Nearly every line is UTF-8, and to see that costs a fraction of repairing it.
    let text = std::str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
    let mut work = match object(&text, in_part) {
        Ok(found) => return found,
        Err(parsed) => parsed,
    };
    for (start, _) in text.match_indices("{\"").filter(|(start, _)| *start > 0) {
        match object(&text[start..], in_part) {
            Ok(found) => return found,
            Err(parsed) => work += parsed,
        }
        if work > text.len().saturating_mul(MOST_PASSES) {
            break;
        }
    }
    None
}

/// Parses one record that is all of a text. No beginning of a record is one, so that this tells whether a record is complete.
pub(super) fn parse_complete(text: &[u8], in_part: ReadInPart) -> Option<Value> {
    object(&String::from_utf8_lossy(text), in_part).ok().flatten()
}

/// The object that a text is, `None` if it is another value. If the text is not JSON, how much of it was parsed.
fn object(text: &str, in_part: ReadInPart) -> Result<Option<Value>, usize> {
    let budget = Budget { values: Cell::new(MAX_VALUES), bytes: Cell::new(MAX_TEXTS) };
    // Reading recurses, and the parser limits its depth. Skipping does not recurse.
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = Bounded { budget: &budget, in_part, only: None }
        .deserialize(&mut parser)
        .and_then(|value| parser.end().map(|()| value));
    value.map(|value| value.is_object().then_some(value)).map_err(|error| error.column())
}

impl Budget {
    fn allows_another(&self) -> bool {
        let left = self.values.get();
        self.values.set(left.saturating_sub(1));
        left > 0
    }

    /// The text, cut at the end of a word: half a secret would no longer be recognised as one.
    fn text(&self, text: &str) -> String {
        let room = MAX_TEXT.min(self.bytes.get());
        let mut kept = crate::base::text::cut(text, room);
        if kept.len() < text.len() {
            kept = &kept[..kept.rfind(char::is_whitespace).unwrap_or(kept.len())];
        }
        self.bytes.set(self.bytes.get() - kept.len());
        kept.to_owned()
    }
}

/// Reads one value within the budget.
struct Bounded<'b> {
    budget: &'b Budget,
    in_part: ReadInPart,
    /// The fields that are read; `None` for all.
    only: Option<&'static [&'static str]>,
}

impl<'b> Bounded<'b> {
    /// Reads a value inside of this one.
    fn inside(&self) -> Bounded<'b> {
        Bounded { budget: self.budget, in_part: &[], only: None }
    }

    /// Reads the field with this name.
    fn field(&self, name: &str) -> Bounded<'b> {
        let only = self.in_part.iter().find(|(other, _)| *other == name).map(|(_, fields)| *fields);
        Bounded { only, ..self.inside() }
    }

    fn is_read(&self, name: &str) -> bool {
        name.len() <= MAX_KEY && self.only.is_none_or(|only| only.contains(&name))
    }
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, parser: D) -> Result<Value, D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(self.budget.text(text).into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while self.budget.allows_another() {
            match items.next_element_seed(self.inside())? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<Cow<'de, str>>()? {
            if self.is_read(&key) && self.budget.allows_another() {
                let value = entries.next_value_seed(self.field(&key))?;
                map.insert(key.into_owned(), value);
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_small_is_read_as_it_is() {
        let text = r#"{"a":[1,-2,3.5,true,null,"x\u00e9"],"b":{"c":"d"}}"#;
        assert_eq!(parse(text.as_bytes()), serde_json::from_str(text).ok());
    }

    #[test]
    fn what_is_large_is_cut_and_what_follows_is_still_read() {
        let long = format!(r#"{{"a":"{}","b":[{}],"c":"end"}}"#, "word ".repeat(50_000), vec!["[]"; 100_000].join(","));
        let value = parse(long.as_bytes()).unwrap();
        assert!(value["a"].as_str().unwrap().len() <= MAX_TEXT);
        assert!(value["b"].as_array().unwrap().len() <= MAX_VALUES);
        let early = format!(r#"{{"c":"end","b":[{}]}}"#, vec!["1"; 100_000].join(","));
        assert_eq!(parse(early.as_bytes()).unwrap()["c"], "end");
    }

    #[test]
    fn of_a_field_that_is_read_in_part_only_that_part_is_kept() {
        const IN_PART: ReadInPart = &[("result", &["plan"])];
        let text = r#"{"result":{"stdout":"x\ny","plan":{"stdout":1}},"a":{"result":{"stdout":2}}}"#;
        let read = parse_in_part(text.as_bytes(), IN_PART);
        assert_eq!(read, serde_json::from_str(r#"{"result":{"plan":{"stdout":1}},"a":{"result":{"stdout":2}}}"#).ok());
        let text = r#"{"result":"a text","a":[{"stdout":1}]}"#;
        assert_eq!(parse_in_part(text.as_bytes(), IN_PART), serde_json::from_str(text).ok());
    }

    #[test]
    fn what_is_deep_or_no_record_is_refused() {
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(1_000_000), "]".repeat(1_000_000));
        for text in [&deep, "", "[]", "1", "{", r#"{"a":1} x"#, "\u{0}"] {
            assert_eq!(parse(text.as_bytes()), None);
        }
        assert!(parse(b"{\"a\":\"\xff\"}").is_some());
    }

    #[test]
    fn a_record_after_a_torn_one_is_read() {
        let whole = r#"{"type":"user","message":{"content":[{"type":"text","text":"{\"a\":1}"}]}}"#;
        for torn in
            ["\0\0\0", r#"{"type":"user","message":{"content":[{"type":"te"#, r#"{"a":"{\"b\":1}"#, r#"{"a":{"b":1},"#]
        {
            assert_eq!(parse(format!("{torn}{whole}").as_bytes()), serde_json::from_str(whole).ok(), "{torn}");
            assert_eq!(parse(torn.as_bytes()), None);
        }
    }

    #[test]
    fn a_line_full_of_beginnings_costs_a_few_passes() {
        assert_eq!(parse(r#"{"a":"#.repeat(1_000_000).as_bytes()), None);
        assert_eq!(parse(r#"{"":[1,"#.repeat(1_000_000).as_bytes()), None);
    }

    #[test]
    fn a_cut_leaves_no_half_of_a_word() {
        let text = format!("{} {}", "a".repeat(MAX_TEXT - 10), "b".repeat(100));
        let value = parse(format!(r#"{{"a":"{text}"}}"#).as_bytes()).unwrap();
        assert!(!value["a"].as_str().unwrap().contains('b'));
    }
}
