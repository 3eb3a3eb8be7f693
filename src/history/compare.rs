//! Compares SHA256SUMS, INDEX.yaml and DECISIONS.md with the archives, to notice what was changed.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::backing::is_another;
use super::digests::Digests;
use super::index::Index;
use super::lifecycle::{Lifecycle, is_closed};
use super::rulings::MARK;
use super::{SessionEntry, own_keys};
use crate::base::text;
use crate::guard::Voucher;
use crate::guard::own_record::OwnKey;
use crate::handoff::repr;

/// What an archive says, as far as other files repeat it.
pub(super) struct ArchiveContent {
    /// The entry of the archive for an index.
    pub entry: SessionEntry,
    pub key: OwnKey,
    /// Whether its digest is not the one that was recorded; `None` if none was.
    pub has_other_digest: Option<bool>,
    /// Its lines of DECISIONS.md.
    pub decisions: Vec<String>,
}

/// The files that repeat what archives say.
pub(super) struct Copies<'a> {
    pub index: &'a Index,
    /// We wrote the index last, or somebody who changed it by hand.
    pub is_index_ours: bool,
    pub lifecycle: &'a Lifecycle,
    pub log: &'a str,
    pub digests: &'a Digests,
    /// This user has written the history.
    pub is_written_by_user: bool,
}

impl Copies<'_> {
    /// Every difference between these files and the archives, which are given with their file names.
    pub(super) fn differences(&self, archives: &[(&str, ArchiveContent)], voucher: &Voucher) -> Vec<String> {
        let mut problems = self.changed_archives(archives, voucher);
        problems.extend(self.missing_archives(archives));
        problems.extend(self.false_entries(archives));
        problems.extend(self.missing_lines(archives));
        problems.extend(self.forged_lines(archives, voucher));
        problems
    }

    fn changed_archives(&self, archives: &[(&str, ArchiveContent)], voucher: &Voucher) -> Vec<String> {
        let is_changed = |(name, archive): &&(&str, ArchiveContent)| {
            archive.has_other_digest == Some(true) || self.is_written_by_user && is_another(name, &archive.key, voucher)
        };
        archives.iter().filter(is_changed).map(|(name, _)| changed(name)).collect()
    }

    fn missing_archives(&self, archives: &[(&str, ArchiveContent)]) -> Vec<String> {
        let there: HashSet<&str> = archives.iter().map(|(name, _)| *name).collect();
        let missing = self.digests.names().filter(|name| !there.contains(name));
        missing.map(|name| format!("sessions/{name} is in SHA256SUMS, but cannot be read")).collect()
    }

    /// Entries of the index that say something else than their archive.
    fn false_entries(&self, archives: &[(&str, ArchiveContent)]) -> Vec<String> {
        let entries: HashMap<&str, &SessionEntry> =
            self.index.sessions.iter().map(|entry| (entry.get("file"), entry)).collect();
        let mut problems = Vec::new();
        for (_, archive) in archives {
            // An archive without an entry is reported elsewhere.
            let Some(entry) = entries.get(archive.entry.get("file")) else { continue };
            let id = repr(entry.get("session_id"));
            if let Some(key) = archive.entry.differs_in(entry) {
                problems.push(format!("INDEX.yaml has another {key} for session {id} than its archive"));
            }
            let (stated, archived) = (entry.get("status"), archive.entry.get("status"));
            let ended = self.lifecycle.status(archive.entry.get("session_id"));
            // Session Glue closes a session in the index only.
            let is_closed_elsewhere = !self.is_index_ours && is_closed(stated);
            if !stated.eq_ignore_ascii_case(ended.unwrap_or(archived)) && !is_closed_elsewhere {
                let known = match ended {
                    Some(ended) => format!("LIFECYCLE.yaml says {}", repr(ended)),
                    None => format!("it was never closed, and its archive says {}", repr(archived)),
                };
                problems.push(format!("INDEX.yaml says that session {id} is {}, but {known}", repr(stated)));
            }
        }
        problems
    }

    fn missing_lines(&self, archives: &[(&str, ArchiveContent)]) -> Option<String> {
        let log: HashSet<&str> = self.log.lines().collect();
        let stated = archives.iter().flat_map(|(_, archive)| &archive.decisions);
        let missing: Vec<&str> = stated.map(String::as_str).filter(|line| !log.contains(line)).collect();
        some_lines("DECISIONS.md lacks a decision that an archive states", &missing)
    }

    /// Lines of the log that no archive states and nobody accepted. A text by hand that is no decision may stand there.
    fn forged_lines(&self, archives: &[(&str, ArchiveContent)], voucher: &Voucher) -> Option<String> {
        let stated: BTreeSet<&str> =
            archives.iter().flat_map(|(_, archive)| &archive.decisions).map(String::as_str).collect();
        let is_decision = |line: &&str| line.starts_with("- [") || line.contains(MARK);
        let is_known = |line: &str| {
            stated.contains(line) || self.lifecycle.accepted.contains(line) || voucher.has(&own_keys::of_decision(line))
        };
        let forged: Vec<&str> = self.log.lines().filter(is_decision).filter(|line| !is_known(line)).collect();
        some_lines("DECISIONS.md has a line that no archive states", &forged)
    }
}

/// The problem of an archive that is not the one that was archived.
pub(super) fn changed(name: &str) -> String {
    format!("sessions/{name} was changed after it was archived")
}

fn some_lines(what: &str, lines: &[&str]) -> Option<String> {
    let first = text::one_line(lines.first()?, 160);
    let others = match lines.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("{what}: `{first}`{others}"))
}
