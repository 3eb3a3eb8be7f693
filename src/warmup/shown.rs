//! The items that are on the page already. The state, the handoff and the talk often say the same.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::item::{item, undecorated};

/// A shorter text may be part of another one by chance.
const SHORTEST_PIECE: usize = 10;
/// How much of a text is compared, in bytes.
const COMPARED: usize = 450;

#[derive(Default)]
pub(super) struct Shown(HashSet<String>);

impl Shown {
    /// Adds an item, and returns whether it is new and not empty.
    pub(super) fn add(&mut self, item: &str) -> bool {
        !item.is_empty() && self.0.insert(item.to_lowercase())
    }

    /// Whether the page has the beginning of a text, which was cut.
    pub(super) fn has_beginning_of(&self, text: &str) -> bool {
        let text = item(undecorated(text), usize::MAX).to_lowercase();
        self.0.iter().any(|shown| shown.ends_with('…') && text.starts_with(without_ellipsis(shown)))
    }

    /// Whether nearly all of a text is on the page: as the beginning or a part of an item, or in pieces.
    pub(super) fn repeats(&self, text: &str) -> bool {
        let text = item(undecorated(text), COMPARED).to_lowercase();
        let text = without_ellipsis(&text);
        let mut pieces: Vec<&str> = self.0.iter().map(|shown| without_ellipsis(shown)).collect();
        pieces.retain(|piece| piece.len() >= SHORTEST_PIECE);
        if text.len() >= SHORTEST_PIECE && pieces.iter().any(|piece| piece.contains(text)) {
            return true;
        }
        pieces.sort_unstable_by_key(|piece| (Reverse(piece.len()), *piece));
        let rest = pieces.iter().fold(text.to_owned(), |rest, piece| rest.replace(piece, " "));
        // A short item that is a whole clause is not there by chance.
        let is_new = |clause: &&str| !self.0.contains(*clause);
        let left: usize = rest.split([';', ':', '.']).map(str::trim).filter(is_new).map(letters).sum();
        rest.len() < text.len() && left * 4 <= letters(text)
    }
}

fn without_ellipsis(shown: &str) -> &str {
    shown.trim_end_matches('…').trim_end()
}

fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(items: &[&str]) -> Shown {
        let mut shown = Shown::default();
        for item in items {
            assert!(shown.add(item));
        }
        shown
    }

    #[test]
    fn an_item_is_added_once() {
        let mut shown = shown(&["Port the parser"]);
        assert!(!shown.add("port the parser") && !shown.add("") && shown.add("Port the lexer"));
    }

    #[test]
    fn a_text_repeats_what_is_shown_whole_or_in_pieces() {
        let shown = shown(&[
            "The counter lies in shared memory now.",
            "load test with k6.",
            "metrics are summed in the exporter.",
            "Ported the parser. Everything else waits for the new lexer…",
            "done: Port the grammar",
            "The lexer is done",
            "release",
        ]);
        for text in [
            "The counter lies in shared memory now. Next: load test with k6. Decision: metrics are summed in the exporter.",
            "Ported the parser. Everything else …",
            "Port the grammar",
            "The lexer is done; next: release",
        ] {
            assert!(shown.repeats(text), "{text}");
        }
        for text in [
            "The counter lies in shared memory now. It is locked with flock, which NFS does not support before version 4.",
            "k6",
            "Port the docs",
            "The lexer is done; next: the docs",
            "",
        ] {
            assert!(!shown.repeats(text), "{text}");
        }
    }

    #[test]
    fn the_beginning_of_a_text_counts_only_if_it_was_cut() {
        assert!(shown(&["Port the parser and…"]).has_beginning_of("port the parser and then the lexer"));
        assert!(!shown(&["Port the parser"]).has_beginning_of("Port the parser and then the lexer"));
    }
}
