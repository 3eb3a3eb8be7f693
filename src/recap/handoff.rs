//! The account as a handoff, for a session that wrote none.

use std::borrow::Cow;
use std::path::Path;

use serde_json::Value as Json;

use super::note_lines::{self, Part};
use super::{Account, Before, Check, Seen, account_of, write_sections};
use crate::base::text;
use crate::config::template::Values;
use crate::facts::{self, Session};
use crate::git::Change;
use crate::handoff::{self, Handoff, Value};
use crate::history::{self, DERIVED_TAG, Machine, Sections};
use crate::transcript::Outcome;

const MARK: &str = "(made by agent-handover; the session wrote no handoff)";
/// The beginnings of next actions that nobody stated.
const FIND_OUT: &str = "Find out why `";
const FINISH: &str = "Finish the uncommitted changes in ";
/// The field that says that the goal is only a title, because nobody stated one.
const GOAL_STATED: &str = "goal_stated";
/// The next action of a session that left nothing open. A handoff must name one.
const NOTHING_OPEN: &str = "(nothing was left open)";
/// Where a check was seen, in its notes.
const SEEN: &str = "seen in the transcript";
const RUN_HERE: &str = "run by the handover";
/// How much of what a session said is in a derived handoff, in bytes. Every session reads the latest one.
pub(crate) const MOST_SUMMARY: usize = 64 << 10;
/// How many files and commits a derived handoff names.
const SHOWN: usize = 20;

/// The goal of a handoff; empty if it has only a title there.
pub(crate) fn stated_goal(handoff: &Handoff) -> &str {
    if handoff.text(GOAL_STATED) == "no" { "" } else { handoff.text("primary_goal") }
}

/// Whether this next action was made up, because a handoff must have one and nobody stated any.
pub(crate) fn is_made_up(next: &str) -> bool {
    next.starts_with(FIND_OUT) || next.starts_with(FINISH)
}

/// Whether this program wrote what a handoff notes about a check.
pub(crate) fn is_made_note(notes: &str) -> bool {
    [SEEN, RUN_HERE].iter().any(|made| notes.starts_with(made))
}

/// The next actions of a handoff. Nobody said that uncommitted changes are unfinished, and the page names them anyway.
pub(crate) fn stated_next(handoff: &Handoff) -> Vec<&str> {
    let is_stated = |next: &&str| *next != NOTHING_OPEN && !next.starts_with(FINISH);
    handoff.texts("next_todo_items").into_iter().filter(is_stated).collect()
}

/// The state or the note of a session, which its handoff quotes; empty if it gave neither.
pub(crate) fn given_text(session: &Session) -> &str {
    [&session.state, &session.note].into_iter().find(|text| !text.trim().is_empty()).map_or("", String::as_str)
}

/// A handoff for a session that wrote none; `None` if it did nothing that the next session has to know.
/// The document shows at most [`MOST_SUMMARY`] bytes of what the session said, and names the place of the whole text.
pub(crate) fn handoff(session: &Session, values: &Values, root: &Path, whole_is_in: &str) -> Option<Handoff> {
    let known = Known::of(values);
    let said = Some(given_text(session)).filter(|text| !text.is_empty());
    if said.is_none() && (known.account.is_idle || !known.has_anything()) {
        return None;
    }
    let stated = known.account.goal.as_ref().map(|goal| text::kept_line(&goal.text, 280));
    let title = known.title(said);
    let goal = stated.clone().unwrap_or_else(|| said.and_then(first_done).unwrap_or_else(|| title.clone()));
    let (done, issues, next, dead_ends) = (known.done(), known.issues(), known.next(), known.dead_ends());
    let decisions: Vec<String> = known.account.decisions.iter().map(|line| line.text.clone()).collect();
    let validation = known.validation();
    let summary =
        said.map_or_else(|| Cow::Owned(known.summary()), |said| text::clipped(said, MOST_SUMMARY, whole_is_in));
    let text_list = |items: &[String]| Value::List(items.iter().map(|item| Value::Text(item.clone())).collect());
    let id = format!(
        "{}-{}",
        // The id must be the same if another run changes the memory before this step is repeated.
        history::new_id(&session.at, &title),
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
            "search_tags" => text_list(&[session.tag.clone(), DERIVED_TAG.to_owned()]),
            "validation" => Value::List(validation.iter().map(Validation::value).collect()),
            name if handoff::LIST_FIELDS.contains(&name) => Value::List(Vec::new()),
            _ => Value::from(""),
        };
        handoff.set(name, value);
    }
    if stated.is_none() {
        handoff.set(GOAL_STATED, Value::from("no"));
    }
    history::fill_in(&mut handoff, &machine(session, root));
    facts::add_working_tree(&mut handoff, &known.uncommitted());
    let ran: Vec<(String, String)> =
        validation.iter().map(|check| (check.command.clone(), check.result.to_owned())).collect();
    handoff.body = history::body(&Sections {
        goal: &goal,
        summary: &summary,
        done: &done,
        next: &next,
        decisions: &decisions,
        issues: &issues,
        dead_ends: &dead_ends,
        validation: &ran,
        marked: MARK,
    });
    handoff.body.push_str(&write_sections(&known.account));
    Some(handoff)
}

/// What a text says first, without what it says about later: "parser done" of "parser done; next: spans". `None` if its first
/// line does not begin with something that was done.
fn first_done(said: &str) -> Option<String> {
    let (part, done) = note_lines::parse(said).into_iter().next()?;
    let begins = said.trim_start().starts_with(&done);
    (part == Part::Done && begins && !done.contains('\n')).then_some(done)
}

/// A command that shows how good the work is, as a handoff has it.
struct Validation {
    command: String,
    result: &'static str,
    notes: String,
}

impl Validation {
    fn of(check: &Check) -> Option<Validation> {
        let (result, code) = match check.outcome {
            Outcome::Passed => ("passed", None),
            Outcome::Failed(code) => ("failed", code),
            Outcome::Unknown => return None,
        };
        let seen = match check.seen {
            Seen::Transcript => SEEN,
            Seen::Here => RUN_HERE,
        };
        let code = code.map(|code| format!("; exit code {code}")).unwrap_or_default();
        // Below a second the time says nothing, and another attempt would make another document of the same session.
        let took = check.took_ms.filter(|took| *took >= 1_000).map(|took| format!("; took {} s", took / 1_000));
        let notes = format!("{seen}{code}{}", took.unwrap_or_default());
        Some(Validation { command: check.command.clone(), result, notes })
    }

    fn value(&self) -> Value {
        let pair = |key: &str, value: &str| (key.to_owned(), Value::from(value));
        Value::Map(vec![pair("command", &self.command), pair("result", self.result), pair("notes", &self.notes)])
    }
}

/// The account of the session with what it leaves open from before, and what git shows.
struct Known<'a> {
    values: &'a Values,
    account: Account,
    /// The goal of this session, whatever was the goal before.
    own_goal: Option<String>,
    commits: &'a [Json],
    changes: &'a [Json],
    dirty: &'a [Json],
    edited: &'a [Json],
    edited_by_subagents: &'a [Json],
    todos: &'a [Json],
}

impl Known<'_> {
    fn of(values: &Values) -> Known<'_> {
        let items = |name: &str| values.get(name).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let todos = items("todos");
        let completed: Vec<String> =
            todos.iter().filter(|todo| todo["status"] == "completed").map(|todo| field(todo, "text")).collect();
        let mut account = account_of(values);
        let own_goal = account.goal.as_ref().map(|goal| goal.text.clone());
        let subjects: Vec<String> = items("commits").iter().map(|commit| field(commit, "subject")).collect();
        Before::of(values).carry_into(&mut account, &completed, &subjects);
        Known {
            values,
            account,
            own_goal,
            commits: items("commits"),
            changes: items("changes"),
            dirty: items("dirty"),
            edited: items("edited"),
            edited_by_subagents: items("edited_by_subagents"),
            todos,
        }
    }

    fn text(&self, name: &str) -> String {
        self.values.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
    }

    /// Whether anything happened in the session itself.
    fn has_anything(&self) -> bool {
        let lists = [self.commits, self.dirty, self.edited, self.todos];
        let account = &self.account;
        lists.iter().any(|list| !list.is_empty())
            || !account.asked.is_empty()
            || !account.conclusions.is_empty()
            || !account.checks.is_empty()
    }

    /// What the session itself was about: its own goal, the first line of what it said, or its last request.
    fn title(&self, said: Option<&str>) -> String {
        let own = self.own_goal.as_deref();
        let first = said.and_then(|text| text.lines().map(str::trim).find(|line| !line.is_empty()));
        let asked = || self.account.asked.last().map(|line| line.text.as_str());
        match own.or(first).or_else(asked) {
            Some(title) => text::kept_line(title, 280),
            None => format!("Work on {}", self.text("branch")).trim_end().to_owned(),
        }
    }

    /// The agent's last words; without them, what the summary says.
    fn summary(&self) -> String {
        self.account.last_words().map_or_else(|| self.text("summary"), |line| line.text.clone())
    }

    fn done(&self) -> Vec<String> {
        let said = self.account.done.iter().map(|line| line.text.clone());
        let commits = self.commits.iter().map(|commit| format!("{} (commit)", field(commit, "subject")));
        let todos = self.todos.iter().filter(|todo| todo["status"] == "completed");
        let todos = todos.map(|todo| format!("{} (to-do)", field(todo, "text")));
        said.take(SHOWN).chain(commits.take(SHOWN)).chain(todos.take(SHOWN)).collect()
    }

    fn issues(&self) -> Vec<String> {
        let said = self.account.known_issues.iter().map(|line| line.text.clone());
        self.account.failing().map(|check| check.issue()).chain(said).take(SHOWN).collect()
    }

    fn dead_ends(&self) -> Vec<String> {
        self.account.dead_ends.iter().map(|line| line.text.clone()).collect()
    }

    /// The next actions. The first one must be work.
    fn next(&self) -> Vec<String> {
        let mut next: Vec<String> = self.account.next.iter().take(SHOWN).map(|line| line.text.clone()).collect();
        next.sort_by_key(|item| handoff::resume_mechanic(item).is_some());
        if next.first().is_none_or(|first| handoff::resume_mechanic(first).is_some()) {
            next.insert(0, self.otherwise());
        }
        next
    }

    fn otherwise(&self) -> String {
        if let Some(failing) = self.account.failing().last() {
            return format!("{FIND_OUT}{}` fails", failing.command);
        }
        if !self.dirty.is_empty() {
            let paths: Vec<String> = self.dirty.iter().take(SHOWN).map(|item| field(item, "path")).collect();
            return format!("{FINISH}{}", paths.join(", "));
        }
        NOTHING_OPEN.to_owned()
    }

    /// The commands that ran and whose outcome is known.
    fn validation(&self) -> Vec<Validation> {
        let checks: Vec<Validation> = self.account.checks.iter().filter_map(Validation::of).take(SHOWN).collect();
        if !checks.is_empty() {
            return checks;
        }
        let notes = "nothing was run".to_owned();
        vec![Validation { command: "(none recorded)".to_owned(), result: "not_run", notes }]
    }

    fn uncommitted(&self) -> Vec<Change> {
        self.dirty.iter().filter_map(|change| serde_json::from_value(change.clone()).ok()).collect()
    }

    fn files(&self) -> Vec<Value> {
        let pair = |key: &str, value: String| (key.to_owned(), Value::Text(value));
        let edited: Vec<&str> = self.edited.iter().filter_map(Json::as_str).collect();
        let changed = self.changes.iter().filter(|change| change["status"] != "D");
        let changed = changed.filter(|change| !edited.contains(&change["path"].as_str().unwrap_or_default()));
        let reason = |path: &str| {
            let is_theirs = self.edited_by_subagents.iter().any(|other| other == path);
            if is_theirs { "edited by a sub-agent in this session" } else { "edited in this session" }
        };
        let of_transcript = edited.iter().map(|path| ((*path).to_owned(), reason(path).to_owned()));
        let of_git = changed
            .map(|change| (field(change, "path"), format!("changed in this session ({})", field(change, "status"))));
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
        agent_session: session.agent_session().to_owned(),
    }
}
