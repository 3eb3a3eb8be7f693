//! What a transcript format has to know, and which agent has one.

use std::path::{Path, PathBuf};

use super::json::Value;

use super::FORMATS;
use super::bounded_json::ReadInPart;
use super::draft::Draft;
use super::forks::Origin;
use super::listing::{Listing, ListingBudget};
use crate::base::env;
use crate::base::fs::FileState;

/// The way in which one agent writes its sessions down.
pub struct TranscriptFormat {
    /// The name of the agent, as in its registry.
    pub name: &'static str,
    pub(super) place: Place,
    /// Whether a record has this format.
    pub(super) is_one: fn(&Value) -> bool,
    /// What comes before the id of a record in its line; empty if the client writes no record twice.
    pub(super) id_mark: &'static [u8],
    /// The fields of a record of which [`Self::take`] reads only a part.
    pub(super) in_part: ReadInPart,
    /// Adds the contents of a record to the draft.
    pub(super) take: fn(&mut Draft, &Value),
    /// The session files that may belong to a project with these roots, chosen without opening them.
    pub(super) candidates: fn(home: &Path, roots: &[PathBuf], budget: &mut ListingBudget) -> Vec<Listing>,
    /// The states of these session files, in their order; `None` for one that is gone.
    pub(super) states: fn(&[PathBuf]) -> Vec<Option<FileState>>,
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
    /// Takes what is said about the session beside its records: in another file, or in the name of a directory.
    pub(super) beside: fn(&mut Draft, &Path),
    /// Where older versions kept sessions that are not read, below its directory; how their names end; and which versions those
    /// are.
    pub(super) older: &'static [(&'static str, &'static str, &'static str)],
    /// The transcripts of the sub-agents that the session in `path` started.
    pub(super) subagents: fn(path: &Path) -> Vec<PathBuf>,
    /// Whether the agent names the transcript in every call of a hook.
    pub(super) is_always_named: bool,
    /// Whether the client writes down what hooks added to a session, as far as that was seen.
    pub(super) keeps_context: bool,
    /// Where the session with this id is, for an agent that does not tell its hooks.
    pub(super) by_id: fn(home: &Path, id: &str) -> Option<PathBuf>,
}

/// The directory of an agent's files.
pub(super) struct Place {
    /// The variable that names another one; empty if there is none.
    pub variable: &'static str,
    /// The directory below the one that the variable names.
    pub below: &'static str,
    /// The directory below the home directory, if the variable is not set.
    pub default: &'static str,
}

impl Place {
    pub(super) fn directory(&self) -> Option<PathBuf> {
        let named = Some(self.variable).filter(|name| !name.is_empty()).and_then(env::get);
        match named.map(PathBuf::from).filter(|named| named.is_absolute()) {
            Some(named) => Some(named.join(self.below)),
            None => Some(env::home()?.join(self.default)),
        }
    }
}

/// The format of an agent, if we can read it.
pub(super) fn of_agent(agent: &str) -> Option<&'static TranscriptFormat> {
    FORMATS.iter().find(|format| format.name == agent)
}

/// The format of a record, if it is one that we can read.
pub(super) fn of_record(record: &Value) -> Option<&'static TranscriptFormat> {
    FORMATS.iter().find(|format| (format.is_one)(record))
}

/// Where the transcript of a session of this agent is, if its id alone says so.
pub(crate) fn path_of(agent: &str, id: &str) -> Option<PathBuf> {
    // An id becomes part of a path.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if id.is_empty() || id.len() > 200 || !id.chars().all(is_plain) {
        return None;
    }
    let format = of_agent(agent)?;
    (format.by_id)(&format.place.directory()?, id)
}

/// Whether the agent names a transcript that can be read in every call of a hook.
pub(crate) fn is_always_named(agent: &str) -> bool {
    of_agent(agent).is_some_and(|format| format.is_always_named)
}

/// Whether the transcripts of this agent can be read.
pub fn is_readable(agent: &str) -> bool {
    of_agent(agent).is_some()
}
