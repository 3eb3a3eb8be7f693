//! `history list`: the handoffs as a table, newest first.

use std::collections::BTreeSet;
use std::path::Path;

use clap::Args;
use serde_json::{Value as Json, json};

use super::super::Context;
use super::super::ids::SessionIds;
use super::super::provenance::{claim, mark_of_handoff, warn_of_strange};
use super::super::table::{LONGEST_CELL, Table, cut};
use super::super::titles;
use super::super::ui::Ui;
use super::filters::Filters;
use super::{HistoryPlace, answer};
use crate::base::text;
use crate::bundle::{HandoffRecord, record_of};
use crate::error::{Error, Result};
use crate::history::{Origin, SessionEntry, SessionStatus, registry};

/// How much of a branch is shown in a terminal: the titles need the room.
const LONGEST_BRANCH: usize = 30;

/// List the handoffs, newest first
#[derive(Args)]
pub(super) struct List {
    #[command(flatten)]
    filters: Filters,
    /// Only handoffs whose id begins with this
    #[arg(long, value_name = "PREFIX")]
    id: Option<String>,
    /// Only the newest
    #[arg(long)]
    latest: bool,
    /// List the handoffs of every project in which you have archived one
    #[arg(long)]
    all_projects: bool,
}

/// An entry, and its project if several are listed.
struct Row {
    entry: SessionEntry,
    root: Option<String>,
    is_ours: bool,
    /// Where it came from, if this user imported it.
    origin: Option<Origin>,
    status: SessionStatus,
    /// What session-handoff lists about the handoff. Only JSON has it, because every archive is read for it.
    record: Option<HandoffRecord>,
    /// What a person types to name it.
    short: String,
    title: String,
}

impl List {
    pub(super) fn execute(mut self, context: &mut Context<'_>, place: &HistoryPlace, as_json: bool) -> Result<u8> {
        if self.latest && self.filters.limit.is_some() {
            return Err(Error::usage("--latest cannot be combined with --limit"));
        }
        let is_unfiltered = !self.filters.is_any_given() && self.id.is_none();
        if self.latest {
            self.filters.limit = Some(1);
        }
        let rows = if self.all_projects {
            self.of_all_projects(context, as_json)?
        } else if self.latest && is_unfiltered {
            rows(place, place.history.latest()?.into_iter().collect(), None, as_json)
        } else {
            rows(place, self.filters.of(context, place, self.id.as_deref())?, None, as_json)
        };
        if as_json {
            let handoffs: Vec<Json> = rows.iter().map(row_json).collect();
            answer(context, true, "list", &[], json!({ "handoffs": handoffs }));
            return Ok(0);
        }
        if rows.is_empty() {
            context.ui.tell(if is_unfiltered {
                "there are no handoffs yet; `agent-handover history create` or `import` makes one"
            } else {
                "no handoff matches"
            });
        }
        warn_of_strange(context.ui, rows.iter().filter(|row| !row.is_ours || row.status.claimed.is_some()).count());
        if !rows.is_empty() {
            let table = table(context.ui, &rows);
            context.ui.answer_table(&table);
        }
        Ok(0)
    }

    fn of_all_projects(&self, context: &Context<'_>, with_records: bool) -> Result<Vec<Row>> {
        let archives = registry::known();
        if archives.is_empty() {
            return Ok(Vec::new());
        }
        let filters = self.filters.parse(&context.cwd)?;
        let mut all = Vec::new();
        for known in archives {
            let root = known.root.display().to_string();
            let place = HistoryPlace::of_known(&known);
            match filters.of(context, &place, self.id.as_deref()) {
                Ok(entries) => all.extend(rows(&place, entries, Some(&root), with_records)),
                Err(error) => context.ui.warn(&format!("{root} is left out: {}", error.one_line())),
            }
        }
        all.sort_by_key(|row| std::cmp::Reverse(row.entry.age()));
        all.truncate(self.filters.max());
        Ok(all)
    }
}

fn rows(place: &HistoryPlace, entries: Vec<SessionEntry>, root: Option<&str>, with_records: bool) -> Vec<Row> {
    let provenance = place.provenance();
    // Only people need short ids, and a directory is listed to make them.
    let ids = (!with_records && !entries.is_empty()).then(|| SessionIds::of(&place.history));
    let shown: Vec<&SessionEntry> = if with_records { Vec::new() } else { entries.iter().collect() };
    let mut titles = titles::of(&place.history, &shown, &provenance).into_iter();
    let mut row = |entry: SessionEntry| {
        let is_ours = provenance.owns_entry(&place.history, &entry);
        let origin = provenance.origin_of_entry(&place.history, &entry);
        let status = place.history.status_of_entry(&entry, provenance.of_history());
        let handoff = with_records.then(|| place.history.handoff_of(&entry)).flatten();
        let record = handoff.and_then(|(_, handoff)| record_of(&handoff).ok());
        let id = entry.get("session_id");
        let short = ids.as_ref().map_or(id, |ids| ids.short(id)).to_owned();
        let title = titles.next().unwrap_or_default();
        Row { entry, root: root.map(str::to_owned), is_ours, origin, status, record, short, title }
    };
    entries.into_iter().map(&mut row).collect()
}

fn row_json(row: &Row) -> Json {
    let entry = &row.entry;
    let tags: Vec<&str> = entry.get("search_tags").split(',').map(str::trim).filter(|tag| !tag.is_empty()).collect();
    let record = row.record.as_ref();
    let next = record.and_then(|record| record.next.clone());
    let mut json = json!({
        "id": entry.get("session_id"),
        "created_at": entry.get("generated_at"),
        "tool": entry.get("agent"),
        "project": entry.get("project_root"),
        "title": entry.get("primary_goal"),
        "status": row.status.now,
        "claimed_status": row.status.claimed,
        "branch": entry.get("current_branch"),
        "worktree": worktree(entry),
        "commit": entry.get("head_commit"),
        "tags": tags,
        "summary": record.map(|record| &record.summary),
        "next": next.unwrap_or_else(|| vec![entry.get("first_next_action").to_owned()]),
        "changed": record.and_then(|record| record.changed.clone()).unwrap_or_default(),
        "first_next_action": entry.get("first_next_action"),
        "supersedes": entry.get("supersedes"),
        "file": entry.get("file"),
        "ours": row.is_ours,
        "origin": row.origin.as_ref().map(Origin::voucher),
    });
    if let Some(root) = &row.root {
        json["root"] = root.clone().into();
    }
    json
}

/// The linked worktree in which the session ran; `None` if it ran in the root of its project.
fn worktree(entry: &SessionEntry) -> Option<&str> {
    Some(entry.get("repo_root")).filter(|place| !place.is_empty() && *place != entry.get("project_root"))
}

/// A cell; `-` if its value is not known.
pub(super) fn known(value: &str) -> &str {
    if matches!(value, "" | "unknown") { "-" } else { value }
}

fn table(ui: &Ui, rows: &[Row]) -> Table {
    let is_of_many = rows.iter().any(|row| row.root.is_some());
    let mut heads = vec!["WHEN"];
    let has_agents = rows.iter().any(|row| known(row.entry.get("agent")) != "-");
    if has_agents {
        heads.push("AGENT");
    }
    heads.push("STATUS");
    if is_of_many {
        heads.push("PROJECT");
    }
    // On one branch, and without worktrees, a column for it says nothing.
    let branches: BTreeSet<&str> = rows.iter().map(|row| known(row.entry.get("current_branch"))).collect();
    let has_branches = branches.len() > 1 || rows.iter().any(|row| worktree(&row.entry).is_some());
    if has_branches {
        heads.push("BRANCH");
    }
    heads.extend(["TITLE", "SESSION"]);
    let dispensable = ["STATUS", "BRANCH", "AGENT", "PROJECT", "WHEN"];
    let mut table = Table::new(&heads).flexible("TITLE").dispensable(&dispensable).quiet(&["SESSION"]);
    for row in rows {
        let entry = &row.entry;
        // The mark is at the beginning of the title, because a narrow terminal cuts its end.
        let mark = mark_of_handoff(row.is_ours, row.origin.is_some());
        let mut cells = vec![entry.time().map_or(String::new(), |time| ui.when(&time))];
        if has_agents {
            cells.push(known(entry.get("agent")).to_owned());
        }
        cells.push(
            titles::in_words(&row.status.now)
                + &row.status.claimed.as_deref().map(|status| claim(&titles::in_words(status))).unwrap_or_default(),
        );
        if let Some(root) = row.root.as_deref().filter(|_| is_of_many) {
            let name = Path::new(root).file_name().map_or(root.to_owned(), |name| name.to_string_lossy().into_owned());
            cells.push(name);
        }
        if has_branches {
            let branch = known(entry.get("current_branch"));
            cells.push(if ui.width().is_some() { cut(branch, LONGEST_BRANCH) } else { branch.to_owned() });
        }
        cells.extend([format!("{mark}{}", row.title), row.short.clone()]);
        table.push(cells.iter().map(|cell| text::model_line(cell, LONGEST_CELL)).collect());
    }
    table
}
