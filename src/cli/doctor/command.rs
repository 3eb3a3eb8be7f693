//! The arguments of `doctor`, and how its answer looks.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::agents::{ExaminedAgent, Known};
use super::diagnosis::{Diagnosis, Health, broken, diagnosis};
use super::{agents, page, project, starts};
use crate::agents::Agent;
use crate::agents::call_log;
use crate::agents::state::Wiring;
use crate::base::text;
use crate::cli::ui::StepMark;
use crate::cli::{Context, render};
use crate::error::{Category, Error, Result};

/// What findings about the config are about.
const CONFIG: &str = "config";

/// Check the agents, the config, the database and git of this project; exits with 5 if something is broken
#[derive(Args)]
pub(crate) struct Doctor {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Show what this agent would receive from its hooks here, with its size; nothing is changed
    #[arg(long, value_name = "AGENT")]
    simulate: Option<String>,
}

impl Doctor {
    pub(crate) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        if let Some(name) = &self.simulate {
            return simulate(context, crate::agents::find(name)?, self.json);
        }
        let opened = context.examined_project(None, None);
        let root = opened.as_ref().map_or_else(|_| crate::project::root(&context.cwd), |project| project.root.clone());
        let mut findings = vec![project::program(), project::about_root(&root)];
        match &opened {
            Ok(project) => findings.extend(project::about_project(project)),
            Err(error) => findings.extend(broken(CONFIG, error, "fix the config")),
        }
        findings.push(project::about_git(&root));
        findings.extend(project::about_trust());
        let known = Known {
            with_tools: opened.as_ref().is_ok_and(|project| project.config.recalls_before_tools),
            calls: opened.as_ref().ok().map(call_log::entries),
            starts: opened.as_ref().map(starts::starts).unwrap_or_default(),
        };
        let agents = agents::about_agents(&root, &known).unwrap_or_else(|error| {
            findings.extend(broken("agents", &error, "fix this, then try again"));
            Vec::new()
        });
        findings.extend(agents.iter().flat_map(|examined| examined.findings.iter().cloned()));
        let is_broken = findings.iter().any(|found| found.health == Health::Broken);
        if self.json {
            context.ui.answer_json(&as_json(&root, &findings, &agents, is_broken))
        } else {
            print(context, &findings, &agents, opened.as_ref().err())
        }
        Ok(if is_broken { Category::NotGood.exit_code() } else { 0 })
    }
}

fn print(context: &mut Context<'_>, findings: &[Diagnosis], agents: &[ExaminedAgent], error: Option<&Error>) {
    match error.and_then(|error| error.problems().map(|listing| (error, listing))) {
        // A config is shown as `check` shows it, with the lines that are wrong, and not again in one line each.
        Some((error, listing)) => {
            render::error(context.ui, error, &context.cwd);
            let problems = text::count(listing.problems.len(), "problem");
            let says = format!("`{}` has {problems}, shown above", listing.path.display());
            let mut shown = vec![diagnosis(CONFIG, Health::Broken, says, None)];
            shown.extend(findings.iter().filter(|found| found.about != CONFIG).cloned());
            page::print(context.ui, &shown, agents);
        }
        None => page::print(context.ui, findings, agents),
    }
    let broken = findings.iter().filter(|found| found.health == Health::Broken).count();
    if broken > 0 {
        context.ui.tell_step(StepMark::Failed, &format!("{} broken", text::count(broken, "thing")), "");
    }
}

fn as_json(root: &Path, findings: &[Diagnosis], agents: &[ExaminedAgent], is_broken: bool) -> Value {
    let finding = |found: &Diagnosis| json!({ "about": found.about, "state": found.health.name(), "says": found.says, "remedy": found.remedy });
    let agent = |examined: &ExaminedAgent| {
        let state = &examined.state;
        let wirings: Vec<Value> = state.wirings.iter().map(wiring_json).collect();
        json!({
            "name": state.agent.name,
            "state": examined.standing().name(),
            "found": state.found.as_ref().map(|path| path.display().to_string()),
            "wired": wirings,
            "plugin": state.plugin.as_ref().map(|plugin| plugin.path.display().to_string()),
            "broken_files": state.broken.iter().map(|file| file.path.display().to_string()).collect::<Vec<_>>(),
            "mcp_started": examined.served.as_ref().map(|start| start.at.clone()),
            "starts": examined.starts.iter().map(starts::start_json).collect::<Vec<_>>(),
            "last": examined.last.iter().map(|call| {
                json!({ "event": call.event, "at": call.at, "duration_ms": call.millis, "said": call.what })
            }).collect::<Vec<_>>(),
        })
    };
    json!({
        "schema": "agent-handover/doctor/1",
        "project": root.display().to_string(),
        "broken": is_broken,
        "findings": findings.iter().map(finding).collect::<Vec<_>>(),
        "agents": agents.iter().map(agent).collect::<Vec<_>>(),
    })
}

fn wiring_json(wiring: &Wiring) -> Value {
    let paths = |paths: &[std::path::PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    json!({
        "scope": wiring.scope.name(),
        "whole": wiring.is_whole(),
        "files": paths(&wiring.files),
        "events": wiring.events,
        "missing": wiring.missing,
        "missing_files": paths(&wiring.missing_files),
        "not_installed": paths(&wiring.untaught),
        "changed": paths(&wiring.changed),
        "programs": wiring.programs.iter().map(|called| called.path.clone()).collect::<Vec<_>>(),
        "mcp_server": wiring.server.as_ref().map(|called| called.path.clone()),
        "obstacles": wiring.obstacles,
        "clicks": wiring.clicks,
    })
}

fn simulate(context: &mut Context<'_>, agent: &'static Agent, is_json: bool) -> Result<u8> {
    let project = context.examined_project(None, None)?;
    let answers = super::simulate::simulate(&project, agent);
    if is_json {
        let document = json!({ "schema": "agent-handover/doctor-simulate/1", "agent": agent.name, "answers": answers });
        context.ui.answer_json(&document);
        return Ok(0);
    }
    page::print_simulation(context.ui, &answers);
    Ok(0)
}
