//! `hook`: called by agents, so it exits 0 whatever happens, and stdout is theirs alone.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;

use super::Context;
use super::run::tell;
use crate::agents::payload::Given;
use crate::base::{process, signals};
use crate::engine::Drained;
use crate::error::Result;
use crate::hook;

/// Called by coding agents at the start and end of their sessions; reads their payload, answers as they want it, exits 0
#[derive(Args)]
pub struct Hook {
    /// Who calls, if neither the payload nor the environment says so
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Carry out what is due; the lock is standard input
    #[arg(long, hide = true)]
    drain: bool,
    #[arg(long, value_name = "FILE", hide = true)]
    checkpoint: Option<PathBuf>,
}

impl Hook {
    pub fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        if self.drain {
            return self.carry_out(context);
        }
        // Whoever types it has nothing to say.
        let given = if std::io::stdin().is_terminal() { Given::default() } else { hook::receive(std::io::stdin()) };
        let cwd = Some(context.cwd.as_path()).filter(|cwd| !cwd.as_os_str().is_empty());
        let reply = hook::respond(&given, self.agent.as_deref(), cwd);
        context.ui.answer_text(&reply.stdout);
        for line in reply.story.iter().filter(|_| reply.is_trouble) {
            context.ui.warn(line);
        }
        Ok(0)
    }

    fn carry_out(self, context: &mut Context<'_>) -> Result<u8> {
        process::leave_session();
        signals::listen();
        let project = context.project(self.checkpoint.as_deref(), None)?;
        let ui = &*context.ui;
        match hook::drain(&project, &mut |event| tell(ui, event))? {
            Drained::Tried { failures, .. } => {
                for failure in &failures {
                    context.ui.error(&format!("handover {} is unfinished: {}", failure.run, failure.error.one_line()));
                }
            }
            Drained::Stopped { stop, .. } => context.ui.warn(&stop.error().one_line()),
            Drained::Busy(_) => {}
        }
        Ok(0)
    }
}

/// Whether this command line is a call of a hook, also one that an older or newer version would understand better.
pub fn is_meant(arguments: &[std::ffi::OsString]) -> bool {
    arguments.get(1).is_some_and(|verb| verb == OsStr::new("hook"))
}
