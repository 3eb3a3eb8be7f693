//! `hook`: called by agents. It exits 0 whatever happens, and prints nothing on stdout but the answer for the agent.

use std::ffi::OsStr;
use std::io::IsTerminal;

use clap::Args;

use super::Context;
use crate::agents::payload::Given;
use crate::error::Result;
use crate::hook;

/// Handle an event of a coding agent: reads it from standard input, answers in the agent's format, always exits with 0
#[derive(Args)]
pub(super) struct Hook {
    /// The calling agent, if neither the event nor the environment names it
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

impl Hook {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        // A person who types the command sends no payload.
        let given = if std::io::stdin().is_terminal() { Given::default() } else { hook::receive(std::io::stdin()) };
        if context.ui.can_edit() {
            context.ui.tell("an agent calls this command and sends an event on standard input");
            context.ui.hint("`agent-handover doctor --simulate AGENT` shows what the agent receives");
        }
        let cwd = Some(context.cwd.as_path()).filter(|cwd| !cwd.as_os_str().is_empty());
        let reply = hook::respond(&given, self.agent.as_deref(), cwd);
        context.ui.answer_text(&reply.stdout);
        for line in reply.story.iter().filter(|_| reply.is_trouble) {
            context.ui.warn(line);
        }
        Ok(0)
    }
}

/// Whether this command line is a call of a hook. It may have been written for an older or newer version, and then clap
/// refuses it.
pub(super) fn is_meant(arguments: &[std::ffi::OsString]) -> bool {
    arguments.get(1).is_some_and(|verb| verb == OsStr::new("hook"))
}
