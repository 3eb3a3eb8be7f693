//! How handovers went: when, how long, how often a step was tried again; and how long agents waited for their hooks.

use std::collections::BTreeMap;

use chrono::{DateTime, FixedOffset};
use serde::Serialize;

use super::picture::Extent;
use super::plots;
use super::timeline::minute;
use crate::agents::call_log;
use crate::base::{clock, lock, text};
use crate::checkpoint::{RecordedStep, Run, RunStatus, StepState, Store};
use crate::error::{Error, Result};
use crate::project::Project;
use crate::steps;

/// How many handovers have a row of their own.
const ROWS: usize = 200;

#[derive(Debug, Default, Serialize)]
pub(super) struct Handovers {
    /// Newest first.
    rows: Vec<Row>,
    /// How long each took, oldest first.
    plot: String,
}

/// What this machine published, by its own record.
#[derive(Debug, Default, Serialize)]
pub(super) struct Machine {
    name: String,
    /// How many of the newest handovers went out.
    deliveries: usize,
    last: String,
}

#[derive(Debug, Serialize)]
struct Row {
    at: String,
    agent: String,
    branch: String,
    status: &'static str,
    /// How long its steps took together.
    took_ms: Option<u64>,
    /// The steps that failed, were tried again, or during which the process died.
    remarks: Vec<String>,
    id: String,
}

/// How long the calls of one hook took.
#[derive(Debug, Serialize)]
pub(super) struct HookTimes {
    agent: String,
    event: String,
    calls: usize,
    median_ms: u64,
    p95_ms: u64,
    slowest_ms: u64,
    last: String,
}

pub(super) fn collect(project: &Project, extent: &Extent, problems: &mut Vec<Error>) -> Handovers {
    read(project, extent).unwrap_or_else(|error| {
        problems.push(error);
        Handovers::default()
    })
}

fn read(project: &Project, extent: &Extent) -> Result<Handovers> {
    let Some(store) = Store::read(&project.checkpoint_file())? else { return Ok(Handovers::default()) };
    let runs = store.newest_runs(ROWS)?.into_iter().filter(|run| extent.covers(time(&run.recorded_at)));
    let rows: Vec<Row> = runs.map(|run| row(&run, &store.steps(run.seq)?)).collect::<Result<_>>()?;
    let took: Vec<u64> = rows.iter().rev().filter_map(|row| row.took_ms).collect();
    Ok(Handovers { plot: plots::bars("How long each handover took, in milliseconds", &took), rows })
}

/// This machine as one of those that publish. The published branch has authors and no names of machines.
pub(super) fn machine(project: &Project) -> Machine {
    deliveries(project).unwrap_or_else(|error| {
        tracing::debug!(%error, "deliveries");
        Machine::default()
    })
}

fn deliveries(project: &Project) -> Result<Machine> {
    let Some(store) = Store::read(&project.checkpoint_file())? else { return Ok(Machine::default()) };
    let mut machine = Machine { name: text::one_line(&lock::host(), 100), ..Machine::default() };
    for run in store.newest_runs(ROWS)? {
        let has_gone_out = |step: &RecordedStep| {
            step.state == StepState::Done
                && steps::delivers(&step.kind)
                && step.result.as_deref().is_some_and(steps::has_gone_out)
        };
        if store.steps(run.seq)?.iter().any(has_gone_out) {
            if machine.deliveries == 0 {
                machine.last = minute(time(&run.recorded_at));
            }
            machine.deliveries += 1;
        }
    }
    Ok(machine)
}

fn time(stamp: &str) -> Option<DateTime<FixedOffset>> {
    clock::parse_stamp(stamp)
}

fn row(run: &Run, steps: &[RecordedStep]) -> Result<Row> {
    let took: Vec<u64> = steps.iter().filter_map(|step| step.duration_ms).collect();
    Ok(Row {
        at: minute(time(&run.recorded_at)),
        agent: text::one_line(&run.agent, 40),
        branch: text::one_line(&run.branch, 100),
        status: match run.status {
            RunStatus::Unfinished => "unfinished",
            RunStatus::Completed => "completed",
            RunStatus::Abandoned => "abandoned",
        },
        took_ms: (!took.is_empty()).then(|| took.iter().sum()),
        remarks: steps.iter().filter_map(remark).collect(),
        id: run.id.clone(),
    })
}

fn remark(step: &RecordedStep) -> Option<String> {
    let mut facts = Vec::new();
    if step.state == StepState::Failed {
        facts.push("failed".to_owned());
    }
    if step.attempts > 1 {
        facts.push(text::count(step.attempts as usize, "attempt"));
    }
    if step.deaths > 0 {
        facts.push(format!("interrupted {}", text::count(step.deaths as usize, "time")));
    }
    (!facts.is_empty()).then(|| format!("{}: {}", text::one_line(&step.name, 60), facts.join(", ")))
}

/// How long agents waited for each hook, by agent and event.
pub(super) fn hook_times(project: &Project, extent: &Extent) -> Vec<HookTimes> {
    let mut calls: BTreeMap<(String, String), (Vec<u64>, String)> = BTreeMap::new();
    for entry in call_log::entries(project) {
        let at = clock::parse_stamp(&entry.at);
        if entry.event == call_log::SERVER_START || !extent.covers(at) {
            continue;
        }
        let key = (text::one_line(&entry.agent, 40), text::one_line(&entry.event, 40));
        let (times, last) = calls.entry(key).or_default();
        times.push(entry.millis);
        *last = minute(at);
    }
    calls.into_iter().map(|((agent, event), (times, last))| of_calls(agent, event, times, last)).collect()
}

fn of_calls(agent: String, event: String, mut times: Vec<u64>, last: String) -> HookTimes {
    times.sort_unstable();
    let at = |percent: usize| times.get((times.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0);
    HookTimes { agent, event, calls: times.len(), median_ms: at(50), p95_ms: at(95), slowest_ms: at(100), last }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times = of_calls("codex".to_owned(), "start".to_owned(), (1..=100).rev().collect(), String::new());
        assert_eq!((times.median_ms, times.p95_ms, times.slowest_ms), (50, 95, 100));
        let one = of_calls(String::new(), String::new(), vec![7], String::new());
        assert_eq!((one.calls, one.median_ms, one.p95_ms, one.slowest_ms), (1, 7, 7, 7));
    }
}
