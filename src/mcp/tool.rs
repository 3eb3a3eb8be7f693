//! What a tool is to us: its words, what it takes, whether it changes anything, and what it does.

use serde_json::Value;

use super::arguments::Arguments;
use crate::error::Result;
use crate::project::Project;

/// One tool that a client can call.
pub(super) struct Tool {
    pub name: &'static str,
    /// When to call it and what comes back. Every word costs each session context.
    pub description: &'static str,
    /// The JSON schema of its arguments.
    pub schema: fn() -> Value,
    pub effect: Effect,
    pub call: fn(&Caller<'_>, Arguments) -> Result<String>,
}

/// What a call may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Reads,
    /// It adds, and takes nothing away.
    Adds,
    /// It may also remove what is there.
    Changes,
}

impl Effect {
    pub(super) fn is_read_only(self) -> bool {
        self == Effect::Reads
    }
}

/// Who calls, and about which project.
pub(super) struct Caller<'a> {
    pub project: &'a Project,
    /// The name of the agent, as its client states it.
    pub agent: &'a str,
}
