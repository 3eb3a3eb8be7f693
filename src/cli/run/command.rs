//! The arguments of `run`, and which of its modes they ask for.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::super::{Context, config};
use super::editor::Edited;
use super::render::Reporter;
use super::{child, resume};
use crate::base::fs::Draft;
use crate::base::{duration, env, signals};
use crate::engine::{self, Carrier, HowToRun, Task};
use crate::error::{Category, Error, Result};
use crate::guard::secrets;

const DEFAULT_WAIT: Duration = Duration::from_secs(30);

/// Hand the session over: finish interrupted handovers, then run every step
#[derive(Args, Default)]
pub(crate) struct Run {
    /// What this session did; on a terminal with nothing said, your editor opens a form
    #[arg(value_name = "NOTE", conflicts_with_all = ["note", "note_file"])]
    pub(super) words: Option<OsString>,
    /// What this session did, for text that may begin with a hyphen
    #[arg(short = 'm', long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "note_file")]
    pub(super) note: Option<OsString>,
    /// Read the note from a file, or from standard input with `-`
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) note_file: Option<PathBuf>,
    /// Where the project stands now [default: the note]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) current_state: Option<OsString>,
    /// A handoff to archive: a document, or `-` for standard input
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) handoff: Option<PathBuf>,
    /// The log that the agent keeps of the session; its present length is recorded
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) transcript: Option<PathBuf>,
    /// The stream of notes that this note belongs to
    #[arg(long, allow_hyphen_values = true)]
    pub(super) tag: Option<String>,
    /// The agent that ran the session
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(super) agent: Option<String>,
    /// Publish, but do not push
    #[arg(long)]
    pub(super) no_push: bool,
    /// Record text that looks like this kind of secret; may be repeated
    #[arg(long, value_name = "KIND", value_parser = secret_kinds(), hide_possible_values = true)]
    pub(super) allow_secret: Vec<String>,
    /// Only finish interrupted handovers; record nothing new
    #[arg(long, conflicts_with_all = ["words", "note", "note_file", "current_state", "handoff", "transcript", "tag", "agent", "abandon", "restart"])]
    pub(super) resume: bool,
    /// Finish interrupted handovers with the steps of the present config; what is done stays done
    #[arg(long, conflicts_with_all = ["words", "note", "note_file", "current_state", "handoff", "transcript", "tag", "agent", "resume", "abandon", "restart"])]
    pub(super) replan: bool,
    /// Abandon an unfinished handover [default: the oldest]; its record stays
    #[arg(long, value_name = "RUN", num_args = 0..=1, conflicts_with_all = ["words", "note", "note_file", "current_state", "handoff", "transcript", "tag", "agent", "restart"])]
    pub(super) abandon: Option<Option<String>>,
    /// Abandon all unfinished handovers and start anew; a damaged database is moved aside
    #[arg(long)]
    pub(super) restart: bool,
    /// Print what each step would do and what it lacks, and change nothing
    #[arg(long, conflicts_with_all = ["resume", "replan", "abandon", "restart"])]
    pub(super) dry_run: bool,
    /// Record, return at once, and continue in the background
    #[arg(long, conflicts_with_all = ["resume", "replan", "abandon", "dry_run"])]
    pub(super) detach: bool,
    /// Print a JSON document for each event, each on its own line
    #[arg(long, conflicts_with_all = ["abandon", "dry_run"])]
    pub json: bool,
    /// Carry out this run, or what is due; the lock is standard input
    #[arg(long, value_name = "RUN", num_args = 0..=1, hide = true)]
    pub(super) inherited: Option<Option<String>>,
    /// The project that the config came with, so that no link to it is followed
    #[arg(long, value_name = "DIR", requires = "inherited", hide = true)]
    pub(super) config_of: Option<PathBuf>,
    /// How long to wait for another run to end [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = parse_wait)]
    pub(super) wait: Option<Duration>,
    /// Use this checkpoint database
    #[arg(long, value_name = "FILE")]
    pub(super) checkpoint: Option<PathBuf>,
}

fn secret_kinds() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(secrets::kinds())
}

fn parse_wait(text: &str) -> Result<Duration, String> {
    duration::parse(text).ok_or_else(|| format!("expected {}", duration::EXPECTED))
}

impl Run {
    /// A `run` of a transcript, as `summarize --save` asks for it.
    pub(crate) fn of_transcript(transcript: PathBuf, summary: Option<OsString>, agent: &str) -> Run {
        Run { transcript: Some(transcript), note: summary, agent: Some(agent.to_owned()), ..Run::default() }
    }

    /// A `run` with a note, as `summarize --summary` asks for it without a transcript.
    pub(crate) fn of_note(note: OsString) -> Run {
        Run { note: Some(note), ..Run::default() }
    }

    pub(crate) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        if let Some(run) = &self.inherited {
            return child::carry_out(context, self.checkpoint.as_deref(), self.config_of.as_deref(), run.as_deref());
        }
        let says_something_new = !(self.resume || self.replan || self.dry_run || self.abandon.is_some());
        let lost = |error: Error| if says_something_new { not_recorded(error) } else { error };
        let project = context.project(self.checkpoint.as_deref(), self.tag.as_deref()).map_err(lost)?;
        let wait = self.wait()?;
        if let Some(run) = &self.abandon {
            return resume::abandon(context.ui, &project, run.as_deref());
        }
        // Signals are caught only from here on: a command that waits for standard input can simply be ended.
        let mut request = self.request(context.ui).map_err(lost)?;
        let draft = match self.edit(context, &project, &mut request).map_err(lost)? {
            Edited::Known => None,
            Edited::Said(draft) => Some(draft),
            Edited::Cancelled => {
                context.ui.answer("cancelled: the form is empty, and nothing was recorded");
                return Ok(0);
            }
        };
        signals::listen();
        if self.dry_run {
            return config::dry_run(context.ui, &project, &request);
        }
        let mut reporter = Reporter::new(context.ui, self.json);
        if self.resume {
            return resume::resume(reporter, &project, wait, self.no_push);
        }
        if self.replan {
            return resume::replan(reporter, &project, wait);
        }
        if let Some(line) = config::plan_line(&project) {
            reporter.ui.tell(&line);
        }
        for ignored in &project.config.ignored {
            let help = ignored.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
            reporter.ui.warn(&format!("{} is ignored, as in the Python tool{help}", ignored.message));
        }
        let task = if self.restart { Task::Restart(&request) } else { Task::Record(&request) };
        let carrier = if self.detach { Carrier::Successor } else { Carrier::ThisProcess };
        let how = HowToRun { wait, carrier };
        match engine::hand_over(&project, task, how, &mut |event| reporter.event(&event)) {
            Ok(handed_over) => reporter.result(handed_over),
            Err(failure) if failure.is_recorded => Err(failure.error),
            Err(failure) => Err(not_recorded(keep(draft, failure.error))),
        }
    }

    /// How long to wait for another run. Inside a `command` step, an ancestor of this process holds the lock: waiting for it
    /// would only end when the time is up.
    fn wait(&self) -> Result<Duration> {
        if let Some(wait) = self.wait {
            return Ok(wait);
        }
        match env::get_text(env::WAIT) {
            _ if env::get(env::RUN).is_some() => Ok(Duration::ZERO),
            None => Ok(DEFAULT_WAIT),
            Some(text) => parse_wait(&text).map_err(|reason| Error::usage(format!("`{}={text}`: {reason}", env::WAIT))),
        }
    }
}

/// Keeps what a person wrote if it was not recorded.
fn keep(draft: Option<Draft>, error: Error) -> Error {
    match draft {
        Some(draft) => error.hint(format!("what you wrote is in `{}`", draft.keep().display())),
        None => error,
    }
}

/// Adds to an error that nothing was recorded: nobody may believe that what they said is safe when it is not. A wrong
/// command line and a bug need no such hint.
fn not_recorded(error: Error) -> Error {
    match error.category() {
        Category::Usage | Category::Bug => error,
        _ => error.hint("nothing was recorded: fix this, then run the handover again"),
    }
}
