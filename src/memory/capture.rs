//! A session's account of itself as one JSON object, with glee's keys and aliases and the user's own categories.

use serde_json::{Map, Value};

use super::Edits;
use super::state::tidy;
use crate::base::text;
use crate::config::category::{BUILT_IN, Categories};
use crate::error::{Error, Result};
use crate::git;
use crate::guard::secrets;

/// The largest item in bytes. Nobody reads more.
pub(crate) const MAX_ITEM: usize = 64 << 10;
/// The largest capture in bytes, however it arrives.
const MAX_CAPTURE: usize = 4 << 20;
/// How many items one capture has at most: as many as the largest category keeps.
const MOST_ITEMS: usize = 1_000;
/// Keys of glee that hold nothing to keep.
const IGNORED: [&str; 3] = ["source", "session_id", "timestamp"];

/// Reads the object as edits, and the commit at which the session began. Fails on the first thing that cannot be kept.
pub(crate) fn parse(data: &str, categories: &Categories) -> Result<(Edits, Option<String>)> {
    if data.len() > MAX_CAPTURE {
        return Err(Error::bad_data(format!("the capture is larger than {} MiB; nothing was kept", MAX_CAPTURE >> 20))
            .hint("choose what the next session needs; an item has at most 64 KiB"));
    }
    let document: Value = serde_json::from_str(data.trim_start_matches('\u{feff}')).map_err(|cause| {
        Error::bad_data("the capture is not JSON")
            .cause(cause)
            .hint("give one object, such as '{\"goal\": \"ship it\", \"decisions\": [\"use SQLite\"]}'")
    })?;
    let Value::Object(mut object) = document else {
        return Err(Error::bad_data("the capture must be one JSON object"));
    };
    let mut edits = Edits::default();
    let commit = base_commit(object.remove("git_base"))?;
    if let Some(clear) = object.remove("clear") {
        edits.clear = texts("clear", clear)?
            .iter()
            .map(|word| {
                let named = categories.named(word);
                named.ok_or_else(|| Error::bad_data(format!("`clear`: `{}` is not a category", shown(word))))
            })
            .collect::<Result<_>>()?;
    }
    for known in BUILT_IN {
        let mut given = Vec::new();
        for key in known.keys {
            let texts = object.remove(*key).map(|value| texts(key, value)).transpose()?.unwrap_or_default();
            given.extend((!texts.is_empty()).then_some((*key, texts)));
        }
        if let [(one, _), (other, _), ..] = given.as_slice() {
            return Err(Error::bad_data(format!("`{one}` and `{other}` are one category; nothing was kept"))
                .hint("use only one of them"));
        }
        for (_, texts) in given {
            edits.record(known.name, texts);
        }
    }
    for name in categories.extra() {
        if let Some(value) = object.remove(name) {
            edits.record(name, texts(name, value)?);
        }
    }
    refuse_unknown_keys(&object, categories)?;
    let items = edits.record.iter().map(|(_, texts)| texts.len()).sum::<usize>();
    if items > MOST_ITEMS {
        let what = format!("the capture has {items} items, and at most {MOST_ITEMS} are possible; nothing was kept");
        return Err(Error::bad_data(what).hint("choose what the next session needs"));
    }
    Ok((edits, commit))
}

/// The commit at which the session began. It must be an object id, so that it can never act as an option of git.
fn base_commit(value: Option<Value>) -> Result<Option<String>> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) if git::is_object_id(text.trim()) => Ok(Some(text.trim().to_owned())),
        Some(_) => Err(Error::bad_data("`git_base` must be a commit id")),
    }
}

/// One text or a list of texts. Absent, null and empty all mean "no change"; only `clear` empties a category.
fn texts(key: &str, value: Value) -> Result<Vec<String>> {
    let items = match value {
        Value::Array(items) => items,
        one => vec![one],
    };
    let mut texts = Vec::new();
    for item in items {
        let item = match item {
            Value::Null => continue,
            Value::String(said) => tidy(&text::without_private(&said)),
            Value::Bool(_) | Value::Number(_) => item.to_string(),
            Value::Array(_) | Value::Object(_) => {
                return Err(Error::bad_data(format!("`{key}` must be a text or a list of texts")));
            }
        };
        check(&item).map_err(|reason| Error::bad_data(format!("an item of `{key}` {reason}")))?;
        if !item.is_empty() {
            texts.push(item);
        }
    }
    Ok(texts)
}

/// A word of the user in a form that a message may repeat: short, and without secrets.
pub(crate) fn shown(word: &str) -> String {
    text::one_line(&secrets::clean(word), 40)
}

/// Refuses an item that is too large; the error reads after "the item".
pub(crate) fn check(item: &str) -> Result<(), &'static str> {
    if item.len() > MAX_ITEM { Err("is larger than 64 KiB") } else { Ok(()) }
}

/// Refuses unknown keys. They are most likely misspelt, and their content would be lost silently.
fn refuse_unknown_keys(object: &Map<String, Value>, categories: &Categories) -> Result<()> {
    let Some(key) = object.keys().find(|key| !IGNORED.contains(&key.as_str())) else { return Ok(()) };
    let known =
        || BUILT_IN.iter().flat_map(|known| known.keys.iter().copied()).chain(categories.extra()).chain(["clear"]);
    let error = Error::bad_data(format!("unknown key `{}` in the capture; nothing was kept", shown(key)));
    Err(match text::nearest(key, known()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("a category of your own needs a table `[category.NAME]` in handover.toml"),
    })
}
