//! Coding agents: how each one calls us, and what we write into its files.
//!
//! | file | owns |
//! |---|---|
//! | `agent` | [`Agent`]: everything that differs from one agent to the next |
//! | `clients/` | one file per agent, and the registry [`AGENTS`] |
//! | `session_agent` | the agent whose session a command records |
//! | `call_log` | `log/hook.log`: when each agent called us |
//! | `launch` | how an agent is started with a first prompt |
//! | `places` | where agents keep their files: [`Places`], [`Scope`] |
//! | `payload/` | a hook's stdin, read as a [`Call`] |
//! | `install/` | our hooks, skill and instructions in the files of agents |
//!
//! No other file knows an agent by name. Where agents differ, [`Agent`] has a field for the difference.

mod agent;
pub(crate) mod call_log;
mod clients;
pub mod install;
mod launch;
pub mod payload;
mod places;
mod session_agent;

pub use agent::{Agent, answer, by_name, detected, find, find_to_start, nearest, takes_context};
pub use clients::AGENTS;
pub use install::Program;
pub(crate) use install::state;
pub use launch::{Launch, prompt_by_file, variables_of_agents};
pub use payload::{Call, Event, recognise};
pub use places::{Places, Scope};
#[cfg(feature = "mcp")]
pub(crate) use session_agent::named_by_client;
pub(crate) use session_agent::{Starter, is_process_of, session_agent, sessions_around, starters};
