//! What happens during a run, told as it becomes durable. The engine prints nothing; whoever listens does.

use std::time::Duration;

use crate::base::lock::Owner;
use crate::checkpoint::StepState;

#[derive(Clone, Debug)]
pub enum Event {
    /// Another process holds the lock, and we wait for it.
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
    },
    /// Recorded before it is told.
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
    /// Something a person should know that is no failure.
    Notice {
        text: String,
    },
}

#[derive(Clone, Debug)]
pub struct StepEnd {
    pub state: StepState,
    pub duration: Duration,
    /// What was done, or why not.
    pub detail: Option<String>,
    pub error: Option<String>,
}

pub type Listener<'a> = dyn FnMut(Event) + 'a;
