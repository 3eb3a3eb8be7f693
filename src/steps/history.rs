//! Archives the session's handoff, or one made of what is known about it and marked as such.

use serde_json::{Value as Json, json};

use super::{Context, Failure, Intent, Kind, Outcome, Promise};
use crate::error::{Error, Result};
use crate::handoff::{self, Handoff, Value};
use crate::history::{self, History, IfTaken, Machine, Sections, registry};

pub const KIND: Kind = Kind {
    name: "history",
    promise: Promise::Repeat,
    newest_wins: false,
    only_reads: false,
    read: super::no_keys,
    intend,
    preview,
    act,
    before_resume: super::leaves_nothing,
    landed: super::never_asked,
    on_interrupt: super::always_rerun,
};

const MARK: &str = "(derived by agent-handover; the session wrote no handoff)";
/// How many files and commits a derived handoff names.
const SHOWN: usize = 20;

fn intend(context: &Context<'_>) -> Result<Intent> {
    if !context.session.handoff.is_empty() {
        return Ok(Intent::Do(json!({ "document": context.session.handoff })));
    }
    Ok(match derive(context) {
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
    // The same document again is found archived, so twice equals once.
    let written = History::at(context.history.clone()).create(&handoff, IfTaken::Refuse)?;
    registry::remember(context.root, &context.history);
    Ok(Outcome::new(context.show(&written.archive)))
}

/// What can be said for a session that said little or nothing.
fn derive(context: &Context<'_>) -> Option<Handoff> {
    let session = context.session;
    let items = |name: &str| context.values.get(name).and_then(Json::as_array).cloned().unwrap_or_default();
    let (commits, changes, dirty) = (items("commits"), items("changes"), items("dirty"));
    let said = [&session.state, &session.note].into_iter().find(|text| !text.trim().is_empty());
    if said.is_none() && commits.is_empty() && dirty.is_empty() {
        return None;
    }
    let field = |item: &Json, key: &str| item[key].as_str().unwrap_or_default().to_owned();
    let done: Vec<String> =
        commits.iter().take(SHOWN).map(|commit| format!("{} (commit, derived)", field(commit, "subject"))).collect();
    let paths = |items: &[Json]| items.iter().take(SHOWN).map(|item| field(item, "path")).collect::<Vec<_>>();
    let first_line =
        |text: &String| text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
    let goal = said.map(first_line).unwrap_or_else(|| format!("Work on {}", context.value("branch")));
    let next = if dirty.is_empty() {
        format!("Decide what follows from: {goal} (derived)")
    } else {
        format!("Finish the uncommitted changes in {} (derived)", paths(&dirty).join(", "))
    };
    let summary = said.cloned().unwrap_or_else(|| context.value("summary"));
    let text_list = |items: &[String]| Value::List(items.iter().map(|item| Value::Text(item.clone())).collect());
    let pair = |key: &str, value: String| (key.to_owned(), Value::Text(value));
    let files = changes.iter().filter(|change| change["status"] != "D").take(SHOWN).map(|change| {
        let reason = format!("changed in this session ({}, derived)", field(change, "status"));
        Value::Map(vec![pair("path", field(change, "path")), pair("reason", reason)])
    });
    let not_run = ("(none recorded)".to_owned(), "not_run".to_owned());
    let mut handoff = Handoff::default();
    let id = format!(
        "{}-{}",
        history::new_id(&session.at, &goal),
        session.run[session.run.len().saturating_sub(6)..].to_lowercase()
    );
    for name in handoff::REQUIRED {
        let value = match name {
            "session_id" => Value::Text(id.clone()),
            "status" => Value::from("IN_PROGRESS"),
            "primary_goal" => Value::Text(crate::base::text::one_line(&goal, 300)),
            "active_context_files" => Value::List(files.clone().collect()),
            "completed_tasks" => text_list(&done),
            "next_todo_items" => text_list(std::slice::from_ref(&next)),
            "search_tags" => text_list(&[session.tag.clone(), "derived".to_owned()]),
            "validation" => Value::List(vec![Value::Map(vec![
                pair("command", not_run.0.clone()),
                pair("result", not_run.1.clone()),
                pair("notes", "derived; nothing was run".to_owned()),
            ])]),
            name if handoff::LIST_FIELDS.contains(&name) => Value::List(Vec::new()),
            _ => Value::from(""),
        };
        handoff.set(name, value);
    }
    history::fill_in(&mut handoff, &machine(context));
    handoff.body = history::body(&Sections {
        goal: &goal,
        summary: &summary,
        done: &done,
        next: std::slice::from_ref(&next),
        decisions: &[],
        issues: &[],
        validation: std::slice::from_ref(&not_run),
        marked: MARK,
    });
    Some(handoff)
}

/// As it was when the run was recorded, so that a resume makes the same document.
fn machine(context: &Context<'_>) -> Machine {
    let session = context.session;
    Machine {
        now: session.at,
        root: context.root.display().to_string(),
        branch: session.branch.clone(),
        commit: session.head.clone(),
        agent: session.agent.clone(),
    }
}
