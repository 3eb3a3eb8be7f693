//! Fills in the fields of a handoff that the machine knows.

use chrono::{DateTime, FixedOffset};

use super::written::AGENT_SESSION;
use crate::base::text;
use crate::guard::secrets;
use crate::handoff::{Handoff, Value, one_line};

/// How many words a slug has at most.
const WORDS: usize = 5;
/// How many bytes a slug has at most.
const LONGEST_SLUG: usize = 60;

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
    let mut id = new_id(&machine.now, named_after(handoff));
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

/// The text after which a session is named: its goal, or its next action if the goal has no letters.
fn named_after(handoff: &Handoff) -> &str {
    let goal = handoff.text("primary_goal");
    let next = || handoff.texts("next_todo_items").first().copied().unwrap_or(goal);
    if slug(goal).is_empty() { next() } else { goal }
}

/// A session id by Session Glue's convention: `YYYY-MM-DD-HHMM-short-slug`. An id is shown and travels everywhere, so nothing
/// that looks like a secret gets into it.
pub(crate) fn new_id(now: &DateTime<FixedOffset>, goal: &str) -> String {
    let slug = slug(goal);
    let slug = if slug.is_empty() { "session" } else { &slug };
    format!("{}-{slug}", now.format("%Y-%m-%d-%H%M"))
}

/// The first words of a text, in letters and digits of any script. Empty if it has none, such as a text of emoji.
fn slug(goal: &str) -> String {
    // Some fillers that nobody sees count as letters.
    let lower = text::for_terminal(&secrets::clean(&one_line(goal))).to_lowercase();
    // An accent that is a character of its own does not end a word.
    let plain: String = lower.chars().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).collect();
    let words: Vec<&str> =
        plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(WORDS).collect();
    text::cut(&words.join("-"), LONGEST_SLUG).trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_readable_in_every_script() {
        let now = DateTime::parse_from_rfc3339("2026-11-15T10:04:05+02:00").unwrap();
        for (goal, slug) in [
            ("Ship the parser, at last!", "ship-the-parser-at-last"),
            ("one two three four five six", "one-two-three-four-five"),
            ("修复解析器", "修复解析器"),
            ("Исправить разбор: ошибки", "исправить-разбор-ошибки"),
            ("파서 고치기", "파서-고치기"),
            ("Cafe\u{301} geo\u{308}ffnet", "cafe-geoffnet"),
            ("Größe prüfen", "größe-prüfen"),
            ("🚀 ship", "ship"),
            ("sh\u{3164}ip\u{115f} it", "ship-it"),
            ("🚀🚀", "session"),
            ("", "session"),
            ("../../etc", "etc"),
        ] {
            assert_eq!(new_id(&now, goal), format!("2026-11-15-1004-{slug}"), "{goal}");
        }
        assert!(new_id(&now, &"修".repeat(200)).len() <= "2026-11-15-1004-".len() + LONGEST_SLUG);
    }

    #[test]
    fn a_goal_without_letters_takes_its_id_from_the_next_action() {
        let mut handoff = Handoff::default();
        handoff.set("primary_goal", Value::from("🚀🚀"));
        handoff.set("next_todo_items", Value::List(vec![Value::from("Launch it")]));
        assert_eq!(named_after(&handoff), "Launch it");
        handoff.set("primary_goal", Value::from("Go 🚀"));
        assert_eq!(named_after(&handoff), "Go 🚀");
    }
}
