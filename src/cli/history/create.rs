//! `history create`: a handoff from a document or from flags.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::super::Context;
use super::{HistoryPlace, answer, brake, leaks, machine};
use crate::base::{fs, text};
use crate::engine;
use crate::error::{Error, Result};
use crate::facts;
use crate::git;
use crate::guard::Pause;
use crate::handoff::{self, Handoff, HandoffProblemKind, Value};
use crate::history::{self, IfTaken, registry};
use crate::steps;

/// The largest document. The next agent reads a handoff as a whole.
const MAX_INPUT: u64 = 4 << 20;

/// Archive a handoff from a document or from flags
#[derive(Args)]
pub(super) struct Create {
    /// The document; `-` is standard input, which is also read if nothing else is given
    #[arg(long, short, value_name = "FILE", allow_hyphen_values = true)]
    input: Option<PathBuf>,
    /// Archive it although its first next action only says to resume, such as "read the handoff"
    #[arg(long)]
    allow_flagged_todo: bool,
    /// Do not register the directory in git's info/exclude
    #[arg(long)]
    no_exclude: bool,
    /// Refuse what Session Glue refuses: missing fields, and ids that have the same file name there
    #[arg(long)]
    strict: bool,
    /// If the session id exists already, archive the document under a new id that supersedes it
    #[arg(long)]
    supersede: bool,
    /// What the work is for
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "input")]
    goal: Option<String>,
    /// What was done and where it stands
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "input")]
    summary: Option<String>,
    /// What to do next; may be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "input")]
    next: Vec<String>,
    /// A task that is done; may be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "input")]
    done: Vec<String>,
    /// A known problem or a failed attempt; may be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "input")]
    issue: Vec<String>,
    /// A decision; may be repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "input")]
    decision: Vec<String>,
    /// A file to read, and the reason; may be repeated
    #[arg(long, value_name = "PATH=REASON", allow_hyphen_values = true, conflicts_with = "input")]
    file: Vec<String>,
    /// A word to search for; may be repeated
    #[arg(long, value_name = "TAG", allow_hyphen_values = true, conflicts_with = "input")]
    tag: Vec<String>,
    /// A command and its result: passed, failed or not_run; may be repeated
    #[arg(long, value_name = "COMMAND=RESULT", allow_hyphen_values = true, conflicts_with = "input")]
    validation: Vec<String>,
    /// The agent that ran the session
    #[arg(long, value_name = "NAME", visible_alias = "agent")]
    tool: Option<String>,
}

/// Where the id of a session is from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    /// The document has it.
    Given,
    /// The program made it of the time and the goal. It is renamed if another session has it.
    Made,
}

impl Create {
    pub(super) fn execute(self, context: &mut Context<'_>, place: &HistoryPlace, as_json: bool) -> Result<u8> {
        if let Some(broken) = git::broken_at(&place.root) {
            return Err(Error::failed(format!("{broken}; nothing was archived")).hint(
                "repair it, or move it away, and run the command again; `agent-handover run --handoff FILE` keeps the \
                 handoff without git",
            ));
        }
        let (raw, mut handoff) = self.read(context)?;
        place.finish_interrupted(context);
        let id = if handoff.text("session_id").trim().is_empty() { Id::Made } else { Id::Given };
        if self.strict {
            self.refuse_problems(&handoff)?;
        }
        history::fill_in(&mut handoff, &machine(place, self.tool.as_deref()));
        facts::add_working_tree(&mut handoff, &facts::uncommitted(&place.root));
        let mut warnings = self.refuse_problems(&handoff)?;
        if self.strict {
            place.history.refuse_shared_name(handoff.text("session_id"))?;
        }
        warnings.extend(advice(place, &handoff, context.ui.has_voice()));
        if let Some(pause) = brake(&place.root).paused() {
            return Err(self.defer(context, place, &pause, (&raw, &handoff, id), warnings));
        }
        let if_taken = match (id, self.supersede) {
            (_, true) => IfTaken::Supersede,
            (Id::Given, false) => IfTaken::Refuse,
            (Id::Made, false) => IfTaken::RenameAlways,
        };
        place.prepare()?;
        let step = steps::history_create(&handoff, if_taken == IfTaken::RenameAlways, place.has_memory())?;
        let written = place.carry_out(context, step, self.tool.as_deref(), self.no_exclude, |issued| {
            let written = place.history.create(&handoff, if_taken)?;
            registry::remember(&place.memory_root, &place.history.directory);
            match place.feed_memory(&handoff, issued) {
                Ok(forgotten) => warnings.extend(forgotten),
                Err(error) => {
                    issued.memory_failed();
                    warnings.push(format!("the current state does not have it yet: {}", error.one_line()));
                }
            }
            Ok(written)
        })?;
        let registered = if self.no_exclude { Vec::new() } else { register(place) };
        warnings.extend(leaks::warnings(place, &raw, self.strict));
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

    /// Records the handoff while everything is paused. Returns the error with which the command ends.
    fn defer(
        &self,
        context: &Context<'_>,
        place: &HistoryPlace,
        pause: &Pause,
        (raw, handoff, id): (&str, &Handoff, Id),
        mut warnings: Vec<String>,
    ) -> Error {
        let is_refused_if_taken = id == Id::Given && !self.supersede;
        let refused = if is_refused_if_taken { refuse_taken(place, handoff) } else { Ok(()) };
        let is_renamed = id == Id::Made && !self.supersede;
        match refused.and_then(|()| steps::history_create(handoff, is_renamed, place.has_memory())) {
            Err(error) => error,
            Ok(step) => {
                warnings.extend(leaks::warnings(place, raw, self.strict));
                for warning in &warnings {
                    context.ui.warn(warning);
                }
                place.defer(pause, step, self.tool.as_deref(), self.no_exclude)
            }
        }
    }

    /// Refuses a handoff with problems. Returns warnings about those that `--allow-flagged-todo` lets pass.
    fn refuse_problems(&self, handoff: &Handoff) -> Result<Vec<String>> {
        let (flagged, problems): (Vec<_>, Vec<_>) = handoff::check(handoff).into_iter().partition(|problem| {
            self.allow_flagged_todo && matches!(problem.kind, HandoffProblemKind::ResumeMechanic { .. })
        });
        if !problems.is_empty() {
            return Err(history::refuse(&problems));
        }
        let allowed = "proceeding anyway because --allow-flagged-todo was passed.";
        let warnings = flagged.iter().flat_map(|problem| [format!("WARNING: {}", problem.kind), allowed.to_owned()]);
        Ok(warnings.collect())
    }

    fn read(&self, context: &Context<'_>) -> Result<(String, Handoff)> {
        let is_piped = !std::io::stdin().is_terminal();
        let source: Box<dyn Read> = match &self.input {
            None if self.is_any_flag_given() || !is_piped => return self.read_flags(),
            Some(input) if input.as_os_str() != "-" => {
                let path = context.cwd.join(input);
                Box::new(fs::open(&path).map_err(|error| error.lead("cannot read input: "))?)
            }
            _ => {
                if !is_piped {
                    context.ui.warn("reading handoff from stdin — pipe a file or pass --input PATH");
                }
                Box::new(std::io::stdin().lock())
            }
        };
        let input = self.input.as_deref().unwrap_or(Path::new("-"));
        let failed = |cause: std::io::Error| Error::io("read", input, cause);
        let bytes = fs::read_at_most(source, MAX_INPUT).map_err(failed)?;
        if bytes.len() as u64 > MAX_INPUT {
            return Err(Error::bad_data("invalid handoff: it is larger than 4 MiB")
                .hint("a handoff is read whole by the next agent"));
        }
        // Without a document and without flags the command line is what is wrong.
        if bytes.is_empty() && self.input.is_none() {
            return self.read_flags();
        }
        let text = String::from_utf8(bytes).map_err(|_| Error::bad_data("invalid handoff: it is not UTF-8 text"))?;
        let handoff = history::parse(&text)?;
        Ok((text, handoff))
    }

    /// Whether a flag gives a part of a handoff.
    fn is_any_flag_given(&self) -> bool {
        let lists = [&self.next, &self.done, &self.issue, &self.decision, &self.file, &self.tag, &self.validation];
        self.goal.is_some() || self.summary.is_some() || lists.iter().any(|list| !list.is_empty())
    }

    fn read_flags(&self) -> Result<(String, Handoff)> {
        let handoff = self.of_flags()?;
        Ok((handoff.render(), handoff))
    }

    /// Makes a handoff of the flags, for a session without a document.
    fn of_flags(&self) -> Result<Handoff> {
        let Some(goal) = &self.goal else {
            return Err(Error::usage("a handoff needs a document, or `--goal` and `--next`")
                .hint("`agent-handover history template` prints a document to fill in; pass it with `--input FILE` or pipe it"));
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
            dead_ends: &[],
            validation: &validation,
            marked: "",
        });
        Ok(handoff)
    }
}

/// Refuses a handoff whose id belongs to another one that is archived or waits to be.
fn refuse_taken(place: &HistoryPlace, handoff: &Handoff) -> Result<()> {
    place.history.refuse_taken(handoff)?;
    let waiting = engine::waiting_commands(&place.project()?)?.unwrap_or_default();
    let mut waiting = waiting.iter().filter_map(|(kind, params)| steps::handoff_to_create(kind, params));
    let id = handoff.text("session_id");
    if waiting.any(|other| other.text("session_id") == id && other.render() != handoff.render()) {
        let message = format!("session {} waits to be archived already with another content", handoff::repr(id));
        return Err(Error::failed(message).hint("`--supersede` makes a new one that supersedes it"));
    }
    Ok(())
}

/// The warnings that Session Glue gives before it writes, in its words if it was typed.
fn advice(place: &HistoryPlace, handoff: &Handoff, is_peer: bool) -> Vec<String> {
    let mut advice = Vec::new();
    let supersedes = handoff.text("supersedes");
    if !supersedes.is_empty() {
        let is_known = place
            .history
            .index()
            .is_ok_and(|index| index.sessions.iter().any(|entry| entry.get("session_id") == supersedes));
        if !is_known {
            let id = handoff::repr(supersedes);
            advice.push(if is_peer {
                format!("WARNING: supersedes references unknown session id {id} (not in INDEX.yaml sessions[])")
            } else {
                format!("the session that this one supersedes is not on record here: {id}")
            });
        }
    }
    let last = place.history.latest_text().ok().flatten().and_then(|text| Handoff::parse(&text).ok());
    let times = last.and_then(|last| {
        Some((history::time_of(last.text("generated_at"))?, history::time_of(handoff.text("generated_at"))?))
    });
    if let Some((before, now)) = times {
        let minutes = (now - before).num_minutes();
        if (0..30).contains(&minutes) && now > before {
            advice.push(match (is_peer, minutes) {
                (true, _) => format!("WARNING: you glued {minutes} minutes ago — is this session actually bloated?"),
                (false, 0) => "the last handoff is less than a minute old; one a session is enough".to_owned(),
                (false, _) => {
                    format!(
                        "the last handoff is {} old; one a session is enough",
                        text::count(usize::try_from(minutes).unwrap_or_default(), "minute")
                    )
                }
            });
        }
    }
    advice
}

/// Keeps the history out of `git status`. Returns a line to report, the first time only.
pub(super) fn register(place: &HistoryPlace) -> Vec<String> {
    if !place.is_in_work_tree() {
        return Vec::new();
    }
    match git::keep_out(&place.memory_root, std::slice::from_ref(&place.history.directory)) {
        Ok(added) if added.is_empty() => Vec::new(),
        Ok(_) => vec!["registered .agent-history/ in .git/info/exclude (personal ignore — not committed)".to_owned()],
        Err(error) => vec![format!("could not register .agent-history/ in .git/info/exclude: {}", error.one_line())],
    }
}
