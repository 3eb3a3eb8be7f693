//! What a person decided, corrected, forbade or chose.
//!
//! | said as | kept |
//! |---|---|
//! | a request with a sentence that rules | the whole message if it is short, otherwise its sentences that rule |
//! | the first request | only a sentence that rules for all time: the rest of it is the task |
//! | a first request that begins with a correction | like any other: it is about earlier work |
//! | a reason for refusing a tool call | the reason |
//! | an answer to a question | the question and the answer |

use super::passages::{Shape, sentences, written};
use super::plain::{beginning, plain};
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
    let mut found: Vec<Line> = Vec::new();
    for (at, utterance) in transcript.talk.iter().enumerate() {
        let texts = match utterance.kind {
            UtteranceKind::Request if Some(at) == first && !cues::is_correction(&utterance.text) => {
                of_first_request(&utterance.text)
            }
            UtteranceKind::Request => of_request(&utterance.text),
            UtteranceKind::Refusal => of_refusal(utterance),
            UtteranceKind::Answer => of_answer(utterance),
            // The title of a plan decides nothing, and what the plan says is the agent's.
            UtteranceKind::ApprovedPlan | UtteranceKind::SlashCommand | UtteranceKind::AgentText => Vec::new(),
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
    use super::super::ruling_examples::{NOT_RULINGS, RULINGS};
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
            ("actually, pandas is fine after all", vec!["actually, pandas is fine after all"]),
            ("pandas is fine after all", vec!["pandas is fine after all"]),
            ("no, use tabs", vec!["no, use tabs"]),
            ("actually, why does it fail?", vec![]),
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
    fn reasons_and_answers_rule_and_plans_do_not() {
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
        assert_eq!(rulings(talk), ["never start docker here", "Which database? → SQLite", "Keep the old flag? → yes"]);
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
