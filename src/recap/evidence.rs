//! Evidence: the checks that were seen to pass or fail.

use super::{Account, Check, Material, Rule, Seen};
use crate::transcript::{Outcome, Transcript};

pub(crate) const RULE: Rule = Rule { name: "evidence", apply: keep_checks };

/// The newest checks are kept.
const MAX_CHECKS: usize = 20;

/// How many commands that brought something out are kept.
const MAX_DELIVERIES: usize = 3;
/// Commands that bring something out.
const DELIVERIES: &[&str] =
    &["git push", "git merge", "gh pr merge", "gh release create", "npm publish", "cargo publish"];

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
    account.checks.extend(delivered(transcript));
    let too_many = account.checks.len().saturating_sub(MAX_CHECKS);
    account.checks.drain(..too_many);
}

/// The commands that brought something out and passed, each once. One that failed is no evidence: it is often repeated with
/// other words.
fn delivered(transcript: &Transcript) -> Vec<Check> {
    let mut found: Vec<Check> = Vec::new();
    for command in transcript.commands.iter().filter(|command| command.outcome == Outcome::Passed) {
        // Each part of `a && b` passed if the whole did.
        for part in command.command.split("&&").map(str::trim).filter(|part| is_delivery(part)) {
            found.retain(|check| check.command != part);
            let command = part.to_owned();
            found.push(Check { command, outcome: Outcome::Passed, seen: Seen::Transcript, took_ms: None });
        }
    }
    found.drain(..found.len().saturating_sub(MAX_DELIVERIES));
    found
}

/// Whether a command does nothing but bring something out, so that no test stands behind it.
pub(crate) fn is_delivery(command: &str) -> bool {
    DELIVERIES
        .iter()
        .any(|known| command.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
        && !command.contains([';', '|', '&', '\n'])
        && !command.contains("--dry-run")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Command;

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
    fn what_was_brought_out_is_evidence_of_that() {
        let ran = |command: &str, outcome| Command { command: command.to_owned(), outcome };
        let commands = vec![
            ran("git push", Outcome::Failed(Some(1))),
            ran("git commit -m 'git push' && git push -u origin x", Outcome::Passed),
            ran("git push --dry-run", Outcome::Passed),
            ran("git push; true", Outcome::Passed),
            ran("echo git push", Outcome::Passed),
        ];
        let transcript = Transcript { commands, ..Transcript::default() };
        let found: Vec<String> = delivered(&transcript).into_iter().map(|check| check.command).collect();
        assert_eq!(found, ["git push -u origin x"]);
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
