//! The rows of the checkpoint as values: a run, its steps, and what is recorded about both.

use std::time::Duration;

use super::HandedPart;

/// Where a run is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunStatus {
    Unfinished,
    Completed,
    Abandoned,
}

/// Where a step is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepState {
    Pending,
    /// It was being carried out when the process ended.
    Intended,
    Done,
    /// There was nothing to do, or the step is not to be done any more.
    Skipped,
    Failed,
    /// It was found half-done, and its config says that a person must look.
    Stopped,
}

impl StepState {
    pub(crate) const ALL: [StepState; 6] = [
        StepState::Pending,
        StepState::Intended,
        StepState::Done,
        StepState::Skipped,
        StepState::Failed,
        StepState::Stopped,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            StepState::Pending => "pending",
            StepState::Intended => "intended",
            StepState::Done => "done",
            StepState::Skipped => "skipped",
            StepState::Failed => "failed",
            StepState::Stopped => "stopped",
        }
    }
}

/// A run that is about to be recorded.
pub(crate) struct NewRun<'a> {
    pub id: &'a str,
    pub recorded_at: &'a str,
    pub agent: &'a str,
    pub tag: &'a str,
    /// The directory that its notes and state are written to. Two runs compete for the state if this is the same.
    pub memory_dir: &'a str,
    pub head: Option<&'a str>,
    /// The linked worktree in which the session ran; empty for the directory of the checkpoint.
    pub worktree: &'a str,
    pub branch: &'a str,
    pub plan: &'a str,
    pub inputs: &'a str,
    /// The texts that are too long for `inputs`, by name.
    pub texts: &'a [(&'static str, String)],
    /// Name and kind of each step, in order.
    pub steps: Vec<(&'a str, &'a str)>,
    /// The intent of the first step, if the process begins with it right away.
    pub begun: Option<&'a str>,
    /// The part of an agent's session that this run hands over, if the session is known.
    pub handed: Option<&'a HandedPart>,
}

/// A recorded run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub seq: i64,
    pub id: String,
    pub status: RunStatus,
    pub recorded_at: String,
    pub finished_at: Option<String>,
    pub agent: String,
    pub tag: String,
    /// The commit that was checked out when the run was recorded.
    pub head: Option<String>,
    /// The linked worktree in which the session ran; empty for the directory of the checkpoint.
    pub worktree: String,
    /// The branch that was checked out; empty if it is unknown.
    pub branch: String,
}

/// A recorded step of a run.
#[derive(Clone, Debug)]
pub(crate) struct RecordedStep {
    pub position: usize,
    pub name: String,
    pub kind: String,
    pub state: StepState,
    pub attempts: u32,
    /// How often the process died during this step.
    pub deaths: u32,
    pub duration_ms: Option<u64>,
    pub intent: Option<String>,
    pub result: Option<String>,
    /// One line a person can read: what was written, why it was skipped.
    pub detail: Option<String>,
    pub error: Option<String>,
}

/// The plan that an unfinished run gets instead of its own.
pub(crate) struct ReplannedRun<'a> {
    pub memory: &'a str,
    pub plan: &'a str,
    pub steps: &'a [ReplannedStep<'a>],
    /// The commit of the session, if the run has none yet.
    pub head: Option<&'a str>,
}

/// A step of the plan that an unfinished run gets instead of its own.
pub(crate) struct ReplannedStep<'a> {
    pub name: &'a str,
    pub kind: &'a str,
    /// The position of the recorded step whose state it keeps.
    pub keeps: Option<usize>,
}

/// What happens to the unfinished runs when a new one is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnUnfinished {
    Keep,
    Abandon,
}

/// How a step ended.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    pub position: usize,
    pub state: StepState,
    pub duration: Duration,
    pub result: Option<String>,
    pub detail: Option<String>,
    pub error: Option<String>,
}

/// What comes after a step. It is recorded in the same transaction as the end of that step, at one fsync.
pub(crate) enum Next<'a> {
    Intend {
        position: usize,
        intent: &'a str,
        /// The process died during the last attempt.
        died: bool,
    },
    Complete {
        at: &'a str,
        /// The words of the run are nowhere else.
        keeps_inputs: bool,
    },
    /// Remove the record of the run: nobody asks about it later. Nothing depends on it, so it is not synced.
    Forget,
    /// Nothing for now: the run stays unfinished.
    Rest,
}
