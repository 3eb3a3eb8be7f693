//! Files: whether the handover names the files that the session needs.
//!
//! Needs: the files that the handover names under Next and Files, and the transcript. Computed: of the named files, the share
//! that the session opened; of the edited files, the share that was named. Does not apply: if none is named, or none is
//! edited. Validated: against scripted pairs, and against a shuffled handover, which must be near zero.

use std::collections::BTreeSet;

use crate::score::pair::{Pair, opened};
use crate::score::words::{is_same_file, paths};
use crate::score::{Measure, Unit};
use crate::transcript::ActionKind;

pub(in crate::score) const OPENED: Measure = Measure {
    name: "files_opened",
    title: "named files that were opened",
    unit: Unit::Percent,
    of: |pair| {
        let all: BTreeSet<String> = pair.after.actions.iter().flat_map(opened).collect();
        share(&named(pair), &all)
    },
};

pub(in crate::score) const NAMED: Measure = Measure {
    name: "files_named",
    title: "edited files that were named",
    unit: Unit::Percent,
    of: |pair| {
        let edits = pair.after.actions.iter().filter(|action| action.kind == ActionKind::Edit);
        let edited: BTreeSet<String> = edits.flat_map(opened).collect();
        let named = named(pair);
        if named.is_empty() { None } else { share(&edited, &named) }
    },
};

fn named(pair: &Pair) -> BTreeSet<String> {
    pair.page.naming_files().flat_map(paths).collect()
}

/// The share of these files that is among others, in percent.
fn share(files: &BTreeSet<String>, among: &BTreeSet<String>) -> Option<f64> {
    let found = files.iter().filter(|file| among.iter().any(|other| is_same_file(file, other))).count();
    (!files.is_empty()).then(|| 100.0 * found as f64 / files.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::scripted::{OTHER, edit, pair, read, run};

    #[test]
    fn named_and_opened_files_are_compared() {
        let page =
            "## Next\n- Fix src/lexer.rs:42\n\n## Files\n- docs/spec.md\n\n## Rulings\n- Leave src/gen.rs alone\n";
        let done =
            [read("/w/src/lexer.rs", "x"), run("cat Cargo.toml", "x"), edit("/w/src/lexer.rs"), edit("/w/src/new.rs")];
        let found = pair(page, &[], &done);
        assert_eq!(((OPENED.of)(&found), (NAMED.of)(&found)), (Some(50.0), Some(50.0)));
        let shuffled = pair(OTHER, &[], &done);
        assert_eq!(((OPENED.of)(&shuffled), (NAMED.of)(&shuffled)), (Some(0.0), Some(0.0)));
        assert_eq!((NAMED.of)(&pair(page, &[], &done[..2])), None);
    }
}
