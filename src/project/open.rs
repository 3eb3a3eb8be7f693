//! Opening a project: its config, the paths of its directories, and which database is ours.

use std::path::{Path, PathBuf};

use super::claim::{Chosen, Claim, IDS};
use super::place::{is_inside, place, place_inside, place_of_others, refuse_link, resolve_place};
use super::root::{find_config, root};
use super::worktree::{self, KnownWorktree, Shared};
use super::{UnattendedPlaces, ignore, owner, pause, prompts};
use crate::base::fs::Anchor;
use crate::base::{env, fs};
use crate::checkpoint::python::PythonCheckpoint;
use crate::checkpoint::{Accepts, CheckpointFile};
use crate::config::{self, Config, ConfigFile, Origin, Vocabulary};
use crate::error::{Error, Result};
use crate::guard::{Brake, PauseFile, consent, state_ids};

pub(super) const STATE_DIR: &str = ".agent-handover";
pub(super) const DATABASE: &str = "checkpoint.db";
pub(super) const LOCK: &str = "lock";

/// The options of the command line. Options that are missing come from the environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub config: Option<PathBuf>,
    /// The project that `config` came with. Without it, a person named the file.
    pub config_of: Option<PathBuf>,
    pub checkpoint: Option<PathBuf>,
    pub tag: Option<String>,
    /// Nobody typed a command, so places that need consent are not even looked at.
    pub is_unattended: bool,
    /// A person is about to allow the config, whoever owns it.
    pub accepts_any_owner: bool,
}

/// An opened project.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    /// The root in which sessions work. Config, commands, branch and changes are those of this directory.
    pub root: PathBuf,
    /// The directory below which memory, history and state are. In a linked worktree it is that of the main work tree.
    pub memory_root: PathBuf,
    /// What a linked worktree shares with the others, whether or not it is used.
    pub(super) shared: Option<Shared>,
    /// The worktree at `root` does not exist any more.
    pub is_gone: bool,
    /// Neither the main work tree nor the user's own state can be written, so memory and state are in the linked worktree.
    pub has_no_place: bool,
    /// The config, with the environment and the options applied.
    pub config: Config,
    pub state: PathBuf,
    /// Our database. Beside a foreign one it has another name than the configured one.
    pub checkpoint: PathBuf,
    pub(super) configured_checkpoint: PathBuf,
    pub(super) accepts: Accepts,
    /// The PAUSE files of this project. `pause` writes the first one.
    pub pause_files: Vec<PauseFile>,
}

impl Project {
    pub(crate) fn open(cwd: &Path, options: &Options, vocabulary: &Vocabulary) -> Result<Project> {
        let root = root(cwd);
        let shared = Shared::of(&root);
        Project::open_at(cwd, root, shared, options, vocabulary)
    }

    /// The project of a worktree that does not exist any more.
    pub(crate) fn open_gone(known: KnownWorktree, options: &Options, vocabulary: &Vocabulary) -> Result<Project> {
        let KnownWorktree { root, shared, .. } = known;
        let cwd = shared.root.clone();
        Project::open_at(&cwd, root, Some(shared), options, vocabulary)
    }

    fn open_at(
        cwd: &Path,
        root: PathBuf,
        shared: Option<Shared>,
        options: &Options,
        vocabulary: &Vocabulary,
    ) -> Result<Project> {
        let may_be_foreign = if options.accepts_any_owner { |_: &_, _: &_| true } else { owner::may_read_config };
        let file = config_file(cwd, &root, shared.as_ref(), options);
        let file = file.map(|file| file.of_another_user_if(may_be_foreign));
        let own = if options.is_unattended { config::user_config()? } else { config::user_config_for_person() };
        let mut config = match &file {
            Some(file) => Config::load(file, &root, vocabulary, own)?,
            None => own,
        };
        tracing::debug!(root = %root.display(), config = ?config.file, "project");
        apply_environment(&mut config)?;
        let flag = options.tag.clone().map(|tag| (tag, Origin::Flag("--tag")));
        let variable = || env::get_text(env::TAG).map(|tag| (tag, Origin::Environment(env::TAG)));
        if let Some((tag, origin)) = flag.or_else(variable) {
            config::check_tag(&tag).map_err(|reason| Error::usage(format!("the tag {reason}")))?;
            config.tag = tag;
            config.stated_tag = None;
            config.overridden("handover.tag", origin);
        }
        let is_gone = shared.is_some() && !fs::is_directory(&root);
        let is_shared = |_: &&Shared| is_gone || !worktree::is_memory_tracked(&root, &config);
        let places = shared.as_ref().filter(is_shared).map(|shared| shared.place(&root, &config));
        let has_no_place = matches!(places, Some(None));
        let memory_root = match (places.flatten(), &shared) {
            (Some(place), _) => place,
            (None, Some(shared)) if is_gone => shared.root.clone(),
            (None, _) => root.clone(),
        };
        let state = place_inside(&memory_root, &config, "state_dir", &config.state_dir)?;
        // A recorded plan resolves these again. Here a mistake can still be shown in the config.
        place_inside(&memory_root, &config, "memory_dir", &config.memory_dir)?;
        place_inside(&memory_root, &config, "history_dir", &config.history_dir)?;
        let flag = options.checkpoint.clone().map(|path| (path, Origin::Flag("--checkpoint")));
        let variable = || env::get(env::CHECKPOINT).map(|path| (path.into(), Origin::Environment(env::CHECKPOINT)));
        // The same database always has the same path, so links are resolved: all of them if a person named the file, else
        // those of the directory, and a link in the place of the file is refused when it is used.
        let is_typed = flag.is_some();
        let configured_checkpoint = match (flag.or_else(variable), &config.checkpoint) {
            (Some((path, origin)), _) => {
                config.overridden("handover.checkpoint", origin);
                let path = beside_json(cwd.join(path));
                fs::resolve(&path).unwrap_or(path)
            }
            (None, Some(path)) => {
                resolve_place(&memory_root, beside_json(place_inside(&memory_root, &config, "checkpoint", path)?))
            }
            (None, None) => resolve_place(&memory_root, state.join(DATABASE)),
        };
        let checkpoint = configured_checkpoint.clone();
        let pause_files = pause::pause_files(&root, &config);
        if checkpoint.file_name().is_none_or(|name| name == LOCK) {
            return Err(Error::usage(format!(
                "`{}` cannot be a checkpoint: that is the name of its lock",
                checkpoint.display()
            )));
        }
        // A person who names a file for one command means that file, whoever made it.
        let accepts = if is_typed { Accepts::Any } else { Accepts::Known };
        let mut project = Project {
            checkpoint,
            configured_checkpoint,
            accepts,
            state,
            pause_files,
            config,
            root,
            memory_root,
            shared,
            is_gone,
            has_no_place,
        };
        let is_closed = || options.is_unattended && !project.unattended_places().has_state();
        if !is_typed && !is_closed() {
            project.choose_database()?;
        }
        Ok(project)
    }

    /// Looks for our database, at the configured place or beside it.
    pub(super) fn choose_database(&mut self) -> Result<()> {
        let history = place_of_others(&self.memory_root, &self.config.history_dir)?;
        let may_be_foreign = || self.accepts_other_owners();
        let claim = Claim { root: &fs::real(&self.memory_root), history: &history, may_be_foreign: &may_be_foreign };
        Chosen { path: self.checkpoint, accepts: self.accepts } = claim.choose(&self.configured_checkpoint)?;
        Ok(())
    }

    /// The memory directory of the config.
    pub(crate) fn memory_dir(&self) -> Result<PathBuf> {
        place(&self.memory_root, &self.config.memory_dir)
    }

    /// The history directory of the config.
    pub(crate) fn history_dir(&self) -> Result<PathBuf> {
        place(&self.memory_root, &self.config.history_dir)
    }

    /// The brake of this project: its PAUSE files, that of the main work tree, and those in the home directory, which stop
    /// every project.
    pub(crate) fn brake(&self) -> Brake {
        let mut files = self.pause_files.clone();
        files.extend(self.shared_pause_file());
        pause::brake(files)
    }

    /// Whether hooks may do everything that the config asks for. Without a config there is nothing to allow.
    pub(crate) fn is_allowed(&self) -> bool {
        self.config.source().is_none_or(|(file, text)| consent::is_allowed(file, text))
    }

    /// The keys by which the config puts places outside the project. Places that the environment or an option names are a
    /// person's word, and are not among them.
    pub(crate) fn outside(&self) -> Vec<&'static str> {
        let of_config = |text: &str| place(&self.memory_root, text).ok();
        let places = [
            ("memory_dir", "handover.memory_dir", of_config(&self.config.memory_dir)),
            ("history_dir", "handover.history_dir", of_config(&self.config.history_dir)),
            ("state_dir", "handover.state_dir", Some(self.state.clone())),
            ("checkpoint", "handover.checkpoint", Some(self.checkpoint.clone())),
        ];
        let is_named = |key: &str| matches!(self.config.origin(key), Origin::File { .. });
        let outside = places.into_iter().filter(|(_, key, path)| {
            is_named(key) && path.as_deref().is_none_or(|path| !is_inside(&self.memory_root, path))
        });
        outside.map(|(name, ..)| name).collect()
    }

    /// The keys by which the config names other directories than the default ones. They may hold the user's own files.
    fn renamed(&self) -> Vec<&'static str> {
        let default = Config::default();
        let places = [
            ("memory_dir", "handover.memory_dir", self.config.memory_dir == default.memory_dir),
            ("history_dir", "handover.history_dir", self.config.history_dir == default.history_dir),
            ("state_dir", "handover.state_dir", self.config.state_dir == default.state_dir),
            ("checkpoint", "handover.checkpoint", self.has_checkpoint_in_state()),
        ];
        let is_named = |key: &str| matches!(self.config.origin(key), Origin::File { .. });
        places.into_iter().filter(|(_, key, is_same)| !is_same && is_named(key)).map(|(name, ..)| name).collect()
    }

    /// Which places a hook or `warmup` may use. Nobody typed a command then, so every place that is not a default one needs
    /// consent to the config that names it: a stranger's config could name the user's own files.
    pub(crate) fn unattended_places(&self) -> UnattendedPlaces {
        if self.is_allowed() {
            return UnattendedPlaces { outside: Vec::new(), renamed: Vec::new() };
        }
        let outside = self.outside();
        let renamed = self.renamed().into_iter().filter(|key| !outside.contains(key)).collect();
        UnattendedPlaces { outside, renamed }
    }

    /// The checkpoint, to be opened without following a link below the project root.
    pub(crate) fn checkpoint_file(&self) -> CheckpointFile {
        CheckpointFile::new(self.checkpoint_anchor(), &self.checkpoint, IDS, self.accepts)
            .of_another_user_if(|| self.accepts_other_owners())
    }

    /// Refuses a database that a person named and that does not exist: nothing in it can be finished or abandoned.
    pub(crate) fn require_named_checkpoint(&self) -> Result<()> {
        let is_named = matches!(self.config.origin("handover.checkpoint"), Origin::Flag(_));
        let json = self.configured_checkpoint.with_extension("json");
        if !is_named || self.checkpoint_file().is_there() || self.checkpoint_anchor().is_taken(&json) {
            return Ok(());
        }
        Err(Error::failed(format!("there is no database at `{}`", self.checkpoint.display()))
            .hint("`agent-handover status` names the databases of this project in which something is unfinished"))
    }

    /// The directory in which the id of our database is kept for the time being, because the user's own state is full.
    pub(crate) fn spare_place_of_id(&self) -> Option<PathBuf> {
        if !state_ids::is_any_kept_elsewhere() {
            return None;
        }
        let id = self.checkpoint_file().identity().ok().flatten()?.id?;
        state_ids::is_kept_elsewhere(&id)
    }

    /// Whether files of another user may be used: a person allowed the config, or trusts the directory.
    pub(super) fn accepts_other_owners(&self) -> bool {
        self.config.source().is_some() && self.is_allowed() || owner::is_safe(&self.root)
    }

    /// The Python tool's checkpoint, beside ours.
    pub(crate) fn read_python_checkpoint(&self) -> Result<Option<PythonCheckpoint>> {
        PythonCheckpoint::read(&self.checkpoint_anchor(), &self.configured_checkpoint.with_extension("json"))
    }

    /// The path of the checkpoint has no links, so the root must not have any either.
    pub(super) fn checkpoint_anchor(&self) -> Anchor {
        if self.checkpoint.starts_with(&self.memory_root) {
            return Anchor::new(&self.memory_root);
        }
        let root = fs::real(&self.memory_root);
        if self.checkpoint.starts_with(&root) { Anchor::new(&root) } else { Anchor::beside(&self.checkpoint) }
    }

    /// The anchor for one of this project's directories: the root, unless the config puts the directory outside.
    pub(crate) fn anchor(&self, directory: &Path) -> Anchor {
        Anchor::around(&self.memory_root, directory)
    }

    pub(crate) fn log_dir(&self) -> PathBuf {
        self.state.join("log")
    }

    /// Creates the state directory, private and invisible to git. Refuses one that belongs to another user, and links and
    /// special files in it.
    pub(crate) fn prepare(&self) -> Result<()> {
        self.prepare_memory_root()?;
        let is_own = fs::refuse_foreign_owner(&self.state, "state directory");
        let otherwise = "if you share the project with that user, list it in git's global `safe.directory`";
        is_own.or_else(|error| if self.accepts_other_owners() { Ok(()) } else { Err(error.hint(otherwise)) })?;
        let anchor = self.anchor(&self.state);
        anchor.create_private_directories(&self.state)?;
        let anchor = anchor.holding(&self.state);
        let ignore_file = self.state.join(".gitignore");
        let about_ignore = anchor.about(&ignore_file)?;
        if about_ignore.is_none()
            && self.config.state_dir != STATE_DIR
            && !anchor.names(&self.state)?.iter().all(|name| is_our_name(name))
        {
            let message =
                format!("`state_dir`: `{}` holds files that agent-handover did not write", self.state.display());
            return Err(self.config.error_at(
                "state_dir",
                message,
                "give it a directory of its own: everything in it is hidden from git",
            ));
        }
        refuse_link(&anchor, &self.log_dir())?;
        for path in [&ignore_file, &self.state.join(LOCK), &self.state.join(DATABASE)] {
            anchor.require_regular(path)?;
        }
        ignore::write(&anchor, &ignore_file, about_ignore.map(|about| about.length))?;
        match self.checkpoint.parent() {
            Some(directory) => Ok(self.checkpoint_anchor().create_directories(directory)?),
            None => Ok(()),
        }
    }
}

/// Whether this is a name of a file in a state directory.
fn is_our_name(name: &str) -> bool {
    let ours = [LOCK, "log", ".gitignore", config::FILE_NAME, "PAUSE"];
    ours.contains(&name)
        || ["checkpoint.", "checkpoint-", "index.db", "publish.", prompts::FILES]
            .iter()
            .any(|ours| name.starts_with(ours))
}

/// The config of a project: the file that a person named, or one that came with the project.
///
/// A worktree without a config uses that of the main work tree, which git may not track.
fn config_file(cwd: &Path, root: &Path, shared: Option<&Shared>, options: &Options) -> Option<ConfigFile> {
    if let Some(path) = &options.config {
        let path = cwd.join(path);
        return Some(match &options.config_of {
            Some(root) => ConfigFile::of_project(path, root),
            None => ConfigFile::named(path),
        });
    }
    let path = match env::get(env::CONFIG) {
        Some(path) => cwd.join(path),
        None => match (find_config(root), shared) {
            (Some(path), _) => path,
            (None, Some(Shared { root, .. })) => {
                return find_config(root).map(|path| ConfigFile::of_project(path, root));
            }
            (None, None) => return None,
        },
    };
    let path = fs::tidy(&path).unwrap_or(path);
    // A relative path in the environment leads to a file that came with whatever project this is.
    Some(if path.starts_with(root) { ConfigFile::of_project(path, root) } else { ConfigFile::named(path) })
}

fn apply_environment(config: &mut Config) -> Result<()> {
    for (name, key) in [
        (env::MEMORY_DIR, "handover.memory_dir"),
        (env::HISTORY_DIR, "handover.history_dir"),
        (env::STATE_DIR, "handover.state_dir"),
        (env::PAUSE_FILE, "handover.pause_file"),
    ] {
        if let Some(text) = env::get_text(name) {
            if name != env::PAUSE_FILE && !text.starts_with('~') && fs::tidy(Path::new(&text)).is_none() {
                return Err(Error::usage(format!("`{name}={text}` leaves the project"))
                    .hint("write a path below the project, or an absolute path"));
            }
            config.overridden(key, Origin::Environment(name));
            match name {
                env::MEMORY_DIR => config.memory_dir = text,
                env::HISTORY_DIR => config.history_dir = text,
                env::STATE_DIR => config.state_dir = text,
                _ => config.pause_file = text,
            }
        }
    }
    Ok(())
}

/// The path of our checkpoint. If the Python tool's checkpoint is given, which ends in `.json`, ours is beside it.
fn beside_json(path: PathBuf) -> PathBuf {
    if path.extension().is_some_and(|ending| ending == "json") { path.with_extension("db") } else { path }
}
