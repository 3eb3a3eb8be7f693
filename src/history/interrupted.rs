//! Completes the derived files after a writer of this user was killed and nothing recorded its command: a project that uses
//! only the history has no state directory for records.
//!
//! Files that are incomplete because somebody else changed them are left alone: only what the user's own record has counts.

use std::collections::HashSet;

use super::derived::Order;
use super::index::Index;
use super::{History, index_ends, own_keys};
use crate::error::Result;
use crate::guard::Voucher;

impl History {
    /// Brings the derived files up to date if an archive, an end or a revocation of this user is missing from them. Returns
    /// whether it was.
    pub(crate) fn complete(&self) -> Result<bool> {
        if !self.exists()? || !self.is_incomplete()? {
            return Ok(false);
        }
        let _lock = self.lock_for_writing()?;
        // The writer may have been alive.
        if !self.is_incomplete()? {
            return Ok(false);
        }
        self.bring_up_to_date(Order::OfArrival)?;
        Ok(true)
    }

    fn is_incomplete(&self) -> Result<bool> {
        let (start, end) = index_ends::read(self)?.unwrap_or_default();
        let voucher = self.voucher();
        let archives = self.anchor.count_names(&self.sessions(), ".md")?;
        let has_all = index_ends::session_count(&start) == Some(archives);
        Ok(!has_all && self.lacks_own_archive(&voucher)?
            || self.lacks_own_end(&end, &voucher)?
            || self.shows_own_revocation(&voucher)?)
    }

    /// Whether the index lacks a session whose archive this user wrote.
    fn lacks_own_archive(&self, voucher: &Voucher) -> Result<bool> {
        let index = self.read_own(&self.index_path())?.unwrap_or_default();
        let index = Index::parse(&String::from_utf8_lossy(&index)).unwrap_or_default();
        let all = |key: &str| index.sessions.iter().map(|entry| entry.get(key).to_owned()).collect::<HashSet<_>>();
        let (files, ids) = (all("file"), all("session_id"));
        let held = self.holding_archives();
        let is_lacking = |name: &String| {
            if files.contains(&format!("sessions/{name}")) || !own_keys::may_be_ours(name, voucher) {
                return false;
            }
            let path = self.sessions().join(name);
            let Ok(text) = held.read_archive_text(&path) else { return false };
            self.parse_with_key(&path, &text)
                .is_ok_and(|(handoff, key)| voucher.wrote(&key) && !ids.contains(handoff.text("session_id")))
        };
        Ok(self.archive_names()?.names.iter().any(is_lacking))
    }

    /// Whether the index has another status for the session that this user ended last.
    fn lacks_own_end(&self, end: &str, voucher: &Voucher) -> Result<bool> {
        let lifecycle = self.lifecycle()?;
        let Some((id, status)) = lifecycle.sessions.last() else { return Ok(false) };
        if !voucher.wrote(&own_keys::of_end(id, status)) {
            return Ok(false);
        }
        let entry = match index_ends::find_entry(end, id) {
            Some(entry) => Some(entry),
            None => {
                let index = self.read_own(&self.index_path())?.unwrap_or_default();
                index_ends::find_entry(&String::from_utf8_lossy(&index), id)
            }
        };
        Ok(entry.is_some_and(|entry| entry.get("status") != status))
    }

    /// Whether the prompt states a ruling that this user revoked.
    fn shows_own_revocation(&self, voucher: &Voucher) -> Result<bool> {
        let lifecycle = self.lifecycle()?;
        if lifecycle.revoked.is_empty() {
            return Ok(false);
        }
        let prompt = self.prompt_text()?.unwrap_or_default();
        let shown: HashSet<&str> = prompt.lines().map(str::trim).collect();
        let is_shown = |line: &&String| shown.contains(line.trim()) && voucher.wrote(&own_keys::of_revocation(line));
        Ok(lifecycle.revoked.iter().any(|line| is_shown(&line)))
    }
}
