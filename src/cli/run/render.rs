//! What `run` reports: to a person on stderr and stdout, or as one JSON document a line on stdout.

use std::time::Duration;

use serde_json::{Value, json};

use crate::base::{duration, lock, text};
use crate::checkpoint::StepState;
use crate::cli::ui::{StepMark, Ui};
use crate::cli::{ids, render};
use crate::engine::{self, Drained, Event, HandedOver, RunFailure, RunRelation};
use crate::error::{Error, Result};
use crate::guard::Stop;

/// The schema of each line of `run --json`.
const SCHEMA: &str = "agent-handover/run/1";

/// The last line of `--json`, also when the command failed.
pub(crate) fn finished(exit_code: u8, error: Option<&Error>) -> Value {
    let error = error.map(render::parts);
    json!({ "schema": SCHEMA, "event": "finished", "exit_code": exit_code, "error": error })
}

/// Reports a handover while it goes on, and its result.
pub(super) struct Reporter<'a> {
    pub ui: &'a mut Ui,
    json: bool,
    tally: Tally,
    /// A step that failed and is not reported yet: the error at the end may say the same.
    failed: Option<FailedStep>,
}

struct FailedStep {
    name: String,
    took: String,
    why: String,
}

/// What became of the steps.
#[derive(Default)]
struct Tally {
    done: usize,
    skipped: usize,
    /// The steps that failed for good and were gone past.
    failed: Vec<String>,
    took: Duration,
}

impl Tally {
    fn count(&mut self, event: &Event) {
        if let Event::StepEnded { name, ended, .. } = event {
            self.took += ended.duration;
            // A step that is tried again ends more than once.
            self.failed.retain(|failed| failed != name);
            match ended.state {
                StepState::Done => self.done += 1,
                StepState::Skipped => self.skipped += 1,
                StepState::Failed => self.failed.push(name.clone()),
                _ => {}
            }
        }
    }

    fn says(&self) -> String {
        let skipped = if self.skipped == 0 { String::new() } else { format!(", {} skipped", self.skipped) };
        let failed = match self.failed.as_slice() {
            [] => String::new(),
            failed => format!(", {} failed ({})", failed.len(), failed.join(", ")),
        };
        format!("{} done{failed}{skipped}, in {}", text::count(self.done, "step"), duration::show(self.took))
    }
}

impl<'a> Reporter<'a> {
    pub(super) fn new(ui: &'a mut Ui, json: bool) -> Reporter<'a> {
        Reporter { ui, json, tally: Tally::default(), failed: None }
    }

    pub(super) fn event(&mut self, event: &Event) {
        self.tally.count(event);
        if !matches!(event, Event::RunEnded { .. }) {
            self.report_failed("");
        }
        match event {
            Event::MovedAside { path } => {
                self.ui.warn(&format!("the damaged database was moved to `{}`", path.display()));
            }
            Event::Abandoned { run } => self.ui.warn(&format!("abandoned handover {}", ids::of_run(run))),
            Event::Recorded { warnings, .. } => {
                for warning in warnings {
                    self.ui.warn(warning);
                }
            }
            Event::StepEnded { name, ended, .. } if !self.json && ended.state == StepState::Failed => {
                let why = ended.detail.as_ref().or(ended.error.as_ref()).cloned().unwrap_or_default();
                self.failed = Some(FailedStep { name: name.clone(), took: duration::show(ended.duration), why });
            }
            event if !self.json => show(self.ui, event),
            _ => {}
        }
        if self.json
            && let Some(line) = event_json(event)
        {
            self.line(line);
        }
    }

    /// Reports the step that failed. Why it failed is left out if what is printed next says it.
    fn report_failed(&mut self, next: &str) {
        if let Some(FailedStep { name, took, why }) = self.failed.take() {
            let why = if next.contains(&why) { "" } else { &why };
            self.ui.tell_step(StepMark::Failed, &name, format!("{took}  {why}").trim_end());
        }
    }

    fn line(&mut self, mut line: Value) {
        if self.json {
            line["schema"] = SCHEMA.into();
            self.ui.answer_json(&line);
        }
    }

    pub(super) fn result(mut self, handed_over: HandedOver) -> Result<u8> {
        match handed_over {
            HandedOver::NothingOnRecord => {
                self.ui.tell("nothing to resume: no handover is on record here");
                self.executed(&[])
            }
            HandedOver::ByAnother => Err(Error::bug("a typed handover was mistaken for one that is done")),
            HandedOver::Ran { recorded, drained } => {
                self.drained(drained, recorded.as_ref().map(|run| run.id.as_str()))
            }
            HandedOver::Detached { recorded, child: Ok(pid) } => {
                self.detached(&recorded.id, pid);
                Ok(0)
            }
            HandedOver::Detached { recorded, child: Err(why) } => {
                Err(why.error().follow(&format!("; {} is recorded and waits", ids::of_run(&recorded.id))))
            }
        }
    }

    fn detached(&mut self, run: &str, pid: u32) {
        if self.json {
            self.line(json!({ "event": "detached", "run": run, "pid": pid }));
            self.ui.answer_json(&finished(0, None));
        } else {
            self.ui.answer(&format!("handover {run} is recorded and continues in the background (pid {pid})"));
        }
    }

    fn executed(&mut self, executed: &[String]) -> Result<u8> {
        let names = if executed.is_empty() { "(none)".to_owned() } else { executed.join(", ") };
        if self.json {
            self.ui.answer_json(&finished(0, None))
        } else {
            self.ui.answer(&format!("handover steps executed: {names}"))
        }
        Ok(0)
    }

    /// Everything is handed over.
    fn completed(&mut self, executed: &[String]) -> Result<u8> {
        let code = self.executed(executed)?;
        if !self.json && self.tally.done > 0 {
            self.ui.tell_step(StepMark::Done, "handed over", &self.tally.says());
        }
        Ok(code)
    }

    /// What was executed before a failure. With `--json` the failure itself is the last line.
    fn executed_before(&mut self, executed: &[String]) -> Result<u8> {
        if self.json { Ok(0) } else { self.executed(executed) }
    }

    /// The result of running the queue. `recorded` is the run that this command recorded, if it did.
    pub(super) fn drained(mut self, drained: Drained, recorded: Option<&str>) -> Result<u8> {
        let next = match &drained {
            Drained::Tried { failures, .. } => failures.iter().map(|failure| failure.error.one_line()).collect(),
            Drained::Stopped { stop, .. } => stop.error().one_line(),
            Drained::Busy(_) => String::new(),
        };
        self.report_failed(&next);
        match drained {
            Drained::Tried { executed, failures, waiting: Some(stop) } if failures.is_empty() && recorded.is_none() => {
                // Somebody asked to resume, and not everything was.
                self.executed_before(&executed)?;
                Err(stop.error())
            }
            Drained::Tried { executed, failures, .. } => self.tried(&executed, failures),
            Drained::Busy(owner) => {
                self.executed_before(&[])?;
                Err(match recorded {
                    None => engine::busy(owner.as_ref(), "`agent-handover status` shows how far it is"),
                    Some(id) => engine::busy(owner.as_ref(), "")
                        .follow(&format!("; {} is recorded, and that process will carry it out", ids::of_run(id))),
                })
            }
            Drained::Stopped { stop, executed } => {
                self.executed_before(&executed)?;
                let kept =
                    recorded.map(|id| format!("; {} is recorded and waits", ids::of_run(id))).unwrap_or_default();
                let error = stop.error().follow(&kept);
                Err(match stop {
                    Stop::Paused(_) => error,
                    Stop::Signal(_) => error.hint("`agent-handover run --resume` continues where it stopped"),
                })
            }
        }
    }

    fn tried(&mut self, executed: &[String], mut failures: Vec<RunFailure>) -> Result<u8> {
        // The process that recorded a younger run reports its failure itself.
        failures.retain(|failure| failure.relation != RunRelation::Younger);
        let Some(last) = failures.len().checked_sub(1) else { return self.completed(executed) };
        self.executed_before(executed)?;
        let at = failures.iter().position(|failure| failure.relation == RunRelation::Own).unwrap_or(last);
        let worst = failures.remove(at);
        for failure in &failures {
            let reason = failure.error.one_line();
            self.ui.warn(&format!("handover {} is still unfinished: {reason}", ids::of_run(&failure.run)));
        }
        let error = match worst.relation {
            RunRelation::Own => worst.error,
            RunRelation::Older | RunRelation::Younger => {
                let reason = worst.error.one_line();
                let older = ids::of_run(&worst.run);
                let done = format!("this handover is done, but the older {older} still is not: {reason}");
                worst.error.hints().iter().fold(Error::failed(done), |error, hint| error.hint(hint.clone()))
            }
        };
        let hint = "progress is saved: `agent-handover run --resume` tries again";
        Err(error.hint(format!("{hint}, `--abandon {}` abandons it", ids::of_run(&worst.run))))
    }
}

/// Shows progress to a person: one line a step, with its duration.
pub(crate) fn show(ui: &Ui, event: &Event) {
    match event {
        Event::RunStarted { run, resumed: true } => ui.tell(&format!("resuming handover {}", ids::of_run(run))),
        Event::RunStarted { run, .. } => ui.tell(&format!("handover {}", ids::of_run(run))),
        Event::StepStarted { name, number, of, attempt, log, .. } => {
            let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            ui.tell_live(&format!("{name} ({number} of {of}{again})"), Some(log));
        }
        Event::Retrying { name, retry, of, wait, .. } => {
            ui.tell(&format!("{name}: retry {retry} of {of} in {}", duration::show(*wait)));
        }
        Event::StepEnded { name, ended, .. } => {
            let took = duration::show(ended.duration);
            let detail = ended.detail.as_deref().or(ended.error.as_deref()).unwrap_or_default();
            match ended.state {
                StepState::Done => ui.tell_step(StepMark::Done, name, &format!("{took}  {detail}")),
                StepState::Skipped => ui.tell_step(StepMark::Skipped, name, detail),
                _ => ui.tell_step(StepMark::Failed, name, &format!("{took}  {detail}")),
            }
        }
        Event::Waiting { owner } => ui.tell(&format!("waiting: {}", lock::describe(owner.as_ref()))),
        Event::Notice { text } => ui.tell(text),
        Event::RunEnded { .. } | Event::Recorded { .. } | Event::MovedAside { .. } | Event::Abandoned { .. } => {}
    }
}

/// Reports what a person should look at, for a command that runs handovers only incidentally.
pub(crate) fn warn_of(ui: &Ui, event: &Event) {
    if let Event::Notice { text } = event {
        ui.warn(text);
    }
}

/// The line of `run --json` for an event; `None` for an event that only a person sees.
fn event_json(event: &Event) -> Option<Value> {
    Some(match event {
        Event::MovedAside { .. } | Event::Abandoned { .. } => return None,
        Event::Recorded { run, warnings } => json!({ "event": "recorded", "run": run, "warnings": warnings }),
        Event::Waiting { owner } => json!({ "event": "waiting", "owner": owner }),
        Event::RunStarted { run, resumed } => json!({ "event": "run-started", "run": run, "resumed": resumed }),
        Event::Retrying { run, name, retry, of, wait } => json!({
            "event": "retrying", "run": run, "step": name, "retry": retry, "of": of,
            "wait_ms": u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        }),
        Event::StepStarted { run, name, number, of, attempt, .. } => json!({
            "event": "step-started", "run": run, "step": name, "number": number, "of": of, "attempt": attempt,
        }),
        Event::StepEnded { run, name, number, of, ended } => json!({
            "event": "step-ended", "run": run, "step": name, "number": number, "of": of, "state": ended.state.name(),
            "duration_ms": u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
            "detail": ended.detail, "error": ended.error,
        }),
        Event::RunEnded { run, completed } => json!({ "event": "run-ended", "run": run, "completed": completed }),
        Event::Notice { text } => json!({ "event": "notice", "text": text }),
    })
}
