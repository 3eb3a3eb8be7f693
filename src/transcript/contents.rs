//! The contents of a transcript, as far as they are kept.

use chrono::{DateTime, FixedOffset};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};

/// What a session did, as far as its transcript shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Transcript {
    /// The agent whose format it is.
    pub agent: &'static str,
    pub session: String,
    /// The directory in which the session was started.
    pub cwd: String,
    pub branch: String,
    pub model: String,
    pub title: String,
    /// The first and the last request of a person, without what they marked as private.
    pub first_request: String,
    pub last_request: String,
    pub requests: usize,
    /// Absolute paths where known, in the order of the first edit.
    pub edited: Vec<String>,
    /// The last commands, oldest first.
    pub commands: Vec<Command>,
    /// Each test command once, with its last outcome.
    pub tests: Vec<Command>,
    /// The to-do list at the end.
    pub todos: Vec<Todo>,
    pub started: Option<DateTime<FixedOffset>>,
    pub ended: Option<DateTime<FixedOffset>>,
    /// Whether another agent, not a person, started the session.
    pub is_subagent: bool,
    /// Whether the session ran without a person in front of it, if known.
    pub is_headless: Option<bool>,
    /// What people and the agent said, oldest first. If it is too much, texts of the agent that are not the last of their turn
    /// are left out.
    #[serde(skip)]
    pub talk: Vec<Utterance>,
    /// What was done in each turn that did anything, oldest first.
    #[serde(skip)]
    pub work: Vec<TurnWork>,
    /// The commands of each turn with the error lines of their output, oldest first. If they are too many, the newest ones.
    #[serde(skip)]
    pub ran: Vec<RanCommand>,
    /// The first actions, oldest first, without those of sub-agents.
    #[serde(skip)]
    pub actions: Vec<Action>,
    /// To-dos that vanished from the list without having been completed.
    #[serde(skip)]
    pub dropped_todos: Vec<String>,
    /// The edited files that only sub-agents edited. They are also among the edited ones.
    pub edited_by_subagents: Vec<String>,
    /// The limit of its use at which the session stopped, if that is how it ended.
    pub rate_limit: Option<RateLimit>,
    /// Files that commands may have written, with the turn of each. Only git knows whether they changed.
    #[serde(skip)]
    pub shell_writes: Vec<(usize, String)>,
    /// What was not read or not kept, one line each.
    pub notices: Vec<String>,
}

impl Transcript {
    /// Takes a file that a command of this turn wrote.
    pub(crate) fn edit_by_command(&mut self, turn: usize, path: String) {
        let at = self.work.iter().position(|work| work.turn >= turn).unwrap_or(self.work.len());
        if self.work.get(at).is_none_or(|work| work.turn != turn) {
            self.work.insert(at, TurnWork { turn, ..TurnWork::default() });
        }
        if !self.work[at].edited.contains(&path) {
            self.work[at].edited.push(path.clone());
        }
        if !self.edited.contains(&path) {
            self.edited.push(path);
        }
    }
}

/// A limit of an agent's use that was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RateLimit {
    pub at: Option<DateTime<FixedOffset>>,
    /// When it ends, if the client said so.
    pub until: Option<DateTime<FixedOffset>>,
    /// What the client said.
    pub text: String,
}

/// One thing that a person or the agent said, verbatim, without secrets and without what was marked as private.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Utterance {
    /// The number of the turn, counted from 1 where reading began. A request begins a turn; if reading began within a turn,
    /// the rest of that turn is the first.
    pub turn: usize,
    pub kind: UtteranceKind,
    pub text: String,
    /// What it refers to: the question of an answer, the tool call of a refusal. Empty otherwise.
    pub about: String,
    /// When it was recorded, if the transcript says so. Only this process needs it.
    #[serde(skip)]
    pub at: Option<DateTime<FixedOffset>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UtteranceKind {
    /// A person's request, typed or queued.
    Request,
    /// A slash command of a person with its words: `/fix-issue 4711 login loops`.
    SlashCommand,
    /// A person's reason for refusing a tool call.
    Refusal,
    /// A person's answer to a question of the agent.
    Answer,
    /// A plan of the agent that a person approved.
    ApprovedPlan,
    /// A text of the agent.
    AgentText,
}

impl UtteranceKind {
    /// Whether a person said it. A person did not write an approved plan, but chose it.
    pub fn is_of_person(self) -> bool {
        !matches!(self, UtteranceKind::AgentText | UtteranceKind::ApprovedPlan)
    }
}

/// What was done in one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnWork {
    pub turn: usize,
    /// The paths that were edited, absolute where known.
    pub edited: Vec<String>,
    /// The commands that failed.
    pub failed: Vec<String>,
    /// The paths whose edits were undone by `git checkout`, `restore`, `revert` or `reset`.
    pub reverted: Vec<String>,
}

impl TurnWork {
    pub(super) fn did_anything(&self) -> bool {
        [&self.edited, &self.failed, &self.reverted].iter().any(|lines| !lines.is_empty())
    }
}

/// A command that the agent ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub command: String,
    pub outcome: Outcome,
}

/// One thing that the agent did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    pub kind: ActionKind,
    /// The path of a file, the command line, or the name of the tool.
    pub what: String,
    /// How many bytes it put before the agent.
    pub bytes: u64,
    /// A digest of those bytes.
    pub content: String,
    pub outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    Read,
    Command,
    Edit,
    /// Another tool.
    Other,
}

/// A command that ended, with what its output says about errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanCommand {
    pub turn: usize,
    /// How many utterances of the talk came before its end. Fewer are left of a long talk.
    pub said_before: usize,
    pub command: String,
    pub outcome: Outcome,
    /// The lines of the output that name an error, one a line. Empty if the command passed.
    pub errors: String,
    pub at: Option<DateTime<FixedOffset>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Passed,
    /// The exit code, if it is the command's own.
    Failed(Option<i64>),
    /// Still running, or unknowable: behind a pipe, the exit code is another program's.
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
