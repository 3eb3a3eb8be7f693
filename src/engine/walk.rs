//! The walk through the steps of one run. For each step: check the brake, record what is intended, act, record the end.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::before_run;
use super::event::{Event, StepEnd};
use super::plan::{Plan, PlannedStep};
use super::resume::{self, Action, Found};
use super::runner::{RunEnd, Runner};
use crate::base::{clock, fault, signals};
use crate::checkpoint::{Next, RecordedStep, Run, Settled, StepState};
use crate::config::Keep;
use crate::config::template::Values;
use crate::error::{Category, Error, Result};
use crate::facts::Session;
use crate::guard::{Brake, Stop};
use crate::project::Project;
use crate::recap;
use crate::steps::{self, Context, Failure, Intent, Kind, Outcome};

/// One walk through the steps of one run.
pub(super) struct Walk<'w, 'a, 'e> {
    pub runner: &'w mut Runner<'a, 'e>,
    /// The project as the session saw it, from its worktree.
    pub work: &'w Project,
    /// Stops this run: the brake of the process, and that of the worktree.
    pub brake: &'w Brake,
    pub run: &'w Run,
    pub plan: &'w Plan,
    pub session: &'w Session,
    pub values: Values,
    pub memory: PathBuf,
    pub history: PathBuf,
    pub logs: PathBuf,
    /// Somebody asked for this resume, rather than a later run coming by.
    pub asked: bool,
    /// What comes from the destination of the plan is this user's own.
    pub is_trusted: bool,
    /// For a kind with `newest_wins`: the younger run that has already done its own step.
    pub overtaken_by: Option<String>,
    /// A delivery of this run has failed.
    pub has_tried_delivery: bool,
    /// Steps that ended but are not recorded yet. The next transaction records them.
    pub settled: Vec<Settled>,
    /// The positions of the steps that were done and recorded.
    pub done: Vec<usize>,
    /// The names of the steps that were done.
    pub executed: &'w mut Vec<String>,
}

/// A step of the plan, its kind, and how the checkpoint found it.
#[derive(Clone, Copy)]
struct StepTask<'t> {
    step: &'t PlannedStep,
    kind: &'static Kind,
    found: &'t RecordedStep,
}

/// Whether the walk goes on after a step.
enum Onward {
    NextStep,
    /// The run stays unfinished.
    Leave(Error),
    Stopped(Stop),
}

/// How one attempt at a step ended.
enum Attempt {
    Done(Outcome),
    NothingToDo(String),
    Stopped(Stop),
    /// With what the checkpoint keeps of it.
    Failed(Error, Value),
}

impl Walk<'_, '_, '_> {
    pub(super) fn run_steps(&mut self, found: &[RecordedStep]) -> Result<RunEnd> {
        for (step, found) in self.plan.steps.iter().zip(found) {
            let onward = match steps::kind(&step.kind) {
                Ok(kind) => self.run_step(StepTask { step, kind, found })?,
                Err(error) => Onward::Leave(error),
            };
            match onward {
                Onward::NextStep => {}
                Onward::Leave(error) => {
                    self.record(Next::Rest)?;
                    return Ok(RunEnd::Failed(error));
                }
                Onward::Stopped(stop) => {
                    self.record(Next::Rest)?;
                    return Ok(RunEnd::Stopped(stop));
                }
            }
        }
        if self.plan.at_once.is_some() {
            self.record(Next::Forget)?;
            return Ok(RunEnd::Completed);
        }
        let unkept = self.unkept(found);
        let at = clock::stamp(&clock::now());
        self.record(Next::Complete { at: &at, keeps_inputs: !unkept.is_empty() })?;
        if !unkept.is_empty() {
            let (texts, run) = (unkept.join(" and the "), &self.run.id);
            let text = format!("no step writes the {texts} anywhere; `agent-handover status --run {run}` prints it");
            (self.runner.listener)(Event::Notice { text });
        }
        Ok(RunEnd::Completed)
    }

    /// The texts of the session that no step has written anywhere. They stay in the checkpoint.
    fn unkept(&self, found: &[RecordedStep]) -> Vec<&'static str> {
        let is_done = |found: &RecordedStep| {
            let is_it = |settled: &&Settled| settled.position == found.position;
            let is_executed = self.done.contains(&found.position);
            is_executed || self.settled.iter().find(is_it).map_or(found.state, |it| it.state) == StepState::Done
        };
        let steps = self.plan.steps.iter().zip(found).filter(|(_, found)| is_done(found));
        let mut unkept = steps::unkept(self.session, steps.map(|(step, _)| (step.kind.as_str(), &step.params)));
        // The config has its own texts.
        let (session, config) = (self.session, &self.work.config);
        let own = [("note", &session.note, &config.session_note), ("state", &session.state, &config.current_state)];
        let is_own = |name: &str| own.iter().any(|(of, said, has)| *of == name && has.as_ref() == Some(*said));
        unkept.retain(|name| !is_own(name));
        unkept
    }

    /// Does what [`resume::decide`] says about a step.
    fn run_step(&mut self, task: StepTask<'_>) -> Result<Onward> {
        let StepTask { step, kind, found } = task;
        let _span = tracing::debug_span!("step", name = step.name, kind = step.kind).entered();
        let died = found.state == StepState::Intended && found.error.is_none();
        let is_taken_back = found.state == StepState::Done && self.is_taken_back(task)?;
        let action = resume::decide(Found {
            state: found.state,
            died,
            deaths: found.deaths,
            promise: kind.promise,
            on_interrupt: (kind.on_interrupt)(&step.params),
            continue_on_failure: step.continue_on_failure,
            is_taken_back,
            asked: self.asked,
        });
        tracing::debug!(step = step.name, state = found.state.name(), ?action, "decide");
        if found.state == StepState::Intended && action != Action::Leave {
            // Whatever happens next, nothing of the interrupted attempt may still be running.
            if let Err(error) = (kind.before_resume)(&self.context(step, found.attempts)) {
                return Ok(Onward::Leave(step_failed(&step.name, &error)));
            }
        }
        let is_left_out = kind.runs_in_worktree && self.work.is_gone && action != Action::Settled;
        if is_left_out {
            let place = self.work.root.display();
            self.skip(found.position, &format!("its worktree `{place}` is gone"));
            return Ok(Onward::NextStep);
        }
        match action {
            Action::Settled => return Ok(Onward::NextStep),
            Action::Leave => return Ok(Onward::Leave(left(step, found))),
            Action::Skip => {
                self.skip(found.position, "interrupted, and `on_interrupt` is `skip`");
                return Ok(Onward::NextStep);
            }
            Action::Stop => {
                self.settled.push(Settled {
                    error: Some("interrupted halfway; `on_interrupt` is `stop`".to_owned()),
                    ..ended(found.position, StepState::Stopped, Duration::ZERO)
                });
                return Ok(Onward::Leave(left(step, found)));
            }
            Action::Run | Action::RunAsIntended => {}
        }
        if let Some(stop) = self.brake.pressed() {
            return Ok(Onward::Stopped(stop));
        }
        self.overtaken_by = self.overtaken_by(kind)?;
        let intended: Option<Value> = match action {
            Action::Run => None,
            // The recorded intent did not know about the younger run.
            _ if self.overtaken_by.is_some() => None,
            _ => found.intent.as_deref().and_then(|text| serde_json::from_str(text).ok()),
        };
        self.run_attempts(task, intended, died)
    }

    /// For a kind with `newest_wins`: the younger run that has already done its own step.
    fn overtaken_by(&self, kind: &Kind) -> Result<Option<String>> {
        if kind.newest_wins { self.runner.store.younger_run_with(kind.name, self.run.seq) } else { Ok(None) }
    }

    /// Whether a step was done, and the user's git has reset the file that it wrote since. A failed delivery keeps the files
    /// itself, so this is asked only of a run that was stopped before its delivery.
    fn is_taken_back(&mut self, StepTask { step, kind, found }: StepTask<'_>) -> Result<bool> {
        if self.plan.destination.is_local() || self.has_tried_delivery {
            return Ok(false);
        }
        let Some(intent) = found.intent.as_deref().and_then(|text| serde_json::from_str(text).ok()) else {
            return Ok(false);
        };
        self.overtaken_by = self.overtaken_by(kind)?;
        // A file that cannot be read is reported by the steps that are left.
        let Ok(Some(path)) = (kind.missing_from)(&self.context(step, found.attempts), &intent) else {
            return Ok(false);
        };
        let is_reset = before_run::is_reset(self.runner.project, self.brake, self.plan, self.session, &path);
        tracing::debug!(step = step.name, path = %path.display(), is_reset, "a step that was done is missing");
        if is_reset {
            let text = format!("step '{}' is done again: git had taken what it wrote out of the files here", step.name);
            (self.runner.listener)(Event::Notice { text });
        }
        Ok(is_reset)
    }

    /// Attempts a step as often as its `retries` allow, and settles it.
    fn run_attempts(&mut self, task: StepTask<'_>, mut intended: Option<Value>, mut died: bool) -> Result<Onward> {
        let StepTask { step, found, .. } = task;
        let mut number = found.attempts;
        for left in (0..=step.retries).rev() {
            number += 1;
            let start = Instant::now();
            let attempt = self.attempt(task, number, intended.take(), &mut died)?;
            let took = start.elapsed();
            let (error, result) = match attempt {
                Attempt::NothingToDo(why) => {
                    self.skip(found.position, &why);
                    return Ok(Onward::NextStep);
                }
                Attempt::Done(outcome) => {
                    self.done(task, outcome, took);
                    return Ok(Onward::NextStep);
                }
                Attempt::Stopped(stop) => {
                    // The step stays intended, so that a resume treats it as half-done.
                    self.settled.push(Settled {
                        error: Some(stop.error().one_line()),
                        ..ended(found.position, StepState::Intended, took)
                    });
                    return Ok(Onward::Stopped(stop));
                }
                Attempt::Failed(error, result) => (error, result),
            };
            self.values.extend(recap::evidence(found.position, &step.name, &result));
            // A step has failed only after its last attempt; a kill between two attempts must not make it failed.
            let state = if left > 0 { StepState::Pending } else { StepState::Failed };
            self.settled.push(Settled {
                error: Some(error.one_line()),
                result: (!result.is_null()).then(|| json!({ "result": result }).to_string()),
                ..ended(found.position, state, took)
            });
            if left > 0 {
                self.record(Next::Rest)?;
                let retry = step.retries - left + 1;
                let wait = wait_before(retry);
                (self.runner.listener)(Event::Retrying {
                    run: self.run.id.clone(),
                    name: step.name.clone(),
                    retry,
                    of: step.retries,
                    wait,
                });
                if let Some(stop) = self.back_off(wait) {
                    return Ok(Onward::Stopped(stop));
                }
            } else if !step.continue_on_failure {
                return Ok(Onward::Leave(step_failed(&step.name, &error)));
            }
        }
        Ok(Onward::NextStep)
    }

    /// One attempt: finds the intent, unless an interrupted attempt recorded it, records it, and acts. `died` is passed on
    /// to the first intent that is recorded, and is false from then on.
    fn attempt(
        &mut self,
        StepTask { step, kind, found }: StepTask<'_>,
        number: u32,
        intended: Option<Value>,
        died: &mut bool,
    ) -> Result<Attempt> {
        self.values.insert("step".to_owned(), step.name.clone().into());
        self.values.insert("attempt".to_owned(), number.into());
        let intent = match intended {
            Some(intent) => Ok(Intent::Do(intent)),
            None => (kind.intend)(&self.context(step, number)),
        };
        let acted = match intent {
            Ok(Intent::Nothing(why)) => return Ok(Attempt::NothingToDo(why)),
            Ok(Intent::Do(intent)) => {
                let text = intent.to_string();
                self.record(Next::Intend { position: found.position, intent: &text, died: *died })?;
                *died = false;
                let log = steps::log_file(&self.context(step, number).logs, &step.name, number);
                (self.runner.listener)(Event::StepStarted {
                    run: self.run.id.clone(),
                    name: step.name.clone(),
                    number: found.position + 1,
                    of: self.plan.steps.len(),
                    attempt: number,
                    log,
                });
                (kind.act)(&self.context(step, number), &intent)
            }
            Err(error) => Err(Failure::from(error)),
        };
        fault::at("step.acted");
        Ok(match acted {
            Ok(outcome) => Attempt::Done(outcome),
            Err(Failure::NothingToDo(why)) => Attempt::NothingToDo(why),
            Err(Failure::Stopped(stop)) => Attempt::Stopped(stop),
            Err(Failure::Failed(error, result)) => match interrupting_signal(&error) {
                Some(signal) => Attempt::Stopped(Stop::Signal(signal)),
                None => Attempt::Failed(error, result),
            },
        })
    }

    fn done(&mut self, StepTask { step, found, .. }: StepTask<'_>, outcome: Outcome, took: Duration) {
        self.executed.push(step.name.clone());
        // An empty result is stored as NULL: a longer row costs more than one page a step.
        let has_result = !outcome.result.is_null() || !outcome.facts.is_empty();
        self.values.extend(recap::evidence(found.position, &step.name, &outcome.result));
        let result = json!({ "result": outcome.result, "facts": outcome.facts });
        self.values.extend(outcome.facts);
        self.settled.push(Settled {
            result: has_result.then(|| result.to_string()),
            detail: Some(outcome.detail),
            ..ended(found.position, StepState::Done, took)
        });
    }

    fn skip(&mut self, position: usize, why: &str) {
        let skipped = ended(position, StepState::Skipped, Duration::ZERO);
        self.settled.push(Settled { detail: Some(why.to_owned()), ..skipped });
    }

    fn context<'c>(&'c self, step: &'c PlannedStep, attempt: u32) -> Context<'c> {
        Context {
            root: &self.runner.project.memory_root,
            work: &self.work.root,
            is_gone: self.work.is_gone,
            known_root: self.work.known_root(),
            bare: self.work.bare(),
            memory: self.memory.clone(),
            history: self.history.clone(),
            logs: self.logs.clone(),
            state: &self.runner.project.state,
            session: self.session,
            destination: &self.plan.destination,
            is_trusted: self.is_trusted,
            takes_talk: self.runner.project.keep() == Keep::Publish,
            step: &step.name,
            attempt,
            params: &step.params,
            values: &self.values,
            brake: self.brake,
            provided: self.runner.provided,
            categories: &self.plan.categories,
            overtaken_by: self.overtaken_by.as_deref(),
            newest_before: self.plan.at_once.as_ref().map_or("", |at_once| &at_once.newest),
        }
    }

    /// Records the steps that ended together with what comes next, and only then reports them.
    fn record(&mut self, next: Next<'_>) -> Result<()> {
        if self.settled.is_empty() && matches!(next, Next::Rest) {
            return Ok(());
        }
        self.runner.store.advance(self.run.seq, &self.settled, next)?;
        for settled in self.settled.drain(..) {
            self.done.extend((settled.state == StepState::Done).then_some(settled.position));
            (self.runner.listener)(Event::StepEnded {
                run: self.run.id.clone(),
                name: self.plan.steps[settled.position].name.clone(),
                number: settled.position + 1,
                of: self.plan.steps.len(),
                ended: StepEnd {
                    state: settled.state,
                    duration: settled.duration,
                    detail: settled.detail,
                    error: settled.error,
                },
            });
        }
        Ok(())
    }

    /// Waits before the next attempt, unless somebody stops the handover.
    fn back_off(&self, wait: Duration) -> Option<Stop> {
        let start = Instant::now();
        while start.elapsed() < wait {
            if let Some(stop) = self.brake.pressed() {
                return Some(stop);
            }
            std::thread::sleep(Duration::from_millis(50).min(wait));
        }
        None
    }
}

/// How long to wait before a retry; the first retry is number 1. The wait is longer after each failure, up to half a minute, and
/// partly random, so that machines that failed together do not retry together.
fn wait_before(retry: u64) -> Duration {
    let mut random = [128u8];
    let _ = getrandom::fill(&mut random);
    let millis = 500u64.saturating_mul(1 << retry.saturating_sub(1).min(6)).min(30_000);
    Duration::from_millis(millis + millis * u64::from(random[0]) / 512)
}

fn ended(position: usize, state: StepState, duration: Duration) -> Settled {
    Settled { position, state, duration, result: None, detail: None, error: None }
}

/// The signal that made a step fail, if one did.
fn interrupting_signal(error: &Error) -> Option<i32> {
    if matches!(error.category(), Category::Signal(_)) { signals::received() } else { None }
}

/// The error of a run whose step failed. A full disk and a secret keep their category, because their exit codes differ.
fn step_failed(name: &str, error: &Error) -> Error {
    let category = match error.category() {
        kept @ (Category::Io | Category::NotGood) => kept,
        _ => Category::Failed,
    };
    let message = format!("step '{name}' failed: {}", error.one_line());
    error.hints().iter().fold(Error::new(category, message), |failed, hint| failed.hint(hint.clone()))
}

/// The error of a run that was left as it is, until a person looks at one of its steps.
fn left(step: &PlannedStep, found: &RecordedStep) -> Error {
    let name = &step.name;
    let error = if found.state == StepState::Intended && found.deaths + 1 >= resume::DEATHS_TO_PARK {
        Error::failed(format!("step '{name}' is parked: the process died {} times during it", found.deaths + 1))
    } else {
        Error::failed(format!("step '{name}' was interrupted halfway, and its `on_interrupt` is `stop`"))
    };
    error.hint("look at what it did, then `agent-handover run --resume` runs it again and `--abandon` abandons it")
}
