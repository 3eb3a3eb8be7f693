//! LIFECYCLE.yaml: how sessions ended, which rulings were revoked, and which lines of DECISIONS.md a person accepted.
//! Archives do not change and DECISIONS.md only grows, so this has a file of its own.

use std::collections::BTreeSet;

use super::catalog::ambiguous;
use super::derived::Order;
use super::index::Index;
use super::{History, NotChanged, SessionEntry, claims, own_keys};
use crate::base::fs::{Depth, FileError};
use crate::error::{Error, Result};
use crate::guard::own_record::OwnKey;
use crate::handoff::{self, Handoff, Value, repr};

/// The statuses of a session that ended.
pub(crate) const CLOSED: [&str; 3] = ["DONE", "BLOCKED", "ABANDONED"];

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lifecycle {
    /// Session ids and their statuses, in the order in which the sessions were closed.
    pub sessions: Vec<(String, String)>,
    /// The lines of DECISIONS.md whose rulings were revoked.
    pub revoked: BTreeSet<String>,
    /// The lines of DECISIONS.md that a person accepted although no archive states them.
    pub accepted: BTreeSet<String>,
}

/// Whether this is a status of a session that ended, in any case.
pub(crate) fn is_closed(status: &str) -> bool {
    CLOSED.iter().any(|closed| closed.eq_ignore_ascii_case(status))
}

/// Whether a session with this status is done, in any case.
pub(crate) fn is_done(status: &str) -> bool {
    status.eq_ignore_ascii_case("DONE")
}

/// Whether a session with this status leaves nothing to do.
pub(crate) fn is_over(status: &str) -> bool {
    matches!(status.to_ascii_uppercase().as_str(), "DONE" | "ABANDONED")
}

impl History {
    pub(super) fn lifecycle(&self) -> Result<Lifecycle, FileError> {
        Ok(Lifecycle::parse(&self.read_own(&self.lifecycle_path())?.unwrap_or_default()))
    }

    /// The id of the session that [`History::close`] would close. Writes nothing.
    pub(crate) fn session_to_close(&self, id: Option<&str>) -> Result<String, NotChanged> {
        if !self.exists()? {
            return Err(self.nothing_to_close());
        }
        let latest = self.latest()?.map(|entry| entry.get("session_id").to_owned()).unwrap_or_default();
        match id {
            None if latest.is_empty() => Err(no_latest()),
            None => Ok(latest),
            Some(id) => meant(self.entries()?.iter(), id),
        }
    }

    fn nothing_to_close(&self) -> NotChanged {
        let error = Error::failed(format!("no INDEX.yaml to update at {}", self.index_path().display()));
        NotChanged::DoesNotFit(error.hint("`agent-handover history create` makes one"))
    }

    /// The status of a session as the lifecycle or the index has it; empty if neither knows the session.
    pub(crate) fn status_by_id(&self, id: &str) -> Result<String> {
        if let Some(status) = self.lifecycle()?.status(id) {
            return Ok(status.to_owned());
        }
        let entries = self.entries()?.into_iter();
        let mut statuses =
            entries.filter(|entry| entry.get("session_id") == id).map(|entry| entry.get("status").to_owned());
        Ok(statuses.next().unwrap_or_default())
    }

    /// Closes a session, by default the latest. Returns its id.
    pub(crate) fn close(&self, id: Option<&str>, status: &str) -> Result<String, NotChanged> {
        if self.anchor.about(&self.index_path())?.is_none() && !self.anchor.is_directory(&self.sessions()) {
            return Err(self.nothing_to_close());
        }
        self.refuse_symlink(&self.index_path())?;
        let _lock = self.anchor.lock_directory_after_work(&self.directory)?;
        self.anchor.sweep_temporaries(&self.directory, Depth::Directory)?;
        self.bring_up_to_date(Order::OfArrival)?;
        let mut index = self.index()?;
        let id = match id {
            None if index.latest_session.is_empty() => return Err(no_latest()),
            id => meant(index.sessions.iter(), id.unwrap_or(&index.latest_session))?,
        };
        let archive = self.read_archive_text(&self.archive_path(&id)).ok();
        own_keys::remember_end(&id, status, archive.as_deref());
        let mut lifecycle = self.lifecycle()?;
        lifecycle.set(&id, status);
        // If this process is killed, the next writer rebuilds everything, with the status that the lifecycle has by then.
        self.anchor.replace(&self.index_path(), unsettled(&index, &id).as_bytes())?;
        self.anchor.replace(&self.lifecycle_path(), lifecycle.render().as_bytes())?;
        for entry in index.sessions.iter_mut().filter(|entry| entry.get("session_id") == id) {
            entry.set("status", status);
        }
        self.derive_from(index, lifecycle, Order::OfArrival, &[])?;
        Ok(id)
    }

    /// The status of the session of the document with this key now. Its archive may hold an older one.
    pub(crate) fn status_of(&self, document: &OwnKey, handoff: &Handoff) -> Result<String> {
        let id = handoff.text("session_id");
        let stated = match self.lifecycle()?.status(id) {
            Some(status) => status.to_owned(),
            None => {
                let latest = self.latest()?.filter(|entry| entry.get("session_id") == id);
                latest.map_or_else(|| handoff.text("status").to_owned(), |entry| entry.get("status").to_owned())
            }
        };
        Ok(claims::judge(&stated, handoff, document, &self.voucher()).now)
    }
}

impl SessionEntry {
    /// The entry with the status that the lifecycle has for its session, if any.
    pub(super) fn with_status_of(mut self, lifecycle: &Lifecycle) -> SessionEntry {
        if let Some(status) = lifecycle.status(self.get("session_id")) {
            self.set("status", status);
        }
        self
    }
}

/// The index while the status of a session changes: without the number of sessions, so that every reader and writer takes it
/// for incomplete, and without the old status, which a writer would take over if the session was closed before.
fn unsettled(index: &Index, id: &str) -> String {
    let mut index = index.clone();
    for entry in index.sessions.iter_mut().filter(|entry| entry.get("session_id") == id) {
        if is_closed(entry.get("status")) {
            entry.set("status", "IN_PROGRESS");
        }
    }
    let text = index.render();
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("# sessions:") => rest.to_owned(),
        _ => text,
    }
}

/// The session with this id, or the only one whose id begins with it, or else ends with it.
fn meant<'a>(entries: impl Iterator<Item = &'a SessionEntry>, id: &str) -> Result<String, NotChanged> {
    let all: Vec<&str> = entries.map(|entry| entry.get("session_id")).collect();
    let mut ids: Vec<&str> = all.iter().copied().filter(|other| other.starts_with(id)).collect();
    if ids.is_empty() {
        ids = all.into_iter().filter(|other| other.ends_with(id)).collect();
    }
    match ids.as_slice() {
        _ if ids.contains(&id) => Ok(id.to_owned()),
        [one] if !id.is_empty() => Ok((*one).to_owned()),
        [] | [_] => Err(unknown(id)),
        several => Err(NotChanged::DoesNotFit(ambiguous(id, several))),
    }
}

fn no_latest() -> NotChanged {
    NotChanged::DoesNotFit(Error::failed("no --session given and INDEX.yaml has no latest_session to default to"))
}

fn unknown(id: &str) -> NotChanged {
    let error = Error::failed(format!("unknown session id {}: not found in INDEX.yaml sessions[]", repr(id)));
    NotChanged::DoesNotFit(error.hint("`agent-handover history status` shows the latest one"))
}

impl Lifecycle {
    /// The status that a session was closed with.
    pub(super) fn status(&self, id: &str) -> Option<&str> {
        self.sessions.iter().find(|(closed, _)| closed == id).map(|(_, status)| status.as_str())
    }

    /// Sets the status of a session, which becomes the last one.
    pub(super) fn set(&mut self, id: &str, status: &str) {
        self.sessions.retain(|(other, _)| other != id);
        self.sessions.push((id.to_owned(), status.to_owned()));
    }

    /// Reads the file. A file that cannot be read closes no session and revokes nothing.
    pub(super) fn parse(bytes: &[u8]) -> Lifecycle {
        let fields = std::str::from_utf8(bytes).ok().and_then(|text| handoff::read_subset_first(text).ok());
        let fields = fields.unwrap_or_default();
        let list = |key: &str| {
            let field = fields.iter().find(|field| field.key == key);
            field.and_then(|field| field.value.list()).unwrap_or_default().iter()
        };
        let session = |entry: &Value| {
            Some((entry.get("session_id")?.text()?.to_owned(), entry.get("status")?.text()?.to_owned()))
        };
        let lines = |key: &str| list(key).filter_map(|line| line.text().map(str::to_owned)).collect();
        Lifecycle {
            sessions: list("sessions").filter_map(session).collect(),
            revoked: lines("revoked"),
            accepted: lines("accepted"),
        }
    }

    /// The content of the file; empty if there is nothing to keep.
    pub(super) fn render(&self) -> String {
        let pair = |key: &str, value: &str| (key.to_owned(), Value::from(value));
        let session =
            |(id, status): &(String, String)| Value::Map(vec![pair("session_id", id), pair("status", status)]);
        let sessions = Value::List(self.sessions.iter().map(session).collect());
        let lines =
            |lines: &BTreeSet<String>| Value::List(lines.iter().map(|line| Value::from(line.as_str())).collect());
        let (revoked, accepted) = (lines(&self.revoked), lines(&self.accepted));
        let lists = [("sessions", &sessions), ("revoked", &revoked), ("accepted", &accepted)];
        let is_filled = |(_, list): &(&str, &Value)| list.list().is_some_and(|list| !list.is_empty());
        handoff::write_fields(lists.into_iter().filter(is_filled))
    }
}
