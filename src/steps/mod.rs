//! Every step kind, one file each.

mod collect;
mod command;
mod compact;
mod history;
mod note;
mod publish;
mod state;

pub use command::remove_logs;
pub use history::derive as derive_handoff;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::config::category::Categories;
use crate::config::template::Values;
use crate::config::{KindReader, Reader};
use crate::error::{Error, Result};
use crate::facts::Session;
use crate::guard::{Brake, Stop};
use crate::publish::Destination;

/// Every kind. A new one is a file, its `mod` line and its line here.
pub const KINDS: &[Kind] =
    &[collect::KIND, command::KIND, note::KIND, state::KIND, history::KIND, compact::KIND, publish::KIND];

/// What a kind promises about doing its step again, which decides what a resume does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Twice equals once.
    Repeat,
    /// Can ask whether it landed.
    Probe,
    /// Its effects are outside; it may happen more than once.
    AtLeastOnce,
}

/// What a resume does with an at-least-once step that it finds half-done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnInterrupt {
    Rerun,
    Skip,
    Stop,
}

pub struct Kind {
    pub name: &'static str,
    pub promise: Promise,
    /// An older run's step of this kind replaces nothing once a younger run has done its own.
    pub newest_wins: bool,
    /// Acting changes nothing, so even a dry run may do it.
    pub only_reads: bool,
    /// The keys of its table, checked, as it wants them back.
    pub read: fn(&mut Reader<'_>) -> Value,
    /// What it is about to do, with every template filled in. Touches nothing.
    pub intend: fn(&Context<'_>) -> Result<Intent>,
    /// The intent in one line, for who wants to know before it happens.
    pub preview: fn(&Context<'_>, intent: &Value) -> Result<String>,
    /// What it needs and does not find, a sentence each. Touches nothing.
    pub missing: fn(&Context<'_>, intent: &Value) -> Result<Vec<String>>,
    pub act: fn(&Context<'_>, intent: &Value) -> Result<Outcome, Failure>,
    /// Ends and cleans up what an interrupted act left, before anything is decided about it.
    pub before_resume: fn(&Context<'_>) -> Result<()>,
    /// Whether an interrupted act did land after all.
    pub landed: fn(&Context<'_>) -> Result<bool>,
    pub on_interrupt: fn(params: &Value) -> OnInterrupt,
}

pub enum Intent {
    Do(Value),
    /// There is nothing to do, and why.
    Nothing(String),
}

/// A step that was done.
pub struct Outcome {
    /// One line for a person.
    pub detail: String,
    /// What the checkpoint keeps of it.
    pub result: Value,
    /// What later steps may ask for by name.
    pub facts: Values,
}

impl Outcome {
    fn new(detail: impl Into<String>) -> Outcome {
        Outcome { detail: detail.into(), result: Value::Null, facts: Values::new() }
    }
}

pub enum Failure {
    /// With what the checkpoint keeps of it, as for a step that was done.
    Failed(Error, Value),
    /// The brake was pressed while it acted; what it had started is ended.
    Stopped(Stop),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Failed(error, Value::Null)
    }
}

/// All that a step can see: no database, no terminal, no other step.
pub struct Context<'a> {
    pub root: &'a Path,
    pub memory: PathBuf,
    pub history: PathBuf,
    pub logs: PathBuf,
    pub state: &'a Path,
    pub session: &'a Session,
    pub destination: &'a Destination,
    pub step: &'a str,
    pub attempt: u32,
    pub params: &'a Value,
    pub values: &'a Values,
    pub brake: &'a Brake,
    pub categories: &'a Categories,
    /// For a kind of which the newest wins: the younger run that has done its own already.
    pub overtaken_by: Option<&'a str>,
}

impl Context<'_> {
    /// The value a template of the step's params becomes.
    fn render(&self, template: &str) -> Result<String> {
        crate::config::template::render(template, self.values)
    }

    fn value(&self, name: &str) -> String {
        self.values.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// A path as a person in this project would write it.
    fn show(&self, path: &Path) -> String {
        path.strip_prefix(self.root).unwrap_or(path).display().to_string()
    }
}

pub fn kind(name: &str) -> Result<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
        Error::bad_data(format!("this agent-handover has no step kind `{name}`"))
            .hint("the run was recorded by another version: update, or give it up with `agent-handover run --abandon`")
    })
}

/// The kinds as the config needs them.
pub fn readers() -> Vec<KindReader> {
    KINDS.iter().map(|kind| KindReader { name: kind.name, read: kind.read }).collect()
}

/// For kinds that take no keys of their own.
fn no_keys(_: &mut Reader<'_>) -> Value {
    Value::Null
}

/// For kinds that need nothing but the project's own files.
fn needs_nothing(_: &Context<'_>, _: &Value) -> Result<Vec<String>> {
    Ok(Vec::new())
}

/// For kinds that leave nothing but a temporary, which the next writer removes.
fn leaves_nothing(_: &Context<'_>) -> Result<()> {
    Ok(())
}

/// For kinds whose promise says that nobody asks.
fn never_asked(_: &Context<'_>) -> Result<bool> {
    Ok(false)
}

fn always_rerun(_: &Value) -> OnInterrupt {
    OnInterrupt::Rerun
}

/// The `content` key that `note` and `state` share: a template, or nothing for the kind's own default.
fn read_content(table: &mut Reader<'_>) -> Value {
    table.template("content").map_or(Value::Null, |found| Value::from(found.value))
}
