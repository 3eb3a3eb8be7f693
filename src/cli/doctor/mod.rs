//! `doctor`: whether everything is in order, for each agent and for this project, and what to do if not.
//!
//! | file | owns |
//! |---|---|
//! | `command` | arguments and rendering |
//! | `diagnosis` | one thing that was examined, its health and its remedy |
//! | `page` | how it answers a person |
//! | `project` | the program, the config, the database, the lock, PAUSE, git |
//! | `agents` | the hooks of each agent, and when it called last |
//! | `starts` | the last starts of each agent, and whether their texts arrived |
//! | `simulate` | what an agent would receive from its hooks here |

mod agents;
mod command;
mod diagnosis;
mod page;
mod project;
mod simulate;
mod starts;

pub(super) use command::Doctor;
