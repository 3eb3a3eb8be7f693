//! Merges what other machines wrote: by note, by item and by archive entry, never by line.
//!
//! | file | owns |
//! |---|---|
//! | `absorb` | [`Memory::absorb`](super::Memory::absorb): which file is merged how |
//! | `notes` | a day file of layer 1, by note |
//! | `current_state` | the current state, by category and item |

mod absorb;
mod current_state;
mod notes;

pub(super) use absorb::{archive_of, notes_of};
