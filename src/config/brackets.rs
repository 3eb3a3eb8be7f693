//! The bracket that is not closed. After one, a parser complains about every line that follows, but not about the bracket.

/// The place of the bracket in a TOML text that is not closed, or is closed by one of another kind.
pub(super) fn unclosed(text: &str) -> Option<usize> {
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '#' => at += text[at..].find('\n').unwrap_or(text.len() - at),
            '"' | '\'' => at = end_of_string(text, at)?,
            '[' | '{' => {
                open.push((at, c));
                at += 1;
            }
            ']' | '}' => {
                let (place, opener) = open.pop()?;
                if (opener, c) != ('[', ']') && (opener, c) != ('{', '}') {
                    return Some(place);
                }
                at += 1;
            }
            c => at += c.len_utf8(),
        }
    }
    open.pop().map(|(place, _)| place)
}

/// Where the string ends that begins at a place. `None` if it does not end.
fn end_of_string(text: &str, start: usize) -> Option<usize> {
    let quote = &text[start..=start];
    let long = quote.repeat(3);
    let is_long = text[start..].starts_with(&long);
    let mark = if is_long { long.as_str() } else { quote };
    let mut at = start + mark.len();
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with(mark) {
            return Some(at + mark.len());
        }
        let c = rest.chars().next().filter(|c| is_long || *c != '\n')?;
        at += c.len_utf8();
        if c == '\\' && quote == "\"" {
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_bracket_that_is_not_closed_is_found() {
        for (text, found) in [
            ("a = [1, {b = 2}]\n[c]\n[[d]]\n", None),
            ("a = [\n  {b = 1, c = [2]\n  {b = 2},\n]\n", Some("{b = 1")),
            ("paths = [\"a\", \"b\"\n[backend]\n", Some("[\"a\"")),
            ("a = \"[\" # {\nb = '['\nc = \"\"\"{\n\\\"\"\"\"\n", None),
            ("a = [\"\\\"]\", 1\n", Some("[\"\\\"]")),
            ("a = \"not closed\nb = [\n", None),
            ("a = 1]\n", None),
        ] {
            assert_eq!(unclosed(text), found.map(|found| text.find(found).unwrap()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn property_any_text_is_looked_at_to_its_end(text in "[\\[\\]{}\"'#\\\\\\n a=é]{0,60}") {
            if let Some(at) = unclosed(&text) {
                let is_bracket = text[at..].starts_with(['[', '{']);
                prop_assert!(is_bracket);
            }
        }
    }
}
