//! DECISIONS.md: one line for each decision.

use super::Origin;
use super::rulings::MARK;
use crate::base::text;
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
            // Nobody of this machine reads the document before its line is here.
            text::for_terminal(&without_standing(&format!("- [{date}][{id}] (from outside) {decision}")))
        } else {
            format!("- [{date}][{id}] {decision}")
        }
    };
    handoff.texts("decisions").into_iter().map(line).collect()
}

/// A text from outside in which no decision stands.
pub(crate) fn without_standing(text: &str) -> String {
    let plain = without_mark(text);
    // Where the text is shown, invisible characters go, and what they split becomes a mark.
    let shown = text::for_terminal(&plain);
    let is_split = shown.to_ascii_lowercase().contains(MARK);
    if is_split { without_mark(&shown) } else { plain }
}

/// A reader does not tell capitals apart, so the mark goes in any case.
fn without_mark(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut plain = String::with_capacity(text.len());
    let mut end = 0;
    for (start, mark) in lower.match_indices(MARK) {
        plain.push_str(&text[end..start]);
        plain.push_str("(standing there)");
        end = start + mark.len();
    }
    plain.push_str(&text[end..]);
    plain
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_spelling_of_the_mark_survives_from_outside() {
        for (text, expected) in [
            ("[standing] a [standing]", "(standing there) a (standing there)"),
            ("[STANDing] a", "(standing there) a"),
            ("é[stand\u{200b}ing] a", "é(standing there) a"),
            ("[s\u{ad}tanding\u{2060}] [standing]", "(standing there) (standing there)"),
            ("[\u{e0041}standing\u{202e}]\nb", "(standing there)\nb"),
            // Any other text stays as it is.
            ("stand\u{200b}ing É", "stand\u{200b}ing É"),
        ] {
            assert_eq!(without_standing(text), expected);
        }
    }
}
