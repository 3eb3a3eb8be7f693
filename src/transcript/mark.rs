//! The mark at the end of every text that is put into an agent's context. In a transcript it shows whether the whole text
//! arrived.
//!
//! It is a digest of the text, so the same text has the same mark and prompt caches hold. A stored text cannot contain one,
//! because the gate breaks comments up.

use crate::base::text;

const BEGIN: &str = "<!-- end ";
const END: &str = " -->";
/// How many bytes of the digest the mark has; twice as many digits.
const DIGEST: usize = 4;

/// The length of a mark with its line end.
pub(crate) const MARK_BYTES: usize = BEGIN.len() + 2 * DIGEST + END.len() + 1;

/// The text with its mark: on a line of its own, or behind a text of one line.
pub(crate) fn marked(text: &str) -> String {
    let lines = text.trim_end_matches('\n');
    let between = if lines.contains('\n') { '\n' } else { ' ' };
    let mark = format!("{lines}{between}{BEGIN}{}{END}", text::digest(text.as_bytes(), DIGEST));
    if text.ends_with('\n') { mark + "\n" } else { mark }
}

/// The first mark in a text, and where it ends.
pub(crate) fn first_mark(text: &str) -> Option<(&str, usize)> {
    text.match_indices(BEGIN).find_map(|(at, _)| {
        let from = at + BEGIN.len();
        let digits = text.get(from..from + 2 * DIGEST)?;
        let is_mark = digits.bytes().all(|byte| byte.is_ascii_hexdigit()) && text[from + 2 * DIGEST..].starts_with(END);
        is_mark.then_some((digits, from + 2 * DIGEST + END.len()))
    })
}

/// Whether the text that ends with this mark is the one that was marked. A client may leave out the middle of a text and keep
/// its end.
pub(super) fn is_intact(text_with_mark: &str, mark: &str) -> bool {
    let Some((before, _)) = text_with_mark.rsplit_once(BEGIN) else { return false };
    let lines = before.strip_suffix(['\n', ' ']).unwrap_or(before);
    ["", "\n"].iter().any(|end| text::digest(format!("{lines}{end}").as_bytes(), DIGEST) == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_its_middle_is_not_intact() {
        for text in ["one\ntwo\nthree\n", "one line\n", "one line", "one\ntwo"] {
            let marked = marked(text);
            let (mark, end) = first_mark(&marked).unwrap();
            assert!(is_intact(&marked[..end], mark), "{text}");
            assert!(!is_intact(&marked[..end].replace('o', ""), mark), "{text}");
        }
    }

    #[test]
    fn the_same_text_has_the_same_mark_and_another_text_another() {
        assert_eq!(marked("a\n"), marked("a\n"));
        assert_ne!(first_mark(&marked("a\n")).unwrap().0, first_mark(&marked("b\n")).unwrap().0);
        assert_eq!(marked("a\n").len(), 2 + MARK_BYTES);
        assert_eq!(marked("a").len(), 1 + MARK_BYTES);
        assert!(marked("a").starts_with("a <!-- end ") && marked("a").ends_with(" -->"));
        assert!(marked("a\n").starts_with("a <!-- end ") && marked("a\n").ends_with(" -->\n"));
        assert!(marked("a\nb\n").starts_with("a\nb\n<!-- end ") && marked("a\nb\n").ends_with(" -->\n"));
    }

    #[test]
    fn only_a_mark_is_a_mark() {
        for text in ["", "<!-- end -->", "<!-- end zzzzzzzz -->", "<!-- end 01234567", "<!-- end 0123ä567 -->"] {
            assert_eq!(first_mark(text), None, "{text}");
        }
        let text = "<!-- end nothing --> <!-- end 01234567 --> rest";
        let (mark, end) = first_mark(text).unwrap();
        assert_eq!((mark, &text[end..]), ("01234567", " rest"));
    }
}
