//! What a person asks for: words, quoted phrases, `path:` and `error:` prefixes, and filters.
//!
//! Every text is a question. There is no syntax that could be wrong: a quote that is not closed reaches to the end, and a
//! prefix without a value is a word.

use std::path::{Path, PathBuf};

use chrono::NaiveDate;

use super::PassageKind;
use super::dates::{self, NamedTime};
use super::words::{self, Word};
use crate::base::text;

/// How much of a question is read. A pasted log is longer, and its beginning is enough.
pub(super) const MAX_QUESTION: usize = 16 << 10;
/// How many different words of a question are looked for.
const MAX_WORDS: usize = 100;
/// How many phrases and prefixes count.
const MAX_PHRASES: usize = 8;

const PATH: &str = "path:";
const ERROR: &str = "error:";
/// What makes a word a condition.
pub(super) const PREFIXES: [&str; 2] = [PATH, ERROR];

/// A question and its filters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    pub text: String,
    /// The text is an error message.
    pub is_error: bool,
    /// The sessions that touched this file are asked for, by its path relative to the project.
    pub file: Option<String>,
    pub limit: usize,
    /// Only passages of these kinds; all if it is empty.
    pub kinds: Vec<PassageKind>,
    pub agent: Option<String>,
    pub branch: Option<String>,
    /// Only what was said at or after, and before these times, in seconds since 1970.
    pub since: Option<i64>,
    pub until: Option<i64>,
    /// How many passages are scored, for a caller who needs only what is very near.
    pub scored: Option<usize>,
    /// The roots of the project: an absolute path in the question may be in one of them.
    pub roots: Vec<PathBuf>,
}

/// A question as the ranking reads it.
#[derive(Debug, Default)]
pub(super) struct Question {
    /// The different words that say something, in their order.
    pub words: Vec<String>,
    /// Texts that a passage must have word by word.
    pub phrases: Vec<Vec<String>>,
    /// Paths of which a document must have touched or named each.
    pub paths: Vec<String>,
    /// Only errors are meant.
    pub is_about_error: bool,
    pub times: Vec<NamedTime>,
    /// Nothing but times is asked for. A year alone may be any number.
    pub is_only_time: bool,
}

/// Whether a question asks only for a time, such as "last Tuesday".
pub(crate) fn asks_only_for_a_time(question: &str, today: NaiveDate) -> bool {
    Question::of(question, today).is_only_time
}

impl Question {
    pub(super) fn of(question: &str, today: NaiveDate) -> Question {
        let text = text::without_sequences(text::cut(question, MAX_QUESTION));
        let (times, others) = dates::split_times(&text, today);
        let is_only_time = times.iter().any(|time| !matches!(time, NamedTime::Year(_)))
            && words::words(&others).iter().all(|word| word.is_common);
        let mut found = Question { times, is_only_time, ..Question::default() };
        let mut plain = String::new();
        for (number, part) in text.split('"').enumerate() {
            if number % 2 == 1 {
                found.add_phrase(part);
            }
            for token in part.split_whitespace() {
                plain.push(' ');
                plain.push_str(found.without_prefix(token, number % 2 == 1));
            }
        }
        found.add_words(&words::words(&plain));
        found
    }

    /// Makes absolute paths relative to the root that they are in, as the index knows them.
    pub(super) fn make_relative(&mut self, roots: &[PathBuf]) {
        for path in &mut self.paths {
            let below = roots.iter().find_map(|root| Path::new(path.as_str()).strip_prefix(root).ok());
            if let Some(below) = below.and_then(Path::to_str).map(str::to_owned) {
                *path = below;
            }
        }
        // The root itself is no condition.
        self.paths.retain(|path| !path.is_empty());
    }

    fn add_phrase(&mut self, text: &str) {
        let phrase: Vec<String> =
            words::words(text).into_iter().filter(|word| !word.is_whole).map(|word| word.term).collect();
        if phrase.len() > 1 && self.phrases.len() < MAX_PHRASES {
            self.phrases.push(phrase);
        }
    }

    /// A token without its prefix. The rest of it is looked for as well.
    fn without_prefix<'t>(&mut self, token: &'t str, is_quoted: bool) -> &'t str {
        let value = |prefix: &str| token.strip_prefix(prefix).filter(|value| !value.is_empty() && !is_quoted);
        if let Some(path) = value(PATH) {
            if self.paths.len() < MAX_PHRASES {
                self.paths.push(path.trim_start_matches("./").trim_end_matches('/').to_owned());
            }
            return path;
        }
        if let Some(error) = value(ERROR) {
            self.is_about_error = true;
            return error;
        }
        token
    }

    fn add_words(&mut self, words: &[Word]) {
        for word in words.iter().filter(|word| !word.is_common) {
            if self.words.len() < MAX_WORDS && !self.words.contains(&word.term) {
                self.words.push(word.term.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(text: &str) -> Question {
        Question::of(text, NaiveDate::from_ymd_opt(2026, 11, 18).unwrap())
    }

    #[test]
    fn words_phrases_and_prefixes_are_told_apart() {
        let found = question(r#"why does "the lexer loops" fail path:./src/lexer.rs error:E0308"#);
        assert_eq!(found.words, ["lexer", "loop", "fail", "src", "rs", "e0308"]);
        assert_eq!(found.phrases, [["the", "lexer", "loop"]]);
        assert_eq!(found.paths, ["src/lexer.rs"]);
        assert!(found.is_about_error);
    }

    #[test]
    fn a_question_may_ask_for_a_time_only() {
        for only in ["last Tuesday", "10 November", "2026-11-10", "on the 10th of November 2026", "yesterday?"] {
            assert!(question(only).is_only_time, "{only}");
        }
        for more in ["2026", "the lexer of last Tuesday", "the last error", "10", "lexer", ""] {
            assert!(!question(more).is_only_time, "{more}");
        }
    }

    #[test]
    fn any_text_is_a_question() {
        for text in [
            "",
            "\"",
            "\"open",
            "path:",
            "error: x",
            "a AND (b OR",
            "NEAR(\"x\" 3)",
            "col:x*",
            "'; DROP TABLE",
            "\0\u{1b}[2J",
            "🦀",
        ] {
            question(text);
        }
        assert_eq!(question("path: x").paths, Vec::<String>::new());
        assert_eq!(question("\u{1b}[31mlexer\u{1b}[0m loops").words, ["lexer", "loop"], "text from a terminal");
        assert_eq!(question(&"word ".repeat(1 << 20)).words, ["word"]);
    }
}
