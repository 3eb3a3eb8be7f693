//! `status`: how far the current or the last handover is, step by step.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::paint::{Line, Role};
use super::ui::Ui;
use super::{Context, ids, table};
use crate::base::{clock, duration, lock, text};
use crate::checkpoint::python::{PythonCheckpoint, PythonState};
use crate::checkpoint::{RecordedStep, Run, RunStatus, StepState, Store};
use crate::engine::{self, Told};
use crate::error::{Error, Result};
use crate::guard::Pause;
use crate::project::{self, OtherDatabase, Project};
use crate::publish::Ledger;

/// The width of what is before the name of a step.
const BESIDE_STEP: usize = 6;

/// Show how far the current or last handover is, step by step
#[derive(Args)]
pub(super) struct Status {
    /// Show this handover with its note and its other inputs: a unique beginning or end of its id, or `latest`
    #[arg(value_name = "RUN", conflicts_with = "run")]
    named: Option<String>,
    /// The same
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Use this checkpoint database
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Everything that `status` shows.
struct Picture {
    run: Option<Run>,
    steps: Vec<RecordedStep>,
    /// What the run was told, if somebody asks for one run.
    told: Option<Told>,
    /// Somebody asks for this one run.
    is_one: bool,
    /// The run is unfinished, and the config has other steps by now.
    is_outdated: bool,
    /// The unfinished runs besides `run`, each with the command whose words it carries out.
    waiting: Vec<(Run, Option<String>)>,
    owner: Option<Option<lock::Owner>>,
    /// The Python tool's checkpoint, if this program has no run on record.
    theirs: Option<PythonCheckpoint>,
    paused: Option<Pause>,
    ledger: Ledger,
    /// The databases beside ours.
    others: Vec<OtherDatabase>,
    root: PathBuf,
    /// The last session stopped at a limit of its agent's use.
    rate_limit: Option<String>,
    /// This worktree has memory that is not merged.
    unmerged: Option<&'static str>,
    /// Directories in the user's own state with memory of other repositories that were at this path.
    kept_for_others: Vec<PathBuf>,
}

impl Status {
    pub(super) fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let project = context.project(self.checkpoint.as_deref(), None)?;
        let picture = match self.named.as_ref().or(self.run.as_ref()) {
            Some(id) => look_at(&project, id)?,
            None => look(&project)?,
        };
        if self.json {
            context.ui.answer_json(&picture.json())
        } else {
            picture.print(context.ui);
            if let Err(error) = project.require_named_checkpoint() {
                context.ui.answer(&format!("missing: {}", error.message()));
            }
        }
        Ok(0)
    }
}

/// One run, finished or not.
fn look_at(project: &Project, id: &str) -> Result<Picture> {
    let mut picture = nothing_yet(project)?;
    let nothing = || Error::failed("no handover is on record here").hint("`agent-handover run` records one");
    let store = Store::read(&project.checkpoint_file())?.ok_or_else(nothing)?;
    let run = engine::find(&store, id)?;
    (picture.told, picture.is_one) = (engine::told(&store, &run)?, true);
    picture.complete(project, &store, run)?;
    Ok(picture)
}

fn nothing_yet(project: &Project) -> Result<Picture> {
    Ok(Picture {
        run: None,
        steps: Vec::new(),
        told: None,
        is_one: false,
        is_outdated: false,
        waiting: Vec::new(),
        owner: None,
        theirs: None,
        paused: project.brake().paused(),
        ledger: Ledger::read(&project.anchor(&project.state), &project.state)?,
        others: project.other_databases(),
        root: project.root.clone(),
        rate_limit: None,
        unmerged: engine::unmerged(project).map(|unmerged| unmerged.sentence),
        kept_for_others: project.kept_for_others_here(),
    })
}

fn look(project: &Project) -> Result<Picture> {
    let mut picture = nothing_yet(project)?;
    let Some(store) = Store::read(&project.checkpoint_file())? else {
        picture.theirs = project.read_python_checkpoint()?;
        return Ok(picture);
    };
    picture.rate_limit = engine::rate_limit(&store)?;
    let mut unfinished = engine::waiting(project, &store)?.into_iter();
    let run = match unfinished.next() {
        Some(run) => Some(run),
        None => store.latest_completed()?,
    };
    for run in unfinished {
        let command = engine::deferred_command(&store, &run)?;
        picture.waiting.push((run, command));
    }
    match run {
        Some(run) => picture.complete(project, &store, run)?,
        None => picture.theirs = project.read_python_checkpoint()?,
    }
    Ok(picture)
}

/// The steps that are still to be done. A step that failed is not, if the run went on without it.
fn pending_steps(steps: &[RecordedStep]) -> impl Iterator<Item = &RecordedStep> {
    let reached = steps.iter().rposition(|step| step.state != StepState::Pending).unwrap_or(0);
    steps
        .iter()
        .enumerate()
        .filter(move |(at, step)| match step.state {
            StepState::Done | StepState::Skipped => false,
            StepState::Failed => *at >= reached,
            _ => true,
        })
        .map(|(_, step)| step)
}

impl Picture {
    /// Adds a run and what is known about it.
    fn complete(&mut self, project: &Project, store: &Store, run: Run) -> Result<()> {
        self.steps = store.steps(run.seq)?;
        self.paused = engine::pause_of(project, Some(&run));
        if run.status == RunStatus::Unfinished {
            self.owner = lock::holder(&project.lock());
            self.is_outdated = engine::is_outdated(project, store, &run)?;
        }
        self.run = Some(run);
        Ok(())
    }

    fn status(&self) -> &'static str {
        match self.run.as_ref().map(|run| run.status) {
            Some(RunStatus::Unfinished) => "in_progress",
            Some(RunStatus::Completed) => "completed",
            Some(RunStatus::Abandoned) if self.is_one => "abandoned",
            Some(RunStatus::Abandoned) | None => match self.theirs.as_ref().map(PythonCheckpoint::state) {
                Some(PythonState::Interrupted) => "in_progress",
                Some(PythonState::Completed) => "completed",
                Some(PythonState::None) | None => "none",
            },
        }
    }

    fn pending(&self) -> Vec<&str> {
        if self.status() != "in_progress" {
            return Vec::new();
        }
        let theirs = self.theirs.iter().flat_map(PythonCheckpoint::pending);
        pending_steps(&self.steps).map(|step| step.name.as_str()).chain(theirs).collect()
    }

    fn print(&self, ui: &mut Ui) {
        ui.answer(&format!("status: {}", self.status()));
        for step in &self.steps {
            print_step(ui, step, self.is_one, self.owner.is_some());
        }
        for (name, done) in self.theirs.iter().flat_map(PythonCheckpoint::steps) {
            ui.answer(&format!("  [{}] {name}", if done { 'x' } else { ' ' }));
        }
        let pending = self.pending();
        if !pending.is_empty() {
            ui.answer(&format!("pending: {}", pending.join(", ")));
        }
        if let Some(run) = &self.run {
            let by = if run.agent.is_empty() { String::new() } else { format!(" by {}", run.agent) };
            let place = place(run);
            let recorded = recorded(ui, run);
            say(ui, "run", &format!("{} recorded {recorded}{by}, tag {}{place}", ids::of_run(&run.id), run.tag));
        }
        for (run, command) in &self.waiting {
            let command = command.as_ref().map(|command| format!("{command} ")).unwrap_or_default();
            let (id, at) = (ids::of_run(&run.id), recorded(ui, run));
            say(ui, "waiting", &format!("{command}{id} recorded {at}{}", place(run)));
        }
        match &self.owner {
            Some(owner) => say(ui, "running", &lock::describe(owner.as_ref())),
            None if self.status() == "in_progress" => {
                say(ui, "unfinished", "run `agent-handover run --resume` to continue");
            }
            None => {}
        }
        if self.is_outdated {
            ui.answer(&format!("the config has other steps now: {}", engine::REPLAN));
        }
        match &self.told {
            Some(told) => print_told(ui, told),
            None if self.is_one => ui.answer("its words are in the files that its steps wrote"),
            None => {}
        }
        if !self.ledger.due.is_empty() {
            say(ui, "due", &format!("a push ({}); `agent-handover push` delivers it", self.ledger.due));
        }
        for conflict in &self.ledger.conflicts {
            say(ui, "conflict", conflict);
        }
        if !self.ledger.travels.is_empty() {
            say(ui, "due", &self.ledger.travels);
        }
        for sentence in project::sentences_about_others(&self.others, &self.root) {
            say(ui, "foreign", &sentence);
        }
        if let Some(limit) = &self.rate_limit {
            say(ui, "limit", limit);
        }
        if let Some(unmerged) = self.unmerged {
            say(ui, "not merged", unmerged);
        }
        for directory in &self.kept_for_others {
            let directory = directory.display();
            say(
                ui,
                "not merged",
                &format!(
                    "`{directory}` is the memory of another repository that was here; delete it if you do not need it"
                ),
            );
        }
        if let Some(pause) = &self.paused {
            ui.answer(&pause.to_string());
        }
    }

    fn json(&self) -> Value {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let run = |run: &Run| {
            json!({
                "id": run.id,
                "recorded_at": run.recorded_at,
                "agent": run.agent,
                "tag": run.tag,
                "branch": known(&run.branch),
                "worktree": known(&run.worktree),
            })
        };
        let waiting = |(one, command): &(Run, Option<String>)| {
            let mut document = run(one);
            if let Some(command) = command {
                document["command"] = command.as_str().into();
            }
            document
        };
        let theirs =
            |(name, done): (&str, bool)| json!({ "name": name, "state": if done { "done" } else { "pending" } });
        let step = |step: &RecordedStep| {
            json!({
                "name": step.name,
                "kind": step.kind,
                "state": step.state.name(),
                "attempts": step.attempts,
                "deaths": step.deaths,
                "duration_ms": step.duration_ms,
                "detail": step.detail,
                "error": step.error,
            })
        };
        let mut document = json!({
            "schema": "agent-handover/status/1",
            "status": self.status(),
            "run": self.run.as_ref().map(run),
            "finished_at": self.run.as_ref().and_then(|run| run.finished_at.clone()),
            "outdated": self.is_outdated,
            "told": self.told.as_ref().map(Told::json),
            "steps": self.steps.iter().map(step).chain(self.theirs.iter().flat_map(PythonCheckpoint::steps).map(theirs)).collect::<Vec<_>>(),
            "from_python_tool": self.theirs.is_some(),
            "pending": self.pending(),
            "waiting": self.waiting.iter().map(waiting).collect::<Vec<_>>(),
            "running": self.owner,
            "paused": self.paused.as_ref().map(Pause::json),
            "due": (!self.ledger.due.is_empty()).then_some(&self.ledger.due),
            "foreign": self.others.iter().map(OtherDatabase::json).collect::<Vec<_>>(),
            "conflicts": self.ledger.conflicts,
            "travels": (!self.ledger.travels.is_empty()).then_some(&self.ledger.travels),
        });
        if let Some(limit) = &self.rate_limit {
            document["rate_limit"] = limit.as_str().into();
        }
        document
    }
}

/// Prints a labelled line. A long one continues behind its label.
fn say(ui: &mut Ui, label: &str, text: &str) {
    ui.answer_hanging(Role::Plain, &format!("{label}: "), text);
}

/// When a run was recorded.
fn recorded(ui: &Ui, run: &Run) -> String {
    clock::parse_stamp(&run.recorded_at).map_or_else(|| run.recorded_at.clone(), |at| ui.when(&at))
}

/// The branch and the linked worktree of a run, as the end of a line.
fn place(run: &Run) -> String {
    let branch =
        if run.branch.is_empty() { String::new() } else { format!(", on {}", text::one_line(&run.branch, 100)) };
    if run.worktree.is_empty() { branch } else { format!("{branch} in {}", text::one_line(&run.worktree, 300)) }
}

/// Prints what a run was told, each text under its heading.
pub(super) fn print_told(ui: &mut Ui, told: &Told) {
    for (heading, text) in told.texts() {
        ui.answer(&format!("{heading}:"));
        for line in text.lines() {
            ui.answer(&format!("  {line}"));
        }
    }
}

/// Prints a line about a step. A long one continues behind its mark.
fn print_step(ui: &mut Ui, step: &RecordedStep, with_detail: bool, is_running: bool) {
    let is_running = is_running && step.state == StepState::Intended;
    let (role, mark) = match step.state {
        StepState::Done => (Role::Good, 'x'),
        StepState::Skipped => (Role::Quiet, '-'),
        StepState::Failed => (Role::Bad, '!'),
        _ if is_running => (Role::Notice, '>'),
        _ => (Role::Plain, ' '),
    };
    let mut facts = Vec::new();
    if is_running {
        facts.push("running".to_owned());
    }
    if step.state == StepState::Failed {
        facts.push("failed".to_owned());
    }
    if step.attempts > 0 {
        facts.push(format!("{} attempt{}", step.attempts, if step.attempts == 1 { "" } else { "s" }));
    }
    if let (Some(millis), true) = (step.duration_ms, step.attempts > 0) {
        facts.push(duration::show(Duration::from_millis(millis)));
    }
    if step.deaths > 0 {
        facts.push(format!(
            "the process died {} time{} during it",
            step.deaths,
            if step.deaths == 1 { "" } else { "s" }
        ));
    }
    let reason = match step.state {
        StepState::Skipped => step.detail.as_deref(),
        StepState::Done if with_detail => step.detail.as_deref(),
        _ => step.error.as_deref(),
    };
    facts.extend(reason.map(|reason| text::one_line(reason, 300)));
    let line = Line::of(Role::Plain, "  [").and(role, mark.to_string()).plain(format!("] {}", step.name));
    if facts.is_empty() {
        return ui.answer_line(&line);
    }
    let facts = format!("({})", facts.join(", "));
    let used = BESIDE_STEP + step.name.width() + 2;
    let mut parts = table::wrap_after(used, BESIDE_STEP, &facts, ui.width()).into_iter();
    ui.answer_line(&line.plain("  ").and(Role::Quiet, parts.next().unwrap_or_default()));
    for part in parts {
        ui.answer_line(&Line::of(Role::Quiet, " ".repeat(BESIDE_STEP) + &part));
    }
}
