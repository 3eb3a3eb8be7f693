//! The way from the arguments to the exit code: parse, find the current directory, execute, report.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::ui::{self, Color, Ui};
use super::{Cli, Command, completions, examples, home, hook, parse, peers, render, run, wrong_usage};
use crate::base::process;
use crate::error::{Category, Error, Result};
use crate::project::{Options, Project};
use crate::steps;

/// What every command receives.
pub(super) struct Context<'a> {
    pub cwd: PathBuf,
    pub config: Option<PathBuf>,
    pub ui: &'a mut Ui,
    /// Whether the user has read that their own config cannot be read.
    has_warned: Cell<bool>,
}

impl Context<'_> {
    /// The project, also if the user's own config cannot be read. The user is warned then.
    pub(super) fn project(&self, checkpoint: Option<&Path>, tag: Option<&str>) -> Result<Project> {
        let project = self.open(checkpoint, tag)?;
        if let Some(trouble) = project.config.own_trouble().filter(|_| !self.has_warned.replace(true)) {
            self.ui.warn(&format!("{}; until it is right, no value of your own config counts", trouble.one_line()));
            self.ui.hint("`agent-handover config` shows the place");
        }
        Ok(project)
    }

    /// The project of a command that examines the config: what cannot be read is an error.
    pub(super) fn examined_project(&self, checkpoint: Option<&Path>, tag: Option<&str>) -> Result<Project> {
        let project = self.open(checkpoint, tag)?;
        project.config.own_trouble().map_or(Ok(()), |trouble| Err(trouble.clone()))?;
        Ok(project)
    }

    fn open(&self, checkpoint: Option<&Path>, tag: Option<&str>) -> Result<Project> {
        let options = Options {
            config: self.config.clone(),
            checkpoint: checkpoint.map(Path::to_path_buf),
            tag: tag.map(str::to_owned),
            ..Options::default()
        };
        Project::open(&self.cwd, &options, &steps::vocabulary())
    }

    /// The project of a child that its parent started. `config_of` is the project that the config came with.
    pub(super) fn project_of_child(&self, checkpoint: Option<&Path>, config_of: Option<&Path>) -> Result<Project> {
        let options = Options {
            config: self.config.clone(),
            config_of: config_of.map(Path::to_path_buf),
            checkpoint: checkpoint.map(Path::to_path_buf),
            ..Options::default()
        };
        Project::open(&self.cwd, &options, &steps::vocabulary())
    }

    /// The project of a person who is about to allow its config, whoever owns it.
    pub(super) fn project_to_allow(&self) -> Result<Project> {
        let options = Options { config: self.config.clone(), accepts_any_owner: true, ..Options::default() };
        Project::open(&self.cwd, &options, &steps::vocabulary())
    }

    /// The project as a hook opens it.
    pub(super) fn unattended_project(&self) -> Result<Project> {
        let options = Options { config: self.config.clone(), is_unattended: true, ..Options::default() };
        Project::open(&self.cwd, &options, &steps::vocabulary())
    }
}

/// Runs the program with these arguments.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(peer) = peers::of(arguments.first()) {
        report_panics(false);
        return ExitCode::from((peer.execute)(&arguments[1..]));
    }
    if run::is_child(&arguments) {
        let _ = process::leave_session();
    }
    if completions::answer(&arguments) {
        return ExitCode::SUCCESS;
    }
    let is_hook = hook::is_meant(&arguments);
    let code = execute(arguments, is_hook);
    // Agents take a failing hook as a request to block them.
    if is_hook { ExitCode::SUCCESS } else { code }
}

fn report_panics(is_hook: bool) {
    std::panic::set_hook(Box::new(move |panic| {
        let ui = Ui::new(Color::Auto, false);
        ui.error(&format!("agent-handover {} has a bug: {panic}", env!("CARGO_PKG_VERSION")));
        ui.hint("please report it with the command you ran; what was recorded is safe and can be resumed");
        std::process::exit(if is_hook { 0 } else { i32::from(Category::Bug.exit_code()) });
    }));
}

fn execute(arguments: Vec<OsString>, is_hook: bool) -> ExitCode {
    report_panics(is_hook);
    let cli = match parse::parse(&arguments) {
        Ok(cli) => cli,
        Err(error) => return wrong_usage::report(&with_examples(error, &arguments), &arguments, is_hook),
    };
    let ui = Ui::new(cli.options.global.color, cli.options.global.quiet).with_utc(cli.options.global.utc);
    // The payload of a hook names the directory of the agent, so a hook needs no current directory.
    let cwd = is_hook.then(|| std::env::current_dir().unwrap_or_default());
    ExitCode::from(carry_out(cli, ui, cwd))
}

/// Carries out a command in a directory, or in the current one, and reports how it ended. Returns the exit code.
pub(super) fn carry_out(cli: Cli, mut ui: Ui, cwd: Option<PathBuf>) -> u8 {
    crate::base::signals::survive_file_limits();
    ui::trace();
    let json = match &cli.command {
        Some(command) => command.json(),
        None if cli.options.json => Json::Document,
        None => Json::No,
    };
    let here = || {
        std::env::current_dir().map_err(|cause| {
            let error = Error::new(Category::Io, "the current directory cannot be read").cause(cause);
            error.hint("it may have been deleted: `cd` to a directory that is there")
        })
    };
    let cwd = match cwd {
        Some(cwd) if cwd.is_relative() && !cwd.as_os_str().is_empty() => here().map(|here| here.join(cwd)),
        Some(cwd) => Ok(cwd),
        None => here(),
    };
    let result = cwd.and_then(|cwd| {
        let mut context = Context { cwd, config: cli.options.global.config, ui: &mut ui, has_warned: Cell::new(false) };
        match cli.command {
            Some(_) if cli.options.json => Err(Error::usage("put `--json` after the command")),
            Some(command) => command.execute(&mut context),
            None => home::execute(&mut context, cli.options.json),
        }
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
            ui.hint(&format!("the command has ended; its exit code would have been {code}"));
            Category::Io.exit_code()
        }
        _ => code,
    }
}

impl Command {
    /// The form in which this command reports a failure on stdout.
    fn json(&self) -> Json {
        match self {
            Command::Run(command) if command.json => Json::Events,
            Command::Check(command) if command.json => Json::Document,
            Command::Status(command) if command.json => Json::Document,
            Command::Logs(command) if command.json => Json::Document,
            Command::Score(command) if command.json => Json::Document,
            Command::Search(command) if command.json => Json::Document,
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

/// The help with its examples. They are added only here, so that no other command pays for them.
fn with_examples(error: clap::Error, arguments: &[OsString]) -> clap::Error {
    if error.kind() != ErrorKind::DisplayHelp {
        return error;
    }
    let parsed = examples::added_to(Cli::command()).try_get_matches_from(arguments);
    parsed.err().unwrap_or(error)
}
