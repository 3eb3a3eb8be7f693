//! The home view: what `agent-handover` shows without a command.
//!
//! | file | owns |
//! |---|---|
//! | `view` | what is shown, for people and as JSON |
//! | `sources` | reading it: goal, next action, open loops, sessions |
//! | `health` | what needs a person, each with the command for it |

mod health;
mod sources;
mod view;

pub(super) use view::execute;
