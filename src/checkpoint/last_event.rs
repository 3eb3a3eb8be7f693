//! The last event of a session, by which a second call for it is known: two installations of hooks may call.

use rusqlite::{Row, Transaction, params};

use super::SessionSighting;

/// How [`SessionSighting::event`] begins for the end of a turn.
pub(crate) const TURN_END: &str = "turn-end";

/// The times between which another call may be about the same event. Of two calls at once, the one that began later may be
/// recorded first.
#[derive(Clone, Debug, Default)]
pub(crate) struct AtOnce {
    pub after: String,
    pub until: String,
}

/// The last event of a session that may be reported twice.
pub(super) struct LastEvent {
    pub event: String,
    at: String,
}

impl LastEvent {
    pub(super) fn of(transaction: &Transaction<'_>, seen: &SessionSighting) -> rusqlite::Result<LastEvent> {
        let sql = "SELECT warmed, warmed_at FROM session WHERE agent = ?1 AND id = ?2";
        let read = |row: &Row<'_>| Ok(LastEvent { event: row.get(0)?, at: row.get(1)? });
        transaction.query_row(sql, params![seen.agent, seen.id], read)
    }

    pub(super) fn is_repeated_by(&self, seen: &SessionSighting, at_once: &AtOnce) -> bool {
        // A time far in the future says that the clock was set back, and nothing about this call.
        let is_recent = self.at > at_once.after && self.at <= at_once.until;
        !seen.event.is_empty() && self.event == seen.event && is_recent
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CheckpointFile, Store, Word, WordKind};
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let directory = crate::base::scratch::directory();
        let store = Store::open(&CheckpointFile::beside(&directory.path().join("c.db"))).unwrap();
        (directory, store)
    }

    fn seen(at: &str) -> SessionSighting {
        SessionSighting { agent: "codex".into(), id: "s".into(), at: at.into(), ..SessionSighting::default() }
    }

    impl AtOnce {
        /// Five seconds before and behind a second.
        pub(crate) fn near(second: u32) -> AtOnce {
            AtOnce { after: format!("{:02}", second - 5), until: format!("{:02}", second + 5) }
        }
    }

    /// Each call takes its time before it waits for the record.
    #[test]
    fn a_call_that_began_earlier_may_be_recorded_later() {
        let (_directory, mut store) = store();
        let start = |at: &str| SessionSighting { event: "startup".into(), ..seen(at) };
        assert!(store.note_session(&start("11"), &AtOnce::near(11)).unwrap());
        assert!(!store.note_session(&start("10"), &AtOnce::near(10)).unwrap());
    }

    #[test]
    fn the_same_is_not_injected_twice_at_once() {
        let (_directory, mut store) = store();
        let start = |at: &str, why: &str| SessionSighting { event: why.into(), ..seen(at) };
        assert!(store.note_session(&start("10", "startup"), &AtOnce::near(10)).unwrap());
        assert!(!store.note_session(&start("11", "startup"), &AtOnce::near(11)).unwrap());
        assert!(store.note_session(&start("12", "compact"), &AtOnce::near(12)).unwrap());
        assert!(store.note_session(&start("30", "compact"), &AtOnce::near(30)).unwrap());
    }

    #[test]
    fn the_end_of_a_turn_counts_once_and_the_next_one_counts() {
        let (_directory, mut store) = store();
        let said = vec![Word { kind: WordKind::Answer, text: "done".into() }];
        let ends = |at: &str, size: u64| SessionSighting {
            is_turn_end: true,
            event: format!("{TURN_END} {size}"),
            words: said.clone(),
            size,
            ..seen(at)
        };
        let turns = |store: &Store| store.session("codex", "s").unwrap().unwrap().turns;
        assert!(store.note_session(&ends("10", 70), &AtOnce::near(10)).unwrap());
        assert!(!store.note_session(&ends("11", 70), &AtOnce::near(11)).unwrap(), "a second installation");
        assert_eq!((turns(&store), store.words("codex", "s").unwrap().1.len()), (1, 1));
        // A turn that is as short as the transcript is long: only the prompt shows that there are two.
        store.note_session(&SessionSighting { is_prompt: true, ..seen("12") }, &AtOnce::default()).unwrap();
        assert!(store.note_session(&ends("13", 70), &AtOnce::near(13)).unwrap());
        assert!(store.note_session(&ends("14", 90), &AtOnce::near(14)).unwrap());
        assert!(store.note_session(&ends("40", 90), &AtOnce::near(40)).unwrap());
        assert_eq!(turns(&store), 4);
    }

    /// The first prompt may come while a second installation still answers the start.
    #[test]
    fn a_prompt_does_not_make_a_second_start() {
        let (_directory, mut store) = store();
        let start = |at: &str| SessionSighting { event: "startup".into(), ..seen(at) };
        assert!(store.note_session(&start("10"), &AtOnce::near(10)).unwrap());
        store.note_session(&SessionSighting { is_prompt: true, ..seen("11") }, &AtOnce::default()).unwrap();
        assert!(!store.note_session(&start("12"), &AtOnce::near(12)).unwrap());
        store.note_session(&seen("13"), &AtOnce::default()).unwrap();
        assert!(store.note_session(&start("14"), &AtOnce::near(14)).unwrap());
    }
}
