//! Which files of an agent an install keeps.

use super::agent_file::AgentFile;
use super::server::{self, ServerWish};
use super::{Program, teaching};
use crate::agents::agent::Bootstrap;
use crate::agents::{Agent, Places, Scope};
use crate::error::Result;

/// Whether an install writes our block into the instructions file that an agent has of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockWish {
    /// Only updates a block that is there.
    #[default]
    Keep,
    Write,
}

/// The files of an agent at this scope.
pub(super) fn targets(
    agent: &Agent,
    places: &Places,
    scope: Scope,
    program: &Program,
    block: BlockWish,
    server: ServerWish,
) -> Result<Vec<AgentFile>> {
    let mut files = (agent.files)(places, scope, program)?;
    let settings = (agent.server)(places, scope);
    files.extend(settings.map(|settings| server::file(settings, scope, program, server.possible())));
    if let Bootstrap::OnRequest(path) = (agent.bootstrap)(places, scope) {
        files.push(AgentFile { is_wanted: block == BlockWish::Write, ..teaching::instructions(&path) });
    }
    Ok(files)
}
