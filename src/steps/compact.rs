//! Rolls the notes of finished months into layer 3.

use std::time::Duration;

use chrono::NaiveDate;
use serde_json::{Value, json};

use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::base::text;
use crate::config::Reader;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::memory::compact::{Selection, ended_before};

pub(super) const KIND: Kind = Kind {
    name: "compact",
    promise: Promise::Repeat,
    newest_wins: false,
    only_reads: false,
    collects: false,
    needs_head: false,
    delivers: false,
    runs_in_worktree: false,
    keeps: kind::keeps_nothing,
    read,
    intend,
    preview,
    missing: kind::needs_nothing,
    act,
    before_resume: kind::leaves_nothing,
    missing_from: kind::loses_nothing,
    on_interrupt: kind::always_rerun,
};

fn read(table: &mut Reader<'_>) -> Value {
    json!({
        "older_than_s": table.duration("older_than").map(|duration| duration.as_secs()),
        "tag": table.text("tag").map(|found| found.value),
        "keep_notes": table.flag("keep_notes").unwrap_or(false),
    })
}

fn intend(context: &Context<'_>) -> Result<Intent> {
    let older_than = context.params["older_than_s"].as_u64().map(Duration::from_secs);
    // Counted from the end of the session, so that a resume selects the same months.
    let before = ended_before(&context.session.at, older_than);
    let intent = json!({ "before": before, "tag": context.params["tag"], "keep_notes": context.params["keep_notes"] });
    Ok(if Memory::at(context.root, context.memory.clone()).has_notes(&selection(&intent)?)? {
        Intent::Do(intent)
    } else {
        Intent::Nothing("no finished month has notes".to_owned())
    })
}

fn selection(intent: &Value) -> Result<Selection> {
    let before: NaiveDate = serde_json::from_value(intent["before"].clone())
        .map_err(|cause| Error::bug("a compact intent without a day").cause(cause))?;
    Ok(Selection {
        month: None,
        before,
        tag: intent["tag"].as_str().map(str::to_owned),
        keep_notes: intent["keep_notes"].as_bool().unwrap_or(false),
        dry_run: false,
    })
}

fn preview(context: &Context<'_>, intent: &Value) -> Result<String> {
    let selection = Selection { dry_run: true, ..selection(intent)? };
    let compaction =
        Memory::at(context.root, context.memory.clone()).compact(&selection, context.brake, &mut |_, _| ())?;
    let entries: usize = compaction.rolled.iter().map(|rolled| rolled.entries).sum();
    Ok(format!("roll {} into {}", text::count(entries, "note"), text::count(compaction.rolled.len(), "archive")))
}

fn act(context: &Context<'_>, intent: &Value) -> Result<Outcome, Failure> {
    let memory = Memory::at(context.root, context.memory.clone());
    let compaction = memory.compact(&selection(intent)?, context.brake, &mut |_, _| ())?;
    if let Some(stop) = compaction.stopped {
        return Err(Failure::Stopped(stop));
    }
    if let Some(error) = compaction.trouble() {
        return Err(error.into());
    }
    let archives: Vec<String> = compaction.rolled.iter().map(|rolled| context.show(&rolled.archive)).collect();
    Ok(Outcome::new(match archives.as_slice() {
        [] => "nothing new".to_owned(),
        [one] => one.clone(),
        several => format!("{} and {} more", several[0], several.len() - 1),
    }))
}
