//! What a recorded run was told, for a person who wants its words back.

use serde_json::{Value, json};

use super::inputs::recorded_session;
use super::plan::Plan;
use crate::base::text;
use crate::checkpoint::{Run, Store};
use crate::error::{Error, Result};
use crate::steps;

/// The words of a run that did not complete, or that no step wrote anywhere.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub note: String,
    pub state: String,
    pub handoff: String,
    /// The agent's transcript, and which part of it the run hands over.
    pub transcript: Option<(String, u64, u64)>,
    /// What a command was given while paused.
    pub command: Option<Value>,
}

impl Told {
    /// Every text with its heading, in the order in which they are shown.
    pub(crate) fn texts(&self) -> Vec<(&'static str, String)> {
        let mut texts =
            vec![("note", self.note.clone()), ("current state", self.state.clone()), ("handoff", self.handoff.clone())];
        texts.retain(|(_, text)| !text.trim().is_empty());
        if let Some((path, from, to)) = &self.transcript {
            texts.push(("transcript", format!("{path}, bytes {from} to {to}")));
        }
        if let Some(command) = &self.command {
            texts.push(("given", serde_json::to_string_pretty(command).unwrap_or_default()));
        }
        texts
    }

    pub(crate) fn json(&self) -> Value {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        json!({
            "note": known(&self.note),
            "current_state": known(&self.state),
            "handoff": known(&self.handoff),
            "transcript": self.transcript.as_ref().map(|(path, from, to)| json!({ "path": path, "from": from, "to": to })),
            "command": self.command,
        })
    }
}

/// What a run was told. `None` if it is completed and its words are in the files.
pub(crate) fn told(store: &Store, run: &Run) -> Result<Option<Told>> {
    let Some((plan, inputs)) = store.kept_plan_and_inputs(run.seq)? else { return Ok(None) };
    let session = recorded_session(store, run, &inputs)?;
    let command = Plan::from_json(&plan).ok().and_then(|plan| {
        let step = plan.steps.into_iter().next()?;
        steps::is_deferred(&step.kind).then_some(step.params)
    });
    let transcript = session.transcript.map(|source| (source.path.display().to_string(), source.start, source.end));
    Ok(Some(Told { note: session.note, state: session.state, handoff: session.handoff, transcript, command }))
}

/// Refuses an empty id, with which every id begins.
pub(super) fn refuse_empty(id: &str) -> Result<()> {
    if !id.is_empty() {
        return Ok(());
    }
    Err(Error::usage("an id must not be empty")
        .hint("`agent-handover status` names the last one and those that are unfinished"))
}

/// The run whose id begins or ends with `id`, finished or not; `latest` is the newest. Ids begin with the time, so the end is
/// shorter to write.
pub(crate) fn find(store: &Store, id: &str) -> Result<Run> {
    refuse_empty(id)?;
    let id = text::one_line(id, 40);
    if id == "latest"
        && let Some(run) = store.latest()?
    {
        return Ok(run);
    }
    let part = id.to_uppercase();
    let mut runs = store.runs_beginning_with(&part)?;
    if runs.is_empty() {
        runs = store.runs_ending_with(&part)?;
    }
    match (runs.pop(), runs.len()) {
        (Some(run), 0) => Ok(run),
        (None, _) => Err(Error::failed(format!("no handover on record begins or ends with `{id}`"))
            .hint("`agent-handover status` names the last one and those that are unfinished")),
        (Some(_), _) => {
            Err(Error::failed(format!("several handovers begin or end with `{id}`")).hint("write more of the id"))
        }
    }
}
