//! `allow`: consent to this config for what runs by itself, to what looks like a secret in a file, or to memory that came
//! with the repository.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{Context, config};
use crate::base::fs::{self, Anchor};
use crate::base::text;
use crate::engine::{self, Plan};
use crate::error::Result;
use crate::guard::{acknowledge, consent, own_record, secrets};
use crate::project::Project;

/// Allow hooks to run the commands of this config and to publish, allow one file to be published, or accept memory that
/// came with the repository
#[derive(Args)]
pub(super) struct Allow {
    /// Allow this file to be published although it seems to hold secrets; a changed file needs a new permission
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,
    /// Accept what is in memory and history now as yours, although it came with the repository
    #[arg(long, conflicts_with = "secret")]
    memory: bool,
    /// Withdraw the permission
    #[arg(long)]
    revoke: bool,
}

impl Allow {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let project = context.project_to_allow()?;
        if let Some(stop) = project.brake().pressed() {
            return Err(stop.error());
        }
        if let Some(file) = &self.secret {
            return self.secret(context, file);
        }
        if self.memory {
            return self.memory(context, &project);
        }
        let Some((file, text)) = project.config.source() else {
            context.ui.answer(
                "nothing to allow: without a config only the built-in steps run, and nothing leaves this machine",
            );
            return Ok(0);
        };
        let name = file.display();
        if self.revoke {
            let said = if consent::revoke(file, text)? {
                format!("{name} is no longer allowed")
            } else {
                format!("{name} was not allowed")
            };
            context.ui.answer(&said);
            return Ok(0);
        }
        consent::allow(file, text)?;
        context.ui.answer(&format!("allowed {name} as it is now; after a change it must be allowed again"));
        let plan = Plan::of(&project.config);
        for step in plan.steps.iter().filter(|step| step.reaches_out()) {
            context.ui.tell(&match step.command() {
                Some(command) => format!("step {} may run `{command}`", step.name),
                None => format!("step {} may run what this version does not know", step.name),
            });
        }
        if !plan.destination.is_local() {
            context.ui.tell(&config::publishing(&plan));
        }
        Ok(0)
    }

    /// Adopts everything that is there now. What comes with the repository later is marked again.
    fn memory(&self, context: &mut Context<'_>, project: &Project) -> Result<u8> {
        let memory = project.memory_dir()?;
        let history = project.history_dir()?;
        if self.revoke {
            let was_adopted = [own_record::revoke_adoption(&memory)?, own_record::revoke_adoption(&history)?];
            context.ui.answer(if was_adopted.contains(&true) {
                "what came along is marked again; what your own runs wrote stays yours"
            } else {
                "nothing was accepted before"
            });
            return Ok(0);
        }
        let engine::Adopted { items, handoffs } = engine::adopt_all(&project.memory_root, &memory, &history)?;
        let (items, handoffs) = (text::count(items, "item"), text::count(handoffs, "handoff"));
        context.ui.answer(&format!("{items} and {handoffs} count as yours, as they are now"));
        Ok(0)
    }

    fn secret(&self, context: &mut Context<'_>, named: &Path) -> Result<u8> {
        let file = context.cwd.join(named);
        if !fs::exists(&file) {
            return Err(fs::absent(&file));
        }
        let content = fs::read_within(&file, Anchor::LIMIT)?;
        let leaks = secrets::scan_blob(named, &content);
        let name = text::one_line(&named.display().to_string(), 300);
        if leaks.is_empty() {
            context.ui.answer(&format!("nothing in {name} looks like a secret"));
            return Ok(0);
        }
        if self.revoke {
            let said = if acknowledge::revoke(&file, &content, &leaks)? {
                format!("{name} is no longer allowed")
            } else {
                format!("{name} was not allowed")
            };
            context.ui.answer(&said);
            return Ok(0);
        }
        acknowledge::record(&file, &content, &leaks)?;
        for leak in &leaks {
            context.ui.answer(&format!("allowed {}", leak.describe()));
        }
        context.ui.tell(&format!("{name} may be published as it is now; after a change it must be allowed again"));
        Ok(0)
    }
}
