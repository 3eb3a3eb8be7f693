//! A program that hands over by itself: `cargo run --example hand_over -- "what was done" "where the project stands"`.
//!
//! It writes a note and the current state, publishes through a function of its own, and checks the result. Kill it at any
//! moment and start it again with the same words: it continues with the first step that is not done.

#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "this is another program")]

use std::fs::OpenOptions;
use std::io::Write;

use agent_handover::{Check, Error, Handover, Layer, Project, Result, Step};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(note), Some(state)) = (arguments.next(), arguments.next()) else {
        return Err(Error::usage("expected what was done, and where the project stands"));
    };
    let project = Project::open(".")?;
    if project.is_paused() {
        return Err(Error::failed("the project is paused").hint("remove its PAUSE file"));
    }
    let wiki = project.root().join("wiki.txt");
    let line = format!("{note}\n");
    let handover = Handover::new().note(note).state(state).agent("example").steps(vec![
        Step::note(),
        Step::state(),
        // At least once: a real function would find out whether its effect is there already.
        Step::new("publish_wiki", move || {
            OpenOptions::new().append(true).create(true).open(&wiki)?.write_all(line.as_bytes())
        }),
    ]);
    let report = project.hand_over(&handover)?;
    assert_eq!(project.check()?, Check::Completed);
    let newest = project.latest(Layer::Notes, None)?.unwrap_or_default();
    println!("executed: {}", report.executed.join(", "));
    println!("the newest note: {}", newest.trim_end());
    Ok(())
}
