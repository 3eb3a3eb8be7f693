//! What the program costs, as ratios to the least that could do the same, all measured in one run:
//! `cargo bench --bench ratios`.
//!
//! | arguments | |
//! |---|---|
//! | names of subjects | only these |
//! | `--full` | also what takes minutes to build: 100,000 sessions, ten years of notes, 50,000 files |
//! | `--page FILE` | the results as a page, with drawings in the directory of the same name |
//!
//! The floors are processes of this same file: `ratios floor NAME …` does only what cannot be avoided. Other tools take
//! part where a variable names their program:
//!
//! | variable | tool |
//! |---|---|
//! | `AGENT_HANDOVER_PYTHON` | agent-handover for Python |
//! | `AGENT_HANDOVER_GLUE` | Session Glue |
//! | `AGENT_HANDOVER_GO` | session-handoff |
//! | `AGENT_HANDOVER_DEJA` | deja-vu |
//! | `AGENT_HANDOVER_BEFORE` | an earlier version of this program, for the subject `before` |

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, clippy::print_stdout)]

mod checkpoint;
mod daily;
mod floor;
mod history;
mod hook;
mod machines;
mod page;
mod publish;
mod race;
mod search;
mod secrets;
mod start_up;
mod state;
mod world;

use race::Results;

/// What is measured under a name.
type Subject = (&'static str, fn(&mut Results));

const SUBJECTS: &[Subject] = &[
    ("start-up", start_up::start_up),
    ("readers", checkpoint::readers),
    ("steps", checkpoint::steps),
    ("detach", checkpoint::detach),
    ("notes", checkpoint::notes),
    ("compact", checkpoint::compact),
    ("publish", publish::publish),
    ("history", history::history),
    ("handoffs", history::handoffs),
    ("secrets", secrets::secrets),
    ("hook", hook::hook),
    ("before", hook::before),
    ("search", search::search),
    ("daily", daily::daily),
    ("years", daily::years),
    ("state", state::state),
    ("machines", machines::machines),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "floor") {
        floor::run(&arguments[1..]);
        return;
    }
    let (mut results, mut named, mut page) = (Results::default(), Vec::new(), None);
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--full" => results.is_full = true,
            "--page" => page = Some(rest.next().expect("`--page` needs a file")),
            // cargo adds it.
            "--bench" => {}
            name if SUBJECTS.iter().any(|(subject, _)| *subject == name) => named.push(argument),
            _ => panic!("`{argument}` is no subject: {:?}", SUBJECTS.iter().map(|(name, _)| *name).collect::<Vec<_>>()),
        }
    }
    for (name, measure) in SUBJECTS {
        if named.is_empty() || named.iter().any(|wanted| wanted == name) {
            measure(&mut results);
        }
    }
    let judged = results.rows.iter().filter_map(|row| row.aim.as_ref());
    println!("\n{} of {} aims met", judged.clone().filter(|aim| aim.is_met).count(), judged.count());
    if let Some(page) = page {
        page::write(&page, &results, &named);
    }
}
