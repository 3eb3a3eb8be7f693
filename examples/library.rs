//! The program of docs/library.md, which a test compares with this file: `cargo run --example library`.

#![allow(clippy::disallowed_methods, reason = "this is another program")]

use agent_handover::{Check, Handover, Project, Step};

fn main() -> agent_handover::Result<()> {
    let project = Project::open(".")?;
    let handover = Handover::new().note("parser done; next: error spans").steps(vec![
        Step::note(),
        Step::state(),
        Step::new("publish_wiki", update_wiki),
    ]);
    project.hand_over(&handover)?;
    assert_eq!(project.check()?, Check::Completed);
    Ok(())
}

/// A step of your own. After a crash it may run again, so it must do no harm when it runs twice.
fn update_wiki() -> std::io::Result<()> {
    std::fs::write("wiki.txt", "parser done\n")
}
