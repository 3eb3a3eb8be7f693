//! A handover that a program makes.

use std::time::Duration;

use super::backend::{Backend, CallersBackend};
use super::step::Step;
use crate::checkpoint::Store;
use crate::engine::{self, Carrier, Drained, HandOverError, HandedOver, HowToRun, Plan, Request, RunRelation, Task};
use crate::error::{Error, Result};
use crate::project::Project;
use crate::publish::Backend as _;
use crate::steps::Provided;

/// How long a handover waits for another process that runs one.
const WAIT: Duration = Duration::from_secs(30);

/// What a session says at its end, and the steps of handing it over.
#[derive(Default)]
pub struct Handover<'b> {
    note: Option<String>,
    state: Option<String>,
    agent: Option<String>,
    steps: Option<Vec<Step>>,
    backend: Option<&'b dyn Backend>,
}

/// A handover that completed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The names of the steps that this call carried out.
    pub executed: Vec<String>,
}

impl<'b> Handover<'b> {
    /// A handover with the plan of the project's config, or the built-in plan.
    #[must_use]
    pub fn new() -> Handover<'b> {
        Handover::default()
    }

    /// What the session did.
    #[must_use]
    pub fn note(self, text: impl Into<String>) -> Handover<'b> {
        Handover { note: Some(text.into()), ..self }
    }

    /// Where the project stands now.
    #[must_use]
    pub fn state(self, text: impl Into<String>) -> Handover<'b> {
        Handover { state: Some(text.into()), ..self }
    }

    /// The agent that ran the session.
    #[must_use]
    pub fn agent(self, name: impl Into<String>) -> Handover<'b> {
        Handover { agent: Some(name.into()), ..self }
    }

    /// These steps instead of the config's.
    #[must_use]
    pub fn steps(self, steps: Vec<Step>) -> Handover<'b> {
        Handover { steps: Some(steps), ..self }
    }

    /// This backend instead of the config's.
    #[must_use]
    pub fn backend(self, backend: &'b dyn Backend) -> Handover<'b> {
        Handover { backend: Some(backend), ..self }
    }

    /// Records the session and carries it out. If an interrupted handover has the same plan and says the same, it is
    /// continued instead: a program that was killed can simply be started again.
    pub(super) fn run(&self, project: &Project) -> Result<Report> {
        let request = self.request(project)?;
        let plan = request.plan.clone().unwrap_or_else(|| Plan::of(&project.config));
        let (note, state) = (request.note.as_deref().unwrap_or_default(), request.state.as_deref().unwrap_or_default());
        let is_on_record = match Store::read(&project.checkpoint_file())? {
            Some(store) => engine::is_on_record(&store, &plan, note, state)?,
            None => false,
        };
        self.carry_out(project, if is_on_record { Task::Resume } else { Task::Record(&request) })
    }

    /// Carries out what is unfinished, with the functions and the backend of this handover.
    pub(super) fn resume(&self, project: &Project) -> Result<Report> {
        self.carry_out(project, Task::Resume)
    }

    fn request(&self, project: &Project) -> Result<Request> {
        let mut plan = Plan::of(&project.config);
        if let Some(steps) = &self.steps {
            let mut names: Vec<&str> = steps.iter().map(|step| step.planned.name.as_str()).collect();
            names.sort_unstable();
            if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(Error::usage(format!("two steps are called `{}`", twice[0])));
            }
            plan.steps = steps.iter().map(|step| step.planned.clone()).collect();
        }
        if let Some(backend) = self.backend {
            if crate::publish::backend(backend.name()).is_ok() {
                return Err(Error::usage(format!("`{}` is a backend of agent-handover itself", backend.name())));
            }
            plan.destination = CallersBackend(backend).destination(&project.config);
        }
        Ok(Request {
            note: self.note.clone(),
            state: self.state.clone(),
            agent: self.agent.clone(),
            plan: (self.steps.is_some() || self.backend.is_some()).then_some(plan),
            ..Request::default()
        })
    }

    fn carry_out(&self, project: &Project, task: Task<'_>) -> Result<Report> {
        let steps = self.steps.iter().flatten();
        let functions = steps.filter_map(|step| Some((step.planned.name.as_str(), step.function.as_deref()?)));
        let backend = self.backend.map(CallersBackend);
        let provided = Provided {
            functions: functions.collect(),
            backend: backend.as_ref().map(|backend| backend as &dyn crate::publish::Backend),
            ..Provided::default()
        };
        let how = HowToRun { wait: WAIT, carrier: Carrier::ThisProcess };
        let handed_over = engine::hand_over_with(project, task, how, &provided, &mut |_| ());
        report(handed_over.map_err(|HandOverError { error, .. }| error)?)
    }
}

fn report(handed_over: HandedOver) -> Result<Report> {
    match handed_over {
        HandedOver::NothingOnRecord | HandedOver::ByAnother => Ok(Report { executed: Vec::new() }),
        HandedOver::Detached { child, .. } => child.map(|_| Report { executed: Vec::new() }).map_err(|not| not.error()),
        HandedOver::Ran { drained: Drained::Tried { executed, failures, .. }, .. } => {
            // Another process that recorded a younger run reports its failure itself.
            match failures.into_iter().find(|failure| failure.relation != RunRelation::Younger) {
                Some(failure) => Err(failure.error),
                None => Ok(Report { executed }),
            }
        }
        HandedOver::Ran { drained: Drained::Busy(owner), .. } => {
            Err(engine::busy(owner.as_ref(), "the handover is recorded, and that process carries it out"))
        }
        HandedOver::Ran { drained: Drained::Stopped { stop, .. }, .. } => Err(stop.error()),
    }
}
