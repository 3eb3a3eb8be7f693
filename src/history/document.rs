//! A handoff from outside, with errors for people.

use crate::error::{Category, Error, Result};
use crate::handoff::{Handoff, HandoffProblem};

/// Reads a text as a handoff.
pub(crate) fn parse(text: &str) -> Result<Handoff> {
    Handoff::parse(text)
        .map_err(|error| Error::bad_data(format!("invalid handoff: line {}: {}", error.line, error.message)))
}

/// All problems of a handoff as one error.
pub(crate) fn refuse(problems: &[HandoffProblem]) -> Error {
    let mut error = Error::new(Category::NotGood, "handoff failed validation:");
    for problem in problems {
        error = error.follow(&format!("\n  - {problem}"));
    }
    error
}
