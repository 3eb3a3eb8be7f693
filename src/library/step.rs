//! The steps of a handover that a program puts together itself.

use crate::engine::PlannedStep;
use crate::steps::StepFunction;

/// One step of a handover: a built-in one, or a function of the calling program.
pub struct Step {
    pub(super) planned: PlannedStep,
    pub(super) function: Option<Box<StepFunction>>,
}

impl Step {
    /// A step that calls `function`. The name identifies the step in the checkpoint: after a crash, the same program goes on
    /// with the first step that is not done. A function that was interrupted is called again, so it runs at least once.
    pub fn new<F, E>(name: &str, function: F) -> Step
    where
        F: Fn() -> Result<(), E> + 'static,
        E: Into<Box<dyn std::error::Error>>,
    {
        Step { planned: PlannedStep::function(name), function: Some(Box::new(move || function().map_err(Into::into))) }
    }

    /// Collects what git and the transcript say about the session.
    #[must_use]
    pub fn collect() -> Step {
        Step::built_in(PlannedStep::collect())
    }

    /// Appends the note to layer 1.
    #[must_use]
    pub fn note() -> Step {
        Step::built_in(PlannedStep::note())
    }

    /// Replaces the current state in layer 2.
    #[must_use]
    pub fn state() -> Step {
        Step::built_in(PlannedStep::state())
    }

    /// Archives the handoff of the session.
    #[must_use]
    pub fn history() -> Step {
        Step::built_in(PlannedStep::history())
    }

    /// Publishes through the backend.
    #[must_use]
    pub fn publish() -> Step {
        Step::built_in(PlannedStep::publish())
    }

    /// Another name for this step. The names of one handover must differ.
    #[must_use]
    pub fn named(mut self, name: &str) -> Step {
        self.planned.name = name.to_owned();
        self
    }

    fn built_in(planned: PlannedStep) -> Step {
        Step { planned, function: None }
    }
}
