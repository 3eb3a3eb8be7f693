//! A text as a person sees it. A secret that invisible characters or the escape sequences of a terminal split is a secret all the
//! same: whoever shows the text puts it together again. `grep --color` splits what it prints.

use std::ops::Range;

use crate::base::text::{after_sequence, is_invisible};

/// A text without its invisible characters.
pub(super) struct VisibleText {
    pub text: Vec<u8>,
    /// For each removed character: its place in the text that is left, and how many bytes were removed up to and with it.
    cuts: Vec<(usize, usize)>,
}

impl VisibleText {
    /// `None` if the text has no invisible characters.
    pub(super) fn of(text: &[u8]) -> Option<VisibleText> {
        if std::str::from_utf8(text).is_ok_and(|text| !has_invisible(text)) {
            return None;
        }
        let mut visible = VisibleText { text: Vec::new(), cuts: Vec::new() };
        let mut removed = 0;
        for chunk in text.utf8_chunks() {
            let mut rest = chunk.valid();
            while let Some(c) = rest.chars().next() {
                let (shown, after_it) = rest.split_at(c.len_utf8());
                let after = after_sequence(rest).unwrap_or(after_it);
                if is_invisible(c) {
                    removed += rest.len() - after.len();
                    visible.cuts.push((visible.text.len(), removed));
                } else {
                    visible.text.extend_from_slice(shown.as_bytes());
                }
                rest = after;
            }
            visible.text.extend_from_slice(chunk.invalid());
        }
        (removed > 0).then_some(visible)
    }

    /// Where a range of the visible text is in the text itself.
    pub(super) fn place(&self, range: &Range<usize>) -> Range<usize> {
        let removed_before = |cuts: usize| cuts.checked_sub(1).map_or(0, |last| self.cuts[last].1);
        let start = removed_before(self.cuts.partition_point(|(at, _)| *at <= range.start));
        let end = removed_before(self.cuts.partition_point(|(at, _)| *at < range.end));
        range.start + start..range.end + end
    }
}

/// Whether a text has a character that nobody sees. Of ASCII, of which most texts are, only control characters are decoded.
fn has_invisible(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !matches!(byte, b'\t'..=b'\r' | b' '..=b'~')) {
        let mut chars = rest[at..].chars();
        if chars.next().is_some_and(is_invisible) {
            return true;
        }
        rest = chars.as_str();
    }
    false
}
