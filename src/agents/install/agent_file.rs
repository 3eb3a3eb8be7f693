//! One file that we keep for an agent, and how our part gets into it and out again.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::json_hooks::{self, SyntaxProblem};
use super::seal::{self, SealState};
use super::{block, program, toml_hooks};
use crate::error::{Error, Listing, Problem, Result};

#[derive(Clone, Debug)]
pub struct AgentFile {
    pub path: PathBuf,
    pub content: FileContent,
    /// Written if it is missing; else only kept up to date where it is, and taken away.
    pub is_wanted: bool,
}

#[derive(Clone, Debug)]
pub enum FileContent {
    /// Entries in a settings file of the user's.
    Hooks(Hooks, SettingsFormat),
    /// A block among the user's own text.
    Block(String),
    /// A file that is ours as a whole, sealed.
    Whole { text: String, what: &'static str, is_executable: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsFormat {
    Json,
    Toml,
}

/// The hooks of one agent in its settings.
#[derive(Clone, Debug)]
pub struct Hooks {
    pub shape: HookShape,
    /// A key that the file must have besides, if it is missing.
    pub top: Option<(&'static str, Value)>,
    /// What is called at each event.
    pub entries: Vec<(&'static str, Value)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookShape {
    /// Under each event a list of groups, each with a list of handlers, as Claude Code has it.
    Groups,
    /// Under each event a list of handlers.
    Flat,
}

/// What of ours was found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OurPart {
    pub is_there: bool,
    /// Somebody has changed a file that was ours as a whole.
    pub is_changed: bool,
    /// The agent's names of the events that call us.
    pub events: Vec<String>,
    /// What these call.
    pub programs: Vec<String>,
    /// Somebody else's hooks come after ours and change their place when ours go.
    pub is_followed: bool,
}

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileEdit {
    Text(String),
    /// Ours, but somebody has changed it.
    LeftAsChanged,
    /// Somebody else's, in the place where ours should be.
    LeftAsForeign,
}

impl AgentFile {
    pub fn hooks(path: PathBuf, hooks: Hooks) -> AgentFile {
        AgentFile { path, content: FileContent::Hooks(hooks, SettingsFormat::Json), is_wanted: true }
    }

    pub fn block(path: PathBuf, text: String) -> AgentFile {
        AgentFile { path, content: FileContent::Block(text), is_wanted: true }
    }

    pub fn whole(path: PathBuf, what: &'static str, text: String) -> AgentFile {
        AgentFile { path, content: FileContent::Whole { text, what, is_executable: false }, is_wanted: true }
    }

    pub fn script(path: PathBuf, what: &'static str, text: String) -> AgentFile {
        AgentFile { path, content: FileContent::Whole { text, what, is_executable: true }, is_wanted: true }
    }

    pub fn is_executable(&self) -> bool {
        matches!(self.content, FileContent::Whole { is_executable: true, .. })
    }

    /// Whether the agent calls us through it, rather than only being taught by it.
    pub fn is_essential(&self) -> bool {
        matches!(self.content, FileContent::Hooks(..) | FileContent::Whole { what: "hook" | "plugin", .. })
    }

    /// What it is for, in a few words.
    pub fn describe(&self) -> String {
        match &self.content {
            FileContent::Hooks(hooks, _) => {
                let events: Vec<&str> = hooks.entries.iter().map(|(event, _)| *event).collect();
                format!("hooks {}", events.join(", "))
            }
            FileContent::Block(_) => "instructions".to_owned(),
            FileContent::Whole { what, .. } => (*what).to_owned(),
        }
    }

    /// The file with our part as it should be.
    pub fn with(&self, old: Option<&str>) -> Result<FileEdit> {
        let text = old.unwrap_or_default();
        match &self.content {
            FileContent::Hooks(hooks, SettingsFormat::Json) => self.checked(text, json_hooks::with(text, hooks)),
            FileContent::Hooks(hooks, SettingsFormat::Toml) => self.checked(text, toml_hooks::with(text, hooks)),
            FileContent::Block(content) => Ok(FileEdit::Text(block::with(text, content))),
            FileContent::Whole { text: wanted, .. } => Ok(match old.map(seal::look) {
                None | Some(SealState::Whole) => FileEdit::Text(wanted.clone()),
                Some(SealState::Broken) => FileEdit::LeftAsChanged,
                Some(SealState::None) => FileEdit::LeftAsForeign,
            }),
        }
    }

    /// The file without our part. Nothing in it means that it need not be there.
    pub fn without(&self, text: &str) -> Result<FileEdit> {
        match &self.content {
            FileContent::Hooks(hooks, SettingsFormat::Json) => self.checked(text, json_hooks::without(text, hooks)),
            FileContent::Hooks(_, SettingsFormat::Toml) => self.checked(text, toml_hooks::without(text)),
            FileContent::Block(_) => Ok(FileEdit::Text(block::without(text))),
            FileContent::Whole { .. } => Ok(match seal::look(text) {
                SealState::Whole => FileEdit::Text(String::new()),
                SealState::Broken => FileEdit::LeftAsChanged,
                SealState::None => FileEdit::Text(text.to_owned()),
            }),
        }
    }

    /// Whether a file with this text could as well be absent, if it was we who made it.
    pub fn is_bare(&self, text: &str) -> bool {
        match &self.content {
            FileContent::Hooks(hooks, SettingsFormat::Json) => json_hooks::is_bare(text, hooks),
            _ => text.trim().is_empty(),
        }
    }

    pub fn look(&self, text: &str) -> OurPart {
        let seen = match &self.content {
            FileContent::Hooks(hooks, SettingsFormat::Json) => json_hooks::look(text, hooks),
            FileContent::Hooks(_, SettingsFormat::Toml) => toml_hooks::look(text),
            FileContent::Block(_) => return OurPart { is_there: block::is_in(text), ..OurPart::default() },
            FileContent::Whole { .. } => {
                let seal = seal::look(text);
                let programs = text.lines().filter_map(called).collect();
                return OurPart {
                    is_there: seal != SealState::None,
                    is_changed: seal == SealState::Broken,
                    events: Vec::new(),
                    programs: if seal == SealState::None { Vec::new() } else { programs },
                    is_followed: false,
                };
            }
        };
        OurPart { is_there: !seen.events.is_empty(), ..seen }
    }

    /// Anything odd about the file that its user should hear of.
    pub fn oddity(&self, text: &str) -> Option<String> {
        let is_odd = matches!(self.content, FileContent::Block(_)) && block::has_stray(text);
        is_odd.then(|| {
            let path = self.path.display();
            format!(
                "`{path}` has an agent-handover marker without its partner; it was left as it is, with all around it"
            )
        })
    }

    fn checked(&self, text: &str, edited: std::result::Result<String, SyntaxProblem>) -> Result<FileEdit> {
        edited.map(FileEdit::Text).map_err(|trouble| unreadable(&self.path, text, trouble))
    }
}

/// The program in a line of a script or plugin of ours.
fn called(line: &str) -> Option<String> {
    match line.strip_prefix("const PROGRAM = ") {
        Some(path) => serde_json::from_str(path.trim_end_matches(';')).ok(),
        None => program::own(line.strip_prefix("exec ")?, &[]),
    }
}

fn unreadable(path: &Path, text: &str, trouble: SyntaxProblem) -> Error {
    let hint = "nothing was changed: mend it, then try again";
    if trouble.at.is_empty() && trouble.at.start == 0 {
        return Error::bad_data(format!("`{}`: {}", path.display(), trouble.message)).hint(hint);
    }
    let problem = Problem { message: trouble.message, span: trouble.at, help: None, is_ignorable: false };
    let listing = Listing { path: path.to_path_buf(), text: text.to_owned(), problems: vec![problem] };
    Error::listing(listing).hint(hint)
}
