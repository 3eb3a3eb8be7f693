//! `schema`: the JSON Schema of `handover.toml`.

use clap::Args;

use super::Context;
use crate::config;
use crate::error::Result;

/// Print the JSON Schema of handover.toml, for editors that check and complete it
#[derive(Args)]
pub(super) struct Schema {}

impl Schema {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        context.ui.answer_text(config::SCHEMA);
        Ok(0)
    }
}
