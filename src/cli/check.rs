//! `check`: the exit code says whether a handover was interrupted. It may run at every session start, so it only reads a
//! row.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::Context;
use crate::base::lock;
use crate::checkpoint::Store;
use crate::checkpoint::python::{PythonCheckpoint, PythonState};
use crate::error::Result;
use crate::project::Project;
use crate::publish::Ledger;

/// Report by exit code how the last handover ended: 0 none on record, 1 interrupted, 2 completed, 4 running
#[derive(Args)]
pub struct Check {
    /// Use this checkpoint database
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

struct Answer {
    code: u8,
    state: &'static str,
    run: Option<String>,
    line: String,
}

impl Check {
    pub fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let project = context.project(self.checkpoint.as_deref(), None)?;
        let mut answer = ask(&project)?;
        let paused = project.brake().paused();
        let ledger = Ledger::read(&project.state);
        if self.json {
            context.ui.answer_json(&json!({
                "schema": "agent-handover/check/1",
                "state": answer.state,
                "exit_code": answer.code,
                "run": answer.run,
                "message": answer.line,
                "paused": paused.map(|pause| pause.json()),
                "due": (!ledger.due.is_empty()).then_some(&ledger.due),
            }));
            return Ok(answer.code);
        }
        if !ledger.due.is_empty() {
            answer.line = format!("{}; a push is due ({})", answer.line, ledger.due);
        }
        if let Some(pause) = paused {
            answer.line = format!("{}; {pause}", answer.line);
        }
        context.ui.answer(&answer.line);
        Ok(answer.code)
    }
}

fn ask(project: &Project) -> Result<Answer> {
    let Some(store) = Store::read(&project.checkpoint)? else { return theirs(project) };
    if let Some(run) = store.oldest_unfinished()? {
        if let Some(owner) = lock::holder(&project.lock()) {
            let who = lock::describe(owner.as_ref());
            return Ok(Answer { code: 4, state: "running", run: Some(run.id), line: format!("busy: {who}") });
        }
        // The run may have completed between the two questions.
        if let Some(run) = store.oldest_unfinished()? {
            let line = format!("interrupted: handover {} is unfinished; run `agent-handover run --resume`", run.id);
            return Ok(Answer { code: 1, state: "interrupted", run: Some(run.id), line });
        }
    }
    match store.latest()? {
        Some(run) => {
            let at = run.finished_at.as_deref().unwrap_or("an unknown time");
            let line = format!("completed: handover {} at {at}", run.id);
            Ok(Answer { code: 2, state: "completed", run: Some(run.id), line })
        }
        None => theirs(project),
    }
}

/// The answer where this program has no run on record: the Python tool may have one.
fn theirs(project: &Project) -> Result<Answer> {
    let theirs = PythonCheckpoint::read(&project.python_checkpoint())?;
    let answer = |code, state, line: String| Ok(Answer { code, state, run: None, line });
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
