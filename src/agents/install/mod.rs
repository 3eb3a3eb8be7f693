//! Our part in the files of agents: hooks, a skill, instructions, the MCP server.
//!
//! | file | owns |
//! |---|---|
//! | `agent_file` | one file that we keep for an agent: with our part, without it, as it is now |
//! | `json_hooks`, `toml_hooks` | hooks in a settings file, edited in place |
//! | `server`, `json_server`, `toml_server` | our MCP server in a settings file |
//! | `block` | our block in a text of the user's |
//! | `seal` | files that are entirely ours, and whether somebody changed them |
//! | `teaching` | the skill and the instructions |
//! | `slash_commands` | `/handoff`, `/checkpoint` and `/freeze`, in the form of each agent |
//! | `targets` | which files of an agent an install keeps |
//! | `program` | the program that hooks start, and the shell line that starts it |
//! | `installer` | plans and applies an install or uninstall |
//! | `record` | what installs did, so that an uninstall restores files to the byte |
//! | `diff` | a planned change as a unified diff |
//! | `state` | whether an agent is here and its hooks work |

pub(super) mod agent_file;
mod block;
mod diff;
mod installer;
pub(super) mod json_hooks;
mod json_server;
pub(super) mod program;
mod record;
pub(super) mod seal;
pub(super) mod server;
pub(super) mod slash_commands;
pub mod state;
mod targets;
pub(super) mod teaching;
pub(super) mod toml_hooks;
mod toml_server;

pub use agent_file::AgentFile;
pub use installer::{FileChange, InstallPlan, Installer, LeftAlone};
pub use program::Program;
pub use server::ServerWish;
pub use targets::BlockWish;
