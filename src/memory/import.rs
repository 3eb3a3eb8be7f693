//! Memory that another tool kept, read as items of the current state.
//!
//! | what | shape |
//! |---|---|
//! | rows of a memory table, such as glee's | a JSON list of objects with `category` and `content`, or one object a line |
//! | a capture | a JSON object with categories as keys, as `memory capture` takes it |

use serde_json::Value;

use super::state::tidy;
use super::{Added, Edits, capture};
use crate::base::text;
use crate::config::category::Categories;
use crate::error::{Error, Result};

/// The items in a file of another tool, oldest first. All of it is read, or an error says what cannot be.
pub(crate) fn parse(source: &str, categories: &Categories) -> Result<Edits> {
    let source = source.trim_start_matches('\u{feff}').trim();
    let rows = match serde_json::from_str::<Value>(source) {
        Ok(Value::Array(rows)) => rows,
        Ok(Value::Object(row)) if row.contains_key("content") => vec![Value::Object(row)],
        Ok(Value::Object(_)) => return capture::parse(source, categories).map(|(edits, _)| edits),
        Ok(_) => return Err(unknown()),
        Err(_) => lines(source)?,
    };
    let mut rows = rows.into_iter().map(|row| item(&row, categories)).collect::<Result<Vec<_>>>()?;
    rows.sort_by(|a, b| a.at.cmp(&b.at));
    let add = rows.into_iter().filter(|row| !row.text.is_empty()).map(|row| Added::new(&row.category, row.text));
    Ok(Edits { add: add.collect(), ..Edits::default() })
}

/// A row of a memory table.
struct Row {
    category: String,
    text: String,
    /// When it was written, in a form that sorts by time; empty if it is unknown.
    at: String,
}

fn item(row: &Value, categories: &Categories) -> Result<Row> {
    let field = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
    let word = field("category");
    let category = categories.named(word).ok_or_else(|| {
        Error::bad_data(format!("`{}` cannot be a category; nothing was imported", capture::shown(word)))
    })?;
    let content = row.get("content").and_then(Value::as_str).ok_or_else(unknown)?;
    let text = tidy(&text::without_private(content));
    capture::check(&text).map_err(|reason| Error::bad_data(format!("an item of `{category}` {reason}")))?;
    Ok(Row { category, text, at: field("created_at").replace('T', " ") })
}

fn lines(source: &str) -> Result<Vec<Value>> {
    let rows = source.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str);
    let rows: Vec<Value> = rows.collect::<Result<_, _>>().map_err(|_| unknown())?;
    if rows.is_empty() { Err(unknown()) } else { Ok(rows) }
}

fn unknown() -> Error {
    Error::bad_data("this is not a memory that can be imported")
        .hint("expected a JSON list of objects with `category` and `content`, or a capture object")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_the_order_in_which_they_were_written() {
        let list = r#"[
            {"id": "b", "category": "decision", "content": "second", "metadata": "{}", "created_at": "2026-01-02 10:00:00"},
            {"id": "a", "category": "decisions", "content": " first ", "created_at": "2026-01-01T10:00:00"},
            {"category": "pitfalls", "content": "mine"}
        ]"#;
        let expected = [("pitfalls", "mine"), ("decision", "first"), ("decision", "second")];
        let expected = expected.map(|(category, text)| Added::new(category, text));
        let all = Categories::default();
        assert_eq!(parse(list, &all).unwrap().add, expected);
        let lines: String =
            serde_json::from_str::<Vec<Value>>(list).unwrap().iter().map(|row| format!("{row}\n")).collect();
        assert_eq!(parse(&lines, &all).unwrap().add, expected);
        assert_eq!(parse(r#"{"goal": "ship"}"#, &all).unwrap().record, [("goal".to_owned(), vec!["ship".to_owned()])]);
        for wrong in ["", "7", "[7]", "text", r#"[{"category": "a b/c", "content": "x"}]"#, r#"[{"category": "goal"}]"#]
        {
            assert!(parse(wrong, &all).is_err(), "{wrong}");
        }
    }
}
