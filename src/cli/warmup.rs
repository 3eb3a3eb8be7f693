//! `warmup`: what a new session should read.

use clap::{Args, ValueEnum};

use super::Context;
use crate::agents;
use crate::config::MIN_WARMUP_BUDGET;
use crate::error::Result;
use crate::warmup::{self, Ask, Asked, Extent};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
}

/// Print what a new session should know: goal, next action, rulings, what was said, what changed since
#[derive(Args)]
pub(super) struct Warmup {
    /// At most this many bytes [default: `[warmup] budget`, 4000]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(MIN_WARMUP_BUDGET..=1_000_000))]
    budget: Option<u64>,
    /// The format: text, or one JSON document with its sections
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Print exactly what this agent receives from its hook at the start of a session
    #[arg(long, value_name = "NAME", conflicts_with = "format")]
    agent: Option<String>,
}

impl Warmup {
    pub(super) fn json(&self) -> bool {
        self.format == Format::Json
    }

    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let agent = self.agent.as_deref().map(agents::find).transpose()?;
        let project = context.unattended_project()?;
        let budget = self.budget.unwrap_or(project.config.warmup_budget);
        let ask = Ask {
            budget,
            extent: Extent::Whole,
            session: None,
            session_id: "",
            may_read_transcripts: true,
            asked: Asked::default(),
        };
        let found = warmup::build(&project, ask);
        match (agent, self.format) {
            (Some(agent), _) => {
                context.ui.answer_text(&agents::answer(agent, &agents::Event::SessionStart, Some(&found.text)));
            }
            (None, Format::Json) => context.ui.answer_json(&found.json()),
            (None, Format::Text) => context.ui.answer_document(&found.text),
        }
        Ok(0)
    }
}
