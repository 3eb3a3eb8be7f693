//! What was known before a session. Its goal and next actions stay until they are done or replaced.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Account, Line, Speaker, finished};
use crate::config::template::Values;

/// The name under which this is among the facts.
const BEFORE: &str = "before";

/// What the project's own memory said before the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Before {
    pub goal: Option<String>,
    /// Newest first.
    pub next: Vec<String>,
    /// When the last completed handover was recorded.
    pub since: Option<String>,
    /// The mark of the uncommitted files at the last completed handover from the same worktree.
    #[serde(default)]
    pub tree: Option<String>,
    /// The repository had no commit at that handover.
    #[serde(default)]
    pub was_without_commit: bool,
}

impl Before {
    /// Puts it among the facts of a run.
    pub(crate) fn add_to(&self, values: &mut Values) {
        values.insert(BEFORE.to_owned(), serde_json::to_value(self).unwrap_or_default());
    }

    pub(crate) fn of(values: &Values) -> Before {
        values.get(BEFORE).and_then(|value: &Value| serde_json::from_value(value.clone()).ok()).unwrap_or_default()
    }

    /// Adds what the session did not replace to its account: the goal if it began no new task, and next actions that it
    /// neither repeats nor completed, by its to-dos, its words or its commits.
    pub(crate) fn carry_into(&self, account: &mut Account, completed: &[String], commits: &[String]) {
        let carried = |text: &String| Line { who: Speaker::Program, turn: 0, text: text.clone() };
        if !account.replaces_goal() {
            account.goal = self.goal.as_ref().map(carried).or(account.goal.take());
        }
        let said = finished::statements(account, commits);
        let own: Vec<String> = account.next.iter().map(|line| line.text.clone()).collect();
        let is_done = |next: &String| completed.contains(next) || finished::is_finished(next, &said, &own);
        for next in self.next.iter().filter(|next| !is_done(next)) {
            if !account.next.iter().any(|line| line.text == *next) {
                account.next.push(carried(next));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::GoalSource;
    use super::*;

    #[test]
    fn a_session_that_states_nothing_keeps_what_was_known() {
        let before = Before {
            goal: Some("ship it".to_owned()),
            next: vec!["a".to_owned(), "b".to_owned()],
            ..Before::default()
        };
        let mut account = Account::default();
        before.carry_into(&mut account, &["b".to_owned()], &[]);
        assert_eq!(account.goal.unwrap().text, "ship it");
        assert_eq!(account.next.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn what_a_session_says_itself_comes_first() {
        let before = Before {
            goal: Some("old".to_owned()),
            next: vec!["same".to_owned(), "older".to_owned()],
            ..Before::default()
        };
        let line = |text: &str| Line { who: Speaker::Person, turn: 1, text: text.to_owned() };
        let mut account = Account {
            goal: Some(line("new")),
            goal_source: GoalSource::Stated,
            next: vec![line("same")],
            ..Account::default()
        };
        before.carry_into(&mut account, &[], &[]);
        assert_eq!(account.goal.unwrap().text, "new");
        assert_eq!(account.next.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["same", "older"]);
    }
}
