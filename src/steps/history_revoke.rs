//! Revokes a standing ruling, as `history revoke` asked for it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::deferred::{DeferredStep, given, read};
use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::error::Result;
use crate::guard::secrets;
use crate::history::{History, NotChanged, Ruling};
use crate::memory::{Author, Edits, Memory};

pub(super) const KIND: Kind = Kind {
    name: "history-revoke",
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

/// The step that layer 1 names for the decisions that leave the current state.
pub(crate) const REVOKE: &str = "revoke";

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Given {
    /// The words that select the ruling.
    wanted: String,
    /// Without one, the ruling that fits when the step begins: commands that were recorded earlier are done by then.
    found: Option<Ruling>,
}

/// The step that revokes a ruling. `found` is the ruling, if nothing that waits can change what it is.
pub(crate) fn history_revoke(wanted: &str, found: Option<Ruling>) -> Result<DeferredStep> {
    let intent = found.as_ref().map(|found| json!(found));
    Ok(DeferredStep::new("history revoke", KIND.name, &Given { wanted: wanted.to_owned(), found })?.with_intent(intent))
}

/// The deletion of the decisions in the current state that say the same as a ruling.
pub(crate) fn edits_of_revocation(memory: &Memory, ruling: &Ruling) -> Result<Edits> {
    let text = secrets::clean(&ruling.text);
    let state = memory.state()?;
    let is_ruling = |text_of_item: &str| text_of_item.split_whitespace().eq(text.split_whitespace());
    let items = state.items().filter(|(category, item)| *category == "decision" && is_ruling(&item.text));
    Ok(Edits { delete: items.map(|(_, item)| item.id.clone()).collect(), ..Edits::default() })
}

fn intend(context: &Context<'_>) -> Result<Intent> {
    let given: Given = given(context)?;
    if let Some(found) = given.found {
        return Ok(Intent::Do(json!(found)));
    }
    // A resume must revoke the same lines, even if the ruling was stated again meanwhile.
    let rulings = History::at(context.root, context.history.clone()).rulings()?;
    match rulings.find(&given.wanted) {
        Ok(ruling) => Ok(Intent::Do(json!(ruling))),
        Err(NotChanged::DoesNotFit(error)) => Ok(Intent::Nothing(not_revoked(&error.one_line()))),
        Err(NotChanged::Failed(error) | NotChanged::TakenBack(error)) => Err(error),
    }
}

fn preview(_: &Context<'_>, intent: &Value) -> Result<String> {
    Ok(format!("revoke the ruling `{}`", read::<Ruling>(intent)?.words()))
}

fn act(context: &Context<'_>, intent: &Value) -> Result<Outcome, Failure> {
    let ruling: Ruling = read(intent)?;
    match History::at(context.root, context.history.clone()).revoke(&ruling.lines) {
        Ok(()) => {}
        Err(NotChanged::DoesNotFit(error)) => return Err(Failure::NothingToDo(not_revoked(&error.one_line()))),
        Err(NotChanged::Failed(error) | NotChanged::TakenBack(error)) => return Err(error.into()),
    }
    let memory = Memory::at(context.root, context.memory.clone());
    let edits = edits_of_revocation(&memory, &ruling)?;
    if !edits.delete.is_empty() {
        let session = context.session;
        let author = Author {
            run: &session.run,
            step: REVOKE,
            at: session.at,
            agent: &session.agent,
            tag: &session.tag,
            commit: "",
            branch: &session.branch,
            is_late: false,
        };
        memory.update_once(&author, context.categories, &edits, context.newest_before)?;
    }
    Ok(Outcome::new(format!("revoked: {}", ruling.words())))
}

fn not_revoked(why: &str) -> String {
    format!("nothing was revoked: {why}")
}
