//! `memory import`: items that another tool kept.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value as Json, json};

use super::super::Context;
use super::input;
use super::json::change as change_json;
use super::open::{OpenMemory, WriteOptions};
use crate::base::text;
use crate::error::Result;
use crate::memory::{ChangeVerb, StateChange, import};

/// Add the items that another tool kept to the current state: all of them, or nothing
#[derive(Args)]
pub(super) struct Import {
    /// A JSON file of that tool, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// Print what would be added, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    options: WriteOptions,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Import {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let open = OpenMemory::open_to_change(context, self.options.tag.as_deref())?;
        let source = input::read(context, Some(&self.from), "the memory")?;
        let edits = import::parse(&source, &open.project.config.categories)?;
        if self.dry_run {
            let recorded = edits.record.iter().flat_map(|(name, texts)| texts.iter().map(move |text| (name, text)));
            for (category, item) in recorded.chain(edits.add.iter().map(|(name, text)| (name, text))) {
                context.ui.answer(&format!("{category}: {}", text::model_line(item, 200)));
            }
            return Ok(0);
        }
        let changes = open.update(context, "import", &self.options, edits, None)?;
        let with = |verb: ChangeVerb| changes.iter().filter(move |change| change.verb == verb);
        if self.json {
            let list = |verb| with(verb).map(|change: &StateChange| change_json(change)).collect::<Vec<Json>>();
            context.ui.answer_json(&json!({
                "schema": "agent-handover/memory-import/1",
                "added": list(ChangeVerb::Added),
                "dropped": list(ChangeVerb::Dropped),
            }));
            return Ok(0);
        }
        context.ui.answer(&format!("added {}", text::count(with(ChangeVerb::Added).count(), "item")));
        let dropped = with(ChangeVerb::Dropped).count();
        if dropped > 0 {
            let dropped = text::count(dropped, "item");
            context.ui.tell(&format!("{dropped} did not fit into their categories and are recorded in layer 1"));
        }
        Ok(0)
    }
}
