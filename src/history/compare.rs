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
use crate::handoff::{Handoff, repr};

/// What an archive says, as far as other files repeat it.
pub(super) struct ArchiveContent {
    pub session_id: String,
    pub key: OwnKey,
    /// What its entry of the index says otherwise.
    pub false_entry: Vec<String>,
    /// Whether its digest is not the one that was recorded; `None` if none was.
    pub has_other_digest: Option<bool>,
    /// Its lines of DECISIONS.md.
    pub decisions: Vec<String>,
}

/// The index, and what its entries have to agree with beside the archives.
pub(super) struct CheckedEntries<'a> {
    /// By the names of the files of the archives.
    by_file: HashMap<&'a str, &'a SessionEntry>,
    /// The statuses that sessions were closed with.
    ended: HashMap<&'a str, &'a str>,
    /// We wrote the index last, or somebody who changed it by hand.
    is_index_ours: bool,
}

impl<'a> CheckedEntries<'a> {
    pub(super) fn of(index: &'a Index, is_index_ours: bool, lifecycle: &'a Lifecycle) -> CheckedEntries<'a> {
        let by_file = index.sessions.iter().map(|entry| (entry.get("file"), entry)).collect();
        // Of several, the first one counts.
        let ended = lifecycle.sessions.iter().rev().map(|(id, status)| (id.as_str(), status.as_str())).collect();
        CheckedEntries { by_file, ended, is_index_ours }
    }

    /// Whether the archive in this file has an entry.
    pub(super) fn has(&self, file: &str) -> bool {
        self.by_file.contains_key(file)
    }

    /// What the entry of an archive says otherwise than the archive. An archive without an entry is reported elsewhere.
    pub(super) fn differences(&self, file: &str, archive: &Handoff) -> Vec<String> {
        let Some(entry) = self.by_file.get(file) else { return Vec::new() };
        let id = || repr(entry.get("session_id"));
        let mut problems = Vec::new();
        if let Some(key) = entry.differs_from(archive) {
            problems.push(format!("INDEX.yaml has another {key} for session {} than its archive", id()));
        }
        let (stated, archived) = (entry.get("status"), archive.text("status"));
        let ended = self.ended.get(archive.text("session_id")).copied();
        // Session Glue closes a session in the index only.
        let is_closed_elsewhere = !self.is_index_ours && is_closed(stated);
        if !stated.eq_ignore_ascii_case(ended.unwrap_or(archived)) && !is_closed_elsewhere {
            let known = match ended {
                Some(ended) => format!("LIFECYCLE.yaml says {}", repr(ended)),
                None => format!("it was never closed, and its archive says {}", repr(archived)),
            };
            problems.push(format!("INDEX.yaml says that session {} is {}, but {known}", id(), repr(stated)));
        }
        problems
    }
}

/// The files that repeat what archives say.
pub(super) struct Copies<'a> {
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
        problems.extend(archives.iter().flat_map(|(_, archive)| archive.false_entry.iter().cloned()));
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
