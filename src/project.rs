//! A project: its root, the places of its files, and its config.

use std::path::{Path, PathBuf};

use crate::base::fs::{Anchor, FileError, FileKind};
use crate::base::{env, fs};
use crate::config::{self, Config, KindReader, Origin};
use crate::error::{Error, Result};
use crate::git;
use crate::guard::{Brake, consent};

const STATE_DIR: &str = ".agent-handover";
const DATABASE: &str = "checkpoint.db";
const LOCK: &str = "lock";

/// The options of the command line. Options that are missing come from the environment.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub config: Option<PathBuf>,
    pub checkpoint: Option<PathBuf>,
    pub tag: Option<String>,
}

/// An opened project.
#[derive(Clone, Debug)]
pub struct Project {
    pub root: PathBuf,
    /// The config, with the environment and the options applied.
    pub config: Config,
    pub state: PathBuf,
    pub checkpoint: PathBuf,
    /// The PAUSE files of this project. `pause` writes the first one.
    pub pause_files: Vec<PathBuf>,
}

impl Project {
    pub fn open(cwd: &Path, options: &Options, kinds: &[KindReader]) -> Result<Project> {
        let root = root(cwd);
        let named = options.config.clone().or_else(|| env::get(env::CONFIG).map(PathBuf::from));
        let file = match named {
            Some(path) => Some(cwd.join(path)),
            None => find_config(&root).map(|file| refuse_linked_config(&root, file)).transpose()?,
        };
        let mut config = match &file {
            Some(file) => Config::load(file, &root, kinds)?,
            None => Config::default(),
        };
        tracing::debug!(root = %root.display(), config = ?file, "project");
        apply_environment(&mut config)?;
        let flag = options.tag.clone().map(|tag| (tag, Origin::Flag("--tag")));
        let variable = || env::get_text(env::TAG).map(|tag| (tag, Origin::Environment(env::TAG)));
        if let Some((tag, origin)) = flag.or_else(variable) {
            config::check_tag(&tag).map_err(|reason| Error::usage(format!("the tag {reason}")))?;
            config.tag = tag;
            config.overridden("handover.tag", origin);
        }
        let state = place_inside(&root, &config, "state_dir", &config.state_dir)?;
        // A recorded plan resolves these again. Here a mistake can still be shown in the config.
        place_inside(&root, &config, "memory_dir", &config.memory_dir)?;
        place_inside(&root, &config, "history_dir", &config.history_dir)?;
        let flag = options.checkpoint.clone().map(|path| (path, Origin::Flag("--checkpoint")));
        let variable = || env::get(env::CHECKPOINT).map(|path| (path.into(), Origin::Environment(env::CHECKPOINT)));
        let checkpoint = match (flag.or_else(variable), &config.checkpoint) {
            (Some((path, origin)), _) => {
                config.overridden("handover.checkpoint", origin);
                cwd.join(path)
            }
            (None, Some(path)) => place_inside(&root, &config, "checkpoint", path)?,
            (None, None) => state.join(DATABASE),
        };
        let pause_files = pause_files(&root, &config.pause_file);
        // The same database always has the same path. A dangling link is refused when it is used.
        let checkpoint = beside_json(checkpoint);
        let checkpoint = fs::resolve(&checkpoint).unwrap_or(checkpoint);
        if checkpoint.file_name().is_none_or(|name| name == LOCK) {
            return Err(Error::usage(format!(
                "`{}` cannot be a checkpoint: that is the name of its lock",
                checkpoint.display()
            )));
        }
        Ok(Project { checkpoint, state, pause_files, config, root })
    }

    /// The brake of this project: its PAUSE files, and those in the home directory, which stop every project.
    pub fn brake(&self) -> Brake {
        brake(self.pause_files.clone())
    }

    /// Whether hooks may do everything that the config asks for. Without a config there is nothing to allow.
    pub fn is_allowed(&self) -> bool {
        self.config.source().is_none_or(|(file, text)| consent::is_allowed(file, text))
    }

    /// The keys of directories outside the project. Nothing is written there before the config is allowed.
    pub fn outside(&self) -> Vec<&'static str> {
        let memory = place(&self.root, &self.config.memory_dir);
        let history = place(&self.root, &self.config.history_dir);
        let is_outside = |path: &Path| {
            let real = fs::resolve(path).unwrap_or_else(|_| path.to_path_buf());
            !real.starts_with(fs::resolve(&self.root).unwrap_or_else(|_| self.root.clone()))
        };
        let places = [
            ("memory_dir", memory.ok()),
            ("history_dir", history.ok()),
            ("state_dir", Some(self.state.clone())),
            ("checkpoint", Some(self.checkpoint.clone())),
        ];
        places.into_iter().filter(|(_, path)| path.as_deref().is_none_or(is_outside)).map(|(name, _)| name).collect()
    }

    /// The lock file beside the checkpoint: `lock`, or the name of the database with `.lock` if it is not the default one.
    pub fn lock(&self) -> PathBuf {
        match self.checkpoint.file_name() {
            Some(name) if name != DATABASE => {
                let mut name = name.to_owned();
                name.push(".lock");
                self.checkpoint.with_file_name(name)
            }
            _ => self.checkpoint.with_file_name(LOCK),
        }
    }

    /// The path of the Python tool's checkpoint, beside ours.
    pub fn python_checkpoint(&self) -> PathBuf {
        self.checkpoint.with_extension("json")
    }

    /// The anchor for one of this project's directories: the root, unless the config puts the directory outside.
    pub fn anchor(&self, directory: &Path) -> Anchor {
        Anchor::around(&self.root, directory)
    }

    pub fn log_dir(&self) -> PathBuf {
        self.state.join("log")
    }

    /// Creates the state directory, private and invisible to git. Refuses one that belongs to another user, and links and
    /// special files in it.
    pub fn prepare(&self) -> Result<()> {
        fs::refuse_foreign_owner(&self.state, "state directory")?;
        let anchor = self.anchor(&self.state);
        anchor.create_private_directories(&self.state)?;
        let ignore = self.state.join(".gitignore");
        let about_ignore = anchor.about(&ignore)?;
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
        fs::refuse_symlinks(&self.state, &self.log_dir())?;
        for path in [&ignore, &self.state.join(LOCK), &self.state.join(DATABASE)] {
            anchor.require_regular(path)?;
        }
        if about_ignore.is_none_or(|about| about.length == 0) {
            anchor.write_marker(&ignore, b"*\n")?;
        }
        match self.checkpoint.parent() {
            Some(directory) if !directory.is_dir() => fs::create_directories(directory),
            _ => Ok(()),
        }
    }
}

/// The brake of a project whose config cannot be read.
pub fn plain_brake(root: &Path) -> Brake {
    brake(vec![root.join("PAUSE")])
}

fn brake(mut paths: Vec<PathBuf>) -> Brake {
    for name in [STATE_DIR, ".agent_handover"] {
        paths.extend(env::home().map(|home| home.join(name).join("PAUSE")));
    }
    Brake::new(paths)
}

/// Whether this is a name of a file in a state directory.
fn is_our_name(name: &str) -> bool {
    let ours = [LOCK, "log", ".gitignore", config::FILE_NAME, "PAUSE"];
    ours.contains(&name) || ["checkpoint.", "index.db", "publish."].iter().any(|ours| name.starts_with(ours))
}

/// The root of the project around `cwd`, without opening the project.
pub fn root(cwd: &Path) -> PathBuf {
    find_root(cwd, env::home().as_deref())
}

/// Resolves a path of the config: relative to the project, with `~` expanded. A relative path that leaves the project, also by a
/// symlink, is an error.
pub fn place(root: &Path, text: &str) -> Result<PathBuf> {
    if let Some(rest) = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        let home = env::home().ok_or_else(|| Error::failed(format!("`{text}`: there is no home directory")))?;
        return Ok(home.join(rest.trim_start_matches('/')));
    }
    if Path::new(text).is_absolute() {
        return Ok(PathBuf::from(text));
    }
    let path = fs::tidy(Path::new(text)).map(|path| root.join(path));
    let inside =
        |path: &PathBuf| fs::resolve(path).is_ok_and(|real| fs::resolve(root).is_ok_and(|r| real.starts_with(r)));
    path.filter(inside).ok_or_else(|| Error::failed(format!("`{text}` leaves the project `{}`", root.display())))
}

fn place_inside(root: &Path, config: &Config, key: &str, text: &str) -> Result<PathBuf> {
    let path = place(root, text).map_err(|error| {
        let help = "make it a real directory, or write an absolute path if you mean a place outside";
        config.error_at(key, format!("`{key}`: {}", error.message()), help)
    })?;
    if is_in_git_directory(root, &path) {
        let message = format!("`{key}`: `{text}` is inside a git directory");
        return Err(config.error_at(key, message, "what is written there could become a hook or a setting of git"));
    }
    Ok(path)
}

/// Whether a path, by name or where it really is, leads into a `.git` below the project root.
fn is_in_git_directory(root: &Path, path: &Path) -> bool {
    let is_inside = |root: &Path, path: &Path| {
        let below = path.strip_prefix(root).unwrap_or(path);
        below.iter().any(|name| name.eq_ignore_ascii_case(".git"))
    };
    let real = |path: &Path| fs::resolve(path).unwrap_or_else(|_| path.to_path_buf());
    is_inside(root, path) || is_inside(&real(root), &real(path))
}

/// The nearest directory upward, within the git work tree, that has a config or a checkpoint; or else the top of the work tree;
/// or else the current directory. The home directory counts only if it is the current one.
fn find_root(cwd: &Path, home: Option<&Path>) -> PathBuf {
    // The current directory has no symlinks, but the home directory may.
    let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_path_buf()));
    let allowed = |directory: &&Path| *directory == cwd || Some(*directory) != home.as_deref();
    let top = git::top_level(cwd).filter(allowed);
    let is_ours =
        |directory: &&Path| find_config(directory).is_some() || directory.join(STATE_DIR).join(DATABASE).exists();
    let below_top = |directory: &&Path| top.is_none_or(|top| directory.starts_with(top));
    cwd.ancestors().take_while(below_top).filter(allowed).find(is_ours).or(top).unwrap_or(cwd).to_path_buf()
}

fn find_config(directory: &Path) -> Option<PathBuf> {
    let places = [directory.join(config::FILE_NAME), directory.join(STATE_DIR).join(config::FILE_NAME)];
    places.into_iter().find(|path| path.symlink_metadata().is_ok())
}

/// Refuses a config that came with the project and is a link: its errors would quote whatever the link leads to.
fn refuse_linked_config(root: &Path, file: PathBuf) -> Result<PathBuf> {
    match Anchor::new(root).require_regular(&file) {
        Err(FileError::NotRegular { path, what: FileKind::Link, .. }) => Err(Error::bad_data(format!(
            "the config `{}` is not read: `{}` is a symlink",
            file.display(),
            path.display()
        ))
        .hint("replace it by a regular file, or name the file that you mean with `--config`")),
        // Loading it reports everything else that may be wrong with it.
        _ => Ok(file),
    }
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

fn pause_files(root: &Path, configured: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if !configured.is_empty() {
        files.push(match (configured.strip_prefix("~/"), env::home()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => root.join(configured),
        });
    }
    let always = root.join("PAUSE");
    if !files.contains(&always) {
        files.push(always);
    }
    files
}

/// The path of our checkpoint. If the Python tool's checkpoint is given, which ends in `.json`, ours is beside it.
fn beside_json(path: PathBuf) -> PathBuf {
    if path.extension().is_some_and(|ending| ending == "json") { path.with_extension("db") } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for path in paths {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        directory
    }

    #[test]
    fn the_root_is_the_nearest_place_with_something_of_ours() {
        let tree = tree(&[
            "repo/.git/HEAD",
            "repo/handover.toml",
            "repo/a/.agent-handover/checkpoint.db",
            "repo/a/b/x",
            "repo/c/x",
        ]);
        let root =
            |from: &str| find_root(&tree.path().join(from), None).strip_prefix(tree.path()).unwrap().to_path_buf();
        assert_eq!(root("repo/a/b"), Path::new("repo/a"));
        assert_eq!(root("repo/c"), Path::new("repo"));
    }

    #[test]
    fn the_root_is_never_above_the_repository_nor_the_home() {
        let tree =
            tree(&["home/handover.toml", "home/repo/.git/HEAD", "home/repo/a/x", "home/plain/x", "home/.git/HEAD"]);
        let home = tree.path().join("home");
        let root = |from: &str| find_root(&home.join(from), Some(&home));
        assert_eq!(root("repo/a"), home.join("repo"));
        assert_eq!(root("plain"), home.join("plain"));
        assert_eq!(find_root(&home, Some(&home)), home);
    }

    #[test]
    fn a_symlink_out_of_the_project_is_refused_and_one_inside_is_not() {
        let tree = tree(&["root/inside/x", "outside/x"]);
        let root = tree.path().join("root");
        std::os::unix::fs::symlink("../outside", root.join("out")).unwrap();
        std::os::unix::fs::symlink("inside", root.join("in")).unwrap();
        assert!(place(&root, "out/memory").is_err());
        assert!(place(&root, "in/memory").is_ok());
        assert!(place(&root, "not/there/yet").is_ok());
        assert_eq!(place(&root, "/elsewhere").unwrap(), Path::new("/elsewhere"));
    }
}
