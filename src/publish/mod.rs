//! Where publishing goes.

mod git;
mod null;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

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

pub struct Backend {
    pub name: &'static str,
    /// Delivers, and says in one line what was done.
    pub publish: fn(&Destination) -> Result<String>,
    /// What it would do, in one line.
    pub preview: fn(&Destination) -> String,
    /// Whether an interrupted delivery did land after all.
    pub landed: fn(&Destination) -> Result<bool>,
}

pub const BACKENDS: &[Backend] = &[null::BACKEND, git::BACKEND];

pub fn backend(name: &str) -> Result<&'static Backend> {
    BACKENDS
        .iter()
        .find(|backend| backend.name == name)
        .ok_or_else(|| Error::bad_data(format!("unknown backend type: '{name}' (expected 'git' or 'null')")))
}
