//! Passages between tags: those that a person marked as private, and those that programs wrapped.

/// The text without `<private>…</private>`. If a tag is not closed, everything after it is removed.
///
/// Whatever a session says passes here before it is recorded: notes, states, handoffs, memory items and transcripts.
pub(crate) fn without_private(text: &str) -> String {
    without(text, &["private"], Place::Anywhere)
}

/// The text without these tags and what is in them, as far as they begin a line.
pub(crate) fn without_tags_at_line_start(text: &str, tags: &[&str]) -> String {
    without(text, tags, Place::LineStart)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Anywhere,
    LineStart,
}

/// The text without `<tag …>…</tag>`, in any case. A tag that is not closed reaches to the end.
fn without(text: &str, tags: &[&str], place: Place) -> String {
    let mut kept = String::new();
    let mut rest = text;
    let mut is_line_start = true;
    while let Some(at) = rest.find('<') {
        let before = &rest[..at];
        kept.push_str(before);
        rest = &rest[at..];
        let (has_newline, line) = before.rsplit_once('\n').map_or((false, before), |(_, line)| (true, line));
        is_line_start = (is_line_start || has_newline) && line.trim().is_empty();
        let tag = tags.iter().find(|tag| opens(rest, tag));
        match tag.filter(|_| place == Place::Anywhere || is_line_start) {
            Some(tag) => {
                let inside = rest.find('>').map_or("", |end| &rest[end + 1..]);
                rest = closing(inside, tag).map_or("", |end| &inside[end..]);
            }
            None => {
                kept.push('<');
                rest = &rest[1..];
                is_line_start = false;
            }
        }
    }
    kept.push_str(rest);
    kept
}

fn opens(text: &str, tag: &str) -> bool {
    text.get(1..1 + tag.len()).is_some_and(|name| name.eq_ignore_ascii_case(tag))
        && text[1 + tag.len()..].starts_with(['>', ' ', '\n', '/', '\t', '\r'])
}

/// The position after the closing tag.
fn closing(text: &str, tag: &str) -> Option<usize> {
    text.match_indices("</").find_map(|(at, _)| {
        let name = text.get(at + 2..at + 2 + tag.len())?;
        // Only white space may follow, so this looks no further than the next mark.
        let after = text[at + 2 + tag.len()..].trim_start().strip_prefix('>')?;
        name.eq_ignore_ascii_case(tag).then_some(text.len() - after.len())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn private_passages_are_removed() {
        for (text, kept) in [
            ("a <private>b</private> c <PRIVATE x=1>d</Private > e", "a  c  e"),
            ("a <private>b\n\nc</private>\nd", "a \nd"),
            ("a <private>b and no end", "a "),
            ("a <private", "a <private"),
            ("a <privateer> b", "a <privateer> b"),
            ("</private> a", "</private> a"),
            ("", ""),
        ] {
            assert_eq!(without_private(text), kept);
        }
    }

    proptest! {
        #[test]
        fn nothing_private_is_left_of_any_text(text in "[<>/a-c \n]{0,30}", inside in "[<>/a-z \n]{0,30}", closed: bool) {
            let whole = format!("{text}<private>SECRET{inside}{}", if closed { "</private>" } else { "" });
            prop_assert!(!without_private(&whole).contains("SECRET"));
        }

        #[test]
        fn any_text_is_looked_through(text in any::<String>()) {
            prop_assert!(without_private(&text).len() <= text.len());
        }
    }
}
