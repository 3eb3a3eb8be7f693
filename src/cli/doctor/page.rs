//! How `doctor` answers a person: trouble first with its remedy, then what is fine, one line a group.

use super::agents::{ExaminedAgent, Standing};
use super::diagnosis::{Diagnosis, Health};

/// The groups of what is examined besides agents. Anything else is a line of its own.
const GROUPS: &[&[&str]] =
    &[&["program", "project", "config", "plan", "git"], &["database", "handovers", "lock", "pause"]];

/// The lines of the answer.
pub(super) fn lines(findings: &[Diagnosis], agents: &[ExaminedAgent]) -> Vec<String> {
    let mut lines = Vec::new();
    for (health, sign) in [(Health::Broken, "BROKEN"), (Health::Warning, "WARN"), (Health::Remark, "note")] {
        for found in findings.iter().filter(|found| found.health == health) {
            lines.push(format!("{sign:<6} {}: {}", found.about, found.says));
            lines.extend(found.remedy.iter().map(|remedy| format!("       -> {remedy}")));
        }
    }
    // An agent that is used here and not connected has a note of its own.
    if !agents.is_empty() && agents.iter().all(|examined| examined.standing() == Standing::Absent) {
        lines.push("note   agents: none calls agent-handover yet".to_owned());
        lines.push("       -> agent-handover install all".to_owned());
    }
    lines.extend(fine(findings, agents).into_iter().map(|line| format!("ok     {line}")));
    lines
}

/// What is fine, one line a group.
fn fine(findings: &[Diagnosis], agents: &[ExaminedAgent]) -> Vec<String> {
    let is_absent = |about: &str| {
        agents.iter().any(|examined| examined.state.agent.name == about && examined.standing() == Standing::Absent)
    };
    let good: Vec<&Diagnosis> = findings.iter().filter(|found| found.health == Health::Good).collect();
    let mut lines: Vec<(Option<usize>, String)> = Vec::new();
    for found in good.iter().filter(|found| !is_absent(&found.about)) {
        let group = GROUPS.iter().position(|group| group.contains(&found.about.as_str()));
        let part = format!("{}: {}", found.about, found.says);
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
