//! The queue: the process that holds the lock runs what is unfinished, oldest first.

use std::time::{Duration, Instant};

use super::at_once::{self, Claim};
use super::event::{Event, Listener};
use super::inputs::seen_by;
use super::plan::Plan;
use super::replan::{self, REPLAN};
use super::resume::DEATHS_TO_PARK;
use super::runner::{RunEnd, Runner};
use crate::base::lock::{self, Lock, Owner};
use crate::base::{fault, ids};
use crate::checkpoint::{Run, RunStatus, StepState, Store};
use crate::error::{Category, Error, Result};
use crate::guard::{Brake, Stop};
use crate::project::Project;
use crate::steps::{self, Provided};

/// The number of runs whose logs are kept.
const KEPT_LOGS: usize = 100;

/// What the queue is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// This run; whatever else is unfinished is run along with it.
    Run(i64),
    /// Everything unfinished, because somebody asked for it.
    Resume,
    /// What may run although nobody asked for it.
    Due,
}

impl Goal {
    fn run(self) -> Option<i64> {
        match self {
            Goal::Run(seq) => Some(seq),
            Goal::Resume | Goal::Due => None,
        }
    }
}

/// How running the queue ended.
#[derive(Debug)]
pub(crate) enum Drained {
    /// Every run was tried; these failed. `executed` names the steps that were done for the goal. `waiting` is what stops a
    /// run whose worktree is paused.
    Tried { executed: Vec<String>, failures: Vec<RunFailure>, waiting: Option<Stop> },
    /// Another process holds the lock, and takes what is recorded.
    Busy(Option<Owner>),
    /// Nothing more may be done for now.
    Stopped { stop: Stop, executed: Vec<String> },
}

/// A run that stays unfinished.
#[derive(Debug)]
pub(crate) struct RunFailure {
    pub run: String,
    pub relation: RunRelation,
    pub error: Error,
}

/// How a run relates to the one that the queue is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunRelation {
    Older,
    /// The run itself; every run, if the queue is run for none in particular.
    Own,
    /// Recorded meanwhile by another process, which reports its failure itself.
    Younger,
}

/// What came of waiting for the lock.
pub(super) enum LockAttempt {
    Taken(Lock),
    Busy(Option<Owner>),
    Stopped(Stop),
    /// The owner of the lock finished the run meanwhile.
    Finished,
}

#[cfg(test)]
/// Runs what is unfinished, oldest first. Waits up to `wait` for another process that holds the lock.
pub(super) fn drain(
    project: &Project,
    store: &mut Store,
    goal: Goal,
    wait: Duration,
    listener: &mut Listener<'_>,
) -> Result<Drained> {
    drain_with(project, store, goal, wait, &Provided::default(), listener)
}

/// Like [`drain`], with what this process provides to the steps.
pub(super) fn drain_with(
    project: &Project,
    store: &mut Store,
    goal: Goal,
    wait: Duration,
    provided: &Provided<'_>,
    listener: &mut Listener<'_>,
) -> Result<Drained> {
    let own = goal.run().map(|seq| (&*store, seq));
    match wait_for_lock(project, own, wait, &project.brake(), listener)? {
        LockAttempt::Taken(lock) => drain_except(project, store, goal, lock, Vec::new(), provided, listener),
        LockAttempt::Busy(owner) => Ok(Drained::Busy(owner)),
        LockAttempt::Stopped(stop) => Ok(Drained::Stopped { stop, executed: Vec::new() }),
        LockAttempt::Finished => done_by_another(store, goal, Vec::new()),
    }
}

/// Like [`drain`], for a caller that already holds the lock.
pub(super) fn drain_locked(
    project: &Project,
    store: &mut Store,
    goal: Goal,
    lock: Lock,
    provided: &Provided<'_>,
    listener: &mut Listener<'_>,
) -> Result<Drained> {
    drain_except(project, store, goal, lock, Vec::new(), provided, listener)
}

/// The unfinished runs that may be carried out although nobody asked for it, and those that need consent.
pub(crate) fn due(project: &Project, store: &Store) -> Result<(Vec<Run>, Vec<Run>)> {
    let may_run = |run: &Run| {
        let plan = store.plan(run.seq).ok().flatten().and_then(|plan| Plan::from_json(&plan).ok());
        let config = seen_by(run, project, store).config;
        plan.is_some_and(|plan| plan.may_run_unattended(&config))
    };
    Ok(at_once::waiting(project, store)?.into_iter().partition(may_run))
}

/// Like [`drain_locked`], for a hook: runs that need consent are left for a person.
pub(crate) fn drain_unattended(
    project: &Project,
    store: &mut Store,
    lock: Lock,
    listener: &mut Listener<'_>,
) -> Result<Drained> {
    let (_, left) = due(project, store)?;
    let left = left.iter().map(|run| run.seq).collect();
    drain_except(project, store, Goal::Due, lock, left, &Provided::default(), listener)
}

/// Does something that must not happen during a handover, and waits up to `wait` for one that is going on. A process that
/// records a run meanwhile finds the lock held and relies on its owner, so such runs are carried out afterwards. Runs that
/// were unfinished before are left alone.
pub(crate) fn between_runs<T>(
    project: &Project,
    wait: Duration,
    listener: &mut Listener<'_>,
    act: impl FnOnce(&mut Listener<'_>) -> Result<T>,
) -> Result<T> {
    between_runs_with(project, wait, &Provided::default(), listener, act)
}

/// Like [`between_runs`], with what this process provides to the steps.
pub(super) fn between_runs_with<T>(
    project: &Project,
    wait: Duration,
    provided: &Provided<'_>,
    listener: &mut Listener<'_>,
    act: impl FnOnce(&mut Listener<'_>) -> Result<T>,
) -> Result<T> {
    project.prepare()?;
    let mut lock = match wait_for_lock(project, None, wait, &project.brake(), listener)? {
        LockAttempt::Taken(lock) => lock,
        LockAttempt::Stopped(stop) => return Err(stop.error()),
        LockAttempt::Busy(owner) => {
            return Err(busy(owner.as_ref(), "nothing was done; try again when it ends"));
        }
        LockAttempt::Finished => return Err(Error::bug("waited for a run without one")),
    };
    at_once::finish_interrupted(project, listener);
    let before = unfinished(project)?;
    lock.sign("")?;
    let done = act(listener);
    // Others rely on this also if the act failed.
    if let Err(error) = take_new(project, lock, before, provided, listener) {
        listener(Event::Notice {
            text: format!("handovers that were recorded meanwhile are waiting: {}", error.one_line()),
        });
    }
    done
}

fn unfinished(project: &Project) -> Result<Vec<i64>> {
    let Some(store) = Store::read(&project.checkpoint_file())? else { return Ok(Vec::new()) };
    Ok(store.unfinished(DEATHS_TO_PARK)?.into_iter().map(|run| run.seq).collect())
}

/// Carries out what was recorded since `before`, and reports failures: the processes that recorded it have ended.
fn take_new(
    project: &Project,
    lock: Lock,
    before: Vec<i64>,
    provided: &Provided<'_>,
    listener: &mut Listener<'_>,
) -> Result<()> {
    let is_any_new = || Ok::<_, Error>(unfinished(project)?.iter().any(|seq| !before.contains(seq)));
    let mut held = Some(lock);
    if !is_any_new()? {
        drop(held.take());
        // A process that recorded after that look, while the lock was still held, relies on us, too.
        held = if is_any_new()? { Lock::try_take(&project.lock())? } else { None };
    }
    // If another process has the lock by now, the runs are its own to carry out.
    let Some(lock) = held else { return Ok(()) };
    let mut store = Store::open(&project.checkpoint_file())?;
    let notices: Vec<String> = match drain_except(project, &mut store, Goal::Resume, lock, before, provided, listener)?
    {
        Drained::Tried { failures, .. } => failures
            .iter()
            .map(|failure| format!("handover {}: {}", ids::short_run_id(&failure.run), failure.error.one_line()))
            .collect(),
        Drained::Stopped { stop, .. } => vec![format!("a handover waits: {}", stop.error().one_line())],
        Drained::Busy(_) => Vec::new(),
    };
    notices.into_iter().for_each(|text| listener(Event::Notice { text }));
    Ok(())
}

/// Runs what is unfinished, except for the runs in `tried`.
fn drain_except(
    project: &Project,
    store: &mut Store,
    goal: Goal,
    mut lock: Lock,
    mut tried: Vec<i64>,
    provided: &Provided<'_>,
    listener: &mut Listener<'_>,
) -> Result<Drained> {
    let brake = project.brake();
    let mut is_hidden = false;
    let mut waiting = None;
    // The runs that completed, and those that failed, each with its index in `failures`.
    let (mut delivered, mut failed): (Vec<i64>, Vec<(i64, usize)>) = (Vec::new(), Vec::new());
    let mut executed = Vec::new();
    let mut failures = Vec::new();
    loop {
        while let Some(run) = store.unfinished(DEATHS_TO_PARK)?.into_iter().find(|run| !tried.contains(&run.seq)) {
            if let Some(stop) = brake.pressed() {
                return Ok(Drained::Stopped { stop, executed });
            }
            lock.sign(&run.id)?;
            tried.push(run.seq);
            // Commands do not take the lock of the queue, so the process that recorded this one may be carrying it out.
            let relation = match goal {
                Goal::Run(own) if run.seq < own => RunRelation::Older,
                Goal::Run(own) if run.seq > own => RunRelation::Younger,
                _ => RunRelation::Own,
            };
            let _alone = match at_once::claim(project, store, &run) {
                Ok(Claim::NotNeeded) => None,
                Ok(Claim::Held(alone)) => Some(alone),
                Ok(Claim::Finished) => continue,
                Err(error) => {
                    failures.push(RunFailure { run: run.id, relation, error });
                    continue;
                }
            };
            let mut steps = Vec::new();
            let mut runner = Runner { project, store, brake: &brake, provided, listener, is_hidden: &mut is_hidden };
            let end = runner.carry_out(&run, goal == Goal::Resume, &mut steps)?;
            if relation == RunRelation::Own {
                executed.append(&mut steps);
            }
            match end {
                RunEnd::Completed => delivered.push(run.seq),
                RunEnd::Failed(mut error) => {
                    if replan::is_outdated(project, store, &run)? {
                        error = error.hint(format!("the config has other steps now: {REPLAN}"));
                    }
                    failed.push((run.seq, failures.len()));
                    failures.push(RunFailure { run: run.id, relation, error });
                }
                RunEnd::Stopped(stop) => match brake.pressed() {
                    Some(_) => return Ok(Drained::Stopped { stop, executed }),
                    // Only the worktree of that run is paused.
                    None => {
                        listener(Event::Notice { text: format!("a handover waits: {}", stop.error().one_line()) });
                        waiting = Some(stop);
                    }
                },
                RunEnd::Waiting(stop) => waiting = Some(stop),
            }
        }
        // One delivery delivers everything. Runs that failed only at their delivery are tried again, which costs little.
        for (seq, at) in std::mem::take(&mut failed).into_iter().rev() {
            if brake.pressed().is_none() && waits_for_delivery(store, seq, &delivered)? {
                let Some(run) = store.run(seq)? else { continue };
                let mut runner =
                    Runner { project, store, brake: &brake, provided, listener, is_hidden: &mut is_hidden };
                if matches!(runner.carry_out(&run, goal == Goal::Resume, &mut Vec::new())?, RunEnd::Completed) {
                    failures.remove(at);
                }
            }
        }
        delivered.clear();
        if let Err(error) = forget_old_logs(project, store) {
            listener(Event::Notice { text: format!("old logs could not be removed: {}", error.one_line()) });
        }
        fault::at("queue.empty");
        drop(lock);
        // A process that recorded after our last look, and found the lock held, relies on us: look again now that the
        // lock is free. If another process has it by now, the runs are its own to carry out.
        let has_new = store.unfinished(DEATHS_TO_PARK)?.iter().any(|run| !tried.contains(&run.seq));
        lock = match if has_new { Lock::try_take(&project.lock())? } else { None } {
            Some(lock) => lock,
            None => break,
        };
    }
    // Another process may have finished the run before we had the lock.
    match goal.run() {
        Some(seq) if !tried.contains(&seq) => done_by_another(store, goal, failures),
        _ => Ok(Drained::Tried { executed, failures, waiting }),
    }
}

/// Whether the next open step of a run is a delivery, and one of these runs has delivered since.
fn waits_for_delivery(store: &Store, seq: i64, delivered: &[i64]) -> Result<bool> {
    let open = store.steps(seq)?.into_iter().find(|step| !matches!(step.state, StepState::Done | StepState::Skipped));
    if !open.is_some_and(|step| steps::delivers(&step.kind)) {
        return Ok(false);
    }
    for other in delivered {
        if store.steps(*other)?.iter().any(|step| steps::delivers(&step.kind) && step.state == StepState::Done) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Waits until the lock is free, another process has finished the run `own`, the brake is pressed, or the time is up.
pub(super) fn wait_for_lock(
    project: &Project,
    own: Option<(&Store, i64)>,
    wait: Duration,
    brake: &Brake,
    listener: &mut Listener<'_>,
) -> Result<LockAttempt> {
    let start = Instant::now();
    let mut is_reported = false;
    loop {
        if let Some(stop) = brake.pressed() {
            return Ok(LockAttempt::Stopped(stop));
        }
        let lock = Lock::try_take(&project.lock());
        if let Ok(Some(lock)) = lock {
            return Ok(LockAttempt::Taken(lock));
        }
        if let Some((store, seq)) = own
            && store.run(seq)?.is_none_or(|run| run.status != RunStatus::Unfinished)
        {
            return Ok(LockAttempt::Finished);
        }
        // The owner of the lock may have put the directory away after it finished the run, so that is asked first.
        lock?;
        let owner = lock::owner(&project.lock());
        tracing::debug!(?owner, "the lock is held");
        if start.elapsed() >= wait {
            return Ok(LockAttempt::Busy(owner));
        }
        if !std::mem::replace(&mut is_reported, true) {
            listener(Event::Waiting { owner });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The result of a run that another process finished.
fn done_by_another(store: &Store, goal: Goal, mut failures: Vec<RunFailure>) -> Result<Drained> {
    let Some(run) = goal.run().map(|seq| store.run(seq)).transpose()?.flatten() else {
        return Ok(Drained::Tried { executed: Vec::new(), failures, waiting: None });
    };
    let steps = store.steps(run.seq)?;
    let done = steps.iter().filter(|step| step.state == StepState::Done);
    let executed = done.map(|step| step.name.clone()).collect();
    if run.status == RunStatus::Abandoned {
        let error = Error::failed("another process abandoned this handover").hint("run the handover again");
        failures.push(RunFailure { run: run.id, relation: RunRelation::Own, error });
    }
    Ok(Drained::Tried { executed, failures, waiting: None })
}

/// Removes the logs of the oldest runs. Ids of runs sort by time.
fn forget_old_logs(project: &Project, store: &Store) -> Result<()> {
    let logs = project.log_dir();
    let anchor = project.anchor(&project.state);
    let mut names = anchor.names(&logs)?;
    names.retain(|name| ids::is_run_id(name));
    let unfinished = store.unfinished(DEATHS_TO_PARK)?;
    for name in &names[..names.len().saturating_sub(KEPT_LOGS)] {
        if unfinished.iter().all(|run| run.id != *name) {
            anchor.remove_tree(&logs.join(name))?;
        }
    }
    Ok(())
}

/// The error for a lock that another process holds.
pub(crate) fn busy(owner: Option<&Owner>, hint: &str) -> Error {
    Error::new(Category::Busy, lock::describe(owner)).hint(hint)
}
