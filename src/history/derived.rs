//! Brings the files that are derived from the archives up to date.

use std::collections::HashSet;

use super::index::{Index, SessionEntry};
use super::lifecycle::{Lifecycle, is_closed};
use super::{History, decisions, prompt};
use crate::error::Result;

/// The order of the sessions in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    OfArrival,
    /// The same on every machine that has the same archives.
    OfTime,
}

impl History {
    /// Brings the derived files up to date; writes only those that differ. The caller holds the lock.
    pub(super) fn bring_up_to_date(&self, order: Order) -> Result<()> {
        let text = self.read_own(&self.index_path())?.unwrap_or_default();
        let mut index = std::str::from_utf8(&text).ok().and_then(|text| Index::parse(text).ok()).unwrap_or_default();
        let mut lifecycle = self.lifecycle()?;
        if !Index::is_of_ours(&text) {
            take_over_closed(&index, &mut lifecycle);
        }
        self.record_digests()?;
        let new_decisions = self.add_unknown_archives(&mut index, &lifecycle)?;
        if order == Order::OfTime {
            index.sessions.sort_by(|a, b| (a.age(), a.get("session_id")).cmp(&(b.age(), b.get("session_id"))));
        }
        self.write_if_changed(&self.lifecycle_path(), &lifecycle.render())?;
        let log = decisions::append(&self.decisions_log()?, &new_decisions);
        if !log.is_empty() {
            self.write_if_changed(&self.decisions_path(), &log)?;
        }
        self.write_latest(index, &self.standing_for_prompt(&log, lifecycle)?)
    }

    /// Makes the entries of an index match the archives: removes entries without an archive and adds the missing ones.
    ///
    /// Returns the lines of the decisions log for the archives that were added.
    fn add_unknown_archives(&self, index: &mut Index, lifecycle: &Lifecycle) -> Result<Vec<String>> {
        let (names, history) = (self.archive_names()?.names, self.holding_archives());
        let files: HashSet<String> = names.iter().map(|name| format!("sessions/{name}")).collect();
        index.sessions.retain(|entry| files.contains(entry.get("file")));
        let all = |key: &str| index.sessions.iter().map(|entry| entry.get(key).to_owned()).collect();
        let (known, mut ids): (HashSet<String>, HashSet<String>) = (all("file"), all("session_id"));
        let mut new_decisions = Vec::new();
        for name in names {
            let file = format!("sessions/{name}");
            if known.contains(&file) {
                continue;
            }
            // `validate` reports an archive that cannot be read. It does not hold up the others.
            let Ok(handoff) = history.read_archive(&self.directory.join(&file)) else { continue };
            let entry = SessionEntry::of(&handoff, &file).with_status_of(lifecycle);
            if !ids.insert(entry.get("session_id").to_owned()) {
                index.sessions.retain(|other| other.get("session_id") != entry.get("session_id"));
            }
            index.sessions.push(entry);
            new_decisions.extend(decisions::lines(&handoff));
        }
        Ok(new_decisions)
    }

    /// Writes the index and the files that speak of the newest session only.
    fn write_latest(&self, mut index: Index, standing: &[String]) -> Result<()> {
        let Some(latest) = index.newest().cloned() else { return Ok(()) };
        let archive = self.directory.join(latest.get("file"));
        let bytes = self.anchor.read(&archive)?;
        let handoff = self.read_archive(&archive)?;
        index.set_latest(&handoff, &latest);
        self.write_if_changed(&self.index_path(), &index.render())?;
        if self.read_own(&self.latest_path())?.as_deref() != Some(bytes.as_slice()) {
            self.anchor.replace(&self.latest_path(), &bytes)?;
        }
        let status = self.status_of_entry(&latest, &self.voucher()).now;
        let prompt = prompt::render(&handoff, &status, standing);
        self.write_if_changed(&self.prompt_path(), &prompt)
    }
}

/// Adds sessions that another tool closed in the index to the lifecycle, which survives when an index is rebuilt. An index
/// that we wrote ourselves has no other ends than the lifecycle, unless somebody changed it.
pub(super) fn take_over_closed(index: &Index, lifecycle: &mut Lifecycle) {
    for entry in &index.sessions {
        if is_closed(entry.get("status")) {
            lifecycle.set(entry.get("session_id"), entry.get("status"));
        }
    }
}
