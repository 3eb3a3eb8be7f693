//! What is known about the branch between two deliveries. The ledger is in the state directory, so each work tree has its
//! own. Losing it costs only a comparison: then everything on the branch counts as new.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::fs::{Anchor, Depth};
use crate::error::{Error, Result};
use crate::publish::DeliveredFiles;

/// The state of one branch on one remote, as the last delivery left it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Ledger {
    pub branch: String,
    pub remote: String,
    /// The commit whose files were last equal to the files here.
    pub synced: String,
    /// The commit that the remote was last seen to have.
    pub delivered: String,
    /// The commit up to which every file was searched for secrets.
    pub searched: String,
    /// The last commit with words that the remote may not have, on a branch with the user's code. Empty if there is none.
    pub kept: String,
    /// `kept` is on no branch, and a ref of its own protects it.
    pub is_kept_aside: bool,
    /// The ref of what was kept aside before is still there, because another git held a lock.
    pub is_ref_left: bool,
    /// The branch was moved to `synced`, and a power cut may still undo that.
    pub unsynced: bool,
    /// `synced` is on a branch without code.
    pub is_own: bool,
    /// The published directories that existed at `synced`, relative to the top of the work tree.
    pub published: Vec<PathBuf>,
    /// The tree that our own index last held.
    pub indexed: String,
    /// The last part of the name of this machine's own branch on the remote. Empty if it never needed one.
    pub aside: String,
    /// The beginnings of commits that others put beside the branch and that are not merged here, because they change more than
    /// our files or cannot be fetched.
    pub not_merged: Vec<String>,
    /// The digest of the branches of machines that are merged and that the remote does not let go. Empty if there are none.
    pub not_removed: String,
    /// Contradictions between two machines that the last delivery met.
    pub conflicts: Vec<String>,
    /// Why a delivery is still due. Empty if none is.
    pub due: String,
    /// The commit that waits for the user's next push, as a sentence. Empty if none does.
    pub travels: String,
}

fn path(state: &Path) -> PathBuf {
    state.join("publish.json")
}

impl Ledger {
    /// The ledger as the last delivery left it. A damaged one counts as none; one that is not a regular file is an error.
    pub(crate) fn read(anchor: &Anchor, state: &Path) -> Result<Ledger> {
        let bytes = anchor.read_if_exists(&path(state))?.unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// The ledger of this branch, or a new one. Removes the temporaries of deliveries that were killed while they wrote it:
    /// whoever delivers holds the lock of the project.
    pub(super) fn of(files: &DeliveredFiles<'_>, branch: &str, remote: &str) -> Result<Ledger> {
        files.state_anchor().sweep_temporaries(files.state, Depth::Directory)?;
        let ledger = Ledger::read(&files.state_anchor(), files.state)?;
        if ledger.branch == branch && ledger.remote == remote {
            return Ok(ledger);
        }
        // Words that are kept from another branch are still missing here.
        let Ledger { kept, is_kept_aside, is_ref_left, .. } = ledger;
        let (branch, remote) = (branch.to_owned(), remote.to_owned());
        Ok(Ledger { branch, remote, kept, is_kept_aside, is_ref_left, ..Ledger::default() })
    }

    /// Writes the ledger, if it changed.
    pub(super) fn write(&self, files: &DeliveredFiles<'_>) -> Result<()> {
        let anchor = files.state_anchor();
        if Ledger::read(&anchor, files.state)? == *self {
            return Ok(());
        }
        let text =
            serde_json::to_string(self).map_err(|cause| Error::bug("a ledger cannot be written").cause(cause))?;
        anchor.create_private_directories(files.state)?;
        anchor.replace(&path(files.state), text.as_bytes())?;
        Ok(())
    }
}
