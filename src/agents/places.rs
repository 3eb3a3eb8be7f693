//! Where agents keep their files on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::AGENTS;
use super::install::program;
use crate::base::env;
use crate::error::{Error, Result};

/// Whose files: the user's, in the home directory, or those of one project.
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

/// The directories in which the files of agents are looked up.
#[derive(Clone, Debug)]
pub struct Places {
    pub home: PathBuf,
    pub project: PathBuf,
    /// Whether the config of the project asks for hooks before tools.
    pub(super) with_tools: bool,
    /// The variables that move an agent's directory, and PATH.
    variables: Vec<(&'static str, OsString)>,
}

const PATH: &str = "PATH";

impl Places {
    /// The home directory and environment of the user of this process.
    pub fn here(project: &Path) -> Result<Places> {
        let home = env::home()
            .ok_or_else(|| Error::failed("there is no home directory to look for agents in").hint("set HOME"))?;
        let names = AGENTS.iter().filter_map(|agent| agent.directory_variable).chain([PATH]);
        let variables = names.filter_map(|name| Some((name, env::get(name)?))).collect();
        Ok(Places { home, project: project.to_path_buf(), with_tools: false, variables })
    }

    /// Like [`Places::here`], for a command that changes files: it refuses to guess whose they are. Without HOME, the system
    /// would name the home directory of the account, which under `sudo` and in services is often somebody else's.
    pub fn to_change(project: &Path) -> Result<Places> {
        let is_set = env::get("HOME").is_some_and(|home| Path::new(&home).is_absolute());
        if !is_set {
            return Err(Error::failed("HOME is not set to a directory, so it is not clear whose settings to change")
                .hint("set HOME to your home directory, then try again"));
        }
        Places::here(project)
    }

    /// The given directories, without any environment.
    pub fn at(home: &Path, project: &Path) -> Places {
        Places { home: home.to_path_buf(), project: project.to_path_buf(), with_tools: false, variables: Vec::new() }
    }

    /// The same, with hooks before tools if the config asks for them.
    pub fn with_tools(self, with_tools: bool) -> Places {
        Places { with_tools, ..self }
    }

    fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The directory that the variable names, or else `below_home` in the home directory.
    pub(super) fn moved(&self, variable: Option<&str>, below_home: &str) -> PathBuf {
        let named = variable.and_then(|name| self.variable(name)).map(PathBuf::from).filter(|path| path.is_absolute());
        named.unwrap_or_else(|| self.home.join(below_home))
    }

    /// The file that PATH finds for a program.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        program::find(self.variable(PATH)?, name)
    }

    /// The directory in which the files of a scope are.
    pub(super) fn base(&self, scope: Scope) -> &Path {
        match scope {
            Scope::User => &self.home,
            Scope::Project => &self.project,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_a_variable_moves_is_looked_for_there() {
        const VARIABLE: &str = "CODEX_HOME";
        let mut places = Places::at(Path::new("/home/u"), Path::new("/p"));
        assert_eq!(places.moved(Some(VARIABLE), ".codex"), Path::new("/home/u/.codex"));
        places.variables.push((VARIABLE, "/srv/codex".into()));
        assert_eq!(places.moved(Some(VARIABLE), ".codex"), Path::new("/srv/codex"));
    }
}
