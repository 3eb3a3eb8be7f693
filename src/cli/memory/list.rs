//! `memory list`: the items of layer 2, or the notes of layer 1 or 3.

use std::time::Duration;

use chrono::NaiveDate;
use clap::Args;
use serde_json::{Value as Json, json};
use unicode_width::UnicodeWidthStr;

use super::super::paint::{Line, Role};
use super::super::provenance::{mark, warn_of_strange};
use super::super::ui::Ui;
use super::super::{Context, ids, table};
use super::json::item as item_json;
use super::open::OpenMemory;
use crate::base::{clock, duration, text};
use crate::engine::Provenance;
use crate::error::{Error, Result};
use crate::memory::listing::{self, ListedNote};
use crate::memory::state::{self, Item};
use crate::memory::{self, CategoryProblem};

/// List the items of the current state, or the notes of layer 1 or 3
#[derive(Args)]
pub(super) struct List {
    /// Only this category
    #[arg(value_name = "CATEGORY", conflicts_with = "category")]
    word: Option<String>,
    /// The same
    #[arg(long, value_name = "CATEGORY", hide = true)]
    category: Option<String>,
    /// 1: notes, 2: the current state, 3: the archives
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=3))]
    layer: u8,
    /// Only notes with this tag; layers 1 and 3
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only what is newer: a day such as 2026-11-15, or a duration such as 7d
    #[arg(long, value_name = "WHEN", value_parser = parse_since)]
    since: Option<Since>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Between two columns.
const GAP: &str = "  ";

/// The value of `--since`.
#[derive(Clone, Copy, Debug)]
enum Since {
    Day(NaiveDate),
    Ago(Duration),
}

fn parse_since(word: &str) -> Result<Since, String> {
    let day = word.parse().map(Since::Day).ok();
    day.or_else(|| duration::parse(word).map(Since::Ago))
        .ok_or_else(|| format!("expected a day such as `2026-11-15`, or {}", duration::EXPECTED))
}

impl Since {
    /// The time in a form that compares with the times in markers.
    fn marker_time(self) -> String {
        match self {
            Since::Day(day) => day.to_string(),
            Since::Ago(ago) => {
                let ago = chrono::Duration::from_std(ago).unwrap_or(chrono::Duration::MAX);
                let then = clock::now().checked_sub_signed(ago);
                then.map_or_else(String::new, |then| memory::marker_time(&then))
            }
        }
    }
}

impl List {
    pub(super) fn execute(mut self, context: &mut Context<'_>) -> Result<u8> {
        self.category = self.category.or(self.word.take());
        let open = OpenMemory::open(context, None)?;
        if self.layer == 2 { self.items(context, &open) } else { self.notes(context, &open) }
    }

    /// The items of layer 2.
    fn items(&self, context: &mut Context<'_>, open: &OpenMemory) -> Result<u8> {
        if self.tag.is_some() {
            return Err(Error::usage("the current state has no tags").hint("add `--layer 1` to list notes"));
        }
        let state = open.memory.state()?;
        let categories = &open.project.config.categories;
        let wanted = self
            .category
            .as_deref()
            .map(|word| memory::named_category(categories, &state, word))
            .transpose()
            .map_err(CategoryProblem::usage)?;
        let since = self.since.map(Since::marker_time).unwrap_or_default();
        let items: Vec<(&str, &Item)> = state
            .items()
            .filter(|(name, _)| wanted.as_deref().is_none_or(|wanted| wanted == *name))
            // An item that somebody wrote by hand has no time and counts as new.
            .filter(|(_, item)| item.at.is_empty() || item.at >= since)
            .collect();
        let provenance = Provenance::of(&open.project);
        if self.json {
            let items: Vec<Json> =
                items.iter().map(|(name, item)| item_json(name, item, provenance.owns_item(name, item))).collect();
            context.ui.answer_json(&json!({ "schema": "agent-handover/memory-list/1", "items": items }));
            return Ok(0);
        }
        let (mut shown, mut strange) = ("", 0);
        let mut rows = Vec::new();
        for (name, item) in &items {
            let is_ours = provenance.owns_item(name, item);
            strange += usize::from(!is_ours);
            let said = format!("{}{}", mark(is_ours, name), text::model_line(&item.text, 200));
            rows.push(ItemRow { category: name, at: when(context.ui, &item.at), said, id: &item.id });
        }
        for (row, lines) in rows.iter().zip(item_lines(&rows, context.ui.width())) {
            if row.category != shown {
                context.ui.answer_line(&Line::of(Role::Head, state::title(row.category)));
                shown = row.category;
            }
            lines.iter().for_each(|line| context.ui.answer_line(line));
        }
        warn_of_strange(context.ui, strange);
        if items.is_empty() {
            let has_text = !state.text().trim_ascii().is_empty();
            context.ui.tell(match (has_text, self.category.is_some() || self.since.is_some()) {
                (_, true) => "no item matches",
                (true, false) => "there are no items, only free text; `agent-handover warmup` shows it",
                (false, false) => "there are no items yet; `agent-handover memory add decision \"…\"` adds one",
            });
        }
        Ok(0)
    }

    /// The notes of layer 1 or 3.
    fn notes(&self, context: &mut Context<'_>, open: &OpenMemory) -> Result<u8> {
        if self.category.is_some() {
            return Err(Error::usage("notes have no categories").hint("leave `--layer` out to list items"));
        }
        let since = self.since.map(Since::marker_time).unwrap_or_default();
        let provenance = Provenance::of(&open.project);
        let (mut count, mut strange) = (0, 0);
        let mut all = Vec::new();
        let unreadable = listing::notes(&open.memory, self.layer, self.tag.as_deref(), &mut |note: ListedNote| {
            if note.at.as_str() < since.as_str() {
                return;
            }
            count += 1;
            let is_ours = provenance.owns_note(&note);
            if self.json {
                all.push(json!({
                    "run": note.run, "step": note.step, "at": note.at, "agent": note.agent, "tag": note.tag,
                    "text": note.text, "ours": is_ours,
                }));
            } else {
                strange += usize::from(!is_ours);
                let (at, run) = (when(context.ui, &note.at), ids::of_run(&note.run));
                let said = format!("{}{}", mark(is_ours, ""), text::model_line(&note.text, 120));
                let tag = text::model_line(&note.tag, 20);
                context.ui.answer_hanging(Role::Quiet, &format!("{run:<8}  {at:<11}  {tag}  "), &said);
            }
        })?;
        warn_of_strange(context.ui, strange);
        for error in &unreadable {
            context.ui.warn(&error.one_line());
        }
        if self.json {
            context.ui.answer_json(&json!({ "schema": "agent-handover/memory-notes/1", "notes": all }));
        } else if count == 0 {
            context.ui.tell("no note matches");
        }
        Ok(0)
    }
}

/// An item as it is listed.
struct ItemRow<'a> {
    category: &'a str,
    at: String,
    said: String,
    id: &'a str,
}

/// The lines of each item: when, what, and at the end of the first line its id. The ids are below each other if the width is
/// known.
fn item_lines(rows: &[ItemRow<'_>], width: Option<usize>) -> Vec<Vec<Line>> {
    let widest = |of: for<'a> fn(&'a ItemRow<'_>) -> &'a str| rows.iter().map(|row| of(row).width()).max().unwrap_or(0);
    let (at, id) = (widest(|row| &row.at), widest(|row| row.id));
    let indent = 2 + at + GAP.len();
    let room = width.map(|width| width.saturating_sub(indent + GAP.len() + id));
    let said: Vec<Vec<String>> = rows.iter().map(|row| table::wrap(&row.said, room)).collect();
    // A word that has no room must not push the ids of all other items out.
    let parts = said.iter().flatten().map(|part| part.width());
    let column = parts.filter(|part| room.is_some_and(|room| *part <= room)).max().unwrap_or(0);
    let lines = |(row, parts): (&ItemRow<'_>, &Vec<String>)| {
        let line = |(number, part): (usize, &String)| {
            let gap = column.saturating_sub(part.width());
            match number {
                0 => Line::of(Role::Quiet, format!("  {}{}", row.at, " ".repeat(at - row.at.width() + GAP.len())))
                    .plain(format!("{part}{}{GAP}", " ".repeat(gap)))
                    .and(Role::Quiet, row.id),
                _ => Line::of(Role::Plain, format!("{}{part}", " ".repeat(indent))),
            }
        };
        parts.iter().enumerate().map(line).collect()
    };
    rows.iter().zip(&said).map(lines).collect()
}

/// When something was recorded. Words that somebody wrote by hand have no time.
fn when(ui: &Ui, at: &str) -> String {
    match clock::parse_stamp(at) {
        Some(at) => ui.when(&at),
        None if at.is_empty() => "by hand".to_owned(),
        None => text::model_line(at, 16),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_without_room_leaves_the_other_items_as_they_are() {
        let row =
            |said: &str| ItemRow { category: "decision", at: "1 h ago".to_owned(), said: said.to_owned(), id: "3f2a" };
        let rows = [row("TOML stays"), row(&"x".repeat(90))];
        let lines = item_lines(&rows, Some(40));
        let shown = |line: &Line| line.render(false, str::to_owned);
        assert_eq!(shown(&lines[0][0]), "  1 h ago  TOML stays  3f2a");
        assert_eq!(shown(&lines[1][0]), format!("  1 h ago  {}  3f2a", "x".repeat(90)));
    }
}
