//! DECISIONS.md: one line for each decision.

use super::Origin;
use crate::handoff::{Handoff, one_line};

const HEADER: &str =
    "# Decisions\n\nAppend-only log of durable decisions; one line each. Read after LATEST.md on resume.\n\n";
/// How many standing decisions are shown.
const SHOWN: usize = 20;

/// The lines of a handoff for the log.
pub(super) fn lines(handoff: &Handoff) -> Vec<String> {
    let (date, id) = (one_line(handoff.text("session_date")), one_line(handoff.text("session_id")));
    // Only the operator of this machine makes a decision stand. An imported one is marked.
    let text = |decision: &str| match Origin::of(handoff) {
        None => one_line(decision),
        Some(_) => format!("(from outside) {}", one_line(decision).replace("[standing]", "(standing there)")),
    };
    handoff.texts("decisions").into_iter().map(|decision| format!("- [{date}][{id}] {}", text(decision))).collect()
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

/// The newest standing decisions, oldest first, after a line with the number of the others.
pub(super) fn standing(log: &str) -> Vec<String> {
    let all: Vec<&str> = log.lines().filter(|line| line.contains("[standing]")).collect();
    let older = all.len().saturating_sub(SHOWN);
    let mut shown: Vec<String> = all[older..].iter().map(|line| (*line).to_owned()).collect();
    if older > 0 {
        shown.insert(0, format!("(+{older} older standing lines in DECISIONS.md)"));
    }
    shown
}

/// The number of decisions in the log.
pub(super) fn count(log: &str) -> usize {
    log.lines().filter(|line| line.starts_with("- [")).count()
}
