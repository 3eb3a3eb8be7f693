//! `mcp`: the server that agents ask.

use clap::Args;

use super::Context;
use crate::error::Result;
use crate::mcp;

/// Serve this project's memory to a coding agent over MCP, on standard input and output
#[derive(Args)]
pub(super) struct Mcp {}

impl Mcp {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        if context.ui.can_ask() {
            context.ui.tell("a coding agent starts this server and talks to it on standard input; Ctrl-C ends it");
            context.ui.hint("`agent-handover install AGENT` registers it with an agent");
        }
        mcp::serve(context.cwd.clone(), context.config.clone())?;
        Ok(0)
    }
}
