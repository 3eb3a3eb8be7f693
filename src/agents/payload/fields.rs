//! The keys of a payload. Nothing in it is trusted: texts are cut, paths checked, other keys skipped.

use std::fmt;
use std::path::PathBuf;

use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::base::text;

const LONGEST_WORD: usize = 200;
const LONGEST_PATH: usize = 4_096;
const LONGEST_TEXT: usize = 64 << 10;

/// The keys of one payload that we use.
#[derive(Debug)]
pub struct Payload(Map<String, Value>);

impl Payload {
    /// The payload in these bytes. If it breaks off, the keys before the break are used.
    pub(super) fn parse(stdin: &[u8], problems: &mut Vec<String>) -> Payload {
        Payload(parse(stdin, problems))
    }

    /// Whether the key has a value other than null.
    pub fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|value| !value.is_null())
    }

    /// The first of these keys that holds a text which is not blank, as it was sent.
    pub fn raw(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().filter_map(|key| self.0.get(*key)?.as_str()).find(|text| !text.trim().is_empty())
    }

    /// The same, on one line and cut short.
    pub(super) fn word(&self, keys: &[&str]) -> Option<String> {
        self.raw(keys).map(short)
    }

    /// The same, with its line breaks.
    pub(super) fn text(&self, keys: &[&str]) -> Option<String> {
        self.raw(keys).map(|long| text::without_controls(text::cut(long, LONGEST_TEXT)))
    }

    /// The id of the session. Cline has one for each conversation in a session too, and names its files after the session.
    pub(super) fn session(&self) -> Option<String> {
        let root = self.0.get("sessionContext").and_then(|context| context.get("rootSessionId")?.as_str());
        let root = root.filter(|id| !id.trim().is_empty()).map(short);
        root.or_else(|| self.word(&["session_id", "sessionId", "conversation_id", "conversationId", "taskId"]))
    }

    /// The input of the tool that the event is about. Some agents send it as the text of an object.
    pub(super) fn tool_input(&self) -> Map<String, Value> {
        let input = ["tool_input", "toolInput", "toolArgs", "tool_args"].into_iter().find_map(|key| self.0.get(key));
        match input {
            Some(Value::Object(input)) => input.clone(),
            Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
            _ => Map::new(),
        }
    }

    /// A whole number that is not negative.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.0.get(key)?.as_u64()
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The same as an absolute path. Any other path is a problem.
    pub(super) fn path(&self, keys: &[&str], problems: &mut Vec<String>) -> Option<PathBuf> {
        let said = self.raw(keys)?;
        let path = absolute(said);
        if path.is_none() {
            problems.push(format!("`{}` is not an absolute path: {}", keys[0], text::one_line(said, 80)));
        }
        path
    }

    /// The directory of the call: the current one, or else the first of the workspace.
    pub(super) fn cwd(&self, problems: &mut Vec<String>) -> Option<PathBuf> {
        if let Some(cwd) = self.path(&["cwd", "workingDir", "working_dir"], problems) {
            return Some(cwd);
        }
        let roots = ["workspace_roots", "workspaceRoots", "workspacePaths"]
            .into_iter()
            .filter_map(|key| self.0.get(key)?.as_array());
        let first = roots.flatten().find_map(|root| absolute(root.as_str()?));
        first.or_else(|| absolute(self.0.get("workspaceInfo")?.get("rootPath")?.as_str()?))
    }
}

/// The text on one line and cut short.
fn short(word: &str) -> String {
    text::one_line(text::cut(word, LONGEST_PATH), LONGEST_WORD)
}

/// The text as a path, if it is absolute and could be the path of a file.
pub(super) fn absolute(said: &str) -> Option<PathBuf> {
    let is_fit = said.starts_with('/') && said.len() <= LONGEST_PATH && !said.chars().any(char::is_control);
    is_fit.then(|| PathBuf::from(said))
}

fn parse(stdin: &[u8], problems: &mut Vec<String>) -> Map<String, Value> {
    let mut found = Map::new();
    let body = stdin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stdin);
    if body.iter().all(u8::is_ascii_whitespace) {
        problems.push("nothing came on stdin".to_owned());
        return found;
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    if let Err(cause) = reader.deserialize_any(Keys(&mut found)) {
        problems.push(format!("stdin is not one whole JSON object: {}", text::one_line(&cause.to_string(), 200)));
    }
    found
}

/// Collects pairs one by one, so that those before an error are kept.
struct Keys<'a>(&'a mut Map<String, Value>);

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<(), A::Error> {
        while let Some(key) = pairs.next_key::<String>()? {
            if WANTED.contains(&key.as_str()) {
                self.0.insert(key, pairs.next_value()?);
            } else {
                let _: IgnoredAny = pairs.next_value()?;
            }
            if self.0.len() > WANTED.len() {
                return Err(de::Error::custom("too many keys"));
            }
        }
        Ok(())
    }
}

/// Every key that we use. The others may be large and are skipped.
const WANTED: &[&str] = &[
    "agent",
    "agent_id",
    "artifactDirectoryPath",
    "clineVersion",
    "conversationId",
    "conversation_id",
    "cursor_version",
    "cwd",
    "error",
    "error_details",
    "event",
    "executionNum",
    "file_path",
    "fullyIdle",
    "hookEventName",
    "hookName",
    "hook_event_name",
    "initialPrompt",
    "invocationNum",
    "is_background_agent",
    "is_subagent",
    "last_assistant_message",
    "model",
    "modelName",
    "parent_agent_id",
    "prompt",
    "prompt_response",
    "reason",
    "sessionContext",
    "sessionId",
    "session_id",
    "source",
    "stopReason",
    "stop_hook_active",
    "stop_reason",
    "taskId",
    "terminationReason",
    "timestamp",
    "toolArgs",
    "toolInput",
    "toolName",
    "tool_args",
    "tool_input",
    "tool_name",
    "transcriptPath",
    "transcript_path",
    "trigger",
    "turn_id",
    "workingDir",
    "working_dir",
    "workspaceInfo",
    "workspacePaths",
    "workspaceRoots",
    "workspace_roots",
];
