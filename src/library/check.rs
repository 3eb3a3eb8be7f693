//! Whether a handover was interrupted.

use crate::engine::{self, Checked};
use crate::error::Result;
use crate::project::Project;

/// What became of the last handover of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// No handover is on record.
    Nothing,
    /// A handover was interrupted. [`resume`](crate::Project::resume) finishes it.
    Interrupted,
    /// The last handover completed.
    Completed,
    /// A process is running a handover right now.
    Running,
}

impl Check {
    pub(super) fn of(project: &Project) -> Result<Check> {
        let Checked { code, .. } = engine::check(project)?;
        Ok(match code {
            1 => Check::Interrupted,
            2 => Check::Completed,
            4 => Check::Running,
            _ => Check::Nothing,
        })
    }

    /// The exit code of `agent-handover check` for this answer.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Check::Nothing => 0,
            Check::Interrupted => 1,
            Check::Completed => 2,
            Check::Running => 4,
        }
    }
}
