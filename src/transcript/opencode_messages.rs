//! The sessions of OpenCode 2 in its database, turned into the records of OpenCode 1.
//!
//! A message is one row of `session_message`: what a person typed, or one answer of the model with its texts and tool calls.
//! OpenCode adds to the row of an answer while it goes on. Only what is complete in it becomes a record, so that a place in the
//! records stays one.
//!
//! Versions seen: the preview 1.18.18, run against a stub, and the sources of August 2026. Commands that a person ran
//! (`type` is `shell`) were not seen, and are not read.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::opencode_database::{MAX_ID, MAX_ROW, MAX_ROWS, Records, parsed};

/// Writes the records of a session.
pub(super) fn export(connection: &Connection, id: &str, records: &mut Records<'_>) -> rusqlite::Result<()> {
    let messages = "SELECT id FROM session_message WHERE session_id = ?1 AND length(id) <= ?2
                    AND type IN ('user', 'assistant') ORDER BY seq LIMIT ?3";
    let mut messages = connection.prepare(messages)?;
    let messages = messages.query_map((id, MAX_ID as i64, MAX_ROWS as i64), |row| row.get(0))?;
    let messages: Vec<String> = messages.filter_map(std::result::Result::ok).collect();
    let row = "SELECT type, time_created, data FROM session_message WHERE id = ?1 AND octet_length(data) <= ?2";
    let mut row = connection.prepare(row)?;
    for message in &messages {
        let found = row.query_row((message, MAX_ROW), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let Ok((role, at, data)): rusqlite::Result<(String, i64, String)> = found else { continue };
        let Some(data) = parsed(&data) else { continue };
        records.put_message(&about(&role, &data), at, parts(&role, &data).into_iter())?;
        if records.are_full() {
            break;
        }
    }
    Ok(())
}

/// A message as OpenCode 1 writes it.
fn about(role: &str, data: &Value) -> Value {
    let error = &data["error"];
    json!({
        "role": role, "modelID": data["model"]["id"],
        "error": { "name": error["type"], "data": { "message": error["message"] } },
    })
}

/// The complete parts of a message, as OpenCode 1 writes them.
fn parts(role: &str, data: &Value) -> Vec<Value> {
    if role == "user" {
        return vec![json!({ "type": "text", "text": data["text"] })];
    }
    let content = data["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_over = data["time"]["completed"].is_number();
    let is_complete = |(number, item): &(usize, &Value)| match item["state"]["status"].as_str() {
        Some(status) => matches!(status, "completed" | "error"),
        None => is_over || number + 1 < content.len(),
    };
    let complete = content.iter().enumerate().take_while(|item| is_over || is_complete(item));
    complete.map(|(_, item)| if item["type"] == "tool" { tool(item) } else { item.clone() }).collect()
}

fn tool(item: &Value) -> Value {
    let state = &item["state"];
    let texts = state["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    // The preview has the exit code under another name.
    let exit = [&state["metadata"]["exit"], &state["structured"]["exit"]].into_iter().find(|exit| exit.is_number());
    json!({
        "type": "tool", "tool": item["name"], "callID": item["id"],
        "state": {
            "status": state["status"], "input": state["input"], "output": texts.collect::<Vec<_>>().join("\n"),
            "error": state["error"]["message"], "metadata": { "exit": exit },
        },
    })
}
