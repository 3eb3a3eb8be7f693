//! The Python tool's `checkpoint.json`, read where it is all there is. It is never written.

use std::path::Path;

use serde::Deserialize;

use crate::base::fs;
use crate::error::{Error, Result};

/// One run is all it holds.
#[derive(Clone, Debug, Deserialize)]
pub struct PythonCheckpoint {
    #[serde(default)]
    status: String,
    /// In the order of the file.
    #[serde(default)]
    steps: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    pub finished_at: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    None,
    Interrupted,
    Completed,
}

impl PythonCheckpoint {
    /// `None` if there is no such file.
    pub fn read(path: &Path) -> Result<Option<PythonCheckpoint>> {
        let Some(bytes) = fs::read_if_exists(path)? else { return Ok(None) };
        // An array would pass for the fields in their order.
        let object = serde_json::from_slice::<serde_json::Map<_, _>>(&bytes).map(serde_json::Value::Object);
        object.and_then(serde_json::from_value).map(Some).map_err(|cause| {
            Error::bad_data(format!("`{}`, the Python tool's checkpoint, cannot be read", path.display()))
                .cause(cause)
                .hint("move it away if you no longer use that tool; `agent-handover run --note …` goes on without it")
        })
    }

    /// As the Python `check` sees it.
    pub fn state(&self) -> State {
        match self.status.as_str() {
            "completed" => State::Completed,
            "in_progress" if self.pending().is_empty() => State::Completed,
            "in_progress" => State::Interrupted,
            _ => State::None,
        }
    }

    /// Name, and whether it is done.
    pub fn steps(&self) -> Vec<(&str, bool)> {
        self.steps.iter().map(|(name, state)| (name.as_str(), state == "done")).collect()
    }

    pub fn pending(&self) -> Vec<&str> {
        self.steps().into_iter().filter(|(_, done)| !done).map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> State {
        serde_json::from_str::<PythonCheckpoint>(text).unwrap().state()
    }

    #[test]
    fn states_are_those_of_their_check() {
        let steps = |state: &str| format!(r#"{{"session_note": "done", "publish": "{state}"}}"#);
        assert_eq!(
            state(&format!(r#"{{"status": "in_progress", "steps": {}}}"#, steps("pending"))),
            State::Interrupted
        );
        assert_eq!(state(&format!(r#"{{"status": "in_progress", "steps": {}}}"#, steps("done"))), State::Completed);
        assert_eq!(state(&format!(r#"{{"status": "completed", "steps": {}}}"#, steps("pending"))), State::Completed);
        assert_eq!(state("{}"), State::None);
        assert_eq!(state(r#"{"status": "other", "extra": 1}"#), State::None);
    }
}
