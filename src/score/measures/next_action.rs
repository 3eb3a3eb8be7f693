//! Next action taken: whether the session begins with what it was told to do next.
//!
//! Needs: the first next action of the handover, and the transcript. Computed: the share of its paths and identifiers that occur
//! in the first fifteen actions. Does not apply: if the next action names none, or the session did nothing. Validated: against
//! scripted pairs, and against the same sessions with another pair's handover, which must be near zero.

use crate::score::pair::Pair;
use crate::score::words::{is_same_file, names};
use crate::score::{Groups, Measure, Unit};

/// How many actions are looked at.
const FIRST: usize = 15;

pub(in crate::score) const MEASURE: Measure = Measure {
    name: "next_action",
    title: "names of the next action in the first 15 actions",
    unit: Unit::Percent,
    groups: Groups::Apart,
    of,
};

fn of(pair: &Pair) -> Option<f64> {
    let wanted = names(pair.page.next()?);
    if wanted.is_empty() || pair.after.actions.is_empty() {
        return None;
    }
    let done: Vec<String> = pair.after.actions.iter().take(FIRST).map(|action| action.what.to_lowercase()).collect();
    let is_done = |name: &&String| {
        let file = name.split(':').next().unwrap_or_default();
        done.iter().any(|what| what.contains(name.as_str()) || is_same_file(what, file) || what.contains(file))
    };
    Some(100.0 * wanted.iter().filter(is_done).count() as f64 / wanted.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::scripted::{OTHER, edit, pair, read, run};

    #[test]
    fn a_session_that_begins_with_the_next_action_takes_it() {
        let page = "## Next\n- Fix parse_span in src/lexer.rs:42\n";
        let taken = [read("/w/src/lexer.rs", "x"), run("grep -n parse_span src", "x"), edit("/w/src/lexer.rs")];
        assert_eq!(of(&pair(page, &[], &taken)), Some(100.0));
        assert_eq!(of(&pair(page, &[], &taken[..1])), Some(50.0));
        assert_eq!(of(&pair(OTHER, &[], &taken)), Some(0.0), "a shuffled handover");
        assert_eq!(of(&pair("## Next\n- Go on\n", &[], &taken)), None);
    }
}
