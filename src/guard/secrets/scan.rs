//! One pass over any bytes: it stops at the keywords of all rules, and only there a rule's pattern is tried.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};

use super::armor::armor;
use super::doubt::Candidate;
use super::rules::{RULES, Rule, Start};

/// After so many bytes, in however many texts, it pays off to build an automaton for the keywords.
const MANY: usize = 128 << 10;
/// How far a pattern looks from where its keyword stands.
const REACH: usize = 8 << 10;
/// The same where one unbroken word goes on for longer, as a web token may.
const LONG_REACH: usize = 64 << 10;
/// The same for what follows a name: lines are full of names, and few are followed by a secret.
const NAME_REACH: usize = 256;
/// How far a pattern looks that does not begin at its keyword: it is searched for, not only tried.
const SEARCH_REACH: usize = 512;
/// How often a rule is tried within one unbroken word: more often there is nothing to tell apart, only time to lose.
const TRIES: u32 = 16;
/// A secret of this length may be longer than its pattern could see; it goes on until something ends it.
const BOUND: usize = 128;

/// Something found: by which rule, and where.
pub struct Match {
    pub rule: &'static Rule,
    pub range: Range<usize>,
}

/// Everything that looks like a secret, in the order of the text and without overlaps.
pub fn scan(text: &[u8]) -> Vec<Match> {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    let seen = SEEN.fetch_add(text.len(), Ordering::Relaxed).saturating_add(text.len());
    if seen < MANY { scan_with(text, plain_hits) } else { scan_with(text, automaton_hits) }
}

fn scan_with(text: &[u8], hits: fn(&[u8], &mut dyn FnMut(usize, usize))) -> Vec<Match> {
    let mut pass = Pass { text, word_end: 0, rules: vec![Progress::default(); RULES.len()], found: Vec::new() };
    hits(text, &mut |number, keyword| pass.examine(number, keyword));
    merge(pass.found)
}

/// Calls with the number of the rule and the place of each keyword in the text.
fn plain_hits(text: &[u8], visit: &mut dyn FnMut(usize, usize)) {
    let keywords = keywords();
    for (at, byte) in text.iter().enumerate() {
        for (keyword, number) in &keywords[usize::from(*byte)] {
            if text[at..].starts_with(keyword.as_bytes()) {
                visit(*number, at);
            }
        }
    }
}

/// The same, much faster once the automaton is there.
fn automaton_hits(text: &[u8], visit: &mut dyn FnMut(usize, usize)) {
    static AUTOMATON: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let all = || keywords().iter().flatten();
    let build =
        || AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(all().map(|(keyword, _)| keyword)).ok();
    let Some(automaton) = AUTOMATON.get_or_init(build) else { return plain_hits(text, visit) };
    let rules: Vec<usize> = all().map(|(_, number)| *number).collect();
    for hit in automaton.find_overlapping_iter(text) {
        visit(rules[hit.pattern().as_usize()], hit.start());
    }
}

/// The keywords by their first byte, each with the number of its rule; listed once per process, and only if something is
/// looked through.
fn keywords() -> &'static [Vec<(String, usize)>; 256] {
    static KEYWORDS: OnceLock<[Vec<(String, usize)>; 256]> = OnceLock::new();
    KEYWORDS.get_or_init(|| {
        let mut keywords = [const { Vec::new() }; 256];
        for (number, rule) in RULES.iter().enumerate() {
            for keyword in spellings(rule) {
                let first = keyword.bytes().next().map_or(0, usize::from);
                keywords[first].push((keyword, number));
            }
        }
        keywords
    })
}

/// The keywords in the ways that they are written.
fn spellings(rule: &Rule) -> Vec<String> {
    let mut spellings = Vec::new();
    for keyword in rule.keywords {
        spellings.push((*keyword).to_owned());
        if rule.start == Start::AnyCase {
            let (first, rest) = keyword.split_at(1);
            spellings.extend([first.to_ascii_uppercase() + rest, keyword.to_ascii_uppercase()]);
        }
    }
    spellings.sort_unstable();
    spellings.dedup();
    spellings
}

/// The compiled pattern; most texts need none.
fn pattern(number: usize) -> Option<&'static Regex> {
    static PATTERNS: [OnceLock<Option<Regex>>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];
    PATTERNS[number].get_or_init(|| compile(&RULES[number])).as_ref()
}

pub fn compile(rule: &Rule) -> Option<Regex> {
    let anchored = match rule.start {
        Start::Before(_) => rule.pattern.to_owned(),
        _ => format!(r"\A(?:{})", rule.pattern),
    };
    RegexBuilder::new(&anchored).unicode(false).size_limit(1 << 20).dfa_size_limit(1 << 20).build().ok()
}

#[derive(Clone, Default)]
struct Progress {
    /// Up to here all is found already.
    end: usize,
    /// The end of the word it was tried in last, and how often.
    word_end: usize,
    tries: u32,
}

struct Pass<'a> {
    text: &'a [u8],
    /// The end of the unbroken word that was looked at last.
    word_end: usize,
    rules: Vec<Progress>,
    found: Vec<(usize, Range<usize>)>,
}

impl Pass<'_> {
    fn examine(&mut self, number: usize, keyword: usize) {
        let rule = &RULES[number];
        if keyword < self.rules[number].end || rule.start == Start::Word && !begins_word(self.text, keyword) {
            return;
        }
        if keyword >= self.word_end {
            self.word_end = keyword + run(&self.text[keyword..], is_word_or_mark);
        }
        let progress = &mut self.rules[number];
        if progress.word_end != self.word_end {
            (progress.word_end, progress.tries) = (self.word_end, 0);
        }
        progress.tries += 1;
        if progress.tries > TRIES {
            return;
        }
        if let Some(range) = self.verify(number, keyword) {
            self.rules[number].end = range.end;
            self.found.push((number, range));
        }
    }

    /// Where the secret is, if it is one.
    fn verify(&self, number: usize, keyword: usize) -> Option<Range<usize>> {
        let (rule, text) = (&RULES[number], self.text);
        let (from, reach) = match rule.start {
            Start::Before(most) => (keyword.saturating_sub(most).max(self.rules[number].end), SEARCH_REACH),
            Start::AnyCase => (keyword, NAME_REACH),
            _ => (keyword, REACH.max(LONG_REACH.min(self.word_end - keyword))),
        };
        let window = &text[from..text.len().min(keyword + reach)];
        let captures = pattern(number)?.captures(window)?;
        let secret = captures.iter().skip(1).flatten().next().or_else(|| captures.get(0))?;
        let range = from + secret.start()..from + secret.end();
        let candidate = Candidate { text, keyword, start: range.start, secret: secret.as_bytes() };
        if !(rule.is_real)(&candidate) {
            return None;
        }
        if rule.kind == "private-key" && text[range.clone()].starts_with(b"-----") {
            return armor(text, range, self.rules[number].end);
        }
        // What hangs on to it belongs to it.
        let rest = if range.len() >= BOUND { run(&text[range.end..], is_unbroken) } else { 0 };
        let end = range.end + rest;
        Some(range.start..end + run(&text[end..], is_word))
    }
}

/// A word begins here, also after the `\n` of a quoted text and the `%3D` of an address.
fn begins_word(text: &[u8], at: usize) -> bool {
    match &text[at.saturating_sub(3)..at] {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [b'%', b'0'..=b'9', b'0'..=b'9' | b'A'..=b'F' | b'a'..=b'f'] => true,
        [.., last] => !(last.is_ascii_alphanumeric() || *last == b'_'),
        [] => true,
    }
}

fn run(text: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|byte| !belongs(*byte)).unwrap_or(text.len())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Up to a space or a quote.
fn is_unbroken(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>')
}

fn is_word_or_mark(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'.' | b'+' | b'/' | b'=' | b'~' | b'%')
}

/// Where findings meet they become one, so that nothing of either is left; the one that begins first names it, then the
/// more particular one.
fn merge(mut found: Vec<(usize, Range<usize>)>) -> Vec<Match> {
    found.sort_by_key(|(number, range)| (range.start, *number));
    let mut matches: Vec<Match> = Vec::new();
    for (number, range) in found {
        match matches.last_mut() {
            Some(last) if range.start < last.range.end => last.range.end = last.range.end.max(range.end),
            _ => matches.push(Match { rule: &RULES[number], range }),
        }
    }
    matches
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn with_the_automaton_and_without_it_the_same_is_found(
            text in any::<String>(),
            picks in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
        ) {
            let hits: Vec<String> =
                picks.iter().map(|pick| pick.get(RULES).hits[0].concat()).collect();
            let text = format!("{text} {} {text}", hits.join(" "));
            let ranges = |found: Vec<Match>| found.into_iter().map(|found| (found.rule.kind, found.range)).collect::<Vec<_>>();
            let plain = ranges(scan_with(text.as_bytes(), plain_hits));
            prop_assert_eq!(&plain, &ranges(scan_with(text.as_bytes(), automaton_hits)));
            prop_assert!(hits.is_empty() || !plain.is_empty());
        }
    }
}
