//! A run that goes on without whoever asked for it: recorded here, carried out by a child that is given the lock.

use std::ffi::OsString;

use super::{Recorded, busy};
use crate::base::lock::{self, Lock};
use crate::base::process::{self, Job};
use crate::base::{env, fs};
use crate::error::{Error, Result};
use crate::project::Project;

/// Starts this program with `arguments` as the process that carries the run out, and gives it the lock as standard
/// input: at no moment is the lock free. Its output goes to the run's logs.
pub fn detach(project: &Project, recorded: &Recorded, lock: Option<Lock>, arguments: Vec<OsString>) -> Result<u32> {
    if let Some(stop) = project.brake().pressed() {
        return Err(stop.error());
    }
    let taken = lock.map_or_else(|| Lock::try_take(&project.lock()), |lock| Ok(Some(lock)))?;
    let Some(mut lock) = taken else {
        return Err(busy(lock::owner(&project.lock()).as_ref(), ""));
    };
    lock.sign(&recorded.id)?;
    let program =
        std::env::current_exe().map_err(|cause| Error::failed("this program cannot be found").cause(cause))?;
    let logs = project.log_dir().join(&recorded.id);
    fs::create_log_directory(&logs)?;
    let output = fs::open_private(&logs.join("detached.log"))?;
    let mut argv = vec![program.into_os_string()];
    argv.extend(arguments);
    let job = Job {
        argv,
        directory: project.root.clone(),
        env: Vec::new(),
        // It is no part of a step that this one may have been started in.
        env_remove: [env::RUN, env::STEP, env::ATTEMPT, env::ROOT].map(str::to_owned).to_vec(),
    };
    process::start_detached(&job, lock.hand_over(), &output)
}
