//! The command line: each command has arguments, makes one call, and renders one answer.

mod allow;
mod ask;
mod check;
mod compact;
mod config;
mod deliver;
mod doctor;
mod history;
mod hook;
mod init;
mod install;
mod keygen;
mod memory;
mod passphrase;
mod pause;
mod provenance;
#[cfg(test)]
mod reference;
mod render;
mod run;
mod status;
mod summarize;
mod table;
mod trust;
mod ui;
mod warmup;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::error::{Category, Error, Result};
use crate::project::{Options, Project};
use crate::steps;
use ui::{Color, Ui};

/// Makes the end of an AI coding session durable and the start of the next one instant
#[derive(Parser)]
#[command(name = "agent-handover", version, infer_long_args = true, disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Args)]
struct Global {
    /// Read this config instead of looking for handover.toml
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Print only the answer and errors
    #[arg(short, long, global = true)]
    quiet: bool,
    /// When to use colour
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN")]
    color: Color,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Run>),
    Check(check::Check),
    Status(status::Status),
    Pause(pause::Pause),
    Unpause(pause::Unpause),
    Init(init::Init),
    Config(config::ConfigCommand),
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
    Hook(hook::Hook),
    Doctor(doctor::Doctor),
}

/// What every command receives.
struct Context<'a> {
    cwd: PathBuf,
    config: Option<PathBuf>,
    ui: &'a mut Ui,
}

impl Context<'_> {
    fn project(&self, checkpoint: Option<&Path>, tag: Option<&str>) -> Result<Project> {
        let options = Options {
            config: self.config.clone(),
            checkpoint: checkpoint.map(Path::to_path_buf),
            tag: tag.map(str::to_owned),
        };
        Project::open(&self.cwd, &options, &steps::readers())
    }
}

pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let is_hook = hook::is_meant(&arguments);
    let code = execute(arguments, is_hook);
    // Agents take a failing hook as a request to block them.
    if is_hook { ExitCode::SUCCESS } else { code }
}

fn execute(arguments: Vec<OsString>, is_hook: bool) -> ExitCode {
    std::panic::set_hook(Box::new(move |panic| {
        let ui = Ui::new(Color::Auto, false);
        ui.error(&format!("agent-handover {} has a bug: {panic}", env!("CARGO_PKG_VERSION")));
        ui.hint("please report it with the command you ran; what was recorded is safe and can be resumed");
        std::process::exit(if is_hook { 0 } else { i32::from(Category::Bug.exit_code()) });
    }));
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, is_hook),
    };
    let mut ui = Ui::new(cli.global.color, cli.global.quiet);
    crate::base::signals::survive_file_limits();
    ui::trace();
    let json = cli.command.json();
    let cwd = std::env::current_dir().map_err(|cause| {
        let error = Error::new(Category::Io, "the current directory cannot be read").cause(cause);
        error.hint("it may have been deleted: `cd` to a directory that is there")
    });
    // The payload of a hook names the directory of the agent.
    let cwd = if is_hook { Ok(cwd.unwrap_or_default()) } else { cwd };
    let result = cwd.and_then(|cwd| {
        let mut context = Context { cwd, config: cli.global.config, ui: &mut ui };
        cli.command.execute(&mut context)
    });
    let answered = result.is_ok();
    let code = match result {
        Ok(code) => code,
        Err(error) => {
            match json {
                Json::No => {}
                Json::Document => ui.answer_json(&render::json(&error)),
                Json::Events => ui.answer_json(&run::finished(error.category().exit_code(), Some(&error))),
            }
            render::error(&ui, &error, &std::env::current_dir().unwrap_or_default());
            error.category().exit_code()
        }
    };
    match ui.write_error() {
        Some(cause) if answered => {
            ui.error(&format!("cannot write the answer: {cause}"));
            ui.hint(&format!("what was asked for is done; its exit code would have been {code}"));
            ExitCode::from(Category::Io.exit_code())
        }
        _ => ExitCode::from(code),
    }
}

impl Command {
    fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        match self {
            Command::Run(command) => command.execute(context),
            Command::Check(command) => command.execute(context),
            Command::Status(command) => command.execute(context),
            Command::Pause(command) => command.execute(context),
            Command::Unpause(command) => command.execute(context),
            Command::Init(command) => command.execute(context),
            Command::Config(command) => command.execute(context),
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
            Command::Hook(command) => command.execute(context),
            Command::Doctor(command) => command.execute(context),
        }
    }

    fn json(&self) -> Json {
        match self {
            Command::Run(command) if command.json => Json::Events,
            Command::Check(command) if command.json => Json::Document,
            Command::Status(command) if command.json => Json::Document,
            Command::Config(command) if command.json => Json::Document,
            Command::History(command) if command.json => Json::Document,
            Command::Memory(command) if command.json() => Json::Document,
            Command::Compact(command) if command.json => Json::Document,
            Command::Push(command) if command.json => Json::Document,
            Command::Pull(command) if command.json => Json::Document,
            Command::Summarize(command) if command.json => Json::Document,
            Command::Keygen(command) if command.json => Json::Document,
            Command::Trust(command) if command.json => Json::Document,
            Command::Warmup(command) if command.json() => Json::Document,
            Command::Doctor(command) if command.json => Json::Document,
            _ => Json::No,
        }
    }
}

/// The form in which a failure is reported on stdout, besides the message on stderr.
#[derive(Clone, Copy, Debug)]
enum Json {
    No,
    Document,
    Events,
}

/// The exit code of wrong usage is never 2, because that is an answer of `check`, and agents take it as "block".
fn usage(error: &clap::Error, is_hook: bool) -> ExitCode {
    if is_hook && error.exit_code() == 0 {
        Ui::new(Color::Auto, false).styled(&error.to_string())
    } else {
        drop(error.print())
    }
    match error.kind() {
        clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        _ => ExitCode::from(Category::Usage.exit_code()),
    }
}

/// The whole command line as clap knows it, for tests of the documentation.
pub fn command_line() -> clap::Command {
    Cli::command()
}
