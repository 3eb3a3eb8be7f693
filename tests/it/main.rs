//! The program as its users meet it: one binary, many small worlds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, clippy::print_stderr)]

mod architecture;
mod cli_allow;
mod cli_config;
mod cli_init;
mod cli_pause;
mod cli_run;
mod cli_status;
mod concurrency;
mod counts;
mod crash;
mod detach;
mod docs;
mod doctor;
mod drop_in;
mod events;
mod gate;
mod git_facts;
mod history;
mod hook;
mod hook_payloads;
mod hostile;
mod hostile_git;
mod install;
mod machines;
mod memory;
mod namespaces;
mod publish;
mod publishing_rules;
mod python_peer;
mod secrets;
mod support;
mod transcripts;
mod travel;
mod travel_cli;
mod travel_holes;
mod warmup;
