//! `warmup`: what a new session should know.

use serde_json::json;

use crate::config::MIN_WARMUP_BUDGET;
use crate::error::Result;
use crate::mcp::answer;
use crate::mcp::arguments::Arguments;
use crate::mcp::tool::{Caller, Effect, Tool};
use crate::warmup::{self, Ask, Asked, Extent};

pub(in crate::mcp) const TOOL: Tool = Tool {
    name: "warmup",
    description: "What a new session should know: goal, next action, the user's rulings, open loops, dead ends, failing checks, \
                  changes since. Not needed if your context already has it.",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "budget": { "type": "integer", "minimum": MIN_WARMUP_BUDGET, "maximum": answer::BUDGET, "description": "bytes" },
            },
        })
    },
    effect: Effect::Reads,
    call,
};

fn call(caller: &Caller<'_>, mut arguments: Arguments) -> Result<String> {
    let most = answer::BUDGET as u64;
    let budget = arguments.number("budget", MIN_WARMUP_BUDGET..=most)?;
    arguments.end(&["budget"])?;
    let budget = budget.unwrap_or(caller.project.config.warmup_budget).min(most);
    let ask = Ask {
        budget,
        extent: Extent::Whole,
        session: None,
        session_id: "",
        may_read_transcripts: true,
        asked: Asked::default(),
    };
    Ok(warmup::build(caller.project, ask).text)
}
