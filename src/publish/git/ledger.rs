//! What is known about the branch between two deliveries. It lies in the state directory, so each work tree has its own,
//! and losing it costs nothing but a comparison: then everything on the branch counts as new.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::fs;
use crate::error::{Error, Result};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    pub branch: String,
    pub remote: String,
    /// The commit that the files here last were.
    pub synced: String,
    /// The commit that the remote was last seen to have.
    pub delivered: String,
    /// The commit up to which every file was searched for secrets.
    pub searched: String,
    /// That commit is on a branch without code.
    pub is_own: bool,
    /// The directories that were there then, relative to the top.
    pub published: Vec<PathBuf>,
    /// The tree that our own index last was.
    pub indexed: String,
    /// Two truths for one thing, met at the last delivery.
    pub conflicts: Vec<String>,
    /// What is still to be delivered and why it was not; empty if nothing is.
    pub due: String,
    /// What is delivered when the user next pushes; empty if nothing is.
    pub travels: String,
}

fn path(state: &Path) -> PathBuf {
    state.join("publish.json")
}

impl Ledger {
    /// As it was left; a damaged one is as good as none.
    pub fn read(state: &Path) -> Ledger {
        let bytes = fs::read_if_exists(&path(state)).ok().flatten().unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// That of this branch, or a new one.
    pub fn of(state: &Path, branch: &str, remote: &str) -> Ledger {
        let ledger = Ledger::read(state);
        if ledger.branch == branch && ledger.remote == remote {
            return ledger;
        }
        Ledger { branch: branch.to_owned(), remote: remote.to_owned(), ..Ledger::default() }
    }

    pub fn write(&self, state: &Path) -> Result<()> {
        if Ledger::read(state) == *self {
            return Ok(());
        }
        let text =
            serde_json::to_string(self).map_err(|cause| Error::bug("a ledger cannot be written").cause(cause))?;
        fs::create_private_directories(state)?;
        fs::replace(&path(state), text.as_bytes())
    }
}
