//! `run --inherited`: the child of a detached handover, which gets the lock as standard input.

use std::ffi::OsString;
use std::path::Path;

use super::render::{Reporter, show};
use crate::base::signals;
use crate::cli::Context;
use crate::cli::ids;
use crate::cli::ui::Ui;
use crate::engine::{self, ChildTask, Drained};
use crate::error::Result;
use crate::hook;

/// Whether this command line is that of such a child. It leaves the session of its parent, which waits for that, before
/// anything else.
pub(in crate::cli) fn is_meant(arguments: &[OsString]) -> bool {
    let is = |at: usize, word: &str| arguments.get(at).is_some_and(|argument| argument == word);
    is(1, "run") && is(2, "--inherited")
}

/// Carries out the run with this id, for somebody who typed `run --detach`; without an id what is due, for a hook.
pub(super) fn carry_out(
    context: &mut Context<'_>,
    checkpoint: Option<&Path>,
    config_of: Option<&Path>,
    run: Option<&str>,
) -> Result<u8> {
    let project = context.project_of_child(checkpoint, config_of)?;
    signals::listen();
    match run {
        Some(id) => {
            let mut reporter = Reporter::new(context.ui, false);
            let listener = &mut |event: engine::Event| reporter.event(&event);
            let drained = engine::carry_out_inherited(&project, ChildTask::Run(id), listener)?;
            reporter.drained(drained, Some(id))
        }
        None => {
            let ui = &*context.ui;
            let drained = hook::carry_out_due(&project, &mut |event| show(ui, &event))?;
            report_due(context.ui, drained);
            Ok(0)
        }
    }
}

/// The result for a hook: only a person who reads the log sees it.
fn report_due(ui: &Ui, drained: Drained) {
    match drained {
        Drained::Tried { failures, .. } => {
            for failure in &failures {
                ui.error(&format!(
                    "handover {} is unfinished: {}",
                    ids::of_run(&failure.run),
                    failure.error.one_line()
                ));
            }
        }
        Drained::Stopped { stop, .. } => ui.warn(&stop.error().one_line()),
        Drained::Busy(_) => {}
    }
}
