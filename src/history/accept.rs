//! Takes a history as somebody changed it: their edits by hand count from now on.

use super::derived::{Order, take_over_closed};
use super::index::{Index, SessionEntry};
use super::lifecycle::is_closed;
use super::rulings::MARK;
use super::{History, decisions, own_keys};
use crate::error::Result;
use crate::handoff::Handoff;

/// What was accepted.
#[derive(Debug, Default)]
pub(crate) struct Accepted {
    /// The file names of archives that were changed.
    pub changed: Vec<String>,
    /// The file names of archives that are gone.
    pub gone: Vec<String>,
    /// Lines of DECISIONS.md that no archive states.
    pub lines: Vec<String>,
    /// Sessions with the ends that only INDEX.yaml states.
    pub ends: Vec<(String, String)>,
    /// Lines of archives that were put back into DECISIONS.md.
    pub restored: Vec<String>,
}

impl Accepted {
    pub(crate) fn is_empty(&self) -> bool {
        let Accepted { changed, gone, lines, ends, restored } = self;
        [changed, gone, lines, restored].iter().all(|list| list.is_empty()) && ends.is_empty()
    }
}

/// An archive as it is now.
struct Present {
    name: String,
    text: String,
    handoff: Handoff,
}

impl History {
    /// Accepts the archives, the lines of DECISIONS.md and the ends in INDEX.yaml as they are. A line that DECISIONS.md lacks
    /// is put back, because an archive states it: `revoke` is the way to end a ruling.
    pub(crate) fn accept(&self) -> Result<Accepted> {
        let _lock = self.lock_for_writing()?;
        let mut accepted = Accepted::default();
        let archives = self.present_archives()?;
        self.accept_archives(&archives, &mut accepted)?;
        let index = self.read_own(&self.index_path())?.unwrap_or_default();
        let mut index = Index::parse(&String::from_utf8_lossy(&index)).unwrap_or_default();
        self.accept_lines_and_ends(&archives, &index, &mut accepted)?;
        let lifecycle = self.lifecycle()?;
        for entry in &mut index.sessions {
            let file = entry.get("file").to_owned();
            let archive = archives.iter().find(|archive| file == format!("sessions/{}", archive.name));
            if let Some(archive) = archive {
                *entry = SessionEntry::of(&archive.handoff, &file).with_status_of(&lifecycle);
            }
        }
        self.anchor.replace(&self.index_path(), index.render().as_bytes())?;
        self.bring_up_to_date(Order::OfArrival)?;
        Ok(accepted)
    }

    /// The archives that can be read.
    fn present_archives(&self) -> Result<Vec<Present>> {
        let held = self.holding_archives();
        let read = |name: String| {
            let text = held.read_archive_text(&self.sessions().join(&name)).ok()?;
            let handoff = Handoff::parse(&text).ok()?;
            Some(Present { name, text, handoff })
        };
        Ok(self.archive_names()?.names.into_iter().filter_map(read).collect())
    }

    fn accept_archives(&self, archives: &[Present], accepted: &mut Accepted) -> Result<()> {
        let (mut digests, voucher) = (self.digests()?, self.voucher());
        let is_changed = |archive: &&Present| self.is_changed(&archive.name, &archive.text, &digests, &voucher);
        let changed: Vec<&Present> = archives.iter().filter(is_changed).collect();
        let is_there = |name: &str| archives.iter().any(|archive| archive.name == name);
        accepted.gone = digests.names().filter(|name| !is_there(name)).map(str::to_owned).collect();
        accepted.changed = changed.iter().map(|archive| archive.name.clone()).collect();
        own_keys::remember(changed.iter().map(|archive| (archive.text.as_str(), &archive.handoff)));
        digests.retain(is_there);
        for archive in changed {
            digests.set(&archive.name, archive.text.as_bytes());
        }
        self.anchor.replace(&self.digests_path(), digests.render().as_bytes())?;
        Ok(())
    }

    fn accept_lines_and_ends(&self, archives: &[Present], index: &Index, accepted: &mut Accepted) -> Result<()> {
        let (log, mut lifecycle) = (self.decisions_log()?, self.lifecycle()?);
        let stated: Vec<String> = archives.iter().flat_map(|archive| decisions::lines(&archive.handoff)).collect();
        let is_decision = |line: &&str| line.starts_with("- [") || line.contains(MARK);
        let is_new = |line: &&str| !stated.iter().any(|other| other == line) && !lifecycle.accepted.contains(*line);
        accepted.lines = log.lines().filter(is_decision).filter(is_new).map(str::to_owned).collect();
        accepted.restored = stated.into_iter().filter(|line| !log.lines().any(|other| other == line)).collect();
        let ends = |entry: &&SessionEntry| {
            let (id, status) = (entry.get("session_id"), entry.get("status"));
            let archived = archives.iter().find(|archive| archive.handoff.text("session_id") == id);
            is_closed(status)
                && lifecycle.status(id) != Some(status)
                && archived.is_some_and(|archive| archive.handoff.text("status") != status)
        };
        let pair = |entry: &SessionEntry| (entry.get("session_id").to_owned(), entry.get("status").to_owned());
        accepted.ends = index.sessions.iter().filter(ends).map(pair).collect();
        for (id, status) in &accepted.ends {
            let archive = archives.iter().find(|archive| archive.handoff.text("session_id") == id);
            own_keys::remember_end(id, status, archive.map(|archive| archive.text.as_str()));
        }
        own_keys::remember_lines(&accepted.lines);
        take_over_closed(index, &mut lifecycle);
        lifecycle.accepted.extend(accepted.lines.iter().cloned());
        self.write_if_changed(&self.lifecycle_path(), &lifecycle.render())?;
        self.write_if_changed(&self.decisions_path(), &decisions::append(&log, &accepted.restored))
    }
}
