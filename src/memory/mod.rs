//! The three layers of plain Markdown: session notes, the current state, and the monthly archive.
//!
//! | file | owns |
//! |---|---|
//! | `store` | [`Memory`], the directory of a project: paths, lock, notes |
//! | `update` | changes to the current state, recorded in layer 1 first |
//! | `repeat` | edits that a killed process may have applied already |
//! | `lookup` | the item that an id means |
//! | `note` | layer 1: the blocks of a day file |
//! | `change` | layer 1: how the current state changed, line by line |
//! | `state` | layer 2: the current state |
//! | `capture` | a session's own account as JSON, as edits of the current state |
//! | `archive`, `month` | layer 3: the notes of a month, verbatim |
//! | `rollup` | layer 3: the summary at the top of an archive |
//! | `compact` | moves finished months from layer 1 to layer 3 |
//! | `listing` | the notes of layers 1 and 3 one by one, and sizes |
//! | `own_keys` | what identifies items, notes and texts in the user's own record |
//! | `merge` | changes from other machines, merged by note, item and entry |
//! | `marker` | the comment lines that structure every file |

pub mod archive;
pub mod capture;
mod change;
pub mod compact;
pub mod listing;
mod lookup;
mod marker;
mod merge;
mod month;
pub mod note;
pub mod own_keys;
mod repeat;
mod rollup;
pub mod state;
mod store;
mod update;

#[cfg(test)]
pub use change::changes;
pub use change::{ChangeVerb, StateChange};
pub use lookup::find;
pub use marker::{header, marker_time};
pub use month::Month;
pub use store::Memory;
pub use update::{Author, Edits};
