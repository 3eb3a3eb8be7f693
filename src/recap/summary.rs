//! The account as a note, for a session that gave none.

use std::fmt::Write;

use super::{Account, Line};
use crate::base::text::kept_line;
use crate::facts::Facts;
use crate::transcript::{Command, Outcome};

/// The first line of the note has where it is from between these.
const MADE_FROM: &str = "(made from ";
const NO_NOTE: &str = "; the session gave no note)";
/// How many lines of a list are shown.
const SHOWN: usize = 20;
/// The longest line, in bytes.
const LONG: usize = 600;

/// The note. Empty if nothing is known.
pub(super) fn write(account: &Account, facts: &Facts) -> String {
    let from_transcript = if account.is_idle { idle(account) } else { working(account, facts) };
    let talk = if facts.is_from_hooks { "what the hooks were told" } else { "the transcript" };
    let (source, text) = match (from_transcript.is_empty(), facts.git_text.is_empty()) {
        (true, true) => return String::new(),
        (false, true) => (talk.to_owned(), from_transcript),
        (true, false) => ("git".to_owned(), facts.git_text.clone()),
        (false, false) => (format!("{talk} and git"), format!("{from_transcript}\n{}", facts.git_text)),
    };
    format!("{MADE_FROM}{source}{NO_NOTE}\n\n{}", text.trim_end())
}

/// Whether a text is such a note.
pub(crate) fn is_written_by_rules(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default();
    first.starts_with(MADE_FROM) && first.trim_end().ends_with(NO_NOTE)
}

/// A session that changed nothing is one line.
fn idle(account: &Account) -> String {
    account.asked.last().map(|asked| format!("Asked, and nothing was changed: {}", line(asked))).unwrap_or_default()
}

fn working(account: &Account, facts: &Facts) -> String {
    let mut text = String::new();
    let singles = [
        ("Goal", account.goal.as_ref()),
        ("Last request", account.asked.last().filter(|asked| account.goal.as_ref() != Some(asked))),
        ("The agent said last", account.conclusions.last()),
    ];
    for (title, said) in singles {
        if let Some(said) = said {
            let _ = writeln!(text, "{title}: {}", line(said));
        }
    }
    let transcript = facts.transcript.as_ref();
    let lists: [(&str, Vec<String>); 6] = [
        ("Rulings", account.rulings.iter().map(line).collect()),
        ("Next", account.next.iter().map(line).collect()),
        ("Dead ends", account.dead_ends.iter().map(line).collect()),
        ("Files edited", transcript.map(|found| found.edited.clone()).unwrap_or_default()),
        ("Checks", account.checks.iter().map(|check| outcome_line(&check.command, check.outcome)).collect()),
        ("Commands", transcript.map(|found| last(&found.commands)).unwrap_or_default()),
    ];
    for (title, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let _ = write!(text, "\n{title}:\n");
        for line in lines.iter().take(SHOWN) {
            let _ = writeln!(text, "- {}", kept_line(line, LONG));
        }
        if lines.len() > SHOWN {
            let _ = writeln!(text, "- and {} more", lines.len() - SHOWN);
        }
    }
    text
}

fn line(said: &Line) -> String {
    kept_line(&said.text, LONG)
}

fn last(commands: &[Command]) -> Vec<String> {
    let skipped = commands.len().saturating_sub(SHOWN);
    commands[skipped..].iter().map(|command| outcome_line(&kept_line(&command.command, 300), command.outcome)).collect()
}

pub(super) fn outcome_line(command: &str, outcome: Outcome) -> String {
    let outcome = match outcome {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Failed(Some(code)) => format!("failed with exit code {code}"),
        Outcome::Failed(None) => "failed".to_owned(),
        Outcome::Unknown => "outcome not known".to_owned(),
    };
    format!("`{command}`: {outcome}")
}
