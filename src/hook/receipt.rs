//! Receipts: what was put into a session is recorded by its mark, and looked for in the transcript once the session is over.

use std::path::Path;

use crate::base::text;
use crate::checkpoint::{NewReceipt, Receipt, ReceiptOutcome, Store};
use crate::error::Result;
use crate::transcript::{self, Injected};

/// What is recorded about a text that is put into a session. `None` if it has no mark.
pub(super) fn of(reason: &str, context: &str) -> Option<NewReceipt> {
    let (mark, _) = transcript::first_mark(context)?;
    Some(NewReceipt { reason: text::one_line(reason, 40), mark: mark.to_owned(), bytes: context.len() })
}

/// Looks for the texts of sessions that are over, in their transcripts.
pub(super) fn look(store: &mut Store) -> Result<()> {
    let open = store.open_receipts()?;
    let mut settled = Vec::new();
    for receipts in by_session(open) {
        let (agent, id) = (receipts[0].agent.clone(), receipts[0].session.clone());
        let path = store.session(&agent, &id)?.map(|session| session.transcript).unwrap_or_default();
        let found = if path.is_empty() { None } else { transcript::injected(Path::new(&path)).ok().flatten() };
        settled.extend(outcomes(&receipts, found, transcript::keeps_context(&agent)));
    }
    if settled.is_empty() { Ok(()) } else { store.settle_receipts(&settled) }
}

fn by_session(receipts: Vec<Receipt>) -> Vec<Vec<Receipt>> {
    let mut sessions: Vec<Vec<Receipt>> = Vec::new();
    for receipt in receipts {
        let is_same = |known: &&mut Vec<Receipt>| {
            known.iter().all(|other| (&other.agent, &other.session) == (&receipt.agent, &receipt.session))
        };
        match sessions.iter_mut().find(is_same) {
            Some(known) => known.push(receipt),
            None => sessions.push(vec![receipt]),
        }
    }
    sessions
}

/// What became of each text of a session. A text without its end has no mark, so those stand, in order, for the receipts
/// whose marks are not found. `is_kept`: the client writes down what hooks add.
fn outcomes(receipts: &[Receipt], found: Option<Vec<Injected>>, is_kept: bool) -> Vec<(i64, ReceiptOutcome)> {
    let Some(mut found) = found else {
        return receipts.iter().map(|receipt| (receipt.seq, ReceiptOutcome::Unknown)).collect();
    };
    let mut take = |mark: &str| {
        let at = found.iter().position(|injected| injected.mark == mark);
        at.map(|at| found.remove(at)).is_some()
    };
    let whole: Vec<bool> = receipts.iter().map(|receipt| take(&receipt.mark)).collect();
    let absent = if is_kept { ReceiptOutcome::Missing } else { ReceiptOutcome::Unknown };
    let each = receipts.iter().zip(whole).map(|(receipt, is_whole)| {
        let outcome = if is_whole {
            ReceiptOutcome::Whole
        } else if take("") {
            ReceiptOutcome::Cut
        } else {
            absent
        };
        (receipt.seq, outcome)
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(seq: i64, mark: &str) -> Receipt {
        let text = String::new;
        let (outcome, mark) = (ReceiptOutcome::Open, mark.to_owned());
        Receipt { seq, agent: text(), session: text(), at: text(), reason: text(), mark, bytes: 0, outcome }
    }

    #[test]
    fn each_text_is_whole_cut_missing_or_unknown() {
        use ReceiptOutcome::{Cut, Missing, Unknown, Whole};
        let receipts = [receipt(1, "a"), receipt(2, "b"), receipt(3, "a"), receipt(4, "c")];
        let seen = |marks: &[&str], is_kept| {
            let found = marks.iter().map(|mark| Injected { text: String::new(), mark: (*mark).to_owned() }).collect();
            outcomes(&receipts, Some(found), is_kept).into_iter().map(|(_, outcome)| outcome).collect::<Vec<_>>()
        };
        assert_eq!(seen(&["a", "b", "a", "c"], true), [Whole; 4]);
        assert_eq!(seen(&["a", "", "c"], true), [Whole, Cut, Missing, Whole]);
        assert_eq!(seen(&["x", ""], true), [Cut, Missing, Missing, Missing]);
        assert_eq!(seen(&["a"], false), [Whole, Unknown, Unknown, Unknown]);
        assert_eq!(outcomes(&receipts[..1], None, true), [(1, Unknown)]);
    }
}
