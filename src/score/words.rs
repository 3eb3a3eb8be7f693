//! The identifiers, paths and commands in a text: what can be found again in what a session does.

use std::collections::BTreeSet;

/// Shorter words are found everywhere.
const SHORTEST: usize = 4;

/// The words of a text that name something: paths, identifiers and the words of commands, in small letters.
pub(super) fn names(text: &str) -> BTreeSet<String> {
    let is_inside = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
    let words = text.split(|c: char| !is_inside(c));
    words.map(trimmed).filter(|word| is_name(word)).map(str::to_lowercase).collect()
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

fn is_path(name: &str) -> bool {
    let file = without_line(name);
    let ending = file.rsplit('/').next().and_then(|last| last.rsplit_once('.')).map_or("", |(_, ending)| ending);
    (1..=5).contains(&ending.len()) && ending.chars().all(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_name_something_are_found() {
        let found: Vec<String> =
            names("Fix the parseError in src/lexer.rs:42, then run `cargo test`.").into_iter().collect();
        assert_eq!(found, ["parseerror", "src/lexer.rs:42"]);
        assert_eq!(paths("see src/lexer.rs:42 and token_kind").into_iter().collect::<Vec<_>>(), ["src/lexer.rs"]);
        assert!(is_same_file("/w/src/a.rs", "src/a.rs") && !is_same_file("/w/xsrc/a.rs", "src/a.rs"));
    }
}
