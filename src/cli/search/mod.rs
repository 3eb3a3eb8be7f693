//! `search`: finds earlier sessions, notes and decisions by what was said in them.
//!
//! | file | owns |
//! |---|---|
//! | `command` | the arguments, and the one call |
//! | `list` | the list for people |
//! | `json` | the document for programs |
//! | `snippet` | the part of a passage that is shown |

mod command;
mod json;
mod list;
mod snippet;

pub(super) use command::Search;
