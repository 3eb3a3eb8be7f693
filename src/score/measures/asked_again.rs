//! Asked again: whether a person has to repeat what an earlier session was asked.
//!
//! Needs: what people said in both sessions. Computed: 100 if one of the first three requests repeats a request of the earlier
//! session, else 0. A request repeats another if the words that they have in common are at least three fifths of all their words;
//! names of things count twice, and words that say little not at all. Does not apply: if either session has no request with four
//! words that count. Validated: against requests that repeat, rephrase and continue, and requests of another task.

use crate::score::pair::Pair;
use crate::score::words::{Weighed, in_common};
use crate::score::{Groups, Measure, Unit};
use crate::transcript::{Transcript, UtteranceKind};

/// How many requests are early.
const EARLY: usize = 3;
/// How many words a request must have: `go on` repeats nothing.
const FEWEST: usize = 4;
/// The share of their words that two requests must have in common.
const LEAST: f64 = 0.6;

pub(in crate::score) const MEASURE: Measure = Measure {
    name: "asked_again",
    title: "sessions that begin with a request of the session before",
    unit: Unit::Percent,
    groups: Groups::Apart,
    of,
};

fn of(pair: &Pair) -> Option<f64> {
    let before = requests(pair.before.as_ref()?, usize::MAX);
    let early = requests(&pair.after, EARLY);
    let is_repeated = early.iter().any(|new| before.iter().any(|old| in_common(new, old) >= LEAST));
    (!before.is_empty() && !early.is_empty()).then_some(if is_repeated { 100.0 } else { 0.0 })
}

fn requests(session: &Transcript, most: usize) -> Vec<Weighed> {
    let requests = session.talk.iter().filter(|said| said.kind == UtteranceKind::Request).take(most);
    requests.map(|said| Weighed::of(&said.text)).filter(|words| words.len() >= FEWEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::scripted::{pair, talk};

    fn figure(before: &[&str], after: &[&str]) -> Option<f64> {
        let mut found = pair("", &[], &[]);
        found.before = Some(talk(before));
        found.after = talk(after);
        of(&found)
    }

    #[test]
    fn only_a_request_that_says_the_same_is_asked_again() {
        let asked = ["Make the lexer report byte ranges for each token", "go on"];
        assert_eq!(figure(&asked, &["hi", "please make the lexer report byte ranges of every token"]), Some(100.0));
        assert_eq!(figure(&asked, &["Now give the parser an error type with a source position"]), Some(0.0));
        assert_eq!(figure(&asked, &["Add tests for the byte ranges that the lexer has now"]), Some(0.0));
        assert_eq!(figure(&asked, &["go on"]), None, "too short to repeat anything");
        let other = "Rename the crate, bump its version, publish the changelog";
        let late = [other, other, other, asked[0]];
        assert_eq!(figure(&asked, &late), Some(0.0), "only early requests count");
    }
}
