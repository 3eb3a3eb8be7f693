//! The checked values of a config, their defaults, and where each came from.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::category::Categories;
use crate::base::fs;
use crate::error::{Error, Listing, Problem};

/// The smallest `[warmup] budget`: a warmup of this size still has the goal and the next action.
pub(crate) const MIN_WARMUP_BUDGET: u64 = 300;

#[derive(Clone, Debug)]
pub struct Config {
    /// The file it came from; `None` for the built-in defaults.
    pub file: Option<PathBuf>,
    /// The project that the file came with; `None` for a file that a person named.
    pub came_with: Option<PathBuf>,
    pub memory_dir: String,
    pub history_dir: String,
    pub state_dir: String,
    pub pause_file: String,
    /// `None` means `checkpoint.db` in the state directory.
    pub checkpoint: Option<String>,
    pub tag: String,
    /// The tag as a file of the Python tool states it, if the names of its files have another form, which is then `tag`.
    /// Commit messages have this one.
    pub stated_tag: Option<String>,
    /// The Python tool's `[note]`: the note and the state of a run that is given none.
    pub session_note: Option<String>,
    pub current_state: Option<String>,
    pub backend: Option<Backend>,
    pub secrets: Secrets,
    pub warmup_budget: u64,
    /// Whether hooks put the warmup into sessions.
    pub warms_up: bool,
    /// Whether the first prompt of a session is answered with what earlier sessions said about it.
    pub recalls_at_first_prompt: bool,
    /// Whether an agent is reminded before a command or an edit.
    pub recalls_before_tools: bool,
    /// Whether the sessions of agents that nobody sits in front of are followed.
    pub follows_headless: bool,
    /// Directories in which hooks do nothing. Only the user's own config names them.
    pub ignored_directories: Vec<PathBuf>,
    /// What is kept of sessions after their agents delete the transcripts.
    pub keep: Keep,
    /// The same as the user's own config says it, which needs no consent.
    pub own_keep: Keep,
    /// The user's program that makes vectors of texts, with its arguments.
    pub embed: Option<Vec<String>>,
    /// How long one call of it may take.
    pub embed_timeout: Option<Duration>,
    pub categories: Categories,
    /// `None` if the file has no `[[step]]` at all.
    pub steps: Option<Vec<Step>>,
    /// Why this counts as a file of the Python tool, as the end of a sentence; `None` if it does not.
    pub python_evidence: Option<&'static str>,
    /// Unknown keys of a file of the Python tool, which takes any.
    pub ignored: Vec<Problem>,
    pub(super) text: String,
    /// Where each value stands in the file, by its name with dots: `backend.branch`.
    pub(super) places: BTreeMap<String, Range<usize>>,
    /// Values that the environment or a flag gave instead.
    pub(super) overrides: BTreeMap<&'static str, Origin>,
    /// The user's own config, if there is one.
    pub(super) own: Option<OwnFile>,
    /// Why the user's own config cannot be read. None of its values count then.
    pub(super) own_trouble: Option<Error>,
}

/// The user's own config, whose values are the defaults of every project.
#[derive(Clone, Debug)]
pub(super) struct OwnFile {
    pub(super) path: PathBuf,
    /// The line of each value, by its name with dots.
    pub(super) lines: BTreeMap<String, usize>,
}

#[derive(Clone, Debug)]
pub struct Backend {
    /// The name of a backend; `None` in a config of the Python tool that does not say.
    pub kind: Option<String>,
    pub branch: Option<String>,
    pub remote: Option<String>,
    pub push: bool,
    pub paths: Option<Vec<String>>,
    pub message: Option<String>,
    pub timeout: Duration,
    pub repo_dir: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    Block,
    Redact,
    Warn,
}

/// What is kept of a session after its agent deletes the transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keep {
    No,
    /// The talk, on this machine.
    Talk,
    /// The talk, which travels with the history on a branch of our own.
    Publish,
}

impl Keep {
    pub const CHOICES: [(&'static str, Keep); 3] = [("no", Keep::No), ("talk", Keep::Talk), ("publish", Keep::Publish)];

    pub fn name(self) -> &'static str {
        Keep::CHOICES.iter().find(|(_, keep)| *keep == self).map_or("no", |(name, _)| name)
    }
}

#[derive(Clone, Debug)]
pub struct Step {
    pub name: String,
    pub kind: &'static str,
    /// The line of its `[[step]]`.
    pub line: usize,
    pub continue_on_failure: bool,
    pub retries: u64,
    /// What the kind read from its table.
    pub params: Value,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            file: None,
            came_with: None,
            memory_dir: "memory".to_owned(),
            history_dir: ".agent-history".to_owned(),
            state_dir: ".agent-handover".to_owned(),
            pause_file: "PAUSE".to_owned(),
            checkpoint: None,
            tag: "general".to_owned(),
            stated_tag: None,
            session_note: None,
            current_state: None,
            backend: None,
            secrets: Secrets::Block,
            warmup_budget: 4_000,
            warms_up: true,
            recalls_at_first_prompt: true,
            recalls_before_tools: false,
            follows_headless: true,
            ignored_directories: Vec::new(),
            keep: Keep::No,
            own_keep: Keep::No,
            embed: None,
            embed_timeout: None,
            categories: Categories::default(),
            steps: None,
            python_evidence: None,
            ignored: Vec::new(),
            text: String::new(),
            places: BTreeMap::new(),
            overrides: BTreeMap::new(),
            own: None,
            own_trouble: None,
        }
    }
}

/// Where a value came from. The later ones win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// A line of the user's own config, counted from 1.
    Own {
        line: usize,
    },
    /// A line of the file, counted from 1.
    File {
        line: usize,
    },
    /// The variable of this name.
    Environment(&'static str),
    /// The flag of this name.
    Flag(&'static str),
}

impl Config {
    /// Whether this file means what it means to the Python tool: it has no steps of its own, and shows whose it is.
    pub fn is_python(&self) -> bool {
        self.steps.is_none() && self.python_evidence.is_some()
    }

    /// The file and its text.
    pub fn source(&self) -> Option<(&Path, &str)> {
        self.file.as_deref().map(|file| (file, self.text.as_str()))
    }

    /// Where the value of this name came from, such as `handover.tag`.
    pub fn origin(&self, key: &str) -> Origin {
        let own = || self.own.as_ref().and_then(|own| own.lines.get(key));
        match (self.overrides.get(key), self.places.get(key)) {
            (Some(origin), _) => *origin,
            (None, Some(span)) => Origin::File { line: line_of(&self.text, span.start) },
            (None, None) => own().map_or(Origin::Default, |line| Origin::Own { line: *line }),
        }
    }

    /// The user's own config, if there is one.
    pub fn own_file(&self) -> Option<&Path> {
        self.own.as_ref().map(|own| own.path.as_path())
    }

    /// Why the user's own config cannot be read, so that none of its values count.
    pub fn own_trouble(&self) -> Option<&Error> {
        self.own_trouble.as_ref()
    }

    /// Whether the user keeps hooks out of this directory. If the user's own config cannot be read, nobody knows, and hooks
    /// keep out of every directory.
    pub fn ignores(&self, directory: &Path) -> bool {
        let directory = fs::real(directory);
        self.own_trouble.is_some()
            || self.ignored_directories.iter().any(|ignored| directory.starts_with(fs::real(ignored)))
    }

    /// The value of this name no longer comes from the file.
    pub fn overridden(&mut self, key: &'static str, origin: Origin) {
        self.overrides.insert(key, origin);
    }

    /// An error about a value of `[handover]` that only turns out to be wrong later, pointing at where it was written.
    pub fn error_at(&self, key: &str, message: String, help: &str) -> Error {
        let name = format!("handover.{key}");
        let is_overridden = self.overrides.contains_key(name.as_str());
        match (&self.file, self.places.get(&name).filter(|_| !is_overridden)) {
            (Some(file), Some(span)) => {
                let help = Some(help.to_owned());
                let problem = Problem { message, span: span.clone(), help, is_ignorable: false };
                let (path, text) = (file.clone(), self.text.clone());
                Error::listing(Listing { path, text, problems: vec![problem] })
            }
            _ => Error::bad_data(message).hint(help),
        }
    }
}

pub(super) fn line_of(text: &str, at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text.as_bytes()[..at.min(text.len())]).count() + 1
}
