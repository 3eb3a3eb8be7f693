//! What an examination found.

use crate::cli::render::line_and_column;
use crate::error::Error;

/// How well something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Good,
    /// It works, but the user should know something.
    Remark,
    /// Something did not work, and may fail again.
    Warning,
    Broken,
}

impl Health {
    pub(super) fn name(self) -> &'static str {
        match self {
            Health::Good => "good",
            Health::Remark => "remark",
            Health::Warning => "warning",
            Health::Broken => "broken",
        }
    }
}

/// One thing that was examined.
#[derive(Clone, Debug)]
pub(super) struct Diagnosis {
    pub about: String,
    pub health: Health,
    pub says: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

pub(super) fn diagnosis(about: &str, health: Health, says: impl Into<String>, remedy: Option<&str>) -> Diagnosis {
    Diagnosis { about: about.to_owned(), health, says: says.into(), remedy: remedy.map(str::to_owned) }
}

/// The findings about something that failed: one for each problem in a file, with its place.
pub(super) fn broken(about: &str, error: &Error, otherwise: &str) -> Vec<Diagnosis> {
    let remedy = error.hints().first().map_or(otherwise, String::as_str);
    let broken = |says: String| diagnosis(about, Health::Broken, says, Some(remedy));
    let Some(listing) = error.problems() else { return vec![broken(error.one_line())] };
    let each = listing.problems.iter().map(|problem| {
        let (line, column) = line_and_column(&listing.text, problem.span.start);
        broken(format!("{}:{line}:{column}: {}", listing.path.display(), problem.message))
    });
    each.collect()
}
