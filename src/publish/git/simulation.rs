//! Many machines that publish on one branch, simulated: [`Race`] decides every move, the remote and the clock are made up.
//! Benchmarks and tests look at it; nothing of it runs in a delivery.
//!
//! The times are those of git over a connection whose round trips take `round_trip`: the remote names its branches after three
//! and a half of them, a push is decided one later, and its answer arrives half of one after that. The remote moves a branch only
//! if it is still where it was named. It answers any number of connections at once, which favours nobody but makes
//! a thousand machines look better than a small server would.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::Duration;

use super::own_branch::MERGED_AT_ONCE;
use super::race::{Move, Race};

/// What a machine needs to merge what it fetched, commit it, and start its git processes.
const LOCAL: Duration = Duration::from_millis(80);
/// What it needs more for each branch of another machine that it merges.
const MERGE: Duration = Duration::from_millis(60);
/// The `timeout` of `[backend]`, where the config names none.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub machines: usize,
    pub round_trip: Duration,
    /// `None`: every machine publishes once, all at the same moment. Otherwise each publishes so often, after random
    /// times of this mean.
    pub stream: Option<(usize, Duration)>,
    /// The remote takes branches of single machines.
    pub takes_asides: bool,
    pub seed: u64,
}

/// How it went.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The pushes of each publish, in ascending order.
    pub pushes: Vec<u32>,
    /// How long each publish took until the remote had it, in ascending order.
    pub times: Vec<Duration>,
    /// Publishes that went to the branch of their machine.
    pub aside: usize,
    /// Publishes whose time was over. The next publish of their machine delivers them.
    pub failed: usize,
    /// Publishes that were reported as delivered and are nowhere on the remote.
    pub lost: usize,
    /// When the last publish ended.
    pub ended: Duration,
    /// The largest number of branches of single machines at once.
    pub most_asides: usize,
    /// Later publishes, one after the other, until no such branch was left.
    pub publishes_until_merged: usize,
}

/// A value of a sorted list, `share` of the way from the least to the greatest.
pub fn quantile<T: Copy + Default>(sorted: &[T], share: f64) -> T {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let at = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or_default()
}

/// The publishes that somebody has, a bit each.
#[derive(Clone, Debug, Default, PartialEq)]
struct Publishes(Vec<u64>);

impl Publishes {
    fn add(&mut self, number: usize) {
        self.0.resize(self.0.len().max(number / 64 + 1), 0);
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn merge(&mut self, other: &Publishes) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }

    fn has(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    fn has_all(&self, other: &Publishes) -> bool {
        other.0.iter().enumerate().all(|(at, word)| word & !self.0.get(at).copied().unwrap_or_default() == 0)
    }
}

#[derive(Default)]
struct Remote {
    /// How often the branch moved.
    version: u64,
    branch: Publishes,
    /// Branches of single machines.
    asides: BTreeMap<usize, Publishes>,
}

#[derive(Default)]
struct Machine {
    has: Publishes,
    /// Where the remote's branch was when it was last merged.
    version: u64,
    /// Branches of single machines that were merged since, and are to be removed.
    merged: Vec<(usize, Publishes)>,
    /// Publishes that wait for the present one.
    waiting: VecDeque<usize>,
    present: Option<Present>,
}

/// The publish that a machine is at.
struct Present {
    number: usize,
    began: Duration,
    race: Race,
    pushes: u32,
    /// It has arrived, and merges what is beside the branch.
    is_folding: bool,
}

/// What happens at a moment, to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Wanted(usize),
    /// The remote names its branches to a push.
    Named,
    /// The remote moves the branch, or not.
    Decided,
    Lost,
    /// The remote names its branches to a fetch.
    Fetched,
    /// The remote sends branches of single machines.
    FetchedAsides,
    Aside,
    Arrived,
    ArrivedAside,
    /// The remote removes the branches of single machines that the shared branch has.
    Removed,
}

struct Simulation {
    setup: Setup,
    random: u64,
    now: Duration,
    /// Moments in order; those at the same time in the order in which they were planned.
    events: BinaryHeap<Reverse<(Duration, u64, usize, Event)>>,
    planned: u64,
    remote: Remote,
    machines: Vec<Machine>,
    delivered: Publishes,
    outcome: Outcome,
}

/// Lets all machines publish, and then one after the other until the branch has everything.
pub fn simulate(setup: Setup) -> Outcome {
    let mut simulation = Simulation {
        setup,
        random: setup.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        now: Duration::ZERO,
        events: BinaryHeap::new(),
        planned: 0,
        remote: Remote::default(),
        machines: (0..setup.machines).map(|_| Machine::default()).collect(),
        delivered: Publishes::default(),
        outcome: Outcome::default(),
    };
    let publishes = simulation.want_all();
    simulation.run();
    simulation.finish(publishes)
}

impl Simulation {
    /// Plans when each machine wants to publish. Returns how many publishes there are.
    fn want_all(&mut self) -> usize {
        let (each, mean) = self.setup.stream.unwrap_or((1, Duration::ZERO));
        let mut number = 0;
        for machine in 0..self.setup.machines {
            let mut at = Duration::ZERO;
            for _ in 0..each {
                let uniform = (f64::from(self.chance()) + 1.0) / (f64::from(u16::MAX) + 1.0);
                at += mean.mul_f64(-uniform.ln());
                self.plan(at, machine, Event::Wanted(number));
                number += 1;
            }
        }
        number
    }

    fn chance(&mut self) -> u16 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 48) as u16
    }

    fn plan(&mut self, at: Duration, machine: usize, event: Event) {
        self.planned += 1;
        self.events.push(Reverse((at, self.planned, machine, event)));
    }

    fn trips(&self, halves: u32) -> Duration {
        self.setup.round_trip * halves / 2
    }

    fn run(&mut self) {
        while let Some(Reverse((at, _, machine, event))) = self.events.pop() {
            self.now = at;
            self.happen(machine, event);
        }
    }

    fn happen(&mut self, machine: usize, event: Event) {
        let (now, named, decided, answer) = (self.now, self.trips(7), self.trips(2), self.trips(1));
        match event {
            Event::Wanted(number) => {
                self.machines[machine].waiting.push_back(number);
                self.begin_next(machine);
            }
            Event::Named if self.machines[machine].version == self.remote.version => {
                self.plan(now + decided, machine, Event::Decided);
            }
            Event::Decided if self.machines[machine].version == self.remote.version => {
                let at = &mut self.machines[machine];
                self.remote.version += 1;
                at.version = self.remote.version;
                self.remote.branch = at.has.clone();
                // Its answer, and then the remote is asked whether it has the commit.
                self.plan(now + answer + named + answer, machine, Event::Arrived);
            }
            Event::Named | Event::Decided => self.plan(now + answer, machine, Event::Lost),
            Event::Lost if self.is_folding(machine) => self.end(machine),
            Event::Lost => {
                let next = self.race(machine, Race::after_lost);
                self.make(machine, next);
            }
            Event::Fetched => {
                let at = &mut self.machines[machine];
                at.version = self.remote.version;
                at.has.merge(&self.remote.branch);
                self.push(machine, now + decided + LOCAL);
            }
            Event::FetchedAsides => {
                let at = &mut self.machines[machine];
                let mut merges = 0;
                for (name, aside) in &self.remote.asides {
                    if merges < MERGED_AT_ONCE && !at.has.has_all(aside) {
                        merges += 1;
                        at.has.merge(aside);
                        at.merged.push((*name, aside.clone()));
                    }
                }
                self.push(machine, now + decided + LOCAL + MERGE * u32::try_from(merges).unwrap_or(u32::MAX));
            }
            Event::Aside if self.setup.takes_asides => {
                let has = self.machines[machine].has.clone();
                self.remote.asides.insert(machine, has);
                self.outcome.most_asides = self.outcome.most_asides.max(self.remote.asides.len());
                self.plan(now + answer + named + answer, machine, Event::ArrivedAside);
            }
            Event::Aside => {
                let next = self.race(machine, Race::after_refusal);
                self.make(machine, next);
            }
            Event::Arrived if self.is_folding(machine) => self.end_and_remove(machine),
            Event::Arrived => {
                let at = &mut self.machines[machine];
                let (merged, others): (Vec<_>, Vec<_>) =
                    self.remote.asides.iter().partition(|(_, aside)| at.has.has_all(aside));
                at.merged = merged.into_iter().map(|(name, aside)| (*name, aside.clone())).collect();
                let has_others = !others.is_empty();
                self.arrive(machine);
                if has_others {
                    self.plan(now + named, machine, Event::FetchedAsides);
                } else {
                    self.end_and_remove(machine);
                }
            }
            Event::ArrivedAside => {
                self.outcome.aside += 1;
                self.arrive(machine);
                self.end(machine);
            }
            Event::Removed => {
                for (name, seen) in std::mem::take(&mut self.machines[machine].merged) {
                    if self.remote.asides.get(&name) == Some(&seen) && self.remote.branch.has_all(&seen) {
                        self.remote.asides.remove(&name);
                    }
                }
            }
        }
    }

    fn begin_next(&mut self, machine: usize) {
        let at = &mut self.machines[machine];
        if at.present.is_some() {
            return;
        }
        let Some(number) = at.waiting.pop_front() else { return };
        at.has.add(number);
        at.present =
            Some(Present { number, began: self.now, race: Race::until(TIMEOUT, true), pushes: 0, is_folding: false });
        self.push(machine, self.now + LOCAL);
    }

    /// Asks the race what to do next.
    fn race(&mut self, machine: usize, ask: fn(&mut Race, Duration, u16) -> Move) -> Move {
        let (now, chance) = (self.now, self.chance());
        let present = self.machines[machine].present.as_mut();
        present.map_or(Move::Fail, |present| ask(&mut present.race, now - present.began, chance))
    }

    fn make(&mut self, machine: usize, next: Move) {
        let (now, named, decided) = (self.now, self.trips(7), self.trips(2));
        match next {
            Move::Retry(wait) => self.plan(now + wait + named, machine, Event::Fetched),
            Move::PushAside => {
                self.count_push(machine);
                self.plan(now + named + decided, machine, Event::Aside);
            }
            Move::Fail => {
                self.outcome.failed += 1;
                self.outcome.ended = self.now;
                self.end(machine);
            }
        }
    }

    fn push(&mut self, machine: usize, at: Duration) {
        self.count_push(machine);
        self.plan(at + self.trips(7), machine, Event::Named);
    }

    fn count_push(&mut self, machine: usize) {
        if let Some(present) = &mut self.machines[machine].present {
            present.pushes += 1;
        }
    }

    fn is_folding(&self, machine: usize) -> bool {
        self.machines[machine].present.as_ref().is_some_and(|present| present.is_folding)
    }

    /// The remote has what the machine published.
    fn arrive(&mut self, machine: usize) {
        let Some(present) = &mut self.machines[machine].present else { return };
        present.is_folding = true;
        self.delivered.add(present.number);
        self.outcome.times.push(self.now - present.began);
        self.outcome.ended = self.now;
    }

    /// Ends a publish, and lets the remote remove what it merged.
    fn end_and_remove(&mut self, machine: usize) {
        if !self.machines[machine].merged.is_empty() {
            self.plan(self.now + self.trips(9), machine, Event::Removed);
        }
        self.end(machine);
    }

    fn end(&mut self, machine: usize) {
        let Some(Present { pushes, .. }) = self.machines[machine].present.take() else { return };
        self.outcome.pushes.push(pushes);
        self.begin_next(machine);
    }

    /// Checks what the remote has, and lets machines publish one after the other until no branch of a single machine is left.
    fn finish(mut self, publishes: usize) -> Outcome {
        let mut there = self.remote.branch.clone();
        self.remote.asides.values().for_each(|aside| there.merge(aside));
        let lost = (0..publishes).filter(|number| self.delivered.has(*number) && !there.has(*number)).count();
        let mut outcome = self.outcome.clone();
        let mut more = 0;
        while !self.remote.asides.is_empty() && more < publishes {
            let machine = more % self.setup.machines;
            self.plan(self.now, machine, Event::Wanted(publishes + more));
            self.run();
            more += 1;
        }
        let missing = (0..publishes).filter(|number| there.has(*number) && !self.remote.branch.has(*number)).count();
        outcome.lost = lost + missing;
        outcome.publishes_until_merged = more;
        outcome.pushes.sort_unstable();
        outcome.times.sort_unstable();
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_once(machines: usize, milliseconds: u64, takes_asides: bool) -> Outcome {
        let round_trip = Duration::from_millis(milliseconds);
        simulate(Setup { machines, round_trip, stream: None, takes_asides, seed: 1 })
    }

    #[test]
    fn the_pushes_of_a_publish_have_a_limit_however_many_machines_there_are() {
        for machines in [1, 4, 16, 256] {
            for milliseconds in [5, 200] {
                let outcome = at_once(machines, milliseconds, true);
                assert_eq!(outcome.pushes.len(), machines);
                // Three that lost, one to a branch of the machine, or one more that merges those of others.
                assert!(outcome.pushes.iter().all(|pushes| *pushes <= 4), "{machines} machines: {outcome:?}");
                assert_eq!((outcome.failed, outcome.lost), (0, 0), "{machines} machines");
            }
        }
    }

    #[test]
    fn a_remote_that_takes_no_other_branches_gets_everything_from_a_few_machines() {
        let outcome = at_once(16, 50, false);
        assert_eq!((outcome.failed, outcome.lost, outcome.aside), (0, 0, 0));
        assert!(outcome.pushes.iter().any(|pushes| *pushes > 4), "the race goes on after a refusal: {outcome:?}");
    }

    #[test]
    fn what_was_pushed_aside_is_merged_by_later_publishes() {
        let outcome = at_once(64, 50, true);
        assert!(outcome.aside > 32 && outcome.most_asides > 32, "{outcome:?}");
        // Each merges a few.
        assert!(outcome.publishes_until_merged > 0 && outcome.publishes_until_merged < 64, "{outcome:?}");
        assert_eq!(outcome.lost, 0);
    }

    #[test]
    fn machines_that_publish_now_and_then_hardly_meet() {
        let stream = Some((3, Duration::from_secs(600)));
        let setup = Setup { machines: 64, round_trip: Duration::from_millis(50), stream, takes_asides: true, seed: 2 };
        let outcome = simulate(setup);
        assert_eq!((outcome.pushes.len(), outcome.failed, outcome.lost), (192, 0, 0));
        // The first push of a machine that others were faster than since its last publish is always in vain.
        assert!(quantile(&outcome.pushes, 0.95) <= 3, "{outcome:?}");
    }
}
