//! What a step gets to see.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Provided;
use crate::config::category::Categories;
use crate::config::template::{self, Values};
use crate::error::Result;
use crate::facts::{self, Session};
use crate::guard::Brake;
use crate::publish::Destination;

/// Everything that a step can see. It has no access to the database, the terminal or other steps.
pub struct Context<'a> {
    /// The directory below which memory, history and state are.
    pub root: &'a Path,
    /// The worktree in which the session ran: commands run here.
    pub work: &'a Path,
    /// The worktree does not exist any more.
    pub is_gone: bool,
    /// The directory by which a person knows the project.
    pub known_root: &'a Path,
    /// The bare repository that `root` is in; `None` if there is a main work tree.
    pub bare: Option<&'a Path>,
    pub memory: PathBuf,
    pub history: PathBuf,
    pub logs: PathBuf,
    pub state: &'a Path,
    pub session: &'a Session,
    pub destination: &'a Destination,
    /// What comes from the destination is this user's own.
    pub is_trusted: bool,
    /// The kept talk of sessions travels with a delivery.
    pub takes_talk: bool,
    pub step: &'a str,
    pub attempt: u32,
    pub params: &'a Value,
    pub values: &'a Values,
    pub brake: &'a Brake,
    pub provided: &'a Provided<'a>,
    pub categories: &'a Categories,
    /// For a kind with `newest_wins`: the younger run that has already done its own step.
    pub overtaken_by: Option<&'a str>,
    /// For a command that was carried out at once: the latest time in the current state before it. Empty for others.
    pub newest_before: &'a str,
}

impl Context<'_> {
    /// A template with its values filled in.
    pub(super) fn render(&self, template: &str) -> Result<String> {
        template::render(template, self.values, &facts::texts(self.session))
    }

    /// A value by its name; empty if there is none, or if it is not a text.
    pub(super) fn value(&self, name: &str) -> String {
        self.values.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// A path relative to the project, for messages.
    pub(super) fn show(&self, path: &Path) -> String {
        path.strip_prefix(self.root).unwrap_or(path).display().to_string()
    }
}
