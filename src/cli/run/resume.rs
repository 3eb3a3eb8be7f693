//! `run --resume`, `run --replan` and `run --abandon`.

use std::time::Duration;

use super::render::Reporter;
use crate::checkpoint::Store;
use crate::checkpoint::python::{PythonCheckpoint, PythonState};
use crate::cli::ui::Ui;
use crate::cli::{ids, status};
use crate::engine::{self, Carrier, HowToRun, Request, Task};
use crate::error::{Error, Result};
use crate::project::Project;

/// Finishes what is unfinished. Where only the Python tool has a handover on record, finishes that.
pub(super) fn resume(mut reporter: Reporter<'_>, project: &Project, wait: Duration, no_push: bool) -> Result<u8> {
    project.require_named_checkpoint()?;
    let ours = Store::read(&project.checkpoint_file())?.map(|store| store.latest()).transpose()?.flatten();
    let python = if ours.is_none() { project.read_python_checkpoint()? } else { None };
    let python = python.filter(|checkpoint| checkpoint.state() == PythonState::Interrupted);
    let request = match &python {
        Some(checkpoint) => {
            check_what_can_be_published(reporter.ui, checkpoint)?;
            Some(Request { only_publish: true, no_push, ..Request::default() })
        }
        None => None,
    };
    let task = request.as_ref().map_or(Task::Resume, Task::Record);
    let how = HowToRun { wait, carrier: Carrier::ThisProcess };
    let handed_over = engine::hand_over(project, task, how, &mut |event| reporter.event(&event))?;
    name_others(reporter.ui, project);
    reporter.result(handed_over)
}

/// Finishes what is unfinished with the steps of the present config.
pub(super) fn replan(mut reporter: Reporter<'_>, project: &Project, wait: Duration) -> Result<u8> {
    project.require_named_checkpoint()?;
    let how = HowToRun { wait, carrier: Carrier::ThisProcess };
    let handed_over = engine::hand_over(project, Task::Replan, how, &mut |event| reporter.event(&event))?;
    name_others(reporter.ui, project);
    reporter.result(handed_over)
}

/// Somebody who asks for what is unfinished may mean the database of another home.
fn name_others(ui: &Ui, project: &Project) {
    for other in project.other_databases().iter().filter(|other| other.unfinished.is_some_and(|count| count > 0)) {
        ui.warn(&format!("left alone: {}", other.sentence(&project.root)));
    }
}

/// The Python tool records no inputs: what it had written can be published, and what it had not written is lost.
fn check_what_can_be_published(ui: &Ui, checkpoint: &PythonCheckpoint) -> Result<()> {
    let again = "hand over again with `agent-handover run --note …`, which supersedes it";
    let lost = checkpoint.pending_writes();
    if !checkpoint.is_publish_pending() {
        let message =
            format!("the Python tool left {} pending, and what it would have written is not recorded", lost.join(", "));
        return Err(Error::failed(message).hint(again));
    }
    if !lost.is_empty() {
        ui.warn(&format!("the Python tool did not record what {} would have written; {again}", lost.join(" and ")));
    }
    Ok(())
}

/// Abandons one unfinished handover: the one that is named, or the oldest.
pub(super) fn abandon(ui: &mut Ui, project: &Project, run: Option<&str>) -> Result<u8> {
    project.require_named_checkpoint()?;
    if let Some(stop) = project.brake().pressed() {
        return Err(stop.error());
    }
    if !project.checkpoint_file().is_there() {
        ui.answer("nothing to abandon: no handover is on record here");
        return Ok(0);
    }
    let mut store = Store::open(&project.checkpoint_file())?;
    let abandoned = engine::abandon(project, &mut store, run)?;
    for run in &abandoned {
        let keeps = format!("`agent-handover status --run {}` prints its inputs again", ids::of_run(&run.id));
        ui.answer(&format!("abandoned {}; {keeps}", engine::title(&store, run)?));
        if let Some(told) = engine::told(&store, run)? {
            status::print_told(ui, &told);
        }
    }
    if abandoned.is_empty() {
        ui.answer("nothing to abandon: no handover is unfinished");
    }
    Ok(0)
}
