//! Records how a session ended, as `history close` was told.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::deferred::{DeferredStep, given};
use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::error::Result;
use crate::history::{History, NotChanged};

pub(super) const KIND: Kind = Kind {
    name: "history-close",
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
    /// Without one, the latest session when the step begins: commands that were recorded earlier are done by then.
    session: Option<String>,
    status: String,
    /// The status that the session had when the command was given, if that is known. A later one stays.
    #[serde(default)]
    was: Option<String>,
}

/// The step that closes a session. `was` is the status that it has now, if that is known.
pub(crate) fn history_close(session: Option<&str>, status: &str, was: Option<String>) -> Result<DeferredStep> {
    let intent = session.zip(was.as_deref()).map(|(session, was)| intent(session, was));
    let given = Given { session: session.map(str::to_owned), status: status.to_owned(), was };
    Ok(DeferredStep::new("history close", KIND.name, &given)?.with_intent(intent))
}

fn intend(context: &Context<'_>) -> Result<Intent> {
    let given: Given = given(context)?;
    // A resume must close the same session, even if a newer one was archived meanwhile.
    let history = History::at(context.root, context.history.clone());
    let session = match history.session_to_close(given.session.as_deref()) {
        Ok(session) => session,
        Err(NotChanged::DoesNotFit(error)) => return Ok(Intent::Nothing(not_closed(&error.one_line()))),
        Err(NotChanged::Failed(error) | NotChanged::TakenBack(error)) => return Err(error),
    };
    let now = history.status_by_id(&session)?;
    if given.was.is_some_and(|was| was != now) {
        return Ok(Intent::Nothing(set_since(&now)));
    }
    Ok(Intent::Do(intent(&session, &now)))
}

fn intent(session: &str, was: &str) -> Value {
    json!({ "session": session, "was": was })
}

fn preview(_: &Context<'_>, intent: &Value) -> Result<String> {
    Ok(format!("close session {}", intent["session"].as_str().unwrap_or_default()))
}

fn act(context: &Context<'_>, intent: &Value) -> Result<Outcome, Failure> {
    let status = given::<Given>(context)?.status;
    let history = History::at(context.root, context.history.clone());
    let session = intent["session"].as_str();
    // An interrupted attempt may have closed the session, and somebody may have set another status after it.
    let now = history.status_by_id(session.unwrap_or_default())?;
    if intent["was"].as_str().is_some_and(|was| was != now && now != status) {
        return Err(Failure::NothingToDo(set_since(&now)));
    }
    match history.close(session, &status) {
        Ok(id) => Ok(Outcome::new(format!("{id} is {status}"))),
        Err(NotChanged::DoesNotFit(error)) => Err(Failure::NothingToDo(not_closed(&error.one_line()))),
        Err(NotChanged::Failed(error) | NotChanged::TakenBack(error)) => Err(error.into()),
    }
}

fn set_since(status: &str) -> String {
    not_closed(&format!("its status was set to {status} since"))
}

fn not_closed(why: &str) -> String {
    format!("nothing was closed: {why}")
}
