//! Changes the current state as a `memory` command asked for it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::deferred::{DeferredStep, given};
use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::base::text;
use crate::error::Result;
use crate::memory::{Author, Edits, Memory};

pub(super) const KIND: Kind = Kind {
    name: "memory-edit",
    promise: Promise::Repeat,
    newest_wins: false,
    only_reads: false,
    collects: false,
    needs_head: false,
    delivers: false,
    runs_in_worktree: false,
    keeps: kind::keeps_all,
    read: kind::no_keys,
    intend,
    preview,
    missing: kind::needs_nothing,
    act,
    before_resume: kind::leaves_nothing,
    missing_from: kind::loses_nothing,
    on_interrupt: kind::always_rerun,
};

/// What a `memory` command was given, checked and without secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MemoryEdit {
    /// The step that layer 1 names for the change.
    pub step: String,
    pub edits: Edits,
    /// The commit that was checked out, or at which the session began.
    pub commit: String,
}

impl MemoryEdit {
    /// The step of `memory VERB`.
    pub(crate) fn deferred(&self, verb: &str) -> Result<DeferredStep> {
        DeferredStep::new(&format!("memory {verb}"), KIND.name, self)
    }
}

fn intend(context: &Context<'_>) -> Result<Intent> {
    given::<MemoryEdit>(context)?;
    // The parameters say everything already.
    Ok(Intent::Do(json!({})))
}

fn preview(context: &Context<'_>, _: &Value) -> Result<String> {
    Ok(format!("change {}", context.show(&Memory::at(context.root, context.memory.clone()).state_path())))
}

fn act(context: &Context<'_>, _: &Value) -> Result<Outcome, Failure> {
    let edit: MemoryEdit = given(context)?;
    let session = context.session;
    let memory = Memory::at(context.root, context.memory.clone());
    let author = Author {
        run: &session.run,
        step: &edit.step,
        at: session.at,
        agent: &session.agent,
        tag: &session.tag,
        commit: &edit.commit,
        branch: &session.branch,
        is_late: false,
    };
    let changes = memory.update_once(&author, context.categories, &edit.edits, context.newest_before)?;
    let path = context.show(&memory.state_path());
    Ok(Outcome::new(match changes.len() {
        0 => format!("{path}: nothing new"),
        count => format!("{path}: {}", text::count(count, "change")),
    }))
}
