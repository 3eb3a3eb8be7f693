//! `doctor`: is everything as it should be, for each agent and for this project, and what to do if not.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::Context;
use super::ui::StepMark;
use crate::agents::state::{self, State, Which, Wiring};
use crate::agents::{self, AGENTS, Agent, Event, Places, Program, payload};
use crate::base::{env, lock, text};
use crate::checkpoint::{StepState, Store};
use crate::engine::{DEATHS_TO_PARK, Plan};
use crate::error::{Category, Result};
use crate::git::{self, Git};
use crate::hook::{self, log::Entry};
use crate::project::{self, Project};
use crate::publish::Ledger;
use crate::warmup;

/// Say whether agents reach agent-handover and whether this project is in order; exit code 5 if something is broken
#[derive(Args)]
pub struct Doctor {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Show what this agent would receive from its hooks here, with size and tokens; nothing is changed
    #[arg(long, value_name = "AGENT")]
    simulate: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Good,
    /// Works, but somebody should know.
    Remark,
    Broken,
}

impl Health {
    fn name(self) -> &'static str {
        match self {
            Health::Good => "good",
            Health::Remark => "remark",
            Health::Broken => "broken",
        }
    }
}

/// One thing that was looked at.
struct Finding {
    about: String,
    health: Health,
    says: String,
    remedy: Option<String>,
}

fn finding(about: &str, health: Health, says: impl Into<String>, remedy: Option<&str>) -> Finding {
    Finding { about: about.to_owned(), health, says: says.into(), remedy: remedy.map(str::to_owned) }
}

impl Doctor {
    pub fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        if let Some(name) = &self.simulate {
            return simulate(context, agents::find(name)?, self.json);
        }
        let opened = context.project(None, None);
        let root = opened.as_ref().map_or_else(|_| project::root(&context.cwd), |project| project.root.clone());
        let mut findings = vec![program()];
        match &opened {
            Ok(project) => findings.extend(about_project(project)),
            Err(error) => {
                let remedy = error.hints().first().map_or("mend the config", String::as_str);
                findings.push(finding("config", Health::Broken, error.one_line(), Some(remedy)));
            }
        }
        findings.push(about_git(&root));
        let calls = opened.as_ref().map(hook::log::entries).unwrap_or_default();
        let agents = about_agents(&root, &calls)?;
        findings.extend(agents.iter().flat_map(|(_, findings)| findings).map(|found| Finding {
            about: found.about.clone(),
            says: found.says.clone(),
            remedy: found.remedy.clone(),
            ..*found
        }));
        let is_broken = findings.iter().any(|found| found.health == Health::Broken);
        if self.json {
            context.ui.answer_json(&as_json(&findings, &agents, &calls, is_broken))
        } else {
            print(context, &findings)
        }
        Ok(if is_broken { Category::NotGood.exit_code() } else { 0 })
    }
}

fn print(context: &mut Context<'_>, findings: &[Finding]) {
    for found in findings {
        let sign = match found.health {
            Health::Good => "ok",
            Health::Remark => "note",
            Health::Broken => "BROKEN",
        };
        context.ui.answer(&format!("{sign:<6} {}: {}", found.about, found.says));
        if let Some(remedy) = &found.remedy {
            context.ui.answer(&format!("       -> {remedy}"));
        }
    }
    let broken = findings.iter().filter(|found| found.health == Health::Broken).count();
    if broken > 0 {
        context.ui.tell_step(StepMark::Failed, &format!("{} broken", text::count(broken, "thing")), "");
    }
}

fn as_json(findings: &[Finding], agents: &[(State, Vec<Finding>)], calls: &[Entry], is_broken: bool) -> Value {
    let finding = |found: &Finding| json!({ "about": found.about, "state": found.health.name(), "says": found.says, "remedy": found.remedy });
    let agent = |(state, _): &(State, Vec<Finding>)| {
        let wirings: Vec<Value> = state.wirings.iter().map(wiring_json).collect();
        json!({
            "name": state.agent.name,
            "found": state.found.as_ref().map(|path| path.display().to_string()),
            "wired": wirings,
            "last": last_calls(state.agent, calls).into_iter().map(|call| {
                json!({ "event": call.event, "at": call.at, "duration_ms": call.millis, "said": call.what })
            }).collect::<Vec<_>>(),
        })
    };
    json!({
        "schema": "agent-handover/doctor/1",
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
        "changed": paths(&wiring.changed),
        "programs": wiring.programs.iter().map(|called| called.path.clone()).collect::<Vec<_>>(),
        "obstacles": wiring.obstacles,
        "clicks": wiring.clicks,
    })
}

fn program() -> Finding {
    let version = env!("CARGO_PKG_VERSION");
    match Program::this() {
        Err(error) => finding("program", Health::Broken, error.one_line(), error.hints().first().map(String::as_str)),
        Ok(program) if program.is_short_lived() => finding(
            "program",
            Health::Remark,
            format!("{version} at {}, which may not stay there", program.path()),
            Some("install it where it stays, then run `agent-handover install` again"),
        ),
        Ok(program) => finding("program", Health::Good, format!("{version} at {}", program.path()), None),
    }
}

fn about_project(project: &Project) -> Vec<Finding> {
    let mut findings = vec![config(project), plan(project)];
    findings.extend(database(project));
    findings.push(match lock::holder(&project.lock()) {
        None => finding("lock", Health::Good, "free", None),
        Some(owner) => finding("lock", Health::Good, format!("held: {}", lock::describe(owner.as_ref())), None),
    });
    findings.push(match project.brake().paused() {
        None => finding("pause", Health::Good, "not paused", None),
        Some(pause) => {
            let remedy = format!("remove {}, or `agent-handover unpause`", pause.path.display());
            finding("pause", Health::Remark, text::one_line(&pause.to_string(), 300), Some(&remedy))
        }
    });
    findings
}

fn config(project: &Project) -> Finding {
    let Some((file, _)) = project.config.source() else {
        return finding("config", Health::Good, "none: the built-in plan runs, and nothing leaves this machine", None);
    };
    let file = file.display();
    if warmup::needs_consent(project) {
        let says = format!("{file} is not allowed: hooks leave out its commands, its publishing and places outside");
        return finding("config", Health::Remark, says, Some("read it, then run `agent-handover allow`"));
    }
    let consent = if project.is_allowed() { "allowed" } else { "needs no consent" };
    finding("config", Health::Good, format!("{file}, {consent}"), None)
}

fn plan(project: &Project) -> Finding {
    let plan = Plan::of(&project.config);
    let says = format!("{}. {}", super::config::plan_name(project, &plan), super::config::publishing(&plan));
    finding("plan", Health::Good, says, None)
}

fn database(project: &Project) -> Vec<Finding> {
    let path = project.checkpoint.display();
    let broken = |error: crate::error::Error| {
        let remedy = error.hints().first().map_or("look at the file", String::as_str);
        vec![finding("database", Health::Broken, error.one_line(), Some(remedy))]
    };
    let store = match Store::read(&project.checkpoint) {
        Ok(Some(store)) => store,
        Ok(None) => return vec![finding("database", Health::Good, "none yet: nothing was handed over here", None)],
        Err(error) => return broken(error),
    };
    let looked = store.examine().and_then(|()| store.unfinished(DEATHS_TO_PARK));
    let unfinished = match looked {
        Ok(unfinished) => unfinished,
        Err(error) => return broken(error),
    };
    let mut findings = vec![finding("database", Health::Good, format!("{path} is sound"), None)];
    let ledger = Ledger::read(&project.state);
    if !ledger.due.is_empty() {
        let says = format!("a push is due ({})", text::one_line(&ledger.due, 200));
        findings.push(finding("push", Health::Remark, says, Some("`agent-handover push` delivers")));
    }
    if unfinished.is_empty() {
        findings.push(finding("handovers", Health::Good, "none is unfinished", None));
        return findings;
    }
    let ids: Vec<&str> = unfinished.iter().map(|run| run.id.as_str()).take(5).collect();
    let says = format!("{} unfinished: {}", text::count(unfinished.len(), "handover"), ids.join(", "));
    findings.push(finding("handovers", Health::Remark, says, Some("`agent-handover run --resume` finishes them")));
    let is_due = |run: &crate::checkpoint::Run| {
        let steps = store.steps(run.seq).unwrap_or_default();
        steps.iter().any(|step| step.kind == "publish" && !matches!(step.state, StepState::Done | StepState::Skipped))
    };
    let due = unfinished.iter().filter(|run| is_due(run)).count();
    if due > 0 {
        let says = format!("{} not published", text::count(due, "handover"));
        findings.push(finding("publishing", Health::Remark, says, Some("`agent-handover run --resume` tries again")));
    }
    findings
}

fn about_git(root: &Path) -> Finding {
    let answer = Git::at(root).ask(&["--version"]);
    match answer.map(|answer| String::from_utf8_lossy(&answer.stdout).trim().to_owned()) {
        Err(error) => finding(
            "git",
            Health::Remark,
            format!("{}: handovers have no git facts", error.one_line()),
            Some("install git, or see that the PATH of your agents finds it"),
        ),
        Ok(version) => match git::top_level(root) {
            Some(top) => finding("git", Health::Good, format!("{version}, repository {}", top.display()), None),
            None => finding("git", Health::Good, format!("{version}; this is no repository"), None),
        },
    }
}

fn about_agents(root: &Path, calls: &[Entry]) -> Result<Vec<(State, Vec<Finding>)>> {
    let places = Places::here(root)?;
    let program = Program::this()?;
    let each = AGENTS.iter().map(|agent| {
        let state = state::of(agent, &places, &program);
        let findings = about_agent(&state, calls);
        (state, findings)
    });
    Ok(each.collect())
}

fn about_agent(state: &State, calls: &[Entry]) -> Vec<Finding> {
    let name = state.agent.name;
    let install = format!("agent-handover install {name}");
    let Some(first) = state.wirings.first() else {
        // Instructions for whoever reads them are nobody's to miss.
        return match &state.found {
            Some(found) if name != "agents-md" => {
                let says = format!("found ({}), but it does not call agent-handover", found.display());
                vec![finding(name, Health::Remark, says, Some(&install))]
            }
            _ => vec![finding(name, Health::Good, "not found here", None)],
        };
    };
    let mut findings = Vec::new();
    for wiring in &state.wirings {
        findings.extend(about_wiring(name, wiring, &install));
    }
    if state.wirings.len() > 1 {
        let remedy = format!("agent-handover uninstall {name} --scope project");
        findings.push(finding(
            name,
            Health::Remark,
            "installed for you and in this project: each call comes twice",
            Some(&remedy),
        ));
    }
    if !first.events.is_empty() || state.wirings.iter().any(|wiring| !wiring.programs.is_empty()) {
        let last = last_calls(state.agent, calls);
        let told: Vec<String> =
            last.iter().map(|call| format!("{} {} ({} ms)", call.event, call.at, call.millis)).collect();
        let says = if told.is_empty() {
            "has not called in this project yet".to_owned()
        } else {
            format!("last called: {}", told.join(", "))
        };
        findings.push(finding(name, Health::Good, says, None));
    }
    findings
}

fn about_wiring(name: &str, wiring: &Wiring, install: &str) -> Vec<Finding> {
    let scope = wiring.scope.name();
    let install = format!("{install} --scope {scope}");
    let mut findings = Vec::new();
    let mut add = |health, says: String, remedy: Option<&str>| findings.push(finding(name, health, says, remedy));
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
        add(Health::Broken, format!("does not call at {}", wiring.missing.join(", ")), Some(&install));
    }
    for path in &wiring.missing_files {
        add(Health::Broken, format!("{} is missing", path.display()), Some(&install));
    }
    for path in &wiring.changed {
        let says = format!("{} was changed by somebody, and is theirs since", path.display());
        add(Health::Remark, says, Some("move it away and install again, if that was not meant"));
    }
    for obstacle in &wiring.obstacles {
        add(Health::Broken, obstacle.clone(), Some("take that setting back"));
    }
    for click in &wiring.clicks {
        add(Health::Remark, "may still need you".to_owned(), Some(click));
    }
    if wiring.is_whole() {
        let files: Vec<String> = wiring.files.iter().map(|path| path.display().to_string()).collect();
        findings.insert(0, finding(name, Health::Good, format!("wired ({scope}): {}", files.join(", ")), None));
    }
    findings
}

/// The last call of each event.
fn last_calls(agent: &Agent, calls: &[Entry]) -> Vec<Entry> {
    let mut last: Vec<Entry> = Vec::new();
    for call in calls.iter().filter(|call| call.agent == agent.name) {
        match last.iter_mut().find(|known| known.event == call.event) {
            Some(known) => *known = call.clone(),
            None => last.push(call.clone()),
        }
    }
    last
}

/// One payload of each event, and the answer.
fn simulate(context: &mut Context<'_>, agent: &'static Agent, as_json: bool) -> Result<u8> {
    let project = context.project(None, None)?;
    let mut answers = Vec::new();
    let mut told: Vec<&Event> = Vec::new();
    let generic = [("SessionStart", Event::SessionStart)];
    let events: &[(&str, Event)] = if agent.events.is_empty() { &generic } else { agent.events };
    for (name, event) in events {
        if told.contains(&event) {
            continue;
        }
        told.push(event);
        let sources: &[Option<&str>] = match event {
            Event::SessionStart => &[Some("startup"), Some("resume"), Some("compact")],
            _ => &[None],
        };
        for source in sources {
            let sent = payload::sample(agent, name, event, &project.root, *source);
            let call = agents::recognise(sent.to_string().as_bytes(), Some(agent.name), &|name| env::get_text(name));
            let received = hook::simulate(&project, &call);
            answers.push(json!({
                "event": name, "source": source, "payload": sent, "received": received,
                "bytes": received.len(), "tokens": warmup::tokens(&received),
            }));
        }
    }
    if as_json {
        let document = json!({ "schema": "agent-handover/doctor-simulate/1", "agent": agent.name, "answers": answers });
        context.ui.answer_json(&document);
        return Ok(0);
    }
    for answer in &answers {
        let source = answer["source"].as_str().map(|source| format!(" ({source})")).unwrap_or_default();
        let name = answer["event"].as_str().unwrap_or_default();
        context.ui.answer(&format!("{name}{source}: {} bytes, about {} tokens", answer["bytes"], answer["tokens"]));
        let received = answer["received"].as_str().unwrap_or_default();
        if !received.is_empty() {
            context.ui.answer(received);
        }
    }
    Ok(0)
}
