//! Decides between two readings of a frontmatter: Session Glue's subset and YAML.
//!
//! | subset | YAML | result |
//! |---|---|---|
//! | fails | fails | the subset's error |
//! | reads | fails | the subset's reading |
//! | fails | reads | YAML's reading |
//! | reads | reads | YAML's reading, if no text differs; else an error, because the meaning is unclear |

use super::value::{Field, SyntaxError, Value, repr};
use super::{subset, yaml};

/// Reads the fields of a handoff.
pub(super) fn read_fields(text: &str) -> Result<Vec<Field>, SyntaxError> {
    if let Some(fields) = subset::read_as_we_write(text) {
        return Ok(fields);
    }
    if subset::is_as_we_write(text) {
        return subset::read(text);
    }
    let fields = match (subset::read(text), yaml::read(text)) {
        (Err(error), Err(_)) => Err(error),
        (Ok(fields), Err(_)) | (Err(_), Ok(fields)) => Ok(fields),
        (Ok(as_subset), Ok(as_yaml)) => reconcile(&as_subset, as_yaml),
    }?;
    refuse_odd_keys(&fields)?;
    Ok(fields)
}

/// Fails if a key cannot be written so that it is read again: an archive with it could not be opened.
fn refuse_odd_keys(fields: &[Field]) -> Result<(), SyntaxError> {
    for field in fields {
        let of_items = match &field.value {
            Value::List(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let pairs = of_items.iter().filter_map(|item| if let Value::Map(pairs) = item { Some(pairs) } else { None });
        let odd_in_item = pairs.flatten().map(|(key, _)| key).find(|key| !is_read_again_in_item(key));
        if let Some(key) = odd_in_item.or(Some(&field.key).filter(|key| !is_read_again(key))) {
            let message = format!("the key {} cannot be kept: use letters, digits and `_` in it", repr(key));
            return Err(SyntaxError::at(field.line, message));
        }
    }
    Ok(())
}

fn is_identifier(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether the subset and YAML both read this key where it is written as it is.
fn is_read_again(key: &str) -> bool {
    if is_identifier(key) {
        return true;
    }
    let written = format!("{key}: \"x\"\n");
    let is_alone = |fields: Result<Vec<Field>, SyntaxError>| {
        fields.is_ok_and(|fields| matches!(&fields[..], [one] if one.key == *key && one.value == Value::from("x")))
    };
    is_alone(subset::read(&written)) && is_alone(yaml::read(&written))
}

/// Whether the subset and YAML both read this key in an item, too.
fn is_read_again_in_item(key: &str) -> bool {
    if is_identifier(key) {
        return true;
    }
    let item = Value::List(vec![Value::Map(vec![(key.to_owned(), Value::from("x"))])]);
    let fields = yaml::read(&subset::write([("list", &item)]));
    is_read_again(key) && fields.is_ok_and(|fields| matches!(&fields[..], [one] if one.value == item))
}

/// Reads fields in the subset, and as YAML if that fails: for files that Session Glue writes as well.
pub(crate) fn read_subset_first(text: &str) -> Result<Vec<Field>, SyntaxError> {
    subset::read(text).or_else(|error| yaml::read(text).map_err(|_| error))
}

/// Writes fields so that Session Glue and every YAML library read them alike.
pub(crate) fn write_fields<'a>(fields: impl IntoIterator<Item = (&'a str, &'a Value)>) -> String {
    subset::write(fields)
}

fn reconcile(as_subset: &[Field], as_yaml: Vec<Field>) -> Result<Vec<Field>, SyntaxError> {
    let keys = |fields: &[Field]| fields.iter().map(|field| field.key.clone()).collect::<Vec<_>>();
    if keys(as_subset) != keys(&as_yaml) {
        let line = as_subset.iter().zip(&as_yaml).find(|(a, b)| a.key != b.key).map_or(1, |(a, _)| a.line);
        return Err(SyntaxError::at(line, "this reads differently as YAML: put quotes around the key or the value"));
    }
    for (a, b) in as_subset.iter().zip(&as_yaml) {
        if let Some((a_text, b_text)) = difference(&a.value, &b.value) {
            let quoted = subset::one_line(&a_text).replace('\\', "\\\\").replace('"', "\\\"");
            let message = format!(
                "`{}` can be read as {} or as {}: write \"{quoted}\" if you mean the former",
                a.key,
                repr(&a_text),
                repr(&b_text)
            );
            return Err(SyntaxError::at(a.line, message));
        }
    }
    // If the subset sees text and YAML a structure, such as `[a, b]`, the structure was meant.
    Ok(as_yaml)
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
