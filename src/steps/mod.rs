//! The kinds of steps: one file each, and the registry.
//!
//! | file | owns |
//! |---|---|
//! | `kind` | what a kind is: what it promises, and the functions that the engine calls |
//! | `context`, `provided` | what a step gets to see |
//! | `collect` | finding out what the session did |
//! | `command` | running a program |
//! | `function` | calling a function of a program that uses this crate |
//! | `note`, `state`, `history` | writing the note, the current state, the archived handoff |
//! | `said` | the texts of a session in an intent, and the whole of those that are shown in part |
//! | `compact` | rolling finished months into layer 3 |
//! | `publish` | delivering the files through the backend |
//! | `deferred` | a step that a command asks for, rather than a config |
//! | `memory_edit` | what `memory add`, `capture`, `done` and `delete` were given |
//! | `history_create`, `history_close`, `history_revoke`, `history_accept`, `history_import` | what these commands were given |

mod collect;
mod command;
mod compact;
mod context;
mod deferred;
mod function;
mod history;
mod history_accept;
mod history_close;
mod history_create;
mod history_import;
mod history_revoke;
mod kind;
mod memory_edit;
mod note;
mod provided;
mod publish;
mod said;
mod state;

pub(crate) use command::{as_configured, log_file, remove_logs};
pub(crate) use context::Context;
pub(crate) use deferred::DeferredStep;
pub(crate) use history_accept::history_accept;
pub(crate) use history_close::history_close;
pub(crate) use history_create::{handoff_to_create, history_create};
pub(crate) use history_import::history_import;
pub(crate) use history_revoke::{REVOKE, edits_of_revocation, history_revoke};
pub(crate) use kind::{Failure, Intent, Kind, OnInterrupt, Outcome, Promise};
pub(crate) use memory_edit::MemoryEdit;
pub(crate) use provided::{Provided, StepFunction};
pub(crate) use publish::has_gone_out;
pub(crate) use said::unkept;
pub(crate) use state::{MOST_STATE_TEXT, edits_of_handoff};

use crate::config::{KindReader, Vocabulary};
use crate::error::{Error, Result};
use crate::publish::BACKENDS;

/// Every kind that a config may name. A new one is a file, its `mod` line and its line here.
pub const KINDS: &[Kind] =
    &[collect::KIND, command::KIND, note::KIND, state::KIND, history::KIND, compact::KIND, publish::KIND];

/// The kinds of commands that were given while paused. No config can name them.
pub const DEFERRED_KINDS: &[Kind] = &[
    memory_edit::KIND,
    history_create::KIND,
    history_close::KIND,
    history_revoke::KIND,
    history_accept::KIND,
    history_import::KIND,
];

/// The kind of a step that a calling program gives as a function. No config can name it.
const FUNCTION: &[Kind] = &[function::KIND];

/// The kind of this name, which a recorded step has.
pub(crate) fn kind(name: &str) -> Result<&'static Kind> {
    KINDS.iter().chain(DEFERRED_KINDS).chain(FUNCTION).find(|kind| kind.name == name).ok_or_else(|| {
        Error::bad_data(format!("this agent-handover has no step kind `{name}`"))
            .hint("the run was recorded by another version: update, or abandon it with `agent-handover run --abandon`")
    })
}

/// Whether steps of this kind deliver; a kind that this version does not know does not.
pub(crate) fn delivers(name: &str) -> bool {
    kind(name).is_ok_and(|kind| kind.delivers)
}

/// Whether steps of this kind find out what the session did.
pub(crate) fn collects(name: &str) -> bool {
    kind(name).is_ok_and(|kind| kind.collects)
}

/// Whether a config can name this kind, as far as this version knows.
pub(crate) fn is_configurable(name: &str) -> bool {
    !DEFERRED_KINDS.iter().chain(FUNCTION).any(|kind| kind.name == name)
}

/// Whether steps of this kind are commands that were given while paused.
pub(crate) fn is_deferred(name: &str) -> bool {
    DEFERRED_KINDS.iter().any(|kind| kind.name == name)
}

/// Whether steps of this kind of command archive handoffs.
pub(crate) fn archives(name: &str) -> bool {
    [history_create::KIND.name, history_import::KIND.name].contains(&name)
}

/// The words of a config: the kinds here, and the backends.
pub fn vocabulary() -> Vocabulary {
    Vocabulary {
        kinds: KINDS.iter().map(|kind| KindReader { name: kind.name, read: kind.read }).collect(),
        backends: BACKENDS.iter().map(|backend| backend.name()).collect(),
    }
}
