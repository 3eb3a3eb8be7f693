//! `run`: record what the session says, then work off everything unfinished.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::ui::{StepMark, Ui};
use super::{Context, render};
use crate::base::lock::{self, Lock};
use crate::base::{duration, env, fs, process, signals};
use crate::checkpoint::python::{PythonCheckpoint, State};
use crate::checkpoint::{StepState, Store};
use crate::engine::{self, Drained, Event, Goal, Recorded, Request, Whose};
use crate::error::{Category, Error, Result};
use crate::guard::{Stop, secrets};
use crate::hook;
use crate::project::Project;
use crate::transcript::Source;

/// A note is text that people read; a hundred books are not.
const MAX_NOTE: u64 = 64 << 20;
/// Of each line of `run --json`.
const SCHEMA: &str = "agent-handover/run/1";
const DEFAULT_WAIT: Duration = Duration::from_secs(30);

/// Hand the session over: run every step, finishing interrupted handovers first
#[derive(Args, Default)]
pub struct Run {
    /// What this session did
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "note_file")]
    note: Option<OsString>,
    /// Read the note from a file, or from standard input with `-`
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    note_file: Option<PathBuf>,
    /// Where the project stands now (default: the note)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    current_state: Option<OsString>,
    /// A handoff to archive: a document, or `-` for standard input
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    handoff: Option<PathBuf>,
    /// What the agent wrote down of the session, up to now
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    transcript: Option<PathBuf>,
    /// Name of the stream of notes this one belongs to
    #[arg(long, allow_hyphen_values = true)]
    tag: Option<String>,
    /// The agent that ran the session
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    agent: Option<String>,
    /// Publish, but do not push
    #[arg(long)]
    no_push: bool,
    /// Record a text that looks like this kind of secret, for once
    #[arg(long, value_name = "KIND", value_parser = secret_kinds(), hide_possible_values = true)]
    allow_secret: Vec<String>,
    /// Only finish what was interrupted; say nothing new
    #[arg(long, conflicts_with_all = ["note", "note_file", "current_state", "handoff", "transcript", "tag", "agent", "abandon", "restart"])]
    resume: bool,
    /// Give up an unfinished handover (default: the oldest); its record stays
    #[arg(long, value_name = "RUN", num_args = 0..=1, conflicts_with_all = ["note", "note_file", "current_state", "handoff", "transcript", "tag", "agent", "restart"])]
    abandon: Option<Option<String>>,
    /// Give up everything unfinished and start anew; a damaged database is moved aside
    #[arg(long)]
    restart: bool,
    /// Say what each step would do, and do nothing
    #[arg(long, conflicts_with_all = ["resume", "abandon", "restart"])]
    dry_run: bool,
    /// Record, return at once, and go on in the background
    #[arg(long, conflicts_with_all = ["resume", "abandon", "dry_run"])]
    detach: bool,
    /// Print one event a line as JSON
    #[arg(long, conflicts_with_all = ["abandon", "dry_run"])]
    pub json: bool,
    /// Carry this run out; the lock is standard input
    #[arg(long, value_name = "RUN", hide = true)]
    inherited: Option<String>,
    /// How long to wait for another run to end [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = parse_wait)]
    wait: Option<Duration>,
    /// Use this checkpoint database
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
}

fn secret_kinds() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(secrets::kinds())
}

fn parse_wait(text: &str) -> Result<Duration, String> {
    duration::parse(text).ok_or_else(|| format!("expected {}", duration::EXPECTED))
}

impl Run {
    /// A run that says what a transcript tells.
    pub fn of_transcript(transcript: PathBuf, summary: Option<OsString>, agent: &str) -> Run {
        Run { transcript: Some(transcript), note: summary, agent: Some(agent.to_owned()), ..Run::default() }
    }

    pub fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        if self.inherited.is_some() {
            process::leave_session();
        }
        let says_something_new = !(self.resume || self.dry_run || self.inherited.is_some() || self.abandon.is_some());
        let lost = |error: Error| if says_something_new { not_recorded(error) } else { error };
        let project = context.project(self.checkpoint.as_deref(), self.tag.as_deref()).map_err(lost)?;
        let wait = self.wait()?;
        if let Some(run) = &self.abandon {
            return abandon(context.ui, &project, run.as_deref());
        }
        // Before this, whoever waits for standard input can simply be ended.
        let request = self.request(context.ui).map_err(lost)?;
        signals::listen();
        if self.dry_run {
            for preview in engine::preview(&project, &request)? {
                context.ui.answer(&format!("{}: would {}", preview.step, preview.what));
            }
            return Ok(0);
        }
        if self.resume || self.inherited.is_some() {
            let teller = Teller { ui: context.ui, json: self.json };
            return match &self.inherited {
                Some(id) => teller.carry_out(&project, id),
                None => teller.resume(&project, wait, self.no_push),
            };
        }
        for ignored in &project.config.ignored {
            let help = ignored.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
            context.ui.warn(&format!("{} is ignored, as the Python tool does{help}", ignored.message));
        }
        let (mut store, recorded, lock) = self.record(context.ui, &project, &request, wait).map_err(not_recorded)?;
        let child = arguments_of_child(&project, &recorded);
        let mut teller = Teller { ui: context.ui, json: self.json };
        teller.recorded(&recorded);
        if self.detach {
            drop(store);
            let detached = engine::detach(&project, &recorded.id, lock, child);
            return teller.detached(detached, &recorded);
        }
        let goal = Goal::Run(recorded.seq);
        let listener = &mut |event: Event| teller.tell(&event);
        let drained = match lock {
            Some(lock) => engine::drain_locked(&project, &mut store, goal, lock, listener),
            None => engine::drain(&project, &mut store, goal, wait, listener),
        };
        let drained = drained.map_err(|error| engine::explain_recorded(error, &recorded.id))?;
        teller.report(drained, Some(&recorded.id))
    }

    fn record(
        &self,
        ui: &Ui,
        project: &Project,
        request: &Request,
        wait: Duration,
    ) -> Result<(Store, Recorded, Option<Lock>)> {
        project.prepare()?;
        if !self.restart {
            // Taken before anything is on record, so that nobody finds it there and thinks it was left behind.
            let lock = if self.detach && project.brake().pressed().is_none() {
                Lock::try_take(&project.lock())?
            } else {
                None
            };
            let mut store = Store::open(&project.checkpoint)?;
            let recorded = record_with_session(project, &mut store, request)?;
            return Ok((store, recorded, lock));
        }
        let restarted = engine::restart(project, request, wait)?;
        if let Some(aside) = restarted.aside {
            ui.warn(&format!("the damaged database was moved to `{}`", aside.display()));
        }
        for run in restarted.abandoned {
            ui.warn(&format!("gave up handover {}", run.id));
        }
        Ok((restarted.store, restarted.recorded, Some(restarted.lock)))
    }

    /// Inside a `command` step the lock is our own ancestor's: waiting for it would only end at the time limit.
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

    fn request(&self, ui: &Ui) -> Result<Request> {
        let note = match (&self.note, &self.note_file) {
            (Some(note), _) => Some(text_of(ui, "the note", note.clone().into_encoded_bytes())),
            (None, Some(file)) => {
                let bytes = read_note(file)?;
                if bytes.is_empty() {
                    ui.warn(&format!("there is no note in `{}`", file.display()));
                }
                Some(text_of(ui, "the note", bytes))
            }
            (None, None) => None,
        };
        let state = self.current_state.clone().map(|state| text_of(ui, "the state", state.into_encoded_bytes()));
        let handoff = self
            .handoff
            .as_deref()
            .map(|file| Ok::<_, Error>(text_of(ui, "the handoff", read_note(file)?)))
            .transpose()?;
        let transcript = self.transcript.as_deref().map(pin).transpose()?;
        Ok(Request {
            note,
            state,
            handoff,
            agent: self.agent.clone(),
            transcript,
            allow_secrets: self.allow_secret.clone(),
            no_push: self.no_push,
            only_publish: false,
            unattended: self.detach,
            by_itself: false,
            handed: None,
            at: None,
        })
    }
}

/// What an agent says in its session is handed over by that: its hook need not say it again in a program's words.
fn record_with_session(project: &Project, store: &mut Store, request: &Request) -> Result<Recorded> {
    let says_something = request.note.is_some() || request.handoff.is_some();
    let handed = if says_something { hook::own_session(store) } else { None };
    let is_of_session = handed.is_some();
    match engine::record(project, store, &Request { handed, ..request.clone() }) {
        // Its hook was faster, which is no reason to lose what was said.
        Err(error) if is_of_session && error.category() == Category::Busy => engine::record(project, store, request),
        recorded => recorded,
    }
}

/// An absolute path, because whoever carries the run out may stand elsewhere.
fn pin(file: &Path) -> Result<Source> {
    let path = std::path::absolute(file).map_err(|cause| Error::io("find", file, cause))?;
    if !path.exists() {
        return Err(Error::io("read the transcript", &path, "there is no such file"));
    }
    Source::pin(&path, "")
}

/// Absolute paths, because the child stands at the root of the project.
fn arguments_of_child(project: &Project, recorded: &Recorded) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["run".into(), "--inherited".into(), recorded.id.clone().into()];
    if let Some(config) = &project.config.file {
        arguments.extend(["--config".into(), config.clone().into_os_string()]);
    }
    arguments.extend(["--checkpoint".into(), project.checkpoint.clone().into_os_string()]);
    arguments
}

/// Nobody may believe that what they said is safe when it is not.
fn not_recorded(error: Error) -> Error {
    let is_recorded = error.hints().iter().any(|hint| hint.contains("--resume"));
    match error.category() {
        Category::Usage | Category::Bug => error,
        _ if is_recorded => error,
        _ => error.hint("nothing was recorded: mend this, then run the handover again"),
    }
}

fn read_note(file: &Path) -> Result<Vec<u8>> {
    let failed = |cause: std::io::Error| Error::io("read the note from", file, cause);
    let source: Box<dyn Read> =
        if file.as_os_str() == "-" { Box::new(std::io::stdin().lock()) } else { Box::new(fs::open(file)?) };
    let bytes = fs::read_at_most(source, MAX_NOTE).map_err(failed)?;
    if bytes.len() as u64 > MAX_NOTE {
        return Err(Error::bad_data(format!("the note in `{}` is larger than 64 MiB", file.display()))
            .hint("a note is what the next session reads; put long material in a file and name it in the note"));
    }
    Ok(bytes)
}

/// A stray byte is no reason to lose what the session said.
fn text_of(ui: &Ui, what: &str, bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|wrong| {
        ui.warn(&format!("{what} is not UTF-8; what cannot be read was replaced by \u{fffd}"));
        String::from_utf8_lossy(wrong.as_bytes()).into_owned()
    })
}

fn abandon(ui: &mut Ui, project: &Project, run: Option<&str>) -> Result<u8> {
    if let Some(stop) = project.brake().pressed() {
        return Err(stop.error());
    }
    if !project.checkpoint.exists() {
        ui.answer("nothing to abandon: no handover is on record here");
        return Ok(0);
    }
    let mut store = Store::open(&project.checkpoint)?;
    let abandoned = engine::abandon(project, &mut store, run)?;
    for run in &abandoned {
        ui.answer(&format!("gave up handover {}; its record and inputs are kept", run.id));
    }
    if abandoned.is_empty() {
        ui.answer("nothing to abandon: no handover is unfinished");
    }
    Ok(0)
}

/// The last line of `--json`, also when the command failed.
pub fn finished(exit_code: u8, error: Option<&Error>) -> Value {
    let error = error.map(render::parts);
    json!({ "schema": SCHEMA, "event": "finished", "exit_code": exit_code, "error": error })
}

/// Tells what happens: to a person on stderr, or as one JSON document a line on stdout.
struct Teller<'a> {
    ui: &'a mut Ui,
    json: bool,
}

impl Teller<'_> {
    fn resume(mut self, project: &Project, wait: Duration, no_push: bool) -> Result<u8> {
        let ours = Store::read(&project.checkpoint)?.map(|store| store.latest()).transpose()?.flatten();
        let theirs = if ours.is_none() { PythonCheckpoint::read(&project.python_checkpoint())? } else { None };
        if let Some(theirs) = theirs.filter(|theirs| theirs.state() == State::Interrupted) {
            return self.take_over(project, &theirs, wait, no_push);
        }
        if !project.checkpoint.exists() {
            self.ui.tell("nothing to resume: no handover is on record here");
            return self.executed(&[]);
        }
        let mut store = Store::open(&project.checkpoint)?;
        let drained = engine::drain(project, &mut store, Goal::Resume, wait, &mut |event| self.tell(&event))?;
        self.report(drained, None)
    }

    /// What the Python tool left: what it had written can be published, what it had not is known to nobody.
    fn take_over(mut self, project: &Project, theirs: &PythonCheckpoint, wait: Duration, no_push: bool) -> Result<u8> {
        let (publish, lost): (Vec<&str>, Vec<&str>) = theirs.pending().into_iter().partition(|name| *name == "publish");
        let again = "hand over again with `agent-handover run --note …`, which supersedes it";
        if publish.is_empty() {
            let message = format!(
                "the Python tool left {} pending, and what it would have written is not recorded",
                lost.join(", ")
            );
            return Err(Error::failed(message).hint(again));
        }
        if !lost.is_empty() {
            self.ui.warn(&format!(
                "the Python tool did not record what {} would have written; {again}",
                lost.join(" and ")
            ));
        }
        project.prepare()?;
        let mut store = Store::open(&project.checkpoint)?;
        let request = Request { only_publish: true, no_push, ..Request::default() };
        let recorded = engine::record(project, &mut store, &request)?;
        self.recorded(&recorded);
        let listener = &mut |event: Event| self.tell(&event);
        let drained = engine::drain(project, &mut store, Goal::Run(recorded.seq), wait, listener)?;
        self.report(drained, Some(&recorded.id))
    }

    /// The child of a detached run: the lock is standard input.
    fn carry_out(mut self, project: &Project, id: &str) -> Result<u8> {
        let mut lock = Lock::inherited(&project.lock())?;
        // Whoever started us waits for this.
        lock.sign(id)?;
        let mut store = Store::open(&project.checkpoint)?;
        let run = store.run_by_id(id)?.ok_or_else(|| Error::usage(format!("no handover {id} is on record")))?;
        let listener = &mut |event: Event| self.tell(&event);
        let drained = engine::drain_locked(project, &mut store, Goal::Run(run.seq), lock, listener)?;
        self.report(drained, Some(id))
    }

    fn recorded(&mut self, recorded: &Recorded) {
        for warning in &recorded.warnings {
            self.ui.warn(warning);
        }
        self.event(json!({ "event": "recorded", "run": recorded.id, "warnings": recorded.warnings }));
    }

    fn event(&mut self, mut event: Value) {
        if self.json {
            event["schema"] = SCHEMA.into();
            self.ui.answer_json(&event);
        }
    }

    fn tell(&mut self, event: &Event) {
        if self.json { self.event(event_json(event)) } else { tell(self.ui, event) }
    }

    fn executed(&mut self, executed: &[String]) -> Result<u8> {
        let names = if executed.is_empty() { "(none)".to_owned() } else { executed.join(", ") };
        if self.json {
            self.ui.answer_json(&finished(0, None))
        } else {
            self.ui.answer(&format!("handover steps executed: {names}"))
        }
        Ok(0)
    }

    /// What was executed before it failed; with `--json` the failure itself is the last line.
    fn executed_before(&mut self, executed: &[String]) -> Result<u8> {
        if self.json { Ok(0) } else { self.executed(executed) }
    }

    fn detached(mut self, detached: Result<u32>, recorded: &Recorded) -> Result<u8> {
        match detached {
            Ok(pid) if self.json => {
                self.event(json!({ "event": "detached", "run": recorded.id, "pid": pid }));
                self.ui.answer_json(&finished(0, None));
                Ok(0)
            }
            Ok(pid) => {
                self.ui
                    .answer(&format!("handover {} is recorded and goes on in the background (pid {pid})", recorded.id));
                Ok(0)
            }
            Err(error) => Err(error.follow(&format!("; {} is recorded and waits", recorded.id))),
        }
    }

    fn report(mut self, drained: Drained, recorded: Option<&str>) -> Result<u8> {
        match drained {
            Drained::Tried { executed, mut failures } => {
                // Who recorded a younger run hears of its failure themselves.
                failures.retain(|failure| failure.whose != Whose::Younger);
                let Some(last) = failures.len().checked_sub(1) else { return self.executed(&executed) };
                self.executed_before(&executed)?;
                let at = failures.iter().position(|failure| failure.whose == Whose::Mine).unwrap_or(last);
                let worst = failures.remove(at);
                for failure in &failures {
                    let reason = failure.error.one_line();
                    self.ui.warn(&format!("handover {} is still unfinished: {reason}", failure.run));
                }
                let error = match worst.whose {
                    Whose::Mine => worst.error,
                    _ => Error::failed(format!(
                        "this handover is done, but the older {} still is not: {}",
                        worst.run,
                        worst.error.one_line()
                    )),
                };
                let hint = "progress is saved: `agent-handover run --resume` tries again";
                Err(error.hint(format!("{hint}, `--abandon {}` gives it up", worst.run)))
            }
            Drained::Busy(owner) => {
                self.executed_before(&[])?;
                let busy = engine::busy(owner.as_ref(), "`agent-handover status` shows how far it is");
                Err(recorded.map_or(busy, |id| {
                    engine::busy(owner.as_ref(), "").follow(&format!("; {id} is recorded and will be taken by it"))
                }))
            }
            Drained::Stopped { stop, executed } => {
                self.executed_before(&executed)?;
                let kept = recorded.map(|id| format!("; {id} is recorded and waits")).unwrap_or_default();
                let error = stop.error().follow(&kept);
                Err(match stop {
                    Stop::Paused(_) => error,
                    Stop::Signal(_) => error.hint("`agent-handover run --resume` goes on where it stopped"),
                })
            }
        }
    }
}

/// Progress: one line a step with its duration.
pub fn tell(ui: &Ui, event: &Event) {
    match event {
        Event::RunStarted { run, resumed: true } => ui.tell(&format!("resuming handover {run}")),
        Event::RunStarted { run, .. } => ui.tell(&format!("handover {run}")),
        Event::StepStarted { name, number, of, attempt, .. } => {
            let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            ui.tell_live(&format!("{name} ({number} of {of}{again})"));
        }
        Event::StepEnded { name, ended, .. } => {
            let took = duration::show(ended.duration);
            let detail = ended.detail.as_deref().or(ended.error.as_deref()).unwrap_or_default();
            match ended.state {
                StepState::Done => ui.tell_step(StepMark::Done, name, &format!("{took}  {detail}")),
                StepState::Skipped => ui.tell_step(StepMark::Skipped, name, detail),
                _ => ui.tell_step(StepMark::Failed, name, &format!("{took}  {detail}")),
            }
        }
        Event::Waiting { owner } => ui.tell(&format!("waiting: {}", lock::describe(owner.as_ref()))),
        Event::Notice { text } => ui.tell(text),
        Event::RunEnded { .. } => {}
    }
}

/// What a command that only runs handovers by the way says of them: nothing but what should be looked at.
pub(super) fn warn_of(ui: &Ui, event: &Event) {
    if let Event::Notice { text } = event {
        ui.warn(text);
    }
}

fn event_json(event: &Event) -> Value {
    match event {
        Event::Waiting { owner } => json!({ "event": "waiting", "owner": owner }),
        Event::RunStarted { run, resumed } => json!({ "event": "run-started", "run": run, "resumed": resumed }),
        Event::StepStarted { run, name, number, of, attempt } => json!({
            "event": "step-started", "run": run, "step": name, "number": number, "of": of, "attempt": attempt,
        }),
        Event::StepEnded { run, name, number, of, ended } => json!({
            "event": "step-ended", "run": run, "step": name, "number": number, "of": of, "state": ended.state.name(),
            "duration_ms": u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
            "detail": ended.detail, "error": ended.error,
        }),
        Event::RunEnded { run, completed } => json!({ "event": "run-ended", "run": run, "completed": completed }),
        Event::Notice { text } => json!({ "event": "notice", "text": text }),
    }
}
