//! The child that a hook starts.

use super::sweep;
use crate::base::lock::Lock;
use crate::checkpoint::Store;
use crate::engine::{self, ChildTask, Drained, Listener};
use crate::error::Result;
use crate::project::Project;

/// Carries out what is due, then sweeps the sessions on disk: nobody waits for this process, so it may look at all of them.
pub(crate) fn carry_out_due(project: &Project, listener: &mut Listener<'_>) -> Result<Drained> {
    let drained = engine::carry_out_inherited(project, ChildTask::Due, listener)?;
    if project.brake().pressed().is_some() {
        return Ok(drained);
    }
    let mut store = Store::open(&project.checkpoint_file())?;
    if sweep::sweep_disk(project, &mut store)?.is_empty() {
        return Ok(drained);
    }
    match Lock::try_take(&project.lock())? {
        Some(lock) => engine::drain_unattended(project, &mut store, lock, listener),
        None => Ok(drained),
    }
}
