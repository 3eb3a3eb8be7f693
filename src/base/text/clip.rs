//! A text of any size in a place for short ones: its beginning, and a mark that says where the whole of it is.

use std::borrow::Cow;

use super::cut;

/// The beginning of every mark. A text that nobody cut does not contain it.
const MARK: &str = "(cut here by agent-handover: ";

/// The text; if it is longer than `most` bytes, only its beginning and a mark that names the place of the whole text.
pub(crate) fn clipped<'t>(text: &'t str, most: usize, whole_is_in: &str) -> Cow<'t, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let (kept, length) = (beginning(text, most), text.len());
    Cow::Owned(format!("{kept}\n\n{MARK}the whole text has {length} bytes and is in {whole_is_in})"))
}

/// The beginning that a clipped text shows of the whole one; `None` if the text is not clipped.
pub(crate) fn before_cut(text: &str) -> Option<&str> {
    let (kept, mark) = text.trim_end().rsplit_once(MARK)?;
    (mark.ends_with(')') && !mark.contains('\n')).then(|| kept.trim_end())
}

/// The text up to `most` bytes. It ends with a whole line or a whole word if there is one near the end.
fn beginning(text: &str, most: usize) -> &str {
    let kept = cut(text, most);
    let near = kept.len() - kept.len() / 8;
    let end = ['\n', ' '].iter().find_map(|end| kept.rfind(*end).filter(|at| *at >= near));
    kept[..end.unwrap_or(kept.len())].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_a_word_and_says_where_the_whole_is() {
        assert_eq!(clipped("short", 5, "`x`"), "short");
        let long = "some words ".repeat(20);
        let cut = clipped(&long, 100, "`x`");
        assert!(cut.ends_with("words\n\n(cut here by agent-handover: the whole text has 220 bytes and is in `x`)"));
        assert!(long.starts_with(before_cut(&cut).unwrap()));
        assert_eq!(before_cut(&long), None);
        let one_word = "é".repeat(100);
        assert_eq!(before_cut(&clipped(&one_word, 99, "`x`")), Some(&*"é".repeat(49)));
    }
}
