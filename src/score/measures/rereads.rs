//! Needless re-reads: files that are read again although they are as they were.
//!
//! Needs: both transcripts. Computed: of the files that the session reads and that the earlier one had read, the share whose
//! content is the same, by a digest of what the tool returned. So a file that anybody touched in between does not count,
//! whoever it was. Does not apply: if no file is read in both. Reads by commands such as `cat` are not counted. Validated:
//! against scripted pairs with a touched and an untouched file.

use std::collections::BTreeMap;

use crate::score::pair::Pair;
use crate::score::{Groups, Measure, Unit};
use crate::transcript::{Action, ActionKind, Outcome};

pub(in crate::score) const MEASURE: Measure = Measure {
    name: "needless_rereads",
    title: "files read again without a change",
    unit: Unit::Percent,
    groups: Groups::Apart,
    of,
};

fn of(pair: &Pair) -> Option<f64> {
    let before = reads(&pair.before.as_ref()?.actions);
    let again = reads(&pair.after.actions);
    let both: Vec<(&[&str], &[&str])> =
        again.iter().filter_map(|(path, now)| Some((before.get(path)?.as_slice(), now.as_slice()))).collect();
    let needless = both.iter().filter(|(then, now)| now.iter().all(|content| then.contains(content))).count();
    (!both.is_empty()).then(|| 100.0 * needless as f64 / both.len() as f64)
}

/// The contents that were read of each file.
fn reads(actions: &[Action]) -> BTreeMap<&str, Vec<&str>> {
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for action in actions.iter().filter(|action| action.kind == ActionKind::Read && action.outcome == Outcome::Passed) {
        found.entry(&action.what).or_default().push(&action.content);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::scripted::{pair, read};

    #[test]
    fn only_what_is_as_it_was_is_read_needlessly() {
        let before = [read("a.rs", "one"), read("b.rs", "two")];
        assert_eq!(of(&pair("", &before, &[read("a.rs", "one"), read("b.rs", "touched")])), Some(50.0));
        assert_eq!(of(&pair("", &before, &[read("b.rs", "touched")])), Some(0.0));
        assert_eq!(of(&pair("", &before, &[read("c.rs", "three")])), None);
    }
}
