//! Our MCP server in a JSON settings file. Comments, order, indentation and line ends stay as they are.

use jsonc_parser::cst::{CstNode, CstObject, CstObjectProp};
use serde_json::Value;

use super::json_hooks::{SyntaxProblem, edit, has_comment, input, object, only, parse, wrong};
use super::program;
use super::server::{McpServer, NAME, command_of};

type Result<T> = std::result::Result<T, SyntaxProblem>;

/// The text with our server; `None` if another server has its name.
pub(super) fn with(text: &str, server: &McpServer) -> Result<Option<String>> {
    let mut is_foreign = false;
    let edited = edit(text, |root| {
        let Some(mut table) = root.object_value_or_create() else { return Err(wrong("the whole file", "an object")) };
        for key in server.table {
            table = match object(&table, key)? {
                Some(table) => table,
                None => table.object_value_or_set(key),
            };
        }
        match only(&table, NAME)? {
            None => drop(table.append(NAME, input(&server.entry))),
            Some(node) => match node.as_object().filter(|found| own(found).is_some()) {
                Some(found) => update(&found, &server.entry),
                None => is_foreign = true,
            },
        }
        Ok(())
    })?;
    Ok((!is_foreign).then_some(edited))
}

/// The text without our server, and without tables that held nothing else.
pub(super) fn without(text: &str, server: &McpServer) -> Result<String> {
    edit(text, |root| {
        let Some(top) = root.object_value() else { return Ok(()) };
        let mut way = vec![top];
        for key in server.table {
            let Some(next) = way.last().and_then(|table| object(table, key).transpose()).transpose()? else {
                return Ok(());
            };
            way.push(next);
        }
        let entry = way.last().and_then(|table| table.get(NAME));
        let is_ours = entry.as_ref().and_then(|entry| entry.object_value()).is_some_and(|found| own(&found).is_some());
        let Some(entry) = entry.filter(|_| is_ours) else { return Ok(()) };
        entry.remove();
        for (table, key) in way.iter().skip(1).zip(server.table).rev() {
            let is_empty = table.properties().is_empty() && !has_comment(&table.children());
            let property = table.parent().and_then(|parent| parent.as_object_prop());
            match property.filter(|_| is_empty) {
                Some(property) if property.decoded_name().as_deref() == Some(*key) => property.remove(),
                _ => break,
            }
        }
        Ok(())
    })
}

/// The program that our server is, if it is registered.
pub(super) fn look(text: &str, server: &McpServer) -> Option<String> {
    let mut table = parse(text).ok()?.object_value()?;
    for key in server.table {
        table = table.object_value(key)?;
    }
    own(&table.object_value(NAME)?)
}

/// Whether the text has nothing that somebody else could have written.
pub(super) fn is_bare(text: &str) -> bool {
    let Ok(root) = parse(text) else { return false };
    let Some(top) = root.object_value() else { return text.trim().is_empty() };
    top.properties().is_empty() && !has_comment(&top.children()) && !has_comment(&root.children())
}

/// The program of an entry. `None` if it is not ours.
fn own(entry: &CstObject) -> Option<String> {
    let (program, arguments) = command_of(&value_of(&CstNode::from(entry.clone()))?)?;
    program::own_server(&program, &arguments)
}

/// A node as a value, without comments and trailing commas.
fn value_of(node: &CstNode) -> Option<Value> {
    match node {
        node if node.as_string_lit().is_some() => node.as_string_lit()?.decoded_value().ok().map(Value::from),
        node if node.as_array().is_some() => node.as_array()?.elements().iter().map(value_of).collect(),
        node => {
            let fields = node.as_object()?.properties();
            let field = |field: &CstObjectProp| Some((field.decoded_name()?, value_of(&field.value()?)?));
            // Fields of other types do not matter for whose entry it is.
            Some(fields.iter().filter_map(field).collect::<serde_json::Map<_, _>>().into())
        }
    }
}

/// Updates our entry. The command is replaced; other settings of the user stay.
fn update(entry: &CstObject, wanted: &Value) {
    for (key, value) in wanted.as_object().into_iter().flatten() {
        match entry.get(key) {
            None => drop(entry.append(key, input(value))),
            Some(property) if key == "command" => {
                if property.value().and_then(|now| value_of(&now)).as_ref() != Some(value) {
                    property.set_value(input(value));
                }
            }
            Some(_) => {}
        }
    }
}
