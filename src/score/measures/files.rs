//! Files: whether the handover names the files that the session needs.
//!
//! Needs: the files that the handover names under Next and Files, and the transcript. Computed: of the named files, the share
//! that the session opened; of the edited files, the share that was named, without those that the earlier session left
//! uncommitted: `git status` shows them to anybody. Does not apply: if none is named, or none is edited. Validated: against
//! scripted pairs, and against a shuffled handover, which must be near zero.

use std::collections::BTreeSet;

use crate::score::pair::{Pair, opened};
use crate::score::words::{is_same_file, paths};
use crate::score::{Groups, Measure, Unit};
use crate::transcript::ActionKind;

pub(in crate::score) const OPENED: Measure = Measure {
    name: "files_opened",
    title: "named files that were opened",
    unit: Unit::Percent,
    groups: Groups::Apart,
    of: |pair| {
        let all: BTreeSet<String> = pair.after.actions.iter().flat_map(opened).collect();
        share(&named(pair), &all)
    },
};

pub(in crate::score) const NAMED: Measure = Measure {
    name: "files_named",
    title: "edited files that were named",
    unit: Unit::Percent,
    groups: Groups::Apart,
    of: |pair| {
        let edits = pair.after.actions.iter().filter(|action| action.kind == ActionKind::Edit);
        let shown = pair.uncommitted();
        let is_shown = |path: &String| shown.iter().any(|other| is_same_file(path, other));
        let edited: BTreeSet<String> = edits.flat_map(opened).filter(|path| !is_shown(path)).collect();
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
    use crate::score::scripted::{OTHER, edit, ended, pair, read, run};
    use crate::transcript::{RanCommand, TurnWork};

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

    #[test]
    fn what_git_status_shows_does_not_count_as_named() {
        let done = [edit("/w/src/lexer.rs"), edit("/w/src/token.rs")];
        let mut found = pair("## Files\n- src/lexer.rs\n", &[], &done);
        let work = |turn| TurnWork { turn, edited: vec!["/w/src/lexer.rs".to_owned()], ..TurnWork::default() };
        let before = found.before.get_or_insert_default();
        before.work = vec![work(1)];
        assert_eq!((NAMED.of)(&found), Some(0.0), "only the other file counts");
        let before = found.before.get_or_insert_default();
        before.ran = vec![RanCommand { turn: 2, ..ended("git commit -qam x", "") }];
        assert_eq!((NAMED.of)(&found), Some(50.0), "it was committed");
    }
}
