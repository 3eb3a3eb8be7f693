//! Checks reused: whether a session knows at once how its work is checked.
//!
//! Needs: both transcripts, and the checks that the handover lists as passed. Computed: 100 if the session runs a command that is
//! on record as passing again as it was, else 0; and the number of actions up to the first check that passes. Two command lines
//! are the same if they differ only in spaces, assignments and changes of directory before the command. Does not apply: the first
//! to pairs without a recorded passing check, and to sessions that ran no check; the second to sessions none of whose first 300
//! actions is a check that passes. Validated: against scripted pairs with the same, a changed and no check.

use std::collections::BTreeSet;

use crate::score::pair::Pair;
use crate::score::{Groups, Measure, Unit};
use crate::search::normalised;
use crate::transcript::{ActionKind, Outcome, is_check};

pub(in crate::score) const REUSED: Measure = Measure {
    name: "checks_reused",
    title: "sessions that ran a recorded passing check as it was",
    unit: Unit::Percent,
    groups: Groups::Apart,
    of: reused,
};

pub(in crate::score) const GREEN: Measure = Measure {
    name: "actions_to_green",
    title: "actions to the first passing check",
    unit: Unit::Number,
    groups: Groups::Apart,
    of: to_green,
};

fn reused(pair: &Pair) -> Option<f64> {
    let recorded = pair.passing_checks();
    let ran: BTreeSet<String> = checks(pair, &recorded).into_iter().map(|(_, command, _)| command).collect();
    (!recorded.is_empty() && !ran.is_empty()).then(|| if ran.is_disjoint(&recorded) { 0.0 } else { 100.0 })
}

fn to_green(pair: &Pair) -> Option<f64> {
    let ran = checks(pair, &pair.passing_checks());
    ran.iter().find(|(_, _, outcome)| *outcome == Outcome::Passed).map(|(at, _, _)| *at as f64 + 1.0)
}

/// The checks that the session ran, each with its place among the actions and how it ended.
fn checks(pair: &Pair, recorded: &BTreeSet<String>) -> Vec<(usize, String, Outcome)> {
    let commands = pair.after.actions.iter().enumerate().filter(|(_, action)| action.kind == ActionKind::Command);
    let plain = commands.filter_map(|(at, action)| Some((at, normalised(&action.what)?, action.outcome)));
    plain.filter(|(_, command, _)| is_check(command) || recorded.contains(command)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::scripted::{edit, failed, pair, read, run, tested};

    const PAGE: &str = "## Checks\n- `cargo test lexer` passed\n- `make lint` fails (exit code 2)\n";

    #[test]
    fn only_a_recorded_check_that_is_run_as_it_was_is_reused() {
        let of = |command: &str| reused(&pair(PAGE, &[], &[run(command, "ok")]));
        assert_eq!(of("cd /w && RUST_LOG=1 cargo  test lexer"), Some(100.0));
        assert_eq!(of("cargo test parser"), Some(0.0));
        assert_eq!(of("ls"), None, "no check was run");
        assert_eq!(reused(&pair("", &[], &[run("cargo test", "ok")])), None, "none is on record");
        let mut from_session = pair("", &[], &[run("./check.sh fast", "ok")]);
        tested(&mut from_session, "./check.sh fast");
        assert_eq!(reused(&from_session), Some(100.0), "what the earlier session saw pass is on record");
    }

    #[test]
    fn the_first_green_is_the_first_check_that_passes() {
        let done = [read("a.rs", "x"), failed("cargo test", "error: no"), edit("a.rs"), run("cargo test", "ok")];
        assert_eq!(to_green(&pair("", &[], &done)), Some(4.0));
        assert_eq!(to_green(&pair("", &[], &done[..3])), None);
    }
}
