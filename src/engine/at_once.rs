//! A command that changes several files is carried out at once: all of it, or nothing.
//!
//! 1. The command is recorded as a run of one step that has begun, in one transaction.
//! 2. It changes the files.
//! 3. Its record is removed.
//!
//! If the process is killed in between, the record stays. The next command of ours that changes something carries it out
//! first, as a resume carries out every interrupted step. A kill before the record leaves nothing.
//!
//! The process of a record is alive as long as it holds the lock of the state directory. The lock of the queue is not
//! taken: `memory add` does not wait for a handover that pushes.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::{DateTime, FixedOffset};

use super::before_run;
use super::defer::{self, Deferral, title};
use super::event::{Event, Listener};
use super::plan::{AtOnce, Plan};
use super::record::Prepared;
use super::resume::DEATHS_TO_PARK;
use super::runner::{RunEnd, Runner};
use crate::base::fs::{Anchor, DirectoryLock};
use crate::base::{clock, ids};
use crate::checkpoint::{Next, RecordedStep, Run, RunStatus, StepState, Store};
use crate::error::{Category, Result};
use crate::history::History;
use crate::memory::Memory;
use crate::project::{self, Project};
use crate::steps::{self, Provided};

/// A command that is being carried out.
pub(crate) struct Issued {
    /// The run that its changes name.
    pub run: String,
    pub at: DateTime<FixedOffset>,
    memory: Watched,
    history: Watched,
    /// Part of the command failed after it had changed the memory.
    is_left: bool,
}

impl Issued {
    /// A command of which no record is kept.
    pub(crate) fn unrecorded() -> Result<Issued> {
        Ok(Issued::new(ids::new_run_id()?, clock::now()))
    }

    fn new(run: String, at: DateTime<FixedOffset>) -> Issued {
        Issued { run, at, memory: Watched::default(), history: Watched::default(), is_left: false }
    }

    /// Reports that the part of the command that changes the memory failed, although the command as a whole did not. If the
    /// memory changed in part, the next command finishes it.
    pub(crate) fn memory_failed(&mut self) {
        self.is_left |= self.memory.has_changed();
    }
}

/// Whether a handover was completed in this project.
pub(crate) fn had_handover(project: &Project) -> bool {
    let store = Store::read(&project.checkpoint_file());
    store.is_ok_and(|store| store.is_some_and(|store| store.latest_completed().is_ok_and(|run| run.is_some())))
}

/// Carries out a command, and leaves no half of it if the process is killed. `act` makes the same changes as the step of
/// the deferral does. What was interrupted earlier is finished first and reported to `listener`.
///
/// If nothing can be recorded, the command is carried out all the same: a state directory that cannot be written must not
/// keep a person from changing the memory.
pub(crate) fn carry_out_at_once<T>(
    project: &Project,
    deferral: Deferral<'_>,
    listener: &mut Listener<'_>,
    act: impl FnOnce(&mut Issued) -> Result<T>,
) -> Result<T> {
    let begun = deferral.step.intent().map(ToString::to_string);
    let prepared = defer::prepare(project, deferral).map(|prepared| Prepared { begun, ..prepared });
    let mut issued = match &prepared {
        Ok(prepared) => Issued::new(prepared.session.run.clone(), prepared.session.at),
        Err(_) => Issued::unrecorded()?,
    };
    let record = match prepared.and_then(|prepared| begin(project, prepared, listener)) {
        Ok((record, memory, history)) => {
            (issued.memory, issued.history) = (memory, history);
            record
        }
        Err(error) => {
            tracing::debug!(error = error.one_line(), "carried out without a record");
            return act(&mut issued);
        }
    };
    let done = act(&mut issued);
    if issued.is_left || done.is_err() && (issued.memory.has_changed() || issued.history.has_changed()) {
        return done.map_err(|error| {
            error.follow(&format!("; the rest is recorded as {}", ids::short_run_id(&issued.run))).hint(
                "fix this, then the next command that changes something finishes it, as does `agent-handover run --resume`",
            )
        });
    }
    if let Err(error) = record.remove() {
        // The next command finds everything done.
        tracing::debug!(error = error.one_line(), "the record of a command that is done stays");
    }
    if done.is_ok()
        && (issued.memory.has_changed() || issued.history.has_changed())
        && let Err(error) = before_run::keep(project, &issued.run, issued.at)
        // A handover that is going on delivers what is there.
        && !matches!(error.category(), Category::Busy)
    {
        let text = format!(
            "this is only in the files until `agent-handover push`, and git may reset them: {}",
            error.one_line()
        );
        listener(Event::Notice { text });
    }
    done
}

/// The record of a command, while its process lives.
struct Record {
    store: Store,
    seq: i64,
    /// Held until the record is gone.
    _alone: DirectoryLock,
}

impl Record {
    fn remove(mut self) -> Result<()> {
        self.store.advance(self.seq, &[], Next::Forget)
    }
}

/// Records a command, after finishing those that were interrupted before it. Returns how the memory and the history are
/// before the command changes them, too.
fn begin(project: &Project, mut prepared: Prepared, listener: &mut Listener<'_>) -> Result<(Record, Watched, Watched)> {
    project.prepare()?;
    let alone = lock(project)?;
    let mut store = Store::open(&project.checkpoint_file())?;
    finish(project, &mut store, listener)?;
    let (root, session) = (&project.memory_root, &prepared.session);
    let directories = [&prepared.plan.memory_dir, &prepared.plan.history_dir].map(|place| project::place(root, place));
    let [memory_dir, history_dir] = directories;
    let (memory_dir, history_dir) = (memory_dir?, history_dir?);
    let memory = Memory::at(root, memory_dir.clone());
    let notes = memory.note_path(&session.tag, session.at.date_naive());
    let watched_memory = Watched::new(project.anchor(&memory_dir), vec![memory.state_path(), notes]);
    let history = History::at(root, history_dir.clone());
    let watched_history = Watched::new(project.anchor(&history_dir), history.changing_files());
    prepared.plan.at_once = Some(AtOnce { newest: memory.state()?.newest().to_owned() });
    let recorded = defer::record_in(&mut store, prepared)?;
    Ok((Record { store, seq: recorded.seq, _alone: alone }, watched_memory, watched_history))
}

/// Finishes the commands whose processes were killed. A failure is reported, and nothing else is held up by it.
pub(crate) fn finish_interrupted(project: &Project, listener: &mut Listener<'_>) {
    let mut finish_all = || -> Result<()> {
        let Some(store) = Store::read(&project.checkpoint_file())? else { return Ok(()) };
        if interrupted(&store)?.is_empty() {
            return Ok(());
        }
        drop(store);
        let _alone = lock(project)?;
        finish(project, &mut Store::open(&project.checkpoint_file())?, listener)
    };
    if let Err(error) = finish_all() {
        tracing::debug!(error = error.one_line(), "interrupted commands wait");
    }
}

/// Whether a command has begun to change files and is not finished.
pub(crate) fn has_unfinished_command(project: &Project) -> bool {
    let is_unfinished = || -> Result<bool> {
        let Some(store) = Store::read(&project.checkpoint_file())? else { return Ok(false) };
        Ok(!interrupted(&store)?.is_empty())
    };
    is_unfinished().unwrap_or(false)
}

/// Finishes the commands whose processes were killed, in their order. The caller holds the lock of the commands.
fn finish(project: &Project, store: &mut Store, listener: &mut Listener<'_>) -> Result<()> {
    let brake = project.brake();
    for run in interrupted(store)? {
        if brake.pressed().is_some() {
            return Ok(());
        }
        let title = title(store, &run)?;
        let provided = Provided::default();
        let mut quiet = |event: Event| {
            if matches!(event, Event::Notice { .. }) {
                listener(event);
            }
        };
        let mut runner =
            Runner { project, store, brake: &brake, provided: &provided, listener: &mut quiet, is_hidden: &mut false };
        let text = match runner.carry_out(&run, false, &mut Vec::new())? {
            RunEnd::Completed => format!("finished {title}, which was interrupted"),
            RunEnd::Failed(error) => format!("{title} was interrupted and is not finished: {}", error.one_line()),
            RunEnd::Stopped(stop) | RunEnd::Waiting(stop) => format!("{title} waits: {}", stop.error().one_line()),
        };
        listener(Event::Notice { text });
    }
    Ok(())
}

/// Waits until no other process carries out a command here.
fn lock(project: &Project) -> Result<DirectoryLock> {
    project.anchor(&project.state).lock_directory(&project.state)
}

/// The commands that have begun and are not finished, oldest first: each was interrupted, or its process is alive. Those
/// during which a process died too often are left to a person.
fn interrupted(store: &Store) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for run in store.unfinished(DEATHS_TO_PARK)? {
        if has_begun(store, &run)?.is_some_and(|step| step.deaths + 1 < DEATHS_TO_PARK) {
            runs.push(run);
        }
    }
    runs.sort_by_key(|run| run.seq);
    Ok(runs)
}

/// The step of a command that has begun; `None` for a handover, and for a command that waits since a pause.
fn has_begun(store: &Store, run: &Run) -> Result<Option<RecordedStep>> {
    let Some(step) = command_step(store, run)? else { return Ok(None) };
    let is_at_once = || -> Result<bool> {
        let plan = store.plan(run.seq)?.map(|plan| Plan::from_json(&plan));
        Ok(plan.is_some_and(|plan| plan.is_ok_and(|plan| plan.at_once.is_some())))
    };
    Ok((step.state == StepState::Intended || is_at_once()?).then_some(step))
}

fn command_step(store: &Store, run: &Run) -> Result<Option<RecordedStep>> {
    Ok(store.steps(run.seq)?.into_iter().next().filter(|step| steps::is_deferred(&step.kind)))
}

/// Whether a process that runs the queue may carry out a run.
pub(super) enum Claim {
    /// It is not a command.
    NotNeeded,
    /// It is a command that no other process carries out as long as this is held.
    Held(DirectoryLock),
    /// Another process finished the command meanwhile.
    Finished,
}

/// Waits until no other process carries out this run, if it is a command.
pub(super) fn claim(project: &Project, store: &Store, run: &Run) -> Result<Claim> {
    if command_step(store, run)?.is_none() {
        // A command that is done leaves no record.
        return Ok(if store.run(run.seq)?.is_some() { Claim::NotNeeded } else { Claim::Finished });
    }
    let alone = lock(project)?;
    let is_unfinished = store.run(run.seq)?.is_some_and(|run| run.status == RunStatus::Unfinished);
    Ok(if is_unfinished { Claim::Held(alone) } else { Claim::Finished })
}

/// The unfinished runs in the order of the queue, without commands that other processes carry out at this moment.
pub(crate) fn waiting(project: &Project, store: &Store) -> Result<Vec<Run>> {
    let is_begun = |run: &Run| has_begun(store, run).map(|step| step.is_some());
    let runs = store.unfinished(DEATHS_TO_PARK)?;
    if !runs.iter().map(is_begun).collect::<Result<Vec<_>>>()?.contains(&true) {
        return Ok(runs);
    }
    let is_busy = project.anchor(&project.state).is_directory_locked(&project.state);
    // A command may have ended between the two questions.
    let mut waiting = Vec::new();
    for run in store.unfinished(DEATHS_TO_PARK)? {
        if !is_busy || !is_begun(&run)? {
            waiting.push(run);
        }
    }
    Ok(waiting)
}

/// Files, and how they were.
#[derive(Default)]
struct Watched {
    files: Vec<WatchedFile>,
}

struct WatchedFile {
    anchor: Anchor,
    path: PathBuf,
    before: Option<(SystemTime, u64)>,
}

impl Watched {
    fn new(anchor: Anchor, paths: Vec<PathBuf>) -> Watched {
        let files = paths.into_iter().map(|path| {
            let before = time_and_length(&anchor, &path);
            WatchedFile { anchor: anchor.clone(), path, before }
        });
        Watched { files: files.collect() }
    }

    fn has_changed(&self) -> bool {
        self.files.iter().any(|file| time_and_length(&file.anchor, &file.path) != file.before)
    }
}

fn time_and_length(anchor: &Anchor, path: &Path) -> Option<(SystemTime, u64)> {
    let about = anchor.about(path).ok().flatten()?;
    Some((about.modified, about.length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::CheckpointFile;
    use crate::config::Vocabulary;
    use crate::project::Options;

    /// A process lists what is unfinished, and only then looks at each run. A command may end in between.
    #[test]
    fn a_command_whose_record_is_gone_was_finished_by_another_process() {
        let directory = crate::base::scratch::directory();
        let vocabulary = Vocabulary { kinds: Vec::new(), backends: Vec::new() };
        let project = Project::open(directory.path(), &Options::default(), &vocabulary).unwrap();
        let store = Store::open(&CheckpointFile::beside(&directory.path().join("c.db"))).unwrap();
        let gone = Run {
            seq: 7,
            id: "gone".to_owned(),
            status: RunStatus::Unfinished,
            recorded_at: String::new(),
            finished_at: None,
            agent: String::new(),
            tag: String::new(),
            head: None,
            worktree: String::new(),
            branch: String::new(),
        };
        assert!(matches!(claim(&project, &store, &gone), Ok(Claim::Finished)));
        assert!(has_begun(&store, &gone).unwrap().is_none());
        assert_eq!(store.plan(gone.seq).unwrap(), None);
    }
}
