//! Our MCP server in a TOML settings file. Everything else stays as it is.

use toml_edit::{Document, DocumentMut, Item, TableLike, Value};

use super::json_hooks::SyntaxProblem;
use super::program;
use super::server::{McpServer, NAME, command_of};
use super::toml_hooks::{newline, problem, shifted, split_mark, with_line_ends_of};

type Result<T> = std::result::Result<T, SyntaxProblem>;

/// The text with our server; `None` if another server has its name.
pub(super) fn with(text: &str, server: &McpServer) -> Result<Option<String>> {
    let (mark, body) = split_mark(text);
    let edited = with_entry(body, server).map_err(|problem| shifted(problem, mark))?;
    Ok(edited.map(|body| format!("{mark}{body}")))
}

fn with_entry(text: &str, server: &McpServer) -> Result<Option<String>> {
    let document = Document::parse(text).map_err(|cause| problem(&cause))?;
    let mut new = text.to_owned();
    match entry(document.as_item(), server) {
        Some(found) => {
            let Some(program) = found.as_table_like().and_then(own) else { return Ok(None) };
            let wanted = server.entry["command"].as_str().unwrap_or_default();
            let command = found.get("command").and_then(Item::as_value).filter(|_| program != wanted);
            if let Some(span) = command.and_then(Value::span) {
                new.replace_range(span, Value::from(wanted).to_string().trim());
            }
        }
        None => {
            let newline = newline(text);
            if !new.is_empty() && !new.ends_with('\n') {
                new.push_str(newline);
            }
            new.push_str(&section(server).replace('\n', newline));
        }
    }
    // The text before may make the added lines invalid.
    new.parse::<DocumentMut>().map_err(|cause| problem(&cause))?;
    Ok(Some(new))
}

fn section(server: &McpServer) -> String {
    let mut text = format!("\n[{}.{NAME}]\n", server.table.join("."));
    for (key, value) in server.entry.as_object().into_iter().flatten() {
        let value = match value {
            serde_json::Value::Array(items) => {
                items.iter().filter_map(|item| item.as_str()).collect::<toml_edit::Array>().to_string()
            }
            other => Value::from(other.as_str().unwrap_or_default()).to_string(),
        };
        text.push_str(&format!("{key} = {value}\n"));
    }
    text
}

/// The text without our server.
pub(super) fn without(text: &str, server: &McpServer) -> Result<String> {
    let (mark, body) = split_mark(text);
    let plain = body.replace("\r\n", "\n");
    let mut document = plain.parse::<DocumentMut>().map_err(|cause| shifted(problem(&cause), mark))?;
    let mut table = Some(document.as_item_mut());
    for key in server.table {
        table = table.and_then(|table| table.get_mut(key));
    }
    let servers = table.and_then(Item::as_table_like_mut);
    let is_ours = |servers: &&mut dyn TableLike| {
        servers.get(NAME).and_then(Item::as_table_like).is_some_and(|found| own(found).is_some())
    };
    let Some(servers) = servers.filter(is_ours) else { return Ok(text.to_owned()) };
    servers.remove(NAME);
    let after = document.to_string();
    Ok(format!("{mark}{}", with_line_ends_of(body, &plain, &after)))
}

/// The program that our server is, if it is registered.
pub(super) fn look(text: &str, server: &McpServer) -> Option<String> {
    let (_, body) = split_mark(text);
    let document = body.parse::<DocumentMut>().ok()?;
    own(entry(document.as_item(), server)?.as_table_like()?)
}

fn entry<'d>(document: &'d Item, server: &McpServer) -> Option<&'d Item> {
    server.table.iter().try_fold(document, |table, key| table.get(key))?.get(NAME)
}

/// The program of an entry. `None` if it is not ours.
fn own(entry: &dyn TableLike) -> Option<String> {
    let program = entry.get("command")?.as_str()?;
    let arguments = entry.get("args").and_then(Item::as_array);
    let arguments: Vec<&str> = arguments.into_iter().flatten().filter_map(Value::as_str).collect();
    let (program, arguments) = command_of(&serde_json::json!({ "command": program, "args": arguments }))?;
    program::own_server(&program, &arguments)
}
