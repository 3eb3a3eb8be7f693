//! A program that hands over by itself: `cargo run --example hand_over "what was done"`.

use std::time::Duration;

use agent_handover::engine::{self, Drained, HandedOver, HowToRun, Request, Task};
use agent_handover::error::{Error, Result};
use agent_handover::project::{Options, Project};
use agent_handover::steps;

fn main() -> Result<()> {
    let note = std::env::args().nth(1).ok_or_else(|| Error::usage("say what was done"))?;
    let cwd = std::env::current_dir().map_err(|cause| Error::failed("no current directory").cause(cause))?;
    let project = Project::open(&cwd, &Options::default(), &steps::vocabulary())?;

    // Records the session, then runs its steps and those of older handovers that were interrupted.
    let request = Request { note: Some(note), agent: Some("example".to_owned()), ..Request::default() };
    let how = HowToRun { wait: Duration::from_secs(30), detach: false };
    match engine::hand_over(&project, Task::Record(&request), how, &mut |_| ())? {
        HandedOver::Ran { drained: Drained::Tried { mut failures, .. }, .. } => {
            failures.pop().map_or(Ok(()), |failure| Err(failure.error))
        }
        HandedOver::Ran { drained: Drained::Busy(owner), .. } => {
            Err(engine::busy(owner.as_ref(), "it will be taken by that process"))
        }
        HandedOver::Ran { drained: Drained::Stopped { stop, .. }, .. } => Err(stop.error()),
        // A resume, a session that a hook has handed over, and a detached run end like this; ours does not.
        HandedOver::NothingOnRecord | HandedOver::AlreadyHandedOver | HandedOver::Detached { .. } => Ok(()),
    }
}
