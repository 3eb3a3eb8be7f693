//! Evidence: the checks that were seen to pass or fail.

use super::{Account, Check, Material, Rule, Seen};
use crate::transcript::Outcome;

pub(crate) const RULE: Rule = Rule { name: "evidence", apply: keep_checks };

/// The newest checks are kept.
const MAX_CHECKS: usize = 20;

/// Options that change what a check prints, not what it checks.
const OPTIONS: &[&str] = &["-v", "-vv", "-q", "-s", "-x", "--verbose", "--quiet", "--no-fail-fast", "2>&1"];
const OPTION_STARTS: &[&str] = &["-count=", "--tb=", "--color"];

/// Whether a check runs at least what another one runs: it is the same command with fewer words to select with.
pub(super) fn covers(command: &str, other: &str) -> bool {
    let (words, others) = (selecting(command), selecting(other));
    words.len() > 1 && words.first() == others.first() && words.iter().all(|word| others.contains(word))
}

/// The words of a command that say what it checks: those before the first pipe, without options of the output.
fn selecting(command: &str) -> Vec<&str> {
    let words = command.split_whitespace().take_while(|word| *word != "|");
    let is_of_output =
        |word: &&str| OPTIONS.contains(word) || OPTION_STARTS.iter().any(|start| word.starts_with(start));
    words.filter(|word| !is_of_output(word)).collect()
}

/// Each check once, with its last outcome, in the order in which they ended. A failure goes when a check that covers it
/// passes later. A check whose outcome is unknown is no evidence, not even against what the same check showed before.
fn keep_checks(material: &Material<'_>, account: &mut Account) {
    let Some(transcript) = material.transcript else { return };
    for test in transcript.tests.iter().filter(|test| test.outcome != Outcome::Unknown) {
        let is_settled = |check: &Check| {
            let has_failed = matches!(check.outcome, Outcome::Failed(_));
            has_failed && test.outcome == Outcome::Passed && covers(&test.command, &check.command)
        };
        account.checks.retain(|check| check.command != test.command && !is_settled(check));
        account.checks.push(Check {
            command: test.command.clone(),
            outcome: test.outcome,
            seen: Seen::Transcript,
            took_ms: None,
        });
    }
    let too_many = account.checks.len().saturating_sub(MAX_CHECKS);
    account.checks.drain(..too_many);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::{Command, Transcript};

    fn checks(tests: &[(&str, Outcome)]) -> Vec<(String, Outcome)> {
        let tests =
            tests.iter().map(|(command, outcome)| Command { command: (*command).to_owned(), outcome: *outcome });
        let transcript = Transcript { tests: tests.collect(), ..Transcript::default() };
        let material = Material { transcript: Some(&transcript), note: "", state: "", has_changes: true };
        let mut account = Account::default();
        keep_checks(&material, &mut account);
        account.checks.into_iter().map(|check| (check.command, check.outcome)).collect()
    }

    #[test]
    fn each_check_has_its_last_outcome() {
        let tests = [
            ("cargo test", Outcome::Failed(Some(101))),
            ("npm test", Outcome::Failed(None)),
            ("cargo test", Outcome::Passed),
        ];
        let expected = [("npm test".to_owned(), Outcome::Failed(None)), ("cargo test".to_owned(), Outcome::Passed)];
        assert_eq!(checks(&tests), expected);
    }

    #[test]
    fn a_failure_goes_when_a_check_that_covers_it_passes() {
        for (failed, passed) in [
            ("cargo test -p parser spans", "cargo test"),
            ("go test -count=1 -run TestA -v ./cli/ 2>&1 | tail -60", "go test -count=5 ./cli/ 2>&1 | tail -10"),
            ("pytest tests/test_a.py -q", "pytest tests/test_a.py -v"),
        ] {
            let found = checks(&[(failed, Outcome::Failed(Some(1))), (passed, Outcome::Passed)]);
            assert_eq!(found, [(passed.to_owned(), Outcome::Passed)]);
            assert_eq!(checks(&[(passed, Outcome::Passed), (failed, Outcome::Failed(Some(1)))]).len(), 2);
        }
        for (failed, passed) in [
            ("cargo test", "cargo test -p parser"),
            ("cargo test -p a", "cargo test -p b"),
            ("mise run test:integration", "mise run test"),
            ("make check", "make"),
        ] {
            assert_eq!(checks(&[(failed, Outcome::Failed(Some(1))), (passed, Outcome::Passed)]).len(), 2, "{failed}");
        }
    }

    #[test]
    fn an_unknown_outcome_is_no_evidence() {
        let tests =
            [("cargo test", Outcome::Passed), ("cargo test", Outcome::Unknown), ("make check", Outcome::Unknown)];
        assert_eq!(checks(&tests), [("cargo test".to_owned(), Outcome::Passed)]);
    }

    #[test]
    fn the_newest_checks_are_kept() {
        let commands: Vec<String> = (0..50).map(|number| format!("make check{number}")).collect();
        let tests: Vec<_> = commands.iter().map(|command| (command.as_str(), Outcome::Passed)).collect();
        let found = checks(&tests);
        assert_eq!(found.len(), MAX_CHECKS);
        assert_eq!(found[MAX_CHECKS - 1].0, "make check49");
    }
}
