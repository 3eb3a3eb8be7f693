//! Records how a session ended, as `history close` was told.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::deferred::{DeferredStep, given};
use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::error::Result;
use crate::history::History;

pub(super) const KIND: Kind = Kind {
    name: "history-close",
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
    /// Without one, the latest session when the step begins: commands that were recorded earlier are done by then.
    session: Option<String>,
    status: String,
}

/// The step that closes a session.
pub(crate) fn history_close(session: Option<&str>, status: &str) -> Result<DeferredStep> {
    let given = Given { session: session.map(str::to_owned), status: status.to_owned() };
    DeferredStep::new("history close", KIND.name, &given)
}

fn intend(context: &Context<'_>) -> Result<Intent> {
    let given: Given = given(context)?;
    // A resume must close the same session, even if a newer one was archived meanwhile.
    let session = History::at(context.root, context.history.clone()).session_to_close(given.session.as_deref())?;
    Ok(Intent::Do(json!({ "session": session })))
}

fn preview(_: &Context<'_>, intent: &Value) -> Result<String> {
    Ok(format!("close session {}", intent["session"].as_str().unwrap_or_default()))
}

fn act(context: &Context<'_>, intent: &Value) -> Result<Outcome, Failure> {
    let status = given::<Given>(context)?.status;
    let id = History::at(context.root, context.history.clone()).close(intent["session"].as_str(), &status)?;
    Ok(Outcome::new(format!("{id} is {status}")))
}
