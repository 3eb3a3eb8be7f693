//! LIFECYCLE.yaml: how sessions ended. Archives do not change, so a status has a file of its own.

use super::derived::Order;
use super::index::Index;
use super::{History, NotChanged, SessionEntry};
use crate::base::fs::Depth;
use crate::error::{Error, Result};
use crate::handoff::{self, Handoff, Value, repr};

/// The statuses of a session that ended.
pub(crate) const CLOSED: [&str; 3] = ["DONE", "BLOCKED", "ABANDONED"];

/// Session ids and their statuses, in the order in which the sessions were closed.
pub(super) type Lifecycle = Vec<(String, String)>;

/// Whether a session with this status leaves nothing to do.
pub(crate) fn is_over(status: &str) -> bool {
    matches!(status.to_ascii_uppercase().as_str(), "DONE" | "ABANDONED")
}

impl History {
    pub(super) fn lifecycle(&self) -> Result<Lifecycle> {
        Ok(read(&self.read_own(&self.lifecycle_path())?.unwrap_or_default()))
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
            Some(id) => {
                let is_known =
                    self.read_own(&self.archive_path(id))?.is_some() || self.index().is_ok_and(|index| has(&index, id));
                if is_known { Ok(id.to_owned()) } else { Err(unknown(id)) }
            }
        }
    }

    fn nothing_to_close(&self) -> NotChanged {
        let error = Error::failed(format!("no INDEX.yaml to update at {}", self.index_path().display()));
        NotChanged::DoesNotFit(error.hint("`agent-handover history create` makes one"))
    }

    /// The status of a session as the lifecycle or the index has it; empty if neither knows the session.
    pub(crate) fn status_by_id(&self, id: &str) -> Result<String> {
        if let Some((_, status)) = self.lifecycle()?.into_iter().find(|(closed, _)| closed == id) {
            return Ok(status);
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
        let _lock = self.anchor.lock_directory(&self.directory)?;
        self.anchor.sweep_temporaries(&self.directory, Depth::Directory)?;
        self.bring_up_to_date(Order::OfArrival)?;
        let mut index = self.index()?;
        let id = match id {
            Some(id) => id.to_owned(),
            None if index.latest_session.is_empty() => return Err(no_latest()),
            None => index.latest_session.clone(),
        };
        if !has(&index, &id) {
            return Err(unknown(&id));
        }
        let mut lifecycle = self.lifecycle()?;
        set(&mut lifecycle, &id, status);
        self.anchor.replace(&self.lifecycle_path(), write(&lifecycle).as_bytes())?;
        for entry in index.sessions.iter_mut().filter(|entry| entry.get("session_id") == id) {
            entry.set("status", status);
        }
        self.anchor.replace(&self.index_path(), index.render().as_bytes())?;
        self.bring_up_to_date(Order::OfArrival)?;
        Ok(id)
    }

    /// The status of a session now. Its archive may hold an older one.
    pub(crate) fn status_of(&self, handoff: &Handoff) -> Result<String> {
        let id = handoff.text("session_id");
        if let Some((_, status)) = self.lifecycle()?.into_iter().find(|(closed, _)| closed == id) {
            return Ok(status);
        }
        let latest = self.latest()?.filter(|entry| entry.get("session_id") == id);
        Ok(latest.map_or_else(|| handoff.text("status").to_owned(), |entry| entry.get("status").to_owned()))
    }
}

impl SessionEntry {
    /// The entry with the status that the lifecycle has for its session, if any.
    pub(super) fn with_status_of(mut self, lifecycle: &Lifecycle) -> SessionEntry {
        if let Some((_, status)) = lifecycle.iter().find(|(id, _)| id == self.get("session_id")) {
            self.set("status", status);
        }
        self
    }
}

fn has(index: &Index, id: &str) -> bool {
    index.sessions.iter().any(|entry| entry.get("session_id") == id)
}

fn no_latest() -> NotChanged {
    NotChanged::DoesNotFit(Error::failed("no --session given and INDEX.yaml has no latest_session to default to"))
}

fn unknown(id: &str) -> NotChanged {
    let error = Error::failed(format!("unknown session id {}: not found in INDEX.yaml sessions[]", repr(id)));
    NotChanged::DoesNotFit(error.hint("`agent-handover history status` shows the latest one"))
}

/// Sets the status of a session, which becomes the last one.
pub(super) fn set(lifecycle: &mut Lifecycle, id: &str, status: &str) {
    lifecycle.retain(|(other, _)| other != id);
    lifecycle.push((id.to_owned(), status.to_owned()));
}

pub(super) fn read(bytes: &[u8]) -> Lifecycle {
    let fields = std::str::from_utf8(bytes).ok().and_then(|text| handoff::read_subset_first(text).ok());
    let list = fields.into_iter().flatten().find(|field| field.key == "sessions").map(|field| field.value);
    let entries = list.as_ref().and_then(Value::list).unwrap_or_default().iter();
    entries
        .filter_map(|entry| {
            Some((entry.get("session_id")?.text()?.to_owned(), entry.get("status")?.text()?.to_owned()))
        })
        .collect()
}

pub(super) fn write(lifecycle: &Lifecycle) -> String {
    if lifecycle.is_empty() {
        return String::new();
    }
    let pair = |key: &str, value: &str| (key.to_owned(), Value::from(value));
    let entries = lifecycle.iter().map(|(id, status)| Value::Map(vec![pair("session_id", id), pair("status", status)]));
    handoff::write_fields([("sessions", &Value::List(entries.collect()))])
}
