//! What a person decided, corrected, forbade or chose.
//!
//! | said as | kept |
//! |---|---|
//! | a request with a sentence that rules | the whole message if it is short, otherwise its sentences that rule |
//! | the first request | only a sentence that rules for all time: the rest of it is the task |
//! | a reason for refusing a tool call | the reason |
//! | an answer to a question | the question and the answer |
//! | an approved plan | its title |

use super::passages::{Shape, beginning, plain, sentences, written};
use super::{Account, Line, Material, Rule, Speaker, cues, goal};
use crate::transcript::{Transcript, Utterance, UtteranceKind};

pub(super) const RULE: Rule = Rule { name: "rulings", apply };

/// A longer message is not kept as a whole.
const MAX_BYTES: usize = 450;
/// The most of a question that stands before its answer.
const MAX_QUESTION_BYTES: usize = 200;
/// The newest are kept.
const MAX_RULINGS: usize = 40;
/// A longer first request is not looked through: it is a document.
const MAX_FIRST_REQUEST_BYTES: usize = 2_000;

fn apply(material: &Material<'_>, account: &mut Account) {
    let Some(transcript) = material.transcript else { return };
    let first = first_request(transcript);
    let goal = account.goal.as_ref().map(|goal| goal.text.clone()).unwrap_or_default();
    let mut found: Vec<Line> = Vec::new();
    for (at, utterance) in transcript.talk.iter().enumerate() {
        let texts = match utterance.kind {
            UtteranceKind::Request if Some(at) == first => of_first_request(&utterance.text),
            UtteranceKind::Request => of_request(&utterance.text),
            UtteranceKind::Refusal => of_refusal(utterance),
            UtteranceKind::Answer => of_answer(utterance),
            UtteranceKind::ApprovedPlan => {
                goal::plan_title(&utterance.text).into_iter().filter(|title| *title != goal).collect()
            }
            UtteranceKind::SlashCommand | UtteranceKind::AgentText => Vec::new(),
        };
        for text in texts {
            // A ruling that is repeated counts where it was said last.
            found.retain(|line| !line.text.eq_ignore_ascii_case(&text));
            if !text.is_empty() {
                found.push(Line { who: Speaker::Person, turn: utterance.turn, text });
            }
        }
        found.drain(..found.len().saturating_sub(MAX_RULINGS));
    }
    account.rulings.extend(found);
}

/// The first request that is more than a greeting.
fn first_request(transcript: &Transcript) -> Option<usize> {
    transcript.talk.iter().position(|utterance| {
        matches!(utterance.kind, UtteranceKind::Request | UtteranceKind::SlashCommand)
            && !cues::is_greeting(&utterance.text)
            && !(utterance.kind == UtteranceKind::SlashCommand && cues::is_client_command(&utterance.text))
    })
}

fn of_first_request(text: &str) -> Vec<String> {
    if text.len() > MAX_FIRST_REQUEST_BYTES || goal::pasted_plan(text).is_some() {
        return Vec::new();
    }
    chosen_sentences(text, cues::is_standing)
}

/// Whether a request rules and asks for nothing else.
pub(super) fn is_ruling(text: &str) -> bool {
    let passages = written(text);
    let said: Vec<&str> = passages.iter().flat_map(|passage| sentences(&passage.text)).collect();
    said.iter().any(|sentence| cues::is_ruling(sentence))
        && said.iter().all(|sentence| cues::is_ruling(sentence) || cues::is_filler(sentence))
}

fn of_request(text: &str) -> Vec<String> {
    let found = chosen_sentences(text, cues::is_ruling);
    let whole = plain(text);
    if !found.is_empty() && whole.len() <= MAX_BYTES { vec![whole] } else { found }
}

/// The sentences of a text that a cue accepts. Neighbours stay together.
fn chosen_sentences(text: &str, accepts: fn(&str) -> bool) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for passage in written(text) {
        if passage.shape == Shape::Heading {
            continue;
        }
        let mut follows_chosen = false;
        for sentence in sentences(&passage.text) {
            let is_chosen = accepts(sentence);
            if is_chosen {
                let kept = beginning(sentence, MAX_BYTES);
                match found.last_mut().filter(|last| follows_chosen && last.len() + kept.len() < MAX_BYTES) {
                    Some(last) => {
                        last.push(' ');
                        last.push_str(&kept);
                    }
                    None => found.push(kept),
                }
            }
            follows_chosen = is_chosen;
        }
    }
    found
}

/// Every reason counts, unless it is a question.
fn of_refusal(refusal: &Utterance) -> Vec<String> {
    let passages = written(&refusal.text);
    let mut said = passages.iter().flat_map(|passage| sentences(&passage.text));
    let rules =
        said.any(|sentence| !cues::is_question(sentence) && !cues::is_filler(sentence) && !cues::is_greeting(sentence));
    if rules { vec![beginning(&refusal.text, MAX_BYTES)] } else { Vec::new() }
}

/// An answer means nothing without its question.
fn of_answer(answer: &Utterance) -> Vec<String> {
    let said = beginning(&answer.text, MAX_BYTES);
    let question = beginning(&answer.about, MAX_QUESTION_BYTES);
    match (said.is_empty(), question.is_empty()) {
        (true, _) => Vec::new(),
        (false, false) => vec![format!("{question} → {said}")],
        (false, true) if cues::is_anaphor(&said) => Vec::new(),
        (false, true) => vec![said],
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::examples::{letters, material, said, transcript};
    use super::*;

    fn rulings(talk: Vec<Utterance>) -> Vec<String> {
        let transcript = transcript(talk);
        let mut account = Account::default();
        apply(&material(&transcript), &mut account);
        account.rulings.into_iter().map(|line| line.text).collect()
    }

    fn is_taken(text: &str) -> bool {
        let talk = vec![said(1, UtteranceKind::Request, "fix the parser"), said(2, UtteranceKind::Request, text)];
        !rulings(talk).is_empty()
    }

    const RULINGS: &[&str] = &[
        "no, use csv not pandas",
        "never commit data/private",
        "let's keep the old flag",
        "I'd prefer tabs",
        "thinking again, drop the cache",
        "don't touch the migrations",
        "Do not add new dependencies.",
        "please don't reformat files you did not change",
        "from now on run the linter before you commit",
        "always pin the toolchain in CI",
        "we decided to stay on Python 3.9",
        "decision: SQLite, not Postgres",
        "Decided: errors go to stderr",
        "actually, keep both endpoints until March",
        "actually let's not cache this",
        "I changed my mind, make it opt-in",
        "use the existing helper instead of writing a new one",
        "put it in src/util rather than in lib",
        "that's wrong, the limit is in bytes",
        "that is not what I asked for, I want the raw value",
        "this is not correct: the header comes first",
        "you edited the wrong file, it is config/prod.toml",
        "all endpoints must return JSON",
        "you must not log tokens",
        "The parser should never panic on user input",
        "secrets should not be in the repo",
        "only via the queue please, not directly",
        "no need to support Windows",
        "let's use uuid v7",
        "lets not rename the column",
        "let's go with option B",
        "option 2, but without the retry",
        "I'd rather have two small functions",
        "we prefer explicit imports",
        "unwrap is banned in src/",
        "no new dependencies please",
        "stop adding comments to every line",
        "leave the tests alone",
        "ask me before you push",
        "just use a dict",
        "I don't want a config file for this",
        "we never squash on this repo",
        "I don't think we need the extra table, the group names match",
        "Great work so far. But please never force-push to shared branches.",
        "going forward every change needs a changelog line",
        "No, that's the old API. Use v2.",
        "scratch that, go back to the first layout",
        "avoid global state here",
        "could you use a context manager instead?",
        "ok, fine, let's do vite",
        "we're sticking with Redux for now",
        "revert that, the old order was right",
        "you don't need to mock the clock",
        "on second thought the flag should stay",
        "Don’t use `unwrap` here",
    ];

    const NOT_RULINGS: &[&str] = &[
        "should we never retry on 404?",
        "why does it always fail on CI",
        "why is it always the second test?",
        "I don't know what the flag does",
        "don't know, you tell me",
        "actually thanks, that works",
        "do not worry about the typo above",
        "is it wrong?",
        "the test is wrong about the order?",
        "is the test wrong or the code",
        "what's wrong with the build?",
        "something is wrong with my setup",
        "something went wrong in the deploy job",
        "it must be a caching issue",
        "that must have been the proxy",
        "TypeError: path must be a string",
        "ValueError: you must not pass None here",
        "I get this:\n```\nerror: never use eval\n```",
        "> never commit data/private\nwho wrote this",
        "the error says \"must be a string\"",
        "the linter says you should not use var",
        "the docs say never to call it twice",
        "eslint complains that hooks must be called in order",
        "it never finishes on my machine",
        "it always prints the banner twice",
        "the job never started",
        "we never saw that error before",
        "I never said it was fast",
        "it shows 3 instead of 4",
        "I get an empty list instead of an error",
        "why do we use a map instead of a list?",
        "what do you prefer?",
        "which one would you prefer, tabs or spaces",
        "do you prefer the first option?",
        "never mind",
        "nevermind, found it",
        "don't we have a helper for that?",
        "don't you think the name is odd?",
        "do not you see the same output?",
        "I don't understand the second step",
        "I don't think so",
        "I don't see the button",
        "I don't remember the name of the flag",
        "can you check why the cache is not used?",
        "should it only run on main?",
        "must I restart the server?",
        "does this only work on linux?",
        "is there a reason to prefer this over a lock?",
        "have you decided on a name?",
        "what have we decided about the port?",
        "I wonder if we should not cache at all",
        "not sure if we should always rebuild",
        "maybe we should not do that",
        "the server actually responds now",
        "it actually works",
        "run the tests again and show me the output",
        "commit and push",
        "let's see",
        "let's continue",
        "let's run the tests",
        "let's fix the failing test next",
        "keep going",
        "no idea, look at the log",
        "no problem, take your time",
        "no, it still fails",
        "No, the build is still red",
        "2026-01-02 10:11:12 ERROR worker must restart",
        "    if never: return always",
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in main\nAssertionError: must not be empty",
        "what does `never` mean as a type",
        "explain what \"do not merge\" labels do",
        "the flag --no-verify does not work",
        "add a test for the case that must be rejected",
        "write a doc comment that says when the cache is never filled",
        "I must admit that looks good",
        "shouldn't be a problem",
        "that shouldn't take long",
        "there was no need for it yesterday, was there?",
        "correct me if I'm wrong, the lock is per process",
        "how do I prefer IPv4 in curl",
        "as always, great work",
        "I always wondered how this works",
        "it doesn't matter which one",
        "the wrong line is highlighted in the editor, can you look?",
        "you should see the banner on the page now",
        "why did you use sed instead of the edit tool?",
    ];

    #[test]
    fn rulings_are_taken() {
        let missed: Vec<&&str> = RULINGS.iter().filter(|text| !is_taken(text)).collect();
        assert!(RULINGS.len() >= 40 && missed.len() * 20 <= RULINGS.len(), "{missed:#?}");
    }

    /// At most one in ten ordinary messages with the words of rulings is taken for one.
    #[test]
    fn ordinary_messages_with_cue_words_are_not_taken() {
        let taken: Vec<&&str> = NOT_RULINGS.iter().filter(|text| is_taken(text)).collect();
        assert!(NOT_RULINGS.len() >= 60 && taken.len() * 10 <= NOT_RULINGS.len(), "{taken:#?}");
    }

    #[test]
    fn the_first_request_is_the_task() {
        for (text, expected) in [
            ("don't use pandas in the importer", vec![]),
            (
                "Write the importer. Never commit data/private. Use csv instead of pandas.",
                vec!["Never commit data/private."],
            ),
            ("From now on reply in English. Fix the parser", vec!["From now on reply in English."]),
            ("Implement the following plan:\n\n# A\n\nNever do b.", vec![]),
        ] {
            assert_eq!(
                rulings(vec![said(1, UtteranceKind::Request, "hi"), said(2, UtteranceKind::Request, text)]),
                expected
            );
        }
    }

    #[test]
    fn a_long_message_is_kept_by_its_sentences() {
        let chatter = "The numbers of last week look plausible to me. ".repeat(12);
        let text = format!("{chatter}Never round them. Don't sort them either. {chatter}We decided to keep cents.");
        let talk = vec![said(1, UtteranceKind::Request, "sum it up"), said(2, UtteranceKind::Request, &text)];
        assert_eq!(rulings(talk), ["Never round them. Don't sort them either.", "We decided to keep cents."]);
    }

    #[test]
    fn reasons_answers_and_plans_rule() {
        let about = |utterance: Utterance, about: &str| Utterance { about: about.to_owned(), ..utterance };
        let talk = vec![
            said(1, UtteranceKind::Request, "set up the database"),
            about(said(1, UtteranceKind::Refusal, "never start docker here"), "docker compose up"),
            about(said(1, UtteranceKind::Refusal, "why docker?"), "docker compose up"),
            about(said(1, UtteranceKind::Refusal, "no"), "docker compose up"),
            about(said(1, UtteranceKind::Answer, "SQLite"), "Which database?"),
            about(said(1, UtteranceKind::Answer, "yes"), "Keep the old flag?"),
            said(1, UtteranceKind::Answer, "yes"),
            said(2, UtteranceKind::ApprovedPlan, "# Plan: SQLite behind a trait\n\n1. trait"),
            said(3, UtteranceKind::AgentText, "I decided to never use docker."),
        ];
        assert_eq!(
            rulings(talk),
            [
                "never start docker here",
                "Which database? → SQLite",
                "Keep the old flag? → yes",
                "SQLite behind a trait"
            ]
        );
    }

    #[test]
    fn a_ruling_is_kept_once_and_the_newest_stay() {
        let mut talk = vec![said(1, UtteranceKind::Request, "fix it all")];
        talk.extend(
            (0..60).map(|number| said(number + 2, UtteranceKind::Request, &format!("never use port {number}"))),
        );
        talk.push(said(99, UtteranceKind::Request, "Never use port 30"));
        let found = rulings(talk);
        assert_eq!((found.len(), found[0].as_str()), (MAX_RULINGS, "never use port 20"));
        assert_eq!(found.iter().filter(|text| text.eq_ignore_ascii_case("never use port 30")).count(), 1);
    }

    proptest! {
        #[test]
        fn any_text_is_kept_verbatim_and_bounded(
            text in "([ \n\t.,;:!?`\"*#>-]|never |don't |use |no, |not |instead |[a-zé漢]{1,9}){0,60}",
            kind in proptest::sample::select(vec![UtteranceKind::Request, UtteranceKind::Refusal, UtteranceKind::Answer]),
        ) {
            for kept in rulings(vec![said(1, UtteranceKind::Request, "fix x"), said(2, kind, &text)]) {
                prop_assert!(kept.len() <= MAX_BYTES && letters(&plain(&text)).contains(&letters(&kept)), "{kept}");
            }
        }
    }

    #[test]
    fn hostile_text_is_looked_through_in_one_go() {
        for part in ["never ", "no, ", "don't; ", "`", "\"“", "and so but ", "```\n", "- ", ".!? ", "use x not "] {
            is_taken(&part.repeat(4_000));
        }
    }
}
