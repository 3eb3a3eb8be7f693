//! Archives the session's handoff. If the session wrote none, one is derived from what is known, and marked as derived.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind};
use crate::base::text;
use crate::config::template::Values;
use crate::error::{Error, Result};
use crate::facts::Session;
use crate::handoff::{self, Handoff, Value};
use crate::history::{self, History, IfTaken, Machine, Sections, registry};

pub(super) const KIND: Kind = Kind {
    name: "history",
    promise: Promise::Repeat,
    newest_wins: false,
    only_reads: false,
    collects: false,
    needs_head: true,
    delivers: false,
    runs_in_worktree: false,
    read: kind::no_keys,
    intend,
    preview,
    missing: kind::needs_nothing,
    act,
    before_resume: kind::leaves_nothing,
    on_interrupt: kind::always_rerun,
};

const MARK: &str = "(derived by agent-handover; the session wrote no handoff)";
/// Ends each line that no person wrote.
const DERIVED: &str = " (derived)";
/// How many files and commits a derived handoff names.
const SHOWN: usize = 20;

fn intend(context: &Context<'_>) -> Result<Intent> {
    if !context.session.handoff.is_empty() {
        return Ok(Intent::Do(json!({ "document": context.session.handoff })));
    }
    Ok(match derive(context.session, context.values, context.known_root) {
        Some(handoff) => Intent::Do(json!({ "document": handoff.render() })),
        None => Intent::Nothing("no handoff was given, and nothing happened".to_owned()),
    })
}

fn preview(context: &Context<'_>, intent: &Json) -> Result<String> {
    let handoff = history::parse(intent["document"].as_str().unwrap_or_default())?;
    Ok(format!("archive session {} in {}", handoff.text("session_id"), context.show(&context.history)))
}

fn act(context: &Context<'_>, intent: &Json) -> Result<Outcome, Failure> {
    let text = intent["document"].as_str().ok_or_else(|| Error::bug("a history intent without a document"))?;
    let handoff = history::parse(text)?;
    // If the same document is archived already, nothing happens: this is what makes the step repeatable.
    let written = History::at(context.root, context.history.clone()).create(&handoff, IfTaken::Refuse)?;
    registry::remember(context.root, &context.history);
    Ok(Outcome::new(context.show(&written.archive)))
}

/// A handoff for a session that wrote none; `None` if nothing is known about it.
pub(crate) fn derive(session: &Session, values: &Values, root: &Path) -> Option<Handoff> {
    let known = Known::of(values);
    let said = [&session.state, &session.note].into_iter().find(|text| !text.trim().is_empty());
    if said.is_none() && !known.has_anything() {
        return None;
    }
    let goal = known.goal(said);
    let (done, issues, next) = (known.done(), known.issues(), known.next(&goal));
    let validation = known.validation();
    let summary = said.cloned().unwrap_or_else(|| known.text("summary"));
    let text_list = |items: &[String]| Value::List(items.iter().map(|item| Value::Text(item.clone())).collect());
    let id = format!(
        "{}-{}",
        history::new_id(&session.at, goal.trim_end_matches(DERIVED)),
        session.run[session.run.len().saturating_sub(6)..].to_lowercase()
    );
    let mut handoff = Handoff::default();
    for name in handoff::REQUIRED {
        let value = match name {
            "session_id" => Value::Text(id.clone()),
            "status" => Value::from("IN_PROGRESS"),
            "primary_goal" => Value::Text(text::kept_line(&goal, 300)),
            "active_context_files" => Value::List(known.files()),
            "completed_tasks" => text_list(&done),
            "known_issues" => text_list(&issues),
            "next_todo_items" => text_list(&next),
            "search_tags" => text_list(&[session.tag.clone(), "derived".to_owned()]),
            "validation" => Value::List(validation.iter().map(Check::value).collect()),
            name if handoff::LIST_FIELDS.contains(&name) => Value::List(Vec::new()),
            _ => Value::from(""),
        };
        handoff.set(name, value);
    }
    history::fill_in(&mut handoff, &machine(session, root));
    let ran: Vec<(String, String)> =
        validation.iter().map(|check| (check.command.clone(), check.result.clone())).collect();
    handoff.body = history::body(&Sections {
        goal: &goal,
        summary: &summary,
        done: &done,
        next: &next,
        decisions: &[],
        issues: &issues,
        validation: &ran,
        marked: MARK,
    });
    Some(handoff)
}

/// A command that the session ran to validate its work.
struct Check {
    command: String,
    result: String,
    notes: String,
}

impl Check {
    fn value(&self) -> Value {
        let pair = |key: &str, value: &str| (key.to_owned(), Value::from(value));
        Value::Map(vec![pair("command", &self.command), pair("result", &self.result), pair("notes", &self.notes)])
    }
}

/// What `collect` found, in the form that a handoff needs. Each line says that it is derived.
struct Known<'a> {
    values: &'a Values,
    commits: &'a [Json],
    changes: &'a [Json],
    dirty: &'a [Json],
    edited: &'a [Json],
    tests: &'a [Json],
    todos: &'a [Json],
}

impl Known<'_> {
    fn of(values: &Values) -> Known<'_> {
        let items = |name: &str| values.get(name).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        Known {
            values,
            commits: items("commits"),
            changes: items("changes"),
            dirty: items("dirty"),
            edited: items("edited"),
            tests: items("tests"),
            todos: items("todos"),
        }
    }

    fn text(&self, name: &str) -> String {
        self.values.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
    }

    fn has_anything(&self) -> bool {
        let lists = [self.commits, self.dirty, self.edited, self.tests, self.todos];
        lists.iter().any(|list| !list.is_empty()) || !self.text("goal").is_empty()
    }

    /// The first request, if the transcript has one; else the first line of what the session said.
    fn goal(&self, said: Option<&String>) -> String {
        let asked = text::kept_line(&self.text("goal"), 280);
        if !asked.is_empty() {
            return asked + DERIVED;
        }
        let first_line = |text: &String| text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
        said.and_then(first_line).unwrap_or_else(|| format!("Work on {}", self.text("branch")))
    }

    fn done(&self) -> Vec<String> {
        let commits = self.commits.iter().map(|commit| format!("{} (commit, derived)", field(commit, "subject")));
        let todos = self.todos.iter().filter(|todo| todo["status"] == "completed");
        let todos = todos.map(|todo| format!("{} (to-do, derived)", field(todo, "text")));
        commits.take(SHOWN).chain(todos.take(SHOWN)).collect()
    }

    fn issues(&self) -> Vec<String> {
        let failed = self.tests.iter().filter(|test| test["result"] == "failed");
        failed
            .take(SHOWN)
            .map(|test| format!("`{}` failed when it last ran (derived)", field(test, "command")))
            .collect()
    }

    /// The next actions: what was begun, what was planned, what git shows to be unfinished. The first one must be work.
    fn next(&self, goal: &str) -> Vec<String> {
        let with = |status: &'static str| self.todos.iter().filter(move |todo| todo["status"] == status);
        let mut next: Vec<String> =
            with("in_progress").chain(with("pending")).map(|todo| field(todo, "text")).collect();
        next.truncate(SHOWN);
        next.sort_by_key(|item| handoff::resume_mechanic(item).is_some());
        if next.first().is_none_or(|first| handoff::resume_mechanic(first).is_some()) {
            next.insert(0, self.otherwise(goal));
        }
        next.iter().map(|item| format!("{item}{DERIVED}")).collect()
    }

    fn otherwise(&self, goal: &str) -> String {
        if let Some(failed) = self.tests.iter().rev().find(|test| test["result"] == "failed") {
            return format!("Find out why `{}` fails", field(failed, "command"));
        }
        if !self.dirty.is_empty() {
            let paths: Vec<String> = self.dirty.iter().take(SHOWN).map(|item| field(item, "path")).collect();
            return format!("Finish the uncommitted changes in {}", paths.join(", "));
        }
        let asked = text::kept_line(&self.text("last_request"), 280);
        let from = if asked.is_empty() { goal.trim_end_matches(DERIVED) } else { &asked };
        format!("Decide what follows from: {from}")
    }

    /// The commands that ran and whose outcome is known.
    fn validation(&self) -> Vec<Check> {
        let ran = self.tests.iter().filter(|test| test["result"] == "passed" || test["result"] == "failed");
        let checks: Vec<Check> = ran
            .take(SHOWN)
            .map(|test| {
                let code = test["exit_code"].as_i64().map(|code| format!("exit code {code}; ")).unwrap_or_default();
                let notes = format!("{code}derived from the transcript");
                Check { command: field(test, "command"), result: field(test, "result"), notes }
            })
            .collect();
        if !checks.is_empty() {
            return checks;
        }
        let (command, result) = ("(none recorded)".to_owned(), "not_run".to_owned());
        vec![Check { command, result, notes: "derived; nothing was run".to_owned() }]
    }

    fn files(&self) -> Vec<Value> {
        let pair = |key: &str, value: String| (key.to_owned(), Value::Text(value));
        let edited: Vec<&str> = self.edited.iter().filter_map(Json::as_str).collect();
        let changed = self.changes.iter().filter(|change| change["status"] != "D");
        let changed = changed.filter(|change| !edited.contains(&change["path"].as_str().unwrap_or_default()));
        let of_transcript =
            edited.iter().map(|path| ((*path).to_owned(), "edited in this session (derived)".to_owned()));
        let of_git = changed.map(|change| {
            (field(change, "path"), format!("changed in this session ({}, derived)", field(change, "status")))
        });
        let both = of_transcript.take(SHOWN).chain(of_git.take(SHOWN));
        both.map(|(path, reason)| Value::Map(vec![pair("path", path), pair("reason", reason)])).collect()
    }
}

fn field(item: &Json, key: &str) -> String {
    item[key].as_str().unwrap_or_default().to_owned()
}

/// The machine as it was when the run was recorded, so that a resume makes the same document.
fn machine(session: &Session, root: &Path) -> Machine {
    Machine {
        now: session.at,
        root: root.display().to_string(),
        worktree: session.worktree.clone(),
        branch: session.branch.clone(),
        commit: session.head.clone(),
        agent: session.agent.clone(),
    }
}
