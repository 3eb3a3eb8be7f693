//! What a merge brings, and whose it is. From a destination that the user has allowed it becomes this user's own;
//! everything else stays strange until the user adopts it.

use std::collections::HashSet;
use std::path::Path;

use crate::base::fs::Anchor;
use crate::base::text;
use crate::base::three_way::Theirs;
use crate::error::Result;
use crate::guard::own_record::{self, OwnKey, OwnRecord};
use crate::history::own_keys as history_keys;
use crate::memory::own_keys as memory_keys;
use crate::publish::Destination;

/// The pieces of memory and history that a merge brings.
#[derive(Default)]
pub(super) struct Arrivals {
    /// Keys in the memory, each with whether somebody said it.
    memory: Vec<(OwnKey, bool)>,
    /// Keys of the runs that the pieces of the memory name.
    runs: HashSet<OwnKey>,
    /// Keys in the history.
    history: Vec<OwnKey>,
    /// The key of the document of each handoff.
    handoffs: Vec<OwnKey>,
    /// The file names of the handoffs.
    names: Vec<String>,
}

impl Arrivals {
    /// The pieces that the incoming files have and their common base does not.
    pub(super) fn of(memory: &[Theirs], history: &[Theirs]) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for theirs in memory {
            let pieces =
                |file: &Option<Vec<u8>>| memory_keys::pieces(&theirs.path, file.as_deref().unwrap_or_default());
            let known: HashSet<OwnKey> = pieces(&theirs.base).into_iter().map(|piece| piece.key).collect();
            for piece in pieces(&theirs.now).into_iter().filter(|piece| !known.contains(&piece.key)) {
                arrivals.runs.extend(OwnKey::of_run(&piece.run));
                arrivals.memory.push((piece.key, piece.is_statement));
            }
        }
        for theirs in history.iter().filter(|theirs| theirs.now.is_some() && theirs.now != theirs.base) {
            let keys =
                |file: &Option<Vec<u8>>| history_keys::of_file(&theirs.path, file.as_deref().unwrap_or_default());
            let (new, is_handoff) = keys(&theirs.now);
            let known: HashSet<OwnKey> =
                if theirs.base.is_some() { keys(&theirs.base).0.into_iter().collect() } else { HashSet::new() };
            if is_handoff {
                arrivals.handoffs.extend(new.first().cloned());
                arrivals.names.extend(theirs.path.file_name().and_then(|name| name.to_str()).map(str::to_owned));
            }
            arrivals.history.extend(new.into_iter().filter(|key| !known.contains(key)));
        }
        arrivals
    }

    /// Remembers the pieces as this user's own if the destination is trusted; otherwise returns those that are strange,
    /// and the directories no longer vouch for text in them.
    pub(super) fn settle(self, root: &Path, memory: &Path, history: &Path, is_trusted: bool) -> Result<Arrivals> {
        if is_trusted {
            let is_new = |directory: &&Path| !Anchor::around(root, directory).is_taken(directory);
            [memory, history].iter().copied().filter(is_new).for_each(own_record::mark_created);
            let names = self.names.iter().map(|name| history_keys::of_name_in(history, name));
            let memory = self.memory.into_iter().map(|(key, _)| key);
            own_record::remember(memory.chain(self.runs).chain(self.history).chain(names))?;
            return Ok(Arrivals::default());
        }
        let record = OwnRecord::open();
        let is_strange = |directory: &Path, key: &OwnKey| !record.has(key) && !record.is_adopted(directory, key);
        let strange = Arrivals {
            memory: self.memory.into_iter().filter(|(key, _)| is_strange(memory, key)).collect(),
            runs: HashSet::new(),
            names: Vec::new(),
            history: self.history.into_iter().filter(|key| is_strange(history, key)).collect(),
            handoffs: self.handoffs.into_iter().filter(|key| is_strange(history, key)).collect(),
        };
        if !strange.memory.is_empty() {
            own_record::unmark_created(memory);
        }
        if !strange.history.is_empty() {
            own_record::unmark_created(history);
        }
        Ok(strange)
    }

    pub(super) fn add(&mut self, more: Arrivals) {
        self.memory.extend(more.memory);
        self.history.extend(more.history);
        self.handoffs.extend(more.handoffs);
    }

    /// A sentence about what is strange; `None` if nothing is.
    pub(super) fn notice(&self, destination: &Destination) -> Option<String> {
        if self.memory.is_empty() && self.history.is_empty() {
            return None;
        }
        let items: HashSet<&OwnKey> =
            self.memory.iter().filter(|(_, is_statement)| *is_statement).map(|(key, _)| key).collect();
        let handoffs: HashSet<&OwnKey> = self.handoffs.iter().collect();
        let what = match (items.len(), handoffs.len()) {
            (0, 0) => "other changes of memory and history".to_owned(),
            (items, handoffs) => format!("{} and {}", text::count(items, "item"), text::count(handoffs, "handoff")),
        };
        let Destination { remote, branch, .. } = destination;
        Some(format!("{what} came from {remote}/{branch}; `agent-handover allow --memory` accepts them as yours"))
    }
}
