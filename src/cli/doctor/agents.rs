//! Examines the hooks of each agent.

use std::path::Path;

use super::diagnosis::{Diagnosis, Health, broken, diagnosis};
use super::starts::{about_starts, last_starts};
use crate::agents::call_log::{self, Entry};
use crate::agents::state::{self, AgentState, BrokenFile, Plugin, Which, Wiring};
use crate::agents::{AGENTS, Agent, Places, Program};
use crate::checkpoint::Receipt;
use crate::error::Result;
use crate::transcript::{self, Unread};

/// One agent with what was found out about it.
pub(super) struct ExaminedAgent {
    pub state: AgentState,
    /// The last call of each event in this project.
    pub last: Vec<Entry>,
    /// When its client last started our MCP server in this project.
    pub served: Option<Entry>,
    /// The texts that its last sessions got when they started, newest first.
    pub starts: Vec<Receipt>,
    pub findings: Vec<Diagnosis>,
}

/// How far an agent is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing on this machine shows that it is used.
    Absent,
    /// It is used here, and does not call us.
    Found,
    /// Its settings call us.
    Wired,
    /// A hook of it has run in this project.
    Fired,
    /// Something keeps it from calling us.
    Broken,
}

impl Standing {
    pub(super) fn name(self) -> &'static str {
        match self {
            Standing::Absent => "absent",
            Standing::Found => "found",
            Standing::Wired => "wired",
            Standing::Fired => "fired",
            Standing::Broken => "broken",
        }
    }
}

impl ExaminedAgent {
    pub(super) fn standing(&self) -> Standing {
        if self.findings.iter().any(|found| found.health == Health::Broken) {
            Standing::Broken
        } else if !self.state.is_connected() {
            if self.state.found.is_some() { Standing::Found } else { Standing::Absent }
        } else if self.last.is_empty() {
            Standing::Wired
        } else {
            Standing::Fired
        }
    }
}

/// What the project knows about its agents.
pub(super) struct Known {
    /// Whether hooks before tools are wanted.
    pub with_tools: bool,
    /// The hook calls of this project, if they are known.
    pub calls: Option<Vec<Entry>>,
    /// What sessions got when they started, newest first.
    pub starts: Vec<Receipt>,
}

/// Examines each agent.
pub(super) fn about_agents(root: &Path, known: &Known) -> Result<Vec<ExaminedAgent>> {
    let Known { with_tools, calls, starts } = known;
    let calls = calls.as_deref();
    let places = Places::here(root)?.with_tools(*with_tools);
    let program = Program::this()?;
    let unread = transcript::unread(&[root.to_path_buf()]);
    let each = AGENTS.iter().map(|agent| {
        let state = state::of(agent, &places, &program);
        let (served, last): (Vec<Entry>, Vec<Entry>) = last_calls(agent, calls.unwrap_or_default())
            .into_iter()
            .partition(|call| call.event == call_log::SERVER_START);
        let served = served.into_iter().next();
        let fired = calls.map(|_| last.as_slice());
        let mut findings = about_agent(&state, fired);
        findings.extend(about_context(&state, &places));
        findings.extend(about_server(&state, served.as_ref()));
        findings.extend(unread.iter().filter(|unread| unread.agent == agent.name).map(about_unread));
        let starts = last_starts(starts, agent.name);
        findings.extend(about_starts(agent.name, &starts));
        ExaminedAgent { findings, last, served, starts, state }
    });
    Ok(each.collect())
}

fn about_agent(state: &AgentState, last: Option<&[Entry]>) -> Vec<Diagnosis> {
    let name = state.agent.name;
    let install = format!("agent-handover install {name}");
    let mut findings: Vec<Diagnosis> = state.broken.iter().flat_map(|file| about_broken(state.agent, file)).collect();
    if !state.is_connected() {
        // An agent without events reads instructions and calls nobody, so nothing is missing.
        match &state.found {
            Some(found) if !state.agent.events.is_empty() => {
                let says = format!("found ({}), but it does not call agent-handover", found.display());
                findings.push(diagnosis(name, Health::Remark, says, Some(&install)));
            }
            _ => findings.push(diagnosis(name, Health::Good, "not found here", None)),
        }
        return findings;
    }
    for wiring in &state.wirings {
        let is_read = !state.broken.iter().any(|file| wiring.files.contains(&file.path));
        findings.extend(about_wiring(name, wiring, &install, is_read));
    }
    findings.extend(state.plugin.iter().flat_map(|plugin| about_plugin(state, plugin)));
    if state.wirings.len() > 1 {
        let remedy = format!("agent-handover uninstall {name} --scope project");
        findings.push(diagnosis(
            name,
            Health::Remark,
            "installed for you and in this project: each hook runs twice",
            Some(&remedy),
        ));
    }
    let has_hooks = |wiring: &Wiring| !wiring.events.is_empty() || !wiring.programs.is_empty();
    if state.plugin.is_some() || state.wirings.iter().any(has_hooks) {
        findings.push(diagnosis(name, Health::Good, about_calls(last), None));
    }
    findings
}

/// How an agent gets its context if it drops the answer of its hooks.
fn about_context(state: &AgentState, places: &Places) -> Option<Diagnosis> {
    let says = "drops what hooks answer at its start; its rule asks the agent to run `agent-handover warmup`";
    let is_so = !state.wirings.is_empty() && state.agent.drops_answers(places);
    is_so.then(|| diagnosis(state.agent.name, Health::Good, says, None))
}

/// Our plugin, which calls us as the hooks do that `install` writes.
fn about_plugin(state: &AgentState, plugin: &Plugin) -> Vec<Diagnosis> {
    let name = state.agent.name;
    let called = &plugin.program;
    let mut findings: Vec<Diagnosis> = match called.is {
        Which::This => Vec::new(),
        Which::Another => {
            let says = format!("its plugin calls another program, the `{}` that PATH finds", called.path);
            vec![diagnosis(name, Health::Remark, says, Some("put this program first on PATH, or remove it"))]
        }
        Which::Missing => {
            let says = format!("its plugin calls `{}`, which PATH does not find", called.path);
            vec![diagnosis(name, Health::Broken, says, Some("put this program into a directory of PATH"))]
        }
    };
    let obstacle = |says: &String| diagnosis(name, Health::Broken, says.clone(), Some("undo that setting"));
    findings.extend(plugin.obstacles.iter().map(obstacle));
    if findings.iter().all(|found| found.health != Health::Broken) {
        let says = format!("wired (plugin): {}", plugin.path.display());
        findings.insert(0, diagnosis(name, Health::Good, says, None));
    }
    if !state.wirings.is_empty() {
        let says = "connected by `install` and by its plugin: the second call of each event does nothing";
        let remedy = format!("agent-handover uninstall {name}");
        findings.push(diagnosis(name, Health::Remark, says, Some(&remedy)));
    }
    findings
}

/// What is known about the MCP server, where it is registered or was started.
fn about_server(state: &AgentState, served: Option<&Entry>) -> Option<Diagnosis> {
    let name = state.agent.name;
    let install = format!("agent-handover install {name}");
    let called = state.wirings.iter().find_map(|wiring| wiring.server.as_ref());
    if let Some(called) = called.filter(|called| called.is == Which::Missing) {
        let says = format!("its MCP server is {}, which is not there", called.path);
        return Some(diagnosis(name, Health::Broken, says, Some(&install)));
    }
    let says = match (called, served) {
        (_, Some(start)) => format!("MCP server started here: {}", start.at),
        (Some(_), None) => "MCP server registered, and not started here yet".to_owned(),
        (None, None) => return None,
    };
    Some(diagnosis(name, Health::Good, says, None))
}

/// Sessions that nobody hands over from their transcript.
fn about_unread(unread: &Unread) -> Diagnosis {
    let says = format!("{}: {}", unread.path.display(), unread.why);
    let remedy = "nothing of it is handed over, except what the agent tells its hooks";
    diagnosis(unread.agent, Health::Remark, says, Some(remedy))
}

fn about_broken(agent: &Agent, file: &BrokenFile) -> Vec<Diagnosis> {
    let remedy = format!("fix the file: {} cannot use it as it is", agent.title);
    let found = broken(agent.name, &file.error, &remedy).into_iter();
    found.map(|found| Diagnosis { remedy: Some(remedy.clone()), ..found }).collect()
}

fn about_calls(last: Option<&[Entry]>) -> String {
    let shown = |call: &Entry| format!("{} {} ({} ms)", call.event, call.at, call.millis);
    match last {
        None => "whether it fired here is not known, because the config cannot be read".to_owned(),
        Some([]) => "has not fired here: none of its hooks has run in this project yet".to_owned(),
        Some(last) => format!("fired here: {}", last.iter().map(shown).collect::<Vec<_>>().join(", ")),
    }
}

fn about_wiring(name: &str, wiring: &Wiring, install: &str, is_read: bool) -> Vec<Diagnosis> {
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
    for path in &wiring.untaught {
        add(Health::Remark, format!("{} is not installed", path.display()), Some(&install));
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
    if is_read && wiring.is_whole() {
        let files: Vec<String> = wiring.files.iter().map(|path| path.display().to_string()).collect();
        findings.insert(0, diagnosis(name, Health::Good, format!("wired ({scope}): {}", files.join(", ")), None));
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
