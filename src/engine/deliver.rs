//! `push` and `pull`: a delivery between handovers, without a run.

use std::time::Duration;

use super::event::Listener;
use super::plan::Plan;
use super::queue::between_runs;
use super::record::{Request, session_for};
use crate::config::template;
use crate::error::{Error, Result};
use crate::facts;
use crate::project::{self, Project};
use crate::publish::{self, Delivered, Delivery, Trouble};

/// Which way a delivery goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Push,
    Pull,
}

/// Pushes the files to the branch, or takes the branch into the files.
pub fn deliver(
    project: &Project,
    direction: Direction,
    wait: Duration,
    listener: &mut Listener<'_>,
) -> Result<Delivered> {
    let mut plan = Plan::of(&project.config);
    if !plan.is_published_remotely() {
        let backend = &plan.destination.backend;
        let message = format!("there is nowhere to deliver to: the backend of this project is `{backend}`");
        return Err(Error::usage(message).hint("set `type = \"git\"` under `[backend]` in handover.toml"));
    }
    // `push = false` in the config is about handovers; this push is asked for.
    plan.destination.push = true;
    let request = Request { only_publish: true, ..Request::default() };
    let session = session_for(project, &plan, &request, None)?;
    let message = template::render(&plan.destination.message, &facts::recorded(&session))?;
    let memory = project::place(&project.root, &plan.memory_dir)?;
    let history = project::place(&project.root, &plan.history_dir)?;
    let brake = project.brake();
    let done = between_runs(project, wait, listener, |_| {
        let delivery = Delivery {
            root: &project.root,
            memory: &memory,
            history: &history,
            state: &project.state,
            destination: &plan.destination,
            categories: &plan.categories,
            message: &message,
            run: &session.run,
            tag: &session.tag,
            at: session.at,
            brake: &brake,
        };
        Ok(match direction {
            Direction::Push => (publish::backend(&plan.destination.backend)?.publish)(&delivery),
            Direction::Pull => publish::pull(&delivery),
        })
    })?;
    done.map_err(|trouble| match trouble {
        Trouble::Failed(error) => error,
        Trouble::Stopped(stop) => stop.error(),
    })
}
