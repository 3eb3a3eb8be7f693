//! The values of a frontmatter: text, lists, and in lists one level of pairs.

/// The value of a field. Scalars are text as it was written; none becomes a number, a date or a boolean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}

impl Value {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Map(pairs) => pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Replaces every text in the value.
    pub(crate) fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        match self {
            Value::Text(text) => *text = change(text),
            Value::List(items) => items.iter_mut().for_each(|item| item.change_texts(change)),
            Value::Map(pairs) => pairs.iter_mut().for_each(|(_, value)| value.change_texts(change)),
        }
    }

    /// The name of the type in Python, which Session Glue's messages use.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Text(_) => "str",
            Value::List(_) => "list",
            Value::Map(_) => "dict",
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

/// One field of a frontmatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub key: String,
    pub value: Value,
    /// Counted from 1, in the text that was read.
    pub line: usize,
}

/// Why a text cannot be read as fields, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub line: usize,
    pub message: String,
}

impl SyntaxError {
    pub(crate) fn at(line: usize, message: impl Into<String>) -> SyntaxError {
        SyntaxError { line, message: message.into() }
    }
}

/// A text as Python's `repr` shows it, for Session Glue's messages.
pub(crate) fn repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut shown = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => shown.push_str("\\\\"),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if c == quote => {
                shown.push('\\');
                shown.push(c);
            }
            c if c.is_control() => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown.push(quote);
    shown
}
