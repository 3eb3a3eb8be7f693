//! Sentences of the talk that fill free room: those whose words are not yet on the page.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};

use super::plain::sentences;
use super::words::words;
use super::{Account, Line, Material, Rule, Speaker};

/// How much of the talk an account keeps.
const ACCOUNT_BYTES: usize = 10_000;
/// `- ` and the end of the line.
const LINE_OVERHEAD: usize = 3;
/// A sentence with fewer new words is not worth a line.
const MIN_NEW_WORDS: usize = 3;

pub(crate) const RULE: Rule = Rule { name: "sentences", apply: keep_sentences };

/// Openings of a sentence in which the agent only says what it is about to do. They follow "Now", "Perfect!" and such.
const ANNOUNCEMENTS: &[&str] = &[
    "let me ",
    "let's ",
    "i'll ",
    "i will ",
    "i'm going to ",
    "i am going to ",
    "i need to ",
    "now i ",
    "i can see ",
    "i see ",
    "i should ",
    "i want to ",
    "we need to ",
];
/// Words before an announcement.
const OPENERS: &str = "actually alright also and but excellent finally first good great hmm next now ok okay perfect right so \
    sure then wait yes";
/// Words of sentences that matter more often than others.
const CUES: &str = "added always because blocked broken bug cause committed decided decision deployed error failed failing \
    fixed implemented important instead merged missing must never next pending remaining removed renamed replaced reverted \
    should todo tried warning works";

/// The weights of the choice.
#[derive(Clone, Copy, Debug)]
struct Weights {
    common: f64,
    length_offset: f64,
    length_power: f64,
    oldest: f64,
    cue: f64,
    person: f64,
}

impl Weights {
    /// A large page has room for longer sentences.
    fn for_page(budget: usize) -> Self {
        let length_power = if budget < 5_000 { 0.8 } else { 0.6 };
        Self { common: 0.35, length_offset: 30.0, length_power, oldest: 0.6, cue: 1.15, person: 1.0 }
    }
}

/// Chooses lines for `room` bytes of a page of `budget` bytes that already holds `on_page`. A line costs its bytes and
/// three more for `- ` and the end of the line. The best line comes first. Candidates may come in any order.
pub(crate) fn choose(candidates: &[Line], on_page: &str, room: usize, budget: usize) -> Vec<Line> {
    let chosen = Choice::new(candidates, on_page, Weights::for_page(budget)).chosen(room);
    chosen.into_iter().map(|at| candidates[at].clone()).collect()
}

fn keep_sentences(material: &Material<'_>, account: &mut Account) {
    let Some(transcript) = material.transcript else { return };
    let mut candidates = Vec::new();
    for utterance in &transcript.talk {
        let who = if utterance.kind.is_of_person() { Speaker::Person } else { Speaker::Agent };
        let lines = sentences(&utterance.text).into_iter();
        candidates.extend(lines.map(|text| Line { who, turn: utterance.turn, text }));
    }
    let on_page = [&account.asked, &account.rulings, &account.conclusions];
    let on_page: Vec<&str> = on_page.into_iter().flatten().map(|line| line.text.as_str()).collect();
    let mut chosen =
        Choice::new(&candidates, &on_page.join("\n"), Weights::for_page(ACCOUNT_BYTES)).chosen(ACCOUNT_BYTES);
    chosen.sort_unstable();
    account.sentences = chosen.into_iter().map(|at| candidates[at].clone()).collect();
}

/// Whether the agent only says what it is about to do.
pub(crate) fn is_announcement(sentence: &str) -> bool {
    let mut rest = sentence.to_lowercase().replace('’', "'");
    loop {
        if ANNOUNCEMENTS.iter().any(|opening| rest.starts_with(opening)) {
            return true;
        }
        let opener = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        if !OPENERS.split_whitespace().any(|known| known == &rest[..opener]) {
            return false;
        }
        rest = rest[opener..].trim_start_matches(|c: char| !c.is_alphabetic()).to_owned();
    }
}

/// A greedy choice. The score of a candidate only falls while others are chosen, so the heap holds scores that may be too
/// high: a candidate is scored again when it comes up, and chosen if nothing changed. Each time one changes, at least
/// one of its words was covered, which bounds the work by the number of words.
struct Choice<'a> {
    candidates: Vec<Candidate<'a>>,
    /// The worth of each word.
    worth: Vec<f64>,
    is_common: Vec<bool>,
    is_covered: Vec<bool>,
}

struct Candidate<'a> {
    at: usize,
    line: &'a Line,
    /// Its different words, as indices.
    words: Vec<usize>,
    /// What its worth is multiplied by.
    factor: f64,
}

/// An entry of the heap: the highest score first, and of equal ones the newest.
struct Entry {
    score: f64,
    candidate: usize,
}

impl<'a> Choice<'a> {
    fn new(lines: &'a [Line], on_page: &str, weights: Weights) -> Self {
        let mut order: Vec<usize> = (0..lines.len()).collect();
        // What was not said in the talk was written at its end.
        order.sort_by_key(|at| if lines[*at].turn == 0 { usize::MAX } else { lines[*at].turn });
        let mut index: HashMap<String, usize> = HashMap::new();
        let (mut counts, mut is_common) = (Vec::new(), Vec::new());
        let mut candidates = Vec::new();
        let cues: HashSet<String> = words(CUES).into_iter().map(|word| word.stem).collect();
        for (rank, at) in order.iter().copied().enumerate() {
            let line = &lines[at];
            let mut own = Vec::new();
            let mut has_cue = false;
            for word in words(&line.text) {
                has_cue |= cues.contains(&word.stem);
                let next = counts.len();
                let id = *index.entry(word.stem).or_insert(next);
                if id == next {
                    counts.push(0_u32);
                    is_common.push(word.is_common);
                }
                counts[id] += 1;
                own.push(id);
            }
            if !is_worth_a_line(line) {
                continue;
            }
            let mut seen = HashSet::new();
            own.retain(|id| seen.insert(*id));
            let age = (lines.len() - 1 - rank) as f64 / lines.len() as f64;
            let mut factor = 1.0 - (1.0 - weights.oldest) * age;
            if has_cue {
                factor *= weights.cue;
            }
            if line.who == Speaker::Person {
                factor *= weights.person;
            }
            factor /= (line.text.len() as f64 + weights.length_offset).powf(weights.length_power);
            candidates.push(Candidate { at, line, words: own, factor });
        }
        let worth = counts
            .iter()
            .zip(&is_common)
            .map(|(count, is_common)| f64::from(1 + count).ln() * if *is_common { weights.common } else { 1.0 });
        let worth = worth.collect();
        let mut is_covered = vec![false; counts.len()];
        for word in words(on_page) {
            if let Some(id) = index.get(&word.stem) {
                is_covered[*id] = true;
            }
        }
        Self { candidates, worth, is_common, is_covered }
    }

    /// The indices of the chosen lines, the best first.
    fn chosen(mut self, mut room: usize) -> Vec<usize> {
        let mut chosen = Vec::new();
        let entries = (0..self.candidates.len()).filter_map(|candidate| self.entry(candidate, room));
        let mut heap: BinaryHeap<Entry> = entries.collect();
        while let Some(top) = heap.pop() {
            let Some(now) = self.entry(top.candidate, room) else { continue };
            if now.score < top.score {
                heap.push(now);
                continue;
            }
            let candidate = &self.candidates[top.candidate];
            room -= candidate.line.text.len() + LINE_OVERHEAD;
            chosen.push(candidate.at);
            for word in &candidate.words {
                self.is_covered[*word] = true;
            }
        }
        chosen
    }

    /// A candidate with its present score. `None` if it no longer fits or adds too little, which stays so.
    fn entry(&self, candidate: usize, room: usize) -> Option<Entry> {
        let Candidate { line, words, factor, .. } = &self.candidates[candidate];
        let new = || words.iter().filter(|word| !self.is_covered[**word]);
        let adds = new().filter(|word| !self.is_common[**word]).count() >= MIN_NEW_WORDS;
        let fits = line.text.len() + LINE_OVERHEAD <= room;
        (adds && fits).then(|| Entry { score: factor * new().map(|word| self.worth[*word]).sum::<f64>(), candidate })
    }
}

/// Whether a line says anything: not only what the agent is about to do, nor only paths, ids and numbers.
fn is_worth_a_line(line: &Line) -> bool {
    if line.who == Speaker::Agent && is_announcement(&line.text) {
        return false;
    }
    let is_word = |token: &&str| {
        let token = token.trim_matches(|c: char| !c.is_alphanumeric());
        token.chars().count() > 1 && token.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-'))
    };
    line.text.split(' ').filter(is_word).take(2).count() == 2 || line.text.chars().filter(|c| !c.is_ascii()).count() > 5
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(self.candidate.cmp(&other.candidate))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::plain::plain;
    use super::*;
    use crate::transcript::{Transcript, Utterance, UtteranceKind};

    fn agent(turn: usize, text: &str) -> Line {
        Line { who: Speaker::Agent, turn, text: text.to_owned() }
    }

    fn texts(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn a_sentence_whose_words_are_on_the_page_is_not_chosen_again() {
        let candidates = [
            agent(1, "The exporter writes tables to disk."),
            agent(2, "Tables are written to disk by the exporter."),
            agent(3, "Login loops when the cookie expires."),
        ];
        let chosen = choose(&candidates, "", 1_000, 4_000);
        assert_eq!(chosen.len(), 2, "{chosen:?}");
        let chosen = choose(&candidates, "the exporter: writing a table to the disk", 1_000, 4_000);
        assert_eq!(texts(&chosen), ["Login loops when the cookie expires."]);
    }

    #[test]
    fn the_newest_of_equal_sentences_is_chosen() {
        let candidates = [agent(4, "parser tokens spans"), agent(2, "parser tokens spans")];
        assert_eq!(choose(&candidates, "", 25, 4_000), candidates[..1]);
    }

    #[test]
    fn what_says_nothing_is_not_chosen() {
        for text in [
            "Let me check the parser and its error spans",
            "Perfect! Now let me run the whole integration suite",
            "I’ll update the exporter, tokenizer and parser",
            "Now I will look at the tokenizer module",
            "src/a.rs src/parser/b.rs src/exporter/c.rs",
            "9f8e7d6c5b4a 0192837465 01K0AAAA-BBBB",
            "yes, do that",
            "",
        ] {
            assert_eq!(choose(&[agent(1, text)], "", 1_000, 4_000), [], "{text}");
        }
    }

    #[test]
    fn a_person_may_begin_as_the_agent_does() {
        let ruling = Line { who: Speaker::Person, turn: 1, text: "let me commit the migration myself".to_owned() };
        assert_eq!(choose(std::slice::from_ref(&ruling), "", 1_000, 4_000), [ruling]);
    }

    #[test]
    fn other_languages_are_chosen_from_too() {
        let candidates = [agent(1, "修复了解析器的错误。"), agent(2, "Die Prüfung schlägt wegen des Zeitlimits fehl.")];
        assert_eq!(choose(&candidates, "", 1_000, 4_000).len(), 2);
    }

    #[test]
    fn the_rule_keeps_what_other_rules_did_not_in_order() {
        let say = |turn, kind, text: &str| Utterance { turn, kind, text: text.to_owned(), about: String::new() };
        let transcript = Transcript {
            talk: vec![
                say(1, UtteranceKind::Request, "Make the exporter stream its tables."),
                say(1, UtteranceKind::AgentText, "Let me look. **The exporter** buffers whole tables in memory."),
                say(2, UtteranceKind::Request, "Never touch the legacy importer directory."),
                say(2, UtteranceKind::AgentText, "The streaming writer flushes every batch now."),
            ],
            ..Transcript::default()
        };
        let material = Material { transcript: Some(&transcript), note: "", state: "", has_changes: true };
        let conclusion = agent(2, "The streaming writer flushes every batch now.");
        let mut account = Account { conclusions: vec![conclusion], ..Account::default() };
        keep_sentences(&material, &mut account);
        let expected = [
            "Make the exporter stream its tables.",
            "The exporter buffers whole tables in memory.",
            "Never touch the legacy importer directory.",
        ];
        assert!(texts(&account.sentences).iter().all(|text| expected.contains(text)), "{:?}", account.sentences);
        assert!(account.sentences.iter().any(|line| line.text == expected[2] && line.who == Speaker::Person));
        assert!(account.sentences.is_sorted_by_key(|line| line.turn));
    }

    proptest! {
        #[test]
        fn a_choice_is_bounded_verbatim_and_the_same_every_time(
            text in "([a-zA-Z_/`*\\[\\]().|#é修-復]{1,9}[ .\n-]){0,80}",
            on_page in "([a-z]{1,5} ){0,10}",
            room in 0..600_usize,
            budget in 0..10_000_usize,
        ) {
            let lines = sentences(&text).into_iter().enumerate();
            let candidates: Vec<Line> = lines.map(|(turn, text)| agent(turn / 2, &text)).collect();
            let chosen = choose(&candidates, &on_page, room, budget);
            prop_assert!(chosen.iter().map(|line| line.text.len() + LINE_OVERHEAD).sum::<usize>() <= room);
            let line = plain(&text);
            prop_assert!(chosen.iter().all(|choice| line.contains(&choice.text)));
            prop_assert_eq!(&chosen, &choose(&candidates, &on_page, room, budget));
        }
    }

    #[test]
    fn a_hundred_thousand_lines_take_linear_time() {
        let shared = |at: usize| format!("parser token span error cookie {} {} {}", at % 97, at % 101, at % 103);
        let candidates: Vec<Line> = (0..100_000).map(|at| agent(at, &shared(at))).collect();
        let chosen = choose(&candidates, "", 10_000, 10_000);
        assert!(!chosen.is_empty() && chosen.len() < 400);
    }
}
