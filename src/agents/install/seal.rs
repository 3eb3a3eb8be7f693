//! Files that are ours as a whole end in a line with their digest, so that a file somebody has changed is known
//! and left alone.

use crate::base::text;

const MARK: &str = "agent-handover:seal ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealState {
    /// As we wrote it, in whatever version.
    Whole,
    /// Ours, changed by somebody.
    Broken,
    /// Not ours.
    None,
}

/// The text, which must end in a line break, with its seal in a comment that begins and ends like this.
pub fn sealed(text: &str, begin: &str, end: &str) -> String {
    format!("{text}{begin}{MARK}{}{end}\n", digest(text))
}

pub fn look(text: &str) -> SealState {
    // git may have changed the line ends of a file in a project.
    let text = text.replace("\r\n", "\n");
    let Some(at) = text.rfind(MARK) else { return SealState::None };
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[at + MARK.len()..];
    let said: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
    if said == digest(&text[..line]) && rest.lines().count() == 1 { SealState::Whole } else { SealState::Broken }
}

fn digest(data: &str) -> String {
    text::digest(data.as_bytes(), 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_anywhere_breaks_the_seal_and_line_ends_do_not() {
        let text = sealed("one\ntwo\n", "<!-- ", " -->");
        assert_eq!(look(&text), SealState::Whole);
        assert_eq!(look(&text.replace('\n', "\r\n")), SealState::Whole);
        assert_eq!(look(&text.replace("two", "2")), SealState::Broken);
        assert_eq!(look(&format!("{text}more\n")), SealState::Broken);
        assert_eq!(look("somebody else's\n"), SealState::None);
    }
}
