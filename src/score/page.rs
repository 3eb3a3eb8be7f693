//! What a handover said: the lists of a warmup, by its headings.

use crate::recap::Account;
use crate::search::normalised;
use crate::transcript::Outcome;

/// The headings of the lists.
const GOAL: &str = "Goal";
const NEXT: &str = "Next";
const RULINGS: &str = "Rulings";
const DEAD_ENDS: &str = "Dead ends";
const CHECKS: &str = "Checks";
const FILES: &str = "Files";

/// A warmup, taken apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    /// Each list item with its heading.
    items: Vec<(String, String)>,
}

impl Page {
    pub(super) fn of(text: &str) -> Page {
        let (mut heading, mut items) = (String::new(), Vec::new());
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                title.clone_into(&mut heading);
            } else if let Some(item) = line.strip_prefix("- ") {
                items.push((heading.clone(), item.to_owned()));
            }
        }
        Page { items }
    }

    /// What a warmup would have said after a session with this account and these edits.
    pub(super) fn on_record(account: &Account, edited: &[String]) -> Page {
        let mut items = Vec::new();
        let mut add = |heading: &str, item: String| items.push((heading.to_owned(), item.replace('\n', " ")));
        account.goal.iter().for_each(|line| add(GOAL, line.text.clone()));
        account.next.iter().for_each(|line| add(NEXT, line.text.clone()));
        account.rulings.iter().for_each(|line| add(RULINGS, line.text.clone()));
        account.dead_ends.iter().for_each(|line| add(DEAD_ENDS, line.text.clone()));
        let passed = account.checks.iter().filter(|check| check.outcome == Outcome::Passed);
        passed.for_each(|check| add(CHECKS, format!("`{}` passed", check.command)));
        edited.iter().for_each(|path| add(FILES, path.clone()));
        Page { items }
    }

    /// Whether a text of ours is a warmup, and not a reminder at a prompt.
    pub(super) fn is_one(text: &str) -> bool {
        text.lines().any(|line| line.starts_with("## "))
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|(_, item)| item.as_str())
    }

    pub(super) fn goal(&self) -> Option<&str> {
        self.under(GOAL).next()
    }

    /// The first next action.
    pub(super) fn next(&self) -> Option<&str> {
        self.under(NEXT).next()
    }

    pub(super) fn rulings(&self) -> impl Iterator<Item = &str> {
        self.under(RULINGS)
    }

    /// The items that name files to work on.
    pub(super) fn naming_files(&self) -> impl Iterator<Item = &str> {
        self.under(NEXT).chain(self.under(FILES))
    }

    /// The commands that are said to pass, in the form in which two runs of one are the same.
    pub(super) fn passing(&self) -> impl Iterator<Item = String> {
        let quoted = |item: &str| {
            let (_, rest) = item.split_once('`')?;
            let (command, after) = rest.split_once('`')?;
            after.starts_with(" passed").then(|| normalised(command)).flatten()
        };
        self.under(CHECKS).filter_map(quoted)
    }

    fn under<'a>(&'a self, heading: &'a str) -> impl Iterator<Item = &'a str> {
        self.items.iter().filter(move |(title, _)| title == heading).map(|(_, item)| item.as_str())
    }
}
