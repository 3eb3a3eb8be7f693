//! Abandoning unfinished runs: one of them, or all of them to start anew.

use std::path::PathBuf;
use std::time::Duration;

use super::at_once;
use super::plan::Plan;
use super::queue::{self, LockAttempt, busy};
use super::record::{HandOverError, RecordOutcome, Request, prepare, write};
use super::resume::DEATHS_TO_PARK;
use super::told;
use crate::base::lock::{self, Lock};
use crate::base::{clock, env, process};
use crate::checkpoint::{self, OnUnfinished, Run, StepState, Store};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::project::{self, Project};
use crate::steps;

/// Abandons the run whose id begins or ends with `id`, or the oldest unfinished run. Its record and inputs stay.
pub(crate) fn abandon(project: &Project, store: &mut Store, id: Option<&str>) -> Result<Vec<Run>> {
    let unfinished = at_once::waiting(project, store)?;
    let chosen: Vec<Run> = match id {
        None => unfinished.into_iter().take(1).collect(),
        Some(id) => vec![choose(unfinished, id)?],
    };
    // A run that is being carried out is not abandoned. The lock also keeps others from beginning it now.
    let lock = Lock::try_take(&project.lock())?;
    let owner = lock::owner(&project.lock());
    if lock.is_none() && owner.as_ref().is_none_or(|owner| chosen.iter().any(|run| run.id == owner.run)) {
        return Err(busy(owner.as_ref(), "wait until it ends, or end that process"));
    }
    // Clear up first: nobody looks at an abandoned run again.
    for run in &chosen {
        clear_up(project, store, run)?;
    }
    let seqs: Vec<i64> = chosen.iter().map(|run| run.seq).collect();
    store.abandon(&seqs, &clock::stamp(&clock::now()))?;
    Ok(chosen)
}

fn choose(unfinished: Vec<Run>, id: &str) -> Result<Run> {
    told::refuse_empty(id)?;
    let part = id.to_uppercase();
    let is_meant = |run: &Run| run.id.starts_with(&part) || run.id.ends_with(&part);
    let mut matching: Vec<Run> = unfinished.into_iter().filter(is_meant).collect();
    let (message, hint) = match (matching.pop(), matching.len()) {
        (Some(run), 0) => return Ok(run),
        (None, _) => (
            format!("no unfinished handover begins or ends with `{id}`"),
            "`agent-handover status` lists those that are unfinished",
        ),
        (Some(_), others) => (
            format!("{} unfinished handovers begin or end with `{id}`", others + 1),
            "`agent-handover status --json` has their whole ids",
        ),
    };
    Err(Error::failed(message).hint(hint))
}

/// Ends the processes and removes the files that an interrupted run left, because nobody comes back to it.
fn clear_up(project: &Project, store: &Store, run: &Run) -> Result<()> {
    process::end_orphans(&[(env::RUN, &run.id)], process::Orphans::All)?;
    for step in store.steps(run.seq)?.iter().filter(|step| step.state == StepState::Intended) {
        steps::remove_logs(
            &project.anchor(&project.state),
            &project.log_dir().join(&run.id),
            &step.name,
            step.attempts,
        )?;
    }
    let Some(plan) = store.plan(run.seq)? else { return Ok(()) };
    match Plan::from_json(&plan).and_then(|plan| project::place(&project.memory_root, &plan.memory_dir)) {
        Ok(memory) => Memory::at(&project.memory_root, memory).sweep(),
        // Another version recorded this plan, so where it wrote is unknown.
        Err(_) => Ok(()),
    }
}

/// What is there after a restart.
pub(super) struct Restarted {
    pub store: Store,
    pub outcome: RecordOutcome,
    /// Still held, so that no other process takes the new run first.
    pub lock: Lock,
    pub abandoned: Vec<Run>,
    /// The path to which an unusable database was moved.
    pub aside: Option<PathBuf>,
}

/// Abandons everything unfinished and records a new run, in one transaction. An unusable database is moved aside; the
/// database of a newer program is left alone.
pub(super) fn restart(project: &Project, request: &Request, wait: Duration) -> Result<Restarted, HandOverError> {
    let mut prepared = prepare(project, request, request.handed.as_ref(), None)?;
    let lock = match queue::wait_for_lock(project, None, wait, &project.brake(), &mut |_| ())? {
        LockAttempt::Taken(lock) => lock,
        LockAttempt::Stopped(stop) => {
            return Err(stop.error().follow("; nothing was abandoned").into());
        }
        // The exit code of "busy" would mean that the run is recorded.
        LockAttempt::Busy(owner) => return Err(Error::failed(lock::describe(owner.as_ref())).into()),
        LockAttempt::Finished => return Err(Error::bug("waited for a run without one").into()),
    };
    // Half of a command would stay, and nothing would repair it.
    at_once::finish_interrupted(project, &mut |_| ());
    let at = clock::now().format("%Y%m%dT%H%M%S").to_string();
    let (mut store, aside) = checkpoint::open_or_replace(&project.checkpoint_file(), &format!(".damaged-{at}"))?;
    prepared.session.base = store.last_head(&project.worktree())?.unwrap_or_default();
    let abandoned = store.unfinished(DEATHS_TO_PARK)?;
    for run in &abandoned {
        clear_up(project, &store, run)?;
    }
    let outcome = write(&mut store, prepared, OnUnfinished::Abandon)?;
    Ok(Restarted { store, outcome, lock, abandoned, aside })
}
