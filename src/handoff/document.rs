//! A handoff as fields and a body.

use super::check::SECTIONS;
use super::value::{Field, SyntaxError, Value};
use super::{frontmatter, subset};
use crate::base::text;

/// The largest frontmatter. People and agents write them by hand; anything larger is something else.
const MAX_FRONTMATTER: usize = 1 << 20;

/// A handoff document: its fields in order, unknown ones included, and its body byte for byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Handoff {
    pub fields: Vec<Field>,
    pub body: String,
}

impl Handoff {
    pub(crate) fn parse(text: &str) -> Result<Handoff, SyntaxError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.split_inclusive('\n');
        let first = lines.next().unwrap_or_default();
        if first.trim() != "---" {
            return Err(SyntaxError::at(1, "handoff must begin with a '---' frontmatter delimiter"));
        }
        let mut end = first.len();
        for line in lines {
            if line.trim() == "---" {
                let fields = frontmatter::read_fields(&text[first.len()..end])
                    .map_err(|error| SyntaxError { line: error.line + 1, ..error })?
                    .into_iter()
                    .map(|field| Field { line: field.line + 1, ..field })
                    .collect();
                return Ok(Handoff { fields, body: text[end + line.len()..].to_owned() });
            }
            end += line.len();
            if end > MAX_FRONTMATTER {
                return Err(SyntaxError::at(1, "the frontmatter is larger than 1 MiB"));
            }
        }
        Err(SyntaxError::at(1, "unterminated frontmatter (missing closing '---')"))
    }

    /// Removes what is marked as private. In each field a tag that is not closed reaches to the end of that text.
    pub(crate) fn remove_private(&mut self) {
        for field in &mut self.fields {
            field.value.change_texts(&text::without_private);
        }
        self.body = text::without_private(&self.body);
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.fields.iter().find(|field| field.key == key).map(|field| &field.value)
    }

    /// The text of a scalar field; empty if the field is missing or not a scalar.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.get(key).and_then(Value::text).unwrap_or_default()
    }

    /// The text items of a list field.
    pub(crate) fn texts(&self, key: &str) -> Vec<&str> {
        self.get(key).and_then(Value::list).unwrap_or_default().iter().filter_map(Value::text).collect()
    }

    /// The part of the body under one of the required headings, up to the next required heading.
    pub(crate) fn section(&self, heading: &str) -> &str {
        let (mut at, mut start) = (0, None);
        for line in self.body.split_inclusive('\n') {
            let is_heading = |heading: &str| line.trim_end() == heading;
            match start {
                None if is_heading(heading) => start = Some(at + line.len()),
                Some(start) if SECTIONS.iter().any(|heading| is_heading(heading)) => return &self.body[start..at],
                _ => {}
            }
            at += line.len();
        }
        start.map_or("", |start| &self.body[start..])
    }

    /// The line of a field, counted from 1; 1 if there is no such field.
    pub(crate) fn line(&self, key: &str) -> usize {
        self.fields.iter().find(|field| field.key == key).map_or(1, |field| field.line)
    }

    pub(crate) fn set(&mut self, key: &str, value: Value) {
        match self.fields.iter_mut().find(|field| field.key == key) {
            Some(field) => field.value = value,
            None => self.fields.push(Field { key: key.to_owned(), value, line: 1 }),
        }
    }

    /// The document as it is archived. Its frontmatter is both valid YAML and Session Glue's subset.
    pub(crate) fn render(&self) -> String {
        let fields = subset::write(self.fields.iter().map(|field| (field.key.as_str(), &field.value)));
        format!("---\n{fields}---\n{}", self.body)
    }
}
