//! Dead ends repeated: whether a session fails with what failed before.
//!
//! Needs: both transcripts. Computed: a dead end is a command that failed in the earlier session and did not pass there later,
//! with the lines that name its error. It is repeated if the session runs the same command and gets the same error, without the
//! numbers, addresses and directories that differ each time. The share of repeated ones has two figures: of those that the
//! handover had said, by the command or the error, and of the others. Does not apply: if there are none. Validated: a planted
//! dead end is found, in the right half, and one that ends otherwise is not.

use std::collections::BTreeSet;

use crate::base::text;
use crate::score::pair::Pair;
use crate::score::{Groups, Measure, Unit};
use crate::search::{error_signature, normalised};
use crate::transcript::{Outcome, RanCommand, Transcript};

pub(in crate::score) const SAID: Measure = Measure {
    name: "dead_ends_said",
    title: "dead ends that were said and repeated",
    unit: Unit::Percent,
    groups: Groups::Apart,
    of: |pair| repeated(pair, true),
};

pub(in crate::score) const UNSAID: Measure = Measure {
    name: "dead_ends_unsaid",
    title: "dead ends that were not said and repeated",
    unit: Unit::Percent,
    groups: Groups::Apart,
    of: |pair| repeated(pair, false),
};

/// How much of a command or an error is looked for in the handover, which cuts long lines.
const LOOKED_FOR: usize = 60;

/// A failure: the command and what it said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DeadEnd {
    command: String,
    signature: String,
    /// The first line of the error.
    error: String,
}

fn repeated(pair: &Pair, is_said: bool) -> Option<f64> {
    let dead: Vec<DeadEnd> =
        left(pair.before.as_ref()?).into_iter().filter(|it| was_said(pair, it) == is_said).collect();
    let failed: BTreeSet<(String, String)> =
        pair.after.ran.iter().filter_map(dead_end).map(|it| (it.command, it.signature)).collect();
    let again = dead.iter().filter(|it| failed.contains(&(it.command.clone(), it.signature.clone()))).count();
    (!dead.is_empty()).then(|| 100.0 * again as f64 / dead.len() as f64)
}

/// The failures of a session that nothing passed after.
fn left(session: &Transcript) -> BTreeSet<DeadEnd> {
    let mut left: BTreeSet<DeadEnd> = BTreeSet::new();
    for ran in &session.ran {
        match ran.outcome {
            Outcome::Passed => {
                let command = normalised(&ran.command);
                left.retain(|known| Some(&known.command) != command.as_ref());
            }
            _ => left.extend(dead_end(ran)),
        }
    }
    left
}

/// `None` for a command that did not fail, or that said nothing about it.
fn dead_end(ran: &RanCommand) -> Option<DeadEnd> {
    let signature = error_signature(&ran.errors);
    let has_failed = matches!(ran.outcome, Outcome::Failed(_)) && !signature.is_empty();
    let error = ran.errors.lines().next().unwrap_or_default().to_owned();
    Some(DeadEnd { command: normalised(&ran.command).filter(|_| has_failed)?, signature, error })
}

/// Whether the session was given a line with the command or the error.
fn was_said(pair: &Pair, dead: &DeadEnd) -> bool {
    let parts = [&dead.command, &dead.error].map(|part| text::cut(part, LOOKED_FOR));
    pair.is_warm() && pair.page.items().any(|item| parts.iter().any(|part| !part.is_empty() && item.contains(part)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::scripted::{ended, pair};

    const ERROR: &str = "error: linker `cc` not found";

    fn figures(page: &str, before: &[RanCommand], after: &[RanCommand]) -> (Option<f64>, Option<f64>) {
        let mut found = pair(page, &[], &[]);
        found.before = Some(Transcript { ran: before.to_vec(), ..Transcript::default() });
        found.after.ran = after.to_vec();
        (repeated(&found, true), repeated(&found, false))
    }

    #[test]
    fn a_planted_dead_end_is_found_in_the_half_where_it_belongs() {
        let planted = [ended("make wasm", ERROR), ended("make docs", "fatal: no docs here")];
        let again = [ended("cd /w && make wasm", "error: linker `cc` not found")];
        let page = "## Dead ends\n- Tried `make wasm`: the linker is missing\n";
        assert_eq!(figures(page, &planted, &again), (Some(100.0), Some(0.0)));
        assert_eq!(figures("", &planted, &again), (None, Some(50.0)));
        assert_eq!(figures("## Checks\n- error: linker `cc` not found\n", &planted[..1], &again), (Some(100.0), None));
    }

    #[test]
    fn numbers_and_places_do_not_make_another_error_and_another_error_is_another() {
        let before = [ended("cargo test", "error[E0308]: mismatched types at /a/src/x.rs:10")];
        let same = [ended("cargo test", "error[E0308]: mismatched types at /b/src/x.rs:12")];
        assert_eq!(figures("", &before, &same), (None, Some(100.0)));
        assert_eq!(figures("", &before, &[ended("cargo test", "error: disk is full")]), (None, Some(0.0)));
        assert_eq!(figures("", &before, &[ended("cargo build", "error[E0308]: mismatched types")]), (None, Some(0.0)));
    }

    #[test]
    fn what_passed_later_and_what_says_nothing_is_no_dead_end() {
        assert_eq!(figures("", &[ended("make", ERROR), ended("make", "")], &[ended("make", ERROR)]), (None, None));
    }
}
