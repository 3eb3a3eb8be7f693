//! The state of each agent: whether it is here, whether it calls us, and whether that works.

use std::path::{Path, PathBuf};

use super::Program;
use super::agent_file::{AgentFile, FileContent};
use super::{BlockWish, ServerWish, installer};
use crate::agents::{AGENTS, Agent, Places, Scope, detected};
use crate::base::fs;
use crate::error::Error;

/// What we know about one agent on this machine.
#[derive(Debug)]
pub struct AgentState {
    pub agent: &'static Agent,
    /// The program or directory that shows that it is used here.
    pub found: Option<PathBuf>,
    /// One for each scope with something of ours.
    pub wirings: Vec<Wiring>,
    /// Our plugin for the agent, if it is installed and turned on.
    pub plugin: Option<Plugin>,
    /// Settings files that the agent cannot read, or that an install cannot edit.
    pub broken: Vec<BrokenFile>,
}

/// Our plugin, which an agent keeps itself.
#[derive(Debug)]
pub struct Plugin {
    /// The file that says so.
    pub path: PathBuf,
    /// The program that its hooks call.
    pub program: Called,
    /// Settings that keep its hooks from running.
    pub obstacles: Vec<String>,
}

impl AgentState {
    /// Whether something makes the agent call us.
    pub fn is_connected(&self) -> bool {
        !self.wirings.is_empty() || self.plugin.is_some()
    }
}

/// A settings file that the agent cannot read, and why.
#[derive(Debug)]
pub struct BrokenFile {
    pub path: PathBuf,
    pub error: Error,
}

/// Our part in the files of one agent at one scope.
#[derive(Debug)]
pub struct Wiring {
    pub scope: Scope,
    /// The files with something of ours.
    pub files: Vec<PathBuf>,
    /// The agent's names for the events that call us. Agents without hooks have none.
    pub events: Vec<String>,
    /// Events that should call us but do not.
    pub missing: Vec<String>,
    /// Files through which the agent should call us, and that are not there.
    pub missing_files: Vec<PathBuf>,
    /// Skills, commands and instructions that an install would add.
    pub untaught: Vec<PathBuf>,
    /// Files of ours that somebody has changed.
    pub changed: Vec<PathBuf>,
    pub programs: Vec<Called>,
    /// The program that is registered as the MCP server.
    pub server: Option<Called>,
    /// Settings that keep the hooks from running although they are installed.
    pub obstacles: Vec<String>,
    /// Steps that only the user can do.
    pub clicks: Vec<String>,
}

/// A program that hooks call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    pub path: String,
    pub is: Which,
}

/// Which program that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The program that is running now.
    This,
    /// It exists, but is another file.
    Another,
    Missing,
}

impl Wiring {
    /// Whether nothing is missing and the called programs exist.
    pub fn is_whole(&self) -> bool {
        let is_there = self.programs.iter().all(|program| program.is != Which::Missing);
        self.missing.is_empty() && self.missing_files.is_empty() && self.obstacles.is_empty() && is_there
    }
}

/// The agents that are used on this machine and do not call us.
pub(crate) fn unconnected(places: &Places, program: &Program) -> Vec<&'static str> {
    let states = AGENTS.iter().filter(|agent| !agent.events.is_empty()).map(|agent| of(agent, places, program));
    states.filter(|state| state.found.is_some() && !state.is_connected()).map(|state| state.agent.name).collect()
}

/// The state of an agent. This changes nothing.
pub fn of(agent: &'static Agent, places: &Places, program: &Program) -> AgentState {
    let wirings = Scope::ALL.into_iter().filter_map(|scope| wiring(agent, places, scope, program)).collect();
    let found = Scope::ALL.into_iter().find_map(|scope| detected(agent, places, scope));
    let targets = Scope::ALL.into_iter().flat_map(|scope| targets(agent, places, scope, program));
    let broken = targets.filter_map(broken).collect();
    AgentState { agent, found, wirings, plugin: plugin(agent, places, program), broken }
}

/// Our plugin. It is made for every machine, so its hooks call the program that PATH finds.
fn plugin(agent: &'static Agent, places: &Places, program: &Program) -> Option<Plugin> {
    let path = (agent.plugin)(places)?;
    let called = Program::by_name().path().to_owned();
    let program = Called { is: which(&called, places, program), path: called };
    Some(Plugin { path, program, obstacles: (agent.obstacles)(places, Scope::User) })
}

/// The files of an agent at a scope. Where both scopes have the same file, as in the home directory, it is the user's.
fn targets(agent: &'static Agent, places: &Places, scope: Scope, program: &Program) -> Vec<AgentFile> {
    let of = |scope: Scope| {
        super::targets::targets(agent, places, scope, program, BlockWish::Keep, ServerWish::Write).unwrap_or_default()
    };
    let users: Vec<PathBuf> = match scope {
        Scope::User => Vec::new(),
        Scope::Project => of(Scope::User).iter().map(|target| real(&target.path)).collect(),
    };
    of(scope).into_iter().filter(|target| !users.contains(&real(&target.path))).collect()
}

fn real(path: &Path) -> PathBuf {
    fs::resolve(path).unwrap_or_else(|_| path.to_path_buf())
}

fn broken(target: AgentFile) -> Option<BrokenFile> {
    if !matches!(target.content, FileContent::Hooks(..)) {
        return None;
    }
    let checked = installer::read(&target.path).and_then(|(_, text)| text.map_or(Ok(()), |text| target.check(&text)));
    checked.err().map(|error| BrokenFile { path: target.path, error })
}

/// Whether the agent is connected at this scope: by what calls us or, for an agent without that, by instructions. Files that
/// only instruct it do not count otherwise, because agents share them.
pub fn is_wired(agent: &'static Agent, places: &Places, scope: Scope) -> bool {
    is_any_wired(&targets(agent, places, scope, &Program::by_name()))
}

fn is_any_wired(targets: &[AgentFile]) -> bool {
    let has_calls = targets.iter().any(AgentFile::is_essential);
    let is_block = |target: &AgentFile| matches!(target.content, FileContent::Block(_));
    let mut connecting =
        targets.iter().filter(|target| if has_calls { target.is_essential() } else { is_block(target) });
    connecting.any(|target| text(&target.path).is_some_and(|text| target.look(&text).is_there))
}

fn wiring(agent: &'static Agent, places: &Places, scope: Scope, program: &Program) -> Option<Wiring> {
    let targets = targets(agent, places, scope, program);
    if !is_any_wired(&targets) {
        return None;
    }
    let mut wiring = Wiring {
        scope,
        files: Vec::new(),
        events: Vec::new(),
        missing: Vec::new(),
        missing_files: Vec::new(),
        untaught: Vec::new(),
        changed: Vec::new(),
        programs: Vec::new(),
        server: None,
        obstacles: (agent.obstacles)(places, scope),
        clicks: (agent.clicks)(places, scope),
    };
    for target in targets {
        if target.is_server() {
            let seen = text(&target.path).map(|text| target.look(&text)).unwrap_or_default();
            let called = seen.programs.into_iter().next();
            wiring.server = called.map(|path| Called { is: which(&path, places, program), path });
            if wiring.server.is_some() && !wiring.files.contains(&target.path) {
                wiring.files.push(target.path);
            }
            continue;
        }
        let seen = text(&target.path).map(|text| target.look(&text)).unwrap_or_default();
        if !seen.is_there {
            if target.is_wanted && target.is_essential() {
                wiring.missing_files.push(target.path);
            } else if target.is_wanted && !fs::is_taken(&target.path) {
                wiring.untaught.push(target.path);
            }
            continue;
        }
        if let FileContent::Hooks(hooks, _) = &target.content {
            let is_missing = |event: &&str| !seen.events.iter().any(|seen| seen == event);
            let missing = hooks.entries.iter().map(|(event, _)| *event).filter(is_missing);
            wiring.missing.extend(missing.map(str::to_owned));
        }
        if seen.is_changed {
            wiring.changed.push(target.path.clone());
        }
        wiring.files.push(target.path);
        wiring.events.extend(seen.events);
        for path in seen.programs {
            let called = Called { is: which(&path, places, program), path };
            if !wiring.programs.contains(&called) {
                wiring.programs.push(called);
            }
        }
    }
    Some(wiring)
}

fn which(path: &str, places: &Places, program: &Program) -> Which {
    let place = if path.contains('/') { Some(PathBuf::from(path)) } else { places.program(path) };
    let Some(real) = place.and_then(|place| fs::real_if_exists(&place)) else { return Which::Missing };
    if fs::real_if_exists(Path::new(program.path())).is_some_and(|this| this == real) {
        Which::This
    } else {
        Which::Another
    }
}

fn text(path: &Path) -> Option<String> {
    String::from_utf8(fs::read_if_exists(path).ok().flatten()?).ok()
}
