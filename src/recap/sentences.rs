//! Sentences of the talk that fill free room: those whose words are not yet on the page.
//!
//! The choice is greedy. A sentence is worth the sum of its new words, each by the logarithm of how often the session uses
//! it, divided by a power of its length. Newer sentences, and those with a cue, are worth a little more.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};

use super::passages::{Passage, Shape, passages};
use super::plain::sentences;
use super::words::{WordKind, for_each_word};
use super::{Account, Line, Material, Rule, Speaker};

pub(crate) const RULE: Rule = Rule { name: "sentences", apply: keep_sentences };

/// How much of the talk an account keeps.
const ACCOUNT_BYTES: usize = 10_000;
/// "Let me check it" is worth a line only if it says what.
const MIN_ANNOUNCED_WORDS: usize = 2;
/// A message with this many pasted lines is mostly code or a log.
const MANY_PASTED: usize = 3;
/// `- ` and the end of the line.
const LINE_OVERHEAD: usize = 3;
/// The worth of a common word, of that of another one.
const COMMON_WORTH: f64 = 0.35;
/// The worth of two characters: each character is in two pairs.
const PAIR_WORTH: f64 = 0.5;
/// The oldest sentence, beside the newest.
const OLDEST_WORTH: f64 = 0.8;
/// A sentence with a cue, beside one without.
const CUE_WORTH: f64 = 1.15;
/// Every sentence counts as this much longer than it is, so that short ones do not always win.
const ADDED_LENGTH: f64 = 30.0;

/// Words of sentences that matter more often than others.
const CUES: &str = "added always because blocked broken bug cause committed decided decision deployed error failed failing \
    fixed implemented important instead merged missing must never next pending remaining removed renamed replaced reverted \
    should todo tried warning works";

/// Openings of a sentence in which the agent only says what it is about to do.
const ANNOUNCEMENTS: &[&str] =
    &["let me ", "let's ", "i'll ", "i will ", "i'm going to ", "i am going to ", "i need to ", "now i "];
/// Words that precede such an opening.
const OPENERS: &str = "actually alright also and but excellent finally first good great hmm next now ok okay perfect right so \
    sure then wait yes";

/// What may be chosen.
#[derive(Clone, Copy)]
struct Stage {
    /// A sentence with fewer new words is not worth a line. Common words do not count.
    min_new_words: usize,
    /// Whether announcements of the agent and lines of code may be chosen.
    with_last_resorts: bool,
}

/// While there is room, less is asked of a sentence: a short session is kept nearly whole.
const STAGES: &[Stage] = &[
    Stage { min_new_words: 3, with_last_resorts: false },
    Stage { min_new_words: 1, with_last_resorts: false },
    Stage { min_new_words: 1, with_last_resorts: true },
];

/// Chooses lines for `room` bytes of a page of `budget` bytes that already holds `on_page`. A line costs its bytes and
/// three more for `- ` and the end of the line. The best line comes first. Candidates may come in any order.
pub(crate) fn choose(candidates: &[Line], on_page: &str, room: usize, budget: usize) -> Vec<Line> {
    let chosen = Choice::new(candidates, on_page, budget).chosen(room);
    chosen.into_iter().map(|at| candidates[at].clone()).collect()
}

fn keep_sentences(material: &Material<'_>, account: &mut Account) {
    let Some(transcript) = material.transcript else { return };
    let mut candidates = Vec::new();
    for utterance in &transcript.talk {
        let who = if utterance.kind.is_of_person() { Speaker::Person } else { Speaker::Agent };
        let lines =
            if who == Speaker::Person { written_sentences(&utterance.text) } else { sentences(&utterance.text) };
        candidates.extend(lines.into_iter().map(|text| Line { who, turn: utterance.turn, text }));
    }
    let on_page = [&account.asked, &account.rulings, &account.conclusions];
    let on_page: Vec<&str> = on_page.into_iter().flatten().map(|line| line.text.as_str()).collect();
    let mut chosen = Choice::new(&candidates, &on_page.join("\n"), ACCOUNT_BYTES).chosen(ACCOUNT_BYTES);
    chosen.sort_unstable();
    account.sentences = chosen.into_iter().map(|at| candidates[at].clone()).collect();
}

/// The sentences that a person wrote: code, logs and quotes that were only pasted are left out. A comment in pasted code
/// looks like a heading.
fn written_sentences(text: &str) -> Vec<String> {
    let passages = passages(text);
    let pasted = passages.iter().filter(|passage| passage.shape == Shape::Pasted).count();
    let is_written = |passage: &&Passage| match passage.shape {
        // What was pasted, without its lines.
        Shape::Pasted => passage.text.starts_with("diff --git "),
        Shape::Heading => pasted < MANY_PASTED,
        _ => true,
    };
    passages.iter().filter(is_written).flat_map(|passage| sentences(&passage.text)).collect()
}

/// Whether a sentence of the agent only says what it is about to do.
pub(crate) fn is_announcement(sentence: &str) -> bool {
    let sentence = sentence.to_lowercase().replace('’', "'");
    let mut rest = sentence.as_str();
    loop {
        if ANNOUNCEMENTS.iter().any(|opening| rest.starts_with(opening)) {
            return true;
        }
        let (opener, after) = rest.split_at(rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len()));
        if !OPENERS.split_whitespace().any(|known| known == opener) {
            return false;
        }
        rest = after.trim_start_matches(|c: char| !c.is_alphabetic());
    }
}

/// The state of a choice. The score of a candidate only falls while others are chosen, so the heap may hold scores that are
/// too high: a candidate is scored again when it comes up, and chosen if its score did not change. A score changes only if
/// one of the candidate's words was covered, which bounds the work by the number of words.
struct Choice<'a> {
    candidates: Vec<Candidate<'a>>,
    vocabulary: Vocabulary,
    is_covered: Vec<bool>,
    /// The worth of each word.
    worth: Vec<f64>,
}

struct Candidate<'a> {
    /// Its place among the lines that were given.
    at: usize,
    line: &'a Line,
    /// Its different words, as indices.
    words: Vec<usize>,
    /// The worth of its words is multiplied by this.
    factor: f64,
    /// Whether it is chosen only when nothing better is left.
    is_last_resort: bool,
    /// Whether the agent only says what it is about to do.
    is_announcement: bool,
}

/// The words of all candidates, each with an index.
#[derive(Default)]
struct Vocabulary {
    indices: HashMap<String, usize>,
    kinds: Vec<WordKind>,
    counts: Vec<u32>,
}

/// An entry of the heap: the highest score first, and of equal ones the newest.
struct Entry {
    score: f64,
    candidate: usize,
}

impl Vocabulary {
    /// Counts the words of a text and returns the different ones.
    fn add(&mut self, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        for_each_word(text, |word| {
            let index = self.indices.get(word.stem).copied().unwrap_or_else(|| {
                self.indices.insert(word.stem.to_owned(), self.counts.len());
                self.kinds.push(word.kind());
                self.counts.push(0);
                self.counts.len() - 1
            });
            self.counts[index] += 1;
            found.push(index);
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Those words of a text that a candidate has.
    fn known(&self, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        for_each_word(text, |word| found.extend(self.indices.get(word.stem)));
        found
    }

    fn worth(&self, index: usize) -> f64 {
        let weight = match self.kinds[index] {
            WordKind::Common => COMMON_WORTH,
            WordKind::Pair => PAIR_WORTH,
            WordKind::Ordinary => 1.0,
        };
        weight * (1.0 + f64::from(self.counts[index])).ln()
    }
}

impl<'a> Choice<'a> {
    fn new(lines: &'a [Line], on_page: &str, budget: usize) -> Self {
        let mut vocabulary = Vocabulary::default();
        let mut order: Vec<(usize, &Line)> = lines.iter().enumerate().collect();
        // What was not said in the talk was written at its end.
        order.sort_by_key(|(_, line)| if line.turn == 0 { usize::MAX } else { line.turn });
        let mut candidates = Vec::new();
        for (rank, (at, line)) in order.into_iter().enumerate() {
            let words = vocabulary.add(without_number(&line.text));
            if has_words(&line.text) && says_anything(&words, &vocabulary) {
                let age = (lines.len() - 1 - rank) as f64 / lines.len() as f64;
                let factor = (1.0 - (1.0 - OLDEST_WORTH) * age) / length(line, budget);
                let is_announcement = line.who == Speaker::Agent && is_announcement(&line.text);
                let is_last_resort = is_announcement || is_code(&line.text);
                candidates.push(Candidate { at, line, words, factor, is_last_resort, is_announcement });
            }
        }
        let cues: HashSet<usize> = vocabulary.known(CUES).into_iter().collect();
        for candidate in
            candidates.iter_mut().filter(|candidate| candidate.words.iter().any(|word| cues.contains(word)))
        {
            candidate.factor *= CUE_WORTH;
        }
        let worth: Vec<f64> = (0..vocabulary.counts.len()).map(|index| vocabulary.worth(index)).collect();
        let mut is_covered = vec![false; worth.len()];
        vocabulary.known(on_page).into_iter().for_each(|index| is_covered[index] = true);
        Self { candidates, vocabulary, is_covered, worth }
    }

    /// The places of the chosen lines, the best first.
    fn chosen(mut self, mut room: usize) -> Vec<usize> {
        let mut chosen = Vec::new();
        for stage in STAGES {
            self.choose_in(*stage, &mut room, &mut chosen);
        }
        chosen
    }

    fn choose_in(&mut self, stage: Stage, room: &mut usize, chosen: &mut Vec<usize>) {
        let entries = (0..self.candidates.len()).filter_map(|candidate| self.entry(candidate, stage, *room));
        let mut heap: BinaryHeap<Entry> = entries.collect();
        while let Some(top) = heap.pop() {
            let Some(now) = self.entry(top.candidate, stage, *room) else { continue };
            if now.score < top.score {
                heap.push(now);
                continue;
            }
            let candidate = &self.candidates[top.candidate];
            *room -= candidate.line.text.len() + LINE_OVERHEAD;
            chosen.push(candidate.at);
            candidate.words.iter().for_each(|word| self.is_covered[*word] = true);
        }
    }

    /// A candidate with its present score. `None` if it does not fit or adds too little, which stays so during a stage.
    fn entry(&self, candidate: usize, stage: Stage, room: usize) -> Option<Entry> {
        let Candidate { line, words, factor, is_last_resort, is_announcement, .. } = &self.candidates[candidate];
        if line.text.len() + LINE_OVERHEAD > room || (*is_last_resort && !stage.with_last_resorts) {
            return None;
        }
        let (mut new_words, mut worth) = (0, 0.0);
        for word in words.iter().filter(|word| !self.is_covered[**word]) {
            new_words += usize::from(self.vocabulary.kinds[*word] != WordKind::Common);
            worth += self.worth[*word];
        }
        let min_new_words = if *is_announcement { MIN_ANNOUNCED_WORDS } else { stage.min_new_words };
        (new_words >= min_new_words).then_some(Entry { score: worth * factor, candidate })
    }
}

/// A line without the number that it has in a list, which is not a word.
fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix(". ").filter(|_| rest.len() < line.len()).unwrap_or(line)
}

/// Whether a line has two words that are not common. "Found it." has one.
fn says_anything(words: &[usize], vocabulary: &Vocabulary) -> bool {
    words.iter().filter(|word| vocabulary.kinds[**word] != WordKind::Common).nth(1).is_some()
}

/// By what the worth of a line is divided. A large page has room for longer sentences.
fn length(line: &Line, budget: usize) -> f64 {
    let power = if budget < 5_000 { 0.8 } else { 0.6 };
    (line.text.len() as f64 + ADDED_LENGTH).powf(power)
}

/// Whether a line looks like a statement of a program that somebody pasted.
fn is_code(line: &str) -> bool {
    let assigns = [" = ", " == ", "=\"", "='", " => ", "();", " != "].iter().any(|mark| line.contains(mark));
    let has_name = line.contains(['_', '(', '"', '\'', '$', '<']);
    assigns || (line.ends_with([';', '{', '}', '(', '[']) || (line.ends_with(':') && line.contains("()"))) && has_name
}

/// Whether a line has words beside paths, ids and numbers. A script without spaces has them between other characters.
fn has_words(line: &str) -> bool {
    let is_word = |token: &&str| {
        let token = token.trim_matches(|c: char| !c.is_alphanumeric());
        token.chars().count() > 1 && token.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-'))
    };
    line.split(' ').filter(is_word).nth(1).is_some() || line.chars().filter(|c| !c.is_ascii()).nth(5).is_some()
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
            agent(2, "Writing tables to disk: the exporter."),
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
        for text in
            ["src/a.rs src/parser/b.rs src/exporter/c.rs", "9f8e7d6c5b4a 0192837465 01K0AAAA-BBBB", "yes, do that", ""]
        {
            assert_eq!(choose(&[agent(1, text)], "", 1_000, 4_000), [], "{text}");
        }
    }

    #[test]
    fn an_announcement_is_chosen_only_if_it_says_what() {
        let candidates = [agent(1, "Let me check the parser."), agent(2, "Let me mock the cookie jar.")];
        assert_eq!(texts(&choose(&candidates, "checked", 1_000, 4_000)), ["Let me mock the cookie jar."]);
    }

    #[test]
    fn what_a_person_only_pasted_is_not_theirs() {
        let text = "The cookie test is unhappy:\n\n    def test_cookie():\n        jar = open_jar()\n# Should hold a session\n\
            E   AssertionError: no session\n\nPlease mock the jar.";
        assert_eq!(written_sentences(text), ["The cookie test is unhappy:", "Please mock the jar."]);
        assert_eq!(written_sentences("# Report\n\nMock the jar."), ["Report", "Mock the jar."]);
    }

    #[test]
    fn announcements_are_recognized() {
        for text in [
            "Let me check the parser and its error spans",
            "Perfect! Now let me run the whole integration suite",
            "I’ll update the exporter, tokenizer and parser",
            "Now I will look at the tokenizer module",
        ] {
            assert!(is_announcement(text), "{text}");
        }
        for text in
            ["The parser now lets me through", "Now the tests pass", "Lets users log in", "Next: stream to disk", "now"]
        {
            assert!(!is_announcement(text), "{text}");
        }
    }

    #[test]
    fn announcements_and_repetitions_only_fill_what_nothing_else_does() {
        let announcement = agent(2, "Let me update the exporter, tokenizer and importer");
        let finding = agent(1, "The cookie expires before the login page loads");
        let repetition = agent(1, "The login page loads slowly");
        let candidates = [announcement.clone(), repetition.clone(), finding.clone()];
        assert_eq!(choose(&candidates, "", 1_000, 4_000), [finding.clone(), repetition, announcement]);
        assert_eq!(choose(&candidates, "", 55, 4_000), [finding]);
    }

    #[test]
    fn code_is_recognized() {
        for text in [
            "elif name == \"table\":",
            "summary=\"a long text\",",
            "with open() as file:",
            "let x = parse(y);",
            "fn main() {",
        ] {
            assert!(is_code(text), "{text}");
        }
        for text in [
            "Fixed: call parse() before load()",
            "The flag --budget=4000 is kept",
            "Use \"csv\" (not pandas);  done",
            "Changes:",
        ] {
            assert!(!is_code(text), "{text}");
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
        let say =
            |turn, kind, text: &str| Utterance { turn, kind, text: text.to_owned(), about: String::new(), at: None };
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
    fn thirty_thousand_lines_take_linear_time() {
        let shared = |at: usize| format!("parser token span error cookie {} {} {}", at % 97, at % 101, at % 103);
        let candidates: Vec<Line> = (0..30_000).map(|at| agent(at, &shared(at))).collect();
        let chosen = choose(&candidates, "", 10_000, 10_000);
        assert!(!chosen.is_empty() && chosen.len() < 400);
    }
}
