//! `memory …`: the three layers, by item and by note.
//!
//! | file | verbs |
//! |---|---|
//! | `capture` | `capture` |
//! | `add` | `add` |
//! | `close` | `done` and `delete` |
//! | `list` | `list` |
//! | `overview` | `overview` |
//! | `import` | `import` |
//! | `open` | the memory of the project, and how the verbs above change it |
//! | `input` | text from a file or standard input |
//! | `json` | items and changes in JSON answers |

mod add;
mod capture;
mod close;
mod import;
mod input;
mod json;
mod list;
mod open;
mod overview;

use clap::{Args, Subcommand};

use super::{Context, compact};
use crate::error::Result;

/// Write and read the memory: goal, constraints, decisions, open loops and notes
#[derive(Args)]
pub(super) struct MemoryCommand {
    #[command(subcommand)]
    verb: MemoryVerb,
}

#[derive(Subcommand)]
enum MemoryVerb {
    Capture(capture::Capture),
    Add(add::Add),
    List(list::List),
    Done(close::Done),
    Delete(close::Delete),
    Overview(overview::Overview),
    Import(import::Import),
    Compact(compact::Compact),
}

impl MemoryCommand {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        match self.verb {
            MemoryVerb::Capture(command) => command.execute(context),
            MemoryVerb::Add(command) => command.execute(context),
            MemoryVerb::List(command) => command.execute(context),
            MemoryVerb::Done(command) => command.execute(context),
            MemoryVerb::Delete(command) => command.execute(context),
            MemoryVerb::Overview(command) => command.execute(context),
            MemoryVerb::Import(command) => command.execute(context),
            MemoryVerb::Compact(command) => command.execute(context),
        }
    }

    pub(super) fn json(&self) -> bool {
        match &self.verb {
            MemoryVerb::Capture(_) => true,
            MemoryVerb::Add(command) => command.json,
            MemoryVerb::List(command) => command.json,
            MemoryVerb::Done(command) => command.json,
            MemoryVerb::Delete(command) => command.json,
            MemoryVerb::Overview(command) => command.json,
            MemoryVerb::Import(command) => command.json,
            MemoryVerb::Compact(command) => command.json,
        }
    }
}
