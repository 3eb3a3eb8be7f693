//! Where publishing goes.

mod git;
mod null;

use std::path::Path;

use chrono::{DateTime, FixedOffset};
use serde::{Deserialize, Serialize};

pub use git::{Ledger, pull, restore};

use crate::config::category::Categories;
use crate::error::{Error, Result};
use crate::guard::{Brake, Stop};

/// The backend of one run, as it was when the run was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    pub backend: String,
    pub branch: String,
    pub remote: String,
    pub push: bool,
    /// The repository, relative to the project; the paths are relative to it.
    pub repo_dir: String,
    pub paths: Vec<String>,
    /// A template.
    pub message: String,
    pub timeout_ms: u64,
}

impl Destination {
    pub fn null() -> Destination {
        Destination {
            backend: null::BACKEND.name.to_owned(),
            branch: String::new(),
            remote: String::new(),
            push: false,
            repo_dir: ".".to_owned(),
            paths: Vec::new(),
            message: String::new(),
            timeout_ms: 0,
        }
    }
}

/// What is delivered, from where, for whom.
pub struct Delivery<'a> {
    pub root: &'a Path,
    pub memory: &'a Path,
    pub history: &'a Path,
    pub state: &'a Path,
    pub destination: &'a Destination,
    pub categories: &'a Categories,
    /// With every template filled in.
    pub message: &'a str,
    pub run: &'a str,
    pub tag: &'a str,
    pub at: DateTime<FixedOffset>,
    pub brake: &'a Brake,
}

/// A delivery that was made.
#[derive(Debug, Default)]
pub struct Delivered {
    /// One line for a person.
    pub detail: String,
    /// What a person should know besides.
    pub notices: Vec<String>,
    /// Two truths for one thing, both kept.
    pub conflicts: Vec<String>,
}

/// Why there was none.
#[derive(Debug)]
pub enum Trouble {
    Failed(Error),
    /// The brake was pressed; what was going on is ended, and what became of it is asked later.
    Stopped(Stop),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Failed(error)
    }
}

pub struct Backend {
    pub name: &'static str,
    /// Delivers, however often it is asked: what is there already is not delivered again.
    pub publish: fn(&Delivery<'_>) -> Result<Delivered, Trouble>,
    /// What it would do, in one line.
    pub preview: fn(&Destination) -> String,
    /// Where it publishes, as the end of a sentence that begins with "Publishing:".
    pub describe: fn(&Destination) -> String,
    /// What it needs and does not find, without asking any other machine.
    pub missing: fn(root: &Path, &Destination) -> Vec<String>,
}

pub const BACKENDS: &[Backend] = &[null::BACKEND, git::BACKEND];

pub fn backend(name: &str) -> Result<&'static Backend> {
    BACKENDS
        .iter()
        .find(|backend| backend.name == name)
        .ok_or_else(|| Error::bad_data(format!("unknown backend type: '{name}' (expected 'git' or 'null')")))
}
