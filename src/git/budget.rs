//! How long the git processes of one delivery may take together, and what is to blame if they take longer.
//!
//! | a process waits for | all of them may take |
//! |---|---|
//! | git alone, in this repository | the timeout, and at least [`PATIENCE`] |
//! | the remote | the timeout |
//! | the program that signs commits | the timeout |
//!
//! A git that is slow in itself is slow with a remote, too. The fastest local process shows how much of a process's time is
//! git's own. That part is not charged to the remote or to the signing program, so neither is blamed for it.

use std::cell::RefCell;
use std::time::Duration;

use super::failure::{Failure, FailureKind, Result};
use crate::base::duration;
use crate::error::Error;

/// What local git may take if the timeout is shorter. A git that is ended may leave locks behind.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a git process waits for, apart from this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitsFor {
    Nothing,
    Remote,
    Signing,
}

/// The time that the git processes of one delivery share.
#[derive(Debug)]
pub(crate) struct Budget {
    timeout: Duration,
    spent: RefCell<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    local: Duration,
    /// How many local processes there were.
    count: usize,
    /// The local process that took least.
    fastest: Option<Duration>,
    /// The local process that took longest.
    slowest: (String, Duration),
    remote: Duration,
    signing: Duration,
}

impl Spent {
    /// What a git process takes that waits for nobody.
    fn overhead(&self) -> Duration {
        self.fastest.unwrap_or_default()
    }
}

impl Budget {
    pub(crate) fn new(timeout: Duration) -> Budget {
        Budget { timeout, spent: RefCell::default() }
    }

    /// How long the next process may take. Fails if there is no time left.
    pub(super) fn limit(&self, waits_for: WaitsFor) -> Result<Duration> {
        let spent = self.spent.borrow();
        let (most, used) = match waits_for {
            WaitsFor::Nothing => (self.timeout.max(PATIENCE), spent.local),
            WaitsFor::Remote => (self.timeout, spent.remote),
            WaitsFor::Signing => (self.timeout, spent.signing),
        };
        match (most.saturating_sub(used), waits_for) {
            (Duration::ZERO, WaitsFor::Nothing) => Err(too_slow(&spent)),
            (Duration::ZERO, _) => {
                let words = format!("what was asked before took {}", duration::show(used));
                Err(Failure::new(FailureKind::TimedOut, Error::failed("there is no time left").cause(words)))
            }
            // A process that may begin gets the time to end in order.
            (left, WaitsFor::Nothing) => Ok(left.max(self.timeout.min(PATIENCE))),
            (left, _) => Ok(left + spent.overhead()),
        }
    }

    /// Records how long a process took.
    pub(super) fn charge(&self, waits_for: WaitsFor, verb: &str, took: Duration) {
        let mut spent = self.spent.borrow_mut();
        let beyond_git = took.saturating_sub(spent.overhead());
        match waits_for {
            WaitsFor::Nothing => {
                spent.local += took;
                spent.count += 1;
                spent.fastest = Some(spent.fastest.map_or(took, |fastest| fastest.min(took)));
                if took >= spent.slowest.1 {
                    spent.slowest = (verb.to_owned(), took);
                }
            }
            WaitsFor::Remote => spent.remote += beyond_git,
            WaitsFor::Signing => spent.signing += beyond_git,
        }
    }
}

/// The failure of a delivery whose local processes took all the time that there is for them.
fn too_slow(spent: &Spent) -> Failure {
    let (verb, longest) = &spent.slowest;
    let processes = if spent.count == 1 { "git process".to_owned() } else { format!("{} git processes", spent.count) };
    let message = format!(
        "{processes} took {}, the slowest was `git {verb}` with {}",
        duration::show(spent.local),
        duration::show(*longest)
    );
    Failure::new(FailureKind::TimedOut, Error::failed(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn refused(budget: &Budget, waits_for: WaitsFor) -> String {
        budget.limit(waits_for).unwrap_err().one_line()
    }

    #[test]
    fn local_processes_share_the_timeout_and_the_slowest_is_named() {
        let budget = Budget::new(20 * SECOND);
        for (verb, seconds) in [("add", 6), ("write-tree", 9), ("log", 4)] {
            assert!(budget.limit(WaitsFor::Nothing).is_ok(), "{verb}");
            budget.charge(WaitsFor::Nothing, verb, seconds * SECOND);
        }
        // The last one may take longer than what is left.
        assert_eq!(budget.limit(WaitsFor::Nothing).unwrap(), PATIENCE);
        budget.charge(WaitsFor::Nothing, "read-tree", 3 * SECOND);
        let words = refused(&budget, WaitsFor::Nothing);
        assert_eq!(words, "4 git processes took 22.0 s, the slowest was `git write-tree` with 9.0 s");
        assert!(budget.limit(WaitsFor::Remote).is_ok(), "the remote has time of its own");
    }

    #[test]
    fn a_short_timeout_leaves_local_git_its_time() {
        let budget = Budget::new(SECOND);
        budget.charge(WaitsFor::Nothing, "add", 9 * SECOND);
        assert!(budget.limit(WaitsFor::Nothing).is_ok());
        budget.charge(WaitsFor::Nothing, "add", SECOND);
        assert!(budget.limit(WaitsFor::Nothing).is_err());
    }

    #[test]
    fn the_remote_is_not_charged_for_a_slow_git() {
        let budget = Budget::new(5 * SECOND);
        budget.charge(WaitsFor::Nothing, "for-each-ref", 3 * SECOND);
        for _ in 0..3 {
            assert_eq!(budget.limit(WaitsFor::Remote).unwrap(), 8 * SECOND);
            budget.charge(WaitsFor::Remote, "fetch", 3 * SECOND);
        }
        budget.charge(WaitsFor::Remote, "push", 7 * SECOND);
        assert_eq!(budget.limit(WaitsFor::Remote).unwrap(), 4 * SECOND);
        budget.charge(WaitsFor::Remote, "push", 4 * SECOND);
        assert!(refused(&budget, WaitsFor::Remote).contains("what was asked before took 5.0 s"));
        assert!(budget.limit(WaitsFor::Signing).is_ok(), "signing has time of its own");
        budget.charge(WaitsFor::Signing, "commit-tree", 8 * SECOND);
        assert!(budget.limit(WaitsFor::Signing).is_err());
        assert!(budget.limit(WaitsFor::Nothing).is_ok(), "what is here can still be committed");
    }
}
