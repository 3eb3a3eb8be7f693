//! The account in the body of a handoff: sections after the required ones, a list item a line.
//!
//! ```text
//! # Asked
//!
//! - 1: first request
//! - 4: last request
//! ```
//!
//! The number is the turn. Lines of `# From The Talk` also say who said them: `- agent 4: …`.

use std::fmt::Write;

use super::{Account, Line, Speaker};
use crate::handoff::Handoff;

const ASKED: &str = "# Asked";
const RULINGS: &str = "# Rulings";
const CONCLUSIONS: &str = "# The Agent Said";
const TALK: &str = "# From The Talk";

/// The sections for an account. A part without lines has no section.
pub(crate) fn write_sections(account: &Account) -> String {
    let mut text = String::new();
    let parts = [
        (ASKED, &account.asked, false),
        (RULINGS, &account.rulings, false),
        (CONCLUSIONS, &account.conclusions, false),
        (TALK, &account.sentences, true),
    ];
    for (heading, lines, names_speaker) in parts.into_iter().filter(|(_, lines, _)| !lines.is_empty()) {
        let _ = write!(text, "\n{heading}\n\n");
        for line in lines {
            let who = match (names_speaker, line.who) {
                (false, _) => "",
                (true, Speaker::Person) => "person ",
                (true, Speaker::Agent) => "agent ",
                (true, Speaker::Program) => "program ",
            };
            let _ = writeln!(text, "- {who}{}: {}", line.turn, line.text);
        }
    }
    text
}

/// The parts of an account that [`write_sections`] wrote into a handoff. Lines of another form are skipped.
pub(crate) fn read_sections(handoff: &Handoff) -> Account {
    let mut account = Account::default();
    let mut heading = "";
    for line in handoff.body.lines() {
        if line.starts_with("# ") {
            heading = line.trim_end();
            continue;
        }
        let Some(item) = line.strip_prefix("- ") else { continue };
        let (part, speaker) = match heading {
            ASKED => (&mut account.asked, Some(Speaker::Person)),
            RULINGS => (&mut account.rulings, Some(Speaker::Person)),
            CONCLUSIONS => (&mut account.conclusions, Some(Speaker::Agent)),
            TALK => (&mut account.sentences, None),
            _ => continue,
        };
        part.extend(read_line(item, speaker));
    }
    account
}

fn read_line(item: &str, speaker: Option<Speaker>) -> Option<Line> {
    let (place, text) = item.split_once(": ")?;
    let (who, turn) = match (speaker, place.split_once(' ')) {
        (Some(who), None) => (who, place),
        (None, Some(("person", turn))) => (Speaker::Person, turn),
        (None, Some(("agent", turn))) => (Speaker::Agent, turn),
        (None, Some(("program", turn))) => (Speaker::Program, turn),
        _ => return None,
    };
    Some(Line { who, turn: turn.parse().ok()?, text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(who: Speaker, turn: usize, text: &str) -> Line {
        Line { who, turn, text: text.to_owned() }
    }

    #[test]
    fn sections_are_read_as_they_were_written() {
        let account = Account {
            asked: vec![line(Speaker::Person, 1, "fix: the parser"), line(Speaker::Person, 3, "and the tests")],
            rulings: vec![line(Speaker::Person, 2, "never use unwrap")],
            conclusions: vec![line(Speaker::Agent, 3, "# done: 3 files")],
            sentences: vec![line(Speaker::Agent, 1, "a: b"), line(Speaker::Person, 2, "- c")],
            ..Account::default()
        };
        let body = format!("\n# Current State\n\n- 1: not ours\n{}", write_sections(&account));
        assert_eq!(read_sections(&Handoff { body, ..Handoff::default() }), account);
    }
}
