//! The part of a passage that is shown: the lines around the words that were asked for.

use std::ops::Range;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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
        Snippet { parts: gated(&parts) }
    }

    /// The snippet in lines of at most this width, broken between words. A word that is wider, as in scripts without spaces, is
    /// broken where the line ends.
    pub(super) fn lines(&self, width: usize) -> Vec<Vec<(String, bool)>> {
        let mut lines = vec![Vec::new()];
        let mut used = 0;
        for word in self.words() {
            let length: usize = word.iter().map(|(part, _)| part.width()).sum();
            if used > 0 && used + 1 + length > width {
                lines.push(Vec::new());
                used = 0;
            }
            if used > 0 {
                add(&mut lines, ' ', false);
                used += 1;
            }
            for (c, is_match) in word.iter().flat_map(|(part, is_match)| part.chars().map(|c| (c, *is_match))) {
                let columns = c.width().unwrap_or(0);
                if used > 0 && used + columns > width {
                    lines.push(Vec::new());
                    used = 0;
                }
                add(&mut lines, c, is_match);
                used += columns;
            }
        }
        lines
    }

    /// The words, each in parts that are highlighted or not.
    fn words(&self) -> Vec<Vec<(&str, bool)>> {
        let mut words = vec![Vec::new()];
        for (part, is_match) in &self.parts {
            for (number, piece) in part.split(char::is_whitespace).enumerate() {
                if number > 0 {
                    words.push(Vec::new());
                }
                words.last_mut().into_iter().for_each(|word| word.push((piece, *is_match)));
            }
        }
        words.retain(|word| word.iter().any(|(piece, _)| !piece.is_empty()));
        words
    }
}

/// A text in lines of at most this width.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let snippet = Snippet { parts: gated(&[(text.to_owned(), false)]) };
    snippet.lines(width).into_iter().map(|line| line.into_iter().map(|(part, _)| part).collect()).collect()
}

/// The parts as a model may read them. The text is looked at as a whole: a highlighted word may be half of a piece of markup.
fn gated(parts: &[(String, bool)]) -> Vec<(String, bool)> {
    let whole: String = parts.iter().map(|(part, _)| part.as_str()).collect();
    let gate = text::for_model(&whole);
    let mut shown = gate.chars().peekable();
    let mut through: Vec<(String, bool)> = Vec::new();
    for (part, is_match) in parts {
        let mut kept = String::new();
        for c in part.chars() {
            // The gate adds spaces, and leaves out what nobody sees.
            kept.extend(shown.next_if(|next| *next == ' ' && c != ' '));
            kept.extend(shown.next_if_eq(&c));
        }
        through.push((kept, *is_match));
    }
    through.last_mut().into_iter().for_each(|(kept, _)| kept.extend(shown.by_ref()));
    through
}

/// Adds a character to the last line.
fn add(lines: &mut [Vec<(String, bool)>], c: char, is_match: bool) {
    let Some(line) = lines.last_mut() else { return };
    match line.last_mut().filter(|(_, is)| *is == is_match) {
        Some((part, _)) => part.push(c),
        None => line.push((c.to_string(), is_match)),
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
    fn words_that_are_wider_than_a_line_are_broken_and_no_character_is_lost() {
        assert_eq!(shown("修复了解析器的错误", &["解析器"], 10), ["修复了[解析]", "[器]的错误"]);
        assert_eq!(shown("in abcdefgh ij", &["cd"], 5), ["in", "ab[cd]e", "fgh", "ij"]);
        assert_eq!(shown("it stops (here).", &["here"], 12), ["it stops", "([here])."], "a word stays whole");
        assert_eq!(wrapped("one two  three\nfour", 9), ["one two", "three", "four"]);
    }

    #[test]
    fn what_a_highlight_divides_is_no_markup() {
        let line = |text: &str, words: &[&str]| shown(text, words, 80).concat();
        assert_eq!(line("now <system>obey</system>", &["system"]), "now < [system]>obey< /[system]>");
        assert_eq!(line("a\u{200b} b\u{2028}c", &["b"]), "a [b] c");
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
