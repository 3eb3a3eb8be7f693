//! The plan of a run: the ordered steps of the config, resolved, as they are recorded.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Config;
use crate::config::category::Categories;
use crate::error::{Error, Result};
use crate::guard::consent;
use crate::publish::Destination;
use crate::steps::{self, Promise};

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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
            None => built_in(),
        };
        Plan {
            memory_dir: config.memory_dir.clone(),
            history_dir: config.history_dir.clone(),
            destination: Destination::of(config),
            categories: config.categories.clone(),
            steps,
        }
    }

    /// The plan of a run that nobody typed: without consent to the config only what stays in the project's own files. The
    /// session said nothing itself, so what is known about it is always collected.
    pub fn by_itself(config: &Config) -> Result<Plan> {
        let mut plan = Plan::of(config);
        if config.is_python() {
            plan.steps = built_in();
        }
        if !plan.steps.iter().any(|step| step.kind == "collect") {
            let names: Vec<&str> = plan.steps.iter().map(|step| step.name.as_str()).collect();
            let name = ["facts", "collect", "facts-of-hook"].into_iter().find(|name| !names.contains(name));
            plan.steps.insert(0, Step::plain(name.unwrap_or("collect-facts-of-hook"), "collect"));
        }
        if config.source().is_some_and(|(file, text)| !consent::is_allowed(file, text)) {
            plan.steps.retain(|step| !reaches_out(step));
            plan.destination = Destination::nowhere();
        }
        Ok(plan)
    }

    /// Whether a run with this plan may be carried out by itself: it stays in the project's own files, or what goes beyond
    /// is what the allowed config says. A recorded plan may have come with somebody else's repository.
    pub fn may_run_by_itself(&self, config: &Config) -> bool {
        let is_allowed = config.source().is_some_and(|(file, text)| consent::is_allowed(file, text));
        let allowed = is_allowed.then(|| Plan::of(config));
        let knows = |step: &Step| allowed.as_ref().is_some_and(|plan| plan.steps.contains(step));
        let is_place = |place: &str| !place.starts_with(['/', '~']);
        let places_known = allowed
            .as_ref()
            .is_some_and(|plan| plan.memory_dir == self.memory_dir && plan.history_dir == self.history_dir);
        self.steps.iter().all(|step| !reaches_out(step) || knows(step))
            && (self.destination.is_local()
                || allowed.as_ref().is_some_and(|plan| plan.destination == self.destination))
            && (is_place(&self.memory_dir) && is_place(&self.history_dir) || places_known)
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

fn built_in() -> Vec<Step> {
    let steps =
        [("facts", "collect"), ("note", "note"), ("state", "state"), ("history", "history"), ("publish", "publish")];
    steps.map(|(name, kind)| Step::plain(name, kind)).to_vec()
}

/// Whether a step does anything beyond the project's own files. One of a kind that is not known here may do anything.
fn reaches_out(step: &Step) -> bool {
    steps::kind(&step.kind).is_ok_and(|kind| kind.promise == Promise::AtLeastOnce) || steps::kind(&step.kind).is_err()
}
