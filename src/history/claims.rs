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
    let is_own_end = |status: &&&str| voucher.has(&own_keys::of_own_end(handoff, document, status));
    let ours = CLOSED.iter().find(is_own_end).copied().unwrap_or_else(|| handoff.text("status"));
    // The last question may start git, so it is asked only about a session of ours whose status differs.
    let counts = stated == ours
        || !voucher.owns(document, "")
        || voucher.owns(&own_keys::of_end(handoff.text("session_id"), stated), "");
    if counts {
        return SessionStatus::undisputed(stated);
    }
    SessionStatus { now: ours.to_owned(), claimed: Some(stated.to_owned()) }
}

/// Sorts revoked lines: a line of ours counts only if its revocation is ours, too.
pub(super) fn sort_revoked(lines: BTreeSet<String>, voucher: &Voucher) -> Revocations {
    let counts = |line: &String| {
        voucher.has(&own_keys::of_revocation(line))
            || !voucher.owns(&own_keys::of_decision(line), "")
            || voucher.owns(&own_keys::of_revocation(line), "")
    };
    let (count, claimed) = lines.into_iter().partition(counts);
    Revocations { count, claimed }
}
