//! Reads a TOML table key by key. Values keep their spans, and problems are collected instead of ending at the first.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::template;
use crate::base::{duration, fs, text};
use crate::error::Problem;

/// The place of the keys that stand in no table.
pub(super) const FILE: &str = "the file";

/// A value and the bytes of the file it was written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    pub value: T,
    pub span: Range<usize>,
}

/// What a key may hold. Only tests look at it: they make the JSON Schema of the file from it.
#[derive(Clone, Debug)]
#[cfg_attr(not(test), expect(dead_code))]
pub(super) enum Shape {
    Text,
    /// A string that is not empty.
    Path,
    Words(Vec<&'static str>),
    Flag,
    Count(Range<u64>),
    Duration,
    Texts,
    /// A program and its arguments.
    Program,
    TextTable,
    Table,
    Tables,
}

/// The problems of a file so far, shared by the readers of its tables.
#[derive(Debug, Default)]
pub struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    pub fn add(&self, span: Range<usize>, message: impl Into<String>, help: Option<String>) {
        self.0.borrow_mut().push(Problem { message: message.into(), span, help, is_ignorable: false });
    }

    fn add_unknown(&self, span: Range<usize>, message: String, help: Option<String>) {
        self.0.borrow_mut().push(Problem { message, span, help, is_ignorable: true });
    }

    /// All of them, in the order of the file.
    pub fn into_sorted(self) -> Vec<Problem> {
        let mut found = self.0.into_inner();
        found.sort_by_key(|problem| problem.span.start);
        found
    }
}

pub struct Reader<'a> {
    /// As it reads after "in": "`[handover]`", "a `note` step".
    place: String,
    /// What to underline when something is missing.
    span: Range<usize>,
    table: &'a DeTable<'a>,
    text: &'a str,
    known: Vec<&'static str>,
    /// Its keys are names that the user chooses, so none is unknown.
    takes_any: bool,
    pub(super) problems: &'a Problems,
    /// What is asked for, while the schema is made.
    #[cfg(test)]
    pub(super) asked: super::schema::Asked,
}

impl<'a> Reader<'a> {
    pub fn new(
        place: impl Into<String>,
        span: Range<usize>,
        table: &'a DeTable<'a>,
        text: &'a str,
        problems: &'a Problems,
    ) -> Reader<'a> {
        Reader {
            place: place.into(),
            span,
            table,
            text,
            known: Vec::new(),
            takes_any: false,
            problems,
            #[cfg(test)]
            asked: super::schema::Asked::default(),
        }
    }

    pub fn rename(&mut self, place: impl Into<String>) {
        self.place = place.into();
    }

    fn get(&mut self, key: &'static str, shape: Shape) -> Option<&'a Spanned<DeValue<'a>>> {
        self.known.push(key);
        #[cfg(test)]
        self.asked.note(key, &shape);
        drop(shape);
        self.table.get(key)
    }

    fn wrong_type(&mut self, key: &str, expected: &str, found: &Spanned<DeValue<'_>>) {
        self.wrong_type_with(key, expected, found, None);
    }

    fn wrong_type_with(&mut self, key: &str, expected: &str, found: &Spanned<DeValue<'_>>, help: Option<String>) {
        // Shown as it was written, unless it may span lines.
        let found_text = match found.get_ref() {
            DeValue::Array(_) | DeValue::Table(_) => article(found.get_ref().type_str()),
            _ => format!("`{}`", text::one_line(&self.text[found.span()], 40)),
        };
        let message = format!("`{key}` in {} must be {expected}, found {found_text}", self.place);
        self.problems.add(found.span(), message, help);
    }

    pub fn text(&mut self, key: &'static str) -> Option<Placed<String>> {
        self.string(key, Shape::Text)
    }

    /// A string that the caller compares with these words.
    pub fn word(&mut self, key: &'static str, words: &[&'static str]) -> Option<Placed<String>> {
        self.string(key, Shape::Words(words.to_vec()))
    }

    fn string(&mut self, key: &'static str, shape: Shape) -> Option<Placed<String>> {
        let found = self.get(key, shape)?;
        match found.get_ref().as_str() {
            Some(value) => Some(Placed { value: value.to_owned(), span: found.span() }),
            None => {
                self.wrong_type(key, "a string", found);
                None
            }
        }
    }

    pub fn flag(&mut self, key: &'static str) -> Option<bool> {
        let found = self.get(key, Shape::Flag)?;
        let value = found.get_ref().as_bool();
        if value.is_none() {
            self.wrong_type(key, "`true` or `false`", found);
        }
        value
    }

    pub fn count(&mut self, key: &'static str, range: Range<u64>) -> Option<u64> {
        let found = self.get(key, Shape::Count(range.clone()))?;
        let value = found
            .get_ref()
            .as_integer()
            .and_then(|n| u64::from_str_radix(&n.as_str().replace('_', ""), n.radix()).ok());
        let value = value.filter(|value| range.contains(value));
        if value.is_none() {
            self.wrong_type(key, &format!("a whole number from {} to {}", range.start, range.end - 1), found);
        }
        value
    }

    pub fn duration(&mut self, key: &'static str) -> Option<Duration> {
        let found = self.get(key, Shape::Duration)?;
        let value = found.get_ref().as_str().and_then(duration::parse);
        if value.is_none() {
            self.wrong_type(key, duration::EXPECTED, found);
        }
        value
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&mut self, key: &'static str, choices: &[(&'static str, T)]) -> Option<T> {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let found = self.word(key, &words)?;
        let chosen = choices.iter().find(|(word, _)| *word == found.value);
        if chosen.is_none() {
            let words: Vec<String> = choices.iter().map(|(word, _)| format!("`{word}`")).collect();
            let help = text::nearest(&found.value, choices.iter().map(|(word, _)| *word));
            self.problems.add(
                found.span,
                format!("`{key}` in {} must be {}, found `{}`", self.place, words.join(" or "), found.value),
                help.map(|word| format!("did you mean `{word}`?")),
            );
        }
        chosen.map(|(_, value)| *value)
    }

    pub fn texts(&mut self, key: &'static str) -> Option<Placed<Vec<Placed<String>>>> {
        self.strings(key, Shape::Texts, |_| None)
    }

    /// A program and its arguments. The caller checks that there is a program.
    pub fn program(&mut self, key: &'static str) -> Option<Placed<Vec<Placed<String>>>> {
        self.strings(key, Shape::Program, as_program)
    }

    /// `in_words` writes a string that stands in the place of an array as the array that was meant.
    fn strings(
        &mut self,
        key: &'static str,
        shape: Shape,
        in_words: fn(&str) -> Option<String>,
    ) -> Option<Placed<Vec<Placed<String>>>> {
        let found = self.get(key, shape)?;
        let Some(array) = found.get_ref().as_array() else {
            let help = found.get_ref().as_str().and_then(in_words).map(|array| format!("write `{key} = {array}`"));
            self.wrong_type_with(key, "an array of strings", found, help);
            return None;
        };
        let mut values = Vec::new();
        for item in array.iter() {
            match item.get_ref().as_str() {
                Some(value) => values.push(Placed { value: value.to_owned(), span: item.span() }),
                None => self.wrong_type(key, "an array of strings", item),
            }
        }
        Some(Placed { value: values, span: found.span() })
    }

    /// A table of strings, such as `env`.
    pub fn text_table(&mut self, key: &'static str) -> Option<BTreeMap<String, Placed<String>>> {
        let found = self.get(key, Shape::TextTable)?;
        let Some(table) = found.get_ref().as_table() else {
            self.wrong_type(key, "a table of strings", found);
            return None;
        };
        let mut values = BTreeMap::new();
        for (name, item) in table {
            match item.get_ref().as_str() {
                Some(value) => {
                    let placed = Placed { value: value.to_owned(), span: item.span() };
                    values.insert(name.get_ref().to_string(), placed);
                }
                None => self.wrong_type(key, "a table of strings", item),
            }
        }
        Some(values)
    }

    /// A path inside the project, or an absolute one written on purpose. It must not be empty.
    pub fn path(&mut self, key: &'static str) -> Option<Placed<String>> {
        let found = self.string(key, Shape::Path)?;
        if found.value.is_empty() {
            self.problems.add(found.span, format!("`{key}` in {} must not be empty", self.place), None);
            return None;
        }
        if !found.value.starts_with('~') && fs::tidy(std::path::Path::new(&found.value)).is_none() {
            self.problems.add(
                found.span,
                format!("`{key}` in {} leaves the project", self.place),
                Some("write a path below the project, or an absolute path if you mean a place outside".to_owned()),
            );
            return None;
        }
        Some(found)
    }

    /// A string that may use `{{ … }}`; unknown names and bad syntax are reported where they stand.
    pub fn template(&mut self, key: &'static str) -> Option<Placed<String>> {
        let found = self.text(key)?;
        self.check_template(key, &found);
        Some(found)
    }

    pub fn check_template(&mut self, key: &str, found: &Placed<String>) {
        let Err(wrong) = template::check(&found.value) else { return };
        // Point into the string when its text stands in the file as it is, without escapes.
        let inner = self.text[found.span.clone()].find(found.value.as_str());
        let span = match (inner, wrong.range) {
            (Some(start), Some(range)) => {
                let start = found.span.start + start;
                widen(self.text, start + range.start..(start + range.end).min(found.span.end))
            }
            _ => found.span.clone(),
        };
        self.problems.add(span, format!("{} in `{key}` of {}", wrong.message, self.place), wrong.help);
    }

    /// Reports a key that does not belong here.
    pub fn refuse(&mut self, key: &'static str, why: &str, help: Option<&str>) {
        if let Some(found) = self.table.get_key_value(key).map(|(key, _)| key.span()) {
            self.known.push(key);
            self.problems.add(found, format!("`{key}` {why}"), help.map(str::to_owned));
        }
    }

    /// A sub-table, read by `read`.
    pub fn table<T>(&mut self, key: &'static str, place: &str, read: impl FnOnce(&mut Reader<'a>) -> T) -> Option<T> {
        let found = self.get(key, Shape::Table);
        #[cfg(test)]
        if let Some(asked) = self.asked.inside(key) {
            let inner = Reader::new(place, 0..0, self.table, self.text, self.problems);
            return Some(read(&mut Reader { asked, ..inner }));
        }
        let found = found?;
        let Some(table) = found.get_ref().as_table() else {
            self.wrong_type(key, "a table", found);
            return None;
        };
        let mut reader = Reader::new(place, found.span(), table, self.text, self.problems);
        let value = read(&mut reader);
        reader.finish();
        Some(value)
    }

    /// The tables in this table whatever their names are, such as those of `[category]`.
    pub fn named_tables(&mut self) -> Vec<(String, Range<usize>, Reader<'a>)> {
        let mut tables = Vec::new();
        #[cfg(test)]
        if let Some(asked) = self.asked.inside(super::schema::ANY) {
            let inner = Reader::new("", 0..0, self.table, self.text, self.problems);
            tables.push(("any".to_owned(), 0..0, Reader { asked, ..inner }));
        }
        for (key, found) in self.table {
            let name = key.get_ref().to_string();
            match found.get_ref().as_table() {
                Some(table) => {
                    let place = format!("{} `{name}`", self.place);
                    let reader = Reader::new(place, found.span(), table, self.text, self.problems);
                    tables.push((name, key.span(), reader));
                }
                None => self.wrong_type(&name, "a table", found),
            }
        }
        self.takes_any = true;
        tables
    }

    /// The tables of an array of tables, such as `[[step]]`.
    pub fn tables(&mut self, key: &'static str) -> Option<Vec<&'a Spanned<DeValue<'a>>>> {
        let found = self.get(key, Shape::Tables)?;
        let Some(array) = found.get_ref().as_array() else {
            self.wrong_type(key, &format!("an array of tables, `[[{key}]]`"), found);
            return None;
        };
        let mut tables = Vec::new();
        for item in array.iter() {
            match item.get_ref() {
                DeValue::Table(_) => tables.push(item),
                _ => self.wrong_type(key, &format!("an array of tables, `[[{key}]]`"), item),
            }
        }
        if tables.is_empty() && array.is_empty() {
            self.problems.add(
                found.span(),
                format!("`{key}` is empty, so there is nothing to do"),
                Some(format!("write at least one `[[{key}]]`, or remove the key")),
            );
        }
        Some(tables)
    }

    /// Reports that none of these keys is there. The caller reports if more than one is.
    pub fn missing_all_of(&mut self, keys: &[&'static str], help: Option<String>) {
        #[cfg(test)]
        self.asked.require_one_of(keys);
        if let [first, ..] = keys
            && keys.iter().all(|key| self.table.get(*key).is_none())
        {
            self.problems.add(self.span.clone(), format!("`{first}` is missing in {}", self.place), help);
        }
    }

    /// Reports that a required key is missing. A key with a wrong value was reported when it was read.
    pub fn missing(&mut self, key: &str, help: Option<String>) {
        #[cfg(test)]
        self.asked.require(key);
        if self.table.get(key).is_some() {
            return;
        }
        let message = format!("`{key}` is missing in {}", self.place);
        self.problems.add(self.span.clone(), message, help);
    }

    pub fn wrong(&mut self, span: Range<usize>, message: impl Into<String>, help: Option<String>) {
        self.problems.add(span, message, help);
    }

    pub fn place(&self) -> &str {
        &self.place
    }

    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Reports every key that no reader asked for: it is a misspelling, and ignoring it would change what runs.
    pub fn finish(self) {
        for (key, found) in self.table {
            let name: &str = key.get_ref();
            if self.takes_any || self.known.contains(&name) || name.starts_with("x-") {
                continue;
            }
            let message = format!("unknown key `{name}` in {}", self.place);
            let near = text::nearest(&name.to_lowercase(), self.known.iter().copied());
            let is_table = |value: &DeValue<'_>| matches!(value, DeValue::Table(_) | DeValue::Array(_));
            match near {
                // An error even in a file of the Python tool: the table that was meant changes what is published.
                Some(near) if self.place == FILE && is_table(found.get_ref()) => {
                    let near = if near == "step" { "[[step]]".to_owned() } else { format!("[{near}]") };
                    self.problems.add(key.span(), message, Some(format!("did you mean `{near}`?")));
                }
                Some(near) => {
                    self.problems.add_unknown(key.span(), message, Some(format!("did you mean `{near}`?")));
                }
                None => self.problems.add_unknown(key.span(), message, self.list_known()),
            }
        }
    }

    fn list_known(&self) -> Option<String> {
        let known: Vec<String> = self.known.iter().map(|key| format!("`{key}`")).collect();
        (known.len() <= 12).then(|| format!("known here: {}", known.join(", ")))
    }
}

/// The least span around this one that cuts no character in two.
fn widen(text: &str, span: Range<usize>) -> Range<usize> {
    let start = (0..=span.start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = (span.end.max(start)..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    start..end
}

/// A command line as an array of its words. `None` if only a shell could read it.
fn as_program(line: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_./=:@+,%".contains(c);
    let words: Vec<String> =
        line.split(' ').filter(|word| !word.is_empty()).map(|word| format!("\"{word}\"")).collect();
    (line.chars().all(is_plain) && !words.is_empty() && line.len() <= 100).then(|| format!("[{}]", words.join(", ")))
}

fn article(kind: &str) -> String {
    match kind.chars().next() {
        Some('a' | 'e' | 'i' | 'o' | 'u') => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}
