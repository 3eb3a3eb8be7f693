//! The categories of the current state: how each takes new items, and how many it keeps.

use serde::{Deserialize, Serialize};

use super::reader::Reader;

/// What happens to the items of a category when new ones are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The new items replace them.
    Clear,
    /// The new items are added to them.
    Append,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Category {
    pub name: String,
    pub mode: Mode,
    /// How many items are kept. The oldest are dropped first.
    pub keep: usize,
}

/// A category that needs no config.
pub(crate) struct BuiltIn {
    pub name: &'static str,
    pub title: &'static str,
    /// The names that a capture may use for it.
    pub keys: &'static [&'static str],
    mode: Mode,
    keep: usize,
}

/// The built-in categories, in the order of the current state. Modes and numbers are glee's, but for the number of
/// decisions, which sessions add by themselves; `known_issue` is ours.
pub(crate) const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "overview", title: "Overview", keys: &["overview"], mode: Mode::Clear, keep: 1 },
    BuiltIn { name: "goal", title: "Goal", keys: &["goal", "current_goal", "objective"], mode: Mode::Clear, keep: 1 },
    BuiltIn {
        name: "constraint",
        title: "Constraints",
        keys: &["constraints", "key_constraints", "constraint"],
        mode: Mode::Clear,
        keep: 5,
    },
    BuiltIn {
        name: "decision",
        title: "Decisions",
        keys: &["decisions", "recent_decisions", "decision"],
        mode: Mode::Append,
        keep: 40,
    },
    BuiltIn { name: "open_loop", title: "Open loops", keys: &["open_loops", "open_loop"], mode: Mode::Clear, keep: 5 },
    BuiltIn {
        name: "known_issue",
        title: "Known issues",
        keys: &["known_issues", "issues", "known_issue"],
        mode: Mode::Clear,
        keep: 10,
    },
    BuiltIn {
        name: "recent_change",
        title: "Recent changes",
        keys: &["recent_changes", "changes", "recent_change"],
        mode: Mode::Clear,
        keep: 20,
    },
    BuiltIn { name: "remembered", title: "Remembered", keys: &["remembered"], mode: Mode::Append, keep: 200 },
    BuiltIn {
        name: "session_summary",
        title: "Last session",
        keys: &["summary", "session_summary"],
        mode: Mode::Append,
        keep: 10,
    },
];

/// How many items a user's own category keeps if the config does not say.
const EXTRA_KEEP: usize = 50;

/// The categories that the config sets, on top of the built-in ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Categories(Vec<Category>);

impl Categories {
    pub fn get(&self, name: &str) -> Category {
        self.0.iter().find(|category| category.name == name).cloned().unwrap_or_else(|| plain(name))
    }

    /// The name of the category that this word stands for, or `None` if it cannot be a category.
    pub fn named(&self, word: &str) -> Option<String> {
        let built_in = BUILT_IN.iter().find(|known| known.name == word || known.keys.contains(&word));
        match built_in {
            Some(known) => Some(known.name.to_owned()),
            None => is_name(word).then(|| word.to_owned()),
        }
    }

    /// The names of the config's categories that are not built in.
    pub fn extra(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|category| category.name.as_str()).filter(|name| built_in(name).is_none())
    }
}

fn plain(name: &str) -> Category {
    let (mode, keep) = built_in(name).map_or((Mode::Append, EXTRA_KEEP), |known| (known.mode, known.keep));
    Category { name: name.to_owned(), mode, keep }
}

pub(crate) fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|known| known.name == name)
}

/// The rule for names, as messages say it.
pub(crate) const NAME_RULE: &str = "lower-case letters, digits, `_` and `-`, at most 40";

/// Whether this can be a name. Names are used in markers, JSON keys and command lines.
pub(crate) fn is_name(word: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    (1..=40).contains(&word.len()) && word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(allowed)
}

/// `[category.NAME]`, each with `mode` and `keep`.
pub(crate) fn read(table: &mut Reader<'_>) -> Categories {
    let mut categories = Vec::new();
    for (name, span, mut reader) in table.named_tables() {
        if built_in(&name).is_none() && !is_name(&name) {
            reader.wrong(span, format!("`{name}` cannot be a category: {NAME_RULE}"), None);
        }
        let mut category = plain(&name);
        let modes = [("clear", Mode::Clear), ("append", Mode::Append)];
        category.mode = reader.choice("mode", &modes).unwrap_or(category.mode);
        let keep = reader.count("keep", 1..1_001).and_then(|keep| usize::try_from(keep).ok());
        category.keep = keep.unwrap_or(category.keep);
        reader.finish();
        categories.push(category);
    }
    Categories(categories)
}
