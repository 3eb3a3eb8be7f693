//! `history …`: the archive of handoffs.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use super::Context;
use crate::base::{clock, env, fs};
use crate::error::{Category, Error, Result};
use crate::git::{self, Git};
use crate::guard::{Brake, secrets};
use crate::handoff::{self, Handoff, Value};
use crate::history::{self, History, IfTaken, Machine};
use crate::project::{self, Options, Project};
use crate::steps;

/// A handoff is read whole by whoever comes next; more than this is no handoff.
const MAX_INPUT: u64 = 4 << 20;

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
    Create(Box<Create>),
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

/// Archive a handoff from a document or from flags
#[derive(Args)]
struct Create {
    /// The document; `-` is standard input
    #[arg(long, short, value_name = "FILE", allow_hyphen_values = true)]
    input: Option<PathBuf>,
    /// Archive it although its first action is a resume mechanic
    #[arg(long)]
    allow_flagged_todo: bool,
    /// Do not register the directory in git's info/exclude
    #[arg(long)]
    no_exclude: bool,
    /// If the id is taken, archive it under a new one that supersedes it
    #[arg(long)]
    supersede: bool,
    /// What the work is for
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "input")]
    goal: Option<String>,
    /// What was done and where it stands
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "input")]
    summary: Option<String>,
    /// What to do next; may be given several times
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "input")]
    next: Vec<String>,
    /// Something that is done
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "input")]
    done: Vec<String>,
    /// Something that is wrong
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "input")]
    issue: Vec<String>,
    /// Something that was decided
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "input")]
    decision: Vec<String>,
    /// A file to read, and why
    #[arg(long, value_name = "PATH=REASON", allow_hyphen_values = true, conflicts_with = "input")]
    file: Vec<String>,
    /// A word to find it by
    #[arg(long, value_name = "TAG", allow_hyphen_values = true, conflicts_with = "input")]
    tag: Vec<String>,
    /// A command that was run, and its result: passed, failed or not_run
    #[arg(long, value_name = "COMMAND=RESULT", allow_hyphen_values = true, conflicts_with = "input")]
    validation: Vec<String>,
    /// The agent that ran the session
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
}

/// Where a command works.
struct Place {
    root: PathBuf,
    history: History,
}

impl HistoryCommand {
    pub fn execute(self, context: &mut Context<'_>) -> Result<u8> {
        let place = self.place(context)?;
        match self.verb {
            Verb::Create(create) => create.execute(context, &place, self.json),
            Verb::Template => template(context, &place, self.json),
            Verb::Validate { sessions, git } => validate(context, &place, sessions, git, self.json),
            Verb::Status { git } => status(context, &place, git, self.json),
            Verb::ResumePrompt => resume_prompt(context, &place, self.json),
            Verb::Close { session, status } => close(context, &place, session.as_deref(), &status, self.json),
            Verb::Show { id } => {
                let text = place.history.show(&id)?;
                answer_text(context, self.json, "show", "document", &text);
                Ok(0)
            }
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
            return Ok(Place { root, history });
        }
        let project = context.project(None, None)?;
        let directory = project::place(&project.root, &project.config.history_dir)?;
        Ok(Place { root: project.root, history: History::at(directory) })
    }
}

fn answer(context: &mut Context<'_>, as_json: bool, verb: &str, lines: &[&str], mut document: Json) {
    if as_json {
        document["schema"] = format!("agent-handover/history-{verb}/1").into();
        context.ui.answer_json(&document);
    } else {
        for line in lines {
            context.ui.answer(line);
        }
    }
}

/// A whole text, to the byte unless a terminal gets it.
fn answer_text(context: &mut Context<'_>, as_json: bool, verb: &str, key: &str, text: &str) {
    if as_json { answer(context, true, verb, &[], json!({ key: text })) } else { context.ui.answer_text(text) }
}

fn machine(place: &Place, tool: Option<&str>) -> Machine {
    let head = git::top_level(&place.root).and_then(|_| Git::at(&place.root).head().ok().flatten());
    let agent = tool.map(str::to_owned).or_else(|| env::get_text(env::AGENT)).unwrap_or_default();
    let (commit, branch) = head.map(|head| (head.commit, head.branch)).unwrap_or_default();
    Machine { now: clock::now(), root: place.root.display().to_string(), branch, commit, agent }
}

impl Create {
    fn execute(self, context: &mut Context<'_>, place: &Place, as_json: bool) -> Result<u8> {
        if let Some(stop) = brake(&place.root).pressed() {
            return Err(stop.error());
        }
        let (raw, mut handoff) = self.read(context)?;
        history::fill_in(&mut handoff, &machine(place, self.tool.as_deref()));
        let mut wrong = handoff::check(&handoff);
        let mut warnings = Vec::new();
        if let Some(at) = wrong
            .iter()
            .position(|wrong| wrong.message.contains("looks like a resume mechanic"))
            .filter(|_| self.allow_flagged_todo)
        {
            warnings.push(format!("WARNING: {}", wrong.remove(at).message));
            warnings.push("proceeding anyway because --allow-flagged-todo was passed.".to_owned());
        }
        if !wrong.is_empty() {
            return Err(history::refuse(&wrong));
        }
        warnings.extend(advice(place, &handoff));
        let if_taken = if self.supersede { IfTaken::Supersede } else { IfTaken::Refuse };
        let written = place.history.create(&handoff, if_taken)?;
        let registered = if self.no_exclude { Vec::new() } else { register(place) };
        warnings.extend(leaks(place, &raw));
        for warning in &warnings {
            context.ui.warn(warning);
        }
        let paths = [
            ("archive", written.archive.clone()),
            ("latest", place.history.latest_path()),
            ("resume_prompt", place.history.prompt_path()),
            ("index", place.history.index_path()),
        ];
        let mut lines = vec![format!("Wrote handoff for session {}:", written.id)];
        lines.extend(paths.iter().map(|(name, path)| format!("  {name}: {}", path.display())));
        lines.extend(registered);
        let document = json!({
            "session_id": written.id,
            "archive": written.archive.display().to_string(),
            "existed": written.before,
            "warnings": warnings,
        });
        answer(context, as_json, "create", &lines.iter().map(String::as_str).collect::<Vec<_>>(), document);
        Ok(0)
    }

    fn read(&self, context: &Context<'_>) -> Result<(String, Handoff)> {
        let Some(input) = &self.input else {
            let handoff = self.of_flags()?;
            return Ok((handoff.render(), handoff));
        };
        let source: Box<dyn Read> = if input.as_os_str() == "-" {
            if std::io::stdin().is_terminal() {
                context.ui.warn("reading handoff from stdin — pipe a file or pass --input PATH");
            }
            Box::new(std::io::stdin().lock())
        } else {
            let path = context.cwd.join(input);
            Box::new(fs::open(&path).map_err(|error| error.lead("cannot read input: "))?)
        };
        let failed = |cause: std::io::Error| Error::io("read", input, cause);
        let bytes = fs::read_at_most(source, MAX_INPUT).map_err(failed)?;
        if bytes.len() as u64 > MAX_INPUT {
            return Err(Error::bad_data("invalid handoff: it is larger than 4 MiB")
                .hint("a handoff is read whole by the next agent"));
        }
        let text = String::from_utf8(bytes).map_err(|_| Error::bad_data("invalid handoff: it is not UTF-8 text"))?;
        let handoff = history::parse(&text)?;
        Ok((text, handoff))
    }

    /// A handoff without a document, its sections made of what was said.
    fn of_flags(&self) -> Result<Handoff> {
        let Some(goal) = &self.goal else {
            return Err(Error::usage("a handoff needs `--input FILE`, or `--goal` and `--next`")
                .hint("`agent-handover history template` prints a document to fill in"));
        };
        if self.next.iter().all(|next| next.trim().is_empty()) {
            return Err(Error::usage("a handoff needs at least one `--next` that is not empty"));
        }
        let list = |items: &[String]| Value::List(items.iter().map(|item| Value::Text(item.clone())).collect());
        let pair = |text: &str, what: &str| {
            text.rsplit_once('=')
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .ok_or_else(|| Error::usage(format!("`{text}`: expected {what}")))
        };
        let maps = |pairs: Vec<(String, String)>, keys: [&str; 2]| {
            let map = |(a, b): (String, String)| {
                Value::Map(vec![(keys[0].to_owned(), Value::Text(a)), (keys[1].to_owned(), Value::Text(b))])
            };
            Value::List(pairs.into_iter().map(map).collect())
        };
        let split_file = |text: &String| {
            text.split_once('=')
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .ok_or_else(|| Error::usage(format!("`{text}`: expected PATH=REASON")))
        };
        let files = self.file.iter().map(split_file).collect::<Result<Vec<_>>>()?;
        let mut validation =
            self.validation.iter().map(|text| pair(text, "COMMAND=RESULT")).collect::<Result<Vec<_>>>()?;
        if validation.is_empty() {
            validation.push(("(none recorded)".to_owned(), "not_run".to_owned()));
        }
        let tags = if self.tag.is_empty() { vec!["handoff".to_owned()] } else { self.tag.clone() };
        let mut handoff = Handoff::default();
        for field in handoff::REQUIRED {
            let value = match field {
                "primary_goal" => Value::Text(goal.clone()),
                "status" => Value::from("IN_PROGRESS"),
                "active_context_files" => maps(files.clone(), ["path", "reason"]),
                "completed_tasks" => list(&self.done),
                "known_issues" => list(&self.issue),
                "next_todo_items" => list(&self.next),
                "search_tags" => list(&tags),
                "validation" => maps(validation.clone(), ["command", "result"]),
                _ => Value::from(""),
            };
            handoff.set(field, value);
        }
        if !self.decision.is_empty() {
            handoff.set("decisions", list(&self.decision));
        }
        handoff.body = history::body(&history::Sections {
            goal,
            summary: self.summary.as_deref().unwrap_or(goal),
            done: &self.done,
            next: &self.next,
            decisions: &self.decision,
            issues: &self.issue,
            validation: &validation,
            marked: "",
        });
        Ok(handoff)
    }
}

/// What Session Glue advises before it writes.
fn advice(place: &Place, handoff: &Handoff) -> Vec<String> {
    let mut advice = Vec::new();
    let supersedes = handoff.text("supersedes");
    if !supersedes.is_empty() {
        let is_known = place
            .history
            .index()
            .is_ok_and(|index| index.sessions.iter().any(|entry| entry.get("session_id") == supersedes));
        if !is_known {
            let id = handoff::repr(supersedes);
            advice
                .push(format!("WARNING: supersedes references unknown session id {id} (not in INDEX.yaml sessions[])"));
        }
    }
    let last = fs::read_if_exists(&place.history.latest_path()).ok().flatten();
    let last = last.and_then(|bytes| Handoff::parse(&String::from_utf8_lossy(&bytes)).ok());
    let times = last.and_then(|last| {
        Some((history::time_of(last.text("generated_at"))?, history::time_of(handoff.text("generated_at"))?))
    });
    if let Some((before, now)) = times {
        let minutes = (now - before).num_minutes();
        if (0..30).contains(&minutes) && now > before {
            advice.push(format!("WARNING: you glued {minutes} minutes ago — is this session actually bloated?"));
        }
    }
    advice
}

/// Out of `git status`, and said so once.
fn register(place: &Place) -> Vec<String> {
    if git::top_level(&place.root).is_none() {
        return Vec::new();
    }
    match git::keep_out(&place.root, std::slice::from_ref(&place.history.directory)) {
        Ok(added) if added.is_empty() => Vec::new(),
        Ok(_) => vec!["registered .agent-history/ in .git/info/exclude (personal ignore — not committed)".to_owned()],
        Err(error) => vec![format!("could not register .agent-history/ in .git/info/exclude: {}", error.one_line())],
    }
}

/// What may not be meant for others. Told, not blocked: it stays on this machine.
fn leaks(place: &Place, raw: &str) -> Vec<String> {
    let mut kinds: Vec<&str> = secrets::find(raw).into_iter().map(|finding| secrets::label(finding.kind)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut warnings: Vec<String> =
        kinds.into_iter().map(|label| format!("possible secret in handoff: {label}")).collect();
    if let Some(path) = secrets::personal_path(raw).filter(|_| !is_ignored(place)) {
        warnings.push(format!(
            "personal absolute path in handoff: {path} (.agent-history/ is not gitignored, so it may be committed)"
        ));
    }
    if !warnings.is_empty() {
        warnings.push(format!("{} leak warning(s) — review before committing .agent-history/", warnings.len()));
    }
    warnings
}

fn is_ignored(place: &Place) -> bool {
    git::top_level(&place.root).is_none()
        || Git::at(&place.root)
            .ask(&["check-ignore".as_ref(), "--quiet".as_ref(), place.history.latest_path().as_os_str()])
            .is_ok_and(|answer| answer.succeeded)
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
    let text = String::from_utf8_lossy(&bytes).into_owned();
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
