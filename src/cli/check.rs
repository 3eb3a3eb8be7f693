//! `check`: the exit code says whether a handover was interrupted. It may run at every session start, so it only reads a
//! row.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::Context;
use crate::base::clock;
use crate::engine;
use crate::error::{Category, Result};
use crate::publish::Ledger;

/// Report by exit code how the last handover ended: 0 none on record, 1 interrupted, 2 completed, 4 running
#[derive(Args)]
pub(super) struct Check {
    /// Exit with 1 if an interrupted handover waits, else with 0
    #[arg(long)]
    interrupted: bool,
    /// Use this checkpoint database
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Check {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        // 1 means that a handover was interrupted, so a config that does not exist has another code here.
        let project = context.project(self.checkpoint.as_deref(), None).map_err(|error| match error.category() {
            Category::Failed => error.in_category(Category::BadData),
            _ => error,
        })?;
        let mut answer = engine::check(&project)?;
        if !answer.at.is_empty() {
            let when = clock::parse_stamp(&answer.at).filter(|_| !self.json).map(|at| context.ui.when(&at));
            answer.line = format!("{}, {}", answer.line, when.unwrap_or(answer.at));
        }
        // The Python tool answers 0 as well, so the exit code stays.
        if let Err(error) = project.require_named_checkpoint() {
            answer.line = format!("{}: {}", answer.line, error.message());
        }
        if self.interrupted {
            answer.code = u8::from(answer.state == "interrupted");
        }
        let paused = answer.paused.take();
        let ledger = Ledger::read(&project.anchor(&project.state), &project.state).unwrap_or_else(|error| {
            context.ui.warn(&error.one_line());
            Ledger::default()
        });
        let others: Vec<_> =
            project.other_databases().into_iter().filter(|other| other.unfinished != Some(0)).collect();
        if self.json {
            context.ui.answer_json(&json!({
                "schema": "agent-handover/check/1",
                "state": answer.state,
                "exit_code": answer.code,
                "run": answer.run,
                "message": answer.line,
                "paused": paused.map(|pause| pause.json()),
                "due": (!ledger.due.is_empty()).then_some(&ledger.due),
                "foreign": others.iter().map(|other| other.json()).collect::<Vec<_>>(),
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
        for other in others {
            context.ui.answer(&format!("foreign: {}", other.sentence(&project.root)));
        }
        Ok(answer.code)
    }
}
