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
    // What whoever started us chose to ignore (`nohup`, a background job) stays ignored.
    for signal in [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)) {
        // A signal that cannot be caught keeps its default: the process ends and the next run resumes.
        let _ = signal_hook::flag::register_usize(signal, Arc::clone(received), signal.unsigned_abs() as usize);
    }
}

/// A file-size limit then fails the write with an error we can report, instead of ending us. A handler, not
/// "ignore", because children would inherit the latter.
pub fn survive_file_limits() {
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// As Linux tells it; elsewhere nothing is known to be ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
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
