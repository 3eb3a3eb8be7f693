//! SIGINT, SIGTERM and SIGHUP set a flag that is checked between effects, so that an interruption is recorded and no effect
//! is cut in half.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

static RECEIVED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// Starts to catch the signals. Without this call they have their default effect.
pub(crate) fn listen() {
    let received = RECEIVED.get_or_init(Arc::default);
    // Signals that our parent ignores (`nohup`, a background job) stay ignored.
    for signal in [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)) {
        // A signal that cannot be caught ends the process, and the next run resumes.
        let _ = signal_hook::flag::register_usize(signal, Arc::clone(received), signal.unsigned_abs() as usize);
    }
}

/// Makes a write beyond the file-size limit fail with an error that we can report, instead of ending the process. This is a
/// handler because children would inherit an ignored signal.
pub(crate) fn survive_file_limits() {
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Whether the signal is ignored. Only Linux says so; elsewhere no signal counts as ignored.
#[allow(clippy::disallowed_methods, reason = "a file of the kernel")]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// The last signal that arrived since `listen`.
pub(crate) fn received() -> Option<i32> {
    let number = RECEIVED.get()?.load(Ordering::Relaxed);
    i32::try_from(number).ok().filter(|number| *number != 0)
}

pub(crate) fn name(signal: i32) -> String {
    match signal {
        SIGHUP => "SIGHUP".to_owned(),
        SIGINT => "SIGINT".to_owned(),
        SIGTERM => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}
