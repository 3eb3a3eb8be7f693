//! The one way into the engine: record, then run the queue here or in a child.
//!
//! The order of things is what keeps promises, so it is written once:
//!
//! 1. A handover that is to be detached takes the lock before it is recorded. Otherwise another process could find the
//!    run on record without an owner, and take it for one that was left behind.
//! 2. A pressed brake does not stop recording; it only keeps the run from being carried out.
//! 3. What an agent says itself is recorded together with the part of its session that it covers. If its hook was faster,
//!    it is recorded without that part, because what was said must not be lost.
//! 4. The database is closed before a child starts, so that the child inherits no open file but the lock.

use std::time::{Duration, Instant};

use super::abandon;
use super::detach::{ChildTask, NotDetached, detach};
use super::event::{Event, Listener};
use super::leftovers;
use super::own_session::{own_session, session_of_transcript};
use super::queue::{self, Drained, Goal, LockAttempt, drain_locked, drain_with, due};
use super::record::{Attendance, HandOverError, RecordOutcome, Recorded, Request, record, record_part};
use super::replan;
use crate::base::ids;
use crate::base::lock::{self, Lock};
use crate::checkpoint::{Run, Store};
use crate::error::{Error, Result};
use crate::project::Project;
use crate::steps::Provided;

/// What to hand over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task<'r> {
    /// Record this session, and finish what is unfinished.
    Record(&'r Request),
    /// Abandon everything unfinished, then record this session. A damaged database is moved aside.
    Restart(&'r Request),
    /// Record nothing, and finish what is unfinished.
    Resume,
    /// Like `Resume`, with the steps of the present config.
    Replan,
}

/// Who runs the queue once the session is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HowToRun {
    /// How long to wait for another process that runs handovers.
    pub wait: Duration,
    pub carrier: Carrier,
}

/// The process that runs the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    ThisProcess,
    /// A child. This process returns as soon as the child has the lock and a session of its own.
    Child,
    /// A child. This process ends right afterwards.
    Successor,
}

/// What came of a handover.
#[derive(Debug)]
pub(crate) enum HandedOver {
    /// There was nothing to resume, because no handover is on record.
    NothingOnRecord,
    /// Another process has handed over the same part of the session. Nothing was recorded.
    ByAnother,
    /// This process ran the queue.
    Ran {
        /// The run that was recorded for it; `None` after a resume.
        recorded: Option<Recorded>,
        drained: Drained,
    },
    /// The run is recorded, and a child with this process id carries it out, or none could be started.
    Detached { recorded: Recorded, child: Result<u32, NotDetached> },
}

/// Hands over. Progress is reported to `listener` as it becomes durable.
pub(crate) fn hand_over(
    project: &Project,
    task: Task<'_>,
    how: HowToRun,
    listener: &mut Listener<'_>,
) -> Result<HandedOver, HandOverError> {
    hand_over_with(project, task, how, &Provided::default(), listener)
}

/// Records this session for a hook, which has opened the record, and lets a child carry it out.
pub(crate) fn hand_over_to_child(
    project: &Project,
    store: Store,
    request: &Request,
) -> Result<HandedOver, HandOverError> {
    let how = HowToRun { wait: Duration::ZERO, carrier: Carrier::Successor };
    hand_over_in(project, Some(store), Task::Record(request), how, &Provided::default(), &mut |_| ())
}

/// Like [`hand_over`], for a program that provides functions or a backend of its own. A child has neither, so such a
/// handover is not detached.
pub(crate) fn hand_over_with(
    project: &Project,
    task: Task<'_>,
    how: HowToRun,
    provided: &Provided<'_>,
    listener: &mut Listener<'_>,
) -> Result<HandedOver, HandOverError> {
    hand_over_in(project, None, task, how, provided, listener)
}

/// Hands over into the record that the caller opened, or else opens it.
fn hand_over_in(
    project: &Project,
    opened: Option<Store>,
    task: Task<'_>,
    how: HowToRun,
    provided: &Provided<'_>,
    listener: &mut Listener<'_>,
) -> Result<HandedOver, HandOverError> {
    let reopened;
    let mut project = project;
    let (mut store, outcome, lock) = match task {
        Task::Resume | Task::Replan => return Ok(resume(project, task, how.wait, provided, listener)?),
        Task::Record(request) => match record_new(project, opened, request, how) {
            Ok(begun) => begun,
            Err(error) => {
                reopened = leftovers::reopen(project).ok().flatten().ok_or(error)?;
                project = &reopened;
                record_new(project, None, request, how)?
            }
        },
        Task::Restart(request) => restart(project, request, how, listener)?,
    };
    let recorded = match outcome {
        RecordOutcome::Recorded(recorded) => recorded,
        RecordOutcome::AlreadyHandedOver => return Ok(HandedOver::ByAnother),
    };
    listener(Event::Recorded { run: recorded.id.clone(), warnings: recorded.warnings.clone() });
    if how.carrier != Carrier::ThisProcess {
        drop(store);
        let task = match task {
            Task::Record(request) if request.attendance == Attendance::Hook => ChildTask::Due,
            _ => ChildTask::Run(&recorded.id),
        };
        let child = detach(project, &recorded.id, lock, task, how.carrier);
        return Ok(HandedOver::Detached { recorded, child });
    }
    leftovers::bring_home(project, true, listener);
    let goal = Goal::Run(recorded.seq);
    let drained = match lock {
        Some(lock) => drain_locked(project, &mut store, goal, lock, provided, listener),
        None => drain_with(project, &mut store, goal, how.wait, provided, listener),
    };
    let drained = drained.map_err(|error| HandOverError::after_record(error, &recorded.id))?;
    Ok(HandedOver::Ran { recorded: Some(recorded), drained })
}

/// An open database, what came of recording, and the lock if it is held already.
type Begun = (Store, RecordOutcome, Option<Lock>);

fn record_new(
    project: &Project,
    opened: Option<Store>,
    request: &Request,
    how: HowToRun,
) -> Result<Begun, HandOverError> {
    if opened.is_none() {
        project.prepare()?;
    }
    let takes_lock = how.carrier != Carrier::ThisProcess && project.brake().pressed().is_none();
    let lock = if takes_lock { Lock::try_take(&project.lock())? } else { None };
    let mut store = match (opened, request.attendance) {
        (Some(store), _) => store,
        // An agent waits for its hook.
        (None, Attendance::Hook) => Store::open_briefly(&project.checkpoint_file())?,
        (None, Attendance::Attended | Attendance::Detached) => Store::open(&project.checkpoint_file())?,
    };
    let outcome = record_with_session(project, &mut store, request)?;
    Ok((store, outcome, lock))
}

fn restart(
    project: &Project,
    request: &Request,
    how: HowToRun,
    listener: &mut Listener<'_>,
) -> Result<Begun, HandOverError> {
    project.prepare()?;
    let restarted = abandon::restart(project, request, how.wait)?;
    if let Some(path) = restarted.aside {
        listener(Event::MovedAside { path });
    }
    for run in restarted.abandoned {
        listener(Event::Abandoned { run: run.id });
    }
    Ok((restarted.store, restarted.outcome, Some(restarted.lock)))
}

/// Records what an agent says together with the part of its session that this covers, so that its hook does not hand the
/// same part over again.
fn record_with_session(
    project: &Project,
    store: &mut Store,
    request: &Request,
) -> Result<RecordOutcome, HandOverError> {
    let says_something = request.note.is_some() || request.handoff.is_some();
    let own = || says_something.then(|| own_session(store)).flatten();
    let of_transcript = || session_of_transcript(store, request.transcript.as_ref()?);
    let own = if request.handed.is_none() { own().or_else(of_transcript) } else { None };
    if own.is_some() {
        let outcome = record_part(project, store, request, own.as_ref())?;
        if matches!(outcome, RecordOutcome::Recorded(_)) {
            return Ok(outcome);
        }
    }
    record(project, store, request)
}

/// Finishes what is unfinished, with the recorded steps or with those of the present config.
fn resume(
    project: &Project,
    task: Task<'_>,
    wait: Duration,
    provided: &Provided<'_>,
    listener: &mut Listener<'_>,
) -> Result<HandedOver> {
    leftovers::bring_home(project, true, listener);
    if !project.checkpoint_file().is_there() {
        return Ok(HandedOver::NothingOnRecord);
    }
    let mut store = Store::open(&project.checkpoint_file())?;
    let drained = match queue::wait_for_lock(project, None, wait, &project.brake(), listener)? {
        LockAttempt::Taken(lock) => {
            if matches!(task, Task::Replan) {
                replan::replan(project, &mut store, listener)?;
            }
            drain_locked(project, &mut store, Goal::Resume, lock, provided, listener)?
        }
        LockAttempt::Busy(owner) => Drained::Busy(owner),
        LockAttempt::Stopped(stop) => Drained::Stopped { stop, executed: Vec::new() },
        LockAttempt::Finished => return Err(Error::bug("waited for a run without one")),
    };
    Ok(HandedOver::Ran { recorded: None, drained })
}

/// Lets a child finish the runs that are due, and waits for it no longer than `limit`: a push may hang. Returns how many
/// are finished by then.
pub(crate) fn finish_due(project: &Project, store: &Store, runs: &[Run], limit: Duration) -> Result<usize> {
    let id = match runs.first() {
        Some(run) => run.id.clone(),
        None if !leftovers::left_behind(project).is_empty() => ids::new_run_id()?,
        None => return Ok(0),
    };
    let start = Instant::now();
    if let Some(lock) = Lock::try_take(&project.lock())? {
        detach(project, &id, Some(lock), ChildTask::Due, Carrier::Child).map_err(NotDetached::error)?;
    }
    while lock::holder(&project.lock()).is_some() && start.elapsed() < limit {
        std::thread::sleep(Duration::from_millis(2));
    }
    let (still, _) = due(project, store)?;
    Ok(runs.len().saturating_sub(still.len()))
}

/// Starts the child that carries out what is due, and waits for nothing. `None` if another process has the lock or a brake
/// is on.
pub(crate) fn start_child(project: &Project) -> Result<Option<u32>> {
    match detach(project, &ids::new_run_id()?, None, ChildTask::Due, Carrier::Child) {
        Ok(pid) => Ok(Some(pid)),
        Err(NotDetached::Busy(_) | NotDetached::Stopped(_)) => Ok(None),
        Err(NotDetached::Failed(error)) => Err(error),
    }
}
