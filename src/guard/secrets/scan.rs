//! Scans any bytes in one pass. It stops at the keywords of all rules and tries a rule's pattern only there.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::pem;
use super::plausibility::{Candidate, is_part_of_token, is_rest_of_token, is_token_in_lines};
use super::rules::{RULES, Rule, Start};
use super::visible::VisibleText;

/// How far after its keyword a pattern looks.
const REACH: usize = 8 << 10;
/// The limit if one unbroken word is longer than that, as a web token may be.
const LONG_REACH: usize = 64 << 10;
/// The limit after a name. Lines are full of names, and few are followed by a secret.
const NAME_REACH: usize = 256;
/// The limit of a pattern that does not begin at its keyword, because it has to be searched for.
const SEARCH_REACH: usize = 512;
/// How often a rule is tried within one unbroken word. More tries cost time and find nothing new.
const TRIES: u32 = 16;
/// Lines are broken before they are longer than this.
const LONGEST_LINE: usize = 200;
/// How many lines a broken token may have.
const MOST_LINES: usize = 8;
/// A secret of this length may be longer than its pattern. It reaches to the end of the unbroken text.
const BOUND: usize = 128;

/// A rule and the place where it matched.
pub(super) struct Match {
    pub rule: &'static Rule,
    pub range: Range<usize>,
}

/// Everything that looks like a secret, in the order of the text and without overlaps.
pub(super) fn scan(text: &[u8]) -> Vec<Match> {
    let mut found = pass(text);
    if let Some(visible) = VisibleText::of(text) {
        let split = pass(&visible.text).into_iter();
        found.extend(split.map(|(number, range)| (number, visible.place(&range))));
    }
    merge(found)
}

/// The rules that match, by number, and where.
fn pass(text: &[u8]) -> Vec<(usize, Range<usize>)> {
    let keywords = Keywords::all();
    let mut pass = Pass { text, word_end: 0, rules: vec![Progress::default(); RULES.len()], found: Vec::new() };
    for (at, pair) in text.windows(2).enumerate() {
        // Most pairs of bytes begin no keyword, so most of the text costs one lookup per byte.
        let first = keywords.by_pair[pair_number(pair)];
        if first > 0 {
            keywords.beginning_at(&text[at..], first).for_each(|number| pass.examine(number, at));
        }
    }
    pass.found
}

/// All keywords, found by their first two bytes. An automaton needs fewer lookups in the worst case, but takes longer to build
/// than most texts take to scan, and is hardly faster on long ones.
struct Keywords {
    /// Sorted, each with the number of its rule.
    list: Vec<(String, usize)>,
    /// For each pair of bytes one more than the place of the first keyword that begins with it, or 0.
    by_pair: Vec<u16>,
}

fn pair_number(pair: &[u8]) -> usize {
    usize::from(pair[0]) << 8 | usize::from(pair[1])
}

impl Keywords {
    fn all() -> &'static Keywords {
        static KEYWORDS: OnceLock<Keywords> = OnceLock::new();
        KEYWORDS.get_or_init(Keywords::of_all_rules)
    }

    /// Whether the text begins like a token of its own.
    fn begin_token(&self, text: &[u8]) -> bool {
        let first = text.get(..2).map_or(0, |pair| self.by_pair[pair_number(pair)]);
        first > 0 && self.beginning_at(text, first).any(|number| RULES[number].start == Start::Word)
    }

    fn of_all_rules() -> Keywords {
        let numbered = RULES.iter().enumerate();
        let mut list: Vec<(String, usize)> = numbered
            .flat_map(|(number, rule)| spellings(rule).into_iter().map(move |keyword| (keyword, number)))
            .collect();
        list.sort_unstable();
        let mut by_pair = vec![0; 1 << 16];
        for (place, (keyword, _)) in (1..).zip(&list) {
            let first = &mut by_pair[pair_number(keyword.as_bytes())];
            if *first == 0 {
                *first = place;
            }
        }
        Keywords { list, by_pair }
    }

    /// The numbers of the rules of all keywords that the text begins with.
    fn beginning_at<'a>(&'a self, text: &'a [u8], first: u16) -> impl Iterator<Item = usize> + 'a {
        let same_pair =
            self.list[usize::from(first) - 1..].iter().take_while(|(keyword, _)| keyword.as_bytes()[..2] == text[..2]);
        same_pair.filter(|(keyword, _)| text.starts_with(keyword.as_bytes())).map(|(_, number)| *number)
    }
}

/// The keywords of a rule, in each spelling.
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

/// The pattern of a rule, compiled at its first use. Most texts need none.
fn pattern(number: usize) -> Option<&'static Regex> {
    static PATTERNS: [OnceLock<Option<Regex>>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];
    PATTERNS[number].get_or_init(|| compile(&RULES[number])).as_ref()
}

pub(super) fn compile(rule: &Rule) -> Option<Regex> {
    let anchored = match rule.start {
        Start::Before(_) => rule.pattern.to_owned(),
        _ => format!(r"\A(?:{})", rule.pattern),
    };
    RegexBuilder::new(&anchored).unicode(false).size_limit(1 << 20).dfa_size_limit(1 << 20).build().ok()
}

#[derive(Clone, Default)]
struct Progress {
    /// The end of the last match.
    end: usize,
    /// The end of the word in which the rule was tried last, and how often.
    word_end: usize,
    tries: u32,
}

struct Pass<'a> {
    text: &'a [u8],
    /// The end of the last unbroken word.
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

    /// The range of the secret, if the match is one.
    fn verify(&self, number: usize, keyword: usize) -> Option<Range<usize>> {
        let (rule, text) = (&RULES[number], self.text);
        let (from, reach) = match rule.start {
            Start::Before(most) => (keyword.saturating_sub(most).max(self.rules[number].end), SEARCH_REACH),
            Start::AnyCase => (keyword, NAME_REACH),
            _ => (keyword, REACH.max(LONG_REACH.min(self.word_end - keyword))),
        };
        let window = &text[from..text.len().min(keyword + reach)];
        let secret = pattern(number)?.captures(window).and_then(|captures| secret_of(&captures));
        let range = match secret {
            Some(secret) => from + secret.start..from + secret.end,
            None if rule.start == Start::Word => return self.in_lines(number, keyword),
            None => return None,
        };
        let candidate = Candidate { text, keyword, start: range.start, secret: &text[range.clone()] };
        if !(rule.is_real)(&candidate) {
            return None;
        }
        if rule.start == Start::PemLine {
            return pem::key_around(text, range, self.rules[number].end);
        }
        // Word characters that follow directly belong to the secret.
        let rest = if range.len() >= BOUND { run(&text[range.end..], is_unbroken) } else { 0 };
        let end = range.end + rest;
        let end = end + run(&text[end..], is_word);
        let is_token = rule.start == Start::Word && text[range.start..end].iter().all(|byte| is_word_or_mark(*byte));
        Some(range.start..if is_token { self.rest_in_lines(end) } else { end })
    }

    /// The end of a token of which enough to know it is on its first line. Only lines that are nothing but more of it belong
    /// to it. The next token of a list has a kind of its own, which somebody may have allowed or not.
    fn rest_in_lines(&self, mut end: usize) -> usize {
        for _ in 1..MOST_LINES {
            let Some(at) = line_break(&self.text[end..]).map(|length| end + length) else { break };
            let rest = &self.text[at..self.text.len().min(at + LONGEST_LINE)];
            let part = &rest[..run(rest, is_word_or_mark)];
            let is_alone = matches!(rest[part.len()..], [] | [b'\r' | b'\n' | b'\\', ..]);
            if !is_alone || !is_rest_of_token(part) || Keywords::all().begin_token(part) {
                break;
            }
            end = at + part.len();
        }
        end
    }
}

impl Pass<'_> {
    /// The range of a token that was broken into several lines, as mail programs, terminals and lists do.
    fn in_lines(&self, number: usize, keyword: usize) -> Option<Range<usize>> {
        let (rule, text) = (&RULES[number], self.text);
        let mut joined = Vec::new();
        let (mut at, mut found) = (keyword, None);
        for line in 0..MOST_LINES {
            let part = &text[at..at + run(&text[at..text.len().min(at + LONGEST_LINE)], is_word_or_mark)];
            // Once the token is whole, only lines that are nothing but more of it belong to it.
            if part.is_empty() || found.is_some() && !is_part_of_token(part) {
                break;
            }
            let before = joined.len();
            joined.extend_from_slice(part);
            let secret = pattern(number)?.captures(&joined).and_then(|captures| secret_of(&captures));
            if let Some(secret) = secret.filter(|secret| line > 0 && secret.end > before) {
                let candidate =
                    Candidate { text: &joined, keyword: 0, start: secret.start, secret: &joined[secret.clone()] };
                if (rule.is_real)(&candidate) && is_token_in_lines(&candidate) {
                    found = Some(keyword + secret.start..at + secret.end - before);
                }
            }
            at += part.len();
            match line_break(&text[at..]) {
                Some(length) => at += length,
                None => break,
            }
        }
        found
    }
}

/// The secret in a match: its first group, or all of it.
fn secret_of(captures: &Captures<'_>) -> Option<Range<usize>> {
    captures.iter().skip(1).flatten().next().or_else(|| captures.get(0)).map(|secret| secret.range())
}

/// The length of a line break with the indentation and the marks of a quotation behind it; `None` if none begins here.
fn line_break(text: &[u8]) -> Option<usize> {
    let continuation = usize::from(text.first() == Some(&b'\\'));
    let rest = text[continuation..].strip_prefix(b"\r").unwrap_or(&text[continuation..]).strip_prefix(b"\n")?;
    let marks = run(rest, |byte| matches!(byte, b' ' | b'\t' | b'>' | b'|'));
    Some(text.len() - rest.len() + marks)
}

/// Whether a word begins here. One may also begin after the `\n` of a quoted text and the `%3D` of an address.
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

/// Whether the byte is neither a space nor a quote.
fn is_unbroken(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>')
}

fn is_word_or_mark(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'.' | b'+' | b'/' | b'=' | b'~' | b'%')
}

/// Joins overlapping matches, so that no part of either is left. The match that begins first names the result; of those that
/// begin together, the more particular rule does.
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
