//! From the arguments to the command.
//!
//! To build the whole command line takes longer than some commands need for their work. So if the first argument is the name
//! of a command, only the arguments of this command are built. If that fails, the whole command line is built, whose messages
//! know every command.

use std::ffi::OsString;

use clap::{Args, CommandFactory, FromArgMatches, Parser};

use super::{
    Cli, Options, allow, check, compact, completions, config, continue_in, deliver, doctor, history, hook, init,
    install, keygen, logs, man, memory, pause, report, run, schema, score, search, status, summarize, trust, warmup,
};

/// Adds the arguments of a command.
type Build = fn(clap::Command) -> clap::Command;

/// Each command by its name, with what builds its arguments.
const COMMANDS: &[(&str, Build)] = &[
    ("run", run::Run::augment_args),
    ("check", check::Check::augment_args),
    ("status", status::Status::augment_args),
    ("logs", logs::Logs::augment_args),
    ("search", search::Search::augment_args),
    ("score", score::Score::augment_args),
    ("continue", continue_in::Continue::augment_args),
    ("pause", pause::Pause::augment_args),
    ("unpause", pause::Unpause::augment_args),
    ("init", init::Init::augment_args),
    ("config", config::ConfigCommand::augment_args),
    ("schema", schema::Schema::augment_args),
    ("allow", allow::Allow::augment_args),
    ("install", install::Install::augment_args),
    ("uninstall", install::Uninstall::augment_args),
    ("history", history::HistoryCommand::augment_args),
    ("memory", memory::MemoryCommand::augment_args),
    ("compact", compact::Compact::augment_args),
    ("push", deliver::Push::augment_args),
    ("pull", deliver::Pull::augment_args),
    ("summarize", summarize::Summarize::augment_args),
    ("keygen", keygen::Keygen::augment_args),
    ("trust", trust::Trust::augment_args),
    ("warmup", warmup::Warmup::augment_args),
    ("report", report::Report::augment_args),
    ("hook", hook::Hook::augment_args),
    #[cfg(feature = "mcp")]
    ("mcp", super::mcp::Mcp::augment_args),
    ("doctor", doctor::Doctor::augment_args),
    ("completions", completions::Completions::augment_args),
    ("man", man::Man::augment_args),
];

/// Parses the arguments, of which the first is the name of the program.
pub(super) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    alone(arguments).map_or_else(|| Cli::try_parse_from(arguments), Ok)
}

/// The command that the first argument names, if its own arguments are right.
fn alone(arguments: &[OsString]) -> Option<Cli> {
    let first = arguments.get(1)?;
    let (name, build) = COMMANDS.iter().find(|(name, _)| first == name)?;
    let program = Options::command().disable_help_subcommand(true).subcommand(build(clap::Command::new(*name)));
    Cli::from_arg_matches(&program.try_get_matches_from(arguments).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_the_arguments_that_it_has_in_the_whole_command_line() {
        let mut whole = Cli::command();
        let names: Vec<&str> = whole.get_subcommands().map(clap::Command::get_name).collect();
        let known: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, known);
        whole.build();
        for (name, build) in COMMANDS {
            let mut alone = Options::command().subcommand(build(clap::Command::new(*name)));
            alone.build();
            let usage = |program: &clap::Command| {
                let mut command = program.find_subcommand(name).unwrap().clone();
                command.render_long_help().to_string()
            };
            assert_eq!(usage(&alone), usage(&whole));
        }
    }
}
