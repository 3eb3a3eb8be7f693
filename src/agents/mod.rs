//! Each coding agent: whether it is here, which of its files carry our hooks and instructions, what it sends to a
//! hook and how it wants to be answered.

mod agents_md;
mod block;
mod claude_code;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod diff;
mod gemini;
pub mod install;
mod json;
mod opencode;
pub mod payload;
mod program;
mod record;
mod seal;
pub mod state;
mod target;
mod teaching;
mod toml;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::base::{env, text};
use crate::error::{Error, Result};

pub use payload::{Call, Event, answer, recognise};
pub use program::Program;
pub use target::{Content, Target};

/// Every agent. A new one is a file, its `mod` line and its line here.
pub const AGENTS: &[&Agent] = &[
    &claude_code::AGENT,
    &codex::AGENT,
    &gemini::AGENT,
    &cursor::AGENT,
    &opencode::AGENT,
    &cline::AGENT,
    &copilot::AGENT,
    &agents_md::AGENT,
];

pub struct Agent {
    /// What a user types and what our entries say after `--agent`.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// The programs by which it is started.
    pub programs: &'static [&'static str],
    /// The files or directories that are there where it is used.
    pub traces: fn(&Places, Scope) -> Vec<PathBuf>,
    /// Its names for the events that mean something to us, the ones we listen to and others.
    pub events: &'static [(&'static str, Event)],
    /// The files that we keep at this scope. The program is what their hooks shall start.
    pub targets: fn(&Places, Scope, &Program) -> Result<Vec<Target>>,
    /// What it wants to read on stdout after this event, to the byte.
    pub answer: fn(&Event, Option<&str>) -> String,
    /// What keeps our hooks from running although they are there.
    pub obstacles: fn(&Places, Scope) -> Vec<String>,
    /// What only its user can do after the hooks were written; empty when nothing is left to do.
    pub clicks: fn(&Places, Scope) -> Vec<String>,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Agent {
    fn eq(&self, other: &Agent) -> bool {
        self.name == other.name
    }
}

/// Whose files: this user's, in the home directory, or those of one project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    #[default]
    User,
    Project,
}

impl Scope {
    pub const ALL: [Scope; 2] = [Scope::User, Scope::Project];

    pub fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }
}

/// Where agents keep their things on this machine.
#[derive(Clone, Debug)]
pub struct Places {
    pub home: PathBuf,
    pub project: PathBuf,
    /// What agents let their users move, by the variable that says so.
    variables: Vec<(&'static str, OsString)>,
}

const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
const CODEX_HOME: &str = "CODEX_HOME";
const GEMINI_CLI_HOME: &str = "GEMINI_CLI_HOME";
const COPILOT_HOME: &str = "COPILOT_HOME";
const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
const PATH: &str = "PATH";

impl Places {
    /// Those of this process's user, with the variables of its environment.
    pub fn here(project: &Path) -> Result<Places> {
        let home = env::home()
            .ok_or_else(|| Error::failed("there is no home directory to look for agents in").hint("set HOME"))?;
        let names = [CLAUDE_CONFIG_DIR, CODEX_HOME, GEMINI_CLI_HOME, COPILOT_HOME, XDG_CONFIG_HOME, PATH];
        let variables = names.into_iter().filter_map(|name| Some((name, env::get(name)?))).collect();
        Ok(Places { home, project: project.to_path_buf(), variables })
    }

    /// Without an environment, for who looks at given directories.
    pub fn at(home: &Path, project: &Path) -> Places {
        Places { home: home.to_path_buf(), project: project.to_path_buf(), variables: Vec::new() }
    }

    fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The directory that a variable names, else this one below the home directory.
    fn moved(&self, variable: &str, below_home: &str) -> PathBuf {
        let named = self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        named.unwrap_or_else(|| self.home.join(below_home))
    }

    /// Where the PATH finds a program.
    fn program(&self, name: &str) -> Option<PathBuf> {
        program::find(self.variable(PATH)?, name)
    }

    /// Where `scope` begins.
    fn base(&self, scope: Scope) -> &Path {
        match scope {
            Scope::User => &self.home,
            Scope::Project => &self.project,
        }
    }
}

/// How we know that an agent is used here; `None` if nothing says so.
pub fn found(agent: &Agent, places: &Places, scope: Scope) -> Option<PathBuf> {
    let program = agent.programs.iter().find_map(|program| places.program(program));
    program.or_else(|| (agent.traces)(places, scope).into_iter().find(|path| path.exists()))
}

/// The agent of this name.
pub fn find(name: &str) -> Result<&'static Agent> {
    AGENTS.iter().copied().find(|agent| agent.name == name).ok_or_else(|| {
        let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
        let error = Error::usage(format!("there is no agent `{}`", text::one_line(name, 40)));
        match text::nearest(name, names.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("known: {}, or `all`", names.join(", "))),
        }
    })
}

/// For agents with nothing in the way.
fn nothing(_: &Places, _: Scope) -> Vec<String> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_agent_is_answered_with_the_nearest_name() {
        assert_eq!(find("codex").unwrap().name, "codex");
        assert_eq!(find("claude-cod").unwrap_err().hints(), ["did you mean `claude-code`?"]);
        assert!(find("zed").unwrap_err().hints()[0].contains("agents-md, or `all`"));
    }

    #[test]
    fn a_directory_that_a_variable_moves_is_looked_for_there() {
        let mut places = Places::at(Path::new("/home/u"), Path::new("/p"));
        assert_eq!(places.moved(CODEX_HOME, ".codex"), Path::new("/home/u/.codex"));
        places.variables.push((CODEX_HOME, "/srv/codex".into()));
        assert_eq!(places.moved(CODEX_HOME, ".codex"), Path::new("/srv/codex"));
    }
}
