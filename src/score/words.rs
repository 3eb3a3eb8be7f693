//! The identifiers, paths and commands in a text: what can be found again in what a session does. And how much two texts have
//! in common.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::iter::Peekable;

use crate::recap::{WordKind, for_each_word};

/// Shorter words are found everywhere.
const SHORTEST: usize = 4;

/// The words of a text that name something: paths, identifiers and the words of commands, in small letters.
pub(super) fn names(text: &str) -> BTreeSet<String> {
    listed_names(text).into_iter().map(str::to_lowercase).collect()
}

/// The same as they are written, in their order.
pub(super) fn listed_names(text: &str) -> Vec<&str> {
    let is_inside = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
    text.split(|c: char| !is_inside(c)).map(trimmed).filter(|word| is_name(word)).collect()
}

/// The paths of a text.
pub(super) fn paths(text: &str) -> BTreeSet<String> {
    names(text).into_iter().filter(|name| is_path(name)).map(|path| without_line(&path).to_owned()).collect()
}

/// Whether two paths mean the same file: one may be relative to a directory of the other.
pub(super) fn is_same_file(a: &str, b: &str) -> bool {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let short = short.trim_start_matches("./");
    long == short || long.strip_suffix(short).is_some_and(|before| before.ends_with('/'))
}

fn trimmed(word: &str) -> &str {
    word.trim_matches(|c: char| "-./:".contains(c))
}

/// `src/a.rs:12` means the file.
fn without_line(path: &str) -> &str {
    path.split(':').next().unwrap_or(path)
}

/// Whether a word looks like code: it has an inner capital, a digit, an underscore, or parts.
fn is_name(word: &str) -> bool {
    let has_parts = word.contains(['_', '/', '.', ':']) || word.contains('-') && word.len() > 8;
    let has_capital = word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    word.len() >= SHORTEST && word.chars().any(char::is_alphabetic) && (has_parts || has_capital)
}

/// Whether a name is that of a file, with or without a line.
pub(super) fn is_path(name: &str) -> bool {
    let file = without_line(name);
    let ending = file.rsplit('/').next().and_then(|last| last.rsplit_once('.')).map_or("", |(_, ending)| ending);
    (1..=5).contains(&ending.len()) && ending.chars().all(char::is_alphanumeric)
}

/// The words of a text by their stems, each with its weight.
#[derive(Clone, Debug, Default)]
pub(super) struct Weighed(BTreeMap<String, f64>);

impl Weighed {
    pub(super) fn of(text: &str) -> Weighed {
        let mut found = BTreeMap::new();
        let is_inside = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
        for token in text.split(|c: char| !is_inside(c)) {
            // The parts of a name are its words: what names something says more than what describes it.
            let weight = if is_name(trimmed(token)) { 2.0 } else { 1.0 };
            for_each_word(token, |word| {
                let weight = match word.kind() {
                    WordKind::Common => return,
                    WordKind::Pair => weight / 2.0,
                    WordKind::Ordinary => weight,
                };
                found.insert(word.stem.to_owned(), weight);
            });
        }
        Weighed(found)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The share of the words of two texts that both have, by weight. A word that has two weights has the larger one.
pub(super) fn in_common(a: &Weighed, b: &Weighed) -> f64 {
    let (mut both, mut all) = (0.0, 0.0);
    let (mut left, mut right) = (a.0.iter().peekable(), b.0.iter().peekable());
    loop {
        let next = match (left.peek(), right.peek()) {
            (Some((a, _)), Some((b, _))) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return if all > 0.0 { both / all } else { 0.0 },
        };
        let weight = |words: &mut Peekable<btree_map::Iter<'_, String, f64>>| words.next().map_or(0.0, |it| *it.1);
        match next {
            Ordering::Less => all += weight(&mut left),
            Ordering::Greater => all += weight(&mut right),
            Ordering::Equal => {
                let larger = weight(&mut left).max(weight(&mut right));
                (both, all) = (both + larger, all + larger);
            }
        }
    }
}

/// Words after which the rest of a clause is not wanted.
const NOT: &[&str] =
    &["never", "not", "no", "without", "avoid", "stop", "don", "dont", "doesn", "isn", "shouldn", "mustn"];
/// Words that only say that something is a ruling.
const RULING: &[&str] =
    &["always", "must", "only", "instead", "anymore", "longer", "decid", "now", "again", "from", "forbid"];

/// What a ruling asks for and what it forbids: its words, each with the side on which it stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Sides(BTreeMap<String, bool>);

impl Sides {
    pub(super) fn of(ruling: &str) -> Sides {
        let mut sides = BTreeMap::new();
        let small = ruling.to_lowercase().replace('\u{2019}', "'");
        for clause in small.split([',', ';', '.', ':', '(', ')', '!', '?']).flat_map(|clause| clause.split(" but ")) {
            let mut is_wanted = true;
            for_each_word(clause, |word| {
                if NOT.contains(&word.word) {
                    is_wanted = false;
                } else if word.kind() != WordKind::Common && !RULING.contains(&word.stem) {
                    sides.insert(word.stem.to_owned(), is_wanted);
                }
            });
        }
        Sides(sides)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this ruling reverses an older one: it has most of its words, and most of these have changed sides.
    pub(super) fn reverses(&self, older: &Sides) -> bool {
        let both: Vec<bool> =
            older.0.iter().filter_map(|(word, side)| self.0.get(word).map(|new| new != side)).collect();
        let changed = both.iter().filter(|has_changed| **has_changed).count();
        both.len() * 3 >= older.0.len() * 2 && changed * 2 > both.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_texts_have_a_share_of_their_words_in_common() {
        let common = |a: &str, b: &str| in_common(&Weighed::of(a), &Weighed::of(b));
        assert!((common("fix the lexer now", "Fix the lexers") - 1.0).abs() < 1e-9);
        assert!(
            common("fix parse_span in src/lexer.rs", "look at parse_span in src/lexer.rs") > 0.8,
            "names count twice"
        );
        assert!(common("fix the lexer", "fix the parser") < 0.6);
        assert!(common("", "the of and").abs() < 1e-9);
    }

    #[test]
    fn a_ruling_is_reversed_if_its_words_change_sides() {
        let reverses = |new: &str, old: &str| Sides::of(new).reverses(&Sides::of(old));
        assert!(reverses("always start docker", "never start docker"));
        assert!(reverses("don't squash the commits", "squash the commits"));
        assert!(!reverses("never start docker here", "never start docker"));
        assert!(!reverses("start the server", "never start docker for tests"));
    }

    #[test]
    fn words_that_name_something_are_found() {
        let found: Vec<String> =
            names("Fix the parseError in src/lexer.rs:42, then run `cargo test`.").into_iter().collect();
        assert_eq!(found, ["parseerror", "src/lexer.rs:42"]);
        assert_eq!(paths("see src/lexer.rs:42 and token_kind").into_iter().collect::<Vec<_>>(), ["src/lexer.rs"]);
        assert!(is_same_file("/w/src/a.rs", "src/a.rs") && !is_same_file("/w/xsrc/a.rs", "src/a.rs"));
    }
}
