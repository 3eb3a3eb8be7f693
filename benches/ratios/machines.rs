//! Many machines on one branch, simulated by the program's own rules for trying again.

use std::fmt::Write;
use std::time::Duration;

use agent_handover::testing::publish::{Outcome, Setup, quantile, simulate};

use crate::race::Results;

const MACHINES: [usize; 5] = [4, 16, 64, 256, 1_024];
const ROUND_TRIPS: [u64; 3] = [5, 50, 200];

pub(crate) fn machines(results: &mut Results) {
    let cases = [
        ("All machines publish at the same moment", None, true),
        ("Each machine publishes twice, every ten minutes on average", Some((2, Duration::from_secs(600))), true),
        ("All at the same moment, and the remote takes no other branches", None, false),
    ];
    for (title, stream, takes_asides) in cases {
        let mut table = "| machines | round trip | pushes a publish: median, p95, most | seconds a publish: median, most | all done after | on a branch of their own | failed | lost | publishes until merged |\n\
                         |---:|---:|---|---|---:|---:|---:|---:|---:|\n"
            .to_owned();
        for machines in MACHINES {
            for milliseconds in ROUND_TRIPS {
                let round_trip = Duration::from_millis(milliseconds);
                let outcome = simulate(Setup { machines, round_trip, stream, takes_asides, seed: 1 });
                writeln!(table, "{}", row(machines, milliseconds, &outcome)).unwrap();
            }
        }
        println!("\n{title}\n{table}");
        results.tables.push((title.to_owned(), table));
    }
}

fn row(machines: usize, milliseconds: u64, outcome: &Outcome) -> String {
    let pushes = |share| quantile(&outcome.pushes, share);
    let seconds = |share| quantile(&outcome.times, share).as_secs_f64();
    format!(
        "| {machines} | {milliseconds} ms | {}, {}, {} | {:.1}, {:.1} | {:.1} s | {} | {} | {} | {} |",
        pushes(0.5),
        pushes(0.95),
        pushes(1.0),
        seconds(0.5),
        seconds(1.0),
        outcome.ended.as_secs_f64(),
        outcome.aside,
        outcome.failed,
        outcome.lost,
        outcome.publishes_until_merged
    )
}
