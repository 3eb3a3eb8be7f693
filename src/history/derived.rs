//! Brings the files that are derived from the archives up to date.

use std::collections::{HashMap, HashSet};

use super::accept::damaged;
use super::index::{Index, SessionEntry};
use super::lifecycle::{Lifecycle, is_closed};
use super::{History, decisions, index_ends, prompt};
use crate::error::Result;

/// The order of the sessions in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    OfArrival,
    /// The same on every machine that has the same archives.
    OfTime,
}

impl History {
    /// Brings the derived files into the form that every machine with the same archives gives them: sessions of one second
    /// in the order of their ids, and as the latest one that is not in the future. Looks only at the ends of the index.
    pub(crate) fn settle(&self) -> Result<()> {
        // An index that cannot be read is reported by whoever needs it.
        let Some((start, end)) = index_ends::read(self).ok().flatten() else { return Ok(()) };
        let head = start.find("\nsessions:").map_or("", |at| &start[..at + 1]);
        let mut index = Index::parse(head).unwrap_or_default();
        index.sessions = index_ends::entries(&end);
        let is_settled = index.sessions.is_sorted_by(|a, b| shared_order(a) <= shared_order(b))
            && index.newest().is_some_and(|newest| newest.get("session_id") == index.latest_session);
        if is_settled || index.sessions.is_empty() {
            return Ok(());
        }
        let _lock = self.lock_for_writing()?;
        self.bring_up_to_date(Order::OfTime)
    }

    /// Brings the derived files up to date; writes only those that differ. The caller holds the lock.
    pub(super) fn bring_up_to_date(&self, order: Order) -> Result<()> {
        self.bring_up_to_date_with(order, &[])
    }

    /// Like [`History::bring_up_to_date`], for archives that arrived together: their entries keep this order of file names.
    pub(super) fn bring_up_to_date_with(&self, order: Order, arrived: &[String]) -> Result<()> {
        let text = self.read_own(&self.index_path())?.unwrap_or_default();
        let index = std::str::from_utf8(&text).ok().and_then(|text| Index::parse(text).ok()).unwrap_or_default();
        let mut lifecycle = self.lifecycle()?;
        if !Index::is_of_ours(&text) {
            take_over_closed(&index, &mut lifecycle);
        }
        self.derive_from(index, lifecycle, order, arrived)
    }

    /// Like [`History::bring_up_to_date`], with this index and lifecycle instead of those on disk.
    pub(super) fn derive_from(
        &self,
        mut index: Index,
        lifecycle: Lifecycle,
        order: Order,
        arrived: &[String],
    ) -> Result<()> {
        let closed: HashMap<&str, &str> = lifecycle.sessions.iter().map(|(id, status)| (&**id, &**status)).collect();
        for entry in &mut index.sessions {
            if let Some(status) = closed.get(entry.get("session_id")) {
                entry.set("status", status);
            }
        }
        self.record_digests()?;
        let new_decisions = self.add_unknown_archives(&mut index, &lifecycle, arrived)?;
        if order == Order::OfTime {
            index.sessions.sort_by(|a, b| shared_order(a).cmp(&shared_order(b)));
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
    fn add_unknown_archives(
        &self,
        index: &mut Index,
        lifecycle: &Lifecycle,
        arrived: &[String],
    ) -> Result<Vec<String>> {
        let (mut names, history) = (self.archive_names()?.names, self.holding_archives());
        let places: HashMap<&str, usize> = arrived.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
        // Those that were here before come first.
        names.sort_by_key(|name| places.get(name.as_str()).map(|at| at + 1));
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

    /// Writes the files that speak of the newest session only, and the index. The index comes last: as long as it does not
    /// have every archive, the next writer rebuilds everything.
    fn write_latest(&self, mut index: Index, standing: &[String]) -> Result<()> {
        let Some(latest) = index.newest().cloned() else { return Ok(()) };
        let archive = self.directory.join(latest.get("file"));
        let bytes = self.anchor.read(&archive)?;
        let handoff = self.read_archive(&archive).map_err(damaged)?;
        index.set_latest(&handoff, &latest);
        if self.read_own(&self.latest_path())?.as_deref() != Some(bytes.as_slice()) {
            self.anchor.replace(&self.latest_path(), &bytes)?;
        }
        let status = self.status_of_entry(&latest, &self.voucher()).now;
        let prompt = prompt::render(&handoff, &status, standing);
        self.write_if_changed(&self.prompt_path(), &prompt)?;
        self.write_if_changed(&self.index_path(), &index.render())
    }
}

/// The order of sessions that all machines share.
fn shared_order(entry: &SessionEntry) -> ((bool, i64), &str) {
    (entry.age(), entry.get("session_id"))
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
