//! Contradicted: what the handover said and the session found otherwise.
//!
//! Needs: the text of the handover, and the transcript. Computed, each as a share with its own figure:
//! - of the named files that the session opened or tried to open, those that were gone at the first attempt;
//! - of the checks that were said to pass and that the session ran before any edit, those that failed at the first run;
//! - of the rulings, those that the person reversed: most of their words come back, and most of these change sides (what was
//!   forbidden is asked for, what was asked for is forbidden).
//!
//! Does not apply: if no named file was tried, no such check was run, or the handover has no rulings. Validated: against scripted
//! pairs with a contradiction planted, and with the same lines unharmed.

use std::collections::{BTreeMap, BTreeSet};

use crate::recap::{self, Material, Speaker};
use crate::score::pair::{Pair, opened};
use crate::score::words::{Sides, is_same_file, paths};
use crate::score::{Groups, Measure, Unit};
use crate::search::normalised;
use crate::transcript::{Action, ActionKind, Outcome};

pub(in crate::score) const FILES: Measure = Measure {
    name: "contradicted_files",
    title: "named files that were gone",
    unit: Unit::Percent,
    groups: Groups::Apart,
    of: files,
};

pub(in crate::score) const CHECKS: Measure = Measure {
    name: "contradicted_checks",
    title: "passing checks that failed before any edit",
    unit: Unit::Percent,
    groups: Groups::Apart,
    of: checks,
};

pub(in crate::score) const RULINGS: Measure = Measure {
    name: "contradicted_rulings",
    title: "rulings that were reversed",
    unit: Unit::Percent,
    groups: Groups::Apart,
    of: rulings,
};

/// Lines with which programs say that a file is not there.
const GONE: &[&str] = &["no such file", "does not exist", "not found", "cannot find"];

fn files(pair: &Pair) -> Option<f64> {
    let named: BTreeSet<String> = pair.page.naming_files().flat_map(paths).collect();
    let mut first: BTreeMap<&String, bool> = BTreeMap::new();
    for action in &pair.after.actions {
        for path in opened(action) {
            for name in named.iter().filter(|name| is_same_file(name, &path)) {
                first.entry(name).or_insert_with(|| is_gone(pair, action, name));
            }
        }
    }
    share(first.values())
}

/// Whether an action shows that the file is not there.
fn is_gone(pair: &Pair, action: &Action, name: &str) -> bool {
    let has_failed = matches!(action.outcome, Outcome::Failed(_));
    let file = name.rsplit('/').next().unwrap_or(name);
    let says_so = |errors: &str| {
        errors.to_lowercase().lines().any(|line| line.contains(file) && GONE.iter().any(|gone| line.contains(gone)))
    };
    match action.kind {
        ActionKind::Read => has_failed,
        ActionKind::Command if has_failed => {
            pair.after.ran.iter().any(|ran| ran.command == action.what && says_so(&ran.errors))
        }
        _ => false,
    }
}

fn checks(pair: &Pair) -> Option<f64> {
    let recorded = pair.passing_checks();
    let mut first: BTreeMap<String, bool> = BTreeMap::new();
    let before_edits = pair.before_first_edit().unwrap_or(&pair.after.actions);
    for action in before_edits.iter().filter(|action| action.kind == ActionKind::Command) {
        if let Some(command) = normalised(&action.what).filter(|command| recorded.contains(command))
            && action.outcome != Outcome::Unknown
        {
            first.entry(command).or_insert(matches!(action.outcome, Outcome::Failed(_)));
        }
    }
    share(first.values())
}

fn rulings(pair: &Pair) -> Option<f64> {
    let before: Vec<Sides> = pair.page.rulings().map(Sides::of).filter(|sides| !sides.is_empty()).collect();
    if before.is_empty() {
        return None;
    }
    let account = recap::recap(&Material { transcript: Some(&pair.after), note: "", state: "", has_changes: true });
    let said = account.rulings.iter().filter(|line| line.who == Speaker::Person);
    let now: Vec<Sides> = said.map(|line| Sides::of(&line.text)).collect();
    let reversed: Vec<bool> = before.iter().map(|old| now.iter().any(|new| new.reverses(old))).collect();
    share(reversed.iter())
}

fn share<'a>(all: impl ExactSizeIterator<Item = &'a bool>) -> Option<f64> {
    let count = all.len();
    let hits = all.filter(|is_hit| **is_hit).count();
    (count > 0).then(|| 100.0 * hits as f64 / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::scripted::{edit, ended, failed, failed_read, pair, read, run, talk};

    #[test]
    fn a_named_file_that_is_gone_is_found() {
        let page = "## Next\n- Fix src/lexer.rs\n\n## Files\n- src/token.rs\n- src/never_opened.rs\n";
        let there = [read("/w/src/lexer.rs", "x"), read("/w/src/token.rs", "x")];
        assert_eq!(files(&pair(page, &[], &there)), Some(0.0));
        let gone = [failed_read("/w/src/lexer.rs"), read("/w/src/token.rs", "x")];
        assert_eq!(files(&pair(page, &[], &gone)), Some(50.0));
        let removed_later = [read("/w/src/lexer.rs", "x"), failed_read("/w/src/lexer.rs")];
        assert_eq!(files(&pair(page, &[], &removed_later)), Some(0.0), "it was there at first");
        let error = "cat: src/token.rs: No such file or directory";
        let mut by_command = pair(page, &[], &[failed("cat src/token.rs", error)]);
        by_command.after.ran = vec![ended("cat src/token.rs", error)];
        assert_eq!(files(&by_command), Some(100.0));
        assert_eq!(files(&pair(page, &[], &[run("ls", "x")])), None);
    }

    #[test]
    fn a_passing_check_that_fails_before_any_edit_is_found() {
        let page = "## Checks\n- `cargo test` passed\n- `make lint` passed\n";
        let of = |done: &[Action]| checks(&pair(page, &[], done));
        assert_eq!(of(&[failed("cargo test", "error: x"), run("make lint", "ok")]), Some(50.0));
        assert_eq!(of(&[run("cargo test", "ok"), failed("cargo test", "error: x")]), Some(0.0), "the first run counts");
        assert_eq!(of(&[edit("a.rs"), failed("cargo test", "error: x")]), None, "the edit may have broken it");
    }

    #[test]
    fn a_ruling_that_the_person_reverses_is_found() {
        let page = "## Rulings\n- Never start docker for the tests\n- Use SQLite, not Postgres\n";
        let of = |said: &[&str]| {
            let mut found = pair(page, &[], &[]);
            found.after = talk(said);
            rulings(&found)
        };
        assert_eq!(of(&["Fix the tests", "No, always start docker for the tests from now on"]), Some(50.0));
        assert_eq!(of(&["Fix the tests", "We decided: use Postgres, not SQLite"]), Some(50.0));
        assert_eq!(of(&["Fix the tests", "Again: never start docker for the tests"]), Some(0.0));
        assert_eq!(of(&["Fix the tests", "Never push to main"]), Some(0.0));
    }
}
