//! A handover and the session after it.

use std::collections::BTreeSet;

use super::page::Page;
use super::words;
use crate::checkpoint::ReceiptOutcome;
use crate::search::normalised;
use crate::transcript::{Action, ActionKind, Outcome, Transcript};

/// A handover, and the next session of the same branch or goal.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// Whether the session got the handover; `None` if nobody tried.
    pub receipt: Option<ReceiptOutcome>,
    /// What the session was given, or for one that got nothing, what was on record.
    pub page: Page,
    /// The session that was handed over, if its transcript is still there.
    pub before: Option<Transcript>,
    pub after: Transcript,
}

/// Whether a session with this receipt had the handover before it, at least its beginning.
pub(super) fn is_warm(receipt: Option<ReceiptOutcome>) -> bool {
    matches!(receipt, Some(ReceiptOutcome::Whole | ReceiptOutcome::Cut))
}

/// Whether a session with this receipt got nothing of the handover. Of other sessions nobody knows.
pub(super) fn is_cold(receipt: Option<ReceiptOutcome>) -> bool {
    matches!(receipt, None | Some(ReceiptOutcome::Missing))
}

impl Pair {
    pub(super) fn is_warm(&self) -> bool {
        is_warm(self.receipt)
    }

    /// The actions before the first edit; `None` if there is no edit among the actions that are known.
    pub(super) fn before_first_edit(&self) -> Option<&[Action]> {
        let at = self.after.actions.iter().position(|action| action.kind == ActionKind::Edit)?;
        Some(&self.after.actions[..at])
    }

    /// The checks that are on record as passing: in the handover, or at the end of the earlier session.
    pub(super) fn passing_checks(&self) -> BTreeSet<String> {
        let tests = self.before.iter().flat_map(|before| &before.tests);
        let passed = tests.filter(|test| test.outcome == Outcome::Passed).filter_map(|test| normalised(&test.command));
        passed.chain(self.page.passing()).collect()
    }

    /// The files that the earlier session edited after its last commit, or all that it edited: `git status` shows them.
    pub(super) fn uncommitted(&self) -> BTreeSet<String> {
        let Some(before) = &self.before else { return BTreeSet::new() };
        let is_commit =
            |command: &str| command.contains("git commit") || command.contains("git -C") && command.contains(" commit");
        let commits =
            before.ran.iter().filter(|ran| !matches!(ran.outcome, Outcome::Failed(_)) && is_commit(&ran.command));
        let last = commits.map(|ran| ran.turn).max().unwrap_or(0);
        let edits = before.work.iter().filter(|work| work.turn > last).flat_map(|work| &work.edited);
        edits.map(|path| path.to_lowercase()).collect()
    }
}

/// The files that an action opened.
pub(super) fn opened(action: &Action) -> Vec<String> {
    match action.kind {
        ActionKind::Read | ActionKind::Edit => vec![action.what.to_lowercase()],
        ActionKind::Command => words::paths(&action.what).into_iter().collect(),
        ActionKind::Other => Vec::new(),
    }
}
