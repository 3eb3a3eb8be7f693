//! Fault points: named places where something has just become durable, at which tests stop the real program.
//!
//! They do nothing unless `AGENT_HANDOVER_TEST_FAULT=point:n=kill` (or `=stop`) is set: the n-th time the point is
//! passed, the process gets SIGKILL (or SIGSTOP, so that a test can look around and continue it). With `file=record`, the
//! process appends its id and the point to a file each time, so that a test knows at which points a command can be killed.
//! The tested binary is the one that is shipped.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Signal;

use super::{env, fs};

/// Every point. The crash tests go through all of them.
pub const POINTS: &[&str] = &[
    "lock.taken",
    "queue.empty",
    "state.known",
    "checkpoint.created",
    "checkpoint.noted",
    "checkpoint.recorded",
    "checkpoint.intended",
    "checkpoint.settled",
    "checkpoint.completed",
    "checkpoint.forgotten",
    "checkpoint.shrunk",
    "step.acted",
    "process.started",
    "process.ended",
    "fs.directory",
    "fs.written",
    "fs.renamed",
    "fs.replaced",
    "fs.marked",
    "fs.moved",
    "fs.removed",
    "import.forgotten",
    "import.archived",
    "index.written",
];

enum Fault {
    Signal { point: String, nth: u32, signal: Signal, passed: AtomicU32 },
    Record(PathBuf),
}

/// Marks a fault point.
pub(crate) fn at(point: &'static str) {
    static FAULT: OnceLock<Option<Fault>> = OnceLock::new();
    debug_assert!(POINTS.contains(&point), "{point} is not in POINTS, so no test would stop there");
    #[cfg(test)]
    inject::pass();
    let Some(fault) = FAULT.get_or_init(|| env::get_text(env::TEST_FAULT).and_then(|t| parse(&t))) else {
        return;
    };
    match fault {
        Fault::Signal { point: theirs, nth, signal, passed } => {
            if theirs == point && passed.fetch_add(1, Ordering::Relaxed) + 1 == *nth {
                // For this thread. One for the process may reach another thread, and this one would go on meanwhile.
                let _ = signal_hook::low_level::raise(signal.as_raw());
            }
        }
        Fault::Record(file) => drop(fs::append(file, &[format!("{} {point}", std::process::id())])),
    }
}

fn parse(text: &str) -> Option<Fault> {
    let (place, action) = text.rsplit_once('=')?;
    if action == "record" {
        return Some(Fault::Record(PathBuf::from(place)));
    }
    let (point, nth) = place.split_once(':')?;
    let signal = match action {
        "kill" => Signal::KILL,
        "stop" => Signal::STOP,
        _ => return None,
    };
    Some(Fault::Signal { point: point.to_owned(), nth: nth.parse().ok()?, signal, passed: AtomicU32::new(0) })
}

/// Crashes inside a test process, which unwind the stack instead of killing the process.
#[cfg(test)]
pub(crate) mod inject {
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    }

    /// The payload of the unwinding.
    pub(crate) struct Crash;

    /// Runs `act` and crashes it at the n-th point it passes. `None` if it did crash.
    pub(crate) fn crashing_at<T>(nth: Option<u32>, act: impl FnOnce() -> T) -> Option<T> {
        LEFT.set(nth);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        LEFT.set(None);
        match result {
            Ok(value) => Some(value),
            Err(panic) if panic.is::<Crash>() => None,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    pub(super) fn pass() {
        match LEFT.get() {
            None => {}
            Some(0) => {
                LEFT.set(None);
                // Unlike `panic!`, this prints nothing.
                std::panic::resume_unwind(Box::new(Crash));
            }
            Some(left) => LEFT.set(Some(left - 1)),
        }
    }
}
