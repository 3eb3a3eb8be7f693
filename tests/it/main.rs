//! The program as its users meet it: one binary, many small worlds.

#![allow(unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, clippy::print_stderr)]

mod architecture;
mod bundle;
mod bundle_cli;
mod bundle_security;
mod cli_allow;
mod cli_config;
mod cli_init;
mod cli_pause;
mod cli_run;
mod cli_status;
mod compat_python;
mod compat_python_configs;
mod concurrency;
mod costs;
mod crash;
mod detach;
mod docs;
mod doctor;
mod events;
mod gate;
mod git_facts;
mod history;
mod hook;
mod hook_payloads;
mod hook_words;
mod hostile_files;
mod hostile_git;
mod hostile_memory;
mod hostile_repository;
mod hostile_state;
mod install;
mod install_commands;
mod install_hostile;
mod library;
mod memory;
mod namespaces;
mod paused_words;
mod provenance;
mod publish;
mod publishing_rules;
mod recap;
mod revoke;
mod secrets;
mod session_agent;
mod shared_branch;
mod support;
mod transcript_talk;
mod transcripts;
mod upgrade;
mod warmup;
mod whose_state;
mod worktree_sessions;
mod worktrees;
