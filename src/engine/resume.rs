//! What to do with a step, given how the checkpoint found it: a pure and total function.

use crate::checkpoint::StepState;
use crate::steps::{OnInterrupt, Promise};

/// A step during which the process died this often is parked: it runs again only if somebody asks for it.
pub(crate) const DEATHS_TO_PARK: u32 = 5;

/// How a step was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub state: StepState,
    /// The process died during the last attempt, because the end of that attempt is not recorded.
    pub died: bool,
    /// How often the process died during earlier attempts.
    pub deaths: u32,
    pub promise: Promise,
    pub on_interrupt: OnInterrupt,
    pub continue_on_failure: bool,
    /// The step was done, and git has reset the file that it wrote.
    pub is_taken_back: bool,
    /// A person or agent asked for this resume, rather than a later run coming by.
    pub asked: bool,
}

/// What to do with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing: go on with the next step.
    Settled,
    Run,
    /// Run with the intent that was recorded.
    RunAsIntended,
    /// Record that the step was interrupted and is not done again.
    Skip,
    /// Record that a person must look, and leave the run.
    Stop,
    /// Leave the run as it is.
    Leave,
}

/// Decides what to do with a step. The table in the tests lists every case.
pub(super) fn decide(found: Found) -> Action {
    match found.state {
        StepState::Done if found.is_taken_back => Action::RunAsIntended,
        StepState::Done | StepState::Skipped => Action::Settled,
        StepState::Pending => Action::Run,
        StepState::Failed if found.continue_on_failure => Action::Settled,
        StepState::Failed => Action::Run,
        StepState::Stopped if found.asked => Action::Run,
        StepState::Stopped => Action::Leave,
        StepState::Intended if found.died && found.deaths + 1 >= DEATHS_TO_PARK && !found.asked => Action::Leave,
        StepState::Intended => match (found.promise, found.on_interrupt) {
            (Promise::Repeat, _) => Action::RunAsIntended,
            (Promise::AtLeastOnce, OnInterrupt::Rerun) => Action::Run,
            (Promise::AtLeastOnce, OnInterrupt::Skip) => Action::Skip,
            (Promise::AtLeastOnce, OnInterrupt::Stop) => Action::Stop,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documented table, one row a line: state, promise, on_interrupt, asked → action.
    const TABLE: &str = "
        done      *             *      *    Settled
        skipped   *             *      *    Settled
        pending   *             *      *    Run
        failed    *             *      *    Run
        stopped   *             *      no   Leave
        stopped   *             *      yes  Run
        intended  Repeat        *      *    RunAsIntended
        intended  AtLeastOnce   Rerun  *    Run
        intended  AtLeastOnce   Skip   *    Skip
        intended  AtLeastOnce   Stop   *    Stop
    ";

    fn every_case() -> Vec<Found> {
        let mut cases = Vec::new();
        for state in StepState::ALL {
            for promise in [Promise::Repeat, Promise::AtLeastOnce] {
                for on_interrupt in [OnInterrupt::Rerun, OnInterrupt::Skip, OnInterrupt::Stop] {
                    for asked in [false, true] {
                        let continue_on_failure = false;
                        cases.push(Found {
                            state,
                            died: true,
                            deaths: 0,
                            promise,
                            on_interrupt,
                            continue_on_failure,
                            is_taken_back: false,
                            asked,
                        });
                    }
                }
            }
        }
        cases
    }

    #[test]
    fn every_case_is_decided_as_the_table_says() {
        for case in every_case() {
            let words = [
                case.state.name().to_owned(),
                format!("{:?}", case.promise),
                format!("{:?}", case.on_interrupt),
                if case.asked { "yes" } else { "no" }.to_owned(),
            ];
            let rows: Vec<Vec<&str>> = TABLE.lines().map(|line| line.split_whitespace().collect()).collect();
            let row = rows
                .iter()
                .find(|row| {
                    row.len() == 5 && words.iter().zip(row.iter()).all(|(word, cell)| *cell == "*" || word == cell)
                })
                .unwrap_or_else(|| panic!("no row for {case:?}"));
            assert_eq!(format!("{:?}", decide(case)), row[4], "{case:?}");
        }
    }

    #[test]
    fn a_step_that_is_done_and_still_there_never_runs_again() {
        for case in every_case().into_iter().filter(|case| case.state == StepState::Done) {
            for (deaths, continue_on_failure) in [(0, true), (9, false)] {
                assert_eq!(decide(Found { deaths, continue_on_failure, ..case }), Action::Settled);
            }
        }
    }

    #[test]
    fn only_a_step_that_was_done_can_be_taken_back() {
        for case in every_case() {
            let taken_back = decide(Found { is_taken_back: true, ..case });
            let is_done = case.state == StepState::Done;
            assert_eq!(taken_back, if is_done { Action::RunAsIntended } else { decide(case) }, "{case:?}");
        }
    }

    #[test]
    fn five_deaths_park_a_run_until_somebody_asks() {
        for case in every_case().into_iter().filter(|case| case.state == StepState::Intended && !case.asked) {
            assert_ne!(decide(Found { deaths: 3, ..case }), Action::Leave);
            assert_eq!(decide(Found { deaths: 4, ..case }), Action::Leave);
            assert_ne!(decide(Found { deaths: 4, asked: true, ..case }), Action::Leave);
            assert_ne!(decide(Found { deaths: 4, died: false, ..case }), Action::Leave);
        }
    }

    #[test]
    fn a_failure_that_may_be_passed_over_is_settled() {
        for case in every_case().into_iter().filter(|case| case.state == StepState::Failed) {
            assert_eq!(decide(Found { continue_on_failure: true, ..case }), Action::Settled);
        }
    }
}
