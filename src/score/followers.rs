//! Which session comes after which: the nearest earlier session of the same branch, or of the same goal.

use super::sessions::Session;
use super::words::{Weighed, in_common};

/// How many earlier sessions are looked at for the same goal.
const LOOKED_AT: usize = 200;
/// The share of their words that two goals must have in common to be one.
const SAME_GOAL: f64 = 0.8;

/// Why one session counts as the next after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Follower {
    pub before: usize,
    pub after: usize,
    pub by: Relation,
}

/// The pairs of these sessions, which are in the order in which they began.
pub(super) fn followers(sessions: &[Session]) -> Vec<Follower> {
    let goals: Vec<Weighed> = sessions.iter().map(|session| Weighed::of(&session.goal)).collect();
    let related = |before: usize, after: usize| {
        let (a, b) = (&sessions[before], &sessions[after]);
        let is_same_branch = !b.branch.is_empty() && (&a.place, &a.branch) == (&b.place, &b.branch);
        let is_near = after - before <= LOOKED_AT;
        if is_same_branch {
            Some(Relation::Branch)
        } else {
            (is_near && in_common(&goals[before], &goals[after]) >= SAME_GOAL).then_some(Relation::Goal)
        }
    };
    let follower = |after: usize| {
        let mut earlier = (0..after).rev().filter_map(|before| Some((before, related(before, after)?)));
        earlier.next().map(|(before, by)| Follower { before, after, by })
    };
    (0..sessions.len()).filter_map(follower).collect()
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
}
