//! Questions to a person at a terminal. They stand on stderr, so that the answer alone is on stdout.

use std::collections::HashMap;
use std::fmt;

use dialoguer::console::Term;
use dialoguer::theme::{SimpleTheme, Theme};
use dialoguer::{FuzzySelect, Password};
use fuzzy_matcher::skim::SkimMatcherV2;

use super::table;
use crate::base::{signals, text};
use crate::error::{Category, Error, Result};

/// Something to choose.
pub struct Choice {
    /// No two are alike: it is by their lines that choices are told apart.
    pub line: String,
    /// What is shown below the line while it is the one.
    pub preview: Vec<String>,
}

/// Which one; `None` for who wants none. What is typed narrows the list.
pub fn pick(what: &str, choices: Vec<Choice>) -> Result<Option<usize>> {
    let terminal = Term::stderr();
    // Some terminals do not say how large they are.
    let (rows, columns) = terminal.size_checked().filter(|size| size.0 > 0 && size.1 > 0).unwrap_or((24, 80));
    let longest = choices.iter().map(|choice| choice.preview.len()).max().unwrap_or(0);
    let room = usize::from(rows).saturating_sub(longest + 3).max(1);
    let lines: Vec<String> = choices.iter().map(|choice| text::printable(&choice.line)).collect();
    let previews = lines.iter().cloned().zip(choices.into_iter().map(|choice| choice.preview)).collect();
    let theme = WithPreview { previews, width: usize::from(columns).saturating_sub(1).max(20) };
    // Ctrl-C is then an answer, and the cursor comes back.
    signals::listen();
    let picker = FuzzySelect::with_theme(&theme).with_prompt(format!("{what} (type to search, Esc to leave)"));
    let picked = picker.items(lines).default(0).max_length(room).report(false).interact_on_opt(&terminal);
    let _ = terminal.show_cursor();
    picked.map_err(failed)
}

/// Without showing it; a new one twice, since nobody sees a slip.
pub fn passphrase(is_new: bool) -> Result<String> {
    signals::listen();
    let mut question = Password::new().with_prompt("passphrase");
    if is_new {
        question = question.with_confirmation("the same again", "these are two different passphrases");
    }
    question.interact_on(&Term::stderr()).map_err(failed)
}

fn failed(cause: dialoguer::Error) -> Error {
    match signals::received() {
        Some(signal) => Error::new(Category::Signal(signal), format!("interrupted by {}", signals::name(signal))),
        None => Error::new(Category::Io, "the terminal cannot be asked").cause(cause),
    }
}

/// A list in which the line that would be chosen shows more of itself.
struct WithPreview {
    previews: HashMap<String, Vec<String>>,
    width: usize,
}

impl Theme for WithPreview {
    fn format_fuzzy_select_prompt(
        &self,
        f: &mut dyn fmt::Write,
        prompt: &str,
        search: &str,
        cursor: usize,
    ) -> fmt::Result {
        SimpleTheme.format_fuzzy_select_prompt(f, prompt, search, cursor)
    }

    fn format_fuzzy_select_prompt_item(
        &self,
        f: &mut dyn fmt::Write,
        line: &str,
        is_active: bool,
        _: bool,
        _: &SkimMatcherV2,
        _: &str,
    ) -> fmt::Result {
        let sign = if is_active { "> " } else { "  " };
        write!(f, "{}", table::cut(&format!("{sign}{line}"), self.width))?;
        for more in self.previews.get(line).filter(|_| is_active).into_iter().flatten() {
            write!(f, "\n{}", table::cut(&format!("    | {}", text::one_line(more, table::LONGEST_CELL)), self.width))?;
        }
        Ok(())
    }
}
