//! SIGINT, SIGTERM and SIGHUP become a flag that is asked between effects, so that an interruption is recorded
//! instead of tearing something.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

static RECEIVED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// Starts listening. Without this call signals do what they always do.
pub fn listen() {
    let received = RECEIVED.get_or_init(Arc::default);
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // A signal that cannot be caught keeps its default: the process ends and the next run resumes.
        let _ = signal_hook::flag::register_usize(signal, Arc::clone(received), signal.unsigned_abs() as usize);
    }
    // A file-size limit then fails the write with an error we can report, instead of ending us. A handler, not
    // "ignore", because children would inherit the latter.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// The last signal that arrived since `listen`.
pub fn received() -> Option<i32> {
    let number = RECEIVED.get()?.load(Ordering::Relaxed);
    i32::try_from(number).ok().filter(|number| *number != 0)
}

pub fn name(signal: i32) -> String {
    match signal {
        SIGHUP => "SIGHUP".to_owned(),
        SIGINT => "SIGINT".to_owned(),
        SIGTERM => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}
