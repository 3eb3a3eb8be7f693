//! Receipts: the texts that were put into sessions, known by their marks, and whether they arrived.

use rusqlite::{Row, Transaction, params};

use super::session::signed;
use super::{SessionSighting, Store, schema};
use crate::error::Result;

/// How many receipts are kept. The oldest ones go first.
const MOST: i64 = 2_000;
const COLUMNS: &str = "seq, agent, session, at, reason, mark, bytes, outcome";

/// What the transcript of a session says about a text that was put into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceiptOutcome {
    /// Nobody has looked yet.
    Open,
    Whole,
    /// The client left its end out.
    Cut,
    Missing,
    /// There is no transcript, or its client does not write down what hooks add.
    Unknown,
}

const OUTCOMES: &[(ReceiptOutcome, &str)] = &[
    (ReceiptOutcome::Open, ""),
    (ReceiptOutcome::Whole, "whole"),
    (ReceiptOutcome::Cut, "cut"),
    (ReceiptOutcome::Missing, "missing"),
    (ReceiptOutcome::Unknown, "unknown"),
];

impl ReceiptOutcome {
    /// Its name for people and programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ReceiptOutcome::Open => "open",
            other => other.stored(),
        }
    }

    /// The outcome with this name.
    pub(crate) fn named(name: &str) -> ReceiptOutcome {
        if name == ReceiptOutcome::Open.name() { ReceiptOutcome::Open } else { ReceiptOutcome::of(name) }
    }

    fn stored(self) -> &'static str {
        OUTCOMES.iter().find(|(outcome, _)| *outcome == self).map_or("", |(_, name)| name)
    }

    fn of(stored: &str) -> ReceiptOutcome {
        OUTCOMES.iter().find(|(_, name)| *name == stored).map_or(ReceiptOutcome::Unknown, |(outcome, _)| *outcome)
    }
}

/// A text that is about to be put into a session.
#[derive(Clone, Debug)]
pub(crate) struct NewReceipt {
    /// Why the session gets it: the source of a start, or `prompt`.
    pub reason: String,
    pub mark: String,
    pub bytes: usize,
}

/// Records that a text is put into a session.
pub(super) fn keep(transaction: &Transaction<'_>, seen: &SessionSighting, new: &NewReceipt) -> rusqlite::Result<()> {
    transaction.execute(
        "INSERT INTO receipt (agent, session, at, reason, mark, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![seen.agent, seen.id, seen.at, new.reason, new.mark, signed(new.bytes as u64)],
    )?;
    let sql = "DELETE FROM receipt WHERE seq <= (SELECT max(seq) FROM receipt) - ?1";
    transaction.execute(sql, [MOST]).map(|_| ())
}

/// A text that was put into a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub seq: i64,
    pub agent: String,
    pub session: String,
    pub at: String,
    pub reason: String,
    pub mark: String,
    pub bytes: u64,
    pub outcome: ReceiptOutcome,
}

/// What a transcript says about a receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettledReceipt {
    pub seq: i64,
    /// The session that got the text. A client may have announced it under the id of another.
    pub session: String,
    pub outcome: ReceiptOutcome,
}

impl Store {
    /// The receipts of sessions that are over and at which nobody has looked, in their order.
    pub(crate) fn open_receipts(&self) -> Result<Vec<Receipt>> {
        self.receipts(
            "WHERE outcome = '' AND EXISTS (SELECT 1 FROM session
                 WHERE session.agent = receipt.agent AND session.id = receipt.session AND is_over = 1) ORDER BY seq",
        )
    }

    /// Every receipt, newest first.
    pub(crate) fn all_receipts(&self) -> Result<Vec<Receipt>> {
        self.receipts("ORDER BY seq DESC")
    }

    /// Records what transcripts say about receipts.
    pub(crate) fn settle_receipts(&mut self, settled: &[SettledReceipt]) -> Result<()> {
        self.write(|transaction| {
            for SettledReceipt { seq, session, outcome } in settled {
                let sql = "UPDATE receipt SET outcome = ?2, session = ?3 WHERE seq = ?1";
                transaction.execute(sql, params![seq, outcome.stored(), session])?;
            }
            Ok(())
        })
    }

    fn receipts(&self, which: &str) -> Result<Vec<Receipt>> {
        if !schema::knows_receipts(self.version()?) {
            return Ok(Vec::new());
        }
        let sql = format!("SELECT {COLUMNS} FROM receipt {which}");
        self.ask(|connection| connection.prepare(&sql)?.query_map([], read)?.collect())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Receipt> {
    Ok(Receipt {
        seq: row.get(0)?,
        agent: row.get(1)?,
        session: row.get(2)?,
        at: row.get(3)?,
        reason: row.get(4)?,
        mark: row.get(5)?,
        bytes: u64::try_from(row.get::<_, i64>(6)?).unwrap_or(0),
        outcome: ReceiptOutcome::of(&row.get::<_, String>(7)?),
    })
}
