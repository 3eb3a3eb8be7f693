//! What the agent concluded: the last text of each of its turns.

use super::plain::{outline, sentences};
use super::sentences::is_announcement;
use super::{Account, Line, Material, Rule, Speaker, cues};
use crate::transcript::{Transcript, Utterance, UtteranceKind};

pub(crate) const RULE: Rule = Rule { name: "conclusions", apply: keep_conclusions };

/// The last message of a session is kept longer than those of earlier turns.
const MAX_LAST_BYTES: usize = 2_500;
const MAX_BYTES: usize = 420;
/// All of them together. The newest are kept.
const MAX_TOTAL_BYTES: usize = 8_000;

fn keep_conclusions(material: &Material<'_>, account: &mut Account) {
    let Some(transcript) = material.transcript else { return };
    let texts = last_texts(transcript);
    let mut room = MAX_TOTAL_BYTES;
    for (age, utterance) in texts.iter().rev().enumerate() {
        // A turn that ends so was interrupted. What the session was doing at its very end is worth knowing.
        let says_nothing =
            |sentence: &String| is_announcement(sentence) || cues::is_greeting(sentence) || cues::is_filler(sentence);
        if age > 0 && sentences(&utterance.text).iter().all(says_nothing) {
            continue;
        }
        let text = outline(&utterance.text, if age == 0 { MAX_LAST_BYTES } else { MAX_BYTES });
        if text.is_empty() {
            continue;
        }
        let Some(left) = room.checked_sub(text.len()) else { break };
        room = left;
        account.conclusions.push(Line { who: Speaker::Agent, turn: utterance.turn, text });
    }
    account.conclusions.reverse();
}

/// The last text of the agent in each turn, oldest first.
pub(super) fn last_texts(transcript: &Transcript) -> Vec<&Utterance> {
    let mut found: Vec<&Utterance> = Vec::new();
    for utterance in transcript.talk.iter().filter(|utterance| utterance.kind == UtteranceKind::AgentText) {
        match found.last_mut().filter(|last| last.turn == utterance.turn) {
            Some(last) => *last = utterance,
            None => found.push(utterance),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::examples::letters;
    use super::super::plain::plain;
    use super::*;

    fn conclusions(talk: &[(usize, UtteranceKind, &str)]) -> Vec<Line> {
        let say = |(turn, kind, text): &(usize, UtteranceKind, &str)| Utterance {
            turn: *turn,
            kind: *kind,
            text: (*text).to_owned(),
            about: String::new(),
            at: None,
        };
        let transcript = Transcript { talk: talk.iter().map(say).collect(), ..Transcript::default() };
        let material = Material { transcript: Some(&transcript), note: "", state: "", has_changes: true };
        let mut account = Account::default();
        keep_conclusions(&material, &mut account);
        account.conclusions
    }

    fn line(turn: usize, text: &str) -> Line {
        Line { who: Speaker::Agent, turn, text: text.to_owned() }
    }

    #[test]
    fn the_last_text_of_each_turn_is_kept_in_order() {
        use UtteranceKind::{AgentText, Request};
        let talk = [
            (1, AgentText, "Hello! How are you today?"),
            (2, Request, "fix the parser"),
            (2, AgentText, "Looking at it."),
            (2, AgentText, "**Fixed**: the parser keeps spans."),
            (3, Request, "never log it"),
            (3, AgentText, "OK."),
            (4, Request, "and the docs"),
            (4, AgentText, "cli.py:42 still prints; next: stream to disk"),
        ];
        let expected =
            [line(2, "Fixed: the parser keeps spans."), line(4, "cli.py:42 still prints; next: stream to disk")];
        assert_eq!(conclusions(&talk), expected);
    }

    #[test]
    fn an_interrupted_turn_concludes_nothing_unless_it_is_the_last() {
        use UtteranceKind::{AgentText, Request};
        let talk =
            [(1, AgentText, "Now let me run the tests."), (2, Request, "stop"), (2, AgentText, "Let me undo that.")];
        assert_eq!(conclusions(&talk), [line(2, "Let me undo that.")]);
    }

    #[test]
    fn people_and_plans_conclude_nothing() {
        use UtteranceKind::{Answer, ApprovedPlan, Refusal, Request, SlashCommand};
        let kinds = [Request, SlashCommand, Refusal, Answer, ApprovedPlan];
        let talk: Vec<_> =
            kinds.iter().enumerate().map(|(turn, kind)| (turn + 1, *kind, "all of it is done")).collect();
        assert_eq!(conclusions(&talk), []);
    }

    #[test]
    fn earlier_ones_are_cut_at_a_sentence_and_the_newest_stay() {
        let long = "This sentence is repeated until there is too much. ".repeat(100);
        let talk: Vec<_> = (1..=60).map(|turn| (turn, UtteranceKind::AgentText, long.as_str())).collect();
        let found = conclusions(&talk);
        assert!(found.iter().all(|line| line.text.ends_with("too much.")));
        assert!(found[..found.len() - 1].iter().all(|line| line.text.len() <= MAX_BYTES));
        let last = found.last().unwrap();
        assert!(last.turn == 60 && last.text.len() > MAX_BYTES && last.text.len() <= MAX_LAST_BYTES);
        let turns: Vec<usize> = found.iter().map(|line| line.turn).collect();
        assert_eq!(turns, (61 - found.len()..=60).collect::<Vec<_>>());
    }

    proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

        #[test]
        fn any_talk_gives_bounded_verbatim_lines(texts in prop::collection::vec("(\\PC{1,30}[\n .]){0,40}", 0..40)) {
            let talk: Vec<_> = texts.iter().zip(1..).map(|(text, turn)| (turn, UtteranceKind::AgentText, text.as_str())).collect();
            let found = conclusions(&talk);
            prop_assert!(found.iter().map(|line| line.text.len()).sum::<usize>() <= MAX_TOTAL_BYTES);
            prop_assert!(found.iter().all(|line| letters(&plain(&texts[line.turn - 1])).starts_with(&letters(&line.text))));
            prop_assert_eq!(&found, &conclusions(&talk));
        }
    }
}
