//! Evidence: the checks that were seen to pass or fail.

use super::{Account, Check, Material, Rule, Seen};
use crate::transcript::Outcome;

pub(crate) const RULE: Rule = Rule { name: "evidence", apply: keep_checks };

/// The newest checks are kept.
const MAX_CHECKS: usize = 20;

/// Each check once, with its last outcome, in the order in which they ended. A check whose outcome is unknown is no
/// evidence, not even against what the same check showed before.
fn keep_checks(material: &Material<'_>, account: &mut Account) {
    let Some(transcript) = material.transcript else { return };
    for test in transcript.tests.iter().filter(|test| test.outcome != Outcome::Unknown) {
        account.checks.retain(|check| check.command != test.command);
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
