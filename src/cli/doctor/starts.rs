//! The last starts of each agent's sessions, and whether their texts arrived.

use serde_json::{Value, json};

use super::diagnosis::{Diagnosis, Health, diagnosis};
use crate::base::text;
use crate::checkpoint::{Receipt, ReceiptOutcome, Store};
use crate::project::Project;

/// How many starts of each agent are shown.
const SHOWN: usize = 10;

/// The texts that sessions of this project got when they started, newest first. None if the record cannot be read, which is
/// reported elsewhere.
pub(super) fn starts(project: &Project) -> Vec<Receipt> {
    let store = Store::read(&project.checkpoint_file()).ok().flatten();
    let all = store.and_then(|store| store.all_receipts().ok()).unwrap_or_default();
    all.into_iter().filter(|receipt| receipt.reason != "prompt").collect()
}

/// The last starts of one agent, newest first.
pub(super) fn last_starts(starts: &[Receipt], agent: &str) -> Vec<Receipt> {
    starts.iter().filter(|receipt| receipt.agent == agent).take(SHOWN).cloned().collect()
}

/// What the receipts of an agent's last starts say.
pub(super) fn about_starts(agent: &str, starts: &[Receipt]) -> Vec<Diagnosis> {
    if starts.is_empty() {
        return Vec::new();
    }
    let count = |outcome| starts.iter().filter(|receipt| receipt.outcome == outcome).count();
    let named = [
        (ReceiptOutcome::Whole, "delivered whole"),
        (ReceiptOutcome::Cut, "cut"),
        (ReceiptOutcome::Missing, "missing"),
        (ReceiptOutcome::Unknown, "unknown"),
        (ReceiptOutcome::Open, "not over yet"),
    ];
    let parts = named.iter().map(|(outcome, name)| (count(*outcome), name)).filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, name)| format!("{number} {name}")).collect();
    let each: Vec<&str> = starts.iter().map(|receipt| receipt.outcome.name()).collect();
    // One kind needs no order.
    let order = if parts.len() > 1 { format!(" (newest first: {})", each.join(", ")) } else { String::new() };
    let says = format!("last {}: {}{order}", text::count(starts.len(), "start"), parts.join(", "));
    let mut findings = vec![diagnosis(agent, Health::Good, says, None)];
    findings.extend(worst(starts, ReceiptOutcome::Missing).map(|receipt| {
        let says = format!("the context of {} ({}) did not reach its session", receipt.at, receipt.reason);
        let remedy = format!(
            "compare with `agent-handover doctor --simulate {agent}`; in such a session, ask the agent to run `agent-handover warmup`"
        );
        diagnosis(agent, Health::Warning, says, Some(&remedy))
    }));
    findings.extend(worst(starts, ReceiptOutcome::Cut).map(|receipt| {
        let says = format!("the context of {} ({} bytes) was cut by the client", receipt.at, receipt.bytes);
        diagnosis(agent, Health::Remark, says, Some("set a smaller `budget` in the `[warmup]` table of the config"))
    }));
    findings
}

/// The newest receipt with this outcome.
fn worst(starts: &[Receipt], outcome: ReceiptOutcome) -> Option<&Receipt> {
    starts.iter().find(|receipt| receipt.outcome == outcome)
}

pub(super) fn start_json(receipt: &Receipt) -> Value {
    json!({
        "at": receipt.at,
        "session": receipt.session,
        "reason": receipt.reason,
        "bytes": receipt.bytes,
        "mark": receipt.mark,
        "receipt": receipt.outcome.name(),
    })
}
