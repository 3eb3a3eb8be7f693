//! The lines of a command's output that name an error. The rest of an output is not kept.

use super::Outcome;
use crate::base::text;

/// How many lines are kept, and how many characters of each.
const MOST: usize = 6;
const MAX_LINE: usize = 300;
/// How much of an output is looked through: errors are at its beginning or at its end.
const LOOKED_AT: usize = 64 << 10;

/// Parts of lines that name an error, in small letters.
const SIGNS: &[&str] = &[
    "error:",
    "error[",
    "error ",
    "errors:",
    "exception",
    "fatal:",
    "failed",
    "failure",
    "panicked at",
    "traceback",
    "cannot ",
    "can't ",
    "could not ",
    "couldn't ",
    "no such file",
    "not found",
    "not permitted",
    "permission denied",
    "undefined ",
    "unresolved ",
    "unexpected ",
    "segmentation fault",
    "timed out",
    "refused",
];

/// The lines of an output that name an error; none for a command that passed. A command whose outcome nobody knows may have
/// failed behind a pipe.
pub(super) fn of(output: &str, outcome: Outcome) -> String {
    if outcome == Outcome::Passed || output.is_empty() {
        return String::new();
    }
    let mut kept: Vec<&str> = Vec::new();
    for part in ends(output) {
        for line in part.lines().map(str::trim).filter(|line| is_error(line)) {
            if kept.len() < MOST && !kept.contains(&line) {
                kept.push(line);
            }
        }
    }
    if kept.is_empty() && matches!(outcome, Outcome::Failed(_)) {
        // "Exit code 1" is the client's, not the command's.
        let last = output.lines().rev().map(str::trim).find(|line| !line.is_empty());
        kept.extend(last.filter(|line| !line.starts_with("Exit code ")));
    }
    kept.into_iter().map(|line| text::kept_line(line, MAX_LINE)).collect::<Vec<_>>().join("\n")
}

/// The beginning and the end of an output, or all of it.
fn ends(output: &str) -> impl Iterator<Item = &str> {
    let (head, rest) = output.split_at(text::cut(output, LOOKED_AT).len());
    let from = rest.len().saturating_sub(LOOKED_AT);
    let tail = (from..=rest.len()).find_map(|at| rest.get(at..)).unwrap_or_default();
    [head, tail].into_iter()
}

fn is_error(line: &str) -> bool {
    let small = text::cut(line, 1 << 10).to_ascii_lowercase();
    // A name such as `ValueError` ends right before the colon.
    let is_named = || small.split_once(": ").is_some_and(|(name, _)| name.ends_with("error") && !name.contains(' '));
    // pytest marks the lines of an error, whatever they say.
    let is_marked = || small.strip_prefix("e  ").is_some_and(|rest| !rest.trim().is_empty());
    SIGNS.iter().any(|sign| small.contains(sign)) && !small.contains("0 failed") || is_named() || is_marked()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Outcome = Outcome::Failed(Some(1));

    #[test]
    fn only_lines_that_name_an_error_are_kept() {
        let output =
            "Exit code 101\n   Compiling x\nerror[E0308]: mismatched types\n --> src/a.rs:3:5\nValueError: no\n";
        assert_eq!(of(output, FAILED), "error[E0308]: mismatched types\nValueError: no");
        assert_eq!(of(output, Outcome::Passed), "");
        assert_eq!(of("Exit code 2\nnothing to do\n", FAILED), "nothing to do");
        assert_eq!(of("Exit code 2\n", FAILED), "");
        assert_eq!(of("all is well", Outcome::Unknown), "");
        assert_eq!(of("test result: ok. 3 passed; 0 failed", Outcome::Unknown), "");
        let pytest =
            ">       Line(amount=\"10.005\")\nE       amount\nE         Input should be a valid decimal\n\na.py:1: E";
        assert_eq!(of(pytest, FAILED), "E amount\nE Input should be a valid decimal");
    }

    #[test]
    fn a_long_output_is_looked_through_at_both_ends() {
        let output = format!("error: first\n{}ä\nfatal: last\n", "x\n".repeat(1 << 20));
        assert_eq!(of(&output, FAILED), "error: first\nfatal: last");
    }
}
