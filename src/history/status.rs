//! Where a history stands: the latest session, standing decisions, and problems with the files about them.

use std::cell::OnceCell;

use super::index::Index;
use super::validate::{Findings, IndexHead, PromptBasis, check_latest_in_index, readable};
use super::{History, Rulings, SessionEntry, SessionStatus, decisions, index_ends};
use crate::error::Result;

/// Where a history stands.
#[derive(Debug, Default)]
pub(crate) struct HistoryStatus {
    pub latest_session: String,
    pub latest_file: String,
    pub current_branch: String,
    pub head_commit: String,
    pub first_next_action: String,
    pub status: SessionStatus,
    pub supersedes: String,
    pub sessions: usize,
    pub decisions: usize,
    pub rulings: Rulings,
    pub problems: Vec<String>,
    pub warnings: Vec<String>,
}

impl HistoryStatus {
    /// Whether the head of the index says about the latest session what its entry says.
    pub(crate) fn agrees_with(&self, entry: &SessionEntry) -> bool {
        let is_action_gone = self.first_next_action.is_empty();
        self.latest_session == entry.get("session_id")
            && self.latest_file == entry.get("file")
            && self.current_branch == entry.get("current_branch")
            && self.head_commit == entry.get("head_commit")
            && (is_action_gone || self.first_next_action == entry.get("first_next_action"))
    }
}

impl History {
    /// Where the history stands. Reads only the ends of a long index.
    pub(crate) fn status(&self) -> Result<HistoryStatus> {
        let mut status = HistoryStatus::default();
        let mut findings = Findings::default();
        let problems = &mut findings.problems;
        let ends = readable("INDEX.yaml", index_ends::read(self), problems)?;
        let log = readable("DECISIONS.md", self.decisions_log().map(Some), problems)?.unwrap_or_default();
        status.decisions = decisions::count(&log);
        let lifecycle = readable("LIFECYCLE.yaml", self.lifecycle().map(Some), problems)?.unwrap_or_default();
        let backed = self.backed_log(&log, &lifecycle, &self.voucher());
        problems.extend(backed.problem());
        let basis = PromptBasis::of(self, [&log, &backed.text], &lifecycle.revoked);
        status.rulings = Rulings::after(&backed.text, self.sorted_revocations(lifecycle.revoked, &backed.text));
        let (start, end) = ends.unwrap_or_default();
        let split = start.find("\nsessions:").map_or(start.len(), |at| at + 1);
        let head = &start[..split];
        match Index::parse(head) {
            Err(error) => problems.push(format!("INDEX.yaml: line {}: {}", error.line, error.message)),
            Ok(index) => self.fill_status(&mut status, &index, (head, &end), basis, &mut findings)?,
        }
        (status.problems, status.warnings) = (findings.problems, findings.warnings);
        Ok(status)
    }

    /// Fills in what the head and the end of an index say, and checks it against LATEST.md.
    fn fill_status(
        &self,
        status: &mut HistoryStatus,
        index: &Index,
        (head, end): (&str, &str),
        mut basis: PromptBasis,
        findings: &mut Findings,
    ) -> Result<()> {
        let mut latest = index_ends::find_entry(end, &index.latest_session);
        status.sessions = index_ends::session_count(head).unwrap_or_default();
        // Another tool wrote the index, or the latest session is not among the last entries: read all of it.
        if status.sessions == 0 || latest.is_none() {
            let whole = self.read_own(&self.index_path()).ok().flatten().unwrap_or_default();
            let whole = String::from_utf8_lossy(&whole);
            status.sessions = whole.matches("\n  - session_id:").count();
            latest = latest.or_else(|| index_ends::find_entry(&whole, &index.latest_session));
        }
        let voucher = self.voucher();
        status.status = latest.as_ref().map(|entry| self.status_of_entry(entry, &voucher)).unwrap_or_default();
        let stated = latest.as_ref().map(|entry| entry.get("status").to_owned()).unwrap_or_default();
        status.supersedes = latest.as_ref().map(|entry| entry.get("supersedes").to_owned()).unwrap_or_default();
        status.current_branch = index.top("current_branch").to_owned();
        status.head_commit = index.top("head_commit").to_owned();
        status.first_next_action = index.first_next_action.clone();
        if status.first_next_action.is_empty() && status.status.claimed.is_some() {
            // Whoever claims that the session is done has removed its next action.
            status.first_next_action =
                latest.map(|entry| entry.get("first_next_action").to_owned()).unwrap_or_default();
        }
        status.latest_session = index.latest_session.clone();
        status.latest_file = index.latest_file.clone();
        let latest = self.check_latest(&OnceCell::new(), findings)?;
        let problems = &mut findings.problems;
        if let Some(latest) = latest {
            check_latest_in_index(&IndexHead { index, status: &stated }, &latest, problems);
            basis.statuses.extend([status.status.now.clone(), stated]);
            self.check_prompt(Some(&latest), &basis, problems)?;
        }
        self.check_file("latest_file", &status.latest_file, problems);
        Ok(())
    }
}
