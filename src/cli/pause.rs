//! `pause` and `unpause`: create and remove the PAUSE file, so that nobody has to remember where it is.

use clap::Args;

use super::Context;
use crate::base::{fs, text};
use crate::error::{Category, Error, Result};
use crate::guard::Brake;
use crate::project;

/// Stop all handovers in this project until `unpause`
#[derive(Args)]
pub struct Pause {
    /// A reason, shown to everybody who is stopped
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}

impl Pause {
    pub fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        // Pausing must work even if the config cannot be read.
        let file = match context.project(None, None) {
            Ok(project) => project.pause_files[0].clone(),
            Err(error) => {
                context.ui.warn(&format!(
                    "the config cannot be read ({}), so the project's own PAUSE is used",
                    error.message()
                ));
                project::root(&context.cwd).join("PAUSE")
            }
        };
        if let Some(directory) = file.parent().filter(|directory| !directory.is_dir()) {
            fs::create_directories(directory)?;
        }
        let reason = self.reason.map(|reason| format!("{}\n", text::one_line(&reason, 200))).unwrap_or_default();
        let said = match fs::create_flag(&file, reason.as_bytes())? {
            fs::Created::Now => {
                format!("paused: `agent-handover unpause` or removing {} ends the pause", file.display())
            }
            fs::Created::Before => format!("already paused by {}", file.display()),
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
                (vec![root.join("PAUSE")], project::plain_brake(&root))
            }
        };
        let mut removed = false;
        while let Some(pause) = Brake::new(files.clone()).paused() {
            let is_directory = std::fs::symlink_metadata(&pause.path).is_ok_and(|about| about.is_dir());
            if is_directory {
                fs::remove_empty_directory(&pause.path)?
            } else {
                fs::remove_file(&pause.path)?
            }
            context.ui.answer(&format!("removed {}", pause.path.display()));
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
