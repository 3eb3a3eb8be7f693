//! The child that a hook starts.

use super::keep;
use super::receipt;
use super::sweep::Backlog;
use crate::base::lock::Lock;
use crate::base::signals;
use crate::checkpoint::Store;
use crate::engine::{self, ChildTask, Drained, Listener};
use crate::error::Result;
use crate::project::Project;
use crate::{score, search};

/// Carries out what is due, then hands over the sessions that are owed: nobody waits for this process, so it looks at all of
/// them. It records a few at a time and carries them out, so that a process that is ended halfway leaves the rest owed.
pub(crate) fn carry_out_due(project: &Project, listener: &mut Listener<'_>) -> Result<Drained> {
    let mut drained = engine::carry_out_inherited(project, ChildTask::Due, listener)?;
    let is_paused = || project.brake().pressed().is_some();
    if is_paused() {
        return Ok(drained);
    }
    let mut store = Store::open(&project.checkpoint_file())?;
    let mut backlog = Backlog::find(project, &mut store)?;
    loop {
        let swept = backlog.hand_over_next(project, &mut store)?;
        tracing::debug!(recorded = swept.recorded, is_whole = swept.is_whole, "sweep");
        if swept.recorded > 0 {
            match Lock::try_take(&project.lock())? {
                Some(lock) => drained = engine::drain_unattended(project, &mut store, lock, listener)?,
                // The process that has the lock takes them.
                None => return Ok(drained),
            }
        }
        if is_paused() || signals::received().is_some() {
            return Ok(drained);
        }
        if swept.is_whole {
            keep::keep_talk(project);
            if let Err(error) = receipt::look(&mut store) {
                tracing::debug!(%error, "receipts");
            }
            search::update_in_background(project);
            score::update_in_background(project);
            return Ok(drained);
        }
    }
}
