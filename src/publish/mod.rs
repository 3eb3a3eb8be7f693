//! Where publishing goes.

mod delivery;
mod git;
mod null;
mod unreachable;

use serde::{Deserialize, Serialize};

pub use delivery::{Delivered, DeliveredFiles, DeliveredRun, Delivery, NotDelivered};
pub use git::{Ledger, pull, restore};
pub use unreachable::UnreachableRemotes;

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
    /// Delivers, however often it is asked: what is there already is not delivered again.
    pub publish: fn(&Delivery<'_>) -> Result<Delivered, NotDelivered>,
    /// What it would do, in one line.
    pub preview: fn(&Destination) -> String,
}

pub const BACKENDS: &[Backend] = &[null::BACKEND, git::BACKEND];

pub fn backend(name: &str) -> Result<&'static Backend> {
    BACKENDS
        .iter()
        .find(|backend| backend.name == name)
        .ok_or_else(|| Error::bad_data(format!("unknown backend type: '{name}' (expected 'git' or 'null')")))
}
