//! `history …`: the archive of handoffs.

mod create;
mod export;
mod filters;
mod import;
mod list;
mod render;
mod select;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use super::Context;
use crate::base::{clock, env, fs, text};
use crate::config::Secrets;
use crate::error::{Category, Error, Result};
use crate::git::{self, Git};
use crate::guard::Brake;
use crate::handoff::{self, Handoff, Value};
use crate::history::{self, History, Machine, Origin};
use crate::project::{self, Options, Project};
use crate::steps;

/// Keep and read the archive of handoffs in .agent-history
#[derive(Args)]
pub struct HistoryCommand {
    /// The project, instead of looking for it from here
    #[arg(long, value_name = "DIR", global = true)]
    repo_root: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Create(Box<create::Create>),
    List(Box<list::List>),
    Render(render::Render),
    Select(select::Select),
    Export(Box<export::Export>),
    Import(import::Import),
    /// Print a handoff to fill in, with what is known of this repository
    Template,
    /// Check that the archive is whole; exit 5 if it is not
    Validate {
        /// Check every archived session, too
        #[arg(long)]
        sessions: bool,
        /// Say how the repository differs from the latest handoff
        #[arg(long)]
        git: bool,
    },
    /// Show the latest session, standing rulings and problems
    Status {
        /// Say how the repository differs from the latest handoff
        #[arg(long)]
        git: bool,
    },
    /// Print RESUME_PROMPT.txt
    ResumePrompt,
    /// Say how a session ended
    Close {
        /// The session [default: the latest]
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(history::CLOSED))]
        status: String,
    },
    /// Print an archived handoff
    Show {
        /// A session id, a unique beginning of one, or `latest`
        id: String,
    },
}

/// Where a command works.
struct Place {
    root: PathBuf,
    history: History,
    secrets: Secrets,
}

impl HistoryCommand {
    pub fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let place = self.place(context)?;
        match self.verb {
            Verb::Create(create) => create.execute(context, &place, self.json),
            Verb::List(list) => list.execute(context, &place, self.json),
            Verb::Render(render) => render.execute(context, &place, self.json),
            Verb::Select(select) => select.execute(context, &place, self.json),
            Verb::Export(export) => export.execute(context, &place, self.json),
            Verb::Import(import) => import.execute(context, &place, self.json),
            Verb::Template => template(context, &place, self.json),
            Verb::Validate { sessions, git } => validate(context, &place, sessions, git, self.json),
            Verb::Status { git } => status(context, &place, git, self.json),
            Verb::ResumePrompt => resume_prompt(context, &place, self.json),
            Verb::Close { session, status } => close(context, &place, session.as_deref(), &status, self.json),
            Verb::Show { id } => show(context, &place, &id, self.json),
        }
    }

    fn place(&self, context: &Context<'_>) -> Result<Place> {
        if let Some(root) = &self.repo_root {
            let root = context.cwd.join(root);
            if !root.is_dir() {
                return Err(Error::failed(format!("repo root is not a directory: {}", root.display()))
                    .hint("name an existing directory with `--repo-root`"));
            }
            let history = History::at(root.join(history::DIRECTORY));
            return Ok(Place { root, history, secrets: Secrets::Block });
        }
        let project = context.project(None, None)?;
        let directory = project::place(&project.root, &project.config.history_dir)?;
        Ok(Place { root: project.root, history: History::at(directory), secrets: project.config.secrets })
    }
}

fn answer(context: &mut Context<'_>, as_json: bool, verb: &str, lines: &[&str], mut document: Json) {
    if as_json {
        document["schema"] = format!("agent-handover/history-{verb}/1").into();
        context.ui.answer_json(&document);
    } else {
        for line in lines {
            context.ui.answer(&text::for_model(line));
        }
    }
}

/// A whole text that is read, perhaps by a model.
fn answer_text(context: &mut Context<'_>, as_json: bool, verb: &str, key: &str, text: &str) {
    if as_json { answer(context, true, verb, &[], json!({ key: text })) } else { context.ui.answer_prose(text) }
}

fn show(context: &mut Context<'_>, place: &Place, id: &str, as_json: bool) -> Result<u8> {
    let found = place.history.find(id)?;
    tell_origin(context, &found.handoff);
    let document = json!({ "id": found.handoff.text("session_id"), "document": found.text, "origin": origin_json(&found.handoff) });
    if as_json {
        answer(context, true, "show", &[], document)
    } else {
        context.ui.answer_prose(&found.text)
    }
    Ok(0)
}

/// Whoever is about to believe it is told whose words they are.
fn tell_origin(context: &Context<'_>, handoff: &Handoff) {
    if let Some(origin) = Origin::of(handoff) {
        context.ui.warn(&origin.line());
    }
}

fn origin_json(handoff: &Handoff) -> Json {
    Origin::of(handoff).map_or(Json::Null, |origin| {
        json!({
            "signed": origin.is_signed(),
            "signer": origin.signer,
            "key": origin.key,
            "source": origin.source,
            "exported_at": origin.exported_at,
        })
    })
}

fn machine(place: &Place, tool: Option<&str>) -> Machine {
    let head = git::top_level(&place.root).and_then(|_| Git::at(&place.root).head().ok().flatten());
    let agent = tool.map(str::to_owned).or_else(|| env::get_text(env::AGENT)).unwrap_or_default();
    let (commit, branch) = head.map(|head| (head.commit, head.branch)).unwrap_or_default();
    Machine { now: clock::now(), root: place.root.display().to_string(), branch, commit, agent }
}

fn template(context: &mut Context<'_>, place: &Place, as_json: bool) -> Result<u8> {
    let mut handoff = Handoff::default();
    for field in handoff::REQUIRED {
        let value = match field {
            "status" => Value::from("IN_PROGRESS"),
            "validation" => {
                let pair = |key: &str, value: &str| (key.to_owned(), Value::from(value));
                Value::List(vec![Value::Map(vec![pair("command", ""), pair("result", "not_run"), pair("notes", "")])])
            }
            "next_todo_items" | "search_tags" => Value::List(vec![Value::from("")]),
            field if handoff::LIST_FIELDS.contains(&field) => Value::List(Vec::new()),
            _ => Value::from(""),
        };
        handoff.set(field, value);
    }
    history::fill_in(&mut handoff, &machine(place, None));
    handoff.body = handoff::SECTIONS.iter().map(|section| format!("\n{section}\n")).collect();
    let text = handoff.render();
    answer_text(context, as_json, "template", "document", &text);
    Ok(0)
}

fn validate(context: &mut Context<'_>, place: &Place, sessions: bool, git: bool, as_json: bool) -> Result<u8> {
    let problems = place.history.validate(sessions)?;
    let drift = if git {
        let latest = fs::read_if_exists(&place.history.latest_path())?.unwrap_or_default();
        let latest = Handoff::parse(&String::from_utf8_lossy(&latest)).unwrap_or_default();
        history::drift(&place.root, latest.text("current_branch"), latest.text("head_commit"))
    } else {
        Vec::new()
    };
    for line in &drift {
        context.ui.warn(line);
    }
    let document = json!({ "ok": problems.is_empty(), "problems": problems, "drift": drift });
    if problems.is_empty() {
        answer(context, as_json, "validate", &["history validate: OK"], document);
        return Ok(0);
    }
    if as_json {
        answer(context, true, "validate", &[], document);
        return Ok(Category::NotGood.exit_code());
    }
    let list: String = problems.iter().map(|problem| format!("\n  - {problem}")).collect();
    Err(Error::new(Category::NotGood, format!("history validate: found problems:{list}"))
        .hint("the next `agent-handover history create` or `close` rebuilds what is derived from the archives"))
}

fn absent(place: &Place) -> Error {
    Error::failed(format!("no .agent-history/ found at {}", place.root.display()))
        .hint("`agent-handover history create` makes one")
}

fn status(context: &mut Context<'_>, place: &Place, git: bool, as_json: bool) -> Result<u8> {
    if !place.history.exists() {
        return Err(absent(place));
    }
    let status = place.history.status()?;
    let or = |text: &str| if text.is_empty() { "(unknown)".to_owned() } else { text.to_owned() };
    let action = match (status.first_next_action.is_empty(), status.status.as_str()) {
        (true, "DONE") => "none (session DONE)".to_owned(),
        _ => or(&status.first_next_action),
    };
    let mut lines = vec![
        ".agent-history: present".to_owned(),
        format!("latest session: {}", or(&status.latest_session)),
        format!("latest file: {}", or(&status.latest_file)),
        format!("current branch: {}", or(&status.current_branch)),
        format!("head commit: {}", or(&status.head_commit)),
        format!("first next action: {action}"),
        format!("status: {}", or(&status.status)),
        format!("sessions: {}", status.sessions),
        format!("decisions: {}", status.decisions),
    ];
    if !status.supersedes.is_empty() {
        lines.push(format!("lineage: {} <- supersedes {}", status.latest_session, status.supersedes));
    }
    if !status.standing.is_empty() {
        lines.push("standing:".to_owned());
        lines.extend(status.standing.iter().map(|line| format!("  {line}")));
    }
    match status.problems.len() {
        0 => lines.push("validation: OK".to_owned()),
        count => {
            lines.push(format!("validation: {count} problem(s)"));
            lines.extend(status.problems.iter().map(|problem| format!("  - {problem}")));
        }
    }
    let drift = if git { history::drift(&place.root, &status.current_branch, &status.head_commit) } else { Vec::new() };
    lines.extend(drift.iter().map(|line| format!("git: {line}")));
    let document = json!({
        "latest_session": status.latest_session,
        "latest_file": status.latest_file,
        "current_branch": status.current_branch,
        "head_commit": status.head_commit,
        "first_next_action": status.first_next_action,
        "status": status.status,
        "supersedes": status.supersedes,
        "sessions": status.sessions,
        "decisions": status.decisions,
        "standing": status.standing,
        "problems": status.problems,
        "drift": drift,
    });
    answer(context, as_json, "status", &lines.iter().map(String::as_str).collect::<Vec<_>>(), document);
    Ok(0)
}

fn resume_prompt(context: &mut Context<'_>, place: &Place, as_json: bool) -> Result<u8> {
    let bytes = fs::read_if_exists(&place.history.prompt_path())?.ok_or_else(|| absent(place))?;
    // The file stays Session Glue's to the byte; what is printed is pasted into a model.
    let text = text::for_model(&String::from_utf8_lossy(&bytes));
    answer_text(context, as_json, "resume-prompt", "prompt", &text);
    Ok(0)
}

fn close(context: &mut Context<'_>, place: &Place, session: Option<&str>, status: &str, as_json: bool) -> Result<u8> {
    if let Some(stop) = brake(&place.root).pressed() {
        return Err(stop.error());
    }
    let id = place.history.close(session, status)?;
    let line = format!("set session {id} status to {status}");
    answer(context, as_json, "close", &[&line], json!({ "session_id": id, "status": status }));
    Ok(0)
}

/// The brake of the project that is written to, which need not be the one we stand in; where its config cannot be read, the
/// PAUSE files that always count.
fn brake(root: &Path) -> Brake {
    Project::open(root, &Options::default(), &steps::readers())
        .map_or_else(|_| project::plain_brake(root), |project| project.brake())
}
