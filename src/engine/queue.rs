//! The queue: whoever holds the lock runs what is unfinished, oldest first.

use std::fs::File;
use std::time::{Duration, Instant};

use super::event::{Event, Listener};
use super::runner::{RunEnd, Runner};
use crate::base::lock::{self, Lock, Owner};
use crate::base::{fault, fs};
use crate::checkpoint::{RunStatus, StepState, Store};
use crate::error::{Error, Result};
use crate::git;
use crate::guard::{Brake, Stop};
use crate::project::Project;

/// How many runs' logs are kept.
const KEPT_LOGS: usize = 100;

/// What a drain is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// This run, and whatever older is in its way.
    Run(i64),
    /// Everything unfinished, because somebody asked.
    Resume,
}

/// How a drain ended.
#[derive(Debug)]
pub enum Drained {
    /// Everything was tried; these failed.
    Tried {
        executed: Vec<String>,
        failures: Vec<Failure>,
    },
    /// Another process holds the lock and will take what is recorded.
    Busy(Option<Owner>),
    Stopped {
        stop: Stop,
        executed: Vec<String>,
    },
}

#[derive(Debug)]
pub struct Failure {
    pub run: String,
    /// Of the run that the drain was for, rather than of an older one.
    pub mine: bool,
    pub error: Error,
}

enum Lockup {
    Taken(Locks),
    Busy(Option<Owner>),
    Stopped(Stop),
    /// While we waited, the owner finished our run.
    Finished,
}

/// The lock of the checkpoint, and that of the project's files if it is another one.
pub struct Locks {
    own: Lock,
    files: Option<Lock>,
}

impl Locks {
    fn try_take(project: &Project) -> Result<Option<Locks>> {
        let Some(own) = Lock::try_take(&project.lock())? else { return Ok(None) };
        if project.files_lock() == project.lock() {
            return Ok(Some(Locks { own, files: None }));
        }
        Ok(Lock::try_take(&project.files_lock())?.map(|files| Locks { own, files: Some(files) }))
    }

    /// With the checkpoint's lock given to us by the process that recorded; the other one, if any, is still to be taken.
    fn inherited(project: &Project, brake: &Brake) -> Result<Locks> {
        let own = Lock::inherited(&project.lock())?;
        if project.files_lock() == project.lock() {
            return Ok(Locks { own, files: None });
        }
        loop {
            if let Some(files) = Lock::try_take(&project.files_lock())? {
                return Ok(Locks { own, files: Some(files) });
            }
            if let Some(stop) = brake.pressed() {
                return Err(stop.error());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn sign(&mut self, run: &str) -> Result<()> {
        self.own.sign(run)?;
        self.files.as_mut().map_or(Ok(()), |files| files.sign(run))
    }

    fn owner_before_died(&self) -> bool {
        self.own.owner_before_died || self.files.as_ref().is_some_and(|files| files.owner_before_died)
    }
}

/// Takes the lock, waiting up to `wait`.
pub fn take_lock(project: &Project, wait: Duration, brake: &Brake) -> Result<Locks> {
    match wait_for_lock(project, None, wait, brake, &mut |_| ())? {
        Lockup::Taken(locks) => Ok(locks),
        Lockup::Stopped(stop) => Err(stop.error()),
        Lockup::Busy(owner) => Err(super::busy(owner.as_ref(), "try again when it is done")),
        Lockup::Finished => Err(Error::bug("waited for a run without one")),
    }
}

/// Works off what is unfinished, oldest first, waiting up to `wait` for whoever is at it.
pub fn drain(
    project: &Project,
    store: &mut Store,
    goal: Goal,
    wait: Duration,
    listener: &mut Listener<'_>,
) -> Result<Drained> {
    let brake = project.brake();
    if let Some(stop) = brake.pressed() {
        return Ok(Drained::Stopped { stop, executed: Vec::new() });
    }
    let mine = match goal {
        Goal::Run(seq) => Some(seq),
        Goal::Resume => None,
    };
    match wait_for_lock(project, mine.map(|seq| (&*store, seq)), wait, &brake, listener)? {
        Lockup::Taken(locks) => work_off(project, store, goal, locks, listener),
        Lockup::Busy(owner) => Ok(Drained::Busy(owner)),
        Lockup::Stopped(stop) => Ok(Drained::Stopped { stop, executed: Vec::new() }),
        Lockup::Finished => done_by_another(store, mine),
    }
}

/// The same for the child of a detached run, which was given the lock.
pub fn drain_inherited(project: &Project, store: &mut Store, run: i64, listener: &mut Listener<'_>) -> Result<Drained> {
    let locks = Locks::inherited(project, &project.brake())?;
    work_off(project, store, Goal::Run(run), locks, listener)
}

fn work_off(
    project: &Project,
    store: &mut Store,
    goal: Goal,
    mut locks: Locks,
    listener: &mut Listener<'_>,
) -> Result<Drained> {
    let brake = project.brake();
    let mine = match goal {
        Goal::Run(seq) => Some(seq),
        Goal::Resume => None,
    };
    if let Some(stop) = brake.pressed() {
        return Ok(Drained::Stopped { stop, executed: Vec::new() });
    }
    let mut tried: Vec<i64> = Vec::new();
    let mut executed = Vec::new();
    let mut failures = Vec::new();
    loop {
        let after_death = locks.owner_before_died();
        if after_death {
            fs::sweep_temporaries(&project.state, fs::Depth::Tree)?;
        }
        while let Some(run) = store.unfinished()?.into_iter().find(|run| !tried.contains(&run.seq)) {
            if tried.is_empty() {
                locks.sign(&run.id)?;
                keep_out_of_git(project, listener);
            }
            tried.push(run.seq);
            let is_mine = mine.is_none_or(|mine| mine == run.seq);
            let mut steps = Vec::new();
            let mut runner = Runner { project, store, brake: &brake, listener, after_death };
            let end = runner.carry_out(&run, goal == Goal::Resume, &mut steps)?;
            if is_mine {
                executed.append(&mut steps);
            }
            match end {
                RunEnd::Completed => {}
                RunEnd::Failed(error) => failures.push(Failure { run: run.id, mine: is_mine, error }),
                RunEnd::Stopped(stop) => return Ok(Drained::Stopped { stop, executed }),
            }
        }
        forget_old_logs(project, store)?;
        fault::at("queue.empty");
        drop(locks);
        // Who recorded after our last look and then found the lock held was told that we would take it: look again
        // now that the lock is free. If somebody else has it by now, it is theirs.
        let waiting = store.unfinished()?.iter().any(|run| !tried.contains(&run.seq));
        locks = match if waiting { Locks::try_take(project)? } else { None } {
            Some(locks) => locks,
            None => break,
        };
    }
    // A run that another process finished before we had the lock was never tried here.
    match mine {
        Some(seq) if !tried.contains(&seq) => done_by_another(store, mine),
        _ => Ok(Drained::Tried { executed, failures }),
    }
}

/// The checkpoint's lock, to be handed over to a child; `None` if somebody holds it.
pub fn take_to_hand_over(project: &Project, run: &str) -> Result<Option<File>> {
    // A reader may hold it for the length of a system call.
    for pause in [0, 1, 2, 4] {
        std::thread::sleep(Duration::from_millis(pause));
        if let Some(mut lock) = Lock::try_take(&project.lock())? {
            if lock.owner_before_died {
                fs::sweep_temporaries(&project.state, fs::Depth::Tree)?;
            }
            lock.sign(run)?;
            return lock.hand_over().map(Some);
        }
    }
    Ok(None)
}

fn wait_for_lock(
    project: &Project,
    mine: Option<(&Store, i64)>,
    wait: Duration,
    brake: &Brake,
    listener: &mut Listener<'_>,
) -> Result<Lockup> {
    // A reader may hold the lock for the length of a system call; that is not somebody running.
    const GLANCES: u32 = 5;
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    let mut tries = 0;
    loop {
        if let Some(locks) = Locks::try_take(project)? {
            return Ok(Lockup::Taken(locks));
        }
        tries += 1;
        if let Some(stop) = brake.pressed() {
            return Ok(Lockup::Stopped(stop));
        }
        if let Some((store, seq)) = mine
            && store.run(seq)?.is_none_or(|run| run.status != RunStatus::Unfinished)
        {
            return Ok(Lockup::Finished);
        }
        if tries >= GLANCES && start.elapsed() >= wait {
            return Ok(Lockup::Busy(owner(project)));
        }
        if tries == GLANCES {
            listener(Event::Waiting { owner: owner(project) });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

pub fn owner(project: &Project) -> Option<Owner> {
    lock::owner(&project.lock()).or_else(|| lock::owner(&project.files_lock()))
}

/// If another process finished my run, its result is mine.
fn done_by_another(store: &Store, mine: Option<i64>) -> Result<Drained> {
    let Some(run) = mine.map(|seq| store.run(seq)).transpose()?.flatten() else {
        return Ok(Drained::Tried { executed: Vec::new(), failures: Vec::new() });
    };
    let steps = store.steps(run.seq)?;
    let done = steps.iter().filter(|step| step.state == StepState::Done);
    let executed = done.map(|step| step.name.clone()).collect();
    let mut failures = Vec::new();
    if run.status == RunStatus::Abandoned {
        let error = Error::failed("another process gave this handover up").hint("run the handover again");
        failures.push(Failure { run: run.id, mine: true, error });
    }
    Ok(Drained::Tried { executed, failures })
}

/// The logs of runs from long ago go; names of runs sort by time.
fn forget_old_logs(project: &Project, store: &Store) -> Result<()> {
    let logs = project.log_dir();
    let unfinished = store.unfinished()?;
    let names = fs::names(&logs)?;
    for name in &names[..names.len().saturating_sub(KEPT_LOGS)] {
        if unfinished.iter().all(|run| run.id != *name) {
            fs::remove_tree(&logs.join(name))?;
        }
    }
    Ok(())
}

/// Our directories do not show up in `git status`. Failing at that is no reason to fail the handover.
fn keep_out_of_git(project: &Project, listener: &mut Listener<'_>) {
    let config = &project.config;
    // What is published on a branch of the user's belongs in their status.
    if config.backend.as_ref().is_some_and(|backend| backend.kind == crate::config::BackendKind::Git)
        || git::top_level(&project.root).is_none()
    {
        return;
    }
    let directories: Result<Vec<_>> = [&config.memory_dir, &config.history_dir]
        .into_iter()
        .map(|text| crate::project::place(&project.root, text))
        .collect();
    match directories.and_then(|directories| git::keep_out(&project.root, &directories)) {
        Ok(added) if added.is_empty() => {}
        Ok(added) => listener(Event::Notice {
            text: format!("keeping {} out of `git status` (in git's info/exclude)", added.join(" and ")),
        }),
        Err(error) => listener(Event::Notice {
            text: format!("the memory directories will show up in `git status`: {}", error.one_line()),
        }),
    }
}
