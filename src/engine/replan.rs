//! Continuing an unfinished run with the steps of the present config.
//!
//! A run keeps the plan with which it was recorded, so that a resume cannot mix two configs. If a step of that plan can
//! never succeed, the run would stay unfinished for good, and its words would stay in the checkpoint. `run --replan` gives
//! such a run the present steps. What is done stays done.

use std::collections::HashSet;

use serde_json::Value;

use super::event::{Event, Listener};
use super::inputs::seen_by;
use super::plan::{Plan, PlannedStep};
use super::record::{memory_dir, pin_head};
use super::resume::DEATHS_TO_PARK;
use crate::base::ids::short_run_id;
use crate::base::{env, process};
use crate::checkpoint::{RecordedStep, ReplannedRun, ReplannedStep, Run, StepState, Store};
use crate::error::Result;
use crate::project::Project;
use crate::steps::{self, Promise};

/// What a person can do about a run whose steps are not those of the config any more.
pub(crate) const REPLAN: &str = "`agent-handover run --replan` continues it with the present steps";

/// The new plan of a run, and for each of its steps the position of the recorded step whose state it keeps.
#[derive(Debug)]
struct NewPlan {
    plan: Plan,
    keeps: Vec<Option<usize>>,
}

/// Whether the config has other steps by now than an unfinished run was recorded with.
pub(crate) fn is_outdated(project: &Project, store: &Store, run: &Run) -> Result<bool> {
    Ok(new_plan(project, store, run)?.is_some())
}

/// Gives every unfinished run the steps of the present config. The caller holds the lock.
pub(super) fn replan(project: &Project, store: &mut Store, listener: &mut Listener<'_>) -> Result<()> {
    for run in store.unfinished(DEATHS_TO_PARK)? {
        let Some(NewPlan { plan, keeps }) = new_plan(project, store, &run)? else { continue };
        // The command of an interrupted step may still run, and that step may not be in the new plan.
        process::end_orphans(&[(env::RUN, &run.id)], process::Orphans::All)?;
        let memory = memory_dir(project, &plan)?;
        // If no step needed the commit before, it was not recorded.
        let head = if run.head.is_none() { pin_head(&seen_by(&run, project, store), &plan) } else { None };
        let steps = plan.steps.iter().zip(&keeps);
        let steps: Vec<ReplannedStep<'_>> =
            steps.map(|(step, keeps)| ReplannedStep { name: &step.name, kind: &step.kind, keeps: *keeps }).collect();
        let head = head.map(|head| head.commit);
        let json = plan.to_json()?;
        store.replan(run.seq, &ReplannedRun { memory: &memory, plan: &json, steps: &steps, head: head.as_deref() })?;
        let done = keeps.iter().filter(|kept| kept.is_some()).count();
        let text = format!(
            "handover {} has the present steps now; {done} of {} stay as they are",
            short_run_id(&run.id),
            steps.len()
        );
        listener(Event::Notice { text });
    }
    Ok(())
}

/// The plan that the present config gives a run; `None` if that is the plan it has, or if no config can name its steps.
fn new_plan(project: &Project, store: &Store, run: &Run) -> Result<Option<NewPlan>> {
    let found = store.steps(run.seq)?;
    if found.iter().any(|step| !steps::is_configurable(&step.kind)) {
        return Ok(None);
    }
    // Another version may have recorded a plan that this one cannot read.
    let recorded = store.plan(run.seq)?.and_then(|plan| Plan::from_json(&plan).ok());
    let config = seen_by(run, project, store).config;
    let mut typed = Plan::of(&config);
    if found.iter().any(|step| steps::collects(&step.kind)) && !typed.collects() {
        // A hook recorded it: that session said nothing itself.
        typed = Plan::collecting(&config);
    }
    let typed = continued(typed, recorded.as_ref(), &found);
    let Some(recorded) = recorded else { return Ok(Some(typed)) };
    let by_hook = continued(Plan::for_hook(&config), Some(&recorded), &found);
    let json = recorded.to_json()?;
    let is_current = typed.plan.to_json()? == json || by_hook.plan.to_json()? == json;
    Ok((!is_current).then_some(typed))
}

/// A plan that goes on where a recorded one is.
fn continued(mut plan: Plan, recorded: Option<&Plan>, found: &[RecordedStep]) -> NewPlan {
    if let Some(recorded) = recorded {
        // Somebody may have asked that this session is not pushed, or that it only publishes.
        plan.destination.push &= recorded.destination.push;
        plan.keeps_out_of_git = recorded.keeps_out_of_git;
        if recorded.delivers() && recorded.steps.iter().all(|step| steps::delivers(&step.kind)) {
            plan.steps.retain(|step| steps::delivers(&step.kind));
        }
    }
    let old = |found: &RecordedStep| match recorded.and_then(|plan| plan.steps.get(found.position)) {
        Some(step) => step.clone(),
        None => PlannedStep::unknown(&found.name, &found.kind),
    };
    let mut keeps: Vec<Option<usize>> = Vec::new();
    let mut steps = Vec::new();
    for step in &plan.steps {
        let namesake = found.iter().find(|found| is_namesake(step, found));
        let renamed = || {
            found.iter().find(|found| {
                let is_gone = !plan.steps.iter().any(|step| is_namesake(step, found));
                let is_taken = keeps.contains(&Some(found.position));
                let is_begun = matches!(found.state, StepState::Done | StepState::Intended | StepState::Stopped);
                is_gone && !is_taken && is_begun && is_same(step, &old(found))
            })
        };
        let kept = match namesake {
            Some(namesake) => Some(namesake).filter(|found| stays(found, step, &old(found))),
            None => renamed(),
        };
        // What a step wrote is found again by its name, so a renamed one keeps the old name.
        let name = kept.map_or(&step.name, |found| &found.name);
        steps.push(PlannedStep { name: name.clone(), ..step.clone() });
        keeps.push(kept.map(|found| found.position));
    }
    // What was done stays on record, also if the config has no such step any more.
    let gone: Vec<&RecordedStep> = found
        .iter()
        .filter(|found| found.state == StepState::Done && !keeps.contains(&Some(found.position)))
        .filter(|found| !plan.steps.iter().any(|step| is_namesake(step, found)))
        .collect();
    plan.steps = steps;
    plan.steps.splice(0..0, gone.iter().map(|found| old(found)));
    keeps.splice(0..0, gone.iter().map(|found| Some(found.position)));
    name_once(&mut plan.steps, &keeps);
    NewPlan { plan, keeps }
}

/// Gives every step a name of its own. A step that keeps its state keeps its name, because what it wrote is found again by
/// that name. A new step whose name such a step has gets a number.
fn name_once(steps: &mut [PlannedStep], keeps: &[Option<usize>]) {
    let is_new = |at: usize| keeps.get(at).is_none_or(Option::is_none);
    let old = steps.iter().enumerate().filter(|(at, _)| !is_new(*at)).map(|(_, step)| step.name.clone());
    let old: HashSet<String> = old.collect();
    let mut taken: HashSet<String> = steps.iter().map(|step| step.name.clone()).collect();
    for (at, step) in steps.iter_mut().enumerate() {
        if !is_new(at) || !old.contains(&step.name) {
            continue;
        }
        let numbered = (2..).map(|number| format!("{}-{number}", step.name));
        if let Some(free) = numbered.take(taken.len() + 1).find(|name| !taken.contains(name)) {
            taken.insert(free.clone());
            step.name = free;
        }
    }
}

fn is_namesake(step: &PlannedStep, found: &RecordedStep) -> bool {
    step.name == found.name && step.kind == found.kind
}

/// Whether a step of the new plan keeps the state of its namesake in the old one.
fn stays(found: &RecordedStep, new: &PlannedStep, old: &PlannedStep) -> bool {
    let is_repeatable = steps::kind(&found.kind).is_ok_and(|kind| kind.promise == Promise::Repeat);
    match found.state {
        StepState::Done => true,
        // There was nothing to do under the old config.
        StepState::Skipped => !is_repeatable,
        // Half done, or the run went on without it: that counts as long as it is the same step.
        StepState::Intended | StepState::Stopped | StepState::Failed => is_same(new, old),
        StepState::Pending => false,
    }
}

/// Whether two steps do the same, whatever their names are.
fn is_same(one: &PlannedStep, other: &PlannedStep) -> bool {
    let does = |step: &PlannedStep| -> (String, Value) { (step.kind.clone(), step.params.clone()) };
    does(one) == does(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn found(position: usize, name: &str, kind: &str, state: StepState) -> RecordedStep {
        RecordedStep {
            position,
            name: name.to_owned(),
            kind: kind.to_owned(),
            state,
            attempts: 1,
            deaths: 0,
            duration_ms: None,
            intent: None,
            result: None,
            detail: None,
            error: None,
        }
    }

    fn plan(steps: &[(&str, &str, &str)]) -> Plan {
        let step = |(name, kind, params): &(&str, &str, &str)| PlannedStep {
            params: Value::from(*params),
            ..PlannedStep::unknown(name, kind)
        };
        Plan { steps: steps.iter().map(step).collect(), ..Plan::of(&Config::default()) }
    }

    fn names(new: &NewPlan) -> Vec<(&str, Option<usize>)> {
        new.plan.steps.iter().map(|step| step.name.as_str()).zip(new.keeps.iter().copied()).collect()
    }

    #[test]
    fn what_is_done_by_name_stays_done_and_the_rest_is_new() {
        let old = plan(&[("a", "note", ""), ("b", "command", "cagro"), ("c", "publish", "")]);
        let found = [
            found(0, "a", "note", StepState::Done),
            found(1, "b", "command", StepState::Failed),
            found(2, "c", "publish", StepState::Pending),
        ];
        let new = plan(&[("b", "command", "cargo"), ("a", "note", "other"), ("c", "publish", "")]);
        let new = continued(new, Some(&old), &found);
        assert_eq!(names(&new), [("b", None), ("a", Some(0)), ("c", None)]);
    }

    #[test]
    fn a_step_that_was_only_renamed_is_not_done_twice() {
        let old = plan(&[("a", "note", "x"), ("b", "command", "")]);
        let found = [found(0, "a", "note", StepState::Done), found(1, "b", "command", StepState::Failed)];
        let new = continued(plan(&[("first", "note", "x"), ("second", "note", "x")]), Some(&old), &found);
        assert_eq!(names(&new), [("a", Some(0)), ("second", None)]);
    }

    #[test]
    fn steps_that_swapped_their_names_are_not_done_twice() {
        let old = plan(&[("s0", "note", "x"), ("s1", "command", "")]);
        let found = [found(0, "s0", "note", StepState::Done), found(1, "s1", "command", StepState::Failed)];
        let new = continued(plan(&[("s0", "command", ""), ("s1", "note", "x")]), Some(&old), &found);
        assert_eq!(names(&new), [("s0-2", None), ("s0", Some(0))]);
    }

    #[test]
    fn no_two_steps_have_one_name() {
        let old = plan(&[("deploy", "command", "ship"), ("b", "command", "")]);
        let done = |name: &str| found(0, name, "command", StepState::Done);
        let failed = |at: usize, name: &str, kind: &str| found(at, name, kind, StepState::Failed);
        let config = || plan(&[("deploy", "note", "x"), ("deploy-2", "note", "y")]);
        let new = continued(config(), Some(&old), &[done("deploy"), failed(1, "b", "command")]);
        assert_eq!(names(&new), [("deploy", Some(0)), ("deploy-3", None), ("deploy-2", None)]);
        let recorded = [done("deploy"), failed(1, "deploy-3", "note"), failed(2, "deploy-2", "note")];
        let twice = continued(config(), Some(&new.plan), &recorded);
        assert_eq!(twice.plan.to_json().unwrap(), new.plan.to_json().unwrap(), "a second look finds nothing new");
    }

    #[test]
    fn what_was_done_and_is_not_in_the_config_any_more_stays_on_record() {
        let old = plan(&[("deploy", "command", "ship"), ("b", "command", "")]);
        let found = [found(0, "deploy", "command", StepState::Done), found(1, "b", "command", StepState::Failed)];
        let new = continued(plan(&[("note", "note", "")]), Some(&old), &found);
        assert_eq!(names(&new), [("deploy", Some(0)), ("note", None)]);
        let again = found.into_iter().take(1).collect::<Vec<_>>();
        let twice = continued(plan(&[("note", "note", "")]), Some(&new.plan), &again);
        assert_eq!(names(&twice), names(&new), "a second look finds nothing new");
    }

    #[test]
    fn half_done_counts_only_for_the_same_step() {
        let old = plan(&[("a", "command", "one"), ("b", "command", "two")]);
        let found = [found(0, "a", "command", StepState::Intended), found(1, "b", "command", StepState::Stopped)];
        let new = continued(plan(&[("a", "command", "one"), ("b", "command", "other")]), Some(&old), &found);
        assert_eq!(names(&new), [("a", Some(0)), ("b", None)]);
    }
}
