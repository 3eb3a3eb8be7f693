//! How `doctor` answers a person: trouble first, each with its remedy, then one line for each group that is fine.

use serde_json::Value;

use super::agents::{ExaminedAgent, Standing};
use super::diagnosis::{Diagnosis, Health};
use crate::cli::paint::{Line, Role};
use crate::cli::paths;
use crate::cli::ui::Ui;

/// The groups of what is examined besides agents. Anything else is a line of its own.
const GROUPS: &[&[&str]] =
    &[&["program", "project", "config", "plan", "git"], &["database", "handovers", "lock", "pause"]];

/// How wide the sign before a line is.
const SIGN: usize = 7;

/// Prints the answer.
pub(super) fn print(ui: &mut Ui, findings: &[Diagnosis], agents: &[ExaminedAgent]) {
    for (health, role, sign) in [
        (Health::Broken, Role::Bad, "BROKEN"),
        (Health::Warning, Role::Bad, "WARN"),
        (Health::Remark, Role::Notice, "note"),
    ] {
        for found in findings.iter().filter(|found| found.health == health) {
            line(ui, role, sign, &format!("{}: {}", found.about, found.says));
            if let Some(remedy) = &found.remedy {
                ui.answer_hanging(role, &format!("{:SIGN$}-> ", ""), remedy);
            }
        }
    }
    // An agent that is used here and not connected has a note of its own.
    if !agents.is_empty() && agents.iter().all(|examined| examined.standing() == Standing::Absent) {
        line(ui, Role::Notice, "note", "agents: none calls agent-handover yet");
        ui.answer_hanging(Role::Notice, &format!("{:SIGN$}-> ", ""), "agent-handover install all");
    }
    for fine in fine(findings, agents) {
        line(ui, Role::Good, "ok", &fine);
    }
}

fn line(ui: &mut Ui, role: Role, sign: &str, says: &str) {
    ui.answer_hanging(role, &format!("{sign:SIGN$}"), &paths::from_home(says));
}

/// Prints what an agent would receive from its hooks: the text itself, not the JSON around it.
pub(super) fn print_simulation(ui: &mut Ui, answers: &[Value]) {
    let mut silent = Vec::new();
    for answer in answers {
        let source = answer["source"].as_str().map(|source| format!(" ({source})")).unwrap_or_default();
        let name = format!("{}{source}", answer["event"].as_str().unwrap_or_default());
        let received = answer["received"].as_str().unwrap_or_default();
        if received.is_empty() {
            silent.push(name);
            continue;
        }
        let size = format!("  {} bytes, about {} tokens", answer["bytes"], answer["tokens"]);
        ui.answer_line(&Line::of(Role::Head, name).and(Role::Quiet, size));
        for line in text_of(received).lines() {
            ui.answer_hanging(Role::Quiet, "  | ", line);
        }
        ui.answer("");
    }
    if !silent.is_empty() {
        ui.answer_hanging(Role::Head, "nothing is sent at: ", &silent.join(", "));
    }
}

/// The longest text in what a hook answers, which is the one that the model reads. An answer may also be plain text.
fn text_of(received: &str) -> String {
    fn longest(value: &Value) -> Option<&str> {
        let longer = |a: &&str, b: &&str| a.len().cmp(&b.len());
        match value {
            Value::String(text) => Some(text),
            Value::Array(values) => values.iter().filter_map(longest).max_by(longer),
            Value::Object(fields) => fields.values().filter_map(longest).max_by(longer),
            _ => None,
        }
    }
    let parsed: Option<Value> = serde_json::from_str(received).ok();
    parsed.as_ref().and_then(longest).unwrap_or(received).to_owned()
}

/// What is fine, without what the line says already: the root of the project, and that git is git.
fn brief(says: &str, root: &str) -> String {
    let says = says.strip_prefix("git version ").unwrap_or(says);
    if root.is_empty() {
        return says.to_owned();
    }
    says.replace(&format!(", repository {root}"), "").replace(&format!("{root}/"), "")
}

/// What is fine, in one line for each group.
fn fine(findings: &[Diagnosis], agents: &[ExaminedAgent]) -> Vec<String> {
    let is_absent = |about: &str| {
        agents.iter().any(|examined| examined.state.agent.name == about && examined.standing() == Standing::Absent)
    };
    let root = findings.iter().find(|found| found.about == "project").map_or("", |found| &found.says).to_owned();
    let good: Vec<&Diagnosis> = findings.iter().filter(|found| found.health == Health::Good).collect();
    let mut lines: Vec<(Option<usize>, String)> = Vec::new();
    for found in good.iter().filter(|found| !is_absent(&found.about)) {
        let group = GROUPS.iter().position(|group| group.contains(&found.about.as_str()));
        let part = format!("{}: {}", found.about, brief(&found.says, &root));
        match lines.iter_mut().find(|(other, _)| group.is_some() && *other == group) {
            Some((_, line)) => line.push_str(&format!(" · {part}")),
            None => lines.push((group, part)),
        }
    }
    let absent: Vec<&str> = good.iter().map(|found| found.about.as_str()).filter(|about| is_absent(about)).collect();
    let mut lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    if !absent.is_empty() {
        lines.push(format!("not found here: {}", absent.join(", ")));
    }
    lines
}
