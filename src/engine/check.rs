//! Whether a handover was interrupted. Asked at every session start, so it reads no more than a row.

use super::defer::{deferred_command, title};
use crate::base::lock;
use crate::checkpoint::Store;
use crate::checkpoint::python::PythonState;
use crate::error::Result;
use crate::project::Project;

/// The answer of `check`.
pub(crate) struct Checked {
    /// The exit code: 0 none on record, 1 interrupted, 2 completed, 4 running.
    pub code: u8,
    pub state: &'static str,
    pub run: Option<String>,
    /// One line for a person.
    pub line: String,
}

/// Asks the checkpoint. Writes nothing and waits for nobody.
pub(crate) fn check(project: &Project) -> Result<Checked> {
    let Some(store) = Store::read(&project.checkpoint_file())? else { return of_python(project) };
    if let Some(run) = store.oldest_unfinished()? {
        if let Some(owner) = lock::holder(&project.lock()) {
            let who = lock::describe(owner.as_ref());
            return Ok(Checked { code: 4, state: "running", run: Some(run.id), line: format!("busy: {who}") });
        }
        // The run may have completed between the two questions.
        if let Some(run) = store.oldest_unfinished()? {
            let what = match deferred_command(&store, &run)? {
                Some(command) => format!("{command} {}, recorded {}, waits", run.id, run.recorded_at),
                None => format!("handover {} is unfinished", run.id),
            };
            let line = format!("interrupted: {what}; run `agent-handover run --resume`");
            return Ok(Checked { code: 1, state: "interrupted", run: Some(run.id), line });
        }
    }
    match store.latest()? {
        Some(run) => {
            let at = run.finished_at.as_deref().unwrap_or("an unknown time");
            let line = format!("completed: {} at {at}", title(&store, &run)?);
            Ok(Checked { code: 2, state: "completed", run: Some(run.id), line })
        }
        None => of_python(project),
    }
}

/// The answer where this program has no run on record: the Python tool may have one.
fn of_python(project: &Project) -> Result<Checked> {
    let theirs = project.read_python_checkpoint()?;
    let answer = |code, state, line: String| Ok(Checked { code, state, run: None, line });
    match theirs.as_ref().map(|theirs| (theirs.state(), theirs)) {
        Some((PythonState::Interrupted, theirs)) => {
            let pending = theirs.pending().join(", ");
            let line = format!(
                "interrupted: a handover of the Python tool has pending {pending}; run `agent-handover run --resume`"
            );
            answer(1, "interrupted", line)
        }
        Some((PythonState::Completed, theirs)) => {
            let at = theirs.finished_at.as_deref().unwrap_or("an unknown time");
            answer(2, "completed", format!("completed: a handover of the Python tool at {at}"))
        }
        _ => answer(0, "none", "no handover on record".to_owned()),
    }
}
