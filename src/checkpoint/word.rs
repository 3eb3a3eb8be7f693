//! The words of hooks: what an agent passes to its hooks, kept with the session until it is handed over.
//!
//! A session is normally handed over from its transcript. These words are for a transcript that is gone, unreadable or of an
//! unknown format when the session ends. Their number and size are bounded for each session.

use rusqlite::{Row, Transaction, params};
use serde::{Deserialize, Serialize};

use super::{Store, schema};
use crate::error::Result;

/// How many words of a session are kept.
const MOST: usize = 400;
/// How many bytes of them are kept.
const MOST_BYTES: usize = 128 << 10;

/// One text that an agent passed to a hook, without secrets and without what was marked as private.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    pub kind: WordKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WordKind {
    /// A prompt of the person.
    Request,
    /// A message of the agent, normally the last one of a turn.
    Answer,
    /// The path of a file that the agent edited.
    Edited,
    /// A command that the agent ran.
    Command,
    /// An error of the agent or of its model.
    Error,
    /// Why the session ended.
    Reason,
}

impl WordKind {
    const ALL: [(WordKind, &'static str); 6] = [
        (WordKind::Request, "request"),
        (WordKind::Answer, "answer"),
        (WordKind::Edited, "edited"),
        (WordKind::Command, "command"),
        (WordKind::Error, "error"),
        (WordKind::Reason, "reason"),
    ];

    fn name(self) -> &'static str {
        WordKind::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    fn by_name(name: &str) -> Option<WordKind> {
        WordKind::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

/// The words of a session, for the run that hands it over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// The session's id, as its agent gave it.
    pub session: String,
    /// Oldest first.
    pub words: Vec<Word>,
    /// Why the transcript could not be used when the session was recorded; empty if it could.
    pub instead_of: String,
}

impl Told {
    /// Whether the words say something about the work of the session.
    pub(crate) fn says_something(&self) -> bool {
        self.words.iter().any(|word| !matches!(word.kind, WordKind::Error | WordKind::Reason))
    }
}

impl Store {
    /// The words of a session, oldest first, and the mark of the newest one.
    pub(crate) fn words(&self, agent: &str, id: &str) -> Result<(i64, Vec<Word>)> {
        if !schema::knows_words(self.version()?) {
            return Ok((0, Vec::new()));
        }
        let rows = self.ask(|connection| kept(connection, agent, id))?;
        let mark = rows.last().map_or(0, |row| row.seq);
        Ok((mark, rows.into_iter().map(|row| row.word).collect()))
    }
}

/// A word as it is kept.
struct KeptWord {
    seq: i64,
    word: Word,
}

fn kept(connection: &rusqlite::Connection, agent: &str, id: &str) -> rusqlite::Result<Vec<KeptWord>> {
    let sql = "SELECT seq, kind, text FROM session_word WHERE agent = ?1 AND id = ?2 ORDER BY seq";
    let read = |row: &Row<'_>| {
        let kind: String = row.get(1)?;
        Ok((row.get(0)?, WordKind::by_name(&kind), row.get(2)?))
    };
    let mut found = Vec::new();
    for row in connection.prepare(sql)?.query_map([agent, id], read)? {
        let (seq, kind, text) = row?;
        // A newer version may know other kinds.
        found.extend(kind.map(|kind| KeptWord { seq, word: Word { kind, text } }));
    }
    Ok(found)
}

/// Adds the words of one call. Several installations may make the same call: words that are the newest already are not added
/// again, and each file is named once.
pub(super) fn keep(transaction: &Transaction<'_>, agent: &str, id: &str, words: &[Word]) -> rusqlite::Result<()> {
    if words.is_empty() {
        return Ok(());
    }
    let before = kept(transaction, agent, id)?;
    if before.len() >= words.len() && before[before.len() - words.len()..].iter().map(|row| &row.word).eq(words) {
        return Ok(());
    }
    let sql = "INSERT INTO session_word (agent, id, kind, text) VALUES (?1, ?2, ?3, ?4)";
    for word in words {
        let is_newest = before.last().is_some_and(|row| row.word == *word);
        let is_named = word.kind == WordKind::Edited && before.iter().any(|row| row.word == *word);
        if !is_newest && !is_named {
            transaction.execute(sql, params![agent, id, word.kind.name(), word.text])?;
        }
    }
    bound(transaction, agent, id)
}

/// Removes words beyond the limits, oldest first. Requests go last; the first request and the newest word stay, because they
/// are the goal and the present.
fn bound(transaction: &Transaction<'_>, agent: &str, id: &str) -> rusqlite::Result<()> {
    let rows = kept(transaction, agent, id)?;
    let mut count = rows.len();
    let mut bytes: usize = rows.iter().map(|row| row.word.text.len()).sum();
    let is_request = |row: &KeptWord| row.word.kind == WordKind::Request;
    let goal = rows.iter().position(is_request);
    for may_go in
        [|row: &KeptWord| row.word.kind != WordKind::Request, |row: &KeptWord| row.word.kind == WordKind::Request]
    {
        for (position, row) in rows.iter().enumerate().take(rows.len().saturating_sub(1)) {
            if count <= MOST && bytes <= MOST_BYTES {
                return Ok(());
            }
            if may_go(row) && Some(position) != goal {
                transaction.execute("DELETE FROM session_word WHERE seq = ?1", [row.seq])?;
                count -= 1;
                bytes -= row.word.text.len();
            }
        }
    }
    Ok(())
}

/// How many words there are up to a mark.
pub(super) fn count(transaction: &Transaction<'_>, agent: &str, id: &str, mark: i64) -> rusqlite::Result<i64> {
    let sql = "SELECT count(*) FROM session_word WHERE agent = ?1 AND id = ?2 AND seq <= ?3";
    transaction.query_row(sql, params![agent, id, mark], |row| row.get(0))
}

/// Removes the words up to a mark.
pub(super) fn forget(transaction: &Transaction<'_>, agent: &str, id: &str, mark: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM session_word WHERE agent = ?1 AND id = ?2 AND seq <= ?3";
    transaction.execute(sql, params![agent, id, mark]).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::super::{AtOnce, CheckpointFile, SessionSighting};
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let directory = crate::base::scratch::directory();
        let store = Store::open(&CheckpointFile::beside(&directory.path().join("c.db"))).unwrap();
        (directory, store)
    }

    fn word(kind: WordKind, text: &str) -> Word {
        Word { kind, text: text.to_owned() }
    }

    fn hear(store: &mut Store, words: &[Word]) {
        let seen =
            SessionSighting { agent: "codex".into(), id: "s".into(), at: "1".into(), ..SessionSighting::default() };
        store.note_session(&SessionSighting { words: words.to_vec(), ..seen }, &AtOnce::default()).unwrap();
    }

    fn texts(store: &Store) -> Vec<String> {
        store.words("codex", "s").unwrap().1.into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn the_same_call_by_two_installations_is_kept_once() {
        let (_directory, mut store) = store();
        let turn = [word(WordKind::Request, "fix it"), word(WordKind::Answer, "done")];
        hear(&mut store, &turn[..1]);
        hear(&mut store, &turn);
        hear(&mut store, &turn);
        assert_eq!(texts(&store), ["fix it", "done"]);
        // The same words in another turn are words of their own.
        hear(&mut store, &[word(WordKind::Request, "continue")]);
        hear(&mut store, &[word(WordKind::Answer, "done")]);
        hear(&mut store, &[word(WordKind::Edited, "/a"), word(WordKind::Edited, "/b")]);
        hear(&mut store, &[word(WordKind::Edited, "/a")]);
        assert_eq!(texts(&store), ["fix it", "done", "continue", "done", "/a", "/b"]);
        assert_eq!(store.words("codex", "other").unwrap(), (0, Vec::new()));
    }

    #[test]
    fn any_number_of_words_is_bounded_and_the_goal_stays() {
        let (_directory, mut store) = store();
        let long = "word ".repeat(400);
        for turn in 0..200 {
            hear(&mut store, &[word(WordKind::Request, &format!("request {turn}"))]);
            hear(&mut store, &[word(WordKind::Answer, &format!("answer {turn} {long}"))]);
        }
        let texts = texts(&store);
        assert!(texts.len() <= MOST && texts.iter().map(String::len).sum::<usize>() <= MOST_BYTES);
        let requests = texts.iter().filter(|text| text.starts_with("request")).count();
        assert_eq!(requests, 200, "a person's words stay longest");
        assert!(texts.last().unwrap().starts_with("answer 199"));
        for turn in 0..1_000 {
            hear(&mut store, &[word(WordKind::Request, &format!("later {turn} {long}"))]);
        }
        let texts = self::texts(&store);
        assert!(texts.len() <= MOST && texts.iter().map(String::len).sum::<usize>() <= MOST_BYTES);
        assert!(texts[0] == "request 0" && texts.last().unwrap().starts_with("later 999"));
    }
}
