//! The answer that several agents read: the context nested under `hookSpecificOutput`, with the event's name.

use serde_json::json;

use crate::agents::Event;

/// The nested answer, or nothing at all. A bare `additionalContext` is silently dropped by the agents that read this.
pub fn nested_answer(event: &Event, context: Option<&str>) -> String {
    let name = match event {
        Event::SessionStart => "SessionStart",
        Event::PromptSubmitted => "UserPromptSubmit",
        _ => return String::new(),
    };
    let Some(context) = context.filter(|context| !context.is_empty()) else { return String::new() };
    json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": context } }).to_string()
}
