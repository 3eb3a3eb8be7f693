//! Receipts: what was put into a session is recorded by its mark, and looked for in the transcript once the session is over.

use std::path::Path;

use crate::base::text;
use crate::checkpoint::{AgentSession, NewReceipt, Receipt, ReceiptOutcome, SettledReceipt, Store};
use crate::error::Result;
use crate::transcript::{self, Asks, Injected, Source};

/// How much of a transcript is looked through for a request.
const LOOKED_THROUGH: u64 = 64 << 20;

/// What is recorded about a text that is put into a session. `None` if it has no mark.
pub(super) fn of(reason: &str, context: &str) -> Option<NewReceipt> {
    let (mark, _) = transcript::first_mark(context)?;
    Some(NewReceipt { reason: text::one_line(reason, 40), mark: mark.to_owned(), bytes: context.len() })
}

/// Looks for the texts of sessions that are over, in their transcripts.
pub(super) fn look(store: &mut Store) -> Result<()> {
    let open = store.open_receipts()?;
    if open.is_empty() {
        return Ok(());
    }
    let sessions: Vec<AgentSession> = store.all_sessions()?.into_iter().map(|(session, _)| session).collect();
    let mut settled = Vec::new();
    for receipts in by_session(open) {
        let (agent, id) = (&receipts[0].agent, &receipts[0].session);
        let session = sessions.iter().find(|session| (&session.agent, &session.id) == (agent, id));
        let found = session.and_then(texts);
        let is_kept = transcript::keeps_context(agent) && session.is_some_and(has_begun);
        let outcomes = outcomes(&receipts, found, is_kept);
        settled.extend(receipts.iter().zip(outcomes).map(|(receipt, outcome)| settle(receipt, outcome, &sessions)));
    }
    store.settle_receipts(&settled)
}

/// Whether something was asked in a session. A client writes a text down with the first request: until then nobody can say
/// that it is missing.
fn has_begun(session: &AgentSession) -> bool {
    let source = Source::pin(Path::new(&session.transcript), &session.id);
    source.and_then(|source| source.asks(LOOKED_THROUGH)).is_ok_and(|asks| asks != Asks::No)
}

/// The texts of ours in the transcript of a session; `None` if there is none.
fn texts(session: &AgentSession) -> Option<Vec<Injected>> {
    let path = Some(&session.transcript).filter(|path| !path.is_empty())?;
    transcript::injected(Path::new(path)).ok().flatten()
}

/// Claude Code announces a fork as its parent that resumes, and gives the text to the fork. So a text that a resumed session did
/// not get is looked for in the sessions that began afterwards.
fn settle(receipt: &Receipt, outcome: ReceiptOutcome, sessions: &[AgentSession]) -> SettledReceipt {
    let is_lost = outcome == ReceiptOutcome::Missing && matches!(receipt.reason.as_str(), "resume" | "fork");
    let began_after = |session: &&AgentSession| {
        session.agent == receipt.agent && session.id != receipt.session && session.started_at >= receipt.at
    };
    let has_text = |session: &&AgentSession| {
        texts(session)
            .is_some_and(|texts| texts.iter().any(|injected| injected.mark == receipt.mark && injected.is_whole))
    };
    let fork = is_lost.then(|| sessions.iter().filter(began_after).find(has_text)).flatten();
    SettledReceipt {
        seq: receipt.seq,
        session: fork.map_or_else(|| receipt.session.clone(), |fork| fork.id.clone()),
        outcome: if fork.is_some() { ReceiptOutcome::Whole } else { outcome },
    }
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
/// whose marks are not found. `is_kept`: the client has written down what hooks added.
fn outcomes(receipts: &[Receipt], found: Option<Vec<Injected>>, is_kept: bool) -> Vec<ReceiptOutcome> {
    let Some(mut found) = found else {
        return receipts.iter().map(|_| ReceiptOutcome::Unknown).collect();
    };
    let mut take = |mark: &str| {
        let at = found.iter().position(|injected| injected.mark == mark);
        at.map(|at| found.remove(at).is_whole)
    };
    let ended: Vec<Option<bool>> = receipts.iter().map(|receipt| take(&receipt.mark)).collect();
    let absent = if is_kept { ReceiptOutcome::Missing } else { ReceiptOutcome::Unknown };
    let each = ended.into_iter().map(|is_whole| match is_whole {
        Some(true) => ReceiptOutcome::Whole,
        // The client kept its end, and left out its middle.
        Some(false) => ReceiptOutcome::Cut,
        None if take("").is_some() => ReceiptOutcome::Cut,
        None => absent,
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
            let injected = |mark: &&str| {
                let (mark, is_whole) = (mark.trim_end_matches('!').to_owned(), !mark.ends_with('!'));
                Injected { text: String::new(), mark, is_whole }
            };
            let found = marks.iter().map(injected).collect();
            outcomes(&receipts, Some(found), is_kept)
        };
        assert_eq!(seen(&["a", "b", "a", "c"], true), [Whole; 4]);
        assert_eq!(seen(&["a", "", "c"], true), [Whole, Cut, Missing, Whole]);
        assert_eq!(seen(&["x", ""], true), [Cut, Missing, Missing, Missing]);
        assert_eq!(seen(&["a!", "b", "a", "c"], true), [Cut, Whole, Whole, Whole], "its middle is missing");
        assert_eq!(seen(&["a"], false), [Whole, Unknown, Unknown, Unknown]);
        assert_eq!(outcomes(&receipts[..1], None, true), [Unknown]);
    }
}
