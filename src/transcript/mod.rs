//! What agents leave on disk of a session: one file a format, read as a stream, within limits, and never believed.
//!
//! The formats are their owners' and change without notice: what is not understood is passed over. Nothing of a
//! transcript is kept but what [`Transcript`] holds, and that without secrets and without what was said in private.

mod bounded_json;
mod claude_code;
mod codex;
mod draft;
mod human_text;
mod lines;
mod sessions;
mod source;
mod test_outcome;

use std::path::{Path, PathBuf};

use chrono::{DateTime, FixedOffset};
use serde::Serialize;
use serde::ser::SerializeStruct;
use serde_json::Value;

pub use sessions::{SessionFile, is_subagent, sessions, sessions_of};
pub use source::{Source, read};

use draft::Draft;

use crate::base::text;
use crate::guard::secrets;

/// The first line of what we inject into a session, by which we know it again and do not take it for something said.
pub const WARMUP_MARKER: &str = "<!-- agent-handover warmup -->";

/// One way of writing a session down. A new one is a file, its `mod` line and its line in `FORMATS`.
pub struct Format {
    /// The name of the agent.
    pub name: &'static str,
    /// The variable that says where it keeps its files, and the directory in the home that it keeps them in otherwise.
    place: (&'static str, &'static str),
    /// Whether a record is one of these.
    is_one: fn(&Value) -> bool,
    /// Adds what a record says.
    take: fn(&mut Draft, &Value),
    /// The files of sessions that may belong to a project, by what can be told without opening them; `None` if there are
    /// more than `most`.
    candidates: fn(place: &Path, root: &Path, most: usize) -> Option<Vec<PathBuf>>,
    /// The session's id, from its file's name.
    id: fn(&Path) -> Option<String>,
}

pub const FORMATS: &[Format] = &[claude_code::FORMAT, codex::FORMAT];

/// Whether the sessions of this agent can be read.
pub fn is_readable(agent: &str) -> bool {
    FORMATS.iter().any(|format| format.name == agent)
}

/// What of a text may be kept: without what is private, without secrets, without what no person said. `None` if nothing is left.
pub fn keepable(said: &str, max: usize) -> Option<String> {
    let said = human_text::said(text::cut(said, 64 << 10))?;
    Some(text::kept_line(&secrets::clean(&text::without_controls(&said)), max)).filter(|line| !line.is_empty())
}

/// What a session did, as far as its transcript tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Transcript {
    /// The agent whose format it is.
    pub agent: &'static str,
    pub session: String,
    /// Where it was started.
    pub cwd: String,
    pub branch: String,
    pub model: String,
    pub title: String,
    /// What a person asked for first and last; what they asked in private is not in it.
    pub first_request: String,
    pub last_request: String,
    pub requests: usize,
    /// Absolute where that is known, in the order of their first edit.
    pub edited: Vec<String>,
    /// The last ones, in their order.
    pub commands: Vec<Command>,
    /// Each test command once, with how it ended last.
    pub tests: Vec<Command>,
    /// As the list stood at the end.
    pub todos: Vec<Todo>,
    pub started: Option<DateTime<FixedOffset>>,
    pub ended: Option<DateTime<FixedOffset>>,
    /// Asked by another agent, not by a person.
    pub is_subagent: bool,
    /// Run without a person in front of it, if that is known.
    pub is_headless: Option<bool>,
    /// What was not read, or not kept.
    pub notices: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub command: String,
    pub outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// With its exit code, if it is the command's own.
    Failed(Option<i64>),
    /// Not over, or not to be told: the exit code behind a pipe is another program's.
    Unknown,
}

impl Serialize for Command {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (result, exit_code) = match self.outcome {
            Outcome::Passed => ("passed", Some(0)),
            Outcome::Failed(code) => ("failed", code),
            Outcome::Unknown => ("unknown", None),
        };
        let mut fields = serializer.serialize_struct("Command", 3)?;
        fields.serialize_field("command", &self.command)?;
        fields.serialize_field("result", result)?;
        fields.serialize_field("exit_code", &exit_code)?;
        fields.end()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Todo {
    pub text: String,
    pub status: TodoStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}
