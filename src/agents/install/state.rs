//! The state of each agent: whether it is here, whether it calls us, and whether that works.

use std::path::{Path, PathBuf};

use super::Program;
use super::agent_file::{AgentFile, FileContent, WholeFile};
use crate::agents::{Agent, Places, Scope, detected};
use crate::base::fs;

/// What we know about one agent on this machine.
#[derive(Debug)]
pub struct AgentState {
    pub agent: &'static Agent,
    /// The program or directory that shows that it is used here.
    pub found: Option<PathBuf>,
    /// One for each scope with something of ours.
    pub wirings: Vec<Wiring>,
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
    /// Files that an install would add.
    pub missing_files: Vec<PathBuf>,
    /// Files of ours that somebody has changed.
    pub changed: Vec<PathBuf>,
    pub programs: Vec<Called>,
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

/// The state of an agent. This changes nothing. A file that cannot be read counts as not ours.
pub fn of(agent: &'static Agent, places: &Places, program: &Program) -> AgentState {
    let wirings = Scope::ALL.into_iter().filter_map(|scope| wiring(agent, places, scope, program)).collect();
    let found = Scope::ALL.into_iter().find_map(|scope| detected(agent, places, scope));
    AgentState { agent, found, wirings }
}

/// Whether hooks or instructions for this agent are installed at this scope. A skill does not count, because agents share it.
pub fn is_wired(agent: &'static Agent, places: &Places, scope: Scope) -> bool {
    let targets = (agent.files)(places, scope, &Program::by_name()).unwrap_or_default();
    targets.iter().any(|target| !is_skill(target) && text(&target.path).is_some_and(|t| target.look(&t).is_there))
}

fn wiring(agent: &'static Agent, places: &Places, scope: Scope, program: &Program) -> Option<Wiring> {
    if !is_wired(agent, places, scope) {
        return None;
    }
    let mut wiring = Wiring {
        scope,
        files: Vec::new(),
        events: Vec::new(),
        missing: Vec::new(),
        missing_files: Vec::new(),
        changed: Vec::new(),
        programs: Vec::new(),
        obstacles: (agent.obstacles)(places, scope),
        clicks: (agent.clicks)(places, scope),
    };
    for target in (agent.files)(places, scope, program).unwrap_or_default() {
        let seen = text(&target.path).map(|text| target.look(&text)).unwrap_or_default();
        if !seen.is_there {
            if target.is_wanted {
                wiring.missing_files.push(target.path);
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

fn is_skill(target: &AgentFile) -> bool {
    matches!(target.content, FileContent::Whole { what: WholeFile::Skill, .. })
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
