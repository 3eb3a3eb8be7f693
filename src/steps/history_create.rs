//! Archives the handoff that `history create` was given.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::deferred::{DeferredStep, given, read};
use super::state::edits_of_handoff;
use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::error::Result;
use crate::handoff::{self, Handoff};
use crate::history::{self, History, IfTaken, registry};
use crate::memory::Memory;

/// The key of the intent for the id of the session.
const ID: &str = "session_id";

pub(super) const KIND: Kind = Kind {
    name: "history-create",
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

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Given {
    document: String,
    /// Whether the session gets another id if its id is taken.
    #[serde(default)]
    is_renamed: bool,
    /// Whether the current state learns from it, too.
    #[serde(default)]
    feeds_memory: bool,
}

/// The step that archives this handoff, which was checked.
pub(crate) fn history_create(handoff: &Handoff, is_renamed: bool, feeds_memory: bool) -> Result<DeferredStep> {
    let given = Given { document: handoff.render(), is_renamed, feeds_memory };
    DeferredStep::new("history create", KIND.name, &given)
}

/// The handoff that a recorded step archives; `None` if the step is of another kind.
pub(crate) fn handoff_to_create(kind: &str, params: &Value) -> Option<Handoff> {
    let given: Given = read(params).ok().filter(|_| kind == KIND.name)?;
    Handoff::parse(&given.document).ok()
}

fn intend(context: &Context<'_>) -> Result<Intent> {
    let Given { document, is_renamed, .. } = given(context)?;
    if !is_renamed {
        // The parameters say everything already.
        return Ok(Intent::Do(json!({})));
    }
    // The id is recorded before the archive is written, so that a resume does not archive the handoff a second time.
    let id = archives(context).free_id(history::parse(&document)?.text("session_id"))?;
    Ok(Intent::Do(json!({ ID: id })))
}

fn archives(context: &Context<'_>) -> History {
    History::at(context.root, context.history.clone())
}

fn preview(context: &Context<'_>, _: &Value) -> Result<String> {
    Ok(format!("archive a handoff in {}", context.show(&context.history)))
}

fn act(context: &Context<'_>, intent: &Value) -> Result<Outcome, Failure> {
    let Given { document, is_renamed, feeds_memory } = given(context)?;
    let mut handoff = history::parse(&document)?;
    if let Some(id) = intent[ID].as_str() {
        handoff.set("session_id", handoff::Value::from(id));
    }
    // `history create` refuses an id that is taken. If another handoff took it since, nobody is there to choose another id.
    let if_taken = if is_renamed { IfTaken::Rename } else { IfTaken::Supersede };
    let written = archives(context).create(&handoff, if_taken)?;
    registry::remember(context.root, &context.history);
    if feeds_memory {
        let memory = Memory::at(context.root, context.memory.clone());
        let session = context.session;
        let (author, edits) = edits_of_handoff(&handoff, &session.run, session.at, &session.tag);
        memory.update_once(&author.author(), context.categories, &edits, context.newest_before)?;
    }
    Ok(Outcome::new(context.show(&written.archive)))
}
