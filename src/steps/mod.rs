//! The kinds of steps: one file each, and the registry.
//!
//! | file | owns |
//! |---|---|
//! | `kind` | what a kind is: what it promises, and the functions that the engine calls |
//! | `context` | what a step gets to see |
//! | `collect` | finding out what the session did |
//! | `command` | running a program |
//! | `note`, `state`, `history` | writing the note, the current state, the archived handoff |
//! | `compact` | rolling finished months into layer 3 |
//! | `publish` | delivering the files through the backend |

mod collect;
mod command;
mod compact;
mod context;
mod history;
mod kind;
mod note;
mod publish;
mod state;

pub use command::remove_logs;
pub use context::Context;
pub use history::derive as derive_handoff;
pub use kind::{Failure, Intent, Kind, OnInterrupt, Outcome, Promise};

use crate::config::KindReader;
use crate::error::{Error, Result};

/// Every kind. A new one is a file, its `mod` line and its line here.
pub const KINDS: &[Kind] =
    &[collect::KIND, command::KIND, note::KIND, state::KIND, history::KIND, compact::KIND, publish::KIND];

/// The kind of this name.
pub fn kind(name: &str) -> Result<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
        Error::bad_data(format!("this agent-handover has no step kind `{name}`"))
            .hint("the run was recorded by another version: update, or abandon it with `agent-handover run --abandon`")
    })
}

/// Whether steps of this kind deliver; a kind that this version does not know does not.
pub fn delivers(name: &str) -> bool {
    kind(name).is_ok_and(|kind| kind.delivers)
}

/// The kinds as the config needs them.
pub fn readers() -> Vec<KindReader> {
    KINDS.iter().map(|kind| KindReader { name: kind.name, read: kind.read }).collect()
}
