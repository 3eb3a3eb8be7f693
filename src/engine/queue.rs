//! The queue: whoever holds the lock runs what is unfinished, oldest first.

use std::time::{Duration, Instant};

use super::event::{Event, Listener};
use super::plan::Plan;
use super::resume::DEATHS_TO_PARK;
use super::runner::{RunEnd, Runner};
use crate::base::lock::{self, Lock, Owner};
use crate::base::{fault, fs, ids};
use crate::checkpoint::{Run, RunStatus, StepState, Store};
use crate::error::{Error, Result};
use crate::guard::{Brake, Stop};
use crate::project::Project;
use crate::publish::UnreachableRemotes;

/// How many runs' logs are kept.
const KEPT_LOGS: usize = 100;

/// What a drain is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// This run, and whatever older is in its way.
    Run(i64),
    /// Everything unfinished, because somebody asked.
    Resume,
    /// What is unfinished, although nobody asked.
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

/// How a drain ended.
#[derive(Debug)]
pub enum Drained {
    /// Everything was tried; these failed.
    Tried { executed: Vec<String>, failures: Vec<Failure> },
    /// Another process holds the lock and will take what is recorded.
    Busy(Option<Owner>),
    /// Nothing more may be done for now.
    Stopped { stop: Stop, executed: Vec<String> },
}

#[derive(Debug)]
pub struct Failure {
    pub run: String,
    pub whose: Whose,
    pub error: Error,
}

/// A run as seen from the one that the drain was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Older,
    Mine,
    /// Recorded by somebody else meanwhile, who will hear of it themselves.
    Younger,
}

pub enum LockAttempt {
    Taken(Lock),
    Busy(Option<Owner>),
    Stopped(Stop),
    /// While we waited, the owner finished our run.
    Finished,
}

/// Works off what is unfinished, oldest first, waiting up to `wait` for whoever is at it.
pub fn drain(
    project: &Project,
    store: &mut Store,
    goal: Goal,
    wait: Duration,
    listener: &mut Listener<'_>,
) -> Result<Drained> {
    drain_sharing(project, store, goal, wait, &UnreachableRemotes::default(), listener)
}

/// Like `drain`, for a command that reaches remotes elsewhere, too: one that did not answer is not asked again.
pub fn drain_sharing(
    project: &Project,
    store: &mut Store,
    goal: Goal,
    wait: Duration,
    unreachable: &UnreachableRemotes,
    listener: &mut Listener<'_>,
) -> Result<Drained> {
    let mine = goal.run().map(|seq| (&*store, seq));
    match wait_for_lock(project, mine, wait, &project.brake(), listener)? {
        LockAttempt::Taken(lock) => drain_except(project, store, goal, lock, Vec::new(), unreachable, listener),
        LockAttempt::Busy(owner) => Ok(Drained::Busy(owner)),
        LockAttempt::Stopped(stop) => Ok(Drained::Stopped { stop, executed: Vec::new() }),
        LockAttempt::Finished => done_by_another(store, goal, Vec::new()),
    }
}

/// The same for who has the lock already.
pub fn drain_locked(
    project: &Project,
    store: &mut Store,
    goal: Goal,
    lock: Lock,
    listener: &mut Listener<'_>,
) -> Result<Drained> {
    drain_except(project, store, goal, lock, Vec::new(), &UnreachableRemotes::default(), listener)
}

/// What is unfinished and may be carried out although nobody asked, and what may not.
pub fn due(project: &Project, store: &Store) -> Result<(Vec<Run>, Vec<Run>)> {
    let may_run = |run: &Run| {
        let plan = store.plan_and_inputs(run.seq).and_then(|(plan, _)| Plan::from_json(&plan));
        plan.is_ok_and(|plan| plan.may_run_by_itself(&project.config))
    };
    Ok(store.unfinished(DEATHS_TO_PARK)?.into_iter().partition(may_run))
}

/// Works off what is due, for nobody in particular. What would need consent is left for who can give it.
pub fn drain_unattended(
    project: &Project,
    store: &mut Store,
    lock: Lock,
    listener: &mut Listener<'_>,
) -> Result<Drained> {
    let (_, left) = due(project, store)?;
    let left = left.iter().map(|run| run.seq).collect();
    drain_except(project, store, Goal::Due, lock, left, &UnreachableRemotes::default(), listener)
}

/// Does something that must not happen during a handover, waiting up to `wait` for one that is going on. Who recorded a
/// run meanwhile was told that it would be taken, so it is; what was unfinished before is left alone.
pub fn between_runs<T>(
    project: &Project,
    wait: Duration,
    listener: &mut Listener<'_>,
    act: impl FnOnce(&mut Listener<'_>) -> Result<T>,
) -> Result<T> {
    between_runs_sharing(project, wait, &UnreachableRemotes::default(), listener, act)
}

/// Like `between_runs`, for an act that reaches remotes: one that did not answer is not asked again.
pub fn between_runs_sharing<T>(
    project: &Project,
    wait: Duration,
    unreachable: &UnreachableRemotes,
    listener: &mut Listener<'_>,
    act: impl FnOnce(&mut Listener<'_>) -> Result<T>,
) -> Result<T> {
    project.prepare()?;
    let mut lock = match wait_for_lock(project, None, wait, &project.brake(), listener)? {
        LockAttempt::Taken(lock) => lock,
        LockAttempt::Stopped(stop) => return Err(stop.error()),
        LockAttempt::Busy(owner) => {
            return Err(super::busy(owner.as_ref(), "nothing was done; try again when it ends"));
        }
        LockAttempt::Finished => return Err(Error::bug("waited for a run without one")),
    };
    let before = unfinished(project)?;
    lock.sign("")?;
    let done = act(listener);
    // Whoever was told so relies on it, whatever became of the act.
    if let Err(error) = take_new(project, lock, before, unreachable, listener) {
        listener(Event::Notice { text: format!("what was recorded meanwhile waits: {}", error.one_line()) });
    }
    done
}

fn unfinished(project: &Project) -> Result<Vec<i64>> {
    let Some(store) = Store::read(&project.checkpoint)? else { return Ok(Vec::new()) };
    Ok(store.unfinished(DEATHS_TO_PARK)?.into_iter().map(|run| run.seq).collect())
}

/// Takes what was recorded since, and tells what became of it: who recorded it is not there any more.
fn take_new(
    project: &Project,
    lock: Lock,
    before: Vec<i64>,
    unreachable: &UnreachableRemotes,
    listener: &mut Listener<'_>,
) -> Result<()> {
    let is_any_new = || Ok::<_, Error>(unfinished(project)?.iter().any(|seq| !before.contains(seq)));
    let mut held = Some(lock);
    if !is_any_new()? {
        drop(held.take());
        // Who recorded after that look and before the lock was free relies on us, too.
        held = if is_any_new()? { Lock::try_take(&project.lock())? } else { None };
    }
    // If somebody else has the lock by now, it is theirs.
    let Some(lock) = held else { return Ok(()) };
    let mut store = Store::open(&project.checkpoint)?;
    let told: Vec<String> = match drain_except(project, &mut store, Goal::Resume, lock, before, unreachable, listener)?
    {
        Drained::Tried { failures, .. } => {
            failures.iter().map(|failure| format!("handover {}: {}", failure.run, failure.error.one_line())).collect()
        }
        Drained::Stopped { stop, .. } => vec![format!("a handover waits: {}", stop.error().one_line())],
        Drained::Busy(_) => Vec::new(),
    };
    told.into_iter().for_each(|text| listener(Event::Notice { text }));
    Ok(())
}

fn drain_except(
    project: &Project,
    store: &mut Store,
    goal: Goal,
    mut lock: Lock,
    mut tried: Vec<i64>,
    unreachable: &UnreachableRemotes,
    listener: &mut Listener<'_>,
) -> Result<Drained> {
    let brake = project.brake();
    let mut is_first = true;
    // Runs that completed, and those that did not, each with its place among the failures.
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
            let whose = match goal {
                Goal::Run(mine) if run.seq < mine => Whose::Older,
                Goal::Run(mine) if run.seq > mine => Whose::Younger,
                _ => Whose::Mine,
            };
            let mut steps = Vec::new();
            let mut runner = Runner { project, store, brake: &brake, unreachable, listener, is_first };
            is_first = false;
            let end = runner.carry_out(&run, goal == Goal::Resume, &mut steps)?;
            if whose == Whose::Mine {
                executed.append(&mut steps);
            }
            match end {
                RunEnd::Completed => delivered.push(run.seq),
                RunEnd::Failed(error) => {
                    failed.push((run.seq, failures.len()));
                    failures.push(Failure { run: run.id, whose, error });
                }
                RunEnd::Stopped(stop) => return Ok(Drained::Stopped { stop, executed }),
            }
        }
        // One delivery settles every other to the same place: who only waits for that is asked again, which costs a look.
        for (seq, at) in std::mem::take(&mut failed).into_iter().rev() {
            if brake.pressed().is_none() && waits_for_delivery(store, seq, &delivered)? {
                let Some(run) = store.run(seq)? else { continue };
                let mut runner = Runner { project, store, brake: &brake, unreachable, listener, is_first: false };
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
        // Who recorded after our last look and then found the lock held was told that we would take it: look again
        // now that the lock is free. If somebody else has it by now, it is theirs.
        let waiting = store.unfinished(DEATHS_TO_PARK)?.iter().any(|run| !tried.contains(&run.seq));
        lock = match if waiting { Lock::try_take(&project.lock())? } else { None } {
            Some(lock) => lock,
            None => break,
        };
    }
    // A run that another process finished before we had the lock was never tried here.
    match goal.run() {
        Some(seq) if !tried.contains(&seq) => done_by_another(store, goal, failures),
        _ => Ok(Drained::Tried { executed, failures }),
    }
}

/// Whether all that a run still lacks is a delivery that one of these runs has made since.
fn waits_for_delivery(store: &Store, seq: i64, delivered: &[i64]) -> Result<bool> {
    let open = store.steps(seq)?.into_iter().find(|step| !matches!(step.state, StepState::Done | StepState::Skipped));
    if open.is_none_or(|step| step.kind != "publish") {
        return Ok(false);
    }
    for other in delivered {
        if store.steps(*other)?.iter().any(|step| step.kind == "publish" && step.state == StepState::Done) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Waits until the lock is ours, our run is finished by another, the brake is pressed, or the time is up.
pub fn wait_for_lock(
    project: &Project,
    mine: Option<(&Store, i64)>,
    wait: Duration,
    brake: &Brake,
    listener: &mut Listener<'_>,
) -> Result<LockAttempt> {
    let start = Instant::now();
    let mut told = false;
    loop {
        if let Some(stop) = brake.pressed() {
            return Ok(LockAttempt::Stopped(stop));
        }
        if let Some(lock) = Lock::try_take(&project.lock())? {
            return Ok(LockAttempt::Taken(lock));
        }
        if let Some((store, seq)) = mine
            && store.run(seq)?.is_none_or(|run| run.status != RunStatus::Unfinished)
        {
            return Ok(LockAttempt::Finished);
        }
        let owner = lock::owner(&project.lock());
        tracing::debug!(?owner, "the lock is held");
        if start.elapsed() >= wait {
            return Ok(LockAttempt::Busy(owner));
        }
        if !std::mem::replace(&mut told, true) {
            listener(Event::Waiting { owner });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// If another process finished my run, its result is mine.
fn done_by_another(store: &Store, goal: Goal, mut failures: Vec<Failure>) -> Result<Drained> {
    let Some(run) = goal.run().map(|seq| store.run(seq)).transpose()?.flatten() else {
        return Ok(Drained::Tried { executed: Vec::new(), failures });
    };
    let steps = store.steps(run.seq)?;
    let done = steps.iter().filter(|step| step.state == StepState::Done);
    let executed = done.map(|step| step.name.clone()).collect();
    if run.status == RunStatus::Abandoned {
        let error = Error::failed("another process gave this handover up").hint("run the handover again");
        failures.push(Failure { run: run.id, whose: Whose::Mine, error });
    }
    Ok(Drained::Tried { executed, failures })
}

/// The logs of runs from long ago go; ids of runs sort by time.
fn forget_old_logs(project: &Project, store: &Store) -> Result<()> {
    let logs = project.log_dir();
    let mut names = fs::names(&logs)?;
    names.retain(|name| ids::is_run_id(name));
    let unfinished = store.unfinished(DEATHS_TO_PARK)?;
    for name in &names[..names.len().saturating_sub(KEPT_LOGS)] {
        if unfinished.iter().all(|run| run.id != *name) {
            fs::remove_tree(&logs.join(name))?;
        }
    }
    Ok(())
}
