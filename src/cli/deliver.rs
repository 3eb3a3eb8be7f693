//! `push` and `pull`: one delivery between handovers.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::{Context, run};
use crate::base::signals;
use crate::engine::{self, Direction};
use crate::error::{Category, Error, Result};
use crate::publish::Delivered;

/// How long these commands wait for a handover that is going on.
const PATIENCE: Duration = Duration::from_secs(30);

/// Push what is due to the remote branch
#[derive(Args)]
pub(super) struct Push {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Merge what other machines published into the files here
#[derive(Args)]
pub(super) struct Pull {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Push {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        signals::listen();
        let project = context.project(None, None)?;
        if let Some(stop) = project.brake().pressed() {
            return Err(stop.error());
        }
        let ui = &*context.ui;
        ui.tell_live("pushing", None);
        let done = engine::deliver(&project, Direction::Push, PATIENCE, &mut |event| run::warn_of(ui, &event))?;
        Ok(report(context, self.json, "push", &done))
    }
}

impl Pull {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        signals::listen();
        let project = context.project(None, None)?;
        if let Some(stop) = project.brake().pressed() {
            return Err(stop.error());
        }
        let notice = engine::keep_out_of_git(&project, &engine::Plan::of(&project.config));
        if let Some(notice) = notice {
            context.ui.tell(&notice);
        }
        let ui = &*context.ui;
        ui.tell_live("pulling", None);
        let done = engine::deliver(&project, Direction::Pull, PATIENCE, &mut |event| run::warn_of(ui, &event))?;
        Ok(report(context, self.json, "pull", &done))
    }
}

fn report(context: &mut Context<'_>, as_json: bool, verb: &str, done: &Delivered) -> u8 {
    let code = if done.conflicts.is_empty() { 0 } else { Category::NotGood.exit_code() };
    if as_json {
        context.ui.answer_json(&json!({
            "schema": format!("agent-handover/{verb}/1"),
            "detail": done.detail,
            "notices": done.notices,
            "conflicts": done.conflicts,
        }));
        return code;
    }
    context.ui.answer(&done.detail);
    for notice in &done.notices {
        context.ui.warn(notice);
    }
    for conflict in &done.conflicts {
        let error = Error::new(Category::NotGood, conflict.clone());
        context.ui.error(error.message());
    }
    code
}
