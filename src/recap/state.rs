//! The account as changes to the current state, for every session, also for one that wrote nothing.

use serde::{Deserialize, Serialize};

use super::evidence::covers;
use super::{Account, Line, finished};
use crate::base::text;
use crate::memory::state::CurrentState;
use crate::memory::{Added, Edits};
use crate::transcript::Outcome;

/// How many lines a session adds to a category at most.
const MOST: usize = 10;
/// The longest line for what changed, in bytes.
const LONG: usize = 300;

/// What a session wrote itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrote {
    Nothing,
    Note,
    Handoff,
    /// A handoff that it archived before. What is derived of the session only fills in what that one lacks.
    EarlierHandoff,
}

/// What an account changes in the current state. It is stored as the intent of a step; which items it concerns is only known
/// when the state is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateAccount {
    goal: Option<String>,
    /// Whether the session began a new task, so that its goal replaces an earlier one.
    is_new_goal: bool,
    rulings: Vec<String>,
    /// Decisions in the note.
    #[serde(default)]
    decisions: Vec<String>,
    next: Vec<String>,
    /// To-dos that the session completed.
    completed: Vec<String>,
    /// Statements that may say that an action of an earlier session is done.
    #[serde(default)]
    finished: Vec<String>,
    /// Failing checks.
    issues: Vec<String>,
    /// How the issues of checks that pass now begin.
    passing: Vec<String>,
    changes: Vec<String>,
    summary: Option<String>,
    /// What the agent captured itself in its answers, by category.
    #[serde(default)]
    captured: Vec<(String, Vec<String>)>,
}

/// Whether the check of the first issue, which passes now, runs at least what that of the second one does.
fn settles(passing: &str, issue: &str) -> bool {
    fn command(issue: &str) -> Option<&str> {
        Some(issue.strip_prefix('`')?.split_once("` failed")?.0)
    }
    command(passing).zip(command(issue)).is_some_and(|(passing, failed)| covers(passing, failed))
}

impl StateAccount {
    /// The changes of a session. If it wrote a handoff, that document states goal and next actions itself. If it gave a
    /// note, that text says what was done.
    pub(crate) fn of(account: &Account, completed: &[String], commits: &[String], wrote: Wrote) -> StateAccount {
        let texts = |lines: &[Line]| lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>();
        let passed = account.checks.iter().filter(|check| check.outcome == Outcome::Passed);
        let mut state = StateAccount {
            rulings: texts(&account.rulings),
            decisions: texts(&account.decisions),
            issues: account
                .failing()
                .map(|check| check.issue())
                .chain(texts(&account.known_issues))
                .take(MOST)
                .collect(),
            passing: passed.map(|check| check.issue_start()).collect(),
            completed: completed.to_vec(),
            finished: finished::statements(account, commits),
            // A handoff is the newer and more careful word.
            captured: if wrote == Wrote::Handoff { Vec::new() } else { account.captured.clone() },
            ..StateAccount::default()
        };
        if matches!(wrote, Wrote::Nothing | Wrote::Note) && !account.is_idle {
            state.is_new_goal = account.replaces_goal();
            state.goal = account.goal.as_ref().map(|goal| goal.text.clone());
            state.next = texts(&account.next);
            state.next.truncate(MOST);
        }
        if matches!(wrote, Wrote::Nothing | Wrote::EarlierHandoff) && !account.is_idle {
            state.changes = commits.iter().take(MOST).map(|line| text::kept_line(line, LONG)).collect();
            state.summary = account.last_words().map(|line| text::kept_line(&line.text, LONG));
        }
        state
    }

    pub(crate) fn changes_nothing(&self, state: &CurrentState) -> bool {
        let mut edits = Edits::default();
        self.add_to(&mut edits, state);
        edits == Edits::default()
    }

    /// Adds the changes to `edits`, given the state that they will change. A ruling that somebody withdrew does not come
    /// back.
    pub(crate) fn add_to(&self, edits: &mut Edits, state: &CurrentState) {
        for (category, texts) in &self.captured {
            edits.record(category, texts.clone());
        }
        let is_captured = |category: &str| self.captured.iter().any(|(known, _)| known == category);
        if !is_captured("goal") && (self.is_new_goal || !state.items().any(|(category, _)| category == "goal")) {
            edits.record("goal", self.goal.iter().cloned().collect());
        }
        let rulings = self.rulings.iter().filter(|text| !state.is_withdrawn("decision", text));
        edits.rulings.extend(rulings.cloned());
        let decisions = self.decisions.iter().filter(|text| !state.is_withdrawn("decision", text));
        edits.add.extend(decisions.map(|text| Added::new("decision", text.clone())));
        // The most urgent is added last, so that it is the newest.
        edits.add.extend(self.next.iter().rev().map(|text| Added::new("open_loop", text.clone())));
        edits.add.extend(self.issues.iter().map(|text| Added::new("known_issue", text.clone())));
        edits.record("recent_change", self.changes.clone());
        edits.record("session_summary", self.summary.iter().cloned().collect());
        let is_settled = |category: &str, text: &str| match category {
            "open_loop" => {
                let is_completed = self.completed.iter().any(|done| done == text);
                is_completed && !self.next.iter().any(|next| next == text)
                    || finished::is_finished(text, &self.finished, &self.next)
            }
            "known_issue" => {
                let is_passing =
                    self.passing.iter().any(|start| text.starts_with(start.as_str()) || settles(start, text));
                // The same command fails with another exit code now.
                let is_outdated = self.issues.iter().any(|issue| {
                    let start = issue.split(" (exit code").next().unwrap_or(issue);
                    text.starts_with(start) && text != issue
                });
                is_passing || is_outdated
            }
            _ => false,
        };
        let settled = state.items().filter(|(category, item)| is_settled(category, &item.text));
        edits.done.extend(settled.map(|(_, item)| item.id.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_passes_settles_the_issues_that_it_covers() {
        assert!(settles("`cargo test` failed", "`cargo test -p parser` failed (exit code 101)"));
        assert!(!settles("`cargo test -p parser` failed", "`cargo test` failed"));
        assert!(!settles("`cargo test` failed", "cargo test is slow"));
    }
}
