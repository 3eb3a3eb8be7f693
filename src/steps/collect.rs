//! Finds out what the session did. Later steps use the facts by name.

use serde_json::{Value, json};

use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::error::Result;
use crate::facts::{self, Scene};
use crate::recap::{self, Before};

pub(super) const KIND: Kind = Kind {
    name: "collect",
    promise: Promise::Repeat,
    newest_wins: false,
    only_reads: true,
    collects: true,
    needs_head: true,
    delivers: false,
    runs_in_worktree: false,
    keeps: kind::keeps_nothing,
    read: kind::no_keys,
    intend,
    preview,
    missing: kind::needs_nothing,
    act,
    before_resume: kind::leaves_nothing,
    missing_from: kind::loses_nothing,
    on_interrupt: kind::always_rerun,
};

fn intend(_: &Context<'_>) -> Result<Intent> {
    Ok(Intent::Do(Value::Null))
}

fn preview(_: &Context<'_>, _: &Value) -> Result<String> {
    Ok(format!("collect facts from {}", facts::COLLECTORS.iter().map(|c| c.name).collect::<Vec<_>>().join(", ")))
}

fn act(context: &Context<'_>, _: &Value) -> Result<Outcome, Failure> {
    let before = Before::of(context.values);
    let found = recap::collect(&Scene {
        session: context.session,
        root: if context.is_gone { context.bare.unwrap_or(context.root) } else { context.work },
        work: context.work,
        is_gone: context.is_gone,
        tree_before: before.tree.as_deref(),
        is_first_commit_new: before.was_without_commit,
    })?;
    let mut detail = found.detail.unwrap_or_default();
    for notice in &found.notices {
        detail = format!("{detail}; {notice}");
    }
    // The checkpoint keeps which part of which transcript this run has covered.
    let result = json!({ "notices": found.notices, "transcript": context.session.transcript });
    Ok(Outcome { detail, result, facts: found.values })
}
