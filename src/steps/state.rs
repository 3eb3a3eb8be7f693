//! Updates the current state in layer 2, the file that the next session reads first.

use std::borrow::Cow;
use std::path::PathBuf;

use chrono::{DateTime, FixedOffset};
use serde_json::{Value, json};

use super::history::written_by_session;
use super::{Context, Failure, Intent, Kind, Outcome, Promise, kind, said};
use crate::base::ids::short_run_id;
use crate::base::text;
use crate::error::Result;
use crate::facts::Session;
use crate::guard::{own_record, secrets};
use crate::handoff::Handoff;
use crate::memory::{Author, ChangeVerb, Edits, Memory, own_keys};
use crate::recap::{self, StateAccount, Wrote};

pub(super) const KIND: Kind = Kind {
    name: "state",
    promise: Promise::Repeat,
    newest_wins: true,
    only_reads: false,
    collects: false,
    needs_head: false,
    delivers: false,
    runs_in_worktree: false,
    keeps,
    read: kind::read_content,
    intend,
    preview,
    missing: kind::needs_nothing,
    act,
    before_resume: kind::leaves_nothing,
    missing_from,
    on_interrupt: kind::always_rerun,
};

/// The lists of a handoff, and the category of the current state that each goes to. Decisions are added to those that are
/// there.
const SAID_IN_LISTS: [(&str, &str); 4] = [
    ("decisions", "decision"),
    ("next_todo_items", "open_loop"),
    ("known_issues", "known_issue"),
    ("completed_tasks", "recent_change"),
];

/// The longest free text of the current state, in bytes. Every session reads it.
pub(crate) const MOST_STATE_TEXT: usize = 512 << 10;

fn keeps(params: &Value, session: &Session) -> Vec<&'static str> {
    match params {
        Value::String(_) => kind::keeps_mentioned(params, session),
        // Without a state, the note is the state.
        _ if session.state.trim().is_empty() => vec!["note"],
        _ => vec!["state"],
    }
}

fn intend(context: &Context<'_>) -> Result<Intent> {
    let content = match context.params.as_str() {
        Some(template) => Cow::Owned(context.render(template)?),
        None if !context.session.state.trim().is_empty() => Cow::Borrowed(context.session.state.as_str()),
        None => Cow::Borrowed(context.session.note.as_str()),
    };
    let listed = of_handoff(&context.session.handoff);
    let wrote = match (listed.is_empty(), content.trim().is_empty()) {
        (false, _) => Wrote::Handoff,
        (true, false) => Wrote::Note,
        (true, true) if written_by_session(context).is_some() => Wrote::EarlierHandoff,
        (true, true) => Wrote::Nothing,
    };
    let account = of_account(context, wrote);
    let memory = Memory::at(context.root, context.memory.clone());
    let changes_nothing = account.changes_nothing(&memory.state_for_saying()?);
    if let Some(younger) = context.overtaken_by {
        let session = context.session;
        if listed.is_empty()
            && changes_nothing
            && memory.is_noted(&session.tag, Some(session.at.date_naive()), &content)?
        {
            return Ok(Intent::Nothing(format!("superseded by handover {}", short_run_id(younger))));
        }
    }
    // A session that says nothing must not erase the state.
    if content.trim().is_empty() && listed.is_empty() && changes_nothing {
        return Ok(Intent::Nothing("neither a state nor a note was given".to_owned()));
    }
    let account = serde_json::to_value(account).unwrap_or_default();
    Ok(Intent::Do(json!({ "content": said::intended(&content, context.session), "said": listed, "account": account })))
}

/// What the account of the session changes.
fn of_account(context: &Context<'_>, wrote: Wrote) -> StateAccount {
    let list = |name: &str| context.values.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
    let completed = list("todos").iter().filter(|todo| todo["status"] == "completed").map(|todo| text(todo, "text"));
    let commits = list("commits").iter().map(|commit| text(commit, "subject"));
    let (completed, commits): (Vec<_>, Vec<_>) = (completed.collect(), commits.collect());
    StateAccount::of(&recap::account_of(context.values), &completed, &commits, wrote)
}

/// What a handoff says about the current state, by category. An empty list changes nothing.
fn of_handoff(document: &str) -> Vec<(&'static str, Vec<String>)> {
    let Ok(handoff) = Handoff::parse(document) else { return Vec::new() };
    let goal = handoff.text("primary_goal").to_owned();
    let is_done = handoff.text("status").eq_ignore_ascii_case("done");
    let mut said = vec![("goal", vec![goal])];
    for (field, category) in SAID_IN_LISTS {
        // A handoff must name a next action, so that of a finished session means nothing.
        if !(is_done && category == "open_loop") {
            said.push((category, handoff.texts(field).into_iter().map(str::to_owned).collect()));
        }
    }
    said.push(("decision", decisions_in_body(&handoff)));
    said.retain(|(_, texts)| texts.iter().any(|text| !text.trim().is_empty()));
    said
}

/// The list items of the section for decisions, as far as the field does not have them.
fn decisions_in_body(handoff: &Handoff) -> Vec<String> {
    let known = handoff.texts("decisions");
    let items = handoff.section("# Decisions Made").lines().filter_map(|line| line.strip_prefix("- "));
    let items = items.map(str::trim).filter(|item| !item.is_empty() && !known.contains(item));
    items.filter(|item| !is_nothing(item)).map(str::to_owned).collect()
}

/// Whether somebody wrote that there is nothing to write.
fn is_nothing(item: &str) -> bool {
    let word = item.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    ["none", "n/a", "nothing", "nothing recorded", "none recorded", ""].contains(&word.as_str())
}

/// Whoever wrote a handoff that `history create` archives.
pub(crate) struct HandoffAuthor {
    run: String,
    at: DateTime<FixedOffset>,
    tag: String,
    agent: String,
    commit: String,
    branch: String,
}

impl HandoffAuthor {
    pub(crate) fn author(&self) -> Author<'_> {
        Author {
            run: &self.run,
            step: "create",
            at: self.at,
            agent: &self.agent,
            tag: &self.tag,
            commit: &self.commit,
            branch: &self.branch,
            is_late: false,
        }
    }
}

/// The changes that a handoff makes to the current state, as a handover with it would. Secrets stay out: an archive may have
/// them, but the current state is published.
pub(crate) fn edits_of_handoff(
    handoff: &Handoff,
    run: &str,
    at: DateTime<FixedOffset>,
    tag: &str,
) -> (HandoffAuthor, Edits) {
    let known = |field: &str| {
        let value = text::one_line(handoff.text(field), 100);
        if value == "unknown" { String::new() } else { secrets::clean(&value) }
    };
    let author = HandoffAuthor {
        run: run.to_owned(),
        at,
        tag: tag.to_owned(),
        agent: known("agent"),
        commit: known("head_commit"),
        branch: known("current_branch"),
    };
    let mut edits = Edits::default();
    for (category, texts) in of_handoff(&handoff.render()) {
        edits.record(category, texts.iter().map(|text| secrets::clean(text)).collect());
    }
    (author, edits)
}

/// The changes of an intent, with this free text.
fn edits(intent: &Value, content: &str) -> Edits {
    let mut edits = Edits {
        text: Some(content).filter(|content| !content.trim().is_empty()).map(str::to_owned),
        ..Edits::default()
    };
    let listed: Vec<(String, Vec<String>)> = serde_json::from_value(intent["said"].clone()).unwrap_or_default();
    for (category, texts) in listed {
        edits.record(&category, texts);
    }
    edits
}

/// The account in an intent; an empty one in an intent of 0.1.0.
fn of_intent(intent: &Value) -> StateAccount {
    serde_json::from_value(intent["account"].clone()).unwrap_or_default()
}

fn preview(context: &Context<'_>, intent: &Value) -> Result<String> {
    let mut edits = edits(intent, said::of_intent(intent, "content", context.session)?);
    let memory = Memory::at(context.root, context.memory.clone());
    of_intent(intent).add_to(&mut edits, &memory.state_for_saying()?);
    let items: usize = edits.record.iter().map(|(_, texts)| texts.len()).sum();
    let mut parts = Vec::new();
    parts.extend(edits.text.map(|text| format!("{} of text", text::count(text.len(), "byte"))));
    let items = items + edits.add.len() + edits.rulings.len();
    parts.extend((items > 0).then(|| text::count(items, "item")));
    if parts.is_empty() {
        parts.push("what was settled".to_owned());
    }
    let path = memory.state_path();
    Ok(format!("put {} into {}", parts.join(" and "), context.show(&path)))
}

/// A younger run may have replaced the text and the items, so only the newest can miss them.
fn missing_from(context: &Context<'_>, intent: &Value) -> Result<Option<PathBuf>> {
    if context.overtaken_by.is_some() {
        return Ok(None);
    }
    let memory = Memory::at(context.root, context.memory.clone());
    let state = memory.state()?;
    let content = said::of_intent(intent, "content", context.session)?;
    let content = text::clipped(content, MOST_STATE_TEXT, &said::place_of_whole(context));
    let has_text = content.trim().is_empty() || state.text().trim_ascii() == content.trim().as_bytes();
    let edits = edits(intent, "");
    let is_known = |category: &str, text: &String| {
        let mut items = state.items().filter(|(of, _)| *of == category);
        items.any(|(_, item)| item.text.trim() == text.trim()) || state.is_withdrawn(category, text)
    };
    let has_items = edits.record.iter().all(|(category, texts)| texts.iter().all(|text| is_known(category, text)));
    Ok((!(has_text && has_items)).then(|| memory.state_path()))
}

fn act(context: &Context<'_>, intent: &Value) -> Result<Outcome, Failure> {
    let session = context.session;
    let memory = Memory::at(context.root, context.memory.clone());
    let author = Author {
        run: &session.run,
        step: context.step,
        at: session.at,
        agent: &session.agent,
        tag: &session.tag,
        commit: &session.head,
        branch: &session.branch,
        is_late: context.overtaken_by.is_some(),
    };
    let content = said::clipped(context, said::of_intent(intent, "content", session)?, MOST_STATE_TEXT)?;
    let mut edits = edits(intent, &content);
    of_intent(intent).add_to(&mut edits, &memory.state_for_saying()?);
    // The free text names no run. If this fails, the text is shown as if it came with the repository.
    let key = edits.text.as_ref().map(|text| own_keys::of_text(Some(session.at.date_naive()), text.as_bytes()));
    if let Err(error) = own_record::remember(key) {
        tracing::debug!(error = error.one_line(), "not remembered as ours");
    }
    let changes = memory.update(&author, context.categories, &edits)?;
    let new = changes.iter().filter(|change| change.verb == ChangeVerb::Added).count();
    let path = context.show(&memory.state_path());
    Ok(Outcome::new(if new == 0 { path } else { format!("{path}: {}", text::count(new, "new item")) }))
}
