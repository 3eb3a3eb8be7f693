//! The answer that several agents read: the context nested under `hookSpecificOutput`, with the event's name.

use serde_json::json;

use crate::agents::Event;

/// The nested answer; empty for an event that takes no context, or without a context.
///
/// The context must be nested: these agents silently ignore an `additionalContext` at the top level.
pub(super) fn nested_answer(event: &Event, context: Option<&str>) -> String {
    let name = match event {
        Event::SessionStart => "SessionStart",
        Event::PromptSubmitted => "UserPromptSubmit",
        _ => return String::new(),
    };
    let Some(context) = context.filter(|context| !context.is_empty()) else { return String::new() };
    json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": context } }).to_string()
}
