//! The race for a branch that many machines push to: when a machine pushes again, how long it waits before, and when it pushes
//! to a branch of its own instead.
//!
//! Only one push can win while the others merge, so a branch takes a few commits a second at most, however many machines
//! there are. A machine that lost a few races therefore pushes its commit to a branch that nobody else pushes to. Whoever
//! publishes next merges it. So the number of pushes has a limit that does not depend on the number of machines.
//!
//! This file knows neither git nor a clock. Whoever carries out its moves reports how they ended and when: `own_branch` and
//! `shared_branch` with git, the tests with a simulated remote.

use std::time::Duration;

/// A machine that lost so many races pushes to a branch of its own.
const LOST_BEFORE_ASIDE: u32 = 3;
/// The shortest wait before another round.
const MIN_WAIT: Duration = Duration::from_millis(20);
/// The longest wait is the time of a round, doubled so often.
const MAX_DOUBLINGS: u32 = 6;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Fetch the branch after this time, merge, commit and push.
    Retry(Duration),
    /// Push the commit that lost to a branch of its own.
    PushAside,
    /// Report the failure: there is no time for another round.
    Fail,
}

/// One delivery in the race. Times are counted from its beginning.
#[derive(Debug)]
pub(super) struct Race {
    deadline: Duration,
    round_began: Duration,
    lost: u32,
    may_push_aside: bool,
}

impl Race {
    /// A delivery that has so much time.
    pub(super) fn until(deadline: Duration, may_push_aside: bool) -> Race {
        Race { deadline, round_began: Duration::ZERO, lost: 0, may_push_aside }
    }

    pub(super) fn lost(&self) -> u32 {
        self.lost
    }

    /// A push was rejected, because another machine was faster. `chance` is a random number.
    ///
    /// The wait before the next round is random, so that machines that met do not meet again. It grows with each lost race and with
    /// the time that a round takes here: while that time lasts, another machine may win.
    pub(super) fn after_lost(&mut self, now: Duration, chance: u16) -> Move {
        self.lost += 1;
        if self.may_push_aside && self.lost >= LOST_BEFORE_ASIDE {
            return Move::PushAside;
        }
        let round = now.saturating_sub(self.round_began);
        let longest = round.saturating_mul(1 << (self.lost - 1).min(MAX_DOUBLINGS));
        // A wait to the end would leave no time to win.
        let longest = longest.min(self.deadline.saturating_sub(now) / 2);
        let wait = MIN_WAIT + longest.mul_f64(f64::from(chance) / f64::from(u16::MAX));
        // Pushing aside takes as long as another round.
        let reserve = if self.may_push_aside { round } else { Duration::ZERO };
        if now + wait + reserve < self.deadline {
            self.round_began = now + wait;
            return Move::Retry(wait);
        }
        if self.may_push_aside { Move::PushAside } else { Move::Fail }
    }

    /// The remote does not take a branch of its own for this machine, so the race goes on.
    pub(super) fn after_refusal(&mut self, now: Duration, chance: u16) -> Move {
        self.may_push_aside = false;
        self.lost = self.lost.saturating_sub(1);
        self.after_lost(now, chance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Loses rounds of a second each, with the greatest waits. Returns what to do after each.
    fn lose(race: &mut Race, rounds: usize) -> Vec<Move> {
        let mut now = Duration::ZERO;
        let mut moves = Vec::new();
        for _ in 0..rounds {
            now += SECOND;
            let next = race.after_lost(now, u16::MAX);
            if let Move::Retry(wait) = next {
                now += wait;
            }
            moves.push(next);
        }
        moves
    }

    #[test]
    fn the_longest_wait_grows_with_lost_races_and_leaves_time_to_win() {
        let moves = lose(&mut Race::until(60 * SECOND, false), 6);
        let waits: Vec<u64> = moves
            .iter()
            .map(|next| if let Move::Retry(wait) = next { wait.as_secs() } else { panic!("{moves:?}") })
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 11]);
        assert_eq!(Race::until(60 * SECOND, false).after_lost(SECOND, 0), Move::Retry(MIN_WAIT));
    }

    #[test]
    fn a_machine_goes_aside_after_three_lost_races_or_if_there_is_no_time_for_another() {
        let mut race = Race::until(60 * SECOND, true);
        assert!(matches!(lose(&mut race, 3)[..], [Move::Retry(_), Move::Retry(_), Move::PushAside]));
        // The remote refuses, and everything is as if it had never been asked.
        assert!(matches!(race.after_refusal(10 * SECOND, 0), Move::Retry(_)));
        assert_eq!(race.lost(), 3);
        assert!(matches!(race.after_lost(11 * SECOND, 0), Move::Retry(_)));
        assert_eq!(Race::until(3 * SECOND, true).after_lost(2 * SECOND, 0), Move::PushAside);
        assert_eq!(Race::until(2 * SECOND, false).after_lost(2 * SECOND, 0), Move::Fail);
    }
}
