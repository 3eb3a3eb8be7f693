//! The account of a session.

use serde::{Deserialize, Serialize};

use super::cues;
use crate::transcript::Outcome;

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Speaker {
    Person,
    Agent,
    /// This program, which saw it: a command that passed, a file that was reverted.
    Program,
}

/// A text that knows who said it, and when in the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line {
    pub who: Speaker,
    /// The turn, counted from 1; 0 for what was not said in the talk: a note, a document.
    pub turn: usize,
    /// One line, verbatim, without Markdown marks.
    pub text: String,
}

/// A command that shows how good the work is, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Check {
    pub command: String,
    pub outcome: Outcome,
    pub seen: Seen,
    pub took_ms: Option<u64>,
}

/// Where a check was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Seen {
    /// The agent ran it.
    Transcript,
    /// A step of the handover ran it.
    Here,
}

/// How a session came by its goal, the weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GoalSource {
    /// The session began by going on with earlier work, and a task came later. An earlier goal that was stated stays.
    #[default]
    LaterRequest,
    /// The session began with a task: a new goal.
    FirstRequest,
    /// A person or a note said what the goal is.
    Stated,
}

/// What a session amounts to. Lists are in the order of the session: the newest is last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Account {
    /// What the session was for. `None` if nobody said so: an earlier goal then stays.
    pub goal: Option<Line>,
    #[serde(default)]
    pub goal_source: GoalSource,
    /// The requests of a person that are not trivial.
    pub asked: Vec<Line>,
    /// What a person decided, corrected, forbade or chose.
    pub rulings: Vec<Line>,
    /// The last text of each turn of the agent.
    pub conclusions: Vec<Line>,
    /// What is to be done next, the most urgent first.
    pub next: Vec<Line>,
    /// What was tried and did not work.
    pub dead_ends: Vec<Line>,
    /// What was done, from notes.
    pub done: Vec<Line>,
    /// What was decided, from notes. It need not be a person's ruling.
    #[serde(default)]
    pub decisions: Vec<Line>,
    /// What is blocked or broken, from notes.
    #[serde(default)]
    pub known_issues: Vec<Line>,
    /// What the agent captured itself in its answers, by category.
    #[serde(default)]
    pub captured: Vec<(String, Vec<String>)>,
    /// Each check once, with its last outcome.
    pub checks: Vec<Check>,
    /// Further sentences of the talk, chosen for the words that they add.
    pub sentences: Vec<Line>,
    /// Whether the session edited nothing, committed nothing, decided nothing and left nothing open. Such a session changes
    /// neither the goal nor what is next.
    pub is_idle: bool,
    /// Whether the session edited or committed something, or left something open. A task without either is settled, and does
    /// not replace an earlier goal.
    #[serde(default)]
    pub goes_on: bool,
}

impl Account {
    /// Whether the goal of this session replaces an earlier one: somebody stated it, or the session began a task that goes
    /// on.
    pub(crate) fn replaces_goal(&self) -> bool {
        let is_new = match self.goal_source {
            GoalSource::Stated => true,
            GoalSource::FirstRequest => self.goes_on,
            GoalSource::LaterRequest => false,
        };
        self.goal.is_some() && is_new
    }

    /// The last text of the agent that is more than a reply such as "OK."; else the last one.
    pub(crate) fn last_words(&self) -> Option<&Line> {
        let mut said = self.conclusions.iter().rev();
        said.find(|line| !cues::is_filler(&line.text)).or(self.conclusions.last())
    }

    /// The checks that failed when they last ran.
    pub(crate) fn failing(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| matches!(check.outcome, Outcome::Failed(_)))
    }
}

impl Check {
    /// The known issue that a failing check is. It begins like that of every other failure of the same command, so that a
    /// later pass finds it.
    pub(crate) fn issue(&self) -> String {
        let code = match self.outcome {
            Outcome::Failed(Some(code)) => format!(" (exit code {code})"),
            _ => String::new(),
        };
        format!("{}{code}", self.issue_start())
    }

    /// The beginning of [`Check::issue`], which is the same for every failure of this command.
    pub(crate) fn issue_start(&self) -> String {
        format!("`{}` failed", self.command)
    }
}
