//! What a transcript format has to know, and which agent has one.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::FORMATS;
use super::draft::Draft;
use super::forks::Origin;
use super::listing::{Listing, ListingBudget};

/// The way in which one agent writes its sessions down.
pub struct TranscriptFormat {
    /// The name of the agent, as in its registry.
    pub name: &'static str,
    /// The variable with the directory of its files, and the directory below the home directory if it is not set.
    pub(super) place: (&'static str, &'static str),
    /// Whether a record has this format.
    pub(super) is_one: fn(&Value) -> bool,
    /// What comes before the id of a record in its line; empty if the client writes no record twice.
    pub(super) id_mark: &'static [u8],
    /// Adds the contents of a record to the draft.
    pub(super) take: fn(&mut Draft, &Value),
    /// The session files that may belong to a project with these roots, chosen without opening them.
    pub(super) candidates: fn(home: &Path, roots: &[PathBuf], budget: &mut ListingBudget) -> Vec<Listing>,
    /// The directories that hold those files themselves: the time of one changes when a file comes or goes.
    pub(super) directories: fn(home: &Path, roots: &[PathBuf]) -> Vec<PathBuf>,
    /// The session's id, from the name of its file.
    pub(super) id: fn(&Path) -> Option<String>,
    /// Where a record came from, for sessions that begin with a copy of another.
    pub(super) origin: fn(&Value) -> Origin,
    /// The file of the session with this id, for a session in the file `path`.
    pub(super) file_of: fn(path: &Path, id: &str) -> Option<PathBuf>,
    /// Other files of which the session in `path` may be a copy, newest first. Only asked if nothing names the parent.
    pub(super) siblings: fn(path: &Path) -> Vec<PathBuf>,
}

/// The format of an agent, if we can read it.
pub(super) fn of_agent(agent: &str) -> Option<&'static TranscriptFormat> {
    FORMATS.iter().find(|format| format.name == agent)
}

/// The format of a record, if it is one that we can read.
pub(super) fn of_record(record: &Value) -> Option<&'static TranscriptFormat> {
    FORMATS.iter().find(|format| (format.is_one)(record))
}

/// Whether the transcripts of this agent can be read.
pub fn is_readable(agent: &str) -> bool {
    of_agent(agent).is_some()
}
