//! `pause` and `unpause`: create and remove the PAUSE file, so that nobody has to remember where it is.

use clap::Args;

use super::Context;
use crate::base::fs::{Anchor, Created};
use crate::base::text;
use crate::error::{Category, Error, Result};
use crate::guard::PauseFile;
use crate::project;

/// Stop all handovers in this project until `unpause`
#[derive(Args)]
pub struct Pause {
    /// Shown to whoever is stopped
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}

impl Pause {
    pub fn execute(self, context: &mut Context<'_>) -> Result<u8> {
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
            Created::Now => format!("paused: `agent-handover unpause` or removing {} goes on", path.display()),
            Created::Before => format!("already paused by {}", path.display()),
        };
        context.ui.answer(&said);
        Ok(0)
    }
}

/// Remove this project's PAUSE file
#[derive(Args)]
pub struct Unpause {}

impl Unpause {
    pub fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let (files, brake) = match context.project(None, None) {
            Ok(project) => (project.pause_files.clone(), project.brake()),
            Err(_) => {
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
            return Err(Error::new(Category::Paused, pause.to_string())
                .hint("that file stops every project of this user, so `unpause` leaves it alone"));
        }
        if !removed {
            context.ui.answer("not paused");
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
