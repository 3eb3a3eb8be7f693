//! Finds the handoff that a session wrote itself, so that nothing derived of the same session is put on top of it.

use std::path::PathBuf;

use chrono::{DateTime, FixedOffset};

use super::index::time_of;
use super::{History, Origin, SessionEntry, index_ends};
use crate::git;
use crate::guard::own_record::{OwnDirectory, OwnRecord};
use crate::handoff::Handoff;

/// The search tag of a handoff that nobody wrote.
pub(crate) const DERIVED_TAG: &str = "derived";
/// The field that names the agent's own session.
pub(crate) const AGENT_SESSION: &str = "agent_session";
/// How many of the newest handoffs are looked at.
const NEWEST: usize = 8;

/// What is known about the session whose handoff is looked for.
pub(crate) struct SessionSpan<'a> {
    /// The id that the agent gave it; empty if it is not known.
    pub agent_session: &'a str,
    /// When it began at the earliest: the last handover before it ended then, or its transcript begins then.
    pub since: Option<DateTime<FixedOffset>>,
    pub until: DateTime<FixedOffset>,
}

impl History {
    /// The archived handoff with this id; `None` if there is none that can be read.
    pub(crate) fn archived(&self, id: &str) -> Option<Handoff> {
        self.read_archive(&self.archive_path(id)).ok()
    }

    /// The file that should have this session and has not: its archive, or the index. `None` if both have it.
    pub(crate) fn lacks(&self, id: &str) -> Option<PathBuf> {
        let archive = self.archive_path(id);
        if self.archived(id).is_none() {
            return Some(archive);
        }
        let (_, end) = index_ends::read(self).ok().flatten().unwrap_or_default();
        index_ends::find_entry(&end, id).is_none().then(|| self.index_path())
    }

    /// The id of the handoff that this session wrote. One that came with the repository or was imported never is. A handoff
    /// belongs to the session if it names it, or, where one of them is unknown, if it was written while the session ran.
    pub(crate) fn written_by(&self, session: &SessionSpan<'_>) -> Option<String> {
        let (_, end) = index_ends::read(self).ok().flatten()?;
        let entries = index_ends::entries(&end);
        let (record, directory) = (OwnRecord::open(), OwnDirectory::of(&self.directory, git::may_track));
        let own = |entry: &SessionEntry| {
            let path = self.inside(entry.get("file")).ok()?;
            let (handoff, key) = self.parse_with_key(&path, &self.read_archive_text(&path).ok()?).ok()?;
            record.owns(&directory, &key, "").then_some(handoff)
        };
        let mut handoffs = entries.iter().rev().take(NEWEST).filter_map(own);
        handoffs.find(|handoff| is_of(handoff, session)).map(|handoff| handoff.text("session_id").to_owned())
    }
}

fn is_of(handoff: &Handoff, session: &SessionSpan<'_>) -> bool {
    if handoff.texts("search_tags").contains(&DERIVED_TAG) || Origin::of(handoff).is_some() {
        return false;
    }
    let named = handoff.text(AGENT_SESSION);
    if !named.is_empty() && !session.agent_session.is_empty() {
        return named == session.agent_session;
    }
    let Some(at) = time_of(handoff.text("generated_at")) else { return false };
    // The time of a handoff has whole seconds.
    session.since.is_some_and(|since| since.timestamp() <= at.timestamp()) && at <= session.until
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handoff::Value;

    fn handoff(fields: &[(&str, &str)]) -> Handoff {
        let mut handoff = Handoff::default();
        for (key, value) in fields {
            handoff.set(key, Value::from(*value));
        }
        handoff
    }

    #[test]
    fn a_handoff_is_of_the_session_that_it_names_or_during_which_it_was_written() {
        let at = |text: &str| DateTime::parse_from_rfc3339(text).unwrap();
        let span = |agent_session, since: Option<&str>| SessionSpan {
            agent_session,
            since: since.map(at),
            until: at("2026-11-15T12:00:00Z"),
        };
        let morning = Some("2026-11-15T09:00:00Z");
        let named = handoff(&[(AGENT_SESSION, "S1"), ("generated_at", "2026-11-15T08:00:00Z")]);
        assert!(is_of(&named, &span("S1", morning)));
        assert!(!is_of(&named, &span("S2", None)));
        let unnamed = |time: &str| handoff(&[("generated_at", time)]);
        assert!(is_of(&unnamed("2026-11-15T10:00:00Z"), &span("S1", morning)));
        assert!(is_of(&unnamed("2026-11-15T10:00:00+00:00"), &span("", morning)));
        // A handoff states its time without the fraction of a second.
        assert!(is_of(&unnamed("2026-11-15T10:00:00Z"), &span("S1", Some("2026-11-15T10:00:00.250Z"))));
        for time in ["2026-11-15T08:59:59Z", "2026-11-15T12:00:01Z", "", "yesterday"] {
            assert!(!is_of(&unnamed(time), &span("S1", morning)), "{time}");
        }
        assert!(!is_of(&unnamed("2026-11-15T10:00:00Z"), &span("S1", None)));
        let mut derived = unnamed("2026-11-15T10:00:00Z");
        derived.set("search_tags", Value::List(vec![Value::from(DERIVED_TAG)]));
        assert!(!is_of(&derived, &span("S1", morning)));
    }
}
