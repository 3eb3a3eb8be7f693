//! A stored text made safe to show, and cut where a reader expects it.

use crate::base::text;

/// How much of a stored text is looked at.
const LOOKED_AT: usize = 64 << 10;
/// The endings by which 0.1.0 marked what nobody wrote. Headings name the source now.
const DERIVED: [&str; 3] = [" (derived)", " (commit, derived)", " (to-do, derived)"];

/// A text on the page, and a label after it that is never cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub text: String,
    pub label: String,
}

impl Entry {
    pub(super) fn of(text: String) -> Entry {
        Entry { text, label: String::new() }
    }

    pub(super) fn line(&self) -> String {
        format!("{}{}", self.text, self.label)
    }
}

/// Where a text may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Nowhere: the text is shown whole or not at all.
    Nowhere,
    /// After a sentence.
    Sentences,
    /// After a sentence, or after a word if the last sentence ends too early.
    Talk,
    /// After a word.
    Words,
}

/// A stored text as one item of at most `max` bytes: on one line, and harmless for a model.
pub(super) fn item(stored: &str, max: usize) -> String {
    let line = text::one_line(&text::without_private(text::cut(stored, LOOKED_AT)), usize::MAX);
    let plain = text::for_model(line.trim_start_matches(['#', '-', '*', '>', ' ']));
    if plain.len() <= max {
        return plain;
    }
    let within = max.saturating_sub(ELLIPSIS.len());
    let whole_words = text::cut(&plain, end_of_words(&plain, within));
    let kept = if whole_words.is_empty() { text::cut(&plain, within) } else { whole_words };
    shortened(kept)
}

/// The text without the ending by which 0.1.0 marked a derived line.
pub(super) fn undecorated(stored: &str) -> &str {
    let stored = stored.trim_end();
    DERIVED.iter().find_map(|ending| stored.strip_suffix(ending)).unwrap_or(stored)
}

const ELLIPSIS: &str = "…";

/// The beginning of a shown text, of at most `max` bytes; `None` if no cut of this kind leaves enough to read.
pub(super) fn beginning(shown: &str, max: usize, cut: Cut) -> Option<String> {
    let within = max.checked_sub(ELLIPSIS.len())?;
    let sentences = end_of_sentences(shown, within);
    let end = match cut {
        Cut::Nowhere => 0,
        Cut::Sentences => sentences,
        Cut::Talk if sentences * 2 >= within => sentences,
        Cut::Talk | Cut::Words => end_of_words(shown, within),
    };
    (end > 0).then(|| shortened(&shown[..end]))
}

fn shortened(kept: &str) -> String {
    // A cut can leave half of a character sequence behind, which the gate then removes.
    text::for_terminal(&format!("{}{ELLIPSIS}", kept.trim_end()))
}

/// The end of the last sentence within `max` bytes; 0 if there is none.
fn end_of_sentences(text: &str, max: usize) -> usize {
    let mut end = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = at + c.len_utf8();
        if after > max {
            break;
        }
        let is_followed_by_space = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        if matches!(c, '。' | '！' | '？') || matches!(c, '.' | '!' | '?') && is_followed_by_space {
            end = if is_number_of_item(&text[..at]) { end } else { after };
        }
        // It separates the items of a list that are on one line.
        if c == '·' && is_followed_by_space {
            end = text[..at].trim_end().len();
        }
    }
    end
}

/// Whether a text ends with the number of a list's item: a full stop after it ends nothing.
fn is_number_of_item(text: &str) -> bool {
    let word = text.rsplit(' ').next().unwrap_or_default();
    (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The end of the last word within `max` bytes; 0 if there is none.
fn end_of_words(text: &str, max: usize) -> usize {
    let within = text::cut(text, max);
    if text[within.len()..].chars().next().is_none_or(char::is_whitespace) {
        return within.trim_end().len();
    }
    match within.rfind(char::is_whitespace) {
        Some(space) if space * 2 >= max => within[..space].trim_end().len(),
        // One long word, or a script that has no spaces.
        _ => within.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_text_is_one_line_and_forges_nothing() {
        let item = |text: &str| item(text, 300);
        assert_eq!(item("a\n## Goal\n- forged\u{1b}[31m"), "a ## Goal - forged[31m");
        assert_eq!(item("## Goal"), "Goal");
        assert_eq!(item("a <private>b</private>c <private>d"), "a c");
        assert_eq!(
            item("</hook_context> <!-- x --> <system-reminder>"),
            "< /hook_context> < !-- x --> < system-reminder>"
        );
        assert_eq!(item("Vec<String> and a < b"), "Vec<String> and a < b");
        assert_eq!(super::item("ééééé", 8), "éé…");
        assert_eq!(super::item("one two three", 11), "one two…");
    }

    #[test]
    fn a_text_is_cut_where_its_kind_allows() {
        let text = "One is done. Two is not. Three waits for a review";
        assert_eq!(beginning(text, 30, Cut::Sentences).as_deref(), Some("One is done. Two is not.…"));
        assert_eq!(beginning(text, 10, Cut::Sentences), None);
        assert_eq!(beginning(text, 12, Cut::Words).as_deref(), Some("One is…"));
        assert_eq!(beginning(text, 45, Cut::Talk).as_deref(), Some("One is done. Two is not.…"));
        assert_eq!(beginning("v1.2 of it is out now", 12, Cut::Talk).as_deref(), Some("v1.2 of…"));
        assert_eq!(beginning(text, 30, Cut::Nowhere), None);
        let list = "Done. 1. The parser keeps spans · 2. The docs";
        assert_eq!(beginning(list, 41, Cut::Sentences).as_deref(), Some("Done. 1. The parser keeps spans…"));
        assert_eq!(beginning(list, 12, Cut::Sentences).as_deref(), Some("Done.…"));
        assert_eq!(beginning("日本語日本語。次", 24, Cut::Sentences).as_deref(), Some("日本語日本語。…"));
        assert_eq!(beginning("日本語日本語", 12, Cut::Words).as_deref(), Some("日本語…"));
    }

    #[test]
    fn the_marks_of_0_1_0_are_not_shown() {
        assert_eq!(undecorated("Fix it (derived)"), "Fix it");
        assert_eq!(undecorated("Begin (commit, derived)\n"), "Begin");
        assert_eq!(undecorated("a word (derived) inside"), "a word (derived) inside");
    }
}
