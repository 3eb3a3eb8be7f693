//! The Python tool's `checkpoint.json`. It is read where this program has no run on record, and never written.

use std::path::Path;

use serde::Deserialize;

use super::file::unreadable;
use crate::base::fs::Anchor;
use crate::error::{Error, Result};

/// The name of its step that publishes.
const PUBLISH: &str = "publish";

/// The checkpoint of the Python tool, which holds one run.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct PythonCheckpoint {
    #[serde(default)]
    status: String,
    /// The steps by name, in the order of the file.
    #[serde(default)]
    steps: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    pub finished_at: Option<String>,
}

/// What the Python tool has on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PythonState {
    None,
    Interrupted,
    Completed,
}

impl PythonCheckpoint {
    /// `None` if there is no such file. The path may contain links only above `anchor`.
    pub(crate) fn read(anchor: &Anchor, path: &Path) -> Result<Option<PythonCheckpoint>> {
        let Some(bytes) = anchor.read_if_exists(path).map_err(unreadable)? else { return Ok(None) };
        // serde would accept an array as the fields in their order.
        let object = serde_json::from_slice::<serde_json::Map<_, _>>(&bytes).map(serde_json::Value::Object);
        object.and_then(serde_json::from_value).map(Some).map_err(|cause| {
            Error::bad_data(format!("`{}`, the Python tool's checkpoint, cannot be read", path.display()))
                .cause(cause)
                .hint("move it away if you no longer use that tool; `agent-handover run --note …` works without it")
        })
    }

    /// The state that the Python tool's `check` would report.
    pub(crate) fn state(&self) -> PythonState {
        match self.status.as_str() {
            "completed" => PythonState::Completed,
            "in_progress" if self.pending().is_empty() => PythonState::Completed,
            "in_progress" => PythonState::Interrupted,
            _ => PythonState::None,
        }
    }

    /// The name of each step, and whether it is done.
    pub(crate) fn steps(&self) -> Vec<(&str, bool)> {
        self.steps.iter().map(|(name, state)| (name.as_str(), state == "done")).collect()
    }

    /// The names of the steps that are not done.
    pub(crate) fn pending(&self) -> Vec<&str> {
        self.steps().into_iter().filter(|(_, done)| !done).map(|(name, _)| name).collect()
    }

    /// Whether its step that publishes is not done.
    pub(crate) fn is_publish_pending(&self) -> bool {
        self.pending().contains(&PUBLISH)
    }

    /// The names of the other steps that are not done. They write files, and what they would have written is not recorded.
    pub(crate) fn pending_writes(&self) -> Vec<&str> {
        self.pending().into_iter().filter(|name| *name != PUBLISH).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> PythonState {
        serde_json::from_str::<PythonCheckpoint>(text).unwrap().state()
    }

    #[test]
    fn states_are_those_of_their_check() {
        let steps = |state: &str| format!(r#"{{"session_note": "done", "publish": "{state}"}}"#);
        assert_eq!(
            state(&format!(r#"{{"status": "in_progress", "steps": {}}}"#, steps("pending"))),
            PythonState::Interrupted
        );
        assert_eq!(
            state(&format!(r#"{{"status": "in_progress", "steps": {}}}"#, steps("done"))),
            PythonState::Completed
        );
        assert_eq!(
            state(&format!(r#"{{"status": "completed", "steps": {}}}"#, steps("pending"))),
            PythonState::Completed
        );
        assert_eq!(state("{}"), PythonState::None);
        assert_eq!(state(r#"{"status": "other", "extra": 1}"#), PythonState::None);
    }
}
