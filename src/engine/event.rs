//! What happens during a handover, reported as it becomes durable. The engine prints nothing; its listener does.

use std::path::PathBuf;
use std::time::Duration;

use crate::base::lock::Owner;
use crate::checkpoint::StepState;

/// Something that happened during a handover.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A database that could not be used was moved to this path.
    MovedAside {
        path: PathBuf,
    },
    /// An unfinished run was abandoned by a restart.
    Abandoned {
        run: String,
    },
    /// The session is on record: from here on nothing can be lost.
    Recorded {
        run: String,
        warnings: Vec<String>,
    },
    /// Another process holds the lock, and this one waits for it.
    Waiting {
        owner: Option<Owner>,
    },
    RunStarted {
        run: String,
        resumed: bool,
    },
    StepStarted {
        run: String,
        name: String,
        number: usize,
        of: usize,
        attempt: u32,
        /// Where a command writes what it prints. The file need not exist.
        log: PathBuf,
    },
    /// An attempt failed, and the next one begins after this time.
    Retrying {
        run: String,
        name: String,
        retry: u64,
        of: u64,
        wait: Duration,
    },
    /// A step ended, and that is recorded.
    StepEnded {
        run: String,
        name: String,
        number: usize,
        of: usize,
        ended: StepEnd,
    },
    RunEnded {
        run: String,
        completed: bool,
    },
    /// Something that a person should know and that is not a failure.
    Notice {
        text: String,
    },
}

/// How a step ended.
#[derive(Clone, Debug)]
pub(crate) struct StepEnd {
    pub state: StepState,
    pub duration: Duration,
    /// One line: what was done, or why nothing was.
    pub detail: Option<String>,
    pub error: Option<String>,
}

/// Receives the events of a handover.
pub(crate) type Listener<'a> = dyn FnMut(Event) + 'a;
