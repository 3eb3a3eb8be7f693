//! One call of a hook, in the same words for all agents.

use std::path::PathBuf;

use crate::agents::Agent;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    SessionStart,
    TurnEnd,
    BeforeCompaction,
    SessionEnd,
    PromptSubmitted,
    /// The agent is about to run a command or to edit a file.
    BeforeTool,
    /// An event that means nothing to us, by the agent's name for it.
    Unknown(String),
}

impl Event {
    /// The name for logs and idempotence keys.
    pub fn name(&self) -> &str {
        match self {
            Event::SessionStart => "session-start",
            Event::TurnEnd => "turn-end",
            Event::BeforeCompaction => "before-compaction",
            Event::SessionEnd => "session-end",
            Event::PromptSubmitted => "prompt-submitted",
            Event::BeforeTool => "before-tool",
            Event::Unknown(_) => "unknown",
        }
    }
}

/// One call of a hook. All texts are free of control characters; all paths are absolute.
#[derive(Clone, Debug)]
pub struct Call {
    pub agent: &'static Agent,
    pub event: Event,
    pub session_id: Option<String>,
    /// The agent's current directory, which follows its `cd`.
    pub cwd: Option<PathBuf>,
    /// The directory in which the agent was started, if it says so.
    pub project_dir: Option<PathBuf>,
    pub transcript_path: Option<PathBuf>,
    /// Why the session started: `startup`, `resume`, `clear`, `compact`, `fork`, `new`.
    pub source: Option<String>,
    /// Why the session ended.
    pub reason: Option<String>,
    /// Why the session is compacted: `manual` or `auto`.
    pub trigger: Option<String>,
    pub model: Option<String>,
    /// The user's prompt, if the event has one.
    pub prompt: Option<String>,
    /// The agent's last message, if the event has one. The transcript may not have it yet.
    pub last_message: Option<String>,
    /// What the agent or its model reported as an error. The last message then is the text of the error.
    pub error: Option<String>,
    /// Files that the agent has just edited, or is about to edit, if the event says so.
    pub edited: Vec<String>,
    /// A command that the agent has just run, or is about to run, if the event says so.
    pub command: Option<String>,
    pub is_subagent: bool,
    /// Whether the agent runs without a person in front of it.
    pub is_headless: bool,
    /// Whether the turn continues because a hook asked for it.
    pub is_continued_by_hook: bool,
    /// What was wrong with the payload, one line each, for the log.
    pub problems: Vec<String>,
}
