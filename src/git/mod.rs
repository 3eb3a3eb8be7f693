//! The one hermetic way to ask git, and pure parsers of its answers.

mod exclude;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use exclude::keep_out;

use crate::base::process::{self, Captured, Job};
use crate::error::{Error, Result};

/// A question about the local repository; nothing here reaches a network.
const LOCAL_TIMEOUT: Duration = Duration::from_secs(20);

/// What git itself calls local to one repository. Inside a hook these point elsewhere than the directory does.
const REPOSITORY_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
];

pub struct Git {
    directory: PathBuf,
}

impl Git {
    pub fn at(directory: &Path) -> Git {
        Git { directory: directory.to_path_buf() }
    }

    /// Runs git and gives back whatever it said.
    pub fn ask(&self, arguments: &[&str]) -> Result<Captured> {
        let mut argv: Vec<OsString> = vec!["git".into()];
        argv.extend(arguments.iter().map(OsString::from));
        let env = [
            // Messages we may have to tell apart must be in one language.
            ("LC_ALL", "C"),
            // Nobody is there to answer.
            ("GIT_TERMINAL_PROMPT", "0"),
            // A reader must not make another git process wait for a lock.
            ("GIT_OPTIONAL_LOCKS", "0"),
        ];
        let job = Job {
            argv,
            directory: self.directory.clone(),
            env: env.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect(),
            env_remove: REPOSITORY_VARIABLES.iter().map(|name| (*name).to_owned()).collect(),
        };
        process::capture(&job, LOCAL_TIMEOUT)
    }

    /// The answer of a git that must succeed, without the last newline.
    pub fn read(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let mut answer = self.ask(arguments)?;
        if !answer.status.success() {
            let said = String::from_utf8_lossy(&answer.stderr);
            return Err(Error::failed(format!("`git {}` failed", arguments.join(" "))).cause(said.trim()));
        }
        if answer.stdout.last() == Some(&b'\n') {
            answer.stdout.pop();
        }
        Ok(answer.stdout)
    }

    /// The names of the remotes.
    pub fn remotes(&self) -> Result<Vec<String>> {
        let answer = self.read(&["remote"])?;
        Ok(String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect())
    }
}

/// The top of the work tree around `start`, found without starting git: every command needs it, and most of them
/// nothing else of git.
pub fn top_level(start: &Path) -> Option<&Path> {
    start.ancestors().find(|directory| directory.join(".git").exists())
}
