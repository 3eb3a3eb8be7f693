//! Takes items from the sources: labels them, and shows each only once.

use super::claims::{self, UNVERIFIED};
use super::item::{Entry, item, undecorated};
use super::placed::{Part, Section};
use super::shares::Share;
use super::shown::Shown;
use super::since::Since;
use super::sources::{RecordedCheck, Sources};
use super::told::Told;
use crate::handoff::Handoff;
use crate::history;
use crate::memory::state::{self, Tombstone};
use crate::recap::Line;
use crate::transcript::Outcome;
use std::path::Path;

/// The longest item, in bytes.
pub(super) const LONG: usize = 450;
/// The longest goal and next action, in bytes.
pub(super) const LEADING: usize = 280;
/// How many items of a list are looked at.
pub(super) const LISTED: usize = 200;
/// The label of imported text, which nobody here wrote.
pub(super) const OUTSIDE: &str = " (text from outside)";

/// The mark before everything that came with the repository. The first lines of the page explain it.
pub(crate) const CAME_ALONG: &str = "[came along] ";
/// The same before rulings and decisions, which bind nobody here.
pub(super) const CLAIMED: &str = "[came along] claims: ";

/// A text as it is shown: with a mark before it if it came with the repository, and a label after it that names where it
/// comes from and what speaks against it.
#[derive(Clone)]
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

/// Takes from two lists in turn, so that neither pushes the other off the page.
pub(super) fn in_turn(one: Vec<Labelled>, other: Vec<Labelled>) -> Vec<Labelled> {
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    let mut both = Vec::new();
    loop {
        match (one.next(), other.next()) {
            (None, None) => return both,
            pair => both.extend(pair.0.into_iter().chain(pair.1)),
        }
    }
}

/// Writes the sections of one warmup.
pub(super) struct Writer<'a> {
    /// The directory of the project.
    pub root: &'a Path,
    pub sources: &'a Sources,
    pub since: &'a Since,
    /// What sessions said and did, the most important first.
    pub told: &'a [Told],
    /// The commands that passed according to the newest open handoff.
    pub passed: Vec<String>,
    pub shown: Shown,
    /// The prefix that makes the reader open a path by itself; empty without one.
    pub mention: &'static str,
    /// The command for what does not fit, instead of the one that each section names.
    pub more: Option<String>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(root: &'a Path, sources: &'a Sources, since: &'a Since, told: &'a [Told]) -> Writer<'a> {
        let recorded = sources.validation().into_iter().filter(RecordedCheck::has_passed);
        let passed = recorded.map(|check| check.command).collect();
        Writer { root, sources, since, told, passed, shown: Shown::default(), mention: "", more: None }
    }

    /// A section whose missing items a command of ours shows.
    pub(super) fn section(&self, title: &'static str, parts: Vec<Part>, more: &str) -> Section {
        let more = if more.is_empty() { more } else { self.more.as_deref().unwrap_or(more) };
        let more = if more.is_empty() { String::new() } else { format!("agent-handover {more}") };
        Section { title, parts, more }
    }

    /// The text as an item with its label, unless it is on the page already.
    pub(super) fn once(&mut self, stored: &Labelled, max: usize) -> Option<Entry> {
        let Labelled { mark, text, label } = stored;
        let item = item(undecorated(text), max);
        self.shown.add(&item).then(|| Entry { text: format!("{mark}{item}"), label: label.clone() })
    }

    /// Like [`Writer::once`], for the list of a part: ours first.
    pub(super) fn part(&mut self, stored: Vec<Labelled>, max: usize, share: Share) -> Part {
        let stored = ours_first(stored);
        let entries = stored.iter().filter_map(|labelled| self.once(labelled, max)).take(LISTED).collect();
        Part { entries, share }
    }

    /// Like [`Writer::part`], without texts that only repeat what is on the page.
    pub(super) fn part_without_repeats(&mut self, stored: Vec<Labelled>, max: usize, share: Share) -> Part {
        let mut entries = Vec::new();
        for labelled in &ours_first(stored) {
            if entries.len() < LISTED && !self.shown.repeats(&labelled.text) {
                entries.extend(self.once(labelled, max));
            }
        }
        Part { entries, share }
    }

    /// The items of a category of the current state, in the order of the file, with their labels.
    pub(super) fn of_category(&self, category: &str) -> Vec<Labelled> {
        let label = |item: &state::Item| {
            format!("{}{}", self.doubt_old(&item.text), self.since.label(&item.commit, &item.branch))
        };
        let labelled = |item: &state::Item| {
            let is_strange = self.sources.whose.is_item_strange(item);
            Labelled::ours(item.text.clone(), label(item)).came_along(is_strange)
        };
        self.sources.items(category).map(labelled).collect()
    }

    /// The items of a list in the newest open handoff, with their labels.
    pub(super) fn of_handoff(&self, field: &str) -> Vec<Labelled> {
        let Some(open) = &self.sources.open else { return Vec::new() };
        open.handoff.texts(field).into_iter().take(LISTED).map(|text| self.handoff_line(text.to_owned())).collect()
    }

    /// What a session said, without what somebody deleted from the current state since then, or said is done.
    pub(super) fn in_force(&self, category: &str, mut said: Vec<Labelled>) -> Vec<Labelled> {
        let is_removed = |Labelled { mark, text, .. }: &Labelled| {
            // A stranger does not remove what this user said.
            let counts =
                |removed: &Tombstone| !mark.is_empty() || self.sources.whose.is_removal_ours(category, removed);
            self.sources.state.removals_of(category, text).any(counts)
        };
        said.retain(|labelled| !is_removed(labelled));
        said
    }

    /// A text of the newest open handoff with its label.
    pub(super) fn handoff_line(&self, text: String) -> Labelled {
        let handoff = self.sources.handoff();
        let of_handoff = handoff.map(|handoff| {
            let (commit, branch) = (handoff.text("head_commit"), handoff.text("current_branch"));
            format!("{}{}", outside(handoff), self.since.label(commit, branch))
        });
        let label = format!("{}{}", doubt(&text, &self.passed), of_handoff.unwrap_or_default());
        Labelled::ours(text, label).came_along(self.sources.whose.is_handoff_strange)
    }

    /// The label of what the newest open handoff states: whether it was imported.
    pub(super) fn of_open(&self) -> &'static str {
        self.sources.handoff().map(outside).unwrap_or_default()
    }

    /// The label of what a session said.
    pub(super) fn of_told(&self, told: &Told) -> &'static str {
        if told.is_of_handoff { self.of_open() } else { "" }
    }

    /// Lines of what a session said, as they are.
    pub(super) fn lines_of(&self, told: &Told, lines: &[Line]) -> Vec<Labelled> {
        let labelled = |line: &Line| Labelled::ours(line.text.clone(), self.of_told(told).to_owned());
        lines.iter().map(|line| labelled(line).came_along(told.is_strange)).collect()
    }

    /// Lines of what an agent said, with a mark on claims.
    pub(super) fn claims_of(&self, told: &Told, lines: &[Line]) -> Vec<Labelled> {
        let seen = told.account.checks.iter().filter(|check| check.outcome == Outcome::Passed);
        let seen: Vec<String> = seen.map(|check| check.command.clone()).collect();
        let passed = if told.is_of_handoff { &self.passed } else { &seen };
        let mut lines = self.lines_of(told, lines);
        for line in &mut lines {
            line.label.insert_str(0, doubt(&line.text, passed));
        }
        lines
    }

    /// The mark for a claim in the current state, which may be older than the commands of the last session. A command
    /// supports it only if the claim names the command.
    pub(super) fn doubt_old(&self, text: &str) -> &'static str {
        let named: Vec<String> =
            self.passed.iter().filter(|command| text.contains(command.as_str())).cloned().collect();
        doubt(text, &named)
    }

    /// Whether the last session has left work to do.
    pub(super) fn is_open(&self) -> bool {
        self.sources.open.as_ref().is_some_and(|open| !history::is_over(&open.status))
    }
}

/// The mark for a claim of success that none of these commands supports.
pub(super) fn doubt(text: &str, passed: &[String]) -> &'static str {
    if claims::is_claim_without(text, passed) { UNVERIFIED } else { "" }
}

/// The label of a handoff that was imported.
pub(super) fn outside(handoff: &Handoff) -> &'static str {
    if history::Origin::of(handoff).is_some() { OUTSIDE } else { "" }
}
