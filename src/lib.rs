//! agent-handover: makes the end of an AI coding session durable and the start of the next one instant.
//!
//! Each directory owns a noun and its verbs, and uses only directories of a lower rank. A test reads the sources
//! and holds them to it.
//!
//! | rank | directory | owns |
//! |---|---|---|
//! | 0 | [`error`] | category, message, causes, hints, places in a file |
//! | 0 | [`base`] | mechanisms that know nothing about handovers: files, locks, processes, time |
//! | 1 | [`config`] | `handover.toml` as checked values that remember their place |
//! | 1 | [`git`] | the one hermetic way to ask git |
//! | 1 | [`checkpoint`] | what happened to each step, durably |
//! | 1 | [`guard`] | PAUSE and secrets: may this happen? |
//! | 2 | [`project`] | root, layout, config |
//! | 1 | [`handoff`] | one session's document: frontmatter and body |
//! | 2 | [`history`] | the `.agent-history` protocol |
//! | 2 | [`memory`] | the layers of Markdown |
//! | 2 | [`transcript`] | what agents left on disk: one file per format |
//! | 3 | [`facts`] | what the session did |
//! | 3 | [`bundle`] | sealed handoffs that travel: sign, encrypt, import |
//! | 3 | [`publish`] | backends |
//! | 3 | [`agents`] | each coding agent's files, payloads and answers |
//! | 4 | [`steps`] | every step kind, one file each |
//! | 5 | [`engine`] | plan, queue, resume, runner, events |
//! | 6 | [`warmup`] | what a new session reads, cut to a budget |
//! | 7 | [`hook`] | what agents call at the start and end of their sessions |
//! | 8 | [`cli`] | arguments, one call, one rendering |
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
