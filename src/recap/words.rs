//! The words of a text, for asking whether a text says anything that another one does not.

use std::collections::HashSet;
use std::sync::LazyLock;

/// A word of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    /// The word in small letters.
    pub word: &'a str,
    /// The word without its ending.
    pub stem: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordKind {
    /// It says little by itself.
    Common,
    /// Two characters of a script without spaces. Each character is in two pairs.
    Pair,
    Ordinary,
}

/// Longer runs of letters and digits are ids, not words.
const MAX_WORD_BYTES: usize = 40;

/// Endings, and what replaces them. The first that matches counts.
const ENDINGS: &[(&str, &str)] = &[
    ("ations", "ate"),
    ("ation", "ate"),
    ("ments", "ment"),
    ("ities", "ity"),
    ("ings", ""),
    ("ing", ""),
    ("ies", "y"),
    ("ied", "y"),
    ("ers", "er"),
    ("ed", ""),
    ("ly", ""),
    ("es", ""),
    ("s", ""),
];

/// English words that say little by themselves.
const COMMON: &str = "a about after again all also am an and another any anything are as at back be because been before \
    being best better both but by can cannot come could d did didn do does doesn doing don done down each either else even \
    every everything few first for from get gets give go going good got great had has have he her here him his how i if in \
    into is isn it its just know let like ll look looks make makes many may maybe me might more most much must my need needs \
    no nor not now of off ok okay on once one only or other our out over own perfect please put quite rather re really right \
    s same see shall she should since so some something still such sure t take than thank thanks that the their them then \
    there these they thing things think this those through to too two under until up us use used uses using ve very via want \
    was way we well were what when where whether which while who whole whose why will with within without won work would yes \
    yet you your";

static COMMON_SET: LazyLock<HashSet<&str>> = LazyLock::new(|| COMMON.split_whitespace().collect());

impl Word<'_> {
    pub(crate) fn kind(&self) -> WordKind {
        if self.word.starts_with(is_ideograph) {
            WordKind::Pair
        } else if COMMON_SET.contains(self.word) {
            WordKind::Common
        } else {
            WordKind::Ordinary
        }
    }
}

/// Calls `take` for the words of a text in order, each as often as it occurs. Identifiers are split: `parseLines` and
/// `parse_lines` are the same two words. A script without spaces gives pairs of characters.
pub(crate) fn for_each_word(text: &str, mut take: impl FnMut(Word<'_>)) {
    let mut stem = String::new();
    let mut take = |word: &str| {
        if word.len() <= MAX_WORD_BYTES {
            set_stem(word, &mut stem);
            take(Word { word, stem: &stem });
        }
    };
    for token in text.split(|c: char| !c.is_alphanumeric()) {
        let mut rest = token;
        while let Some(first) = rest.chars().next() {
            let is_other = |c: char| is_ideograph(c) != is_ideograph(first);
            let (part, after) = rest.split_at(rest.find(is_other).unwrap_or(rest.len()));
            if is_ideograph(first) {
                take_pairs(part, &mut take);
            } else if part.chars().any(char::is_uppercase) {
                take_parts(part, &mut take);
            } else {
                take(part);
            }
            rest = after;
        }
    }
}

/// Whether a text has nearly all words of another one that are not common: four of five.
pub(crate) fn has_words_of(text: &str, other: &str) -> bool {
    let mut known: HashSet<String> = HashSet::new();
    for_each_word(text, |word| {
        known.insert(word.stem.to_owned());
    });
    let (mut all, mut found) = (0, 0);
    for_each_word(other, |word| {
        let counts = usize::from(word.kind() != WordKind::Common);
        all += counts;
        found += if known.contains(word.stem) { counts } else { 0 };
    });
    found * 5 >= all * 4
}

/// Chinese characters and Japanese syllables.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn take_pairs(part: &str, take: &mut impl FnMut(&str)) {
    let mut starts = part.char_indices().map(|(start, _)| start).chain([part.len()]);
    let (mut first, mut second) = (starts.next(), starts.next());
    for end in starts {
        if let Some(first) = first {
            take(&part[first..end]);
        }
        (first, second) = (second, Some(end));
    }
}

/// The parts of `HTTPServerName2`: "http", "server", "name", "2".
fn take_parts(token: &str, take: &mut impl FnMut(&str)) {
    let chars: Vec<char> = token.chars().collect();
    let mut start = 0;
    for at in 1..=chars.len() {
        let is_end = at == chars.len() || {
            let (before, here) = (chars[at - 1], chars[at]);
            let ends_capitals = here.is_uppercase() && chars.get(at + 1).is_some_and(|next| next.is_lowercase());
            here.is_numeric() != before.is_numeric() || (here.is_uppercase() && !before.is_uppercase()) || ends_capitals
        };
        if is_end {
            take(&chars[start..at].iter().collect::<String>().to_lowercase());
            start = at;
        }
    }
}

/// Sets the stem of a word, roughly: it only has to be the same for forms of the same word.
fn set_stem(word: &str, stem: &mut String) {
    stem.clear();
    stem.push_str(word);
    if word.len() <= 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    if let Some((ending, other)) =
        ENDINGS.iter().find(|(ending, _)| word.len() >= ending.len() + 3 && word.ends_with(ending))
    {
        stem.truncate(word.len() - ending.len());
        stem.push_str(other);
        let last = stem.as_bytes()[stem.len() - 1];
        if stem.len() > 3 && stem.as_bytes()[stem.len() - 2] == last && !b"lsz".contains(&last) {
            stem.pop();
        }
    }
    if stem.len() > 4 && stem.ends_with('e') {
        stem.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stems(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for_each_word(text, |word| found.push(word.stem.to_owned()));
        found
    }

    #[test]
    fn a_text_has_the_words_of_another_one() {
        let text = "The totals module is written, and the PDF is rendered in English.";
        assert!(has_words_of(text, "The module for totals"));
        assert!(has_words_of(text, "Rendering the PDF"));
        assert!(!has_words_of(text, "Translate the templates"));
        assert!(!has_words_of(text, "Render the PDF in German with new fonts"));
    }

    #[test]
    fn identifiers_are_split() {
        assert_eq!(stems("HTTPServerName2"), ["http", "server", "name", "2"]);
        assert_eq!(stems("parseLines"), stems("parse_lines"));
        assert_eq!(stems("utf8 src/cli.py:42"), ["utf8", "src", "cli", "py", "42"]);
    }

    #[test]
    fn forms_of_a_word_are_the_same_word() {
        for (one, other) in [
            ("tests", "testing"),
            ("failed", "fails"),
            ("stopped", "stopping"),
            ("migrations", "migrate"),
            ("retries", "retried"),
            ("Parser", "parsers"),
            ("change", "changing"),
        ] {
            assert_eq!(stems(one), stems(other), "{one} {other}");
        }
        assert_ne!(stems("parser"), stems("person"));
    }

    #[test]
    fn common_words_are_known() {
        let mut common = Vec::new();
        for_each_word("The parser doesn't work", |word| common.push(word.kind() == WordKind::Common));
        assert_eq!(common, [true, false, true, true, true]);
    }

    #[test]
    fn other_scripts_have_words_too_and_ids_have_none() {
        assert_eq!(stems("修复parser解析器"), ["修复", "parser", "解析", "析器"]);
        assert_eq!(stems("Ошибка größer"), ["ошибка", "größer"]);
        assert_eq!(stems(&"a1".repeat(40)), Vec::<String>::new());
    }
}
