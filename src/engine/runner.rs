//! Carries out one recorded run: reads its plan and session back, prepares the project, and walks through the steps.

use serde_json::Value;

use super::before_run;
use super::event::{Event, Listener};
use super::inputs::{recorded_session, seen_by};
use super::plan::Plan;
use super::provenance;
use super::walk::Walk;
use crate::base::ids;
use crate::checkpoint::{RecordedStep, Run, StepState, Store};
use crate::config::template::Values;
use crate::error::{Error, Result};
use crate::facts;
use crate::guard::{Brake, Stop};
use crate::project::{self, Project};
use crate::recap::{self, Before};
use crate::steps::{self, Provided};

/// How a run ended for now.
pub(super) enum RunEnd {
    Completed,
    /// The run stays unfinished; newer runs are not held back.
    Failed(Error),
    /// Nothing more may be done, for this run or any other.
    Stopped(Stop),
    /// The worktree in which the session ran is paused; other runs go on.
    Waiting(Stop),
}

/// Everything that carrying out a run needs.
pub(super) struct Runner<'a, 'e> {
    pub project: &'a Project,
    pub store: &'a mut Store,
    pub brake: &'a Brake,
    pub provided: &'a Provided<'a>,
    pub listener: &'a mut Listener<'e>,
    /// The directories of the project are kept out of `git status`. Once a drain is enough.
    pub is_hidden: &'a mut bool,
}

impl Runner<'_, '_> {
    /// Runs the steps of this run that are left, and adds their names to `executed`. `Err` means that the checkpoint could
    /// not be read or written; every other failure is a [`RunEnd`].
    pub(super) fn carry_out(&mut self, run: &Run, asked: bool, executed: &mut Vec<String>) -> Result<RunEnd> {
        let (plan, inputs) = self.store.plan_and_inputs(run.seq)?;
        let found = self.store.steps(run.seq)?;
        let resumed = found.iter().any(|step| step.state != StepState::Pending);
        let _span = tracing::debug_span!("run", id = run.id, resumed).entered();
        let work = seen_by(run, self.project, self.store);
        let brake = self.brake.and(work.brake());
        if let (Some(pause), None) = (brake.paused(), self.brake.paused()) {
            self.notice(Some(format!("handover {} waits: {pause}", ids::short_run_id(&run.id))));
            return Ok(RunEnd::Waiting(Stop::Paused(pause)));
        }
        (self.listener)(Event::RunStarted { run: run.id.clone(), resumed });
        let prepared = Plan::from_json(&plan).and_then(|plan| {
            let session = recorded_session(self.store, run, &inputs)?;
            let memory = project::place(&self.project.memory_root, &plan.memory_dir)?;
            let history = project::place(&self.project.memory_root, &plan.history_dir)?;
            Ok((plan, session, memory, history))
        });
        let end = match prepared {
            Err(error) => RunEnd::Failed(error),
            Ok((plan, session, memory, history)) => {
                if plan.keeps_out_of_git && !std::mem::replace(self.is_hidden, true) {
                    self.notice(before_run::keep_out_of_git(self.project, &plan));
                }
                self.notice(before_run::remember(self.project, &session, &memory, &history));
                self.notice(before_run::restore(
                    self.project,
                    &brake,
                    self.provided,
                    &plan,
                    &session,
                    &memory,
                    &history,
                ));
                if !resumed {
                    self.notice(before_run::complete_history(self.project, &brake, &history));
                }
                let mut values = facts::recorded(&session);
                let since = self.store.completed_before(run.seq)?;
                let before = provenance::known_before(self.project, &memory, &history, &session.branch);
                let collected = self.store.last_result_before(run, "collect")?.unwrap_or_default();
                let (tree, was_without_commit) = state_of_work(&collected);
                Before { since, tree, was_without_commit, ..before }.add_to(&mut values);
                for step in &found {
                    values.extend(stored_facts(step));
                }
                let is_trusted =
                    !plan.destination.is_local() && provenance::is_trusted(self.project, &plan.destination);
                let mut walk = Walk {
                    logs: self.project.log_dir().join(&run.id),
                    runner: self,
                    work: &work,
                    brake: &brake,
                    run,
                    plan: &plan,
                    session: &session,
                    values,
                    memory,
                    history,
                    asked,
                    is_trusted,
                    overtaken_by: None,
                    has_tried_delivery: found
                        .iter()
                        .any(|step| steps::delivers(&step.kind) && step.state == StepState::Failed),
                    settled: Vec::new(),
                    done: Vec::new(),
                    executed,
                };
                walk.run_steps(&found)?
            }
        };
        (self.listener)(Event::RunEnded { run: run.id.clone(), completed: matches!(end, RunEnd::Completed) });
        Ok(end)
    }

    fn notice(&mut self, text: Option<String>) {
        if let Some(text) = text {
            (self.listener)(Event::Notice { text });
        }
    }
}

/// The mark of the uncommitted files that a `collect` step found, and whether the repository had no commit then.
fn state_of_work(result: &str) -> (Option<String>, bool) {
    let result: Value = serde_json::from_str(result).unwrap_or_default();
    let facts = &result["facts"];
    (facts[facts::TREE].as_str().map(str::to_owned), facts["head"].as_str() == Some(""))
}

/// The facts that an earlier attempt at this run found out.
fn stored_facts(step: &RecordedStep) -> Values {
    let result: Value = step.result.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let facts = result["facts"].as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone()));
    facts.chain(recap::evidence(step.position, &step.name, &result["result"])).collect()
}
