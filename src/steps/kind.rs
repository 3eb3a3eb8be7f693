//! What a step kind is: what it promises, and the functions that the engine calls.

use std::path::PathBuf;

use serde_json::Value;

use super::Context;
use crate::config::Reader;
use crate::config::template::Values;
use crate::error::{Error, Result};
use crate::facts::Session;
use crate::guard::Stop;

/// What a kind promises about doing a step twice. A resume relies on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Doing the step twice has the same result as doing it once.
    Repeat,
    /// The effects are outside of the project, so they may happen more than once.
    AtLeastOnce,
}

/// What a resume does with an interrupted step that promises only [`Promise::AtLeastOnce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnInterrupt {
    Rerun,
    Skip,
    Stop,
}

/// A kind of step.
pub struct Kind {
    pub name: &'static str,
    pub promise: Promise,
    /// If a younger run has already done its step of this kind, an older run's step must not replace the result.
    pub newest_wins: bool,
    /// Acting changes nothing, so that a dry run may act.
    pub only_reads: bool,
    /// The step finds out facts about the session, which later steps use by name.
    pub collects: bool,
    /// The step uses the commit that was checked out when the run was recorded.
    pub needs_head: bool,
    /// The step delivers the files through the backend.
    pub delivers: bool,
    /// The step runs something in the worktree of the session, so it is skipped if the worktree is gone.
    pub runs_in_worktree: bool,
    /// The texts of the session (`note`, `state`, `handoff`) that a step with these parameters writes somewhere.
    pub keeps: fn(params: &Value, session: &Session) -> Vec<&'static str>,
    /// Reads and checks the keys of its table in the config. The value comes back as [`Context::params`].
    pub read: fn(&mut Reader<'_>) -> Value,
    /// What the step is about to do, with every template filled in. Changes nothing.
    pub intend: fn(&Context<'_>) -> Result<Intent>,
    /// The intent in one line, for `run --dry-run`.
    pub preview: fn(&Context<'_>, intent: &Value) -> Result<String>,
    /// What the step needs and does not find, a sentence each. Changes nothing.
    pub missing: fn(&Context<'_>, intent: &Value) -> Result<Vec<String>>,
    pub act: fn(&Context<'_>, intent: &Value) -> Result<Outcome, Failure>,
    /// Ends the processes and removes the files that an interrupted act left. Called before anything else happens to the step.
    pub before_resume: fn(&Context<'_>) -> Result<()>,
    /// The file that has no trace of this step, although the step was done. Asked on a resume, because git may have reset
    /// a file that it tracks.
    pub missing_from: fn(&Context<'_>, intent: &Value) -> Result<Option<PathBuf>>,
    pub on_interrupt: fn(params: &Value) -> OnInterrupt,
}

pub(super) fn keeps_nothing(_: &Value, _: &Session) -> Vec<&'static str> {
    Vec::new()
}

pub(super) fn keeps_all(_: &Value, _: &Session) -> Vec<&'static str> {
    vec!["note", "state", "handoff"]
}

/// For a step that has only what its templates name.
pub(super) fn keeps_mentioned(params: &Value, _: &Session) -> Vec<&'static str> {
    let params = params.to_string();
    let templates: Vec<&str> = params.split("{{").skip(1).filter_map(|rest| rest.split("}}").next()).collect();
    let is_named = |name: &str| {
        let mut words = templates.iter().flat_map(|template| template.split(|letter: char| !letter.is_alphanumeric()));
        words.any(|word| word == name)
    };
    let names = [("note", "note"), ("summary", "note"), ("state", "state"), ("handoff", "handoff")];
    names.into_iter().filter(|(name, _)| is_named(name)).map(|(_, text)| text).collect()
}

/// What a step is about to do.
pub enum Intent {
    Do(Value),
    /// There is nothing to do, for this reason.
    Nothing(String),
}

/// The result of a step that was done.
pub struct Outcome {
    /// One line for a person.
    pub detail: String,
    /// What the checkpoint keeps.
    pub result: Value,
    /// What later steps may use by name.
    pub facts: Values,
}

impl Outcome {
    pub(super) fn new(detail: impl Into<String>) -> Outcome {
        Outcome { detail: detail.into(), result: Value::Null, facts: Values::new() }
    }
}

/// Why a step was not done.
pub enum Failure {
    /// The error, and what the checkpoint keeps.
    Failed(Error, Value),
    /// What the step was to change is gone, or something else took its place, for this reason. Trying again does not help,
    /// so the step is over.
    NothingToDo(String),
    /// The brake was pressed while the step acted. It has ended the processes it had started.
    Stopped(Stop),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Failed(error, Value::Null)
    }
}

/// `read` of a kind that has no keys of its own.
pub(super) fn no_keys(_: &mut Reader<'_>) -> Value {
    Value::Null
}

/// `missing` of a kind that needs nothing but the project's own files.
pub(super) fn needs_nothing(_: &Context<'_>, _: &Value) -> Result<Vec<String>> {
    Ok(Vec::new())
}

/// `before_resume` of a kind that leaves at most a temporary file, which the next writer removes.
pub(super) fn leaves_nothing(_: &Context<'_>) -> Result<()> {
    Ok(())
}

/// `missing_from` of a kind that writes nothing a session said.
pub(super) fn loses_nothing(_: &Context<'_>, _: &Value) -> Result<Option<PathBuf>> {
    Ok(None)
}

/// `on_interrupt` of a kind that can be repeated.
pub(super) fn always_rerun(_: &Value) -> OnInterrupt {
    OnInterrupt::Rerun
}

/// `read` of `note` and `state`: the `content` key, a template. Without it, each kind has its own default.
pub(super) fn read_content(table: &mut Reader<'_>) -> Value {
    table.template("content").map_or(Value::Null, |found| Value::from(found.value))
}
