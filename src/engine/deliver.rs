//! A delivery without a run: what `push` and `pull` do between handovers.

use std::time::Duration;

use super::before_run::files_of;
use super::event::Listener;
use super::plan::Plan;
use super::provenance;
use super::queue::{Drained, Goal, between_runs_with, busy, drain_with};
use super::record::{Request, session_for};
use crate::checkpoint::Store;
use crate::config::{Keep, template};
use crate::error::{Error, Result};
use crate::facts;
use crate::project::{self, Project};
use crate::publish::{self, Delivered, DeliveredRun, Delivery, NotDelivered};
use crate::steps::Provided;

/// Whether the files here go to the branch, or the branch comes into the files here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Push,
    Pull,
}

/// Delivers once, waiting up to `wait` for a handover that is going on. A push first finishes the runs that wait for it.
pub(crate) fn deliver(
    project: &Project,
    direction: Direction,
    wait: Duration,
    listener: &mut Listener<'_>,
) -> Result<Delivered> {
    let provided = Provided::default();
    if direction == Direction::Push {
        finish_runs(project, wait, &provided)?;
    }
    let mut plan = Plan::of(&project.config);
    let backend = publish::remote_backend(&plan.destination)?;
    // Whoever asks for a push means it, even if the config says that runs do not push.
    plan.destination.push = true;
    let request = Request { only_publish: true, ..Request::default() };
    let session = session_for(project, &plan, &request, None)?;
    let message = template::render(&plan.destination.message, &facts::recorded(&session), &facts::texts(&session))?;
    let memory = project::place(&project.memory_root, &plan.memory_dir)?;
    let history = project::place(&project.memory_root, &plan.history_dir)?;
    let brake = project.brake();
    let files = files_of(project, &plan, &memory, &history);
    let run = DeliveredRun { id: &session.run, tag: &session.tag, at: session.at };
    let is_trusted = provenance::is_trusted(project, &plan.destination);
    let delivery = Delivery::new(files, &plan.destination, run, &brake, &provided.unreachable)
        .with_message(&message)
        .trusted(is_trusted)
        .with_talk(project.keep() == Keep::Publish);
    provenance::adopt_after_upgrade(&project.memory_root, &memory, &history)?;
    let done = between_runs_with(project, wait, &provided, listener, |_| {
        Ok(match direction {
            Direction::Push => backend.publish(&delivery),
            Direction::Pull => backend.pull(&delivery),
        })
    })?;
    done.map_err(|not_delivered| match not_delivered {
        NotDelivered::Failed(error) => error,
        NotDelivered::Stopped(stop) => stop.error(),
        NotDelivered::NotFromHere(why) => Error::failed(why),
    })
}

/// Runs what is unfinished: a run that only waits for its delivery is finished by it.
fn finish_runs(project: &Project, wait: Duration, provided: &Provided<'_>) -> Result<()> {
    if !project.checkpoint_file().is_there() {
        return Ok(());
    }
    let mut store = Store::open(&project.checkpoint_file())?;
    if store.oldest_unfinished()?.is_none() {
        return Ok(());
    }
    match drain_with(project, &mut store, Goal::Resume, wait, provided, &mut |_| ())? {
        Drained::Tried { failures, .. } => match failures.into_iter().next() {
            Some(failure) => Err(failure.error),
            None => Ok(()),
        },
        Drained::Busy(owner) => Err(busy(owner.as_ref(), "nothing was done; try again when it ends")),
        Drained::Stopped { stop, .. } => Err(stop.error()),
    }
}
