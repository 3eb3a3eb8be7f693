//! The arguments of a call. A wrong one is an error that names it, so that the agent can call again.

use serde_json::{Map, Value};

use crate::base::text;
use crate::error::{Error, Result};

/// The arguments that a client passed. Each is taken out as it is read, and what is left over is refused.
#[derive(Debug, Default)]
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    pub(super) fn of(given: Option<Map<String, Value>>) -> Arguments {
        Arguments(given.unwrap_or_default())
    }

    /// A text; `None` if it is absent, null or blank.
    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>> {
        match self.0.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.trim().is_empty())),
            Some(_) => Err(Error::usage(format!("`{key}` must be a text"))),
        }
    }

    pub(super) fn required_text(&mut self, key: &str) -> Result<String> {
        self.text(key)?.ok_or_else(|| Error::usage(format!("`{key}` is missing")))
    }

    /// A number within these bounds. Some clients pass numbers as texts.
    pub(super) fn number(&mut self, key: &str, bounds: std::ops::RangeInclusive<u64>) -> Result<Option<u64>> {
        let number = match self.0.remove(key) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(value) => value.as_u64(),
        };
        let (least, most) = (bounds.start(), bounds.end());
        let wrong = || Error::usage(format!("`{key}` must be a whole number from {least} to {most}"));
        number.filter(|number| bounds.contains(number)).map(Some).ok_or_else(wrong)
    }

    /// A list of texts. One text counts as a list of one.
    pub(super) fn texts(&mut self, key: &str) -> Result<Vec<String>> {
        let items = match self.0.remove(key) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(one) => vec![one],
        };
        let text = |item: Value| match item {
            Value::String(text) => Ok(text.trim().to_owned()),
            _ => Err(Error::usage(format!("`{key}` must be a list of texts"))),
        };
        let texts = items.into_iter().map(text).collect::<Result<Vec<_>>>()?;
        Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
    }

    /// What is left, for a tool that checks it itself.
    pub(super) fn rest(self) -> Map<String, Value> {
        self.0
    }

    /// Refuses what no tool of this kind takes: its value would be lost silently.
    pub(super) fn end(self, known: &[&str]) -> Result<()> {
        let Some(key) = self.0.keys().next() else { return Ok(()) };
        let error = Error::usage(format!("unknown argument `{}`", text::one_line(key, 40)));
        Err(match text::nearest(key, known.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("known: {}", known.join(", "))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn given(value: Value) -> Arguments {
        Arguments::of(value.as_object().cloned())
    }

    #[test]
    fn arguments_are_read_by_type_and_what_is_left_is_refused() {
        let mut all = given(json!({ "query": " lexer ", "limit": "3", "done": ["a", " "], "one": "b", "quary": 1 }));
        assert_eq!(all.required_text("query").unwrap(), " lexer ");
        assert_eq!(all.number("limit", 1..=20).unwrap(), Some(3));
        assert_eq!((all.texts("done").unwrap(), all.texts("one").unwrap()), (vec!["a".into()], vec!["b".into()]));
        assert_eq!(all.end(&["query", "limit"]).unwrap_err().hints(), ["did you mean `query`?"]);
        for wrong in [json!(0), json!(21), json!(1.5), json!("x"), json!([]), json!(-1)] {
            assert!(given(json!({ "limit": wrong })).number("limit", 1..=20).is_err(), "{wrong}");
        }
        assert!(given(json!({ "query": 1 })).text("query").is_err());
        assert!(given(json!({ "query": " " })).required_text("query").is_err());
        assert!(given(json!({ "done": [1] })).texts("done").is_err());
    }
}
