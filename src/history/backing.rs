//! Which standing lines of DECISIONS.md count: those that something backs.
//!
//! Anybody can add a line to the log, and a standing line binds every later session. A line counts if this user's own record
//! has it, if the archive of its session states it and is unchanged, or if a person accepted it (`history accept`).

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::digests::Digests;
use super::lifecycle::Lifecycle;
use super::rulings::MARK;
use super::store::file_name;
use super::{History, decisions, own_keys, registry};
use crate::base::text;
use crate::error::Error;
use crate::guard::Voucher;
use crate::guard::own_record::OwnKey;
use crate::handoff::Handoff;

/// How many archives are read to find the lines of others, the newest lines first. A session start waits for this.
const MOST_ARCHIVES: usize = 100;
/// How many bytes of them are read.
const MOST_BYTES: u64 = 4 << 20;

/// A log of decisions without the standing lines that nothing backs.
#[derive(Debug, Default)]
pub(super) struct BackedLog {
    pub text: String,
    pub unbacked: Vec<String>,
}

impl BackedLog {
    /// What a reader of the rulings has to know about the lines that are left out.
    pub(super) fn problem(&self) -> Option<String> {
        let first = self.unbacked.first()?;
        let others = match self.unbacked.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown = text::one_line(first, 160);
        Some(format!(
            "DECISIONS.md has a standing line that no archive states, and it does not count: `{shown}`{others}"
        ))
    }

    /// Like [`BackedLog::problem`], for a model: without the words of somebody who may be a stranger.
    pub(super) fn error(&self) -> Option<Error> {
        let lines = text::count(Some(self.unbacked.len()).filter(|count| *count > 0)?, "standing line");
        let what = format!("{lines} of DECISIONS.md that no archive states (see `agent-handover history validate`)");
        Some(Error::bad_data(what))
    }
}

impl History {
    /// The log without the standing lines that nothing backs.
    pub(super) fn backed_log(&self, log: &str, lifecycle: &Lifecycle, voucher: &Voucher) -> BackedLog {
        let mut archives = Archives::of(self, voucher);
        let newest_first = log.lines().rev().filter(|line| line.contains(MARK));
        let mut is_backed = |line: &&str| {
            lifecycle.accepted.contains(*line)
                || voucher.has(&own_keys::of_decision(line))
                || session_of(line).is_some_and(|id| archives.state(id, line))
        };
        let mut unbacked: Vec<String> = newest_first.filter(|line| !is_backed(line)).map(str::to_owned).collect();
        unbacked.reverse();
        if unbacked.is_empty() {
            return BackedLog { text: log.to_owned(), unbacked };
        }
        let out: BTreeSet<&str> = unbacked.iter().map(String::as_str).collect();
        let text =
            log.split_inclusive('\n').filter(|line| !out.contains(line.trim_end_matches(['\n', '\r']))).collect();
        BackedLog { text, unbacked }
    }

    /// Whether an archive is not the one that was archived: its digest is another one, or this user archived another document
    /// under its name. So a change is noticed also if somebody changed the digest with the archive.
    pub(super) fn is_changed(&self, name: &str, document: &str, digests: &Digests, voucher: &Voucher) -> bool {
        digests.is_changed(name, document.as_bytes()) == Some(true)
            || voucher.wrote(&own_keys::of_name(name))
                && is_another(name, &own_keys::of_text(document), voucher)
                && self.is_written_by_user()
    }

    /// Whether this user has written this history.
    pub(super) fn is_written_by_user(&self) -> bool {
        registry::is_remembered(&self.root, &self.directory)
    }
}

/// Whether this user archived another document under this name. In a history that this user never wrote, that document is in
/// another project: sessions of two projects may have the same name.
pub(super) fn is_another(name: &str, document: &OwnKey, voucher: &Voucher) -> bool {
    voucher.wrote(&own_keys::of_name(name))
        && !voucher.has(document)
        && !voucher.wrote(&own_keys::of_taken_name(name, document))
}

/// The archives that state lines, each read at most once.
struct Archives<'a> {
    history: &'a History,
    voucher: &'a Voucher,
    digests: OnceCell<Digests>,
    /// The lines of each session that was looked for.
    lines: BTreeMap<String, BTreeSet<String>>,
    bytes_left: u64,
}

impl<'a> Archives<'a> {
    fn of(history: &'a History, voucher: &'a Voucher) -> Archives<'a> {
        Archives { history, voucher, digests: OnceCell::new(), lines: BTreeMap::new(), bytes_left: MOST_BYTES }
    }

    /// Whether the archive of this session states this line.
    fn state(&mut self, id: &str, line: &str) -> bool {
        if !self.lines.contains_key(id) {
            let lines =
                if self.lines.len() < MOST_ARCHIVES { self.read(id).unwrap_or_default() } else { BTreeSet::new() };
            self.lines.insert(id.to_owned(), lines);
        }
        self.lines.get(id).is_some_and(|lines| lines.contains(line))
    }

    /// The lines of a session; `None` if its archive cannot be read or was changed.
    fn read(&mut self, id: &str) -> Option<BTreeSet<String>> {
        let history = self.history;
        let by_id = history.archive_path(id);
        // Another tool may have named the file differently.
        let path = if history.anchor.is_regular(&by_id) { by_id } else { history.path_in_index(id)? };
        let about = history.anchor.about(&path).ok().flatten()?;
        self.bytes_left = self.bytes_left.checked_sub(about.length)?;
        let document = history.read_archive_text(&path).ok()?;
        let handoff = Handoff::parse(&document).ok().filter(|handoff| handoff.text("session_id") == id)?;
        let name = path.file_name().and_then(|name| name.to_str()).map_or_else(|| file_name(id) + ".md", str::to_owned);
        let digests = self.digests.get_or_init(|| history.digests().unwrap_or_default());
        if history.is_changed(&name, &document, digests, self.voucher) {
            return None;
        }
        Some(decisions::lines(&handoff).into_iter().collect())
    }
}

impl History {
    fn path_in_index(&self, id: &str) -> Option<std::path::PathBuf> {
        let index = self.index().ok()?;
        let entry = index.sessions.iter().find(|entry| entry.get("session_id") == id)?;
        self.inside(entry.get("file")).ok()
    }
}

/// The session in a line `- [date][session] text`.
fn session_of(line: &str) -> Option<&str> {
    let (_, rest) = line.strip_prefix("- [")?.split_once("][")?;
    rest.split_once("] ").map(|(id, _)| id)
}
