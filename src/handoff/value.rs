//! What a frontmatter can hold: text, lists, and in lists one level of pairs.

/// Scalars are text as it was written; nothing is taken for a number, a date or a truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Text(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}

impl Value {
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn list(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Map(pairs) => pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The name the Python tool has for it, which its messages use.
    pub fn type_name(&self) -> &'static str {
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

/// One line of a frontmatter and what hangs below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub key: String,
    pub value: Value,
    /// Counted from 1, in the text that was read.
    pub line: usize,
}

/// Something wrong at a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub line: usize,
    pub message: String,
}

impl Wrong {
    pub fn at(line: usize, message: impl Into<String>) -> Wrong {
        Wrong { line, message: message.into() }
    }
}

/// Text as Python shows it in a message.
pub fn repr(text: &str) -> String {
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
