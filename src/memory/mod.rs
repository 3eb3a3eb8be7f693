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
//! | `bridge` | text that another program remembered, as items |
//! | `import` | memory that another tool kept, as edits of the current state |
//! | `category_name` | the category that a word means |
//! | `archive`, `month` | layer 3: the notes of a month, verbatim |
//! | `rollup` | layer 3: the summary at the top of an archive |
//! | `compact` | moves finished months from layer 1 to layer 3 |
//! | `listing` | the notes of layers 1 and 3 one by one, and sizes |
//! | `own_keys` | what identifies items, notes and texts in the user's own record |
//! | `merge` | changes from other machines, merged by note, item and entry |
//! | `marker` | the comment lines that structure every file |

pub(crate) mod archive;
pub(crate) mod bridge;
pub(crate) mod capture;
mod category_name;
mod change;
pub(crate) mod compact;
pub(crate) mod import;
pub(crate) mod listing;
mod lookup;
mod marker;
mod merge;
mod month;
pub(crate) mod note;
pub(crate) mod own_keys;
mod repeat;
mod rollup;
pub(crate) mod state;
mod store;
mod update;

pub(crate) use category_name::{CAN_BE_DONE, CategoryProblem, named_category};
#[cfg(test)]
pub(crate) use change::changes;
pub(crate) use change::{ChangeVerb, StateChange};
pub(crate) use lookup::find;
pub(crate) use marker::{header, marker_time};
pub(crate) use month::Month;
pub(crate) use store::Memory;
pub(crate) use update::{Added, Author, Edits};
