//! One file that we keep for an agent: with our part, without it, and as it is now.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::json_hooks::{self, SyntaxProblem};
use super::seal::{self, SealState};
use super::server::{self, McpServer};
use super::{block, program, toml_hooks};
use crate::error::{Error, Listing, Problem, Result};

/// A file of an agent that has a part of ours.
#[derive(Clone, Debug)]
pub struct AgentFile {
    pub path: PathBuf,
    pub content: FileContent,
    /// Whether an install creates it. If not, it is only updated where our part exists, and removed.
    pub is_wanted: bool,
}

/// Our part of a file.
#[derive(Clone, Debug)]
pub enum FileContent {
    /// Entries in a settings file of the user.
    Hooks(Hooks, SettingsFormat),
    /// Our MCP server in a settings file of the user.
    Server(McpServer, SettingsFormat),
    /// A block in a text of the user.
    Block(String),
    /// A file that is entirely ours, sealed.
    Whole { text: String, what: WholeFile },
}

/// What a file that is entirely ours is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WholeFile {
    HookScript,
    Plugin,
    Skill,
    Command,
    Rule,
}

impl WholeFile {
    fn name(self) -> &'static str {
        match self {
            WholeFile::HookScript => "hook",
            WholeFile::Plugin => "plugin",
            WholeFile::Skill => "skill",
            WholeFile::Command => "command",
            WholeFile::Rule => "rule",
        }
    }
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
    /// What the agent accepts in a JSON file. We edit all of it, whatever the agent accepts.
    pub dialect: JsonDialect,
    /// A key that the agent requires at the top level. It is added if it is missing.
    pub top: Option<(&'static str, Value)>,
    /// The handler for each event.
    pub entries: Vec<(&'static str, Value)>,
    /// The tools for which an event calls us, if not for all. Only a new group gets it.
    pub matchers: &'static [(&'static str, &'static str)],
}

/// How much more than JSON an agent accepts in its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonDialect {
    Strict,
    Comments,
    CommentsAndTrailingCommas,
}

/// How handlers are nested in the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookShape {
    /// Under each event is a list of groups, each with a list of handlers.
    Groups,
    /// Under each event is a list of handlers.
    Flat,
    /// The same, below a name of our own instead of `hooks`.
    Named,
}

impl HookShape {
    /// The key below which the events are.
    pub(super) fn key(self) -> &'static str {
        match self {
            HookShape::Groups | HookShape::Flat => "hooks",
            HookShape::Named => "agent-handover",
        }
    }
}

/// Our part of a file, as it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OurPart {
    pub is_there: bool,
    /// Whether somebody has changed a file that is entirely ours.
    pub is_changed: bool,
    /// The agent's names for the events that call us.
    pub events: Vec<String>,
    /// The programs that these events call.
    pub programs: Vec<String>,
    /// Whether hooks of others follow ours, and move up when ours are removed.
    pub is_followed: bool,
}

/// The result of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileEdit {
    Text(String),
    /// The file is ours, but somebody has changed it.
    LeftAsChanged,
    /// A file of somebody else is where ours should be.
    LeftAsForeign,
}

impl AgentFile {
    pub fn hooks(path: PathBuf, hooks: Hooks) -> AgentFile {
        AgentFile { path, content: FileContent::Hooks(hooks, SettingsFormat::Json), is_wanted: true }
    }

    pub fn block(path: PathBuf, text: String) -> AgentFile {
        AgentFile { path, content: FileContent::Block(text), is_wanted: true }
    }

    pub fn whole(path: PathBuf, what: WholeFile, text: String) -> AgentFile {
        AgentFile { path, content: FileContent::Whole { text, what }, is_wanted: true }
    }

    pub fn is_executable(&self) -> bool {
        matches!(self.content, FileContent::Whole { what: WholeFile::HookScript, .. })
    }

    /// Whether the agent calls us through this file. The others only instruct it.
    pub fn is_essential(&self) -> bool {
        matches!(
            self.content,
            FileContent::Hooks(..) | FileContent::Whole { what: WholeFile::HookScript | WholeFile::Plugin, .. }
        )
    }

    /// Whether the file is a text that the agent reads, and starts nothing.
    pub fn only_instructs(&self) -> bool {
        !self.is_essential() && !self.is_server()
    }

    pub fn is_server(&self) -> bool {
        matches!(self.content, FileContent::Server(..))
    }

    /// The purpose of the file, in a few words.
    pub fn describe(&self) -> String {
        match &self.content {
            FileContent::Server(..) => "MCP server".to_owned(),
            FileContent::Hooks(hooks, _) => {
                let events: Vec<&str> = hooks.entries.iter().map(|(event, _)| *event).collect();
                format!("hooks {}", events.join(", "))
            }
            FileContent::Block(_) => "instructions".to_owned(),
            FileContent::Whole { what, .. } => what.name().to_owned(),
        }
    }

    /// The text with our part as it should be.
    pub fn with(&self, old: Option<&str>) -> Result<FileEdit> {
        let text = old.unwrap_or_default();
        match &self.content {
            FileContent::Hooks(hooks, SettingsFormat::Json) => self.checked(text, json_hooks::with(text, hooks)),
            FileContent::Hooks(hooks, SettingsFormat::Toml) => self.checked(text, toml_hooks::with(text, hooks)),
            FileContent::Server(ours, format) => {
                let edited = server::with(text, ours, *format);
                let edited = edited.map_err(|problem| unreadable(&self.path, text, problem))?;
                Ok(edited.map_or(FileEdit::LeftAsForeign, FileEdit::Text))
            }
            FileContent::Block(content) => Ok(FileEdit::Text(block::with(text, content))),
            FileContent::Whole { text: wanted, .. } => Ok(match old.map(seal::look) {
                None | Some(SealState::Whole) => FileEdit::Text(wanted.clone()),
                Some(SealState::Broken) => FileEdit::LeftAsChanged,
                Some(SealState::None) => FileEdit::LeftAsForeign,
            }),
        }
    }

    /// Whether the agent can read a settings file with this text, and an install can edit it.
    pub fn check(&self, text: &str) -> Result<()> {
        if let FileContent::Hooks(hooks, SettingsFormat::Json) = &self.content {
            json_hooks::check(text, hooks.dialect).map_err(|problem| unreadable(&self.path, text, problem))?;
        }
        match self.content {
            FileContent::Hooks(..) => self.with(Some(text)).map(drop),
            _ => Ok(()),
        }
    }

    /// The text without our part. If it is empty, the file can be removed.
    pub fn without(&self, text: &str) -> Result<FileEdit> {
        match &self.content {
            FileContent::Hooks(hooks, SettingsFormat::Json) => self.checked(text, json_hooks::without(text, hooks)),
            FileContent::Hooks(_, SettingsFormat::Toml) => self.checked(text, toml_hooks::without(text)),
            FileContent::Server(ours, format) => self.checked(text, server::without(text, ours, *format)),
            FileContent::Block(_) => Ok(FileEdit::Text(block::without(text))),
            FileContent::Whole { .. } => Ok(match seal::look(text) {
                SealState::Whole => FileEdit::Text(String::new()),
                SealState::Broken => FileEdit::LeftAsChanged,
                SealState::None => FileEdit::Text(text.to_owned()),
            }),
        }
    }

    /// Whether a file with this text can be removed if we created it.
    pub fn is_bare(&self, text: &str) -> bool {
        match &self.content {
            FileContent::Hooks(hooks, SettingsFormat::Json) => json_hooks::is_bare(text, hooks),
            FileContent::Server(_, format) => server::is_bare(text, *format),
            _ => text.trim().is_empty(),
        }
    }

    /// Our part of the file, as it is now.
    pub fn look(&self, text: &str) -> OurPart {
        let seen = match &self.content {
            FileContent::Hooks(hooks, SettingsFormat::Json) => json_hooks::look(text, hooks),
            FileContent::Hooks(_, SettingsFormat::Toml) => toml_hooks::look(text),
            FileContent::Server(ours, format) => {
                let programs: Vec<String> = server::look(text, ours, *format).into_iter().collect();
                return OurPart { is_there: !programs.is_empty(), programs, ..OurPart::default() };
            }
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

    /// A warning about the file, if there is something that its user should look at.
    pub fn oddity(&self, text: &str) -> Option<String> {
        let is_odd = matches!(self.content, FileContent::Block(_)) && block::has_stray(text);
        is_odd.then(|| {
            let path = self.path.display();
            format!("`{path}` has an agent-handover marker without its partner; the file was not changed there")
        })
    }

    /// A warning that the agent ignores the file as it is, although we can edit it.
    pub fn rejection(&self, text: &str, title: &str) -> Option<String> {
        let FileContent::Hooks(hooks, SettingsFormat::Json) = &self.content else { return None };
        let problem = json_hooks::check(text, hooks.dialect).err()?;
        let before = problem.at.and_then(|at| text.get(..at.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let path = self.path.display();
        Some(format!("`{path}` line {line}: {}; {title} ignores the file until that is fixed", problem.message))
    }

    fn checked(&self, text: &str, edited: std::result::Result<String, SyntaxProblem>) -> Result<FileEdit> {
        edited.map(FileEdit::Text).map_err(|problem| unreadable(&self.path, text, problem))
    }
}

/// The program in a line of our script or plugin.
fn called(line: &str) -> Option<String> {
    match line.strip_prefix("const PROGRAM = ") {
        Some(path) => serde_json::from_str(path.trim_end_matches(';')).ok(),
        None => program::own(line.strip_prefix("exec ")?, &[]),
    }
}

fn unreadable(path: &Path, text: &str, problem: SyntaxProblem) -> Error {
    let hint = "nothing was changed: fix the file, then try again";
    let Some(span) = problem.at else {
        return Error::bad_data(format!("`{}`: {}", path.display(), problem.message)).hint(hint);
    };
    let problem = Problem { message: problem.message, span, help: None, is_ignorable: false };
    let listing = Listing { path: path.to_path_buf(), text: text.to_owned(), problems: vec![problem] };
    Error::listing(listing).hint(hint)
}
