//! DECISIONS.md: one line for each decision.

use super::Origin;
use super::rulings::MARK;
use crate::handoff::{Handoff, one_line};

const HEADER: &str =
    "# Decisions\n\nAppend-only log of durable decisions; one line each. Read after LATEST.md on resume.\n\n";

/// The lines of a handoff for the log.
pub(super) fn lines(handoff: &Handoff) -> Vec<String> {
    let (date, id) = (one_line(handoff.text("session_date")), one_line(handoff.text("session_id")));
    let is_outside = Origin::of(handoff).is_some();
    let line = |decision: &str| {
        let decision = one_line(decision);
        // Only the operator of this machine makes a decision stand, whichever field has the mark.
        if is_outside {
            without_standing(&format!("- [{date}][{id}] (from outside) {decision}"))
        } else {
            format!("- [{date}][{id}] {decision}")
        }
    };
    handoff.texts("decisions").into_iter().map(line).collect()
}

/// A text from outside in which no decision stands.
pub(crate) fn without_standing(text: &str) -> String {
    text.replace(MARK, "(standing there)")
}

/// Appends the lines that the log does not have yet.
pub(super) fn append(log: &str, lines: &[String]) -> String {
    let known: std::collections::HashSet<&str> = log.lines().collect();
    let new: Vec<&String> = lines.iter().filter(|line| !known.contains(line.as_str())).collect();
    if new.is_empty() {
        return log.to_owned();
    }
    let mut text = if log.trim().is_empty() { HEADER.to_owned() } else { log.to_owned() };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    for line in new {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// The number of decisions in the log.
pub(super) fn count(log: &str) -> usize {
    log.lines().filter(|line| line.starts_with("- [")).count()
}
