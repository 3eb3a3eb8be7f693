//! Carries out one recorded run, step by step: brake, intend, act, record.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::event::{Event, Listener, StepEnd};
use super::plan::{Plan, Step};
use super::resume::{self, Action, Found};
use crate::base::{clock, fault, signals};
use crate::checkpoint::{self, Next, Run, Settled, StepState, Store};
use crate::config::template::Values;
use crate::error::{Category, Error, Result};
use crate::facts::{self, Session};
use crate::git::{self, Git};
use crate::guard::{Brake, Stop};
use crate::project::{self, Project};
use crate::publish::{self, Delivery, Trouble};
use crate::steps::{self, Context, Failure, Intent, Kind};
use crate::transcript::Source;

/// What a session said and who it was, as recorded.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Inputs {
    pub note: String,
    pub state: String,
    /// The handoff's document, checked; empty if the session wrote none.
    pub handoff: String,
    pub host: String,
    pub user: String,
    pub branch: String,
    /// The commit of the last completed handover.
    pub base: String,
    pub transcript: Option<Source>,
}

pub enum RunEnd {
    Completed,
    /// Stays unfinished; newer runs are not held back.
    Failed(Error),
    /// Nothing more may be done, for this run or any other.
    Stopped(Stop),
}

pub struct Runner<'a, 'e> {
    pub project: &'a Project,
    pub store: &'a mut Store,
    pub brake: &'a Brake,
    pub listener: &'a mut Listener<'e>,
    /// Of this drain; what concerns the project rather than the run is done once.
    pub is_first: bool,
}

/// A step's way through one run of the loop.
enum StepEnded {
    GoOn,
    Leave(Error),
    Stopped(Stop),
}

impl Runner<'_, '_> {
    /// Runs what is left of this run. An error of the store itself is the only `Err`.
    pub fn carry_out(&mut self, run: &Run, asked: bool, executed: &mut Vec<String>) -> Result<RunEnd> {
        let (plan, inputs) = self.store.plan_and_inputs(run.seq)?;
        let found = self.store.steps(run.seq)?;
        let resumed = found.iter().any(|step| step.state != StepState::Pending);
        let _span = tracing::debug_span!("run", id = run.id, resumed).entered();
        (self.listener)(Event::RunStarted { run: run.id.clone(), resumed });
        let prepared = Plan::from_json(&plan).and_then(|plan| {
            let session = session(run, &inputs)?;
            let memory = project::place(&self.project.root, &plan.memory_dir)?;
            let history = project::place(&self.project.root, &plan.history_dir)?;
            Ok((plan, session, memory, history))
        });
        let end = match prepared {
            Err(error) => RunEnd::Failed(error),
            Ok((plan, session, memory, history)) => {
                if self.is_first
                    && let Some(text) = keep_out_of_git(&self.project.root, &plan)
                {
                    (self.listener)(Event::Notice { text });
                }
                if let Some(text) = self.restore(&plan, &session, &memory, &history) {
                    (self.listener)(Event::Notice { text });
                }
                let mut values = facts::recorded(&session);
                for step in &found {
                    values.extend(stored_facts(step));
                }
                let logs = self.project.log_dir().join(&run.id);
                let mut walk = Walk {
                    runner: self,
                    run,
                    plan: &plan,
                    session: &session,
                    values,
                    memory,
                    history,
                    logs,
                    asked,
                    overtaken_by: None,
                    settled: Vec::new(),
                };
                walk.all(&found, executed)?
            }
        };
        (self.listener)(Event::RunEnded { run: run.id.clone(), completed: matches!(end, RunEnd::Completed) });
        Ok(end)
    }
}

impl Runner<'_, '_> {
    /// What was swept away as a whole comes back from the branch before anything is written in its place. The answer is
    /// what to tell about it; a failure is no reason to fail the handover, and the delivery tells more.
    fn restore(&self, plan: &Plan, session: &Session, memory: &Path, history: &Path) -> Option<String> {
        if plan.destination.backend != "git" || memory.exists() && history.exists() {
            return None;
        }
        let delivery = Delivery {
            root: &self.project.root,
            memory,
            history,
            state: &self.project.state,
            destination: &plan.destination,
            categories: &plan.categories,
            message: "",
            run: &session.run,
            tag: &session.tag,
            at: session.at,
            brake: self.brake,
        };
        match publish::restore(&delivery) {
            Ok(true) => Some("what was gone here came back from the branch".to_owned()),
            Ok(false) | Err(Trouble::Stopped(_)) => None,
            Err(Trouble::Failed(error)) => Some(format!("nothing came back from the branch: {}", error.one_line())),
        }
    }
}

/// Our directories do not show up in `git status`, unless they are published on the branch that is checked out and so
/// belong to it. Failing at that is no reason to fail the handover. The answer is what to tell about it.
pub fn keep_out_of_git(root: &Path, plan: &Plan) -> Option<String> {
    let done = || -> Result<Vec<String>> {
        let destination = &plan.destination;
        if git::top_level(root).is_none()
            || destination.backend == "git" && Git::at(root).branch()?.as_ref() == Some(&destination.branch)
        {
            return Ok(Vec::new());
        }
        git::keep_out(root, &[project::place(root, &plan.memory_dir)?, project::place(root, &plan.history_dir)?])
    };
    match done() {
        Ok(added) if added.is_empty() => None,
        Ok(added) => Some(format!("keeping {} out of `git status` (in git's info/exclude)", added.join(" and "))),
        Err(error) => Some(format!("the memory directories will show up in `git status`: {}", error.one_line())),
    }
}

fn session(run: &Run, inputs: &str) -> Result<Session> {
    let inputs: Inputs = serde_json::from_str(inputs)
        .map_err(|cause| Error::bad_data("the recorded inputs cannot be read").cause(cause))?;
    let at = clock::parse_stamp(&run.recorded_at)
        .ok_or_else(|| Error::bad_data(format!("`{}` is not a time", run.recorded_at)))?;
    Ok(Session {
        run: run.id.clone(),
        at,
        tag: run.tag.clone(),
        agent: run.agent.clone(),
        host: inputs.host,
        user: inputs.user,
        note: inputs.note,
        state: inputs.state,
        handoff: inputs.handoff,
        head: run.head.clone().unwrap_or_default(),
        branch: inputs.branch,
        base: inputs.base,
        transcript: inputs.transcript,
    })
}

/// What an earlier attempt at this run found out.
fn stored_facts(step: &checkpoint::Step) -> Values {
    let result: Value = step.result.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    result["facts"].as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// One walk through the steps of one run.
struct Walk<'w, 'a, 'e> {
    runner: &'w mut Runner<'a, 'e>,
    run: &'w Run,
    plan: &'w Plan,
    session: &'w Session,
    values: Values,
    memory: std::path::PathBuf,
    history: std::path::PathBuf,
    logs: std::path::PathBuf,
    asked: bool,
    /// The younger run that did before us what the present step does.
    overtaken_by: Option<String>,
    /// Steps that ended and are not recorded yet: the next transaction takes them along.
    settled: Vec<Settled>,
}

impl Walk<'_, '_, '_> {
    fn all(&mut self, found: &[checkpoint::Step], executed: &mut Vec<String>) -> Result<RunEnd> {
        for (step, found) in self.plan.steps.iter().zip(found) {
            let ended = match steps::kind(&step.kind) {
                Ok(kind) => self.step(step, kind, found, executed)?,
                Err(error) => StepEnded::Leave(error),
            };
            match ended {
                StepEnded::GoOn => {}
                StepEnded::Leave(error) => {
                    self.record(Next::Rest)?;
                    return Ok(RunEnd::Failed(error));
                }
                StepEnded::Stopped(stop) => {
                    self.record(Next::Rest)?;
                    return Ok(RunEnd::Stopped(stop));
                }
            }
        }
        let at = clock::stamp(&clock::now());
        self.record(Next::Complete { at: &at })?;
        Ok(RunEnd::Completed)
    }

    fn step(
        &mut self,
        step: &Step,
        kind: &Kind,
        found: &checkpoint::Step,
        executed: &mut Vec<String>,
    ) -> Result<StepEnded> {
        let _span = tracing::debug_span!("step", name = step.name, kind = step.kind).entered();
        let died = found.state == StepState::Intended && found.error.is_none();
        let action = resume::decide(Found {
            state: found.state,
            died,
            deaths: found.deaths,
            promise: kind.promise,
            on_interrupt: (kind.on_interrupt)(&step.params),
            continue_on_failure: step.continue_on_failure,
            asked: self.asked,
        });
        tracing::debug!(step = step.name, state = found.state.name(), ?action, "decide");
        if found.state == StepState::Intended && action != Action::Leave {
            // Whatever is decided, nothing of the old attempt may still be at work.
            if let Err(error) = (kind.before_resume)(&self.context(step, found.attempts)) {
                return Ok(StepEnded::Leave(step_failed(&step.name, &error)));
            }
        }
        match action {
            Action::Settled => return Ok(StepEnded::GoOn),
            Action::Leave => return Ok(StepEnded::Leave(left(step, found))),
            Action::Skip => {
                self.settle(
                    found.position,
                    StepState::Skipped,
                    Duration::ZERO,
                    "interrupted, and `on_interrupt` is `skip`",
                );
                return Ok(StepEnded::GoOn);
            }
            Action::Stop => {
                self.settled.push(Settled {
                    error: Some("interrupted halfway; `on_interrupt` is `stop`".to_owned()),
                    ..ended(found.position, StepState::Stopped, Duration::ZERO)
                });
                return Ok(StepEnded::Leave(left(step, found)));
            }
            Action::Run | Action::RunAsIntended => {}
        }
        if let Some(stop) = self.runner.brake.pressed() {
            return Ok(StepEnded::Stopped(stop));
        }
        self.overtaken_by =
            if kind.newest_wins { self.runner.store.younger_run_with(kind.name, self.run.seq)? } else { None };
        let intended: Option<Value> = match action {
            Action::Run => None,
            // What it intended was meant for a world without the younger run.
            _ if self.overtaken_by.is_some() => None,
            _ => found.intent.as_deref().and_then(|text| serde_json::from_str(text).ok()),
        };
        self.attempts(step, kind, found, intended, died, executed)
    }

    /// Acts, and acts again as often as the step allows.
    fn attempts(
        &mut self,
        step: &Step,
        kind: &Kind,
        found: &checkpoint::Step,
        mut intended: Option<Value>,
        mut died: bool,
        executed: &mut Vec<String>,
    ) -> Result<StepEnded> {
        let mut attempt = found.attempts;
        for left in (0..=step.retries).rev() {
            attempt += 1;
            let start = Instant::now();
            self.values.insert("step".to_owned(), step.name.clone().into());
            self.values.insert("attempt".to_owned(), attempt.into());
            let intent = match intended.take() {
                Some(intent) => Ok(Intent::Do(intent)),
                None => (kind.intend)(&self.context(step, attempt)),
            };
            let acted = match intent {
                Ok(Intent::Nothing(why)) => {
                    self.settle(found.position, StepState::Skipped, Duration::ZERO, &why);
                    return Ok(StepEnded::GoOn);
                }
                Ok(Intent::Do(intent)) => {
                    let text = intent.to_string();
                    self.record(Next::Intend { position: found.position, intent: &text, died })?;
                    died = false;
                    (self.runner.listener)(Event::StepStarted {
                        run: self.run.id.clone(),
                        name: step.name.clone(),
                        number: found.position + 1,
                        of: self.plan.steps.len(),
                        attempt,
                    });
                    (kind.act)(&self.context(step, attempt), &intent)
                }
                Err(error) => Err(Failure::from(error)),
            };
            fault::at("step.acted");
            let took = start.elapsed();
            let acted = match acted {
                Err(Failure::Failed(error, _)) if matches!(error.category(), Category::Signal(_)) => {
                    Err(signals::received()
                        .map_or_else(|| Failure::from(error), |signal| Failure::Stopped(Stop::Signal(signal))))
                }
                acted => acted,
            };
            let (error, result) = match acted {
                Ok(outcome) => {
                    executed.push(step.name.clone());
                    // Nothing is written as nothing: rows that grow cost more than one page a step.
                    let has_result = !outcome.result.is_null() || !outcome.facts.is_empty();
                    let result = json!({ "result": outcome.result, "facts": outcome.facts });
                    self.values.extend(outcome.facts);
                    self.settled.push(Settled {
                        result: has_result.then(|| result.to_string()),
                        detail: Some(outcome.detail),
                        ..ended(found.position, StepState::Done, took)
                    });
                    return Ok(StepEnded::GoOn);
                }
                Err(Failure::Stopped(stop)) => {
                    // It stays intended, so that a resume treats it as what it is: half-done.
                    self.settled.push(Settled {
                        error: Some(stop.error().one_line()),
                        ..ended(found.position, StepState::Intended, took)
                    });
                    return Ok(StepEnded::Stopped(stop));
                }
                Err(Failure::Failed(error, result)) => (error, result),
            };
            // Until its last attempt a step has not failed; a kill between two must not make it so.
            let state = if left > 0 { StepState::Pending } else { StepState::Failed };
            self.settled.push(Settled {
                error: Some(error.one_line()),
                result: (!result.is_null()).then(|| json!({ "result": result }).to_string()),
                ..ended(found.position, state, took)
            });
            if left > 0 {
                self.record(Next::Rest)?;
                let tries = u32::try_from(step.retries - left).unwrap_or(u32::MAX);
                if let Some(stop) = self.back_off(tries) {
                    return Ok(StepEnded::Stopped(stop));
                }
            } else if !step.continue_on_failure {
                return Ok(StepEnded::Leave(step_failed(&step.name, &error)));
            }
        }
        Ok(StepEnded::GoOn)
    }

    fn context<'c>(&'c self, step: &'c Step, attempt: u32) -> Context<'c> {
        Context {
            root: &self.runner.project.root,
            memory: self.memory.clone(),
            history: self.history.clone(),
            logs: self.logs.clone(),
            state: &self.runner.project.state,
            session: self.session,
            destination: &self.plan.destination,
            step: &step.name,
            attempt,
            params: &step.params,
            values: &self.values,
            brake: self.runner.brake,
            categories: &self.plan.categories,
            overtaken_by: self.overtaken_by.as_deref(),
        }
    }

    fn settle(&mut self, position: usize, state: StepState, took: Duration, detail: &str) {
        self.settled.push(Settled { detail: Some(detail.to_owned()), ..ended(position, state, took) });
    }

    /// Makes durable what ended and what comes next, and only then tells of it.
    fn record(&mut self, next: Next<'_>) -> Result<()> {
        if self.settled.is_empty() && matches!(next, Next::Rest) {
            return Ok(());
        }
        self.runner.store.advance(self.run.seq, &self.settled, next)?;
        for settled in self.settled.drain(..) {
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

    /// Waits longer after each failure, up to half a minute, and a little at random so that machines which failed
    /// together do not come back together.
    fn back_off(&self, tries: u32) -> Option<Stop> {
        let mut random = [128u8];
        let _ = getrandom::fill(&mut random);
        let millis = 500u64.saturating_mul(1 << tries.min(6)).min(30_000);
        let wait = Duration::from_millis(millis + millis * u64::from(random[0]) / 512);
        let start = Instant::now();
        while start.elapsed() < wait {
            if let Some(stop) = self.runner.brake.pressed() {
                return Some(stop);
            }
            std::thread::sleep(Duration::from_millis(50).min(wait));
        }
        None
    }
}

fn ended(position: usize, state: StepState, duration: Duration) -> Settled {
    Settled { position, state, duration, result: None, detail: None, error: None }
}

/// A full disk is not the step's fault, and a secret is to be looked at: their exit codes say so.
fn step_failed(name: &str, error: &Error) -> Error {
    let category = match error.category() {
        kept @ (Category::Io | Category::NotGood) => kept,
        _ => Category::Failed,
    };
    let message = format!("step '{name}' failed: {}", error.one_line());
    error.hints().iter().fold(Error::new(category, message), |failed, hint| failed.hint(hint.clone()))
}

fn left(step: &Step, found: &checkpoint::Step) -> Error {
    let name = &step.name;
    let error = if found.state == StepState::Intended && found.deaths + 1 >= resume::DEATHS_TO_PARK {
        Error::failed(format!("step '{name}' is parked: the process died {} times during it", found.deaths + 1))
    } else {
        Error::failed(format!("step '{name}' was interrupted halfway, and its `on_interrupt` is `stop`"))
    };
    error.hint("look at what it did, then `agent-handover run --resume` runs it again and `--abandon` gives it up")
}
