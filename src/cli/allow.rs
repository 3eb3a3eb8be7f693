//! `allow`: consent to this config for what runs by itself.

use clap::Args;

use super::Context;
use crate::engine::Plan;
use crate::error::Result;
use crate::guard::consent;

/// Allow this config to run commands and publish when an agent's hook runs it by itself
#[derive(Args)]
pub struct Allow {
    /// Take the consent back
    #[arg(long)]
    revoke: bool,
}

impl Allow {
    pub fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let project = context.project(None, None)?;
        if let Some(stop) = project.brake().pressed() {
            return Err(stop.error());
        }
        let Some((file, text)) = project.config.source() else {
            context.ui.answer(
                "nothing to allow: without a config only the built-in steps run, and nothing leaves this machine",
            );
            return Ok(0);
        };
        let name = file.display();
        if self.revoke {
            let said = match consent::revoke(file, text)? {
                true => format!("{name} is no longer allowed"),
                false => format!("{name} was not allowed"),
            };
            context.ui.answer(&said);
            return Ok(0);
        }
        consent::allow(file, text)?;
        context.ui.answer(&format!("allowed {name} as it is now; after a change it must be allowed again"));
        let plan = Plan::of(&project.config);
        for step in plan.steps.iter().filter(|step| step.kind == "command") {
            context.ui.tell(&format!("step {} may run a command", step.name));
        }
        if plan.destination.backend != "null" {
            context.ui.tell(&format!("it may publish through {}", plan.destination.backend));
        }
        Ok(0)
    }
}
