//! A run that goes on without whoever asked for it: recorded here, carried out by a child that is given the lock.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use super::busy;
use crate::base::env;
use crate::base::lock::{self, Lock};
use crate::base::process::{self, Job};
use crate::error::{Error, Result};
use crate::project::Project;

/// How long a child may take to stand on its own feet.
const PATIENCE: Duration = Duration::from_millis(100);

/// Starts this program with `arguments` as the process that carries the run out, and gives it the lock as standard
/// input: at no moment is the lock free. Its output goes to the run's logs.
pub fn detach(project: &Project, run: &str, lock: Option<Lock>, arguments: Vec<OsString>) -> Result<u32> {
    if let Some(stop) = project.brake().pressed() {
        return Err(stop.error());
    }
    let taken = lock.map_or_else(|| Lock::try_take(&project.lock()), |lock| Ok(Some(lock)))?;
    let Some(mut lock) = taken else {
        return Err(busy(lock::owner(&project.lock()).as_ref(), ""));
    };
    lock.sign(run)?;
    let program =
        std::env::current_exe().map_err(|cause| Error::failed("this program cannot be found").cause(cause))?;
    let logs = project.log_dir().join(run);
    let anchor = project.anchor(&project.state);
    anchor.create_log_directory(&logs)?;
    let output = anchor.open_private(&logs.join("detached.log"))?;
    let mut argv = vec![program.into_os_string()];
    argv.extend(arguments);
    let job = Job {
        argv,
        directory: project.root.clone(),
        env: Vec::new(),
        // It is no part of a step that this one may have been started in.
        env_remove: [env::RUN, env::STEP, env::ATTEMPT, env::ROOT].map(str::to_owned).to_vec(),
    };
    let pid = process::start_detached(&job, lock.hand_over(), &output)?;
    // Until it has a session of its own, whoever ends our group ends it, too. It signs the lock as soon as it has; if that
    // takes longer than anybody should wait, it goes on all the same.
    let start = Instant::now();
    while lock::owner(&project.lock()).is_none_or(|owner| owner.pid != pid) && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(pid)
}
