//! `check`: says by its exit code whether a handover was interrupted. Runs at every session start, so it does
//! nothing but read a row.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::Context;
use crate::base::lock;
use crate::checkpoint::{Run, Store};
use crate::error::Result;
use crate::project::Project;

/// Say by exit code whether a handover was interrupted: 0 none on record, 1 interrupted, 2 completed, 4 running
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
    run: Option<Run>,
    line: String,
}

impl Check {
    pub fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let project = context.project(self.checkpoint.as_deref(), None)?;
        let mut answer = ask(&project)?;
        let paused = project.brake().paused();
        if self.json {
            context.ui.answer_json(&json!({
                "schema": "agent-handover/check/1",
                "state": answer.state,
                "exit_code": answer.code,
                "run": answer.run.map(|run| run.id),
                "message": answer.line,
                "paused": paused.map(|pause| pause.json()),
            }));
            return Ok(answer.code);
        }
        if let Some(pause) = paused {
            answer.line = format!("{}; {pause}", answer.line);
        }
        context.ui.answer(&answer.line);
        Ok(answer.code)
    }
}

fn ask(project: &Project) -> Result<Answer> {
    let none = || Answer { code: 0, state: "none", run: None, line: "no handover on record".to_owned() };
    let Some(store) = Store::read(&project.checkpoint)? else { return Ok(none()) };
    if let Some(run) = store.oldest_unfinished()? {
        if let Some(owner) = lock::holder(&project.lock()) {
            let who =
                owner.map_or_else(|| "another process is running a handover".to_owned(), |owner| owner.to_string());
            return Ok(Answer { code: 4, state: "running", run: Some(run), line: format!("busy: {who}") });
        }
        // It may have completed between the two looks.
        if let Some(run) = store.oldest_unfinished()? {
            let line = format!("interrupted: handover {} is unfinished; run `agent-handover run --resume`", run.id);
            return Ok(Answer { code: 1, state: "interrupted", run: Some(run), line });
        }
    }
    Ok(store.latest()?.map_or_else(none, |run| {
        let at = run.finished_at.as_deref().unwrap_or("an unknown time");
        let line = format!("completed: handover {} at {at}", run.id);
        Answer { code: 2, state: "completed", run: Some(run), line }
    }))
}
