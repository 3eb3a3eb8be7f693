//! What happens around a project before the first step of a run: its directories are kept out of `git status`, and
//! directories that are missing come back from the branch. A failure here is reported, and the handover goes on.

use std::path::Path;

use super::plan::Plan;
use crate::error::Result;
use crate::facts::Session;
use crate::git;
use crate::guard::Brake;
use crate::project::{self, Project};
use crate::publish::{self, DeliveredFiles, DeliveredRun, Delivery, NotDelivered};
use crate::steps::Provided;

/// Hides the project's own directories from `git status`, unless they are published on the branch that is checked out
/// and so belong to it. Returns a sentence for the user, if there is something to report.
pub fn keep_out_of_git(root: &Path, plan: &Plan) -> Option<String> {
    let added = || -> Result<Vec<String>> {
        if git::top_level(root).is_none() || plan.destination.is_on_checked_out_branch(root)? {
            return Ok(Vec::new());
        }
        git::keep_out(root, &[project::place(root, &plan.memory_dir)?, project::place(root, &plan.history_dir)?])
    };
    match added() {
        Ok(added) if added.is_empty() => None,
        Ok(added) => Some(format!("keeping {} out of `git status` (in git's info/exclude)", added.join(" and "))),
        Err(error) => Some(format!("the memory directories will show up in `git status`: {}", error.one_line())),
    }
}

/// Brings a memory or history directory that is gone back from the branch, before a step writes a new one in its place.
/// Returns a sentence for the user, if there is something to report; the delivery itself reports more.
pub(super) fn restore(
    project: &Project,
    brake: &Brake,
    provided: &Provided<'_>,
    plan: &Plan,
    session: &Session,
    memory: &Path,
    history: &Path,
) -> Option<String> {
    if plan.destination.is_local()
        || project.anchor(memory).is_taken(memory) && project.anchor(history).is_taken(history)
    {
        return None;
    }
    let backend = publish::backend(&plan.destination.backend).ok()?;
    let files =
        DeliveredFiles { root: &project.root, memory, history, state: &project.state, categories: &plan.categories };
    let run = DeliveredRun { id: &session.run, tag: &session.tag, at: session.at };
    let delivery = Delivery::new(files, &plan.destination, run, brake, &provided.unreachable);
    match backend.restore(&delivery) {
        Ok(true) => Some("restored from the branch what was missing here".to_owned()),
        Ok(false) | Err(NotDelivered::Stopped(_)) => None,
        Err(NotDelivered::Failed(error)) => Some(format!("nothing was restored from the branch: {}", error.one_line())),
    }
}
