//! The sessions of a project in order of time, what was decided in them, and which checks they ran.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, FixedOffset};
use serde::Serialize;

use super::picture::Extent;
use super::plots::{self, Layer};
use crate::base::text;
use crate::engine::Provenance;
use crate::error::Error;
use crate::handoff::{Handoff, Value};
use crate::history::{History, SessionEntry};

/// How many documents are opened for their decisions and checks, newest first.
const OPENED: usize = 500;
/// How many decisions and how many commands have a row of their own.
const LISTED: usize = 200;
/// How many agents have a colour of their own; the others share one.
const AGENTS: usize = 5;
/// How many branches have a lane of their own; the others share one.
const BRANCHES: usize = 8;
/// How many directories are listed.
const PLACES: usize = 20;
/// The longest text of a cell, in characters.
const CELL: usize = 240;

/// The sessions, and what is known about them.
#[derive(Debug, Default, Serialize)]
pub(super) struct Timeline {
    pub(super) total: usize,
    /// Newest first.
    rows: Vec<Row>,
    /// How many sessions have no row.
    left_out: usize,
    /// How many agents and branches there are, of which few have a row of their own.
    agent_count: usize,
    branch_count: usize,
    agents: Vec<Agent>,
    /// Sessions a month, by agent.
    plot: String,
    /// The busiest branches.
    branches: Vec<Branch>,
    /// The directories in which sessions ran, on whichever machine, the busiest first.
    places: Vec<Place>,
    /// The days of the first and the last session.
    first: String,
    pub(super) last: String,
    decisions: Vec<Decision>,
    decisions_left_out: usize,
    checks: Vec<Check>,
    checks_left_out: usize,
    /// Checks a month, by how they ended.
    checks_plot: String,
}

#[derive(Debug, Serialize)]
struct Row {
    at: String,
    agent: String,
    branch: String,
    status: String,
    title: String,
    next: String,
    id: String,
    is_strange: bool,
}

#[derive(Debug, Serialize)]
struct Agent {
    name: String,
    sessions: usize,
    color: &'static str,
}

#[derive(Debug, Serialize)]
struct Branch {
    name: String,
    sessions: usize,
    /// Its sessions along the time of all of them, by agent.
    plot: String,
}

/// One checkout on one machine.
#[derive(Debug, Serialize)]
struct Place {
    directory: String,
    sessions: usize,
    last: String,
}

#[derive(Debug, Serialize)]
struct Decision {
    day: String,
    text: String,
    session: String,
    is_strange: bool,
}

/// A command that sessions ran as a check.
#[derive(Debug, Serialize)]
struct Check {
    command: String,
    passed: usize,
    failed: usize,
    /// How it ended last.
    last: String,
    day: String,
}

/// Collects the sessions that `extent` covers.
pub(super) fn collect(
    history: &History,
    provenance: &Provenance,
    extent: &Extent,
    problems: &mut Vec<Error>,
) -> Timeline {
    let entries =
        match history.exists().and_then(|exists| if exists { Some(history.catalog()).transpose() } else { Ok(None) }) {
            Ok(Some(catalog)) => {
                problems.extend(catalog.refused);
                problems.extend(catalog.damaged);
                catalog.entries
            }
            Ok(None) => return Timeline::default(),
            Err(error) => {
                problems.push(error);
                return Timeline::default();
            }
        };
    let entries: Vec<SessionEntry> = entries.into_iter().filter(|entry| extent.covers(entry.time())).collect();
    let agents = agents(&entries);
    let mut timeline = Timeline {
        total: entries.len(),
        left_out: entries.len().saturating_sub(extent.rows),
        agent_count: distinct(&entries, "agent"),
        branch_count: distinct(&entries, "current_branch"),
        plot: sessions_plot(&entries, &agents),
        branches: branches(&entries, &agents),
        places: places(&entries),
        first: entries.last().map(day).unwrap_or_default(),
        last: entries.first().map(day).unwrap_or_default(),
        agents,
        ..Timeline::default()
    };
    let mut opened = Opened::default();
    for (at, entry) in entries.iter().take(extent.rows.max(OPENED)).enumerate() {
        let is_strange = at < extent.rows && !provenance.owns_entry(history, entry);
        if at < extent.rows {
            timeline.rows.push(row(history, provenance, entry, is_strange));
        }
        if let Some((_, handoff)) = (at < OPENED).then(|| history.handoff_of(entry)).flatten() {
            opened.add(entry, &handoff, is_strange);
        }
    }
    opened.finish(&mut timeline);
    timeline
}

/// How many values a field has over all sessions.
fn distinct(entries: &[SessionEntry], field: &str) -> usize {
    let values: BTreeSet<&str> =
        entries.iter().map(|entry| entry.get(field)).filter(|value| !value.is_empty()).collect();
    values.len()
}

fn row(history: &History, provenance: &Provenance, entry: &SessionEntry, is_strange: bool) -> Row {
    let cell = |key: &str| text::one_line(entry.get(key), CELL);
    Row {
        at: minute(entry.time()),
        agent: cell("agent"),
        branch: cell("current_branch"),
        status: text::one_line(&history.status_of_entry(entry, provenance.of_history()).now, 40),
        title: cell("primary_goal"),
        next: cell("first_next_action"),
        id: cell("session_id"),
        is_strange,
    }
}

/// A time for people, in the zone in which it was written.
pub(super) fn minute(time: Option<DateTime<FixedOffset>>) -> String {
    time.map(|time| time.format("%Y-%m-%d %H:%M").to_string()).unwrap_or_default()
}

fn month(entry: &SessionEntry) -> Option<String> {
    entry.time().map(|time| time.format("%Y-%m").to_string())
}

/// The agents, the busiest first. Those without a colour of their own are one row at the end.
fn agents(entries: &[SessionEntry]) -> Vec<Agent> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in entries {
        *counts.entry(entry.get("agent")).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, sessions)| std::cmp::Reverse(*sessions));
    let rest: usize = counts.iter().skip(AGENTS).map(|(_, sessions)| sessions).sum();
    let named = counts.iter().take(AGENTS).enumerate().map(|(at, (name, sessions))| {
        let name = if name.is_empty() { "unknown".to_owned() } else { text::one_line(name, 40) };
        Agent { name, sessions: *sessions, color: plots::COLORS[at].class }
    });
    let others = Agent { name: "others".to_owned(), sessions: rest, color: plots::COLORS[AGENTS].class };
    named.chain((rest > 0).then_some(others)).collect()
}

fn sessions_plot(entries: &[SessionEntry], agents: &[Agent]) -> String {
    let mut layers: Vec<Layer> = (0..agents.len()).map(Layer::new).collect();
    for entry in entries {
        let at = layer_of(entry, agents);
        if let (Some(layer), Some(month)) = (layers.get_mut(at), month(entry)) {
            layer.add(month);
        }
    }
    plots::months("Sessions a month", &layers)
}

/// The place of the agent of a session among the agents that have a colour.
fn layer_of(entry: &SessionEntry, agents: &[Agent]) -> usize {
    let name = text::one_line(entry.get("agent"), 40);
    let name = if name.is_empty() { "unknown" } else { &name };
    agents.iter().position(|agent| agent.name == name).unwrap_or(agents.len().saturating_sub(1))
}

fn day(entry: &SessionEntry) -> String {
    entry.time().map(|time| time.format("%Y-%m-%d").to_string()).unwrap_or_default()
}

/// The branches, the busiest first, each with its sessions in time. Those without a lane of their own are one at the end.
fn branches(entries: &[SessionEntry], agents: &[Agent]) -> Vec<Branch> {
    let mut points: BTreeMap<&str, Vec<(i64, usize)>> = BTreeMap::new();
    for entry in entries {
        if let Some(time) = entry.time() {
            points.entry(entry.get("current_branch")).or_default().push((time.timestamp(), layer_of(entry, agents)));
        }
    }
    let all = || points.values().flatten().map(|(time, _)| *time);
    let (Some(first), Some(last)) = (all().min(), all().max()) else { return Vec::new() };
    let mut lanes: Vec<(&str, Vec<(i64, usize)>)> = points.into_iter().collect();
    lanes.sort_by_key(|(_, sessions)| std::cmp::Reverse(sessions.len()));
    let rest: Vec<(i64, usize)> = lanes.iter().skip(BRANCHES).flat_map(|(_, sessions)| sessions.clone()).collect();
    lanes.truncate(BRANCHES);
    if !rest.is_empty() {
        lanes.push(("other branches", rest));
    }
    let lane = |(name, sessions): (&str, Vec<(i64, usize)>)| Branch {
        name: if name.is_empty() { "no branch".to_owned() } else { text::one_line(name, 60) },
        sessions: sessions.len(),
        plot: plots::lane("When its sessions were", &sessions, first, last),
    };
    lanes.into_iter().map(lane).collect()
}

/// Where the sessions ran. Handoffs name the directory and not the machine, so that two machines with the same path are one.
fn places(entries: &[SessionEntry]) -> Vec<Place> {
    let mut found: BTreeMap<&str, (usize, &SessionEntry)> = BTreeMap::new();
    // The newest entry comes first.
    for entry in entries.iter().filter(|entry| !entry.get("repo_root").is_empty()) {
        found.entry(entry.get("repo_root")).or_insert((0, entry)).0 += 1;
    }
    let mut places: Vec<(&str, (usize, &SessionEntry))> = found.into_iter().collect();
    places.sort_by_key(|(_, (sessions, _))| std::cmp::Reverse(*sessions));
    let place = |(directory, (sessions, newest)): (&str, (usize, &SessionEntry))| Place {
        directory: text::one_line(directory, CELL),
        sessions,
        last: day(newest),
    };
    places.into_iter().take(PLACES).map(place).collect()
}

/// What the opened documents say.
#[derive(Default)]
struct Opened {
    decisions: Vec<Decision>,
    checks: Vec<Check>,
    passed: BTreeMap<String, usize>,
    failed: BTreeMap<String, usize>,
}

impl Opened {
    fn add(&mut self, entry: &SessionEntry, handoff: &Handoff, is_strange: bool) {
        let day: String = text::one_line(handoff.text("session_date"), 40).chars().take(10).collect();
        for decision in handoff.texts("decisions") {
            self.decisions.push(Decision {
                day: day.clone(),
                text: text::one_line(decision, 600),
                session: text::one_line(entry.get("session_id"), CELL),
                is_strange,
            });
        }
        for check in handoff.get("validation").and_then(Value::list).unwrap_or_default() {
            let field = |key: &str| check.get(key).and_then(Value::text).unwrap_or_default();
            self.add_check(text::one_line(field("command"), CELL), field("result"), &day, month(entry));
        }
    }

    /// Sessions come newest first, so the first result of a command is its last one.
    fn add_check(&mut self, command: String, result: &str, day: &str, month: Option<String>) {
        let has_passed = match result {
            "passed" => true,
            "failed" => false,
            _ => return,
        };
        if let Some(month) = month {
            let months = if has_passed { &mut self.passed } else { &mut self.failed };
            *months.entry(month).or_default() += 1;
        }
        let at = self.checks.iter().position(|check| check.command == command).unwrap_or_else(|| {
            let (last, day) = (result.to_owned(), day.to_owned());
            self.checks.push(Check { command, passed: 0, failed: 0, last, day });
            self.checks.len() - 1
        });
        let count = if has_passed { &mut self.checks[at].passed } else { &mut self.checks[at].failed };
        *count += 1;
    }

    fn finish(mut self, timeline: &mut Timeline) {
        let layers = [Layer::of(plots::GOOD, self.passed), Layer::of(plots::BAD, self.failed)];
        timeline.checks_plot = plots::months("Checks a month", &layers);
        timeline.decisions_left_out = self.decisions.len().saturating_sub(LISTED);
        self.decisions.truncate(LISTED);
        timeline.decisions = self.decisions;
        timeline.checks_left_out = self.checks.len().saturating_sub(LISTED);
        self.checks.truncate(LISTED);
        timeline.checks = self.checks;
    }
}
