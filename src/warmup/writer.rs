//! Takes items from the sources: labels them, and shows each only once.

use std::collections::HashSet;

use super::claims::{self, UNVERIFIED};
use super::page::{Section, item};
use super::since::Since;
use super::sources::Sources;
use crate::handoff::Handoff;
use crate::history;
use crate::memory::state;
use crate::project::Project;

/// The longest item, in bytes.
pub(super) const LONG: usize = 320;
/// The longest item in sections that must fit into the first two thousand bytes together.
pub(super) const LEADING: usize = 280;
/// The label of imported text, which nobody here wrote.
pub(super) const OUTSIDE: &str = " (text from outside)";

/// The mark before everything that came with the repository. The first lines of the page explain it.
pub(super) const CAME_ALONG: &str = "[came along] ";
/// The same before rulings and decisions, which bind nobody here.
pub(super) const CLAIMED: &str = "[came along] claims: ";

/// A text as it is shown: with a mark before it if it came with the repository, and a label after it that names where it
/// comes from and what speaks against it.
pub(super) struct Labelled {
    pub mark: &'static str,
    pub text: String,
    pub label: String,
}

impl Labelled {
    /// A text of our own.
    pub(super) fn ours(text: String, label: String) -> Labelled {
        Labelled { mark: "", text, label }
    }

    pub(super) fn came_along(self, is_strange: bool) -> Labelled {
        Labelled { mark: if is_strange { CAME_ALONG } else { "" }, ..self }
    }

    /// The same for a ruling: one that came along is only a claim.
    pub(super) fn into_ruling(self) -> Labelled {
        Labelled { mark: if self.mark.is_empty() { "" } else { CLAIMED }, ..self }
    }
}

/// Ours before what came along, each in its order, so that nobody's dates or number push ours off the page.
pub(super) fn ours_first(mut texts: Vec<Labelled>) -> Vec<Labelled> {
    texts.sort_by_key(|labelled| !labelled.mark.is_empty());
    texts
}

/// Writes the sections of one warmup.
pub(super) struct Writer<'a> {
    pub project: &'a Project,
    pub sources: &'a Sources,
    pub since: &'a Since,
    /// The items that are on the page already. The state and the handoff often say the same.
    pub shown: HashSet<String>,
}

impl Writer<'_> {
    /// A section whose missing items a command of ours shows.
    pub(super) fn section(&self, title: &'static str, items: Vec<String>, more: &str, least: usize) -> Section {
        Section { title, items, more: format!("agent-handover {more}"), least }
    }

    /// The text as an item with its label, unless it is on the page already.
    pub(super) fn once(&mut self, stored: &Labelled, max: usize) -> Option<String> {
        let Labelled { mark, text, label } = stored;
        let item = item(text, max);
        let key = item.trim_end_matches(" (derived)").to_lowercase();
        (!item.is_empty() && self.shown.insert(key)).then(|| format!("{mark}{item}{label}"))
    }

    /// Like [`Writer::once`], for a list: ours first.
    pub(super) fn once_each(&mut self, stored: Vec<Labelled>) -> Vec<String> {
        ours_first(stored).iter().filter_map(|labelled| self.once(labelled, LONG)).collect()
    }

    /// The items of a category of the current state, in the order of the file, with their labels.
    pub(super) fn of_category(&self, category: &str) -> Vec<Labelled> {
        let label =
            |item: &state::Item| format!("{}{}", self.doubt(&item.text), self.since.label(&item.commit, &item.branch));
        let labelled = |item: &state::Item| {
            let is_strange = self.sources.whose.is_item_strange(item);
            Labelled::ours(item.text.clone(), label(item)).came_along(is_strange)
        };
        self.sources.items(category).map(labelled).collect()
    }

    /// The items of a list in the newest open handoff, with their labels.
    pub(super) fn of_handoff(&self, field: &str) -> Vec<Labelled> {
        let Some(open) = &self.sources.open else { return Vec::new() };
        let (commit, branch) = (open.handoff.text("head_commit"), open.handoff.text("current_branch"));
        let label = format!("{}{}", outside(&open.handoff), self.since.label(commit, branch));
        let texts = open.handoff.texts(field).into_iter();
        let is_strange = self.sources.whose.is_handoff_strange;
        let labelled = |text: &str| Labelled::ours(text.to_owned(), format!("{}{label}", self.doubt(text)));
        texts.map(|text| labelled(text).came_along(is_strange)).collect()
    }

    /// The mark for a claim that no recorded command supports.
    pub(super) fn doubt(&self, text: &str) -> &'static str {
        if !claims::is_claim(text) || text.ends_with("derived)") {
            return "";
        }
        let passed: Vec<(String, String)> =
            self.sources.validation().into_iter().filter(|(_, result)| result.eq_ignore_ascii_case("passed")).collect();
        let is_of_handoff = self.sources.handoff().is_some_and(|handoff| {
            ["completed_tasks", "decisions", "next_todo_items"].iter().any(|field| handoff.texts(field).contains(&text))
        });
        let is_supported = passed.iter().any(|(command, _)| is_of_handoff || text.contains(command.as_str()));
        if is_supported { "" } else { UNVERIFIED }
    }

    /// Whether the last session has left work to do.
    pub(super) fn is_open(&self) -> bool {
        self.sources.open.as_ref().is_some_and(|open| !history::is_over(&open.status))
    }
}

/// The label of a handoff that was imported.
pub(super) fn outside(handoff: &Handoff) -> &'static str {
    if history::Origin::of(handoff).is_some() { OUTSIDE } else { "" }
}
