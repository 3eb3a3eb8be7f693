//! `pause` and `unpause`: create and remove the PAUSE file, so that nobody has to remember where it is.

use clap::Args;

use super::Context;
use crate::base::fs::{Anchor, Created};
use crate::base::text;
use crate::checkpoint::Store;
use crate::engine::DEATHS_TO_PARK;
use crate::error::{Category, Error, Result};
use crate::guard::PauseFile;
use crate::project::{self, Project};

/// Stop all handovers in this project until `unpause`
#[derive(Args)]
pub(super) struct Pause {
    /// A reason, shown to everybody who is stopped
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}

impl Pause {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        // Pausing must work even if the config cannot be read.
        let PauseFile { path, anchor } = match context.project(None, None) {
            Ok(project) => project.pause_files[0].clone(),
            Err(error) => {
                context.ui.warn(&format!(
                    "the config cannot be read ({}), so the project's own PAUSE is used",
                    error.message()
                ));
                project::own_pause_file(&project::root(&context.cwd))
            }
        };
        // Somebody typed this, so a file outside the project may be written.
        let anchor = anchor.unwrap_or_else(|| Anchor::beside(&path));
        if let Some(directory) = path.parent() {
            anchor.create_directories(directory)?;
        }
        let reason = self.reason.map(|reason| format!("{}\n", text::one_line(&reason, 200))).unwrap_or_default();
        let said = match anchor.create_flag(&path, reason.as_bytes())? {
            Created::Now => format!("paused: `agent-handover unpause` or removing {} ends the pause", path.display()),
            Created::Before => format!("already paused by {}", path.display()),
        };
        context.ui.answer(&said);
        Ok(0)
    }
}

/// Remove this project's PAUSE file
#[derive(Args)]
pub(super) struct Unpause {}

impl Unpause {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let project = context.project(None, None).ok();
        let (files, brake) = match &project {
            Some(project) => (project.pause_files.clone(), project.brake()),
            None => {
                let root = project::root(&context.cwd);
                (vec![project::own_pause_file(&root)], project::plain_brake(&root))
            }
        };
        let mut removed = false;
        for file in files.iter().filter(|file| file.is_there()) {
            remove(file)?;
            context.ui.answer(&format!("removed {}", file.path.display()));
            removed = true;
        }
        if let Some(pause) = brake.paused() {
            let shared = project.as_ref().and_then(Project::shared_pause_file);
            let is_bare = project.as_ref().is_some_and(|project| project.bare().is_some());
            let hint = if shared.is_some_and(|shared| shared.path == pause.path) {
                if is_bare {
                    "that file stops every worktree of this repository, so `unpause` leaves it alone"
                } else {
                    "that file stops every worktree of this repository: run `agent-handover unpause` in the main one"
                }
            } else {
                "that file stops every project of this user, so `unpause` leaves it alone"
            };
            return Err(Error::new(Category::Paused, pause.to_string()).hint(hint));
        }
        if !removed {
            context.ui.answer("not paused");
        }
        if let Some(line) = project.as_ref().and_then(waiting) {
            context.ui.answer(&line);
        }
        Ok(0)
    }
}

/// Removes a PAUSE file, or the link or empty directory in its place.
fn remove(PauseFile { path, anchor }: &PauseFile) -> Result<()> {
    let Some(anchor) = anchor else {
        return Err(Error::failed(format!("`{}` is outside the project, and its config is not allowed", path.display()))
            .hint("look at that file and at `pause_file` in the config; then remove the file yourself, or run `agent-handover allow` first"));
    };
    if anchor.is_directory(path) {
        anchor.remove_empty_directory(path)?;
    } else {
        anchor.remove_file(path)?;
    }
    Ok(())
}

/// How much is recorded and not carried out, and how to carry it out. A database that cannot be read is for `doctor` to
/// report: the pause is over all the same.
fn waiting(project: &Project) -> Option<String> {
    let count = Store::read(&project.checkpoint_file()).ok()??.unfinished(DEATHS_TO_PARK).ok()?.len();
    let them = if count == 1 { "it" } else { "them" };
    let what = text::count(count, "recorded command");
    (count > 0).then(|| format!("waiting: {what}; `agent-handover run --resume` carries {them} out"))
}
