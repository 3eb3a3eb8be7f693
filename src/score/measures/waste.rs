//! Waste: lines of the handover that the session had no use for.
//!
//! Needs: the text that the session got, and the transcript. Computed: of the lines that name a path or an identifier, the share
//! none of whose names occurs in a later action, request or text of the agent. Does not apply: to sessions that got no text, or
//! if no line names anything. Validated: an unrelated task must be at least 95 % waste.

use crate::score::pair::Pair;
use crate::score::words::names;
use crate::score::{Groups, Measure, Unit};

pub(in crate::score) const MEASURE: Measure = Measure {
    name: "waste",
    title: "lines with names that never occur later",
    unit: Unit::Percent,
    groups: Groups::Apart,
    of,
};

fn of(pair: &Pair) -> Option<f64> {
    if !pair.is_warm() {
        return None;
    }
    let said = pair.after.talk.iter().map(|said| said.text.as_str());
    let done = pair.after.actions.iter().map(|action| action.what.as_str());
    let later = said.chain(done).collect::<Vec<_>>().join("\n").to_lowercase();
    let naming: Vec<_> = pair.page.items().map(names).filter(|names| !names.is_empty()).collect();
    let wasted = naming.iter().filter(|names| !names.iter().any(|name| later.contains(name.as_str()))).count();
    (!naming.is_empty()).then(|| 100.0 * wasted as f64 / naming.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::scripted::{OTHER, edit, pair, read};

    #[test]
    fn an_unrelated_task_is_nearly_all_waste() {
        let page = "## Next\n- Fix parse_span\n\n## Files\n- src/lexer.rs\n- src/unused.rs\n";
        let done = [read("/w/src/lexer.rs", "x"), edit("/w/src/parse_span.rs")];
        assert_eq!(of(&pair(page, &[], &done)).map(f64::round), Some(33.0));
        assert!(of(&pair(OTHER, &[], &done)).unwrap() >= 95.0);
        assert_eq!(of(&pair("## Goal\n- Ship it\n", &[], &done)), None);
    }
}
