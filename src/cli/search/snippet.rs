//! The part of a passage that is shown: the lines around the words that were asked for.

use std::ops::Range;

use crate::base::text;

/// How many characters of a passage are shown.
const MAX_SHOWN: usize = 300;
/// How many characters come before the first word that was asked for.
const LEAD: usize = 60;

/// A text, and which parts of it are highlighted.
pub(super) struct Snippet {
    parts: Vec<(String, bool)>,
}

impl Snippet {
    /// The part of a text with most of the matches.
    pub(super) fn of(whole: &str, matches: &[Range<usize>]) -> Snippet {
        let start = best_start(whole, matches);
        let end = whole[start..].char_indices().nth(MAX_SHOWN).map_or(whole.len(), |(at, _)| start + at);
        let mut parts = Vec::new();
        let mut at = start;
        if start > 0 {
            parts.push(("…".to_owned(), false));
        }
        for place in matches.iter().filter(|place| place.start >= start && place.end <= end) {
            parts.push((whole[at..place.start].to_owned(), false));
            parts.push((whole[place.clone()].to_owned(), true));
            at = place.end;
        }
        parts.push((whole[at..end].to_owned(), false));
        if end < whole.len() {
            parts.push(("…".to_owned(), false));
        }
        Snippet { parts }
    }

    /// The snippet in lines of at most this width, broken between words.
    pub(super) fn lines(&self, width: usize) -> Vec<Vec<(String, bool)>> {
        let mut lines = vec![Vec::new()];
        let mut used = 0;
        let mut has_space = false;
        for (part, is_match) in &self.parts {
            for piece in part.split_inclusive(char::is_whitespace) {
                let word = text::model_line(piece, width);
                let length = word.chars().count();
                if length > 0 {
                    if used > 0 && used + length + usize::from(has_space) > width {
                        lines.push(Vec::new());
                        (used, has_space) = (0, false);
                    }
                    let space = if has_space && used > 0 { " " } else { "" };
                    used += length + space.len();
                    if let Some(line) = lines.last_mut() {
                        line.push((space.to_owned(), false));
                        line.push((word, *is_match));
                    }
                    has_space = false;
                }
                has_space |= piece.ends_with(char::is_whitespace);
            }
        }
        lines
    }
}

/// Where the part with most matches begins: a little before the first of them.
fn best_start(whole: &str, matches: &[Range<usize>]) -> usize {
    if whole.chars().count() <= MAX_SHOWN {
        return 0;
    }
    let reach = MAX_SHOWN - LEAD;
    let count = |first: &Range<usize>| {
        matches.iter().filter(|place| place.start >= first.start && place.end <= first.start + reach).count()
    };
    let first = matches.iter().rev().max_by_key(|place| count(place)).map_or(0, |place| place.start);
    let lead = whole[..first].char_indices().rev().nth(LEAD).map_or(0, |(at, _)| at);
    // From the beginning of a word.
    whole[lead..first].find(char::is_whitespace).filter(|_| lead > 0).map_or(lead, |space| lead + space + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(whole: &str, words: &[&str], width: usize) -> Vec<String> {
        let matches: Vec<Range<usize>> =
            words.iter().flat_map(|word| whole.match_indices(word).map(|(at, found)| at..at + found.len())).collect();
        let lines = Snippet::of(whole, &matches).lines(width);
        let mark = |(text, is_match): &(String, bool)| if *is_match { format!("[{text}]") } else { text.clone() };
        lines.iter().map(|line| line.iter().map(mark).collect()).collect()
    }

    #[test]
    fn matches_are_marked_and_lines_are_broken_between_words() {
        assert_eq!(shown("the lexer loops,\nalways", &["lexer"], 40), ["the [lexer] loops, always"]);
        assert_eq!(shown("one two three four", &["three"], 9), ["one two", "[three]", "four"]);
        assert_eq!(shown("", &[], 9), [""]);
    }

    #[test]
    fn of_a_long_text_the_part_with_most_matches_is_shown() {
        let whole =
            format!("lexer {}here the lexer and the parser meet. {}", "filler ".repeat(200), "filler ".repeat(200));
        let lines = shown(&whole, &["lexer", "parser"], 1_000).concat();
        assert!(lines.starts_with('…') && lines.ends_with('…'), "{lines}");
        assert!(lines.contains("the [lexer] and the [parser] meet"), "{lines}");
        assert!(lines.chars().count() < 320);
    }
}
