//! `run`: hand a session over, resume what was interrupted, or abandon it.
//!
//! | file | owns |
//! |---|---|
//! | `command` | the arguments, and which mode they ask for |
//! | `request` | what the session says, read from the arguments |
//! | `editor`, `form` | the form that a person on a terminal fills in |
//! | `resume` | `--resume`, also of what the Python tool left; `--abandon` |
//! | `child` | the hidden `--inherited`, which a detached handover runs |
//! | `render` | progress and results, for people and as JSON |

mod child;
mod command;
mod editor;
mod form;
mod render;
mod request;
mod resume;

pub(super) use child::is_meant as is_child;
pub(super) use command::Run;
pub(super) use render::{finished, show, warn_of};
