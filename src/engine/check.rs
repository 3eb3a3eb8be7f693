//! Whether a handover was interrupted. Asked at every session start, so it reads no more than a row.

use super::at_once::waiting;
use super::defer::{deferred_command, title};
use super::leftovers::unmerged;
use super::replan::{REPLAN, is_outdated};
use crate::base::ids::short_run_id;
use crate::base::lock;
use crate::checkpoint::python::PythonState;
use crate::checkpoint::{Run, RunStatus, Store};
use crate::error::Result;
use crate::guard::Pause;
use crate::project::Project;
use crate::steps;

/// The answer of `check`.
pub(crate) struct Checked {
    /// The exit code: 0 none on record, 1 interrupted, 2 completed, 4 running.
    pub code: u8,
    pub state: &'static str,
    pub run: Option<String>,
    /// One line for a person.
    pub line: String,
    /// When the handover completed; empty for any other answer.
    pub at: String,
    /// What keeps handovers from going on.
    pub paused: Option<Pause>,
}

/// What keeps a run from going on: a PAUSE file of this project, or of the worktree in which the session ran.
pub(crate) fn pause_of(project: &Project, run: Option<&Run>) -> Option<Pause> {
    let of_worktree = |run: &Run| {
        let is_elsewhere = run.status == RunStatus::Unfinished && run.worktree != project.worktree();
        is_elsewhere.then(|| project.seen_from(&run.worktree, "", &steps::vocabulary()).brake().paused()).flatten()
    };
    project.brake().paused().or_else(|| run.and_then(of_worktree))
}

/// Asks the checkpoint. Writes nothing and waits for nobody.
pub(crate) fn check(project: &Project) -> Result<Checked> {
    let store = Store::read(&project.checkpoint_file())?;
    if let Some(store) = &store
        && let Some(answer) = of_unfinished(project, store)?
    {
        return Ok(answer);
    }
    let left = unmerged(project).and_then(|left| Some((left.unfinished?, left.place)));
    if let Some((run, place)) = left {
        let id = short_run_id(&run);
        let line = format!("interrupted: handover {id} is unfinished {place}; run `agent-handover run --resume`");
        let paused = project.brake().paused();
        return Ok(Checked { code: 1, state: "interrupted", run: Some(run), line, at: String::new(), paused });
    }
    let Some(store) = store else { return of_python(project) };
    match store.latest_completed()? {
        Some(run) => {
            let at = run.finished_at.clone().unwrap_or_default();
            let line = format!("completed: {}", title(&store, &run)?);
            Ok(Checked { code: 2, state: "completed", run: Some(run.id), line, at, paused: project.brake().paused() })
        }
        None => of_python(project),
    }
}

/// The oldest run that is unfinished and not just being carried out by the command that recorded it.
fn oldest_waiting(project: &Project, store: &Store) -> Result<Option<Run>> {
    if store.oldest_unfinished()?.is_none() {
        return Ok(None);
    }
    Ok(waiting(project, store)?.into_iter().min_by_key(|run| run.seq))
}

/// The answer if a handover is running or unfinished.
fn of_unfinished(project: &Project, store: &Store) -> Result<Option<Checked>> {
    if let Some(run) = oldest_waiting(project, store)? {
        if let Some(owner) = lock::holder(&project.lock()) {
            let who = lock::describe(owner.as_ref());
            let (line, paused) = (format!("busy: {who}"), project.brake().paused());
            return Ok(Some(Checked { code: 4, state: "running", run: Some(run.id), line, at: String::new(), paused }));
        }
        // The run may have completed between the two questions.
        if let Some(run) = oldest_waiting(project, store)? {
            let what = match deferred_command(store, &run)? {
                Some(command) => format!("{command} {}, recorded {}, waits", short_run_id(&run.id), run.recorded_at),
                None => format!("handover {} is unfinished", short_run_id(&run.id)),
            };
            let advice = if is_outdated(project, store, &run)? {
                format!("the config has other steps now: {REPLAN}")
            } else {
                "run `agent-handover run --resume`".to_owned()
            };
            let line = format!("interrupted: {what}; {advice}");
            let paused = pause_of(project, Some(&run));
            let at = String::new();
            return Ok(Some(Checked { code: 1, state: "interrupted", run: Some(run.id), line, at, paused }));
        }
    }
    Ok(None)
}

/// The answer where this program has no run on record: the Python tool may have one.
fn of_python(project: &Project) -> Result<Checked> {
    let theirs = project.read_python_checkpoint()?;
    let paused = project.brake().paused();
    let answer = |code, state, line: String, at| Ok(Checked { code, state, run: None, line, at, paused });
    match theirs.as_ref().map(|theirs| (theirs.state(), theirs)) {
        Some((PythonState::Interrupted, theirs)) => {
            let pending = theirs.pending().join(", ");
            let line = format!(
                "interrupted: a handover of the Python tool has pending {pending}; run `agent-handover run --resume`"
            );
            answer(1, "interrupted", line, String::new())
        }
        Some((PythonState::Completed, theirs)) => {
            let at = theirs.finished_at.clone().unwrap_or_default();
            answer(2, "completed", "completed: a handover of the Python tool".to_owned(), at)
        }
        _ => answer(0, "none", "no handover on record".to_owned(), String::new()),
    }
}
