//! The one hermetic way to ask git, and pure parsers of its answers.

mod exclude;
mod hermetic;
mod parse;
mod plumbing;
mod since;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

pub use exclude::keep_out;
pub use parse::{Change, Commit};
pub use plumbing::{Difference, Tip};
pub use since::{Relation, is_part_of_id};

use self::hermetic::Purpose;
use crate::base::process::{self, Captured, Job};
use crate::error::{Error, Result};

/// A question about the local repository; nothing here reaches a network.
const LOCAL_TIMEOUT: Duration = Duration::from_secs(10);

/// More than this is not read: a repository may have a million changed files.
const MAX_ANSWER: u64 = 4 << 20;

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
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

#[derive(Clone)]
pub struct Git {
    directory: PathBuf,
    timeout: Duration,
    config: Vec<String>,
    env: Vec<(String, OsString)>,
    purpose: Purpose,
    /// Whether whatever git does is to be ended, asked several times a second.
    is_over: Rc<dyn Fn() -> bool>,
}

impl Git {
    pub fn at(directory: &Path) -> Git {
        // The user's file-system monitor is a program of theirs, and the built-in one would stay behind as a daemon.
        let config = vec!["core.fsmonitor=false".to_owned()];
        Git {
            directory: directory.to_path_buf(),
            timeout: LOCAL_TIMEOUT,
            config,
            env: Vec::new(),
            purpose: Purpose::Asking,
            is_over: Rc::new(|| false),
        }
    }

    /// The same with more configuration, each as `key=value`.
    #[must_use]
    pub fn with_config(mut self, config: &[&str]) -> Git {
        self.config.extend(config.iter().map(|value| (*value).to_owned()));
        self
    }

    #[must_use]
    pub fn with_env(mut self, name: &str, value: impl Into<OsString>) -> Git {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    #[must_use]
    pub fn until(mut self, is_over: Rc<dyn Fn() -> bool>) -> Git {
        self.is_over = is_over;
        self
    }

    /// For who cannot wait.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Git {
        Git { timeout, ..self }
    }

    /// Runs git and gives back whatever it said.
    pub fn ask<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<Captured> {
        self.tell(arguments, None, MAX_ANSWER)
    }

    /// The same with something on its standard input, and an answer of at most `max` bytes.
    pub fn tell<A: AsRef<OsStr>>(&self, arguments: &[A], input: Option<&[u8]>, max: u64) -> Result<Captured> {
        let mut argv: Vec<OsString> = vec!["git".into()];
        for value in &self.config {
            argv.extend(["-c".into(), value.into()]);
        }
        argv.extend(arguments.iter().map(|argument| argument.as_ref().to_owned()));
        let env = [
            // Messages we may have to tell apart must be in one language.
            ("LC_ALL", "C"),
            // Nobody is there to answer.
            ("GIT_TERMINAL_PROMPT", "0"),
            // A reader must not make another git process wait for a lock.
            ("GIT_OPTIONAL_LOCKS", "0"),
            // What a partial clone lacks is not fetched for the sake of an answer.
            ("GIT_NO_LAZY_FETCH", "1"),
        ];
        let shield = self.shield()?;
        let mut set: Vec<(String, OsString)> = self.env.clone();
        let fixed = env.into_iter().map(|(name, value)| (name.to_owned(), value.into()));
        for (name, value) in fixed.chain(shield.env) {
            if set.iter().all(|(other, _)| *other != name) {
                set.push((name, value));
            }
        }
        let is_unset = |name: &&&str| set.iter().all(|(other, _)| other != **name);
        let job = Job {
            argv,
            directory: self.directory.clone(),
            env_remove: REPOSITORY_VARIABLES.iter().filter(is_unset).map(|name| (*name).to_owned()).collect(),
            env: set,
        };
        process::converse(&job, self.timeout, max, input, &*self.is_over)
    }

    fn shield(&self) -> Result<hermetic::Shield> {
        hermetic::shield(&self.directory, self.purpose, self.timeout)
    }

    /// The answer of a git that must succeed, without the last newline. Of an answer that is too long, what there is.
    pub fn read(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let mut answer = self.ask(arguments)?;
        if !answer.succeeded {
            let said = String::from_utf8_lossy(&answer.stderr);
            return Err(Error::failed(format!("`git {}` failed", arguments.join(" "))).cause(said.trim()));
        }
        if answer.stdout.last() == Some(&b'\n') {
            answer.stdout.pop();
        }
        Ok(answer.stdout)
    }

    /// The commit and the branch that are checked out, in one process. `None` before the first commit.
    pub fn head(&self) -> Result<Option<Head>> {
        let answer = self.ask(&["rev-parse", "--quiet", "HEAD^{commit}", "--symbolic-full-name", "HEAD"])?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        let mut lines = text.lines();
        let commit = lines.next().unwrap_or_default().to_owned();
        let branch = lines.next().and_then(|name| name.strip_prefix("refs/heads/")).unwrap_or_default().to_owned();
        Ok((answer.succeeded && is_object_id(&commit)).then_some(Head { commit, branch }))
    }

    /// The branch that is checked out, also before its first commit. `None` if HEAD is detached.
    pub fn branch(&self) -> Result<Option<String>> {
        let answer = self.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        let name = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        Ok((answer.succeeded && !name.is_empty()).then_some(name))
    }

    /// The best common ancestor; `None` if there is none, or if git does not know one of the two any more.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>> {
        let answer = self.ask(&["merge-base", one, other])?;
        let commit = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        Ok((answer.succeeded && is_object_id(&commit)).then_some(commit))
    }

    /// Commits after `base` up to `head`, newest first, at most `max`.
    pub fn log(&self, base: &str, head: &str, max: usize) -> Result<Vec<Commit>> {
        let (range, count) = (format!("{base}..{head}"), format!("--max-count={max}"));
        // `log` reads the user's config: what could start another program or change the form is switched off.
        let fixed =
            ["log", "-z", "--no-show-signature", "--no-notes", "--no-color", "--no-decorate", "--encoding=UTF-8"];
        let arguments = [&fixed[..], &[parse::LOG_FORMAT, &count, &range, "--"]].concat();
        Ok(parse::log(&self.read(&arguments)?))
    }

    /// Files that differ between two commits.
    pub fn changes(&self, base: &str, head: &str) -> Result<Vec<Change>> {
        let answer =
            self.read(&["diff-tree", "-r", "-z", "-M", "-l1000", "--no-ext-diff", "--name-status", base, head, "--"])?;
        Ok(parse::name_status(&answer))
    }

    /// Files that differ from the last commit, staged or not, and files git does not know.
    pub fn dirty(&self) -> Result<Vec<Change>> {
        let arguments = ["status", "--porcelain=v2", "-z", "--untracked-files=normal", "--ignore-submodules=dirty"];
        let answer = self.read(&arguments)?;
        Ok(parse::status(&self.without_unfiltered(answer)?))
    }

    /// A status without the files that look changed only because the filter that made them does not run.
    fn without_unfiltered(&self, answer: Vec<u8>) -> Result<Vec<u8>> {
        let hermetic::Shield { top: Some(top), blanked: off, .. } = self.shield()? else { return Ok(answer) };
        let changed = hermetic::changed_in_work_tree(&answer);
        if changed.is_empty() || off.iter().all(|filter| !filter.is_off()) {
            return Ok(answer);
        }
        let git = Git { directory: top, ..self.clone() };
        let input = [changed.join(&0), vec![0]].concat();
        let attributes = git.tell(&["check-attr", "-z", "--stdin", "filter"], Some(&input), 4 * MAX_ANSWER)?;
        // Path, attribute, value.
        let fields: Vec<&[u8]> = attributes.stdout.split(|byte| *byte == 0).collect();
        let is_off = |value: &[u8]| off.iter().any(|filter| filter.is_off() && filter.name == value);
        let paths: Vec<Vec<u8>> =
            fields.chunks_exact(3).filter(|field| is_off(field[2])).map(|field| field[0].to_vec()).collect();
        Ok(hermetic::without(&answer, &paths))
    }

    /// The names of the remotes.
    pub fn remotes(&self) -> Result<Vec<String>> {
        let answer = self.read(&["remote"])?;
        Ok(String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect())
    }
}

pub struct Head {
    pub commit: String,
    /// Empty if HEAD is detached.
    pub branch: String,
}

/// Whether this is a full object id and nothing else, so that it can never be read as an option or an expression.
pub fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The private directory of the work tree at `top`, and the one it shares with the other work trees of its repository.
pub fn directories(top: &Path) -> Option<(PathBuf, PathBuf)> {
    let link = top.join(".git");
    let private = if link.is_dir() {
        link
    } else {
        let text = std::fs::read_to_string(&link).ok()?;
        top.join(text.strip_prefix("gitdir:")?.trim())
    };
    let common = std::fs::read_to_string(private.join("commondir")).ok();
    let common = common.map_or_else(|| private.clone(), |common| private.join(common.trim()));
    Some((private, common))
}

/// The top of the work tree around `start`, found without starting git: every command needs it, and most of them
/// nothing else of git.
pub fn top_level(start: &Path) -> Option<&Path> {
    start.ancestors().find(|directory| directory.join(".git").exists())
}
