//! Next action taken: whether the session begins with what it was told to do next.
//!
//! Needs: the first next action of the handover, and the transcript. Computed: the share of its paths, identifiers and commands
//! that occur in the first fifteen actions. A command is what stands in backquotes, has several words and no brackets; it occurs if it
//! is run, also with further arguments. Does not apply: if the next action names none, or the session did nothing. Validated:
//! against scripted pairs, and against the same sessions with another pair's handover, which must be near zero.

use std::collections::BTreeSet;

use crate::score::pair::Pair;
use crate::score::words::{is_same_file, names};
use crate::score::{Groups, Measure, Unit};
use crate::search::normalised;
use crate::transcript::ActionKind;

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
    let next = pair.page.next()?;
    let (wanted, commands) = (names(next), commands(next));
    if wanted.len() + commands.len() == 0 || pair.after.actions.is_empty() {
        return None;
    }
    let first = || pair.after.actions.iter().take(FIRST);
    let done: Vec<String> = first().map(|action| action.what.to_lowercase()).collect();
    let ran = first().filter(|action| action.kind == ActionKind::Command);
    let ran: Vec<String> = ran.filter_map(|action| normalised(&action.what)).collect();
    let is_run = |command: &&String| ran.iter().any(|ran| contains_command(ran, command));
    let is_done = |name: &&String| {
        let file = name.split(':').next().unwrap_or_default();
        done.iter().any(|what| what.contains(name.as_str()) || is_same_file(what, file) || what.contains(file))
    };
    let taken = wanted.iter().filter(is_done).count() + commands.iter().filter(is_run).count();
    Some(100.0 * taken as f64 / (wanted.len() + commands.len()) as f64)
}

/// The commands in a sentence. One word in backquotes may be anything, and brackets are those of code.
fn commands(sentence: &str) -> BTreeSet<String> {
    let quoted = sentence.split('`').skip(1).step_by(2);
    let is_command = |quoted: &&str| quoted.split_whitespace().nth(1).is_some() && !quoted.contains(['(', '{', ';']);
    quoted.filter(is_command).filter_map(normalised).collect()
}

/// Whether a command line has these words one after the other.
fn contains_command(line: &str, command: &str) -> bool {
    let (line, command): (Vec<&str>, Vec<&str>) = (line.split(' ').collect(), command.split(' ').collect());
    line.windows(command.len()).any(|words| words == command)
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

    #[test]
    fn a_command_is_taken_if_it_is_run() {
        let page = "## Next\n- Run `make release`, then `cargo test` for `fn it(x)`\n";
        let of = |done: &[&str]| of(&pair(page, &[], &done.iter().map(|line| run(line, "ok")).collect::<Vec<_>>()));
        assert_eq!(of(&["ls", "cd /w && make  release", "RUST_LOG=1 cargo test lexer"]), Some(100.0));
        assert_eq!(of(&["make release-notes", "time cargo test"]), Some(50.0));
        assert_eq!(of(&["make", "cargo build"]), Some(0.0));
        let read_only = [read("/w/make release", "x")];
        assert_eq!(super::of(&pair(page, &[], &read_only)), Some(0.0), "a file is no command");
    }
}
