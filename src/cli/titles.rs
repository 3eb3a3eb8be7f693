//! What sessions are called in a list.

use std::collections::HashMap;

use crate::engine::Provenance;
use crate::history::{History, SessionEntry};

/// How many archives are read for one list.
const MOST_READ: usize = 50;

/// A title for each session: its goal. Sessions that share a goal are called after what each of them did.
pub(super) fn of(history: &History, entries: &[&SessionEntry], provenance: &Provenance) -> Vec<String> {
    let mut shared: HashMap<&str, usize> = HashMap::new();
    for entry in entries {
        *shared.entry(entry.get("primary_goal")).or_default() += 1;
    }
    let mut read = 0;
    let mut title = |entry: &&SessionEntry| {
        let goal = entry.get("primary_goal");
        if shared[goal] == 1 || read == MOST_READ {
            return goal.to_owned();
        }
        read += 1;
        done_in(history, entry, provenance).unwrap_or_else(|| goal.to_owned())
    };
    entries.iter().map(&mut title).collect()
}

/// The status of a session in words.
pub(super) fn in_words(status: &str) -> String {
    status.to_lowercase().replace('_', " ")
}

/// The first thing that a session did. `None` if its archive does not say, or if only one of entry and archive is ours.
fn done_in(history: &History, entry: &SessionEntry, provenance: &Provenance) -> Option<String> {
    let (key, mut handoff) = history.handoff_of(entry)?;
    if provenance.owns_handoff(&key) != provenance.owns_entry(history, entry) {
        return None;
    }
    handoff.remove_private();
    let done = handoff.texts("completed_tasks").first().copied().unwrap_or_default().trim();
    Some(done.to_owned()).filter(|done| !done.is_empty())
}
