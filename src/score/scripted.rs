//! Pairs with a known answer, for tests of measures.

use super::page::Page;
use super::pair::Pair;
use crate::base::text;
use crate::checkpoint::ReceiptOutcome;
use crate::transcript::{Action, ActionKind, Outcome, Transcript};

/// The handover of another task.
pub(super) const OTHER: &str = "## Next\n- Give invoice_total a currency in billing/invoice.py\n\n## Files\n- billing/ledger.py\n- billing/tax_rate.py\n";

fn action(kind: ActionKind, what: &str, output: &str) -> Action {
    let content = text::digest(output.as_bytes(), 8);
    Action { kind, what: what.to_owned(), bytes: output.len() as u64, content, outcome: Outcome::Passed }
}

pub(super) fn read(path: &str, content: &str) -> Action {
    action(ActionKind::Read, path, content)
}

pub(super) fn run(command: &str, output: &str) -> Action {
    action(ActionKind::Command, command, output)
}

pub(super) fn edit(path: &str) -> Action {
    action(ActionKind::Edit, path, "")
}

pub(super) fn pair(page: &str, before: &[Action], after: &[Action]) -> Pair {
    let session = |actions: &[Action]| Transcript { actions: actions.to_vec(), ..Transcript::default() };
    Pair {
        agent: "claude-code".to_owned(),
        session: "s".to_owned(),
        branch: "main".to_owned(),
        started_at: String::new(),
        receipt: Some(ReceiptOutcome::Whole),
        page: Page::of(page),
        before: Some(session(before)),
        after: session(after),
    }
}
