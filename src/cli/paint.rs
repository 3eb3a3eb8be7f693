//! The palette: what each part of an answer looks like on a terminal with colour.

use anstyle::{AnsiColor, Style};

/// What a part of a line is. Each role has one look in every command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    #[default]
    Plain,
    /// The head of a table or of a section.
    Head,
    /// What a reader skips unless they look for it, such as an id.
    Quiet,
    Good,
    Notice,
    Bad,
    /// A word that was asked for.
    Match,
}

impl Role {
    pub(super) const fn style(self) -> Style {
        match self {
            Role::Plain => Style::new(),
            Role::Head => Style::new().bold(),
            Role::Quiet => Style::new().dimmed(),
            Role::Good => AnsiColor::Green.on_default(),
            Role::Notice => AnsiColor::Cyan.on_default().bold(),
            Role::Bad => AnsiColor::Red.on_default().bold(),
            Role::Match => AnsiColor::Green.on_default().bold(),
        }
    }
}

/// A line of an answer, in parts that look different.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line(Vec<(Role, String)>);

impl Line {
    pub(super) fn of(role: Role, text: impl Into<String>) -> Line {
        Line::default().and(role, text)
    }

    /// The line with a further part.
    pub(super) fn and(mut self, role: Role, text: impl Into<String>) -> Line {
        match self.0.last_mut() {
            Some((last, before)) if *last == role => before.push_str(&text.into()),
            _ => self.0.push((role, text.into())),
        }
        self
    }

    pub(super) fn plain(self, text: impl Into<String>) -> Line {
        self.and(Role::Plain, text)
    }

    /// The line as it is printed. `clean` makes foreign text harmless, and the escape sequences are ours.
    pub(super) fn render(&self, is_colored: bool, clean: impl Fn(&str) -> String) -> String {
        let mut line = String::new();
        for (role, text) in &self.0 {
            let (style, text) = (role.style(), clean(text));
            let is_styled = is_colored && *role != Role::Plain && !text.is_empty();
            line.push_str(&if is_styled { format!("{style}{text}{style:#}") } else { text });
        }
        line
    }
}

/// One line of a diff.
pub(super) fn of_diff(line: &str) -> Line {
    let role = match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Role::Head,
        [b'@', b'@', ..] => Role::Notice,
        [b'+', ..] => Role::Good,
        [b'-', ..] => Role::Bad,
        _ => Role::Plain,
    };
    Line::of(role, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_terminal_with_colour_gets_escape_sequences_and_only_ours() {
        let line = Line::of(Role::Good, "a\x1b[31m").plain(" b").and(Role::Quiet, "");
        let clean = |text: &str| text.replace('\x1b', "?");
        assert_eq!(line.render(false, clean), "a?[31m b");
        assert_eq!(line.render(true, clean), "\x1b[32ma?[31m\x1b[0m b");
    }

    #[test]
    fn a_diff_shows_what_comes_and_what_goes() {
        let role = |line: &str| of_diff(line).0[0].0;
        assert_eq!([role("+++ b"), role("--- a"), role("@@ -1 +1 @@")], [Role::Head, Role::Head, Role::Notice]);
        assert_eq!(
            [role("+new"), role("-old"), role(" same"), role("")],
            [Role::Good, Role::Bad, Role::Plain, Role::Plain]
        );
    }
}
