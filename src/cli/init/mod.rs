//! `init`: a config to start from, with what is found in the project.
//!
//! | file | owns |
//! |---|---|
//! | `command` | the arguments, and writing the file |
//! | `detect` | the project's test command |
//! | `short` | the text of the short config |

mod command;
mod detect;
mod short;

pub(super) use command::Init;
