//! Whether handovers arrived and helped: the receipts of session starts, and the score card.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, FixedOffset};
use serde::Serialize;

use super::picture::Extent;
use super::plots::{self, BAD, GOOD, Layer};
use super::timeline::minute;
use crate::base::{clock, text};
use crate::checkpoint::{Receipt, ReceiptOutcome, Store};
use crate::error::{Error, Result};
use crate::project::Project;
use crate::score::{self, Ask, Card, ENOUGH, Figure};

/// How many starts have a row of their own.
const ROWS: usize = 50;
/// Over how many of the newest sessions the card is.
const SESSIONS: usize = 100;
/// How long figures are computed that nobody has computed before.
const LIMIT: Duration = Duration::from_secs(10);
/// The layer of starts whose receipt is unknown.
const UNKNOWN: usize = 5;

/// The starts of sessions, and whether their texts arrived.
#[derive(Debug, Default, Serialize)]
pub(super) struct Starts {
    /// How many starts are known to have got their text, and of how many anything is known.
    whole: usize,
    known: usize,
    agents: Vec<AgentStarts>,
    /// Newest first.
    rows: Vec<Start>,
    left_out: usize,
    /// Starts a month, by what became of their texts.
    plot: String,
}

#[derive(Debug, Default, Serialize)]
struct AgentStarts {
    agent: String,
    starts: usize,
    whole: usize,
    cut: usize,
    missing: usize,
    unknown: usize,
}

#[derive(Debug, Serialize)]
struct Start {
    at: String,
    agent: String,
    reason: String,
    session: String,
    bytes: u64,
    receipt: &'static str,
}

/// The score card.
#[derive(Debug, Default, Serialize)]
pub(super) struct Helped {
    rows: Vec<Row>,
    warm: usize,
    cold: usize,
    enough: usize,
    missing: usize,
    is_comparable: bool,
}

#[derive(Debug, Serialize)]
struct Row {
    title: &'static str,
    warm: String,
    warm_n: usize,
    cold: String,
    cold_n: usize,
}

pub(super) fn starts(project: &Project, extent: &Extent, problems: &mut Vec<Error>) -> Starts {
    let read = || -> Result<Vec<Receipt>> {
        let store = Store::read(&project.checkpoint_file())?;
        Ok(store.map(|store| store.all_receipts()).transpose()?.unwrap_or_default())
    };
    let all = read().unwrap_or_else(|error| {
        problems.push(error);
        Vec::new()
    });
    let is_start = |receipt: &Receipt| receipt.reason != "prompt" && extent.covers(time(&receipt.at));
    of_receipts(all.into_iter().filter(is_start).collect())
}

fn time(stamp: &str) -> Option<DateTime<FixedOffset>> {
    clock::parse_stamp(stamp)
}

/// Receipts, newest first, as the page shows them.
fn of_receipts(receipts: Vec<Receipt>) -> Starts {
    let mut agents: BTreeMap<String, AgentStarts> = BTreeMap::new();
    let mut layers = [Layer::new(GOOD), Layer::new(BAD), Layer::new(UNKNOWN)];
    for receipt in &receipts {
        let name = text::one_line(&receipt.agent, 40);
        let agent = agents.entry(name.clone()).or_insert_with(|| AgentStarts { agent: name, ..AgentStarts::default() });
        agent.starts += 1;
        let (count, layer) = match receipt.outcome {
            ReceiptOutcome::Whole => (&mut agent.whole, 0),
            ReceiptOutcome::Cut => (&mut agent.cut, 1),
            ReceiptOutcome::Missing => (&mut agent.missing, 1),
            ReceiptOutcome::Open | ReceiptOutcome::Unknown => (&mut agent.unknown, 2),
        };
        *count += 1;
        if let Some(time) = time(&receipt.at) {
            layers[layer].add(time.format("%Y-%m").to_string());
        }
    }
    let count = |part: fn(&AgentStarts) -> usize| agents.values().map(part).sum();
    Starts {
        whole: count(|agent| agent.whole),
        known: count(|agent| agent.whole + agent.cut + agent.missing),
        agents: agents.into_values().collect(),
        left_out: receipts.len().saturating_sub(ROWS),
        plot: plots::months("Session starts a month, by whether their context arrived", &layers),
        rows: receipts.into_iter().take(ROWS).map(start).collect(),
    }
}

fn start(receipt: Receipt) -> Start {
    Start {
        at: minute(time(&receipt.at)),
        agent: text::one_line(&receipt.agent, 40),
        reason: text::one_line(&receipt.reason, 40),
        session: text::one_line(&receipt.session, 60),
        bytes: receipt.bytes,
        receipt: receipt.outcome.name(),
    }
}

pub(super) fn helped(project: &Project, extent: &Extent, problems: &mut Vec<Error>) -> Helped {
    let ask = Ask { last: SESSIONS, session: None, limit: LIMIT };
    match score::pairs(project, &ask, &mut |_, _| ()) {
        Ok(mut scores) => {
            scores.pairs.retain(|pair| extent.covers(time(&pair.started_at)));
            of_card(&score::card(&scores))
        }
        Err(error) => {
            problems.push(error);
            Helped::default()
        }
    }
}

fn of_card(card: &Card) -> Helped {
    let row = |figure: &Figure| Row {
        title: figure.title,
        warm: figure.warm.shown(figure.unit),
        warm_n: figure.warm.n,
        cold: figure.cold.shown(figure.unit),
        cold_n: figure.cold.n,
    };
    let is_known = |figure: &&Figure| figure.warm.n + figure.cold.n > 0;
    Helped {
        rows: card.figures.iter().filter(is_known).map(row).collect(),
        warm: card.warm,
        cold: card.cold,
        enough: ENOUGH,
        missing: card.missing,
        is_comparable: card.figures.iter().any(Figure::is_comparable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_counted_by_agent_and_only_the_newest_have_a_row() {
        let receipt = |seq: i64, agent: &str, outcome| Receipt {
            seq,
            agent: agent.to_owned(),
            session: format!("s{seq}"),
            at: "2026-11-15T10:04:05Z".to_owned(),
            reason: "startup".to_owned(),
            mark: String::new(),
            bytes: 10,
            outcome,
        };
        let mut all: Vec<Receipt> = (0..60).map(|seq| receipt(seq, "codex", ReceiptOutcome::Whole)).collect();
        all.push(receipt(61, "claude-code", ReceiptOutcome::Missing));
        let starts = of_receipts(all);
        assert_eq!((starts.rows.len(), starts.left_out, starts.agents.len()), (ROWS, 11, 2));
        assert_eq!((starts.agents[0].missing, starts.agents[1].whole), (1, 60));
        assert!(starts.plot.contains("#2C8F4E") && starts.plot.contains("#CC4444"), "{}", starts.plot);
    }
}
