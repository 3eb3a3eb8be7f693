//! Detaching: a child process carries a handover out while the caller returns. The parent part starts the child and
//! gives it the lock; the child part takes the lock over and runs the queue.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use super::event::Listener;
use super::hand_over::Carrier;
use super::leftovers;
use super::queue::{Drained, Goal, busy, drain_locked, drain_unattended};
use crate::base::env;
use crate::base::fs::{self, FileError};
use crate::base::lock::{self, Lock, Owner};
use crate::base::process::{self, Job};
use crate::checkpoint::Store;
use crate::error::{Error, Result};
use crate::guard::Stop;
use crate::project::Project;
use crate::steps::Provided;

/// How long the parent waits for its child to have a session of its own.
const PATIENCE: Duration = Duration::from_millis(100);

/// What the child carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChildTask<'r> {
    /// The run with this id, and whatever else is unfinished, for somebody who typed `run --detach`.
    Run(&'r str),
    /// What may run although nobody asked, for a hook. Runs that need consent are left.
    Due,
}

impl ChildTask<'_> {
    /// The command line of the child. Paths are absolute, because the child starts at the root of the project.
    fn arguments(self, project: &Project) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["run".into(), "--inherited".into()];
        if let ChildTask::Run(id) = self {
            arguments.push(id.into());
        }
        if let Some(config) = &project.config.file {
            arguments.extend(["--config".into(), config.clone().into_os_string()]);
        }
        // Nobody named this file, so the child must not follow a link that took its place meanwhile.
        if let Some(root) = &project.config.came_with {
            arguments.extend(["--config-of".into(), root.clone().into_os_string()]);
        }
        arguments.extend(["--checkpoint".into(), project.checkpoint.clone().into_os_string()]);
        arguments
    }
}

/// Why no child was started. The run is recorded and waits.
#[derive(Debug)]
pub(crate) enum NotDetached {
    Stopped(Stop),
    /// Another process holds the lock, and takes the run.
    Busy(Option<Owner>),
    Failed(Error),
}

impl NotDetached {
    pub(crate) fn error(self) -> Error {
        match self {
            NotDetached::Stopped(stop) => stop.error(),
            NotDetached::Busy(owner) => busy(owner.as_ref(), ""),
            NotDetached::Failed(error) => error,
        }
    }
}

impl From<FileError> for NotDetached {
    fn from(error: FileError) -> NotDetached {
        NotDetached::Failed(error.into())
    }
}

impl From<Error> for NotDetached {
    fn from(error: Error) -> NotDetached {
        NotDetached::Failed(error)
    }
}

/// Starts this program as the process that runs the queue, and returns its process id. The child gets the lock as its
/// standard input, so that the lock is never free in between. Its output goes to the logs of `run`.
pub(super) fn detach(
    project: &Project,
    run: &str,
    lock: Option<Lock>,
    task: ChildTask<'_>,
    carrier: Carrier,
) -> Result<u32, NotDetached> {
    if let Some(stop) = project.brake().pressed() {
        return Err(NotDetached::Stopped(stop));
    }
    let taken = lock.map_or_else(|| Lock::try_take(&project.lock()), |lock| Ok(Some(lock)))?;
    let Some(mut lock) = taken else {
        return Err(NotDetached::Busy(lock::owner(&project.lock())));
    };
    lock.sign(run)?;
    let program =
        std::env::current_exe().map_err(|cause| Error::failed("this program cannot be found").cause(cause))?;
    // A link may have the name of another tool, and then the child would take that tool's arguments.
    let program = fs::real(&program);
    let logs = project.log_dir().join(run);
    let anchor = project.anchor(&project.state);
    anchor.create_log_directory(&logs)?;
    let output = anchor.open_private(&logs.join("detached.log"))?;
    let mut argv = vec![program.into_os_string()];
    argv.extend(task.arguments(project));
    let job = Job {
        argv,
        directory: if project.is_gone { project.memory_root.clone() } else { project.root.clone() },
        env: Vec::new(),
        // The child is not part of a step, also if this process was started by one.
        env_remove: [env::RUN, env::STEP, env::ATTEMPT, env::ROOT].map(str::to_owned).to_vec(),
    };
    // Until the child has a session of its own, whoever ends our process group ends the child, too. A process that ends now
    // leaves that group itself, and has nothing to wait for.
    let is_out = carrier == Carrier::Successor && process::leave_session();
    let pid = process::start_detached(&job, lock.hand_over(), &output)?;
    if is_out {
        return Ok(pid);
    }
    // The child goes on also if it takes longer than we wait.
    let start = Instant::now();
    // Where no process can be seen, the child is known by the signature that it writes a little later.
    let has_signed = || lock::owner(&project.lock()).is_some_and(|owner| owner.pid == pid);
    while !process::leads_session(pid).unwrap_or_else(has_signed) && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(100));
    }
    Ok(pid)
}

/// The child part: takes over the lock, which is standard input, and carries out its task.
pub(crate) fn carry_out_inherited(
    project: &Project,
    task: ChildTask<'_>,
    listener: &mut Listener<'_>,
) -> Result<Drained> {
    let mut lock = Lock::inherited(&project.lock())?;
    lock.sign(match task {
        ChildTask::Run(id) => id,
        ChildTask::Due => "",
    })?;
    leftovers::bring_home(project, task != ChildTask::Due, listener);
    let mut store = Store::open(&project.checkpoint_file())?;
    match task {
        ChildTask::Run(id) => {
            let run = store.run_by_id(id)?.ok_or_else(|| Error::usage(format!("no handover {id} is on record")))?;
            drain_locked(project, &mut store, Goal::Run(run.seq), lock, &Provided::default(), listener)
        }
        ChildTask::Due => drain_unattended(project, &mut store, lock, listener),
    }
}
