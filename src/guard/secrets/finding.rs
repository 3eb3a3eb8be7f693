//! Finds what looks like a secret, and replaces it.

use std::ops::Range;

use super::rules::RULES;
use super::scan;

/// Something that looks like a secret, by kind and place. It never holds the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: &'static str,
    pub line: usize,
    pub(super) name: &'static str,
    pub(super) range: Range<usize>,
}

/// Every kind of secret, each once.
pub(crate) fn kinds() -> Vec<&'static str> {
    let mut kinds: Vec<&str> = RULES.iter().map(|rule| rule.kind).collect();
    kinds.dedup();
    kinds
}

/// Everything that looks like a secret, in the order of the text and without overlaps.
pub fn find(text: impl AsRef<[u8]>) -> Vec<Finding> {
    let text = text.as_ref();
    let (mut line, mut counted) = (1, 0);
    let place = |found: scan::Match| {
        line += text[counted..found.range.start].iter().filter(|byte| **byte == b'\n').count();
        counted = found.range.start;
        Finding { kind: found.rule.kind, name: found.rule.name, line, range: found.range }
    };
    scan::scan(text).into_iter().map(place).collect()
}

/// The text with each finding replaced by its kind.
pub(crate) fn redact(text: &str, findings: &[Finding]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for finding in findings {
        // A range may end within a character, which is then removed whole.
        let start = (0..=finding.range.start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0).max(at);
        clean.push_str(&text[at..start]);
        clean.push_str(&format!("[redacted:{}]", finding.kind));
        at = (finding.range.end..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    }
    clean.push_str(&text[at..]);
    clean
}

/// The text with everything that looks like a secret replaced by its kind.
pub(crate) fn clean(text: &str) -> String {
    redact(text, &find(text))
}
