//! agent-handover: lets a coding agent start where the last session stopped.
//!
//! Each directory owns a noun and its verbs. It uses only directories of a lower rank, which
//! `tests/it/architecture` checks.
//!
//! | rank | directory | owns |
//! |---|---|---|
//! | 0 | [`error`] | The error a person sees: category, message, causes, hints, and the place in a file. |
//! | 0 | [`base`] | Mechanisms that know nothing about handovers: files, locks, processes, time, ids, text. |
//! | 1 | [`config`] | `handover.toml`, read into checked values that remember their place in the file. |
//! | 1 | [`git`] | The one way to ask git, cut off from the user's settings and hooks. |
//! | 1 | [`checkpoint`] | The database of runs and steps: what was recorded, what is done, what is left. |
//! | 1 | [`handoff`] | The document of one session: its frontmatter, its sections and their checks. |
//! | 1 | [`guard`] | Whether something may happen: PAUSE, secrets, and consent to a config. |
//! | 2 | [`project`] | One project on disk: its root, the layout of its directories, its config. |
//! | 2 | [`memory`] | The three layers of Markdown notes, current state and archives. |
//! | 2 | [`history`] | The `.agent-history` directory of archived handoffs and its protocol. |
//! | 2 | [`transcript`] | The session files that coding agents leave on disk, one reader a format. |
//! | 3 | [`facts`] | What a session did, collected from git, its transcript and its inputs. |
//! | 3 | [`bundle`] | Handoffs that travel to another machine: signed, encrypted, imported. |
//! | 3 | [`publish`] | The backends that deliver memory and history to a remote. |
//! | 3 | [`agents`] | Each coding agent: its files, the payloads of its hooks, the answers it expects. |
//! | 5 | [`steps`] | Every kind of step that a plan can have, one file each. |
//! | 6 | [`engine`] | Planning, recording, running and resuming a handover. |
//! | 7 | [`warmup`] | The context that a new session starts with, cut to a budget. |
//! | 8 | [`hook`] | The calls that agents make when a session starts, pauses and ends. |
//! | 9 | [`cli`] | The commands: arguments, one call into the library, one rendering. |
//!
//! A program that hands over by itself needs two calls: [`project::Project::open`] and [`engine::hand_over()`];
//! `examples/hand_over.rs` makes them.

// Tests set up the worlds they look at with the plain tools.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod agents;
pub mod base;
pub mod bundle;
pub mod checkpoint;
pub mod cli;
pub mod config;
pub mod engine;
pub mod error;
pub mod facts;
pub mod git;
pub mod guard;
pub mod handoff;
pub mod history;
pub mod hook;
pub mod memory;
pub mod project;
pub mod publish;
pub mod steps;
pub mod transcript;
pub mod warmup;
