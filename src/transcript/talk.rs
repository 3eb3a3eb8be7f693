//! What people and the agent say while a transcript is read: all of it within one budget.
//!
//! A long session says more than the budget holds. The agent's texts between two tool calls are dropped first, oldest first,
//! because the last text of a turn says what came out of them. Then long texts are shortened. A person's words stay longest.

use chrono::{DateTime, FixedOffset};

use super::{Utterance, UtteranceKind};
use crate::base::text;

/// How many bytes are held unless a reader asks for more.
pub(super) const MAX_TALK: usize = 400 << 10;
/// What an utterance costs besides its texts. Bounds the number of short ones.
const COST: usize = 64;
/// How long an utterance may be, in bytes.
pub(super) const MAX_UTTERANCE: usize = 8 << 10;
/// How long one may be after it was shortened.
const SHORTENED: usize = 1 << 10;
const MAX_ABOUT: usize = 1 << 10;

pub(super) struct Talk {
    said: Vec<Utterance>,
    /// The present turn. 0 before anything happened.
    turn: usize,
    size: usize,
    /// How many bytes are held, with the cost of each utterance.
    room: usize,
    /// The time of the record that is read.
    now: Option<DateTime<FixedOffset>>,
}

impl Default for Talk {
    fn default() -> Talk {
        Talk { said: Vec::new(), turn: 0, size: 0, room: MAX_TALK, now: None }
    }
}

impl Talk {
    /// Holds more than usual, for a reader that keeps all of it elsewhere.
    pub(super) fn hold(&mut self, room: usize) {
        self.room = room;
    }

    /// What is said from now on was recorded at this time.
    pub(super) fn at(&mut self, now: DateTime<FixedOffset>) {
        self.now = Some(now);
    }

    /// How many utterances are held.
    pub(super) fn len(&self) -> usize {
        self.said.len()
    }

    /// Where dropping stops, so that it happens rarely.
    fn enough(&self) -> usize {
        self.room / 4 * 3
    }

    /// Begins a turn with a person's request.
    pub(super) fn request(&mut self, kind: UtteranceKind, text: &str) {
        self.turn += 1;
        self.say(kind, text, "");
    }

    /// How many turns have begun.
    pub(super) fn turns(&self) -> usize {
        self.turn
    }

    /// Takes back every turn after this one.
    pub(super) fn rewind(&mut self, turn: usize) {
        self.turn = self.turn.min(turn);
        self.said.retain(|said| said.turn <= turn);
        self.size = self.said.iter().map(size).sum();
    }

    /// The last request that is held; empty if there is none.
    pub(super) fn last_request(&self) -> &str {
        let is_request = |said: &&Utterance| matches!(said.kind, UtteranceKind::Request | UtteranceKind::SlashCommand);
        self.said.iter().rev().find(is_request).map_or("", |said| said.text.as_str())
    }

    /// The number of the present turn. Whatever happens before the first request belongs to a turn that began earlier.
    pub(super) fn turn(&mut self) -> usize {
        self.turn = self.turn.max(1);
        self.turn
    }

    pub(super) fn say(&mut self, kind: UtteranceKind, text: &str, about: &str) {
        let (text, about) = (cut_at_sentence(text.trim(), MAX_UTTERANCE), cut_at_sentence(about.trim(), MAX_ABOUT));
        let turn = self.turn();
        // Clients record a text more than once: each part of a message repeats the ones before it.
        let is_repeated = self
            .said
            .last()
            .is_some_and(|last| last.turn == turn && last.kind == kind && last.text == text && last.about == about);
        if text.is_empty() || is_repeated {
            return;
        }
        let said = Utterance { turn, kind, text: text.to_owned(), about: about.to_owned(), at: self.now };
        self.size += size(&said);
        self.said.push(said);
        if self.size > self.room {
            self.shrink();
        }
    }

    pub(super) fn finish(self) -> Vec<Utterance> {
        self.said
    }

    fn shrink(&mut self) {
        self.drop_where(|said, number| is_agents(&said[number]) && !is_last_of_turn(said, number));
        self.shorten_where(is_agents);
        self.shorten_where(|_| true);
        self.drop_where(|said, number| is_agents(&said[number]));
        self.drop_where(|_, _| true);
    }

    /// Drops utterances, oldest first, until there is room. The first and the last one stay: the goal and the present.
    fn drop_where(&mut self, may_go: impl Fn(&[Utterance], usize) -> bool) {
        let last = self.said.len().saturating_sub(1);
        let (mut size_left, enough) = (self.size, self.enough());
        let goes: Vec<bool> = (0..self.said.len())
            .map(|number| {
                let goes = size_left > enough && number > 0 && number < last && may_go(&self.said, number);
                size_left -= if goes { size(&self.said[number]) } else { 0 };
                goes
            })
            .collect();
        self.size = size_left;
        let mut goes = goes.into_iter();
        self.said.retain(|_| !goes.next().unwrap_or_default());
    }

    fn shorten_where(&mut self, may_shrink: impl Fn(&Utterance) -> bool) {
        let (last, enough) = (self.said.len().saturating_sub(1), self.enough());
        for said in self.said[..last].iter_mut().skip(1) {
            if self.size <= enough {
                break;
            }
            if may_shrink(said) && said.text.len() > SHORTENED {
                let before = said.text.len();
                said.text = cut_at_sentence(&said.text, SHORTENED).to_owned();
                self.size -= before - said.text.len();
            }
        }
    }
}

fn size(said: &Utterance) -> usize {
    said.text.len() + said.about.len() + COST
}

fn is_agents(said: &Utterance) -> bool {
    said.kind == UtteranceKind::AgentText
}

/// Whether the agent says nothing more in this turn.
fn is_last_of_turn(said: &[Utterance], number: usize) -> bool {
    let turn = said[number].turn;
    !said[number + 1..].iter().take_while(|later| later.turn == turn).any(is_agents)
}

/// The beginning of a text, at most `max` bytes, up to the end of a line or sentence, or else of a word: half a secret would
/// no longer be recognised as one.
pub(super) fn cut_at_sentence(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let kept = text::cut(text, max);
    let ends = [kept.rfind('\n'), kept.rfind(". ").map(|at| at + 1), kept.rfind('。').map(|at| at + '。'.len_utf8())];
    let sentence = ends.into_iter().flatten().max().filter(|end| *end > max / 2);
    let word = || kept.rfind(char::is_whitespace);
    // Some languages have no spaces, but their secrets are ASCII.
    let other = || kept.char_indices().rfind(|(_, c)| !c.is_ascii()).map(|(at, c)| at + c.len_utf8());
    kept[..sentence.or_else(word).or_else(other).unwrap_or(0)].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(talk: &Talk) -> impl Iterator<Item = (&str, UtteranceKind)> {
        talk.said.iter().map(|said| (said.text.as_str(), said.kind))
    }

    #[test]
    fn a_request_begins_a_turn() {
        let mut talk = Talk::default();
        talk.say(UtteranceKind::AgentText, "still at it", "");
        talk.request(UtteranceKind::Request, "now this");
        talk.say(UtteranceKind::AgentText, "done", "");
        talk.say(UtteranceKind::AgentText, "done", "");
        talk.say(UtteranceKind::Refusal, "no", "rm -rf x");
        let found: Vec<(usize, &str)> = talk.said.iter().map(|said| (said.turn, said.text.as_str())).collect();
        assert_eq!(found, [(1, "still at it"), (2, "now this"), (2, "done"), (2, "no")]);
    }

    #[test]
    fn what_the_agent_says_on_the_way_goes_first() {
        let mut talk = Talk::default();
        for turn in 0..40 {
            talk.request(UtteranceKind::Request, &format!("request {turn}"));
            for step in 0..30 {
                talk.say(UtteranceKind::AgentText, &format!("step {turn}.{step} {}", "and so on ".repeat(60)), "");
            }
            talk.say(UtteranceKind::AgentText, &format!("conclusion {turn}"), "");
        }
        assert!(talk.size <= MAX_TALK);
        let sum: usize = talk.said.iter().map(size).sum();
        assert_eq!(sum, talk.size);
        for turn in 0..40 {
            assert!(texts(&talk).any(|(text, _)| text == format!("request {turn}")), "{turn}");
            assert!(texts(&talk).any(|(text, _)| text == format!("conclusion {turn}")), "{turn}");
        }
        assert!(texts(&talk).any(|(text, _)| text.starts_with("step 39.29")), "the newest stay");
        assert!(!texts(&talk).any(|(text, _)| text.starts_with("step 0.")), "the oldest go");
    }

    #[test]
    fn a_persons_words_stay_longest() {
        let mut talk = Talk::default();
        for turn in 0..200 {
            talk.request(UtteranceKind::Request, &format!("request {turn}. {}", "word ".repeat(1_000)));
            talk.say(UtteranceKind::AgentText, &format!("conclusion {turn}. {}", "word ".repeat(1_000)), "");
        }
        assert!(talk.size <= MAX_TALK);
        let requests = texts(&talk).filter(|(_, kind)| *kind == UtteranceKind::Request).count();
        assert_eq!(requests, 200);
        assert!(talk.said[0].text.len() > 4_000, "the first request is whole");
        assert!(talk.said.last().unwrap().text.starts_with("conclusion 199"));
    }

    #[test]
    fn any_number_of_words_is_bounded() {
        let mut talk = Talk::default();
        for number in 0..100_000 {
            talk.request(UtteranceKind::Request, &format!("{number}"));
        }
        assert!(talk.size <= MAX_TALK && talk.said.len() <= MAX_TALK / COST);
        assert_eq!(talk.said[0].text, "0");
        assert_eq!(talk.said.last().map(|said| said.turn), Some(100_000));
    }

    #[test]
    fn a_text_is_cut_where_a_sentence_ends_and_never_within_a_word() {
        for (text, max, expected) in [
            ("One. Two. Three", 12, "One. Two."),
            ("first line\nsecond line", 15, "first line"),
            ("aaaa bbbb cccc", 12, "aaaa bbbb"),
            ("aaaabbbbcccc", 8, ""),
            ("知らない。そうです。はい", 30, "知らない。そうです。"),
            ("知らないtoken-abcdef", 20, "知らない"),
            ("short", 5, "short"),
        ] {
            assert_eq!(cut_at_sentence(text, max), expected, "{text}");
        }
    }
}
