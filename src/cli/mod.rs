//! The command line: each command has arguments, makes one call, and renders one answer.
//!
//! One file or directory a command, and `Command` lists them all. Besides:
//!
//! | file | owns |
//! |---|---|
//! | `home` | what is shown without a command |
//! | `groups`, `examples` | the help: commands by purpose, and examples for each |
//! | `guesses` | words that people try, and the command that each means |
//! | `start` | the way from the arguments to the exit code |
//! | `parse` | from the arguments to the command |
//! | `wrong_usage` | what is said about a wrong command line |
//! | `ui` | the only door to the terminal |
//! | `live` | the line that shows what is going on |
//! | `render` | errors, for people and as JSON |
//! | `paint`, `table`, `when`, `ids` | colours, aligned columns, times, short ids |
//! | `ask`, `passphrase` | the picker, reading a passphrase |
//! | `peers` | the command lines of other tools, under their names |
//! | `reference` | the page of all commands, for the documentation |

mod allow;
mod ask;
mod check;
mod compact;
mod completions;
mod config;
mod continue_in;
mod deliver;
mod doctor;
mod examples;
mod groups;
mod guesses;
mod history;
mod home;
mod hook;
mod ids;
mod init;
mod install;
mod keygen;
mod live;
mod logs;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
mod memory;
mod paint;
mod parse;
mod passphrase;
mod paths;
mod pause;
mod peers;
mod provenance;
#[cfg(test)]
mod reference;
mod render;
mod report;
mod run;
mod schema;
mod score;
mod search;
mod start;
mod status;
mod summarize;
mod table;
mod titles;
mod trust;
mod ui;
mod warmup;
mod when;
mod wrong_usage;

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::error::Result;
use start::Context;
pub use start::main;
use ui::Color;

/// Lets a coding agent start where the last session stopped
#[derive(Parser)]
#[command(name = "agent-handover", version, infer_long_args = true, help_template = groups::template())]
struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Option<Command>,
}

/// The options of the program itself.
#[derive(Parser)]
#[command(name = "agent-handover", version, infer_long_args = true)]
struct Options {
    /// Print the home view, which is shown without a command, as one JSON document
    // An id of its own: clap copies the value of `history --json`, a global option, to every argument with the same id.
    #[arg(long = "json", id = "home-json")]
    json: bool,
    #[command(flatten)]
    global: Global,
}

#[derive(Args)]
#[command(next_help_heading = "Options of every command")]
struct Global {
    /// Read this config instead of looking for handover.toml
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Print only the answer and errors
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Show times in UTC, instead of how long ago they were
    #[arg(long, global = true)]
    utc: bool,
    /// When to use colour
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN")]
    color: Color,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Run>),
    Check(check::Check),
    Status(status::Status),
    Logs(logs::Logs),
    Search(Box<search::Search>),
    Score(score::Score),
    Continue(continue_in::Continue),
    Pause(pause::Pause),
    Unpause(pause::Unpause),
    Init(init::Init),
    Config(config::ConfigCommand),
    Schema(schema::Schema),
    Allow(allow::Allow),
    Install(install::Install),
    Uninstall(install::Uninstall),
    History(Box<history::HistoryCommand>),
    Memory(Box<memory::MemoryCommand>),
    Compact(compact::Compact),
    Push(deliver::Push),
    Pull(deliver::Pull),
    Summarize(summarize::Summarize),
    Keygen(keygen::Keygen),
    Trust(trust::Trust),
    Warmup(warmup::Warmup),
    Report(report::Report),
    Hook(hook::Hook),
    #[cfg(feature = "mcp")]
    Mcp(mcp::Mcp),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        match self {
            Command::Run(command) => command.execute(context),
            Command::Check(command) => command.execute(context),
            Command::Status(command) => command.execute(context),
            Command::Logs(command) => command.execute(context),
            Command::Search(command) => command.execute(context),
            Command::Score(command) => command.execute(context),
            Command::Continue(command) => command.execute(context),
            Command::Pause(command) => command.execute(context),
            Command::Unpause(command) => command.execute(context),
            Command::Init(command) => command.execute(context),
            Command::Config(command) => command.execute(context),
            Command::Schema(command) => command.execute(context),
            Command::Allow(command) => command.execute(context),
            Command::Install(command) => command.execute(context),
            Command::Uninstall(command) => command.execute(context),
            Command::History(command) => command.execute(context),
            Command::Memory(command) => command.execute(context),
            Command::Compact(command) => command.execute(context),
            Command::Push(command) => command.execute(context),
            Command::Pull(command) => command.execute(context),
            Command::Summarize(command) => command.execute(context),
            Command::Keygen(command) => command.execute(context),
            Command::Trust(command) => command.execute(context),
            Command::Warmup(command) => command.execute(context),
            Command::Report(command) => command.execute(context),
            Command::Hook(command) => command.execute(context),
            #[cfg(feature = "mcp")]
            Command::Mcp(command) => command.execute(context),
            Command::Doctor(command) => command.execute(context),
            Command::Completions(command) => command.execute(context),
            Command::Man(command) => command.execute(context),
        }
    }
}

/// The whole command line as clap knows it, for tests of the documentation.
pub fn command_line() -> clap::Command {
    Cli::command()
}
