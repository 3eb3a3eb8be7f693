//! Examines the hooks of each agent.

use std::path::Path;

use super::diagnosis::{Diagnosis, Health, diagnosis};
use crate::agents::state::{self, AgentState, Which, Wiring};
use crate::agents::{AGENTS, Agent, Places, Program};
use crate::error::Result;
use crate::hook::log::Entry;

/// Each agent with what was found out about it. `calls` are the hook calls of this project.
pub(super) fn about_agents(root: &Path, calls: &[Entry]) -> Result<Vec<(AgentState, Vec<Diagnosis>)>> {
    let places = Places::here(root)?;
    let program = Program::this()?;
    let each = AGENTS.iter().map(|agent| {
        let state = state::of(agent, &places, &program);
        let findings = about_agent(&state, calls);
        (state, findings)
    });
    Ok(each.collect())
}

fn about_agent(state: &AgentState, calls: &[Entry]) -> Vec<Diagnosis> {
    let name = state.agent.name;
    let install = format!("agent-handover install {name}");
    let Some(first) = state.wirings.first() else {
        // An agent without events reads instructions and calls nobody, so nothing is missing.
        return match &state.found {
            Some(found) if !state.agent.events.is_empty() => {
                let says = format!("found ({}), but it does not call agent-handover", found.display());
                vec![diagnosis(name, Health::Remark, says, Some(&install))]
            }
            _ => vec![diagnosis(name, Health::Good, "not found here", None)],
        };
    };
    let mut findings = Vec::new();
    for wiring in &state.wirings {
        findings.extend(about_wiring(name, wiring, &install));
    }
    if state.wirings.len() > 1 {
        let remedy = format!("agent-handover uninstall {name} --scope project");
        findings.push(diagnosis(
            name,
            Health::Remark,
            "installed for you and in this project: each hook runs twice",
            Some(&remedy),
        ));
    }
    if !first.events.is_empty() || state.wirings.iter().any(|wiring| !wiring.programs.is_empty()) {
        let last = last_calls(state.agent, calls);
        let shown: Vec<String> =
            last.iter().map(|call| format!("{} {} ({} ms)", call.event, call.at, call.millis)).collect();
        let says = if shown.is_empty() {
            "has not called agent-handover in this project yet".to_owned()
        } else {
            format!("last called: {}", shown.join(", "))
        };
        findings.push(diagnosis(name, Health::Good, says, None));
    }
    findings
}

fn about_wiring(name: &str, wiring: &Wiring, install: &str) -> Vec<Diagnosis> {
    let scope = wiring.scope.name();
    let install = format!("{install} --scope {scope}");
    let mut findings = Vec::new();
    let mut add = |health, says: String, remedy: Option<&str>| findings.push(diagnosis(name, health, says, remedy));
    for called in &wiring.programs {
        match called.is {
            Which::This => {}
            Which::Another => {
                add(Health::Remark, format!("its hooks call another program, {}", called.path), Some(&install));
            }
            Which::Missing => {
                add(Health::Broken, format!("its hooks call {}, which is not there", called.path), Some(&install));
            }
        }
    }
    if !wiring.missing.is_empty() {
        add(Health::Broken, format!("has no hook for {}", wiring.missing.join(", ")), Some(&install));
    }
    for path in &wiring.missing_files {
        add(Health::Broken, format!("{} is missing", path.display()), Some(&install));
    }
    for path in &wiring.changed {
        let says = format!("{} was edited after `install` wrote it, and is no longer updated", path.display());
        add(Health::Remark, says, Some("if that was a mistake, move it away and install again"));
    }
    for obstacle in &wiring.obstacles {
        add(Health::Broken, obstacle.clone(), Some("undo that setting"));
    }
    for click in &wiring.clicks {
        add(Health::Remark, "may wait for your answer".to_owned(), Some(click));
    }
    if wiring.is_whole() {
        let files: Vec<String> = wiring.files.iter().map(|path| path.display().to_string()).collect();
        findings.insert(0, diagnosis(name, Health::Good, format!("wired ({scope}): {}", files.join(", ")), None));
    }
    findings
}

/// The last call of each event.
pub(super) fn last_calls(agent: &Agent, calls: &[Entry]) -> Vec<Entry> {
    let mut last: Vec<Entry> = Vec::new();
    for call in calls.iter().filter(|call| call.agent == agent.name) {
        match last.iter_mut().find(|known| known.event == call.event) {
            Some(known) => *known = call.clone(),
            None => last.push(call.clone()),
        }
    }
    last
}
