//! The handoff: one session's document, frontmatter and Markdown body.

mod check;
mod first_action;
mod subset;
mod value;
mod yaml;

pub use check::{LIST_FIELDS, REQUIRED, SECTIONS, check};
pub use first_action::resume_mechanic;
pub use subset::{one_line, unquote_ours};
pub use value::{Field, Value, Wrong, repr};

/// A frontmatter is written by hand or by an agent; anything larger is not one.
const MAX_FRONTMATTER: usize = 1 << 20;

/// A document as read: fields in their order, unknown ones included, and the body to the byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handoff {
    pub fields: Vec<Field>,
    pub body: String,
}

impl Handoff {
    pub fn parse(text: &str) -> Result<Handoff, Wrong> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.split_inclusive('\n');
        let first = lines.next().unwrap_or_default();
        if first.trim() != "---" {
            return Err(Wrong::at(1, "handoff must begin with a '---' frontmatter delimiter"));
        }
        let mut end = first.len();
        for line in lines {
            if line.trim() == "---" {
                let fields = read_fields(&text[first.len()..end])
                    .map_err(|wrong| Wrong { line: wrong.line + 1, ..wrong })?
                    .into_iter()
                    .map(|field| Field { line: field.line + 1, ..field })
                    .collect();
                return Ok(Handoff { fields, body: text[end + line.len()..].to_owned() });
            }
            end += line.len();
            if end > MAX_FRONTMATTER {
                return Err(Wrong::at(1, "the frontmatter is larger than 1 MiB"));
            }
        }
        Err(Wrong::at(1, "unterminated frontmatter (missing closing '---')"))
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.fields.iter().find(|field| field.key == key).map(|field| &field.value)
    }

    /// A scalar field; empty if it is missing or something else.
    pub fn text(&self, key: &str) -> &str {
        self.get(key).and_then(Value::text).unwrap_or_default()
    }

    /// The text items of a list field.
    pub fn texts(&self, key: &str) -> Vec<&str> {
        self.get(key).and_then(Value::list).unwrap_or_default().iter().filter_map(Value::text).collect()
    }

    /// What the body says under one of the headings, up to the next of them.
    pub fn section(&self, heading: &str) -> &str {
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

    pub fn line(&self, key: &str) -> usize {
        self.fields.iter().find(|field| field.key == key).map_or(1, |field| field.line)
    }

    pub fn set(&mut self, key: &str, value: Value) {
        match self.fields.iter_mut().find(|field| field.key == key) {
            Some(field) => field.value = value,
            None => self.fields.push(Field { key: key.to_owned(), value, line: 1 }),
        }
    }

    /// The document as it is archived: valid YAML and Session Glue's subset at once.
    pub fn render(&self) -> String {
        let fields = subset::write(self.fields.iter().map(|field| (field.key.as_str(), &field.value)));
        format!("---\n{fields}---\n{}", self.body)
    }
}

/// A mapping in the subset, for files that Session Glue writes as well.
pub fn read_subset_first(text: &str) -> Result<Vec<Field>, Wrong> {
    subset::read(text).or_else(|wrong| yaml::read(text).map_err(|_| wrong))
}

pub fn write_fields<'a>(fields: impl IntoIterator<Item = (&'a str, &'a Value)>) -> String {
    subset::write(fields)
}

/// In the subset and as YAML. What only one can read is read by that one; what both read must be the same text, or nobody
/// could say what was meant.
fn read_fields(text: &str) -> Result<Vec<Field>, Wrong> {
    if subset::is_as_we_write(text) {
        return subset::read(text);
    }
    match (subset::read(text), yaml::read(text)) {
        (Err(wrong), Err(_)) => Err(wrong),
        (Ok(fields), Err(_)) | (Err(_), Ok(fields)) => Ok(fields),
        (Ok(theirs), Ok(yaml)) => agree(theirs, yaml),
    }
}

fn agree(theirs: Vec<Field>, yaml: Vec<Field>) -> Result<Vec<Field>, Wrong> {
    let keys = |fields: &[Field]| fields.iter().map(|field| field.key.clone()).collect::<Vec<_>>();
    if keys(&theirs) != keys(&yaml) {
        let line = theirs.iter().zip(&yaml).find(|(a, b)| a.key != b.key).map_or(1, |(a, _)| a.line);
        return Err(Wrong::at(line, "this reads differently as YAML: put quotes around the key or the value"));
    }
    for (a, b) in theirs.iter().zip(&yaml) {
        if let Some((a_text, b_text)) = difference(&a.value, &b.value) {
            let quoted = subset::one_line(&a_text).replace('\\', "\\\\").replace('"', "\\\"");
            let message = format!(
                "`{}` can be read as {} or as {}: write \"{quoted}\" if you mean the former",
                a.key,
                repr(&a_text),
                repr(&b_text)
            );
            return Err(Wrong::at(a.line, message));
        }
    }
    // Where one sees text and the other a structure, such as `[a, b]`, the structure is what was meant.
    Ok(yaml)
}

/// The first two texts that differ.
fn difference(a: &Value, b: &Value) -> Option<(String, String)> {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => (a != b).then(|| (a.clone(), b.clone())),
        (Value::List(a), Value::List(b)) => a.iter().zip(b).find_map(|(a, b)| difference(a, b)),
        (Value::Map(a), Value::Map(b)) => b.iter().find_map(|(key, b)| {
            let a = a.iter().find(|(name, _)| name == key).map(|(_, a)| a)?;
            difference(a, b)
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_document_is_split_and_its_body_kept_to_the_byte() {
        let text = "\u{feff}---\r\na: 1\r\nlist:\r\n  - x\r\n---\r\n\r\n# Body\r\n\u{c}rest  ";
        let document = Handoff::parse(text).unwrap();
        assert_eq!(document.text("a"), "1");
        assert_eq!(document.texts("list"), ["x"]);
        assert_eq!(document.line("list"), 3);
        assert_eq!(document.body, "\r\n# Body\r\n\u{c}rest  ");
    }

    #[test]
    fn what_has_two_readings_is_refused_with_the_line_and_how_to_quote_it() {
        for value in ["a # b", "'it''s'", "\"C:\\new\"", "\"tab\\t\""] {
            let wrong = Handoff::parse(&format!("---\nok: 1\nk: {value}\n---\n")).unwrap_err();
            assert_eq!(wrong.line, 3, "{value}");
            assert!(wrong.message.contains("write \""), "{}", wrong.message);
        }
        let wrong = Handoff::parse("---\nf:\n  - path: x\n    reason: it goes\n      on\n---\n").unwrap_err();
        assert_eq!(wrong.line, 2);
        // A standing ruling is no YAML, and theirs; a flow list is text to them, and YAML's.
        assert_eq!(Handoff::parse("---\nd:\n  - [standing] x\n---\n").unwrap().texts("d"), ["[standing] x"]);
        assert_eq!(Handoff::parse("---\nd: [a, b]\n---\n").unwrap().texts("d"), ["a", "b"]);
        assert!(Handoff::parse("---\na: 1\na: 2\n---\n").is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn whatever_is_written_everybody_reads_the_same(texts in proptest::collection::vec(any::<String>(), 1..4), body in any::<String>()) {
            let mut document = Handoff { fields: Vec::new(), body };
            document.set("scalar", Value::Text(texts[0].clone()));
            document.set("list", Value::List(texts.iter().map(|text| Value::Text(text.clone())).collect()));
            let pairs = vec![("path".to_owned(), Value::Text(texts[0].clone())), ("reason".to_owned(), Value::Text(texts[texts.len() - 1].clone()))];
            document.set("maps", Value::List(vec![Value::Map(pairs)]));
            document.set("none", Value::List(Vec::new()));
            let text = document.render();
            let fields = text.strip_prefix("---\n").unwrap().split("\n---\n").next().unwrap().to_owned() + "\n";
            let (theirs, yaml) = (subset::read(&fields).unwrap(), yaml::read(&fields).unwrap());
            prop_assert_eq!(&theirs, &yaml);
            prop_assert!(subset::is_as_we_write(&fields));
            let again = Handoff::parse(&text).unwrap();
            prop_assert_eq!(again.text("scalar"), one_line(&texts[0]));
            prop_assert_eq!(again.texts("list"), texts.iter().map(|text| one_line(text)).collect::<Vec<_>>());
            prop_assert_eq!(&again.body, &document.body);
            prop_assert_eq!(again.render(), text);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400), yaml in "[-:#'\"\\[\\]{}&*!|> \na-c\t]{0,80}") {
            let text = String::from_utf8_lossy(&bytes);
            let _ = Handoff::parse(&text);
            let _ = Handoff::parse(&format!("---\n{text}\n---\n"));
            // What passes for our own writing is read alike by everybody.
            if subset::is_as_we_write(&yaml) && let (Ok(theirs), Ok(yaml)) = (subset::read(&yaml), yaml::read(&yaml)) {
                prop_assert_eq!(theirs, yaml);
            }
            if let Ok(document) = Handoff::parse(&format!("---\n{yaml}\n---\n")) {
                let _ = check(&document);
                document.render();
            }
        }
    }
}
