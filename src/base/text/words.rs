//! Lines, cuts, file names, digests and suggestions.

use sha2::{Digest, Sha256};

use super::{for_model, for_terminal};

/// How much of a text is looked at for a line of it. A text may have any size, and a line shows its beginning.
const LOOKED_AT: usize = 1 << 20;
/// The character with which an escape sequence begins.
const ESCAPE: char = '\u{1b}';

/// Text for a message: one line as a terminal may show it, at most `max` characters.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    // A cut can leave half of a sequence behind, which then is not shown either.
    for_terminal(&shortened(&joined(&for_terminal(&joined(beginning(text, max)))), max))
}

/// The same for a model: markup and `@path` are broken up.
pub(crate) fn model_line(text: &str, max: usize) -> String {
    for_terminal(&shortened(&for_model(&joined(&for_terminal(&joined(beginning(text, max))))), max))
}

/// Text for storage on one line, at most `max` characters: only control characters are removed, all else stays as it was
/// written.
pub(crate) fn kept_line(text: &str, max: usize) -> String {
    let mut line = String::new();
    let mut room = max;
    let chars = text.split_whitespace().enumerate().flat_map(|(number, word)| {
        let space = (number > 0).then_some(' ');
        space.into_iter().chain(word.chars().filter(|c| !c.is_control()))
    });
    // Stops where the line is full, because the text may be much longer.
    for c in chars {
        if room == 0 {
            line.push('…');
            break;
        }
        line.push(c);
        room -= 1;
    }
    line
}

/// Text for storage without control characters, except newline and tab.
pub(crate) fn without_controls(text: &str) -> String {
    if has_no_controls(text) {
        return text.to_owned();
    }
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// Text for storage without what a terminal would carry out: without escape sequences, which would divide words, and without
/// other control characters, except newline and tab.
pub(crate) fn without_sequences(text: &str) -> String {
    if has_no_controls(text) { text.to_owned() } else { without_controls(&without_styles(text)) }
}

/// A line of output as a terminal leaves it: without escape sequences, and what a carriage return wrote over is gone.
pub(crate) fn as_left(line: &str) -> String {
    let plain = without_styles(line);
    let left = plain.split('\r').rev().find(|part| !part.trim().is_empty());
    without_controls(left.unwrap_or_default())
}

/// The last line of output that says something, as a terminal leaves it.
pub(crate) fn last_line(output: &str) -> Option<String> {
    output.lines().rev().map(as_left).find(|line| !line.trim().is_empty())
}

/// The text without the escape sequences that colour it, link it or name a window. An escape that begins nothing stays.
pub(crate) fn without_styles(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(ESCAPE) {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        rest = after_sequence(from).unwrap_or_else(|| {
            plain.push(ESCAPE);
            &from[ESCAPE.len_utf8()..]
        });
    }
    plain + rest
}

/// What follows the escape sequence with which a text begins; `None` if it begins with none.
pub(crate) fn after_sequence(text: &str) -> Option<&str> {
    let text = text.strip_prefix(ESCAPE)?;
    if let Some(rest) = text.strip_prefix('[') {
        let end = rest.find(|c: char| !matches!(c, ' '..='?'))?;
        return matches!(rest.as_bytes()[end], b'@'..=b'~').then(|| &rest[end + 1..]);
    }
    if let Some(rest) = text.strip_prefix(']') {
        // The end is another escape sequence or the bell. Without an end in the same line, it is not a sequence.
        let end = rest.find(|c: char| c.is_control())?;
        let after = &rest[end..];
        return after.strip_prefix('\u{7}').or_else(|| after.strip_prefix("\u{1b}\\"));
    }
    text.strip_prefix("(B")
}

/// Whether a text surely has no control characters, except newline and tab. Most texts have none.
pub(crate) fn has_no_controls(text: &str) -> bool {
    // Those that are not ASCII begin with this byte, as some others do.
    let is_plain = |byte: &u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~' | 0x80..=0xc1 | 0xc3..);
    // A block is looked at as a whole, which costs less than to stop within it.
    text.as_bytes().chunks(64).all(|block| block.iter().fold(true, |so_far, byte| so_far & is_plain(byte)))
}

/// The part of a text that can be in a line of `max` characters.
fn beginning(text: &str, max: usize) -> &str {
    cut(text, max.saturating_mul(64).max(LOOKED_AT))
}

fn joined(text: &str) -> String {
    let mut line = String::new();
    for (number, word) in text.split_whitespace().enumerate() {
        if number > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

fn shortened(line: &str, max: usize) -> String {
    match line.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// The first `bytes` of a SHA-256 in hexadecimal.
pub fn digest(data: &[u8], bytes: usize) -> String {
    hex(&Sha256::digest(data)[..bytes.min(32)])
}

pub(crate) fn hex(data: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hex = String::with_capacity(2 * data.len());
    for byte in data {
        hex.push(char::from(DIGITS[usize::from(byte >> 4)]));
        hex.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    hex
}

/// Any text as part of a file name. Plain text stays as it is. Anything else gets a digest after a `~`, which plain text
/// cannot contain, so two different texts never share a name.
pub(crate) fn safe_file_name(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.len() <= 64 && !text.is_empty() && text.chars().all(plain) && !text.starts_with('.') {
        return text.to_owned();
    }
    let readable: String = text.chars().map(|c| if plain(c) { c } else { '-' }).collect();
    format!("{}~{}", cut(readable.trim_start_matches('.'), 48), digest(text.as_bytes(), 6))
}

/// Bytes as text. A byte that is not UTF-8 is written as `\xe9`.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

/// The candidate a person most likely meant, if any is close.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + word.len().min(candidate.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// "1 item", "2 items".
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The text as one word of a POSIX shell.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Cuts at a character boundary at or before `max` bytes.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_kept_line_is_the_beginning_of_the_joined_text(text in "[a-c \\n\\t\\x07é\u{200b}]{0,40}", max in 0..20usize) {
            prop_assert_eq!(kept_line(&text, max), shortened(&without_controls(&joined(&text)), max));
        }
    }

    #[test]
    fn a_line_is_one_line_and_not_longer_than_asked() {
        assert_eq!(one_line("a\n b\x07\tc", 10), "a b c");
        assert_eq!(one_line("abcdef", 3), "abc…");
        assert_eq!(one_line("👩‍🚀x", 2), "👩…");
        assert_eq!(model_line("a\n<system>", 20), "a < system>");
    }

    #[test]
    fn stored_text_keeps_what_is_invisible() {
        let text = "می‌خواهم \u{200b}\u{e0041}\u{202e}👩‍🚀";
        assert_eq!(kept_line(&format!("{text}\n\u{1b}x"), 100), format!("{text} x"));
        assert_eq!(without_controls(&format!("{text}\n\u{1b}x")), format!("{text}\nx"));
    }

    #[test]
    fn escape_sequences_are_removed_whole_and_nothing_else() {
        for (styled, plain) in [
            ("\u{1b}[0m\u{1b}[1;38;5;9merror\u{1b}[0m: no", "error: no"),
            ("\u{1b}]8;;https://x.example/E1\u{1b}\\E1\u{1b}]8;;\u{1b}\\ and", "E1 and"),
            ("\u{1b}]0;a title\u{7}text\u{1b}(B\u{1b}[m", "text"),
            ("gh\u{1b}[1mp_\u{1b}[Kx", "ghp_x"),
            ("[31m is no style", "[31m is no style"),
            ("a\u{1b}", "a\u{1b}"),
            ("a\u{1b}[", "a\u{1b}["),
            ("a\u{1b}[1ä", "a\u{1b}[1ä"),
            ("a\u{1b}]never closed\nb\u{7}", "a\u{1b}]never closed\nb\u{7}"),
        ] {
            assert_eq!(without_styles(styled), plain, "{styled:?}");
        }
    }

    #[test]
    fn the_last_line_of_output_is_what_a_terminal_shows() {
        for (output, last) in [
            ("one\ntwo\n", Some("two")),
            ("10 %\r20 %\r\u{1b}[32m30 %\u{1b}[0m\r\n \n\u{1b}[0m\n", Some("30 %")),
            ("windows\r\n", Some("windows")),
            ("a\u{8}b", Some("ab")),
            ("\n \r\n", None),
        ] {
            assert_eq!(last_line(output).as_deref(), last, "{output:?}");
        }
    }

    #[test]
    fn different_texts_never_share_a_file_name() {
        let long = "x".repeat(200);
        let texts = [
            "a/b",
            "a-b",
            "a b",
            "a_b",
            "a.b",
            "../../evil",
            "..",
            ".hidden",
            "é",
            "e",
            "a\\b",
            "a:b",
            "a~b",
            &long,
            "-",
            "x",
            "",
        ];
        let names: std::collections::BTreeSet<String> = texts.iter().map(|text| safe_file_name(text)).collect();
        assert_eq!(names.len(), texts.len());
        for name in names {
            assert!(!name.starts_with('.') && !name.contains(['/', '\\', '\0']) && name.len() <= 64, "{name}");
        }
        assert_eq!(safe_file_name("general"), "general");
    }

    #[test]
    fn only_a_close_name_is_suggested() {
        assert_eq!(nearest("memorydir", ["memory_dir", "tag"]), Some("memory_dir"));
        assert_eq!(nearest("notee", ["note", "state"]), Some("note"));
        assert_eq!(nearest("zzz", ["tag", "note"]), None);
        assert_eq!(nearest("x", ["tag"]), None);
    }
}
