//! The plan of a run: the ordered steps of the config, resolved, as they are recorded.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::category::Categories;
use crate::config::{BackendKind, Config};
use crate::error::{Error, Result};
use crate::publish::Destination;

/// Everything a resume needs besides the inputs. Paths are kept as they were written, so that a project
/// can be moved between record and resume.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    pub memory_dir: String,
    pub history_dir: String,
    pub destination: Destination,
    #[serde(default)]
    pub categories: Categories,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    pub name: String,
    pub kind: String,
    pub continue_on_failure: bool,
    pub retries: u64,
    pub params: Value,
}

impl Step {
    fn plain(name: &str, kind: &str) -> Step {
        Step {
            name: name.to_owned(),
            kind: kind.to_owned(),
            continue_on_failure: false,
            retries: 0,
            params: Value::Null,
        }
    }
}

impl Plan {
    pub fn of(config: &Config) -> Plan {
        let steps = match &config.steps {
            Some(steps) => steps
                .iter()
                .map(|step| Step {
                    name: step.name.clone(),
                    kind: step.kind.to_owned(),
                    continue_on_failure: step.continue_on_failure,
                    retries: step.retries,
                    params: step.params.clone(),
                })
                .collect(),
            // A file without steps means what it means to the Python tool.
            None if config.is_python() => vec![
                Step::plain("session_note", "note"),
                Step::plain("current_state", "state"),
                Step::plain("publish", "publish"),
            ],
            None => vec![
                Step::plain("facts", "collect"),
                Step::plain("note", "note"),
                Step::plain("state", "state"),
                Step::plain("history", "history"),
                Step::plain("publish", "publish"),
            ],
        };
        Plan {
            memory_dir: config.memory_dir.clone(),
            history_dir: config.history_dir.clone(),
            destination: destination(config),
            categories: config.categories.clone(),
            steps,
        }
    }

    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|cause| Error::bug("a plan cannot be written").cause(cause))
    }

    pub fn from_json(text: &str) -> Result<Plan> {
        serde_json::from_str(text).map_err(|cause| {
            Error::bad_data("the recorded plan cannot be read")
                .cause(cause)
                .hint("it was recorded by another version: update, or give it up with `agent-handover run --abandon`")
        })
    }
}

fn destination(config: &Config) -> Destination {
    let is_python = config.is_python();
    let backend = config.backend.as_ref();
    let kind = backend.map_or(if is_python { BackendKind::Git } else { BackendKind::Null }, |backend| backend.kind);
    if kind == BackendKind::Null {
        return Destination::null();
    }
    let or = |value: Option<&String>, default: &str| value.cloned().unwrap_or_else(|| default.to_owned());
    Destination {
        backend: "git".to_owned(),
        branch: or(backend.and_then(|b| b.branch.as_ref()), if is_python { "main" } else { "agent-handover" }),
        remote: or(backend.and_then(|b| b.remote.as_ref()), "origin"),
        push: backend.is_none_or(|b| b.push),
        repo_dir: or(backend.and_then(|b| b.repo_dir.as_ref()), "."),
        paths: backend.and_then(|b| b.paths.clone()).filter(|paths| !paths.is_empty()).unwrap_or_else(|| {
            let both = [config.memory_dir.clone(), config.history_dir.clone()];
            // The Python tool knows only the first.
            both.into_iter().take(if is_python { 1 } else { 2 }).collect()
        }),
        message: or(
            backend.and_then(|b| b.message.as_ref()),
            if is_python { "handover: {{ tag }} session" } else { "handover: {{ tag }} {{ date }}" },
        ),
        timeout_ms: backend.map_or(60_000, |b| u64::try_from(b.timeout.as_millis()).unwrap_or(u64::MAX)),
    }
}
