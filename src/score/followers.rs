//! Which session comes after which: the nearest earlier session of the same branch, or of the same goal.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::sessions::Session;
use super::words::{Weighed, in_common};
use crate::base::text;

/// How many earlier sessions are looked at for the same goal.
const LOOKED_AT: usize = 200;
/// The share of their words that two goals must have in common to be one.
const SAME_GOAL: f64 = 0.8;

/// Why one session counts as the next after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Relation {
    Branch,
    Goal,
}

impl Relation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Relation::Branch => "branch",
            Relation::Goal => "goal",
        }
    }
}

/// Two sessions by their places in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Follower {
    pub before: usize,
    pub after: usize,
    pub by: Relation,
}

/// The pairs of these sessions, which are in the order in which they began. The work grows with their number: each is compared
/// with at most [`LOOKED_AT`] others.
pub(super) fn followers(sessions: &[Session]) -> Vec<Follower> {
    let goals: Vec<Weighed> = sessions.iter().map(|session| Weighed::of(&session.goal)).collect();
    let mut last_of_branch: HashMap<(&str, &str), usize> = HashMap::new();
    let follower = |after: usize| {
        let session = &sessions[after];
        let on_branch = match session.branch.as_str() {
            "" => None,
            branch => last_of_branch.insert((&session.place, branch), after),
        };
        let nearest = on_branch.map_or(0, |before| before + 1).max(after.saturating_sub(LOOKED_AT));
        let with_goal = (nearest..after).rev().find(|before| in_common(&goals[*before], &goals[after]) >= SAME_GOAL);
        let by_goal = with_goal.map(|before| Follower { before, after, by: Relation::Goal });
        by_goal.or(on_branch.map(|before| Follower { before, after, by: Relation::Branch }))
    };
    (0..sessions.len()).filter_map(follower).collect()
}

/// Marks everything that [`followers`] depends on.
pub(super) fn mark(sessions: &[Session]) -> String {
    let of = |session: &Session| format!("{:?}", (&session.place, &session.branch, &session.goal));
    text::digest(sessions.iter().map(of).collect::<String>().as_bytes(), 16)
}

#[cfg(test)]
mod tests {
    use super::super::sessions::example;
    use super::*;

    fn of(sessions: &[(&str, &str, &str)]) -> Vec<(usize, usize, &'static str)> {
        let sessions: Vec<Session> =
            sessions.iter().map(|(place, branch, goal)| example(place, branch, goal)).collect();
        followers(&sessions).into_iter().map(|it| (it.before, it.after, it.by.name())).collect()
    }

    #[test]
    fn the_next_session_is_that_of_the_same_branch_or_goal() {
        let lexer = "Give the lexer byte ranges";
        let found = of(&[
            ("/w", "main", lexer),
            ("/w", "docs", "Write the manual"),
            ("/w", "main", "Rename the crate"),
            ("/w", "spans", "give the lexer byte ranges"),
            ("/other", "main", "Something else"),
        ]);
        assert_eq!(found, [(0, 2, "branch"), (0, 3, "goal")]);
    }

    #[test]
    fn the_nearest_one_counts_and_nothing_follows_from_what_is_unknown() {
        let found = of(&[("/w", "a", "Ship the parser"), ("/w", "b", ""), ("/w", "b", "Ship the parser")]);
        assert_eq!(found, [(1, 2, "branch")]);
        assert_eq!(of(&[("/w", "", ""), ("/w", "", "")]), []);
    }

    #[test]
    fn a_session_of_the_same_branch_counts_however_long_ago_and_one_of_the_same_goal_only_if_near() {
        let lexer = "Give the lexer byte ranges";
        let between = |n: usize| vec![("/w", "", ""); n];
        let with = |first, last, n: usize| of(&[vec![first], between(n), vec![last]].concat());
        let far = LOOKED_AT + 50;
        assert_eq!(with(("/w", "main", ""), ("/w", "main", ""), far), [(0, far + 1, "branch")]);
        let (goal, same) = (("/w", "a", lexer), ("/w", "b", lexer));
        assert_eq!(with(goal, same, LOOKED_AT - 1), [(0, LOOKED_AT, "goal")]);
        assert_eq!(with(goal, same, LOOKED_AT), []);
        assert_eq!(with(("/w", "a", lexer), ("/w", "a", lexer), 1), [(0, 2, "branch")], "the branch says more");
    }
}
