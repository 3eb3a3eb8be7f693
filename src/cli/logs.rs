//! `logs`: what the commands of a handover printed.

use std::path::Path;

use clap::Args;
use serde_json::json;

use super::{Context, ids};
use crate::base::text;
use crate::checkpoint::{Run, Store};
use crate::engine;
use crate::error::{Error, Result};
use crate::guard::secrets;
use crate::project::Project;

/// The longest log that is printed whole. Of a longer one, the end is printed.
const LONGEST: u64 = 4 << 20;

/// Print what the commands of a handover printed
#[derive(Args)]
pub(super) struct Logs {
    /// The handover: a unique beginning or end of its id, or `latest` [default: the one that runs, else the last one]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Only the output of this step
    #[arg(value_name = "STEP")]
    step: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// The output of one attempt at a step, or of the background process that carried out the run.
struct Log {
    step: String,
    attempt: Option<u32>,
    text: String,
    is_cut: bool,
}

impl Logs {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let project = context.project(None, None)?;
        let nothing = || Error::failed("no handover is on record here").hint("`agent-handover run` records one");
        let store = Store::read(&project.checkpoint_file())?.ok_or_else(nothing)?;
        let (run, step) = self.meant(&project, &store)?.ok_or_else(nothing)?;
        let mut logs = read(&project, &run)?;
        let steps = store.steps(run.seq)?;
        // In the order of the plan. What belongs to no step comes first.
        logs.sort_by_key(|log| steps.iter().position(|step| step.name == log.step));
        if let Some(step) = &step {
            logs.retain(|log| log.step == *step);
            let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
            if logs.is_empty() && !names.contains(&step.as_str()) {
                return Err(Error::failed(format!(
                    "handover {} has no step `{}`",
                    ids::of_run(&run.id),
                    text::one_line(step, 80)
                ))
                .hint(format!("its steps: {}", names.join(", "))));
            }
        }
        if self.json {
            context.ui.answer_json(&document(&run, &logs));
        } else {
            print(context, &run, &logs);
        }
        Ok(0)
    }

    /// The run and the step that are meant. One word alone may be either.
    fn meant(&self, project: &Project, store: &Store) -> Result<Option<(Run, Option<String>)>> {
        let newest = || -> Result<Option<Run>> {
            match engine::waiting(project, store)?.into_iter().next() {
                Some(run) => Ok(Some(run)),
                None => store.latest_completed(),
            }
        };
        let Some(word) = &self.run else { return Ok(newest()?.map(|run| (run, None))) };
        if self.step.is_none()
            && let Some(run) = newest()?
            && store.steps(run.seq)?.iter().any(|step| step.name == *word)
        {
            return Ok(Some((run, Some(word.clone()))));
        }
        Ok(Some((engine::find(store, word)?, self.step.clone())))
    }
}

/// The logs of a run in the order of their names and attempts.
fn read(project: &Project, run: &Run) -> Result<Vec<Log>> {
    let directory = project.log_dir().join(&run.id);
    let anchor = project.anchor(&project.state);
    let mut logs = Vec::new();
    for name in anchor.names(&directory).unwrap_or_default() {
        let Some(stem) = name.strip_suffix(".log") else { continue };
        let (step, attempt) = match stem.rsplit_once('-') {
            Some((step, attempt)) if attempt.parse::<u32>().is_ok() => (step, attempt.parse().ok()),
            _ => (stem, None),
        };
        let (text, is_cut) = read_end(&anchor, &directory.join(&name))?;
        logs.push(Log { step: step.to_owned(), attempt, text, is_cut });
    }
    logs.sort_by(|a, b| (&a.step, a.attempt).cmp(&(&b.step, b.attempt)));
    Ok(logs)
}

fn read_end(anchor: &crate::base::fs::Anchor, path: &Path) -> Result<(String, bool)> {
    let length = anchor.about(path)?.map_or(0, |about| about.length);
    let bytes = match anchor.read_ends(path, LONGEST)? {
        Some((_, end)) => end,
        None => Vec::new(),
    };
    // The log of a command that still runs is not searched for secrets yet.
    Ok((secrets::clean(&String::from_utf8_lossy(&bytes)), length > LONGEST))
}

fn document(run: &Run, logs: &[Log]) -> serde_json::Value {
    let log = |log: &Log| json!({ "step": log.step, "attempt": log.attempt, "text": log.text, "cut": log.is_cut });
    json!({ "schema": "agent-handover/logs/1", "run": run.id, "logs": logs.iter().map(log).collect::<Vec<_>>() })
}

fn print(context: &mut Context<'_>, run: &Run, logs: &[Log]) {
    if logs.is_empty() {
        context.ui.tell(&format!(
            "the commands of handover {} printed nothing, or their logs are gone",
            ids::of_run(&run.id)
        ));
    }
    for log in logs {
        let attempt = match log.attempt {
            Some(attempt) if logs.iter().filter(|other| other.step == log.step).count() > 1 => {
                format!(", attempt {attempt}")
            }
            _ => String::new(),
        };
        let cut = match (log.is_cut, log.text.is_empty()) {
            (true, _) => " (the end of it)",
            (false, true) => " (printed nothing)",
            (false, false) => "",
        };
        context.ui.answer(&format!("== {}{attempt}{cut}", log.step));
        for line in log.text.lines() {
            context.ui.answer_quoted(line);
        }
    }
}
