//! Recording what a command was given, to be carried out later: what a person or an agent says while everything is paused
//! is not lost.
//!
//! It is a run with one step, and it is carried out, resumed and abandoned like every other run.

use std::path::Path;

use super::plan::{Plan, PlannedStep};
use super::record::{HandOverError, Prepared, RecordOutcome, Recorded, Request, memory_dir, session_for, write};
use super::resume::DEATHS_TO_PARK;
use crate::base::ids::short_run_id;
use crate::base::{fs, text};
use crate::checkpoint::{OnUnfinished, Run, Store};
use crate::error::{Category, Error, Result};
use crate::git;
use crate::guard::Pause;
use crate::project::{self, Project};
use crate::publish::Destination;
use crate::steps::{self, DeferredStep};

/// What a command was given, checked by the command and without secrets.
pub(crate) struct Deferral<'a> {
    pub step: DeferredStep,
    pub agent: Option<String>,
    pub tag: String,
    /// The history, if it is not the one of the config.
    pub history: Option<&'a Path>,
    /// Do not register the directories in git's info/exclude.
    pub no_exclude: bool,
}

/// Records what a command was given while everything is paused. Returns the error with which the command ends: that it is
/// paused and that the words are recorded, or why they are not.
pub(crate) fn defer(project: &Project, pause: &Pause, deferral: Deferral<'_>) -> Error {
    match record(project, deferral) {
        Ok(recorded) => Error::new(Category::Paused, pause.to_string())
            .follow(&format!("; {} is recorded and waits", short_run_id(&recorded.id))),
        Err(failure) if failure.is_recorded => failure.error,
        Err(failure) => failure.error.hint(format!("{pause}; nothing was recorded, because of the error above")),
    }
}

fn record(project: &Project, deferral: Deferral<'_>) -> Result<Recorded, HandOverError> {
    let prepared = prepare(project, deferral)?;
    project.prepare()?;
    let mut store = Store::open(&project.checkpoint_file())?;
    record_in(&mut store, prepared)
}

/// Records a command that was prepared.
pub(super) fn record_in(store: &mut Store, prepared: Prepared) -> Result<Recorded, HandOverError> {
    match write(store, prepared, OnUnfinished::Keep)? {
        RecordOutcome::Recorded(recorded) => Ok(recorded),
        RecordOutcome::AlreadyHandedOver => Err(Error::bug("a command was taken for a session").into()),
    }
}

/// The run of one step that does what a command was given.
pub(super) fn prepare(project: &Project, deferral: Deferral<'_>) -> Result<Prepared> {
    let mut plan = plan(project, &deferral)?;
    plan.steps = vec![PlannedStep::deferred(deferral.step)];
    // A run that only publishes asks for no note, and neither does this one.
    let request = Request { agent: deferral.agent, only_publish: true, ..Request::default() };
    let mut session = session_for(project, &plan, &request, None)?;
    // The words are the parameters of the step.
    (session.note, session.state) = (String::new(), String::new());
    session.agent = text::one_line(&session.agent, 100);
    session.tag = deferral.tag;
    let memory = memory_dir(project, &plan)?;
    let worktree_mark = project.worktree_mark();
    Ok(Prepared { plan, memory, session, warnings: Vec::new(), handed: None, worktree_mark, begun: None })
}

/// The plan, without its step. It publishes nothing, as the command itself would publish nothing.
fn plan(project: &Project, deferral: &Deferral<'_>) -> Result<Plan> {
    let mut plan = Plan::of(&project.config);
    // Asked now: which branch is checked out may change until the step is done.
    let is_published_here = project.bare().is_none()
        && git::top_level(&project.memory_root).is_some()
        && plan.destination.is_on_checked_out_branch(&project.memory_root)?;
    plan.keeps_out_of_git = !deferral.no_exclude && !is_published_here;
    plan.destination = Destination::nowhere();
    if let Some(history) = deferral.history {
        let (root, history) = (fs::resolve(&project.memory_root)?, fs::resolve(history)?);
        plan.history_dir = history.strip_prefix(root).unwrap_or(&history).to_string_lossy().into_owned();
    }
    // A history that cannot be used is an error now, while somebody can react to it.
    project::place(&project.memory_root, &plan.history_dir)?;
    Ok(plan)
}

/// A run as a person knows it: `handover 01K…`, or `memory add 01K…` for what a command was given.
pub(crate) fn title(store: &Store, run: &Run) -> Result<String> {
    let command = deferred_command(store, run)?;
    Ok(format!("{} {}", command.as_deref().unwrap_or("handover"), short_run_id(&run.id)))
}

/// The command whose words a run carries out; `None` for a handover.
pub(crate) fn deferred_command(store: &Store, run: &Run) -> Result<Option<String>> {
    let step = store.steps(run.seq)?.into_iter().next();
    Ok(step.filter(|step| steps::is_deferred(&step.kind)).map(|step| step.name))
}

/// The recorded steps of commands that are not done yet, in their order, as kind and parameters. `None` if handovers wait,
/// too: what these will write is not known.
pub(crate) fn waiting_commands(project: &Project) -> Result<Option<Vec<(String, serde_json::Value)>>> {
    let Some(store) = Store::read(&project.checkpoint_file())? else { return Ok(Some(Vec::new())) };
    let mut waiting = Vec::new();
    for run in store.unfinished(DEATHS_TO_PARK)? {
        // The process of the command has just removed this record.
        let Some(plan) = store.plan(run.seq)? else { continue };
        for step in Plan::from_json(&plan)?.steps {
            if !steps::is_deferred(&step.kind) {
                return Ok(None);
            }
            waiting.push((step.kind, step.params));
        }
    }
    Ok(Some(waiting))
}
