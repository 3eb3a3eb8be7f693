//! Takes a history as somebody changed it: their edits by hand count from now on.
//!
//! First the changes are found, then they are accepted. A command that was killed in between accepts the same changes later,
//! and none that were made since.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::derived::Order;
use super::digests::{self, Digests};
use super::index::{Index, SessionEntry};
use super::lifecycle::is_closed;
use super::rulings::MARK;
use super::{History, decisions, own_keys};
use crate::error::{Error, Result};
use crate::handoff::Handoff;

/// What was changed by hand.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Accepted {
    /// The archives that were changed, or whose digest was lost.
    pub changed: Vec<ChangedArchive>,
    /// The file names of archives that are gone.
    pub gone: Vec<String>,
    /// Lines of DECISIONS.md that no archive states.
    pub lines: Vec<String>,
    /// Sessions with the ends that only INDEX.yaml states.
    pub ends: Vec<(String, String)>,
    /// Lines of archives that were put back into DECISIONS.md.
    pub restored: Vec<String>,
}

/// An archive that was changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ChangedArchive {
    /// Its file name.
    pub name: String,
    digest: String,
}

impl Accepted {
    pub(crate) fn is_empty(&self) -> bool {
        let Accepted { changed, gone, lines, ends, restored } = self;
        [gone, lines, restored].iter().all(|list| list.is_empty()) && changed.is_empty() && ends.is_empty()
    }
}

/// An archive as it is now.
struct Present {
    name: String,
    text: String,
    handoff: Handoff,
}

impl History {
    /// What `accept` would accept. Writes nothing.
    pub(crate) fn changes_by_hand(&self) -> Result<Accepted> {
        let (archives, digests) = (self.present_archives()?, self.digests()?);
        let (log, lifecycle, index) = (self.decisions_log()?, self.lifecycle()?, self.index_or_none()?);
        let stated: Vec<String> = archives.iter().flat_map(|archive| decisions::lines(&archive.handoff)).collect();
        let is_decision = |line: &&str| line.starts_with("- [") || line.contains(MARK);
        let is_new = |line: &&str| !stated.iter().any(|other| other == line) && !lifecycle.accepted.contains(*line);
        let lines = log.lines().filter(is_decision).filter(is_new).map(str::to_owned).collect();
        let ends = |entry: &&SessionEntry| {
            let (id, status) = (entry.get("session_id"), entry.get("status"));
            let archived = archives.iter().find(|archive| archive.handoff.text("session_id") == id);
            is_closed(status)
                && lifecycle.status(id) != Some(status)
                && archived.is_some_and(|archive| archive.handoff.text("status") != status)
        };
        let pair = |entry: &SessionEntry| (entry.get("session_id").to_owned(), entry.get("status").to_owned());
        let is_there = |name: &str| archives.iter().any(|archive| archive.name == name);
        Ok(Accepted {
            changed: self.changed_archives(&archives, &digests),
            gone: digests.names().filter(|name| !is_there(name)).map(str::to_owned).collect(),
            lines,
            ends: index.sessions.iter().filter(ends).map(pair).collect(),
            restored: stated.into_iter().filter(|line| !log.lines().any(|other| other == line)).collect(),
        })
    }

    /// Accepts changes of the archives, the lines of DECISIONS.md and the ends in INDEX.yaml. A line that DECISIONS.md lacks
    /// is put back, because an archive states it: `revoke` is the way to end a ruling. What was changed once more since the
    /// changes were found is not accepted.
    pub(crate) fn accept(&self, accepted: &Accepted) -> Result<()> {
        let _lock = self.lock_for_writing()?;
        let archives = self.present_archives()?;
        self.accept_archives(&archives, accepted)?;
        let mut index = self.index_or_none()?;
        self.accept_lines_and_ends(&archives, accepted)?;
        let lifecycle = self.lifecycle()?;
        for entry in &mut index.sessions {
            let file = entry.get("file").to_owned();
            let archive = archives.iter().find(|archive| file == format!("sessions/{}", archive.name));
            if let Some(archive) = archive {
                *entry = SessionEntry::of(&archive.handoff, &file).with_status_of(&lifecycle);
            }
        }
        let mut files = HashSet::new();
        index.sessions.retain(|entry| files.insert(entry.get("file").to_owned()));
        self.write_if_changed(&self.index_path(), &index.render())?;
        self.bring_up_to_date(Order::OfArrival)
    }

    fn index_or_none(&self) -> Result<Index> {
        let index = self.read_own(&self.index_path())?.unwrap_or_default();
        Ok(Index::parse(&String::from_utf8_lossy(&index)).unwrap_or_default())
    }

    /// Every archive. An error if one cannot be read: nobody can have meant to accept that.
    fn present_archives(&self) -> Result<Vec<Present>> {
        let held = self.holding_archives();
        let read = |name: String| {
            let path = self.sessions().join(&name);
            let text = held.read_archive_text(&path).map_err(|error| damaged(error.into()))?;
            let handoff = self.parse_archive(&path, &text).map_err(damaged)?;
            Ok(Present { name, text, handoff })
        };
        let names = self.archive_names()?;
        if let Some(refused) = names.refused.into_iter().next() {
            return Err(damaged(refused.into()));
        }
        names.names.into_iter().map(read).collect()
    }

    fn changed_archives(&self, archives: &[Present], digests: &Digests) -> Vec<ChangedArchive> {
        let voucher = self.voucher();
        let is_changed = |archive: &&Present| {
            digests.has_lost(&archive.name) || self.is_changed(&archive.name, &archive.text, digests, &voucher)
        };
        let changed = |archive: &Present| ChangedArchive {
            name: archive.name.clone(),
            digest: digests::of(archive.text.as_bytes()),
        };
        archives.iter().filter(is_changed).map(changed).collect()
    }

    fn accept_archives(&self, archives: &[Present], accepted: &Accepted) -> Result<()> {
        let mut digests = self.digests()?;
        let is_accepted = |archive: &&Present| {
            let is_it = |changed: &ChangedArchive| changed.name == archive.name;
            let changed = accepted.changed.iter().find(|changed| is_it(changed));
            changed.is_some_and(|changed| changed.digest == digests::of(archive.text.as_bytes()))
        };
        let changed: Vec<&Present> = archives.iter().filter(is_accepted).collect();
        self.remember_handoffs(changed.iter().map(|archive| (archive.text.as_str(), &archive.handoff)));
        let is_there = |name: &str| archives.iter().any(|archive| archive.name == name);
        digests.retain(|name| is_there(name) || !accepted.gone.iter().any(|gone| gone == name));
        digests.set(changed.iter().map(|archive| (archive.name.as_str(), digests::of(archive.text.as_bytes()))));
        if archives.iter().all(|archive| digests.has(&archive.name)) {
            digests.is_whole_again();
        }
        self.write_if_changed(&self.digests_path(), &digests.render())
    }

    fn accept_lines_and_ends(&self, archives: &[Present], accepted: &Accepted) -> Result<()> {
        let (log, mut lifecycle) = (self.decisions_log()?, self.lifecycle()?);
        for (id, status) in &accepted.ends {
            let archive = archives.iter().find(|archive| archive.handoff.text("session_id") == id);
            own_keys::remember_end(id, status, archive.map(|archive| archive.text.as_str()));
        }
        own_keys::remember_lines(&accepted.lines);
        for (id, status) in &accepted.ends {
            lifecycle.set(id, status);
        }
        lifecycle.accepted.extend(accepted.lines.iter().cloned());
        self.write_if_changed(&self.lifecycle_path(), &lifecycle.render())?;
        let is_missing = |line: &&String| !log.lines().any(|other| other == line.as_str());
        let restored: Vec<String> = accepted.restored.iter().filter(is_missing).cloned().collect();
        self.write_if_changed(&self.decisions_path(), &decisions::append(&log, &restored))
    }
}

/// The error about an archive that cannot be read.
pub(super) fn damaged(error: Error) -> Error {
    error.hint("restore this archive from a backup, or move it away; then `agent-handover history accept`")
}
