//! What counts of the ends and revocations that INDEX.yaml and LIFECYCLE.yaml state.
//!
//! Both files travel with the repository, so a stranger can write into them that our session is done or our ruling revoked.
//! What they state about a session or a ruling of ours counts only if this user said it or accepted it; until then it is a
//! claim. What they state about anything else counts as it stands. The files keep every claim, so that a person can accept it
//! later: only reading decides.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::lifecycle::CLOSED;
use super::{History, SessionEntry, own_keys};
use crate::git;
use crate::guard::Voucher;
use crate::guard::own_record::{OwnKey, OwnRecord};
use crate::handoff::Handoff;

/// The status of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionStatus {
    /// The status that counts.
    pub now: String,
    /// Another status, which a file claims that came along.
    pub claimed: Option<String>,
}

impl SessionStatus {
    fn undisputed(status: &str) -> SessionStatus {
        SessionStatus { now: status.to_owned(), claimed: None }
    }
}

/// The revoked lines of DECISIONS.md.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Revocations {
    pub count: BTreeSet<String>,
    /// Those of them that this user revoked, or accepted as revoked.
    pub own: BTreeSet<String>,
    /// Lines of our own rulings, which a file revokes that came along.
    pub claimed: BTreeSet<String>,
}

impl History {
    /// Who vouches for texts of this history.
    pub(crate) fn voucher(&self) -> Voucher {
        let record = Rc::new(OwnRecord::open());
        Voucher::of(&record, &self.root, &self.directory, &self.directory, git::may_track)
    }

    /// The status of the session of an entry. Reads its archive if the user's own record does not have the status.
    pub(crate) fn status_of_entry(&self, entry: &SessionEntry, voucher: &Voucher) -> SessionStatus {
        let stated = entry.get("status");
        if voucher.has(&own_keys::of_end(entry.get("session_id"), stated)) {
            return SessionStatus::undisputed(stated);
        }
        let archive = self.inside(entry.get("file")).ok().and_then(|path| {
            let text = self.read_archive_text(&path).ok()?;
            self.parse_with_key(&path, &text).ok()
        });
        match archive {
            Some((handoff, key)) => judge(stated, &handoff, &key, voucher),
            None => SessionStatus::undisputed(stated),
        }
    }
}

/// The status that a session has if the files state this one.
pub(super) fn judge(stated: &str, handoff: &Handoff, document: &OwnKey, voucher: &Voucher) -> SessionStatus {
    let ours = own_status(handoff, document, voucher);
    // The last question may start git, so it is asked only about a session of ours whose status differs.
    let counts = stated == ours
        || !voucher.owns(document, "")
        || voucher.owns(&own_keys::of_end(handoff.text("session_id"), stated), "");
    if counts {
        return SessionStatus::undisputed(stated);
    }
    SessionStatus { now: ours.to_owned(), claimed: Some(stated.to_owned()) }
}

/// The status that this user gave a session: the one with which they ended it, or else that of its document.
pub(super) fn own_status<'a>(handoff: &'a Handoff, document: &OwnKey, voucher: &Voucher) -> &'a str {
    let is_own_end = |status: &&&str| voucher.wrote(&own_keys::of_own_end(handoff, document, status));
    CLOSED.iter().find(is_own_end).copied().unwrap_or_else(|| handoff.text("status"))
}

/// Sorts the lines that LIFECYCLE.yaml revokes: a line of ours counts only if its revocation is ours, too. What this user
/// revoked of `stated`, the lines of DECISIONS.md, stays revoked if the file no longer says so.
pub(super) fn sort_revoked<'a>(
    lines: BTreeSet<String>,
    stated: impl Iterator<Item = &'a str>,
    voucher: &Voucher,
) -> Revocations {
    let mut sorted = Revocations::default();
    let is_kept_by_record = |line: &&str| !lines.contains(*line) && voucher.has(&own_keys::of_revocation(line));
    let withheld: Vec<String> = stated.filter(is_kept_by_record).map(str::to_owned).collect();
    for line in lines {
        let is_own = voucher.owns(&own_keys::of_revocation(&line), "");
        if !is_own && voucher.owns(&own_keys::of_decision(&line), "") {
            sorted.claimed.insert(line);
            continue;
        }
        sorted.own.extend(is_own.then(|| line.clone()));
        sorted.count.insert(line);
    }
    // Where only this user writes, it was this user who took the line out of the file.
    if !withheld.is_empty() && !voucher.vouches_for_all() {
        sorted.own.extend(withheld.iter().cloned());
        sorted.count.extend(withheld);
    }
    sorted
}
