//! Fills in the fields of a handoff that the machine knows.

use chrono::{DateTime, FixedOffset};

use super::written::AGENT_SESSION;
use crate::base::text;
use crate::guard::secrets;
use crate::handoff::{Handoff, Value, one_line};

/// What the machine knows about a session.
pub(crate) struct Machine {
    pub now: DateTime<FixedOffset>,
    /// The directory by which a person knows the project.
    pub root: String,
    /// The linked worktree of the session; empty if it ran in `root`.
    pub worktree: String,
    pub branch: String,
    pub commit: String,
    pub agent: String,
    /// The id that the agent gave its session; empty if it is not known.
    pub agent_session: String,
}

/// Fills in missing fields; `unknown` stands for values that the machine does not have either. What somebody marked as
/// private is removed first.
pub(crate) fn fill_in(handoff: &mut Handoff, machine: &Machine) {
    handoff.remove_private();
    let known = |value: &str| Value::Text(if value.is_empty() { "unknown".to_owned() } else { value.to_owned() });
    let mut id = new_id(&machine.now, handoff.text("primary_goal"));
    if !machine.worktree.is_empty() {
        // Agents in several worktrees may work on the same goal at the same time, and share one history.
        id = format!("{id}-{}", text::digest(machine.worktree.as_bytes(), 2));
    }
    let values = [
        ("session_id", Value::Text(id)),
        ("session_date", Value::Text(machine.now.format("%Y-%m-%d").to_string())),
        ("generated_at", Value::Text(machine.now.to_utc().format("%Y-%m-%dT%H:%M:%SZ").to_string())),
        ("schema_version", Value::from("1")),
        ("project_root", known(&machine.root)),
        ("repo_root", known(if machine.worktree.is_empty() { &machine.root } else { &machine.worktree })),
        ("current_branch", known(&machine.branch)),
        ("head_commit", known(&machine.commit)),
        ("agent", known(&machine.agent)),
    ];
    for (key, value) in values {
        let is_missing = match handoff.get(key) {
            None => true,
            Some(Value::Text(text)) => text.trim().is_empty(),
            Some(Value::List(items)) => items.is_empty(),
            Some(Value::Map(_)) => false,
        };
        if is_missing {
            handoff.set(key, value);
        }
    }
    if !machine.agent_session.is_empty() && handoff.text(AGENT_SESSION).is_empty() {
        handoff.set(AGENT_SESSION, Value::from(machine.agent_session.as_str()));
    }
}

/// A session id by Session Glue's convention: `YYYY-MM-DD-HHMM-short-slug`. An id is shown and travels everywhere, so nothing
/// that looks like a secret gets into it.
pub(crate) fn new_id(now: &DateTime<FixedOffset>, goal: &str) -> String {
    let words: Vec<String> = secrets::clean(&one_line(goal))
        .to_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(5)
        .map(str::to_owned)
        .collect();
    let slug = if words.is_empty() { "session".to_owned() } else { words.join("-") };
    format!("{}-{}", now.format("%Y-%m-%d-%H%M"), text::cut(&slug, 60).trim_end_matches('-'))
}
