//! The requests of a person that are not trivial.

use super::passages::written_parts;
use super::plain::beginning;
use super::{Account, Line, Material, Rule, Speaker, cues};
use crate::transcript::{Utterance, UtteranceKind};

pub(super) const RULE: Rule = Rule { name: "asked", apply };

/// A longer request is cut at a sentence.
const MAX_BYTES: usize = 700;
/// All of them together. The first and the newest are kept.
const MAX_TOTAL_BYTES: usize = 6_000;

fn apply(material: &Material<'_>, account: &mut Account) {
    let Some(transcript) = material.transcript else { return };
    let is_request = |kind| matches!(kind, UtteranceKind::Request | UtteranceKind::SlashCommand);
    let requests: Vec<_> = transcript.talk.iter().filter(|utterance| is_request(utterance.kind)).collect();
    let steers =
        |request: &Utterance| request.kind == UtteranceKind::SlashCommand && cues::is_client_command(&request.text);
    // What says nothing is not the last request: the one before it is.
    let says_something = |text: &str| !cues::is_filler(text) && !cues::is_greeting(text);
    let last = requests.iter().rposition(|request| says_something(&request.text) && !steers(request));
    let mut found: Vec<Line> = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        let is_trivial = steers(request) || cues::is_trivial(&request.text) || cues::is_greeting(&request.text);
        let text = in_own_words(&request.text);
        if text.is_empty() || is_trivial && Some(at) != last {
            continue;
        }
        // Clients record a request again when it is queued or when a session is resumed.
        if found.last().is_none_or(|line| line.text != text) {
            found.push(Line { who: Speaker::Person, turn: request.turn, text });
        }
    }
    account.asked.extend(within_budget(found));
}

/// A request without what was pasted before or after it. If nothing else is left, what was pasted is the request.
fn in_own_words(text: &str) -> String {
    let says_something = |part: &&str| !cues::is_filler(part) && !cues::is_greeting(part);
    let own = written_parts(text).into_iter().find(says_something);
    beginning(own.unwrap_or(text), MAX_BYTES)
}

fn within_budget(mut lines: Vec<Line>) -> Vec<Line> {
    let mut left = MAX_TOTAL_BYTES.saturating_sub(lines.first().map_or(0, |first| first.text.len()));
    let newest = lines.iter().skip(1).rev().take_while(|line| {
        let fits = line.text.len() <= left;
        left = left.saturating_sub(line.text.len());
        fits
    });
    let newest = newest.count();
    let end = lines.len() - newest;
    lines.drain(1.min(end)..end);
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::examples::{letters, material, said, transcript};
    use super::super::plain::plain;
    use super::*;

    fn asked(requests: &[&str]) -> Vec<String> {
        let kind =
            |text: &str| if text.starts_with('/') { UtteranceKind::SlashCommand } else { UtteranceKind::Request };
        let transcript =
            transcript(requests.iter().enumerate().map(|(at, text)| said(at + 1, kind(text), text)).collect());
        let mut account = Account::default();
        apply(&material(&transcript), &mut account);
        account.asked.into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn requests_are_kept_unless_they_are_trivial() {
        for (requests, expected) in [
            (
                &["hi", "fix the parser", "yes", "commit it", "now the lexer", "ok thanks"][..],
                &["fix the parser", "now the lexer"][..],
            ),
            (&["fix the parser", "continue", "push"], &["fix the parser", "push"]),
            (&["fix the parser", "fix the parser"], &["fix the parser"]),
            (&["/clear", "/fix-issue 4711 login loops", "/model opus"], &["/fix-issue 4711 login loops"]),
            (&["why is `it` red?", "yes"], &["why is it red?"]),
            (&["behebe den Parser", "ja"], &["behebe den Parser", "ja"]),
            (&["yes", "", "ok"], &[]),
        ] {
            assert_eq!(asked(requests), expected);
        }
    }

    #[test]
    fn what_was_pasted_is_not_asked() {
        let trace =
            "Traceback (most recent call last):\n  File \"app.py\", line 3, in <module>\nValueError: no such column";
        assert_eq!(asked(&[&format!("hi\n{trace}\n\nwhy does the import fail?")]), ["why does the import fail?"]);
        assert_eq!(asked(&[&format!("the import fails:\n{trace}\nplease")]), ["the import fails:"]);
        assert_eq!(asked(&["ValueError: no such column"]), ["ValueError: no such column"]);
    }

    #[test]
    fn the_first_and_the_newest_fit_the_budget() {
        let long: Vec<String> =
            (0..100).map(|number| format!("request {number} {}. Cut.", "word ".repeat(130))).collect();
        let found = asked(&long.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(found.iter().map(String::len).sum::<usize>() <= MAX_TOTAL_BYTES);
        assert!(
            found.len() > 5 && found[0].starts_with("request 0 ") && found.last().unwrap().starts_with("request 99 ")
        );
    }

    proptest! {
        #[test]
        fn any_text_is_kept_verbatim_and_bounded(texts in proptest::collection::vec("([ \n.?!`*#>-]|yes|fix |[a-zé漢]{1,9}){0,200}", 0..12)) {
            let found = asked(&texts.iter().map(String::as_str).collect::<Vec<_>>());
            prop_assert!(found.iter().map(String::len).sum::<usize>() <= MAX_TOTAL_BYTES);
            for kept in found {
                prop_assert!(kept.len() <= MAX_BYTES && texts.iter().any(|text| letters(&plain(text)).contains(&letters(&kept))));
            }
        }
    }
}
