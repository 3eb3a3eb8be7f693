//! The category that a word on the command line or in a capture means.

use super::capture;
use super::state::CurrentState;
use crate::base::text;
use crate::config::category::{self, Categories};
use crate::error::Error;

/// The categories whose items can be done.
pub(crate) const CAN_BE_DONE: [&str; 2] = ["open_loop", "known_issue"];

/// Words that people try first, and the category that each means. A category of that name in the config or in the file comes first.
const SYNONYMS: &[(&str, &str)] = &[
    ("todo", "open_loop"),
    ("todos", "open_loop"),
    ("task", "open_loop"),
    ("next", "open_loop"),
    ("loop", "open_loop"),
    ("bug", "known_issue"),
    ("problem", "known_issue"),
    ("rule", "constraint"),
    ("limit", "constraint"),
    ("ruling", "decision"),
    ("change", "recent_change"),
];

/// Why a word does not name a category.
pub(crate) enum CategoryProblem {
    /// `word` cannot be the name of a category.
    NotAName { word: String },
    /// There is no category `name`, but a similar one. A new category is not made by mistake.
    Misspelt { name: String, similar: String },
}

impl CategoryProblem {
    pub(crate) fn message(&self) -> String {
        match self {
            CategoryProblem::NotAName { word } => format!("`{word}` cannot be a category"),
            CategoryProblem::Misspelt { name, .. } => format!("there is no category `{name}`"),
        }
    }

    pub(crate) fn hint(&self) -> String {
        match self {
            CategoryProblem::NotAName { .. } => format!("a name is {}", category::NAME_RULE),
            CategoryProblem::Misspelt { name, similar } => {
                format!("did you mean `{similar}`? A new category with such a similar name needs `[category.{name}]`")
            }
        }
    }

    /// The problem as an error about the command line.
    pub(crate) fn usage(self) -> Error {
        Error::usage(self.message()).hint(self.hint())
    }
}

/// The name of the category that a word means: a built-in one, one of the config, one in the file, or a new one.
pub(crate) fn named_category(
    categories: &Categories,
    state: &CurrentState,
    word: &str,
) -> Result<String, CategoryProblem> {
    let known = || category::BUILT_IN.iter().map(|known| known.name).chain(categories.extra());
    let Some(name) = categories.named(word) else {
        return Err(CategoryProblem::NotAName { word: capture::shown(word) });
    };
    let exists = known().any(|known| known == name) || state.sections.iter().any(|section| section.category == name);
    if let Some((_, meant)) = SYNONYMS.iter().find(|(synonym, _)| *synonym == name && !exists) {
        return Ok((*meant).to_owned());
    }
    match text::nearest(&name, known()).filter(|_| !exists) {
        Some(similar) => Err(CategoryProblem::Misspelt { similar: similar.to_owned(), name }),
        None => Ok(name),
    }
}
