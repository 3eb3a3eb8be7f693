//! How long a command waits for git in total. One question that is not answered is bad luck; after that, the questions of the
//! same command share what is left of the time that a single one may take.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Failure, FailureKind};
use crate::error::Error;

/// How long a wait is remembered. A program that uses the library lives longer than a command.
const REMEMBERED: Duration = Duration::from_secs(60);

/// The time that unanswered questions took, and when the last one ended.
static WAITED: Mutex<Option<(Duration, Instant)>> = Mutex::new(None);

/// How long the next question may take, of at most `wanted`. `most` is what all unanswered questions may take together.
pub(super) fn left(wanted: Duration, most: Duration) -> Result<Duration, Failure> {
    let waited = *WAITED.lock().unwrap_or_else(PoisonError::into_inner);
    let spent = waited.filter(|(_, at)| at.elapsed() < REMEMBERED).map_or(Duration::ZERO, |(spent, _)| spent);
    match most.saturating_sub(spent) {
        Duration::ZERO => {
            let error = Error::failed("git did not answer before, and is not asked again by this command");
            Err(Failure::new(FailureKind::TimedOut, error))
        }
        left => Ok(wanted.min(left)),
    }
}

/// Remembers that a question was not answered within this time.
pub(super) fn spend(time: Duration) {
    let mut waited = WAITED.lock().unwrap_or_else(PoisonError::into_inner);
    let spent = waited.filter(|(_, at)| at.elapsed() < REMEMBERED).map_or(Duration::ZERO, |(spent, _)| spent);
    *waited = Some((spent + time, Instant::now()));
}
