//! Archives the handoff that `history create` was given.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::deferred::{DeferredStep, given, read};
use super::state::edits_of_handoff;
use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::error::Result;
use crate::handoff::Handoff;
use crate::history::{self, History, IfTaken, registry};
use crate::memory::Memory;

pub(super) const KIND: Kind = Kind {
    name: "history-create",
    promise: Promise::Repeat,
    newest_wins: false,
    only_reads: false,
    collects: false,
    needs_head: false,
    delivers: false,
    runs_in_worktree: false,
    read: kind::no_keys,
    intend,
    preview,
    missing: kind::needs_nothing,
    act,
    before_resume: kind::leaves_nothing,
    on_interrupt: kind::always_rerun,
};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Given {
    document: String,
    /// Whether the current state learns from it, too.
    #[serde(default)]
    feeds_memory: bool,
}

/// The step that archives this handoff, which was checked.
pub(crate) fn history_create(handoff: &Handoff, feeds_memory: bool) -> Result<DeferredStep> {
    DeferredStep::new("history create", KIND.name, &Given { document: handoff.render(), feeds_memory })
}

/// The handoff that a recorded step archives; `None` if the step is of another kind.
pub(crate) fn handoff_to_create(kind: &str, params: &Value) -> Option<Handoff> {
    let given: Given = read(params).ok().filter(|_| kind == KIND.name)?;
    Handoff::parse(&given.document).ok()
}

fn intend(context: &Context<'_>) -> Result<Intent> {
    given::<Given>(context)?;
    // The parameters say everything already.
    Ok(Intent::Do(json!({})))
}

fn preview(context: &Context<'_>, _: &Value) -> Result<String> {
    Ok(format!("archive a handoff in {}", context.show(&context.history)))
}

fn act(context: &Context<'_>, _: &Value) -> Result<Outcome, Failure> {
    let Given { document, feeds_memory } = given(context)?;
    let handoff = history::parse(&document)?;
    // `history create` refuses an id that is taken. If another handoff took it since, nobody is there to choose another id.
    let written = History::at(context.root, context.history.clone()).create(&handoff, IfTaken::Supersede)?;
    registry::remember(context.root, &context.history);
    if feeds_memory {
        let memory = Memory::at(context.root, context.memory.clone());
        let session = context.session;
        let (author, edits) = edits_of_handoff(&handoff, &session.run, session.at, &session.tag);
        memory.update_once(&author.author(), context.categories, &edits, context.newest_before)?;
    }
    Ok(Outcome::new(context.show(&written.archive)))
}
