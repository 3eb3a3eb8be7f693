//! The seal: the last line of a file that `install` writes as a whole, with a digest of the lines before it. If the digest
//! differs, somebody has edited the file, and we leave it alone.

use crate::base::text;

const MARK: &str = "agent-handover:seal ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SealState {
    /// The file is as some version of this program wrote it.
    Whole,
    /// This program wrote the file, and somebody has edited it since.
    Broken,
    /// The file has no seal: this program did not write it.
    None,
}

/// The text with its seal. `begin` and `end` make the line a comment in the language of the file, such as `<!-- ` and
/// ` -->`. The text must end in a line break.
pub(crate) fn sealed(text: &str, begin: &str, end: &str) -> String {
    format!("{text}{begin}{MARK}{}{end}\n", digest(text))
}

/// The state of the seal in this text.
pub(crate) fn look(text: &str) -> SealState {
    // Git may have changed the line ends of a file in a project.
    let text = text.replace("\r\n", "\n");
    let Some(at) = text.rfind(MARK) else { return SealState::None };
    let seal_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[at + MARK.len()..];
    let recorded: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
    if recorded == digest(&text[..seal_start]) && rest.lines().count() == 1 {
        SealState::Whole
    } else {
        SealState::Broken
    }
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
