//! agent-handover: lets a coding agent start where the last session stopped.
//!
//! Each directory owns a noun and its verbs. It uses only directories of a lower rank, which
//! `tests/it/architecture` checks.
//!
//! | rank | directory | owns |
//! |---|---|---|
//! | 0 | `error` | The error a person sees: category, message, causes, hints, and the place in a file. |
//! | 0 | `base` | Mechanisms that know nothing about handovers: files, locks, processes, time, ids, text. |
//! | 1 | `config` | `handover.toml`, read into checked values that remember their place in the file. |
//! | 1 | `git` | The one way to ask git, cut off from the user's settings and hooks. |
//! | 1 | `checkpoint` | The database of runs and steps: what was recorded, what is done, what is left. |
//! | 1 | `handoff` | The document of one session: its frontmatter, its sections and their checks. |
//! | 1 | `guard` | Whether something may happen: PAUSE, secrets, and consent to a config. |
//! | 2 | `project` | One project on disk: its root, the layout of its directories, its config. |
//! | 2 | `memory` | The three layers of Markdown notes, current state and archives. |
//! | 2 | `history` | The `.agent-history` directory of archived handoffs and its protocol. |
//! | 2 | `transcript` | The session files that coding agents leave on disk, one reader a format. |
//! | 3 | `facts` | What a session did, collected from git, its transcript and its inputs. |
//! | 3 | `bundle` | Handoffs that travel to another machine: signed, encrypted, imported. |
//! | 3 | `search` | The index of what was said, noted and run, and how passages are found in it. |
//! | 3 | `publish` | The backends that deliver memory and history to a remote. |
//! | 3 | `agents` | Each coding agent: its files, the payloads of its hooks, the answers it expects. |
//! | 4 | `recap` | What a session amounts to: chosen by rules, verbatim, without a model. |
//! | 5 | `steps` | Every kind of step that a plan can have, one file each. |
//! | 6 | `engine` | Planning, recording, running and resuming a handover. |
//! | 7 | `warmup` | The context that a new session starts with, cut to a budget. |
//! | 7 | `score` | Whether handovers helped: measures over pairs of sessions. |
//! | 8 | `report` | The page that a person looks at: one HTML file. |
//! | 8 | `hook` | The calls that agents make when a session starts, pauses and ends. |
//! | 8 | `mcp` | The library for agents: tools over MCP to search, read and write this project's memory. |
//! | 9 | `parsers` | Every parser of foreign bytes as a function of bytes, for fuzzing. |
//! | 9 | `library` | What other programs call: the public face of this crate. |
//! | 9 | `cli` | The commands: arguments, one call into the library, one rendering. |
//!
//! # As a library
//!
//! A program opens a [`Project`] and hands over what its session did. Steps are those of the project's config, or given
//! by the program: built-in ones, and functions that run at least once and are checkpointed by name.
//!
//! ```no_run
//! use agent_handover::{Check, Handover, Project, Step};
//!
//! # fn update_wiki() -> std::io::Result<()> { Ok(()) }
//! # fn main() -> agent_handover::Result<()> {
//! let project = Project::open(".")?;
//! let handover = Handover::new()
//!     .note("parser done; next: error spans")
//!     .steps(vec![Step::note(), Step::state(), Step::new("publish_wiki", update_wiki)]);
//! project.hand_over(&handover)?;
//! assert_eq!(project.check()?, Check::Completed);
//! # Ok(())
//! # }
//! ```

// Tests set up the worlds they look at with the plain tools.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod agents;
mod base;
mod bundle;
mod checkpoint;
mod cli;
mod config;
mod engine;
mod error;
mod facts;
mod git;
mod guard;
mod handoff;
mod history;
mod hook;
mod library;
#[cfg(feature = "mcp")]
mod mcp;
mod memory;
mod parsers;
mod project;
mod publish;
mod recap;
mod report;
mod score;
mod search;
mod steps;
mod transcript;
mod warmup;

pub use cli::main;
pub use error::{Category, Error, Result};
pub use library::{Backend, Check, Handover, Layer, Project, PublishedFiles, Report, Step};

/// What the tests and benchmarks of this package look at. It is not part of the library and changes without notice.
#[doc(hidden)]
pub mod testing {
    pub mod agents {
        pub use crate::agents::*;
        pub mod state {
            pub use crate::agents::state::*;
        }
    }

    pub mod base {
        pub mod env {
            pub use crate::base::env::*;
        }
        pub mod fault {
            pub use crate::base::fault::POINTS;
        }
        pub mod text {
            pub use crate::base::text::digest;
        }
    }

    pub mod cli {
        pub use crate::cli::command_line;
    }

    pub mod config {
        pub use crate::config::Config;
        pub mod template {
            pub use crate::config::template::NAMES;
        }
    }

    pub mod guard {
        pub mod secrets {
            pub use crate::guard::secrets::find;
        }
    }

    pub mod memory {
        pub mod note {
            pub use crate::memory::note::{Piece, parse};
        }
    }

    pub mod parsers {
        pub use crate::parsers::{PARSERS, Parser};
    }

    pub mod publish {
        pub use crate::publish::{Outcome, Setup, quantile, simulate};
    }

    pub mod steps {
        pub use crate::steps::{DEFERRED_KINDS, KINDS, vocabulary};
    }

    pub mod transcript {
        pub use crate::transcript::*;
    }
}
