//! The plan of a run: the steps of the config, in order and resolved, as they are recorded.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::category::Categories;
use crate::config::{Config, Origin};
use crate::error::{Error, Result};
use crate::guard::consent;
use crate::publish::Destination;
use crate::steps::{self, DeferredStep, Kind, Promise};

/// Everything that a resume needs besides the inputs. Paths stay as the config writes them, so that a project can be moved
/// between record and resume.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub memory_dir: String,
    pub history_dir: String,
    pub destination: Destination,
    #[serde(default)]
    pub categories: Categories,
    pub steps: Vec<PlannedStep>,
    /// Whether the project's own directories are hidden from `git status` before the run.
    #[serde(default = "yes")]
    pub keeps_out_of_git: bool,
    /// For a command that carries out its run itself, at once. `None` for every other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<AtOnce>,
}

/// What a command that is carried out at once found. Its run leaves no record when it is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AtOnce {
    /// The latest time in the current state. What the command states is newer.
    pub newest: String,
}

fn yes() -> bool {
    true
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PlannedStep {
    pub name: String,
    pub kind: String,
    pub continue_on_failure: bool,
    pub retries: u64,
    pub params: Value,
}

impl PlannedStep {
    /// A step that collects facts about the session.
    pub(crate) fn collect() -> PlannedStep {
        PlannedStep::plain("facts", "collect")
    }

    /// A step that appends the note to layer 1.
    pub(crate) fn note() -> PlannedStep {
        PlannedStep::plain("note", "note")
    }

    /// A step that replaces the current state in layer 2.
    pub(crate) fn state() -> PlannedStep {
        PlannedStep::plain("state", "state")
    }

    /// A step that archives the handoff of the session.
    pub(crate) fn history() -> PlannedStep {
        PlannedStep::plain("history", "history")
    }

    /// A step that publishes through the backend.
    pub(crate) fn publish() -> PlannedStep {
        PlannedStep::plain("publish", "publish")
    }

    /// A step that calls a function of the program.
    pub(crate) fn function(name: &str) -> PlannedStep {
        PlannedStep::plain(name, "function")
    }

    /// A recorded step of which only this much is known.
    pub(super) fn unknown(name: &str, kind: &str) -> PlannedStep {
        PlannedStep::plain(name, kind)
    }

    fn plain(name: &str, kind: &str) -> PlannedStep {
        PlannedStep {
            name: name.to_owned(),
            kind: kind.to_owned(),
            continue_on_failure: false,
            retries: 0,
            params: Value::Null,
        }
    }

    /// The step that does what a command was given.
    pub(super) fn deferred(step: DeferredStep) -> PlannedStep {
        let plain = PlannedStep::plain(&step.command, step.kind());
        PlannedStep { params: step.into_params(), ..plain }
    }

    /// Whether the kind of this step has a property. A kind that this version does not know has none.
    pub(super) fn is_of(&self, property: impl FnOnce(&Kind) -> bool) -> bool {
        steps::kind(&self.kind).is_ok_and(property)
    }

    /// The command that the step runs, in one line; `None` if it is a step of another kind.
    pub(crate) fn command(&self) -> Option<String> {
        (self.kind == "command").then(|| steps::as_configured(&self.params)).flatten()
    }

    /// Whether the step does anything beyond the project's own files. A kind that this version does not know may do anything.
    pub(crate) fn reaches_out(&self) -> bool {
        steps::kind(&self.kind).map_or(true, |kind| kind.promise == Promise::AtLeastOnce)
    }
}

impl Plan {
    /// Whether a step of this plan delivers through the backend.
    pub(crate) fn delivers(&self) -> bool {
        self.steps.iter().any(|step| step.is_of(|kind| kind.delivers))
    }

    /// Whether a step of this plan finds out what the session did.
    pub(super) fn collects(&self) -> bool {
        self.steps.iter().any(|step| step.is_of(|kind| kind.collects))
    }

    /// The plan that the config describes.
    pub(crate) fn of(config: &Config) -> Plan {
        let steps = match &config.steps {
            Some(steps) => steps
                .iter()
                .map(|step| PlannedStep {
                    name: step.name.clone(),
                    kind: step.kind.to_owned(),
                    continue_on_failure: step.continue_on_failure,
                    retries: step.retries,
                    params: step.params.clone(),
                })
                .collect(),
            // A config of the Python tool that names no steps.
            None if config.is_python() => vec![
                PlannedStep::plain("session_note", "note"),
                PlannedStep::plain("current_state", "state"),
                PlannedStep::plain("publish", "publish"),
            ],
            None => built_in(),
        };
        Plan {
            memory_dir: config.memory_dir.clone(),
            history_dir: config.history_dir.clone(),
            destination: Destination::of(config),
            categories: config.categories.clone(),
            steps,
            keeps_out_of_git: true,
            at_once: None,
        }
    }

    /// The plan for a session that said nothing itself: facts about it are always collected.
    pub(super) fn collecting(config: &Config) -> Plan {
        let mut plan = Plan::of(config);
        if config.is_python() {
            plan.steps = built_in();
        }
        if !plan.collects() {
            let names: Vec<&str> = plan.steps.iter().map(|step| step.name.as_str()).collect();
            let name = ["facts", "collect", "facts-of-hook"].into_iter().find(|name| !names.contains(name));
            plan.steps.insert(0, PlannedStep::plain(name.unwrap_or("collect-facts-of-hook"), "collect"));
        }
        plan
    }

    /// The plan of a run that a hook asks for. Without consent to the config, only steps that stay in the project's own files
    /// are left, and nothing is published.
    pub(crate) fn for_hook(config: &Config) -> Plan {
        let mut plan = Plan::collecting(config);
        if config.source().is_some_and(|(file, text)| !consent::is_allowed(file, text)) {
            plan.steps.retain(|step| !step.reaches_out());
            plan.destination = Destination::nowhere();
        }
        plan
    }

    /// Whether a run with this plan may be carried out although nobody asked for it: everything in it that goes beyond the
    /// project's own files is also in a config that the user consented to. A recorded plan may have come with somebody
    /// else's repository.
    pub(crate) fn may_run_unattended(&self, config: &Config) -> bool {
        let is_allowed = config.source().is_some_and(|(file, text)| consent::is_allowed(file, text));
        let allowed = is_allowed.then(|| Plan::of(config));
        let knows = |step: &PlannedStep| allowed.as_ref().is_some_and(|plan| plan.steps.contains(step));
        // A place that the config's file names needs consent; the default ones, and those of the environment, do not.
        let default = Config::default();
        let is_place = |place: &str, default: &str, present: &str, key: &str| {
            place == default || place == present && !matches!(config.origin(key), Origin::File { .. })
        };
        let are_places = is_place(&self.memory_dir, &default.memory_dir, &config.memory_dir, "handover.memory_dir")
            && is_place(&self.history_dir, &default.history_dir, &config.history_dir, "handover.history_dir");
        let places_known = allowed
            .as_ref()
            .is_some_and(|plan| plan.memory_dir == self.memory_dir && plan.history_dir == self.history_dir);
        self.steps.iter().all(|step| !step.reaches_out() || knows(step))
            && (self.destination.is_local()
                || allowed.as_ref().is_some_and(|plan| plan.destination == self.destination))
            && (are_places || places_known)
    }

    pub(crate) fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|cause| Error::bug("a plan cannot be written").cause(cause))
    }

    pub(crate) fn from_json(text: &str) -> Result<Plan> {
        serde_json::from_str(text).map_err(|cause| {
            Error::bad_data("the recorded plan cannot be read")
                .cause(cause)
                .hint("it was recorded by another version: update, or abandon it with `agent-handover run --abandon`")
        })
    }
}

/// The steps of a project that configures none.
fn built_in() -> Vec<PlannedStep> {
    vec![
        PlannedStep::collect(),
        PlannedStep::note(),
        PlannedStep::state(),
        PlannedStep::history(),
        PlannedStep::publish(),
    ]
}
