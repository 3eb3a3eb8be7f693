//! A program that hands over by itself: `cargo run --example hand_over "what was done"`.

use std::time::Duration;

use agent_handover::checkpoint::Store;
use agent_handover::engine::{self, Drained, Event, Goal, Request};
use agent_handover::error::{Error, Result};
use agent_handover::project::{Options, Project};
use agent_handover::steps;

fn main() -> Result<()> {
    let note = std::env::args().nth(1).ok_or_else(|| Error::usage("say what was done"))?;
    let cwd = std::env::current_dir().map_err(|cause| Error::failed("no current directory").cause(cause))?;
    let project = Project::open(&cwd, &Options::default(), &steps::readers())?;
    project.prepare()?;

    // From `record` on nothing can be lost; `drain` runs it, and whatever older is unfinished.
    let mut store = Store::open(&project.checkpoint)?;
    let request = Request { note: Some(note), agent: Some("example".to_owned()), ..Request::default() };
    let recorded = engine::record(&project, &mut store, &request)?;
    let ignore = &mut |_: Event| ();
    let drained = engine::drain(&project, &mut store, Goal::Run(recorded.seq), Duration::from_secs(30), ignore)?;
    match drained {
        Drained::Tried { mut failures, .. } => failures.pop().map_or(Ok(()), |failure| Err(failure.error)),
        Drained::Busy(owner) => Err(engine::busy(owner.as_ref(), "it will be taken by that process")),
        Drained::Stopped { stop, .. } => Err(stop.error()),
    }
}
