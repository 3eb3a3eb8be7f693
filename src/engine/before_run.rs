//! What happens around a project before the first step of a run: the run becomes known as this user's, its directories are
//! kept out of `git status`, directories that are missing come back from the branch, and a history whose last writer was
//! killed is completed. A failure here is reported, and the handover goes on.

use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, FixedOffset};

use super::plan::Plan;
use super::provenance;
use super::queue::between_runs;
use crate::error::{Category, Result};
use crate::facts::Session;
use crate::git;
use crate::guard::Brake;
use crate::guard::own_record::{self, OwnKey};
use crate::history::History;
use crate::memory::own_keys;
use crate::project::{self, Project};
use crate::publish::{self, DeliveredFiles, DeliveredRun, Delivery, NotDelivered};
use crate::steps::{self, Provided};

/// Hides the project's own directories from `git status`, unless they are published on the branch that is checked out
/// and so belong to it. Returns a sentence for the user, if there is something to report.
pub(crate) fn keep_out_of_git(project: &Project, plan: &Plan) -> Option<String> {
    let root = &project.memory_root;
    let added = || -> Result<Vec<String>> {
        // Inside a bare repository nothing shows up.
        if project.bare().is_some()
            || git::top_level(root).is_none()
            || plan.destination.is_on_checked_out_branch(root)?
        {
            return Ok(Vec::new());
        }
        git::keep_out(root, &[project::place(root, &plan.memory_dir)?, project::place(root, &plan.history_dir)?])
    };
    match added() {
        Ok(added) if added.is_empty() => None,
        Ok(added) => Some(format!("keeping {} out of `git status` (in git's info/exclude)", added.join(" and "))),
        Err(error) if matches!(error.category(), Category::Signal(_)) => None,
        Err(error) => Some(format!("the memory directories will show up in `git status`: {}", error.one_line())),
    }
}

/// Makes the run known in the user's own state, before its first effect on the files, so that what it writes is ours.
/// Returns a sentence for the user if that failed: the handover goes on.
pub(super) fn remember(project: &Project, session: &Session, memory: &Path, history: &Path) -> Option<String> {
    let date = Some(session.at.date_naive());
    // The free text of the current state names no run. Mostly it is one of these.
    // A long one is shown in part there, and the step that does so remembers it.
    let texts = [&session.state, &session.note].into_iter();
    let texts = texts.filter(|text| text.len() <= steps::MOST_STATE_TEXT && !text.trim().is_empty());
    let texts = texts.map(|text| own_keys::of_text(date, text.as_bytes()));
    let remembered = provenance::adopt_after_upgrade(&project.memory_root, memory, history)
        .and_then(|()| own_record::remember(OwnKey::of_run(&session.run).into_iter().chain(texts)));
    let error = remembered.err()?.one_line();
    let spare =
        project.spare_place_of_id().map(|place| format!("; the id of its database is in `{}`", place.display()));
    let spare = spare.map(|spare| format!("{spare} until there is room")).unwrap_or_default();
    Some(format!("this handover will be shown as if it came with the repository: {error}{spare}"))
}

/// Completes the history if a command that changed it was killed and left no record. Returns a sentence for the user, if
/// there is something to report. The handover comes after it, because it looks for the handoff that the session wrote.
pub(super) fn complete_history(project: &Project, brake: &Brake, history: &Path) -> Option<String> {
    if brake.pressed().is_some() {
        return None;
    }
    match History::at(&project.memory_root, history.to_path_buf()).complete() {
        Ok(true) => Some("completed the history: a command that changed it was interrupted".to_owned()),
        Ok(false) => None,
        Err(error) => {
            tracing::debug!(error = error.one_line(), "the history is not completed");
            None
        }
    }
}

/// Brings back what vanished from the memory or history and was not deleted on purpose, before a step writes in its place.
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
    let backend = publish::backend(&plan.destination.backend).ok()?;
    let files = files_of(project, plan, memory, history);
    let run = DeliveredRun { id: &session.run, tag: &session.tag, at: session.at };
    let delivery = Delivery::new(files, &plan.destination, run, brake, &provided.unreachable);
    match backend.restore(&delivery) {
        Ok(restored) => restored,
        Err(NotDelivered::Stopped(_) | NotDelivered::NotFromHere(_)) => None,
        Err(NotDelivered::Failed(error)) if matches!(error.category(), Category::Signal(_)) => None,
        Err(NotDelivered::Failed(error)) => Some(format!("nothing was restored: {}", error.one_line())),
    }
}

/// Whether a file is as the user's git has committed it, so that a command of the user's may have taken words out of it.
/// `false` also if that cannot be found out.
pub(super) fn is_reset(project: &Project, brake: &Brake, plan: &Plan, session: &Session, path: &Path) -> bool {
    let asked = || -> Result<bool, NotDelivered> {
        let memory = project::place(&project.memory_root, &plan.memory_dir)?;
        let history = project::place(&project.memory_root, &plan.history_dir)?;
        let files = files_of(project, plan, &memory, &history);
        let run = DeliveredRun { id: &session.run, tag: &session.tag, at: session.at };
        let provided = Provided::default();
        let delivery = Delivery::new(files, &plan.destination, run, brake, &provided.unreachable);
        publish::backend(&plan.destination.backend)?.is_as_committed(&delivery, path)
    };
    asked().unwrap_or_default()
}

/// Keeps what a command wrote, so that no command of the user's git takes it away before it is delivered. Nothing happens
/// where the files are not part of the user's work tree.
pub(super) fn keep(project: &Project, run: &str, at: DateTime<FixedOffset>) -> Result<()> {
    let plan = &Plan::of(&project.config);
    let memory = project::place(&project.memory_root, &plan.memory_dir)?;
    let history = project::place(&project.memory_root, &plan.history_dir)?;
    let files = files_of(project, plan, &memory, &history);
    let run = DeliveredRun { id: run, tag: &project.config.tag, at };
    let (provided, brake) = (Provided::default(), project.brake());
    let delivery = Delivery::new(files, &plan.destination, run, &brake, &provided.unreachable);
    let delivery = delivery.with_message("handover: kept until it is delivered");
    let backend = publish::backend(&plan.destination.backend)?;
    if !backend.has_to_keep(&delivery)? {
        return Ok(());
    }
    between_runs(project, Duration::ZERO, &mut |_| (), |_| match backend.keep(&delivery) {
        Ok(()) | Err(NotDelivered::Stopped(_) | NotDelivered::NotFromHere(_)) => Ok(()),
        Err(NotDelivered::Failed(error)) => Err(error),
    })
}

/// The files of a delivery of this plan.
pub(super) fn files_of<'a>(
    project: &'a Project,
    plan: &'a Plan,
    memory: &'a Path,
    history: &'a Path,
) -> DeliveredFiles<'a> {
    DeliveredFiles {
        root: &project.memory_root,
        bare: project.bare(),
        memory,
        history,
        state: &project.state,
        categories: &plan.categories,
    }
}
