//! The last event of a session, by which a second call for it is known: two installations of hooks may call.

use rusqlite::{Row, Transaction, params};

use super::SessionSighting;

/// How [`SessionSighting::event`] begins for the end of a turn.
pub(crate) const TURN_END: &str = "turn-end";

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

    pub(super) fn is_repeated_by(&self, seen: &SessionSighting, not_since: &str) -> bool {
        // A time in the future says that the clock was set back, and nothing about this call.
        let is_recent = self.at.as_str() > not_since && self.at <= seen.at;
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

    #[test]
    fn the_same_is_not_injected_twice_at_once() {
        let (_directory, mut store) = store();
        let start = |at: &str, why: &str| SessionSighting { event: why.into(), ..seen(at) };
        assert!(store.note_session(&start("10", "startup"), "05").unwrap());
        assert!(!store.note_session(&start("11", "startup"), "06").unwrap());
        assert!(store.note_session(&start("12", "compact"), "07").unwrap());
        assert!(store.note_session(&start("30", "compact"), "25").unwrap());
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
        assert!(store.note_session(&ends("10", 70), "05").unwrap());
        assert!(!store.note_session(&ends("11", 70), "06").unwrap(), "a second installation");
        assert_eq!((turns(&store), store.words("codex", "s").unwrap().1.len()), (1, 1));
        // A turn that is as short as the transcript is long: only the prompt shows that there are two.
        store.note_session(&SessionSighting { is_prompt: true, ..seen("12") }, "").unwrap();
        assert!(store.note_session(&ends("13", 70), "08").unwrap());
        assert!(store.note_session(&ends("14", 90), "09").unwrap());
        assert!(store.note_session(&ends("40", 90), "35").unwrap());
        assert_eq!(turns(&store), 4);
    }

    /// The first prompt may come while a second installation still answers the start.
    #[test]
    fn a_prompt_does_not_make_a_second_start() {
        let (_directory, mut store) = store();
        let start = |at: &str| SessionSighting { event: "startup".into(), ..seen(at) };
        assert!(store.note_session(&start("10"), "05").unwrap());
        store.note_session(&SessionSighting { is_prompt: true, ..seen("11") }, "").unwrap();
        assert!(!store.note_session(&start("12"), "07").unwrap());
        store.note_session(&seen("13"), "").unwrap();
        assert!(store.note_session(&start("14"), "09").unwrap());
    }
}
