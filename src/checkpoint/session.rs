//! The agents' sessions that hooks have seen: each part of a session is handed over once, and none is forgotten.

use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::last_event::{AtOnce, LastEvent, TURN_END};
use super::receipt::{self, NewReceipt};
use super::word::{self, Word};
use super::{Store, schema, transcript_files};
use crate::base::fault;
use crate::error::Result;

/// The first version of the tables that knows sessions.
const SINCE_VERSION: i32 = 2;

const COLUMNS: &str = "agent, id, transcript, process, started_at, seen_at, seen, handed_over, turns, run";

/// A session of an agent, as the hooks have seen it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentSession {
    pub agent: String,
    pub id: String,
    /// The path of the agent's transcript; empty if unknown.
    pub transcript: String,
    /// The agent's process, as the text of a `base::process_identity::Identity`; empty if unknown.
    pub process: String,
    pub started_at: String,
    pub seen_at: String,
    /// The length of the transcript when a hook was last called.
    pub seen: u64,
    /// The length of the transcript up to which it was handed over.
    pub handed_over: u64,
    /// How many turns have ended since then.
    pub turns: u64,
    /// The run that handed a part of this session over last.
    pub run: String,
    /// The linked worktree in which it runs; empty for the directory of the checkpoint.
    pub worktree: String,
    /// The branch that was last seen there; empty if it is unknown.
    pub branch: String,
    /// The file of which `handed_over` bytes were handed over.
    pub file: FileIdentity,
    /// The agent said that the session begins with a copy of another.
    pub is_fork: bool,
}

/// Which file a transcript is, beside its path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    /// 0 if it is unknown.
    pub inode: u64,
    /// A digest of the beginning of the file, with the number of bytes that it covers; empty if it is unknown.
    pub beginning: String,
}

/// What one call of a hook says about a session. An empty text leaves the recorded value as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionSighting {
    pub agent: String,
    pub id: String,
    pub transcript: String,
    pub process: String,
    pub at: String,
    /// The length of the transcript.
    pub size: u64,
    pub is_turn_end: bool,
    /// What the agent passed to the hook.
    pub words: Vec<Word>,
    /// A value in which this event differs from the next one of its kind; empty if nothing depends on it. If two calls within
    /// a few seconds have the same value, and no other event came between, they are calls of two installations for one event.
    pub event: String,
    /// A prompt may be submitted while another installation still answers the start before it.
    pub is_prompt: bool,
    /// The text that the answer puts into the session, unless another call for the same event has done so.
    pub receipt: Option<NewReceipt>,
    /// Nothing of the session is left to hand over.
    pub is_over: bool,
    /// The agent says that the session begins with a copy of another, which is not to be handed over again.
    pub is_fork: bool,
    /// The session was not announced and may be a fork. Its transcript has more than a copy by now.
    pub may_be_fork: bool,
    /// The linked worktree in which the session runs; empty for the directory of the checkpoint.
    pub worktree: String,
    pub branch: String,
}

/// A part of a session that a run hands over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HandedPart {
    pub agent: String,
    pub id: String,
    pub transcript: String,
    /// What was handed over when the session was read.
    pub before: u64,
    /// How many turns the part has. With `before`, this shows whether another process has handed it over meanwhile.
    pub turns: u64,
    /// Where in the transcript the part ends.
    pub to: u64,
    /// The file of the part.
    pub file: FileIdentity,
    /// The session has ended: no other part is expected.
    pub is_over: bool,
    /// The mark of the last of its words, as [`Store::words`] returns it; 0 if it has none.
    pub words: i64,
}

impl HandedPart {
    /// Marks the part as handed over. `false` if another process has done so since the session was read.
    pub(super) fn write(&self, transaction: &Transaction<'_>, run: &str, at: &str) -> rusqlite::Result<bool> {
        insert(transaction, &self.agent, &self.id, at)?;
        transcript_files::keep_left_file(transaction, &self.agent, &self.id, &self.transcript)?;
        // A part without a transcript has only its words and turns to show that nobody has handed it over. Another file of the
        // same length is known by its beginning.
        let has_words = word::count(transaction, &self.agent, &self.id, self.words)? > 0;
        let is_new = self.to != self.before || !self.is_over || has_words;
        let changed = transaction.execute(
            "UPDATE session SET handed_over = ?4, seen = ?4, turns = 0, is_over = ?5, run = ?6,
                 seen_at = ?7, transcript = CASE ?8 WHEN '' THEN transcript ELSE ?8 END, inode = ?10, beginning = ?11
             WHERE agent = ?1 AND id = ?2 AND handed_over = ?3 AND turns <= ?9
                 AND (?12 OR turns > 0 OR beginning <> ?11)",
            params![
                self.agent,
                self.id,
                signed(self.before),
                signed(self.to),
                self.is_over,
                run,
                at,
                self.transcript,
                signed(self.turns),
                signed(self.file.inode),
                self.file.beginning,
                is_new
            ],
        )?;
        if changed > 0 {
            word::forget(transaction, &self.agent, &self.id, self.words)?;
        }
        Ok(changed > 0)
    }
}

impl Store {
    pub(crate) fn session(&self, agent: &str, id: &str) -> Result<Option<AgentSession>> {
        let sql = format!("SELECT {} FROM session WHERE agent = ?1 AND id = ?2", self.session_columns()?);
        if self.knows_sessions()? {
            self.ask(|connection| connection.query_row(&sql, [agent, id], read).optional())
        } else {
            Ok(None)
        }
    }

    /// The sessions that may have something left to hand over, oldest first.
    pub(crate) fn open_sessions(&self) -> Result<Vec<AgentSession>> {
        let sql = format!("SELECT {} FROM session WHERE is_over = 0 ORDER BY seq", self.session_columns()?);
        if self.knows_sessions()? {
            self.ask(|connection| connection.prepare(&sql)?.query_map([], read)?.collect())
        } else {
            Ok(Vec::new())
        }
    }

    pub(crate) fn count_open_sessions(&self) -> Result<usize> {
        if !self.knows_sessions()? {
            return Ok(0);
        }
        let sql = "SELECT count(*) FROM session WHERE is_over = 0";
        let count: i64 = self.ask(|connection| connection.query_row(sql, [], |row| row.get(0)))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Every session on record, and whether it is over.
    pub(crate) fn all_sessions(&self) -> Result<Vec<(AgentSession, bool)>> {
        let sql = format!("SELECT {}, is_over FROM session ORDER BY seq", self.session_columns()?);
        let read = |row: &Row<'_>| Ok((read(row)?, row.get(15)?));
        if self.knows_sessions()? {
            self.ask(|connection| connection.prepare(&sql)?.query_map([], read)?.collect())
        } else {
            Ok(Vec::new())
        }
    }

    /// Makes sessions of another checkpoint known, with what was handed over of each. They ran in `worktree`.
    pub(crate) fn adopt_sessions(&mut self, sessions: &[(AgentSession, bool)], worktree: &str) -> Result<()> {
        let mut new = Vec::new();
        for (session, is_over) in sessions {
            let known = self.session(&session.agent, &session.id)?;
            if known.is_none_or(|known| known.handed_over < session.handed_over) {
                new.push((session, is_over));
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        self.write(|transaction| {
            for (session, is_over) in new {
                insert(transaction, &session.agent, &session.id, &session.started_at)?;
                transaction.execute(
                    "UPDATE session SET
                         transcript = CASE transcript WHEN '' THEN ?3 ELSE transcript END,
                         process = CASE process WHEN '' THEN ?4 ELSE process END,
                         seen_at = max(seen_at, ?5), seen = max(seen, ?6), handed_over = max(handed_over, ?7),
                         turns = max(turns, ?8), run = ?9, worktree = ?10, is_over = ?11, inode = ?12, beginning = ?13,
                         is_fork = ?14
                     WHERE agent = ?1 AND id = ?2",
                    params![
                        session.agent,
                        session.id,
                        session.transcript,
                        session.process,
                        session.seen_at,
                        signed(session.seen),
                        signed(session.handed_over),
                        signed(session.turns),
                        session.run,
                        worktree,
                        is_over,
                        signed(session.file.inode),
                        session.file.beginning,
                        session.is_fork
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// Records what a hook saw. `false` if another call for the same event, `at_once` with it, was recorded already.
    pub(crate) fn note_session(&mut self, seen: &SessionSighting, at_once: &AtOnce) -> Result<bool> {
        let is_new = self.write(|transaction| {
            insert(transaction, &seen.agent, &seen.id, &seen.at)?;
            transcript_files::keep_left_file(transaction, &seen.agent, &seen.id, &seen.transcript)?;
            let last = LastEvent::of(transaction, seen)?;
            let is_repeated = last.is_repeated_by(seen, at_once);
            if !is_repeated {
                word::keep(transaction, &seen.agent, &seen.id, &seen.words)?;
            }
            let event = if seen.is_prompt && !last.event.starts_with(TURN_END) { &last.event } else { &seen.event };
            let is_stamped = !seen.event.is_empty() && !is_repeated;
            transaction.execute(
                "UPDATE session SET
                     transcript = CASE ?3 WHEN '' THEN transcript ELSE ?3 END,
                     process = CASE ?4 WHEN '' THEN process ELSE ?4 END,
                     seen_at = ?5, seen = max(seen, ?6), turns = turns + ?7,
                     warmed = ?8, warmed_at = CASE ?14 WHEN 1 THEN ?5 ELSE warmed_at END,
                     is_over = ?9,
                     handed_over = CASE ?10 WHEN 1 THEN max(handed_over, ?6) ELSE handed_over END,
                     is_fork = max(is_fork, ?10, ?13),
                     worktree = ?11, branch = CASE ?12 WHEN '' THEN branch ELSE ?12 END
                 WHERE agent = ?1 AND id = ?2",
                params![
                    seen.agent,
                    seen.id,
                    seen.transcript,
                    seen.process,
                    seen.at,
                    signed(seen.size),
                    seen.is_turn_end && !is_repeated,
                    event,
                    seen.is_over,
                    seen.is_fork,
                    seen.worktree,
                    seen.branch,
                    seen.may_be_fork,
                    is_stamped
                ],
            )?;
            if let Some(receipt) = seen.receipt.as_ref().filter(|_| !is_repeated) {
                receipt::keep(transaction, seen, receipt)?;
            }
            Ok(!is_repeated)
        })?;
        fault::at("checkpoint.noted");
        Ok(is_new)
    }

    /// Marks sessions as over, each handed over up to the given length of the given file. A session whose transcript grows
    /// beyond that is picked up again. A session that another process has handed over meanwhile stays as it is.
    pub(crate) fn sessions_are_over(&mut self, sessions: &[(&AgentSession, u64, FileIdentity)]) -> Result<()> {
        self.write(|transaction| {
            let sql = "UPDATE session SET is_over = 1, handed_over = ?3, inode = ?4, beginning = ?5
                       WHERE agent = ?1 AND id = ?2 AND handed_over = ?6";
            for (session, size, file) in sessions {
                transaction.execute(
                    sql,
                    params![
                        session.agent,
                        session.id,
                        signed(*size),
                        signed(file.inode),
                        file.beginning,
                        signed(session.handed_over)
                    ],
                )?;
            }
            Ok(())
        })?;
        fault::at("checkpoint.noted");
        Ok(())
    }

    fn session_columns(&self) -> Result<String> {
        let place = if self.knows_worktrees()? { "worktree, branch" } else { "'', ''" };
        let is_identified = schema::knows_transcript_identity(self.version()?);
        let file = if is_identified { "inode, beginning, is_fork" } else { "0, '', 0" };
        Ok(format!("{COLUMNS}, {place}, {file}"))
    }

    fn knows_sessions(&self) -> Result<bool> {
        Ok(self.version()? >= SINCE_VERSION)
    }
}

fn insert(transaction: &Transaction<'_>, agent: &str, id: &str, at: &str) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO session (agent, id, transcript, process, started_at, seen_at) VALUES (?1, ?2, '', '', ?3, ?3)
               ON CONFLICT DO NOTHING";
    transaction.execute(sql, params![agent, id, at]).map(|_| ())
}

fn read(row: &Row<'_>) -> rusqlite::Result<AgentSession> {
    let size = |at: usize| row.get::<_, i64>(at).map(|value| u64::try_from(value).unwrap_or(0));
    Ok(AgentSession {
        agent: row.get(0)?,
        id: row.get(1)?,
        transcript: row.get(2)?,
        process: row.get(3)?,
        started_at: row.get(4)?,
        seen_at: row.get(5)?,
        seen: size(6)?,
        handed_over: size(7)?,
        turns: size(8)?,
        run: row.get(9)?,
        worktree: row.get(10)?,
        branch: row.get(11)?,
        file: FileIdentity { inode: size(12)?, beginning: row.get(13)? },
        is_fork: row.get(14)?,
    })
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::tests::new_run;
    use super::super::{NewRun, OnUnfinished};
    use super::*;
    use crate::checkpoint::CheckpointFile;

    fn store() -> (tempfile::TempDir, Store) {
        let directory = crate::base::scratch::directory();
        let store = Store::open(&CheckpointFile::beside(&directory.path().join("c.db"))).unwrap();
        (directory, store)
    }

    fn seen(at: &str) -> SessionSighting {
        SessionSighting { agent: "codex".into(), id: "s".into(), at: at.into(), ..SessionSighting::default() }
    }

    fn record(store: &mut Store, id: &str, handed: &HandedPart) -> Result<Option<i64>> {
        let run = NewRun { steps: vec![("note", "note")], handed: Some(handed), ..new_run(id, &[]) };
        store.record(&run, OnUnfinished::Keep)
    }

    #[test]
    fn a_part_of_a_session_is_handed_over_once() {
        let (_directory, mut store) = store();
        store.note_session(&SessionSighting { is_turn_end: true, size: 70, ..seen("1") }, &AtOnce::default()).unwrap();
        let mut handed = HandedPart {
            agent: "codex".into(),
            id: "s".into(),
            to: 70,
            turns: 1,
            is_over: true,
            ..HandedPart::default()
        };
        record(&mut store, "A", &handed).unwrap();
        assert_eq!(record(&mut store, "B", &handed).unwrap(), None);
        assert_eq!(store.unfinished(5).unwrap().len(), 1, "nothing of the second is there");
        let session = store.session("codex", "s").unwrap().unwrap();
        assert_eq!((session.handed_over, session.turns, session.run.as_str()), (70, 0, "A"));
        assert!(store.open_sessions().unwrap().is_empty());
        // It goes on.
        store.note_session(&SessionSighting { is_turn_end: true, size: 90, ..seen("2") }, &AtOnce::default()).unwrap();
        assert_eq!(store.open_sessions().unwrap().len(), 1);
        handed = HandedPart { before: 70, to: 90, ..handed };
        record(&mut store, "C", &handed).unwrap();
    }

    #[test]
    fn another_file_of_the_same_length_is_handed_over_once() {
        let (_directory, mut store) = store();
        let of = |before: u64, beginning: &str| HandedPart {
            agent: "codex".into(),
            id: "s".into(),
            before,
            to: 70,
            file: FileIdentity { inode: 7, beginning: beginning.into() },
            is_over: true,
            ..HandedPart::default()
        };
        assert!(record(&mut store, "A", &of(0, "70:aa")).unwrap().is_some());
        assert!(record(&mut store, "B", &of(70, "70:aa")).unwrap().is_none());
        assert!(record(&mut store, "C", &of(70, "70:bb")).unwrap().is_some());
        assert!(record(&mut store, "D", &of(70, "70:bb")).unwrap().is_none());
    }

    /// Two compactions may be seconds apart. What is between them shows that they are two.
    #[test]
    fn each_compaction_gets_its_context() {
        let (_directory, mut store) = store();
        let start = |at: &str| SessionSighting { event: "compact".into(), ..seen(at) };
        assert!(store.note_session(&start("10"), &AtOnce::near(10)).unwrap());
        assert!(!store.note_session(&start("10"), &AtOnce::near(10)).unwrap(), "a second installation");
        store.note_session(&seen("11"), &AtOnce::default()).unwrap();
        assert!(store.note_session(&start("12"), &AtOnce::near(12)).unwrap());
        assert!(!store.note_session(&start("12"), &AtOnce::near(12)).unwrap());
        // Something else that happens to the session does not make the last context younger.
        record(&mut store, "A", &HandedPart { agent: "codex".into(), id: "s".into(), ..HandedPart::default() })
            .unwrap();
        assert!(store.note_session(&start("30"), &AtOnce::near(30)).unwrap());
        // The clock was set back.
        assert!(store.note_session(&start("20"), &AtOnce::near(20)).unwrap());
    }

    #[test]
    fn words_are_handed_over_once() {
        let (_directory, mut store) = store();
        let said = |text: &str| vec![Word { kind: super::super::WordKind::Request, text: text.into() }];
        store.note_session(&SessionSighting { words: said("one"), ..seen("1") }, &AtOnce::default()).unwrap();
        let (mark, _) = store.words("codex", "s").unwrap();
        let part =
            HandedPart { agent: "codex".into(), id: "s".into(), words: mark, is_over: true, ..HandedPart::default() };
        store.note_session(&SessionSighting { words: said("two"), ..seen("2") }, &AtOnce::default()).unwrap();
        assert!(record(&mut store, "A", &part).unwrap().is_some());
        assert_eq!(store.words("codex", "s").unwrap().1, said("two"), "nobody has handed it over");
        assert_eq!(record(&mut store, "B", &part).unwrap(), None);
    }

    #[test]
    fn a_database_from_before_there_were_sessions_knows_none() {
        let (directory, store) = store();
        let old = "DROP TABLE receipt; DROP TABLE meta; DROP TABLE run_text; DROP TABLE session_word; DROP TABLE session; DROP TABLE transcript_file;
                   DROP TABLE transcript_place; ALTER TABLE run DROP COLUMN worktree;
                   ALTER TABLE run DROP COLUMN branch; PRAGMA user_version = 1";
        store.connection.execute_batch(old).unwrap();
        drop(store);
        let path = directory.path().join("c.db");
        let reader = Store::read(&CheckpointFile::beside(&path)).unwrap().unwrap();
        assert_eq!(reader.session("codex", "s").unwrap(), None);
        assert!(reader.open_sessions().unwrap().is_empty());
        let mut store = Store::open(&CheckpointFile::beside(&path)).unwrap();
        store.note_session(&seen("1"), &AtOnce::default()).unwrap();
        assert_eq!(store.open_sessions().unwrap().len(), 1);
    }
}
