//! How a git process is started: shielded from the environment and the user's own programs, asking nobody, with a time limit.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::budget::{Budget, WaitsFor};
use super::delivery_settings::KnownSettings;
use super::hermetic::{self, Purpose};
use super::parse::is_object_id;
use super::remote::KnownRemotes;
use super::{Failure, FailureKind, Result, patience, pipes};
use crate::base::process::{Captured, Conversation, Job};
use crate::error::Error;

/// How long a question about the local repository may take. No network is involved.
const LOCAL_TIMEOUT: Duration = Duration::from_secs(10);

/// How long git may take before pipes are looked for that it could be waiting for.
const SUSPICIOUS: Duration = Duration::from_millis(250);

/// The longest answer that is read: a repository may have a million changed files.
const MAX_ANSWER: u64 = 4 << 20;

/// The variables that git calls local to one repository. Inside a hook they name another repository than the directory
/// does.
pub(super) const REPOSITORY_VARIABLES: &[&str] = &[
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

/// git in one directory, with the settings that every run of it gets.
#[derive(Clone)]
pub(crate) struct Git {
    pub(super) directory: PathBuf,
    timeout: Duration,
    config: Vec<String>,
    env: Vec<(String, OsString)>,
    purpose: Purpose,
    /// What this git shares with the others of its delivery, in place of `timeout`.
    budget: Option<Rc<Budget>>,
    pub(super) waits_for: WaitsFor,
    /// The bare repository to use, whose work tree is then `directory`.
    bare: Option<PathBuf>,
    /// Asked several times a second while git runs. `true` ends it.
    is_over: Rc<dyn Fn() -> bool>,
    /// What [`Git::local_remotes`] answered, for this `Git` and its clones.
    pub(super) known_remotes: KnownRemotes,
    /// The settings that a delivery needs, for this `Git` and its clones.
    pub(super) settings: KnownSettings,
}

impl Git {
    pub(crate) fn at(directory: &Path) -> Git {
        // A file-system monitor is either a program of the user's, or git's own daemon, which would stay behind.
        let config = vec!["core.fsmonitor=false".to_owned()];
        Git {
            directory: directory.to_path_buf(),
            timeout: LOCAL_TIMEOUT,
            config,
            env: Vec::new(),
            purpose: Purpose::Asking,
            budget: None,
            waits_for: WaitsFor::Nothing,
            bare: None,
            is_over: Rc::new(|| false),
            known_remotes: Rc::default(),
            settings: Rc::default(),
        }
    }

    /// git in a bare repository, with `work_tree` in the place of a work tree.
    pub(crate) fn in_bare(repository: &Path, work_tree: &Path) -> Git {
        Git { bare: Some(repository.to_path_buf()), ..Git::at(work_tree) }
    }

    /// The directory whose own repository is asked; `None` for a bare repository.
    pub(super) fn work_tree(&self) -> Option<&Path> {
        self.bare.is_none().then_some(&self.directory)
    }

    /// Adds configuration, each as `key=value`.
    #[must_use]
    pub(crate) fn with_config(mut self, config: &[&str]) -> Git {
        self.config.extend(config.iter().map(|value| (*value).to_owned()));
        self
    }

    #[must_use]
    pub(crate) fn with_env(mut self, name: &str, value: impl Into<OsString>) -> Git {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// Uses another index than the one that was named before.
    #[must_use]
    pub(super) fn with_index(mut self, index: &Path) -> Git {
        self.env.retain(|(name, _)| name != "GIT_INDEX_FILE");
        self.with_env("GIT_INDEX_FILE", index)
    }

    /// Whether git looks into the index that the user works with.
    pub(super) fn uses_the_users_index(&self) -> bool {
        self.env.iter().all(|(name, _)| name != "GIT_INDEX_FILE")
    }

    /// Ends git as soon as `is_over` answers `true`.
    #[must_use]
    pub(crate) fn until(mut self, is_over: Rc<dyn Fn() -> bool>) -> Git {
        self.is_over = is_over;
        self
    }

    /// Ends git after `timeout`.
    #[must_use]
    pub(crate) fn within(self, timeout: Duration) -> Git {
        Git { timeout, ..self }
    }

    /// Shares the time of a delivery with the other git processes of it.
    #[must_use]
    pub(crate) fn sharing(self, budget: &Rc<Budget>) -> Git {
        Git { budget: Some(Rc::clone(budget)), ..self }
    }

    /// git that waits for somebody else, too.
    pub(super) fn waiting_for(&self, waits_for: WaitsFor) -> Git {
        Git { waits_for, ..self.clone() }
    }

    /// The settings for writing: none of the user's hooks, filters and housekeeping runs, and what git writes is durable.
    #[must_use]
    pub(crate) fn writing(self) -> Git {
        let git = Git { purpose: Purpose::Publishing, ..self };
        git.with_config(&[
            "core.hooksPath=/dev/null",
            // Nothing can rebuild what the user has staged, and git reads our own index in every command.
            "core.fsync=objects,reference,index",
            "core.fsyncMethod=batch",
            "core.autocrlf=false",
            "core.safecrlf=false",
            "core.attributesFile=/dev/null",
            "core.ignoreStat=false",
            "core.checkStat=default",
            "fetch.writeCommitGraph=false",
            "core.sparseCheckout=false",
            "core.untrackedCache=false",
            "core.splitIndex=false",
            "index.sparse=false",
            "gc.auto=0",
            "maintenance.auto=false",
            "submodule.recurse=false",
            "push.recurseSubmodules=no",
            "push.followTags=false",
            "push.gpgSign=false",
            "fetch.recurseSubmodules=no",
            // A user without a configured identity gets a neutral one, not one made of the machine's name.
            "user.useConfigOnly=true",
        ])
        .with_env("GIT_ATTR_NOSYSTEM", "1")
        // Objects of the branch that a partial clone lacks are fetched.
        .with_env("GIT_NO_LAZY_FETCH", "0")
        // Nobody is there to answer a question, in whatever window it appears.
        .with_env("GIT_ASKPASS", "false")
        .with_env("SSH_ASKPASS", "false")
        .with_env("SSH_ASKPASS_REQUIRE", "force")
        .with_env("GCM_INTERACTIVE", "never")
    }

    /// Runs git and returns its answer, whether it succeeded or not.
    pub(crate) fn ask<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<Captured> {
        self.ask_with_input(arguments, None, MAX_ANSWER)
    }

    /// Like [`Git::ask`], with `input` on git's standard input and an answer of at most `max` bytes.
    pub(super) fn ask_with_input<A: AsRef<OsStr>>(
        &self,
        arguments: &[A],
        input: Option<&[u8]>,
        max: u64,
    ) -> Result<Captured> {
        let start = Instant::now();
        self.answer_since(start, self.begin(arguments, input)?, max)
    }

    /// Waits for an answer, and charges the budget for the time since `start`.
    pub(super) fn answer_since(&self, start: Instant, asked: Asked, max: u64) -> Result<Captured> {
        let verb = asked.verb.clone();
        let answer = asked.answer(max);
        if let Some(budget) = &self.budget {
            budget.charge(self.waits_for, &verb, start.elapsed());
        }
        answer
    }

    /// Asks git, and does not wait for the answer.
    pub(super) fn begin<A: AsRef<OsStr>>(&self, arguments: &[A], input: Option<&[u8]>) -> Result<Asked> {
        let mut argv: Vec<OsString> = vec!["git".into()];
        for value in &self.config {
            argv.extend(["-c".into(), value.into()]);
        }
        argv.extend(arguments.iter().map(|argument| argument.as_ref().to_owned()));
        let env = [
            // `failure` reads git's messages, so they must be in one language.
            ("LC_ALL", "C"),
            // Nobody is there to answer.
            ("GIT_TERMINAL_PROMPT", "0"),
            // A reader must not make another git process wait for a lock.
            ("GIT_OPTIONAL_LOCKS", "0"),
            // An answer is not worth fetching the objects that a partial clone lacks.
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
        let (verb, timeout) = (verb_of(arguments), self.limit()?);
        let begun = Conversation::begin(&job, input);
        Ok(Asked {
            conversation: begun.map_err(|none| Failure::from(none).of_verb(&verb, timeout))?,
            start: Instant::now(),
            timeout,
            verb,
            top: shield.top,
            is_question: self.purpose == Purpose::Asking,
            is_over: Rc::clone(&self.is_over),
        })
    }

    /// How long git may take.
    fn limit(&self) -> Result<Duration> {
        let own = match self.purpose {
            Purpose::Asking => patience::left(self.timeout, LOCAL_TIMEOUT)?,
            Purpose::Publishing => self.timeout,
        };
        match (&self.budget, self.purpose) {
            (None, _) => Ok(own),
            (Some(budget), Purpose::Asking) => Ok(budget.limit(self.waits_for)?.min(own)),
            (Some(budget), Purpose::Publishing) => budget.limit(self.waits_for),
        }
    }

    fn shield(&self) -> Result<hermetic::Shield> {
        hermetic::shield(&self.directory, self.bare.as_deref(), self.purpose, self.timeout)
    }

    /// A status without the files that look changed only because the filter that made them does not run.
    pub(super) fn without_unfiltered(&self, answer: Vec<u8>) -> Result<Vec<u8>> {
        let hermetic::Shield { top: Some(top), blanked: off, .. } = self.shield()? else { return Ok(answer) };
        let changed = hermetic::changed_in_work_tree(&answer);
        if changed.is_empty() || off.iter().all(|filter| !filter.is_off()) {
            return Ok(answer);
        }
        let git = Git { directory: top, ..self.clone() };
        let input = [changed.join(&0), vec![0]].concat();
        let arguments = ["check-attr", "-z", "--stdin", "filter"];
        let attributes = git.ask_with_input(&arguments, Some(&input), 4 * MAX_ANSWER)?;
        // Path, attribute, value.
        let fields: Vec<&[u8]> = attributes.stdout.split(|byte| *byte == 0).collect();
        let is_off = |value: &[u8]| off.iter().any(|filter| filter.is_off() && filter.name == value);
        let paths: Vec<Vec<u8>> =
            fields.chunks_exact(3).filter(|field| is_off(field[2])).map(|field| field[0].to_vec()).collect();
        Ok(hermetic::without(&answer, &paths))
    }

    /// The answer of a git that must succeed, without the last newline. An answer that is too long is cut.
    pub(crate) fn read(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let mut answer = self.ask(arguments)?;
        if !answer.succeeded {
            let said = String::from_utf8_lossy(&answer.stderr);
            return Err(Failure::of_git(format!("`git {}` failed", arguments.join(" ")), said.trim()));
        }
        if answer.stdout.last() == Some(&b'\n') {
            answer.stdout.pop();
        }
        Ok(answer.stdout)
    }

    /// The whole answer of a git that must succeed, at most `max` bytes long.
    pub(super) fn must<A: AsRef<OsStr>>(&self, arguments: &[A], input: Option<&[u8]>, max: u64) -> Result<Vec<u8>> {
        whole(self.must_or_be_cut(arguments, input, max)?)
    }

    /// Like `must`, but an answer that is too long is cut.
    pub(super) fn must_or_be_cut<A: AsRef<OsStr>>(
        &self,
        arguments: &[A],
        input: Option<&[u8]>,
        max: u64,
    ) -> Result<Captured> {
        succeeded(self.ask_with_input(arguments, input, max)?, &verb_of(arguments))
    }

    /// The object id that a git that must succeed answers with.
    pub(super) fn id<A: AsRef<OsStr>>(&self, arguments: &[A], input: Option<&[u8]>) -> Result<String> {
        let answer = self.must(arguments, input, 1_000)?;
        let id = String::from_utf8_lossy(&answer).trim().to_owned();
        if is_object_id(&id) { Ok(id) } else { Err(Failure::of_answer(Error::failed("git gave no object id"))) }
    }
}

/// A git that was asked something, and whose answer is waited for later. It is ended if nobody does.
pub(crate) struct Asked {
    conversation: Conversation,
    start: Instant,
    timeout: Duration,
    verb: String,
    /// The top of the work tree that it looks at.
    top: Option<PathBuf>,
    is_question: bool,
    is_over: Rc<dyn Fn() -> bool>,
}

impl Asked {
    /// Waits for the answer, but not for a git that waits for a pipe.
    pub(super) fn answer(self, max: u64) -> Result<Captured> {
        let Asked { conversation, start, timeout, verb, top, is_question, is_over } = self;
        let pipe = OnceCell::new();
        let find_pipe = || top.as_deref().and_then(|top| pipes::search(top).err());
        let has_pipe = || start.elapsed() >= SUSPICIOUS && pipe.get_or_init(find_pipe).is_some();
        let answer = conversation.answer(timeout, max, &|| is_over() || has_pipe());
        if answer.is_err()
            && let Some(Some(failure)) = pipe.into_inner()
        {
            return Err(failure);
        }
        let answer = answer.map_err(|none| Failure::from(none).of_verb(&verb, timeout));
        if is_question && answer.as_ref().is_err_and(|failure| failure.kind == FailureKind::TimedOut) {
            patience::spend(timeout);
        }
        answer
    }

    /// The whole answer of a git that must succeed, at most `max` bytes long.
    pub(super) fn must(self, max: u64) -> Result<Vec<u8>> {
        let verb = self.verb.clone();
        whole(succeeded(self.answer(max)?, &verb)?)
    }
}

fn whole(answer: Captured) -> Result<Vec<u8>> {
    if !answer.whole {
        let error = Error::failed("git printed more than this program reads")
            .hint("the branch holds a file of a gigabyte or more, or very many: remove what does not belong there");
        return Err(Failure::of_answer(error));
    }
    Ok(answer.stdout)
}

fn succeeded(answer: Captured, verb: &str) -> Result<Captured> {
    if answer.succeeded {
        return Ok(answer);
    }
    let said = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
    let said = if said.is_empty() { "it printed nothing; it may have been killed".to_owned() } else { said };
    Err(Failure::of_git(format!("`git {verb}` failed"), &said))
}

/// What git is asked to do; options of git itself come before it.
fn verb_of<A: AsRef<OsStr>>(arguments: &[A]) -> String {
    let mut words = arguments.iter().map(|argument| argument.as_ref().to_string_lossy());
    words.find(|word| !word.starts_with('-')).unwrap_or_default().into_owned()
}
