//! Where the deliveries of a run go.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::git::GitBackend;
use super::null::NullBackend;
use super::{Backend, backend};
use crate::config::Config;
use crate::error::Result;

/// The destination of one run, as it was when the run was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    pub backend: String,
    pub branch: String,
    pub remote: String,
    pub push: bool,
    /// The repository, relative to the project. `paths` are relative to it.
    pub repo_dir: String,
    pub paths: Vec<String>,
    /// A template.
    pub message: String,
    pub timeout_ms: u64,
}

impl Destination {
    /// The destination that a config names.
    pub fn of(config: &Config) -> Destination {
        // A Python config means git even where it names no backend.
        let default: &dyn Backend = if config.is_python() { &GitBackend } else { &NullBackend };
        let named = config.backend.as_ref().and_then(|named| named.kind.as_deref());
        named.and_then(|name| backend(name).ok()).unwrap_or(default).destination(config)
    }

    /// A destination to which nothing is delivered: the files stay in the project.
    pub fn nowhere() -> Destination {
        Destination {
            backend: NullBackend.name().to_owned(),
            branch: String::new(),
            remote: String::new(),
            push: false,
            repo_dir: ".".to_owned(),
            paths: Vec::new(),
            message: String::new(),
            timeout_ms: 0,
        }
    }

    /// Whether everything stays in the project's own files. A backend that this version does not know may do anything.
    pub fn is_local(&self) -> bool {
        backend(&self.backend).is_ok_and(|backend| !backend.is_remote())
    }

    /// Whether the files are published on the branch that is checked out in `root`, and so belong to the user's commits.
    pub fn is_on_checked_out_branch(&self, root: &Path) -> Result<bool> {
        backend(&self.backend).map_or(Ok(false), |backend| backend.is_on_checked_out_branch(root, self))
    }
}
