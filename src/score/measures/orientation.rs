//! Orientation: what a session does before its first edit.
//!
//! Needs: the transcript. Computed: how many actions come before the first edit, and how many bytes they put before the agent.
//! Does not apply: to sessions without an edit among their first 300 actions. Validated: against scripted sessions whose
//! first edit is known.

use crate::score::{Groups, Measure, Unit};

pub(in crate::score) const ACTIONS: Measure = Measure {
    name: "orientation_actions",
    title: "actions before the first edit",
    unit: Unit::Number,
    groups: Groups::Apart,
    of: |pair| Some(pair.before_first_edit()?.len() as f64),
};

pub(in crate::score) const BYTES: Measure = Measure {
    name: "orientation_bytes",
    title: "bytes read before the first edit",
    unit: Unit::Number,
    groups: Groups::Apart,
    of: |pair| Some(pair.before_first_edit()?.iter().map(|action| action.bytes).sum::<u64>() as f64),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::scripted::{edit, pair, read, run};

    #[test]
    fn what_comes_before_the_first_edit_counts() {
        let found =
            pair("", &[], &[read("a.rs", "12345"), run("ls", "123"), edit("a.rs"), read("b.rs", "1"), edit("b.rs")]);
        assert_eq!(((ACTIONS.of)(&found), (BYTES.of)(&found)), (Some(2.0), Some(8.0)));
        assert_eq!((ACTIONS.of)(&pair("", &[], &[read("a.rs", "x")])), None);
    }
}
