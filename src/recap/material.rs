//! What the rules choose from.

use super::{Account, RULES, captured};
use crate::transcript::Transcript;

/// Everything that is known about a session when its account is made.
pub(crate) struct Material<'a> {
    /// The transcript, if it could be read. Its paths are relative to the project.
    pub transcript: Option<&'a Transcript>,
    /// The note that the session gave; empty if it gave none.
    pub note: &'a str,
    /// The current state that the session gave; empty if it gave none.
    pub state: &'a str,
    /// Whether the session committed anything, or left changes uncommitted.
    pub has_changes: bool,
}

/// Makes the account of a session by all rules.
pub(crate) fn recap(material: &Material<'_>) -> Account {
    let (transcript, captured) = material.transcript.map(captured::taken_out).unzip();
    let material = Material { transcript: transcript.as_deref(), ..*material };
    let mut account = Account::default();
    for rule in RULES {
        tracing::debug!(rule = rule.name, "recap");
        (rule.apply)(&material, &mut account);
    }
    captured::put(captured.unwrap_or_default(), &mut account);
    account
}
