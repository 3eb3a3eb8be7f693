//! `completions`: what a shell offers when somebody presses Tab.
//!
//! The script that this command prints makes the shell ask the program itself, so that sessions, items, runs and steps are
//! offered, too. Which values an argument takes is known by its value name.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::{Arg, Args, Command, CommandFactory};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};

use super::ids::{self, SessionIds};
use super::{Cli, Context, when};
use crate::agents::AGENTS;
use crate::base::{clock, env, text};
use crate::checkpoint::{Run, Store};
use crate::config::category::BUILT_IN;
use crate::error::{Error, Result};
use crate::history::{History, Wanted};
use crate::memory::Memory;
use crate::project::{Options, Project};
use crate::steps;

/// How many sessions and runs are offered.
const OFFERED: usize = 50;
const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "elvish", "powershell"];

/// zsh reads the file when somebody presses Tab for the first time, and calls it as the function that completes.
const FIRST_TIME_IN_ZSH: &str = "
if [ \"$funcstack[1]\" = _agent-handover ]; then
    _clap_dynamic_completer_agent_handover \"$@\"
fi
";

/// Print the script that lets your shell complete commands, options, sessions and items
#[derive(Args)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(SHELLS))]
    shell: String,
}

impl Completions {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let mut script = Vec::new();
        let completer = Shells::builtins();
        let completer = completer.completer(&self.shell).ok_or_else(|| Error::bug("a shell is missing"))?;
        let name = "agent-handover";
        completer
            .write_registration(env::COMPLETE, name, name, name, &mut script)
            .map_err(|cause| Error::bug(format!("the script cannot be written: {cause}")))?;
        context.ui.answer_text(&String::from_utf8_lossy(&script));
        if self.shell == "zsh" {
            context.ui.answer_text(FIRST_TIME_IN_ZSH);
        }
        Ok(0)
    }
}

/// Answers a shell that asks for completions. Returns whether one did.
pub(super) fn answer(arguments: &[OsString]) -> bool {
    if env::get(env::COMPLETE).is_none() {
        return false;
    }
    let here = std::env::current_dir().ok();
    // A shell shows no error while somebody types, and needs none.
    CompleteEnv::with_factory(|| with_values(Cli::command()))
        .var(env::COMPLETE)
        .try_complete(arguments.to_vec(), here.as_deref())
        .unwrap_or(true)
}

/// Adds what the arguments of all commands take.
fn with_values(command: Command) -> Command {
    let command = command.mut_args(|argument| match source(&argument) {
        Some(source) => argument.add(ArgValueCandidates::new(source)),
        None => argument,
    });
    command.mut_subcommands(with_values)
}

/// Where the values of an argument come from.
fn source(argument: &Arg) -> Option<fn() -> Vec<CompletionCandidate>> {
    let name = argument.get_value_names().and_then(<[_]>::first)?;
    match name.as_str() {
        "SESSION" => Some(sessions),
        "ITEM" => Some(items),
        "RUN" => Some(runs),
        "STEP" => Some(step_names),
        "AGENT" | "AGENTS" => Some(agents),
        "CATEGORY" => Some(categories),
        _ => None,
    }
}

/// A value with what it is, for shells that show that. `None` for a value that a shell would not take as one plain word: shells put
/// it into the command line as it is, and it may come from a repository that somebody else made.
fn candidate(value: &str, what: &str) -> Option<CompletionCandidate> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_word = !value.is_empty() && !value.starts_with('-') && value.chars().all(is_plain);
    let help = || Some(text::one_line(&text::for_terminal(what), 60)).filter(|help| !help.is_empty());
    is_word.then(|| CompletionCandidate::new(value).help(help().map(Into::into)))
}

/// The project here, read as a hook reads it: nothing that a stranger's config names counts.
fn project() -> Option<Project> {
    let options = Options { is_unattended: true, ..Options::default() };
    Project::open(&std::env::current_dir().ok()?, &options, &steps::vocabulary()).ok()
}

fn sessions() -> Vec<CompletionCandidate> {
    let newest = || {
        let project = project()?;
        let history = History::at(&project.memory_root, project.history_dir().ok()?);
        let wanted = Wanted { limit: OFFERED, matches: &|_| true, text: None, may_have_text: &|| None };
        let entries = history.newest(&wanted).ok()?.entries;
        let ids = SessionIds::of(&history);
        let offered = entries.iter().filter_map(|entry| {
            let (id, goal) = (entry.get("session_id"), entry.get("primary_goal"));
            // The short id of a session with a goal in another script is plain.
            candidate(id, goal).or_else(|| candidate(ids.short(id), goal))
        });
        Some(offered.collect())
    };
    newest().unwrap_or_default()
}

fn items() -> Vec<CompletionCandidate> {
    let state = || {
        let project = project()?;
        let state = Memory::at(&project.memory_root, project.memory_dir().ok()?).state().ok()?;
        Some(
            state
                .items()
                .filter_map(|(category, item)| candidate(&item.id, &format!("{category}: {}", item.text)))
                .collect(),
        )
    };
    state().unwrap_or_default()
}

fn runs() -> Vec<CompletionCandidate> {
    let recorded = || {
        let store = Store::read(&project()?.checkpoint_file()).ok()??;
        let runs = store.newest_runs(OFFERED).ok()?;
        let about = |run: &Run| {
            let when = clock::parse_stamp(&run.recorded_at).map(|at| when::ago(&clock::now(), &at));
            format!("{} {}", when.as_deref().unwrap_or(&run.recorded_at), run.agent)
        };
        Some(runs.iter().filter_map(|run| candidate(ids::of_run(&run.id), about(run).trim())).collect())
    };
    recorded().unwrap_or_default()
}

fn step_names() -> Vec<CompletionCandidate> {
    let names = || {
        let store = Store::read(&project()?.checkpoint_file()).ok()??;
        let run = store.newest_runs(1).ok()?.pop()?;
        Some(store.steps(run.seq).ok()?.iter().filter_map(|step| candidate(&step.name, step.kind.as_str())).collect())
    };
    names().unwrap_or_default()
}

/// The categories that need no config, and those that have items here.
fn categories() -> Vec<CompletionCandidate> {
    let used = || {
        let project = project()?;
        let state = Memory::at(&project.memory_root, project.memory_dir().ok()?).state().ok()?;
        Some(state.items().map(|(category, _)| category.to_owned()).collect::<BTreeSet<_>>())
    };
    let mut names: BTreeSet<String> = used().unwrap_or_default();
    names.extend(BUILT_IN.iter().map(|known| known.name.to_owned()));
    names.iter().filter_map(|name| candidate(name, "")).collect()
}

fn agents() -> Vec<CompletionCandidate> {
    AGENTS.iter().map(|agent| CompletionCandidate::new(agent.name)).collect()
}
