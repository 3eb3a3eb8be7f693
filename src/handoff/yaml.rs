//! Reads ordinary YAML 1.2 as text, lists and pairs. Anchors, aliases, tags, deep nesting and huge documents are refused.

use granit_parser::{Event, Parser, Span};

use super::value::{Field, SyntaxError, Value};

const MAX_DEPTH: usize = 8;
const MAX_NODES: usize = 100_000;

/// Reads a mapping.
pub(super) fn read(text: &str) -> Result<Vec<Field>, SyntaxError> {
    let mut reader = YamlReader { parser: Parser::new_from_str(text), nodes: 0 };
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(..), _) => {}
            (Event::MappingStart(..), _) => return reader.fields(),
            (Event::StreamEnd | Event::DocumentEnd, _) => return Ok(Vec::new()),
            (_, line) => return Err(SyntaxError::at(line, "expected 'key: value' lines")),
        }
    }
}

struct YamlReader<'a> {
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    nodes: usize,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, usize), SyntaxError> {
        let line = |span: &Span| span.start.line();
        match self.parser.next_event() {
            None => Err(SyntaxError::at(1, "the YAML ends too early")),
            Some(Err(error)) => Err(SyntaxError::at(error.marker().line(), error.info())),
            Some(Ok((event, span))) => {
                self.nodes += 1;
                let plain = match &event {
                    Event::Scalar(_, _, anchor, tag) => *anchor == 0 && tag.is_none(),
                    Event::SequenceStart(_, anchor, tag) | Event::MappingStart(_, anchor, tag) => {
                        *anchor == 0 && tag.is_none()
                    }
                    Event::Alias(_) => false,
                    _ => true,
                };
                if !plain {
                    return Err(SyntaxError::at(line(&span), "anchors, aliases and tags are not supported"));
                }
                // The parser reports a missing value as `~`, which somebody may also have written. Only a missing one is empty.
                let event = match event {
                    Event::Scalar(_, granit_parser::ScalarStyle::Plain, ..)
                        if span.start.index() == span.end.index() =>
                    {
                        Event::Scalar("".into(), granit_parser::ScalarStyle::Plain, 0, None)
                    }
                    event => event,
                };
                if self.nodes > MAX_NODES {
                    return Err(SyntaxError::at(line(&span), "it has too many values"));
                }
                Ok((event, line(&span)))
            }
        }
    }

    fn fields(&mut self) -> Result<Vec<Field>, SyntaxError> {
        let mut fields: Vec<Field> = Vec::new();
        while let Some((key, line)) = self.key(fields.iter().map(|field| field.key.as_str()))? {
            let value = match self.value(1)? {
                // A key without a value is an empty list, as in the subset.
                (Value::Text(text), true) if text.is_empty() => Value::List(Vec::new()),
                (value, _) => value,
            };
            fields.push(Field { key, value, line });
        }
        Ok(fields)
    }

    /// The next key of a mapping, or `None` at its end.
    fn key<'k>(&mut self, mut known: impl Iterator<Item = &'k str>) -> Result<Option<(String, usize)>, SyntaxError> {
        match self.next()? {
            (Event::MappingEnd, _) => Ok(None),
            (Event::Scalar(key, ..), line) if known.any(|known| known == key) => {
                Err(SyntaxError::at(line, format!("duplicate key: {}", super::value::repr(&key))))
            }
            (Event::Scalar(key, ..), line) => Ok(Some((key.into_owned(), line))),
            (_, line) => Err(SyntaxError::at(line, "a key must be plain text")),
        }
    }

    /// The next value, and whether it was written without quotes.
    fn value(&mut self, depth: usize) -> Result<(Value, bool), SyntaxError> {
        let (event, line) = self.next()?;
        if depth > MAX_DEPTH {
            return Err(SyntaxError::at(line, "it is nested too deeply"));
        }
        match event {
            Event::Scalar(text, style, ..) => {
                Ok((Value::Text(text.into_owned()), style == granit_parser::ScalarStyle::Plain))
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    // The end of the list arrives as an event in the place of a value.
                    match self.value(depth + 1)? {
                        (Value::Map(end), true) if end.is_empty() => return Ok((Value::List(items), false)),
                        (value, _) => items.push(value),
                    }
                }
            }
            // An empty map that is marked as unquoted stands for the end of a list; no real value has this form.
            Event::SequenceEnd => Ok((Value::Map(Vec::new()), true)),
            Event::MappingStart(..) => {
                let mut pairs: Vec<(String, Value)> = Vec::new();
                while let Some((key, _)) = self.key(pairs.iter().map(|(key, _)| key.as_str()))? {
                    let (value, _) = self.value(depth + 1)?;
                    pairs.push((key, value));
                }
                Ok((Value::Map(pairs), false))
            }
            _ => Err(SyntaxError::at(line, "unexpected YAML")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_as_agents_write_it_is_read() {
        let text = "tags: [a, 'b c', \"d\\n\"]\ntodo:\n- at column 0\n- Fix: it\nempty:\nnote: |\n  two\n  lines\nfiles:\n  - {path: x, reason: y}\n";
        let fields = read(text).unwrap();
        let get = |key: &str| fields.iter().find(|field| field.key == key).unwrap().value.clone();
        assert_eq!(get("tags"), Value::List(vec!["a".into(), "b c".into(), "d\n".into()]));
        assert_eq!(get("todo").list().unwrap()[0], "at column 0".into());
        assert_eq!(get("empty"), Value::List(Vec::new()));
        assert_eq!(get("note"), "two\nlines\n".into());
        assert_eq!(get("files").list().unwrap()[0].get("reason"), Some(&"y".into()));
    }

    #[test]
    fn anchors_tags_duplicates_and_depth_are_refused() {
        let deep = format!("a: {}{}", "[".repeat(20), "]".repeat(20));
        for text in ["a: &x 1\nb: *x\n", "a: !!str 1\n", "a: 1\na: 2\n", "- list\n", "a: [1\n", deep.as_str()] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
