//! Finding an error that was met before: the message without what differs each time, and what was done next.

use super::answer::{Hit, Near};
use super::passage::PassageKind;
use super::store::Index;
use crate::base::text;

/// How much of either end of a message is read, and how many lines of it are looked for. The errors of a long log are at its
/// beginning or at its end.
const MAX_END: usize = 128 << 10;
const MAX_LINES: usize = 8;
/// How many passages after an error are looked at, and how many of them are shown.
const LOOK_AHEAD: i64 = 30;
const SHOWN: usize = 4;
const MAX_SHOWN: usize = 400;
/// The share of the message that an earlier error must have: half of it may be about the circumstances.
pub(super) const LEAST: f64 = 0.5;

/// Parts of lines that name an error, in small letters.
const SIGNS: [&str; 10] =
    ["error", "exception", "fatal", "fail", "panic", "cannot", "could not", "no such", "not found", "denied"];

/// The question that an error message asks: its lines that name the error, without numbers, addresses, hashes and directories.
pub(crate) fn question(message: &str) -> String {
    let message = text::without_sequences(&ends(message));
    let is_sign = |line: &&str| SIGNS.iter().any(|sign| line.to_lowercase().contains(sign));
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut telling: Vec<&str> = lines.iter().copied().filter(is_sign).take(MAX_LINES).collect();
    if telling.is_empty() {
        telling = lines.into_iter().take(MAX_LINES).collect();
    }
    let words = telling.iter().flat_map(|line| line.split_whitespace()).map(lasting).filter(|word| !word.is_empty());
    // A quote would ask for a phrase.
    words.collect::<Vec<_>>().join(" ").replace('"', " ")
}

/// The beginning and the end of a message, or all of it.
fn ends(message: &str) -> String {
    let (head, rest) = message.split_at(text::cut(message, MAX_END).len());
    let tail = (rest.len().saturating_sub(MAX_END)..=rest.len()).find_map(|at| rest.get(at..)).unwrap_or_default();
    let between = if head.len() + tail.len() < message.len() { "\n" } else { "" };
    format!("{head}{between}{tail}")
}

/// The part of a word that is the same each time: the name of a file without its directory and line, nothing of a number, an
/// address or a hash.
fn lasting(word: &str) -> &str {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '_');
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = name.split(':').next().unwrap_or(name);
    let digits = name.chars().filter(char::is_ascii_digit).count();
    let is_hex = name.len() >= 7 && name.chars().all(|c| c.is_ascii_hexdigit() || c == '-') && digits > 0;
    let is_number = name.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '_' | 'x'));
    if is_hex || is_number || name.starts_with("0x") { "" } else { name }
}

/// What was done after an error: commands that passed first, then edits, then what the agent said.
pub(super) fn what_was_done(index: &Index, hit: &Hit) -> rusqlite::Result<Vec<Near>> {
    let (mut passed, mut edited, mut said) = (Vec::new(), Vec::new(), Vec::new());
    let near = |kind: PassageKind, line: &str| Near { kind, text: text::kept_line(line, MAX_SHOWN) };
    for passage in index.passages_between(hit.document, hit.number + 1, hit.number + LOOK_AHEAD)? {
        match passage.kind {
            PassageKind::Command if passage.text.starts_with("edited ") => {
                edited.push(near(passage.kind, &passage.text))
            }
            PassageKind::Command => {
                let lines = passage.text.lines().filter(|line| line.ends_with("(passed)"));
                passed.extend(lines.map(|line| near(passage.kind, line)));
            }
            PassageKind::Answer | PassageKind::Ruling => said.push(near(passage.kind, &passage.text)),
            _ => {}
        }
    }
    passed.truncate(SHOWN / 2);
    edited.truncate(1);
    said.reverse();
    said.truncate(1);
    Ok([passed, edited, said].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errors_of_a_long_log_are_at_its_ends() {
        let noise = "a line that says nothing ä\n".repeat(40_000);
        assert_eq!(question(&format!("{noise}error: linker failed\n")), "error linker failed");
        assert_eq!(question(&format!("error: linker failed\n{noise}")), "error linker failed");
        assert_eq!(question("error: linker failed"), "error linker failed");
    }

    #[test]
    fn what_differs_each_time_is_left_out() {
        for (message, expected) in [
            ("error[E0308]: mismatched types\n  --> src/a.rs:10:5", "error[E0308 mismatched types"),
            ("\u{1b}[31merror\u{1b}[0m: cannot open /home/me/x/data.bin:12", "error cannot open data.bin"),
            (
                "panicked at 0x7ffe12 after 1200 ms: failed to get 3f2504e0-4f89-11d3",
                "panicked at after ms failed to get",
            ),
            ("it just stopped\nat line 7", "it just stopped at line"),
            ("error[\u{1b}]8;;https://x.example/E0308.html\u{7}E0308\u{1b}]8;;\u{7}]: no", "error[E0308 no"),
            ("", ""),
        ] {
            assert_eq!(question(message), expected, "{message}");
        }
    }
}
