//! The project whose history a verb uses.

use std::path::{Path, PathBuf};

use super::super::Context;
use crate::base::{clock, env};
use crate::config::Secrets;
use crate::engine::Provenance;
use crate::error::{Error, Result};
use crate::git::{self, Git};
use crate::guard::Brake;
use crate::history::{self, FoundArchive, History, Machine, own_keys, registry};
use crate::project::{self, Options, Project};
use crate::steps;

/// The project whose history a command uses.
pub struct HistoryPlace {
    pub root: PathBuf,
    pub history: History,
    pub secrets: Secrets,
    memory: PathBuf,
}

impl HistoryPlace {
    /// The project in the current directory, or the one that `--repo-root` names.
    pub fn open(context: &Context<'_>, repo_root: Option<&Path>) -> Result<HistoryPlace> {
        if let Some(root) = repo_root {
            let root = context.cwd.join(root);
            if !root.is_dir() {
                return Err(Error::failed(format!("repo root is not a directory: {}", root.display()))
                    .hint("name an existing directory with `--repo-root`"));
            }
            let history = History::at(root.join(history::DIRECTORY));
            return Ok(HistoryPlace { memory: root.join("memory"), root, history, secrets: Secrets::Block });
        }
        let project = context.project(None, None)?;
        let directory = project::place(&project.root, &project.config.history_dir)?;
        let memory = project::place(&project.root, &project.config.memory_dir)?;
        Ok(HistoryPlace {
            root: project.root,
            history: History::at(directory),
            secrets: project.config.secrets,
            memory,
        })
    }

    /// The history of another project of this user.
    pub fn of_known(known: &registry::KnownArchive) -> HistoryPlace {
        HistoryPlace {
            root: known.root.clone(),
            memory: known.root.join("memory"),
            history: History::at(known.directory.clone()),
            secrets: Secrets::Block,
        }
    }

    /// Whether this handoff is ours.
    pub fn owns(&self, found: &FoundArchive) -> bool {
        self.provenance().owns_handoff(&own_keys::of_document(&found.text, &found.handoff))
    }

    /// Whose handoffs and decisions these are.
    pub fn provenance(&self) -> Provenance {
        Provenance::at(&self.root, &self.memory, &self.history.directory)
    }
}

/// What this machine knows about the session. `tool` is the name of the agent.
pub fn machine(place: &HistoryPlace, tool: Option<&str>) -> Machine {
    let head = git::top_level(&place.root).and_then(|_| Git::at(&place.root).head().ok().flatten());
    let agent = tool.map(str::to_owned).or_else(|| env::get_text(env::AGENT)).unwrap_or_default();
    let (commit, branch) = head.map(|head| (head.commit, head.branch)).unwrap_or_default();
    Machine { now: clock::now(), root: place.root.display().to_string(), branch, commit, agent }
}

/// The brake of the project that is written to, which may not be the one in the current directory. If its config cannot be
/// read, the PAUSE files that always count.
pub fn brake(root: &Path) -> Brake {
    Project::open(root, &Options::default(), &steps::readers())
        .map_or_else(|_| project::plain_brake(root), |project| project.brake())
}

/// The error for a project without a history.
pub fn absent(place: &HistoryPlace) -> Error {
    Error::failed(format!("no .agent-history/ found at {}", place.root.display()))
        .hint("`agent-handover history create` makes one")
}
