//! A step that a command records, not a config: it holds what the command was given. The command may not act now, or a kill
//! must not leave its work half-done.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Context;
use crate::error::{Error, Result};

/// A step for a run of its own.
#[derive(Clone, Debug)]
pub(crate) struct DeferredStep {
    /// The command as a person knows it, such as `memory add`. It is the name of the step.
    pub command: String,
    pub(super) kind: &'static str,
    pub(super) params: Value,
    /// What the step is about to do, if the command knows that. Otherwise the step finds out when it begins.
    pub(super) intent: Option<Value>,
}

impl DeferredStep {
    /// The step of a command. The parameters of most commands say everything, so that the intent is empty.
    pub(super) fn new(command: &str, kind: &'static str, given: &impl Serialize) -> Result<DeferredStep> {
        let params = serde_json::to_value(given)
            .map_err(|cause| Error::bug(format!("what `{command}` was given cannot be written")).cause(cause))?;
        Ok(DeferredStep { command: command.to_owned(), kind, params, intent: Some(json!({})) })
    }

    /// The same step with what it is about to do; `None` if only the step can find out.
    #[must_use]
    pub(super) fn with_intent(self, intent: Option<Value>) -> DeferredStep {
        DeferredStep { intent, ..self }
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    /// The parameters, which may be long.
    pub(crate) fn into_params(self) -> Value {
        self.params
    }

    pub(crate) fn intent(&self) -> Option<&Value> {
        self.intent.as_ref()
    }
}

/// What the command was given, as its step was recorded.
pub(super) fn given<T: DeserializeOwned>(context: &Context<'_>) -> Result<T> {
    read(context.params)
}

pub(super) fn read<T: DeserializeOwned>(params: &Value) -> Result<T> {
    T::deserialize(params).map_err(|cause| {
        Error::bad_data("what the command was given cannot be read").cause(cause).hint("another version recorded it")
    })
}
