//! A handover and the session after it.

use super::page::Page;
use super::words;
use crate::checkpoint::ReceiptOutcome;
use crate::transcript::{Action, ActionKind, Transcript};

/// A handover, and the next session of the same branch.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub agent: String,
    /// The session after the handover.
    pub session: String,
    pub branch: String,
    pub started_at: String,
    /// Whether the session got the handover; `None` if nobody tried.
    pub receipt: Option<ReceiptOutcome>,
    /// What the session was given, or for one that got nothing, what was on record.
    pub page: Page,
    /// The session that was handed over, if its transcript is still there.
    pub before: Option<Transcript>,
    pub after: Transcript,
}

impl Pair {
    /// Whether the session had the handover before it, at least its beginning.
    pub(super) fn is_warm(&self) -> bool {
        matches!(self.receipt, Some(ReceiptOutcome::Whole | ReceiptOutcome::Cut))
    }

    /// Whether the session got nothing of the handover. Of other sessions nobody knows.
    pub(super) fn is_cold(&self) -> bool {
        matches!(self.receipt, None | Some(ReceiptOutcome::Missing))
    }

    /// The actions before the first edit; `None` if there is no edit among the actions that are known.
    pub(super) fn before_first_edit(&self) -> Option<&[Action]> {
        let at = self.after.actions.iter().position(|action| action.kind == ActionKind::Edit)?;
        Some(&self.after.actions[..at])
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
