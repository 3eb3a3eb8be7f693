//! The sessions that nobody hands over, such as the part of another one.

use rusqlite::{OptionalExtension, params};

use super::session::signed;
use super::{SessionSighting, Store, schema};
use crate::error::Result;

impl Store {
    /// Why nobody hands this session over; `None` if somebody does, or if it is unknown.
    pub(crate) fn kept_out(&self, agent: &str, id: &str) -> Result<Option<String>> {
        if !schema::knows_kept_out(self.version()?) {
            return Ok(None);
        }
        let sql = "SELECT kept_out FROM session WHERE agent = ?1 AND id = ?2 AND kept_out <> ''";
        self.ask(|connection| connection.query_row(sql, [agent, id], |row| row.get(0)).optional())
    }

    /// Keeps a session out that nobody has seen before. A session that is followed stays as it is.
    pub(crate) fn keep_out(&mut self, seen: &SessionSighting, why: &str) -> Result<()> {
        self.write(|transaction| {
            let sql = "INSERT INTO session (agent, id, transcript, process, started_at, seen_at, is_over, kept_out)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?5, 1, ?6) ON CONFLICT DO NOTHING";
            let row = params![seen.agent, seen.id, seen.transcript, seen.process, seen.at, why];
            transaction.execute(sql, row).map(|_| ())
        })
    }

    /// Follows a session from now on that was kept out. What it has so far stays out.
    pub(crate) fn let_in(&mut self, seen: &SessionSighting) -> Result<()> {
        self.write(|transaction| {
            let sql = "UPDATE session SET kept_out = '', handed_over = ?3, seen = ?3
                       WHERE agent = ?1 AND id = ?2 AND kept_out <> ''";
            transaction.execute(sql, params![seen.agent, seen.id, signed(seen.size)]).map(|_| ())
        })
    }
}
