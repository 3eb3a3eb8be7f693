//! The work that an event about a tool tells of: files that are edited, a command that is run.
//!
//! We install no hook for events after the work. They come where a user added one, or where an agent runs the hooks of another one.

use serde_json::{Map, Value};

use super::fields::{self, Payload};

/// How many files of one call are used.
const MOST_FILES: usize = 50;
const LONGEST_COMMAND: usize = 4_096;
/// Parts of the names of tools that change files, in lower case.
const EDITING: &[&str] = &["edit", "write", "patch", "replace", "create"];
/// The keys under which tools get the path of a file.
const PATHS: &[&str] = &["file_path", "filePath", "notebook_path", "path"];

/// What was done, or is about to be done.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ToolUse {
    pub edited: Vec<String>,
    pub command: Option<String>,
}

/// The work of an event with this name. An event before the work, or after work that failed, tells of none.
pub(super) fn tool_use(event: &str, payload: &Payload) -> ToolUse {
    let event = event.to_ascii_lowercase();
    let is_done = event.starts_with("post") || event.starts_with("after");
    if !is_done || event.contains("failure") {
        return ToolUse::default();
    }
    of_tool(payload, event.contains("edit"))
}

/// The work that an event announces.
pub(super) fn coming_tool_use(payload: &Payload) -> ToolUse {
    of_tool(payload, false)
}

fn of_tool(payload: &Payload, is_edit: bool) -> ToolUse {
    let input = payload.tool_input();
    let tool = payload.word(&["tool_name", "toolName"]).unwrap_or_default().to_ascii_lowercase();
    let edits = is_edit || EDITING.iter().any(|part| tool.contains(part));
    let named = PATHS.iter().filter_map(|key| text(&input, key)).chain(payload.raw(&["file_path"]));
    let edited = named.filter(|path| edits && fields::absolute(path).is_some()).take(MOST_FILES);
    let command = text(&input, "command").filter(|command| !edits && command.len() <= LONGEST_COMMAND);
    ToolUse { edited: edited.map(str::to_owned).collect(), command: command.map(str::to_owned) }
}

fn text<'a>(input: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    input.get(key)?.as_str().filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(event: &str, payload: &str) -> ToolUse {
        tool_use(event, &Payload::parse(payload.as_bytes(), &mut Vec::new()))
    }

    #[test]
    fn only_work_that_is_done_counts() {
        let edit = r#"{"tool_name":"Edit","tool_input":{"file_path":"/p/a.rs"}}"#;
        assert_eq!(of("PostToolUse", edit).edited, ["/p/a.rs"]);
        assert_eq!(of("PreToolUse", edit), ToolUse::default());
        assert_eq!(coming_tool_use(&Payload::parse(edit.as_bytes(), &mut Vec::new())).edited, ["/p/a.rs"]);
        assert_eq!(of("PostToolUseFailure", edit), ToolUse::default());
        assert_eq!(of("afterFileEdit", r#"{"file_path":"/p/b.rs","edits":[]}"#).edited, ["/p/b.rs"]);
        let read = r#"{"tool_name":"Read","tool_input":{"file_path":"/p/a.rs"}}"#;
        assert_eq!(of("PostToolUse", read), ToolUse::default());
        let run = r#"{"toolName":"bash","toolArgs":"{\"command\":\"cargo test\"}"}"#;
        assert_eq!(of("postToolUse", run).command.as_deref(), Some("cargo test"));
        assert_eq!(of("PostToolUse", r#"{"tool_name":"Write","tool_input":{"file_path":"../x"}}"#), ToolUse::default());
    }
}
