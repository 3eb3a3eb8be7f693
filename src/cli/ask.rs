//! Questions to a person at a terminal. They go to stderr, so that stdout has only the answer.

use std::collections::HashMap;
use std::fmt;

use dialoguer::FuzzySelect;
use dialoguer::console::{Key, Term};
use dialoguer::theme::{SimpleTheme, Theme};
use fuzzy_matcher::FuzzyMatcher;
use fuzzy_matcher::skim::SkimMatcherV2;
use rustix::termios::{self, LocalModes, OptionalActions};
use unicode_width::UnicodeWidthStr;

use super::paint::{Line, Role};
use super::table;
use super::ui::Ui;
use crate::base::{signals, text};
use crate::error::{Category, Error, Result};

/// One choice of a list.
pub(super) struct Choice {
    /// What is shown and searched. A narrow terminal cuts it.
    pub line: String,
    /// Shown behind the line, in a column of its own, and not cut. A line and its end identify a choice: no two may be equal.
    pub end: String,
    /// Shown below the line while it is selected.
    pub preview: Vec<String>,
}

/// Lets a person pick one choice; typing narrows the list. `None` if they leave without picking.
pub(super) fn pick(ui: &Ui, what: &str, choices: Vec<Choice>) -> Result<Option<usize>> {
    let terminal = Term::stderr();
    // Some terminals do not report their size.
    let (rows, columns) = terminal.size_checked().filter(|size| size.0 > 0 && size.1 > 0).unwrap_or((24, 80));
    let longest = choices.iter().map(|choice| choice.preview.len()).max().unwrap_or(0);
    let room = usize::from(rows).saturating_sub(longest + 3).max(1);
    let width = usize::from(columns).saturating_sub(1).max(20);
    let theme = WithPreview::of(choices, width, ui.is_colored());
    let lines = theme.lines.clone();
    // Ctrl-C then ends the question, and the cursor is shown again.
    signals::listen();
    let picker = FuzzySelect::with_theme(&theme).with_prompt(format!("{what} (type to search, Esc to leave)"));
    let picked = picker.items(lines).default(0).max_length(room).report(false).interact_on_opt(&terminal);
    let _ = terminal.show_cursor();
    picked.map_err(failed)
}

/// Asks for one key. Anything that is not a character, such as Esc or Enter, is `None`.
pub(super) fn key(ui: &Ui, question: &str) -> Result<Option<char>> {
    let terminal = Term::stderr();
    signals::listen();
    for line in table::fold(question, ui.message_width()) {
        let _ = terminal.write_line(&line);
    }
    match terminal.read_key() {
        Ok(Key::Char(key)) => Ok(Some(key)),
        Ok(_) => Ok(None),
        Err(cause) => Err(failed(cause.into())),
    }
}

/// Asks for a passphrase without showing it; for a new one twice, because a typing error is invisible.
pub(super) fn passphrase(is_new: bool) -> Result<String> {
    let first = hidden_line("passphrase: ")?;
    if is_new && hidden_line("the same again: ")? != first {
        return Err(Error::failed("these are two different passphrases"));
    }
    Ok(first)
}

/// Reads a line without showing it. Echo is turned off before the question appears, so that fast typing does not show either.
fn hidden_line(question: &str) -> Result<String> {
    let stdin = std::io::stdin();
    let unable = |cause: rustix::io::Errno| Error::new(Category::Io, "the terminal cannot be asked").cause(cause);
    let before = termios::tcgetattr(&stdin).map_err(unable)?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
    termios::tcsetattr(&stdin, OptionalActions::Flush, &hidden).map_err(unable)?;
    let _ = Term::stderr().write_str(question);
    let line = read_keys(|| {
        let mut byte = [0u8; 1];
        matches!(rustix::io::read(&stdin, &mut byte), Ok(1)).then_some(byte[0])
    });
    let _ = termios::tcsetattr(&stdin, OptionalActions::Now, &before);
    let _ = Term::stderr().write_line("");
    line
}

/// Reads keys up to the end of the line. Backspace and Ctrl-U work.
fn read_keys(mut key: impl FnMut() -> Option<u8>) -> Result<String> {
    const INTERRUPT: u8 = 3;
    const END: u8 = 4;
    const BACKSPACE: u8 = 8;
    const ERASE: u8 = 21;
    const DELETE: u8 = 127;
    let mut line = Vec::new();
    loop {
        match key() {
            None | Some(b'\r' | b'\n' | END) => break,
            Some(INTERRUPT) => return Err(Error::new(Category::Signal(2), "interrupted by SIGINT")),
            Some(ERASE) => line.clear(),
            Some(BACKSPACE | DELETE) => {
                // Remove a whole character, which may have several bytes.
                while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
            }
            Some(byte) => line.push(byte),
        }
    }
    String::from_utf8(line).map_err(|_| Error::bad_data("the passphrase is not UTF-8 text"))
}

fn failed(cause: dialoguer::Error) -> Error {
    match signals::received() {
        Some(signal) => Error::new(Category::Signal(signal), format!("interrupted by {}", signals::name(signal))),
        None => Error::new(Category::Io, "the terminal cannot be asked").cause(cause),
    }
}

/// A list in which the selected line has a preview below it.
struct WithPreview {
    /// The lines with their ends, as they are searched.
    lines: Vec<String>,
    choices: HashMap<String, Choice>,
    width: usize,
    /// Where the ends begin.
    column: usize,
    is_colored: bool,
}

/// Between a line and its end.
const GAP: &str = "  ";
/// What is before a line.
const SIGN: usize = 2;

impl WithPreview {
    fn of(choices: Vec<Choice>, width: usize, is_colored: bool) -> WithPreview {
        let clean = |choice: Choice| {
            let (line, end) = (text::for_terminal(&choice.line), text::for_terminal(&choice.end));
            Choice { line, end, ..choice }
        };
        let choices: Vec<Choice> = choices.into_iter().map(clean).collect();
        let widest = |of: fn(&Choice) -> usize| choices.iter().map(of).max().unwrap_or(0);
        let (line, end) = (widest(|choice| choice.line.width()), widest(|choice| choice.end.width()));
        let beside = if end == 0 { SIGN } else { SIGN + GAP.len() + end.min(width / 2) };
        let column = line.min(width.saturating_sub(beside));
        let whole = |choice: &Choice| format!("{}{GAP}{}", choice.line, choice.end).trim_end().to_owned();
        let lines: Vec<String> = choices.iter().map(whole).collect();
        let choices = lines.iter().cloned().zip(choices).collect();
        WithPreview { lines, choices, width, column, is_colored }
    }

    /// The line as it is shown: cut in front of its end.
    fn shown(&self, line: &str) -> String {
        let Some(choice) = self.choices.get(line) else { return line.to_owned() };
        let shown = table::cut(&choice.line, self.column);
        let gap = " ".repeat(self.column.saturating_sub(shown.width()));
        let whole = if choice.end.is_empty() { shown } else { format!("{shown}{gap}{GAP}{}", choice.end) };
        table::cut(&whole, self.width.saturating_sub(SIGN))
    }

    fn has_match(&self, search: &str) -> bool {
        let matcher = SkimMatcherV2::default();
        search.is_empty() || self.lines.iter().any(|line| matcher.fuzzy_match(line, search).is_some())
    }

    /// The line with the letters that were searched for.
    fn painted(&self, shown: &str, is_active: bool, found: &[usize]) -> Line {
        let plain = if is_active { Role::Head } else { Role::Plain };
        let role = |at: usize| if found.contains(&at) { Role::Match } else { plain };
        shown.chars().enumerate().fold(Line::default(), |line, (at, c)| line.and(role(at), c.to_string()))
    }

    fn write(&self, f: &mut dyn fmt::Write, line: &Line) -> fmt::Result {
        f.write_str(&line.render(self.is_colored, str::to_owned))
    }
}

impl Theme for WithPreview {
    fn format_fuzzy_select_prompt(
        &self,
        f: &mut dyn fmt::Write,
        prompt: &str,
        search: &str,
        cursor: usize,
    ) -> fmt::Result {
        SimpleTheme.format_fuzzy_select_prompt(f, prompt, search, cursor)?;
        if self.has_match(search) {
            return Ok(());
        }
        self.write(f, &Line::of(Role::Bad, "  no match"))
    }

    fn format_fuzzy_select_prompt_item(
        &self,
        f: &mut dyn fmt::Write,
        line: &str,
        is_active: bool,
        _: bool,
        matcher: &SkimMatcherV2,
        search: &str,
    ) -> fmt::Result {
        let sign = if is_active { "> " } else { "  " };
        let shown = self.shown(line);
        // What is shown begins as what is searched does.
        let found = matcher.fuzzy_indices(line, search).map(|(_, found)| found).unwrap_or_default();
        let same = shown.chars().zip(line.chars()).take_while(|(shown, searched)| shown == searched).count();
        let found: Vec<usize> = found.into_iter().filter(|at| *at < same).collect();
        self.write(f, &Line::of(Role::Notice, sign))?;
        self.write(f, &self.painted(&shown, is_active, &found))?;
        for more in self.choices.get(line).filter(|_| is_active).iter().flat_map(|choice| &choice.preview) {
            let more = table::cut(&format!("    | {}", text::one_line(more, table::LONGEST_CELL)), self.width);
            f.write_char('\n')?;
            self.write(f, &Line::of(Role::Quiet, more))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_marks_what_it_found_and_reports_that_nothing_matches() {
        let preview = vec!["goal: Ship it".to_owned()];
        let choice = Choice { line: "3 h ago  Ship it".to_owned(), end: String::new(), preview };
        let theme = WithPreview::of(vec![choice], 40, true);
        let prompt = |search: &str| {
            let mut prompt = String::new();
            theme.format_fuzzy_select_prompt(&mut prompt, "handoff", search, 0).unwrap();
            prompt
        };
        assert!(!prompt("").contains("no match") && !prompt("ship").contains("no match"));
        assert!(prompt("zebra").contains("no match"));
        let mut item = String::new();
        let matcher = SkimMatcherV2::default();
        theme.format_fuzzy_select_prompt_item(&mut item, "3 h ago  Ship it", true, false, &matcher, "it").unwrap();
        assert!(item.contains(&format!("{0}it{0:#}", Role::Match.style())), "{item}");
        assert!(item.contains("    | goal: Ship it"), "{item}");
    }

    #[test]
    fn ends_are_below_each_other_and_not_cut() {
        let choice = |line: &str, end: &str| Choice { line: line.to_owned(), end: end.to_owned(), preview: Vec::new() };
        let choices = || vec![choice("1 h ago  Refactor the reader", "1004"), choice("2 h ago  位置情報", "0900-ship")];
        let shown = |width: usize| {
            let theme = WithPreview::of(choices(), width, false);
            theme.lines.iter().map(|line| theme.shown(line)).collect::<Vec<_>>()
        };
        assert_eq!(shown(80), ["1 h ago  Refactor the reader  1004", "2 h ago  位置情報             0900-ship"]);
        assert_eq!(shown(30), ["1 h ago  Refacto…  1004", "2 h ago  位置情報  0900-ship"]);
        for width in 20..60 {
            assert!(shown(width).iter().all(|line| line.width() + SIGN <= width), "{width}");
        }
    }

    #[test]
    fn a_hidden_line_can_be_edited() {
        let line = |keys: &[u8]| {
            let mut keys = keys.iter().copied();
            read_keys(move || keys.next())
        };
        assert_eq!(line("päß\x7f\x7fä \r more".as_bytes()).unwrap(), "pä ");
        assert_eq!(line(b"wrong\x15\x7fright\n").unwrap(), "right");
        assert_eq!(line(b"").unwrap(), "");
        assert_eq!(line(b"abc\x03").unwrap_err().category(), Category::Signal(2));
        assert!(line(b"\xff\n").is_err());
    }
}
