//! The project whose history a verb uses.

use std::path::{Path, PathBuf};

use super::super::{Context, run};
use crate::agents::session_agent;
use crate::base::{clock, fs};
use crate::config::Secrets;
use crate::engine::{self, Deferral, Issued, Provenance};
use crate::error::{Error, Result};
use crate::git::{self, Git};
use crate::guard::own_record::{self, OwnKey};
use crate::guard::{Brake, Pause, secrets};
use crate::handoff::Handoff;
use crate::history::{self, FoundArchive, History, Machine, Origin, Ruling, registry};
use crate::memory::{Author, Memory};
use crate::project::{self, Options, Project};
use crate::steps::{self, DeferredStep};

/// The project whose history a command uses.
pub(super) struct HistoryPlace {
    /// The directory that git is asked about.
    pub root: PathBuf,
    /// The directory below which memory and history are. It differs from `root` in a linked worktree.
    pub memory_root: PathBuf,
    /// The project, unless `--repo-root` names a directory: that one is used as given, without a config.
    project: Option<Project>,
    pub history: History,
    pub secrets: Secrets,
    memory: PathBuf,
}

impl HistoryPlace {
    /// The project in the current directory, or the one that `--repo-root` names.
    pub(super) fn open(context: &Context<'_>, repo_root: Option<&Path>) -> Result<HistoryPlace> {
        if let Some(root) = repo_root {
            let root: PathBuf = context.cwd.join(root).components().collect();
            if !fs::is_directory(&root) {
                return Err(Error::failed(format!("repo root is not a directory: {}", root.display()))
                    .hint("name an existing directory with `--repo-root`"));
            }
            let history = History::at(&root, root.join(history::DIRECTORY));
            let memory = root.join("memory");
            let memory_root = root.clone();
            return Ok(HistoryPlace { root, memory_root, project: None, history, secrets: Secrets::Block, memory });
        }
        let project = context.project(None, None)?;
        let directory = project.history_dir()?;
        let memory = project.memory_dir()?;
        Ok(HistoryPlace {
            root: project.root.clone(),
            memory_root: project.memory_root.clone(),
            history: History::at(&project.memory_root, directory),
            secrets: project.config.secrets,
            project: Some(project),
            memory,
        })
    }

    /// The history of another project of this user.
    pub(super) fn of_known(known: &registry::KnownArchive) -> HistoryPlace {
        HistoryPlace {
            root: known.root.clone(),
            memory_root: known.root.clone(),
            project: None,
            memory: known.root.join("memory"),
            history: History::at(&known.root, known.directory.clone()),
            secrets: Secrets::Block,
        }
    }

    /// Whether this handoff is ours.
    pub(super) fn owns(&self, found: &FoundArchive) -> bool {
        self.provenance().owns_handoff(&found.key())
    }

    /// Where this handoff came from, if this user imported it.
    pub(super) fn origin(&self, found: &FoundArchive) -> Option<Origin> {
        Origin::of_own(&found.handoff, &found.key(), self.provenance().of_history())
    }

    /// Makes the directory that all worktrees share, if there is none.
    pub(super) fn prepare(&self) -> Result<()> {
        self.project.as_ref().map_or(Ok(()), Project::prepare_memory_root)
    }

    /// Whether the history is in a work tree of git, where it can show up in `git status`.
    pub(super) fn is_in_work_tree(&self) -> bool {
        let is_in_bare = self.project.as_ref().is_some_and(|project| project.bare().is_some());
        !is_in_bare && git::top_level(&self.memory_root).is_some()
    }

    /// Whose handoffs and decisions these are.
    pub(super) fn provenance(&self) -> Provenance {
        Provenance::at(&self.memory_root, &self.memory, &self.history.directory)
    }

    /// The project whose index knows these archives. `None` for a directory that is used as given, and for a project that keeps
    /// its history elsewhere by now.
    pub(super) fn project_of_index(&self) -> Option<Project> {
        let project = self.project().ok()?;
        let is_its =
            project.history_dir().is_ok_and(|directory| fs::real(&directory) == fs::real(&self.history.directory));
        is_its.then_some(project)
    }

    /// The project whose state directory keeps what is said while paused.
    pub(super) fn project(&self) -> Result<Project> {
        match &self.project {
            Some(project) => Ok(project.clone()),
            None => Project::open(&self.root, &Options::default(), &steps::vocabulary()),
        }
    }

    /// Whether the project has a memory, or had a handover. One that has neither uses only the history, even if it
    /// has a state directory for the record of an import.
    pub(super) fn has_memory(&self) -> bool {
        fs::is_directory(&self.memory) || self.project().is_ok_and(|project| engine::had_handover(&project))
    }

    /// Whether the project has a state directory, in which a command can be recorded.
    fn has_state(&self) -> bool {
        self.project().is_ok_and(|project| fs::is_directory(&project.state))
    }

    /// Brings a new handoff into the current state, as a handover with it would. Returns a sentence for the user if the
    /// user's own state cannot be written.
    pub(super) fn feed_memory(&self, handoff: &Handoff, issued: &Issued) -> Result<Option<String>> {
        if !self.has_memory() {
            return Ok(None);
        }
        let project = self.project()?;
        let (memory, history) = (project.memory_dir()?, project.history_dir()?);
        let remembered = engine::adopt_after_upgrade(&project.memory_root, &memory, &history)
            .and_then(|()| own_record::remember(OwnKey::of_run(&issued.run)));
        let (author, edits) = steps::edits_of_handoff(handoff, &issued.run, issued.at, &project.config.tag);
        let memory = Memory::at(&project.memory_root, memory);
        memory.update_now(&author.author(), &project.config.categories, &edits)?;
        let forgotten = |error: Error| {
            format!("this handoff will be shown as if it came with the repository: {}", error.one_line())
        };
        Ok(remembered.err().map(forgotten))
    }

    /// Deletes the decisions of the current state that say the same as a ruling that was revoked.
    pub(super) fn withdraw_from_memory(&self, ruling: &Ruling, issued: &Issued) -> Result<()> {
        if !self.has_memory() {
            return Ok(());
        }
        let project = self.project()?;
        let memory = Memory::at(&project.memory_root, project.memory_dir()?);
        let edits = steps::edits_of_revocation(&memory, ruling)?;
        if edits.delete.is_empty() {
            return Ok(());
        }
        if let Err(error) = own_record::remember(OwnKey::of_run(&issued.run)) {
            tracing::debug!(error = error.one_line(), "the removal counts as having come along");
        }
        let author = Author {
            run: &issued.run,
            step: steps::REVOKE,
            at: issued.at,
            agent: &session_agent(None, None),
            tag: &project.config.tag,
            commit: "",
            branch: &secrets::clean(&project.branch()),
            is_late: false,
        };
        memory.update_now(&author, &project.config.categories, &edits)?;
        Ok(())
    }

    /// Records what a command was given, to be carried out later. Returns the error with which the command ends.
    pub(super) fn defer(&self, pause: &Pause, step: DeferredStep, tool: Option<&str>, no_exclude: bool) -> Error {
        let project = match self.project() {
            Ok(project) => project,
            Err(error) => return error.hint(format!("{pause}; nothing was recorded, because of the error above")),
        };
        engine::defer(&project, pause, self.deferral(&project, step, tool, no_exclude))
    }

    /// Finishes what an earlier command left half-done, for a command that is about to change something.
    pub(super) fn finish_interrupted(&self, context: &Context<'_>) {
        if self.history.is_being_changed() {
            context.ui.tell_live("waiting for another process, which is changing the history", None);
        }
        if let Ok(project) = self.project() {
            engine::finish_interrupted(&project, &mut |event| run::warn_of(context.ui, &event));
        }
        // A project that uses only the history has no record of its commands.
        if brake(&self.root).paused().is_none()
            && let Err(error) = self.history.complete()
        {
            tracing::debug!(error = error.one_line(), "the history is not completed");
        }
    }

    /// Whether an interrupted command may have left a part of its work in the history.
    pub(super) fn has_unfinished_command(&self) -> bool {
        self.project().is_ok_and(|project| engine::has_unfinished_command(&project))
    }

    /// Carries out a command now: all of it, or nothing, also if the process is killed. In a project that uses only the
    /// history and has no state directory, nothing is recorded: the next command that changes the history completes an
    /// interrupted one.
    pub(super) fn carry_out<T>(
        &self,
        context: &Context<'_>,
        step: DeferredStep,
        tool: Option<&str>,
        no_exclude: bool,
        act: impl FnOnce(&mut Issued) -> Result<T>,
    ) -> Result<T> {
        if self.has_memory() || self.has_state() {
            self.carry_out_recorded(context, step, tool, no_exclude, act)
        } else {
            act(&mut Issued::unrecorded()?)
        }
    }

    /// Like [`HistoryPlace::carry_out`], but recorded in every project: an import can be completed only from its record.
    pub(super) fn carry_out_recorded<T>(
        &self,
        context: &Context<'_>,
        step: DeferredStep,
        tool: Option<&str>,
        no_exclude: bool,
        act: impl FnOnce(&mut Issued) -> Result<T>,
    ) -> Result<T> {
        match self.project() {
            Ok(project) => {
                let deferral = self.deferral(&project, step, tool, no_exclude);
                engine::carry_out_at_once(&project, deferral, &mut |event| run::warn_of(context.ui, &event), act)
            }
            Err(_) => act(&mut Issued::unrecorded()?),
        }
    }

    fn deferral(&self, project: &Project, step: DeferredStep, tool: Option<&str>, no_exclude: bool) -> Deferral<'_> {
        Deferral {
            step,
            agent: tool.map(str::to_owned),
            tag: project.config.tag.clone(),
            history: self.project.is_none().then_some(&*self.history.directory),
            no_exclude,
        }
    }
}

/// What this machine knows about the session. `tool` is the name of the agent.
pub(super) fn machine(place: &HistoryPlace, tool: Option<&str>) -> Machine {
    let head = git::top_level(&place.root).and_then(|_| Git::at(&place.root).head().ok().flatten());
    let agent = session_agent(tool, None);
    let (commit, branch) = head.map(|head| (head.commit, head.branch)).unwrap_or_default();
    let (root, worktree) = match &place.project {
        Some(project) => (project.known_root(), project.worktree()),
        None => (&*place.root, String::new()),
    };
    let (now, root) = (clock::now(), root.display().to_string());
    Machine { now, root, worktree, branch, commit, agent, agent_session: String::new() }
}

/// The brake of the project that is written to. It may be another project than that of the current directory. If its
/// config cannot be read, only the PAUSE files that always count are looked for.
pub(super) fn brake(root: &Path) -> Brake {
    Project::open(root, &Options::default(), &steps::vocabulary())
        .map_or_else(|_| project::plain_brake(root), |project| project.brake())
}

/// The error for a project without a history.
pub(super) fn absent(place: &HistoryPlace) -> Error {
    Error::failed(format!("no .agent-history/ found at {}", place.memory_root.display()))
        .hint("`agent-handover history create` makes one")
}
