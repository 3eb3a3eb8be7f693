//! Writes the eight sections of a body, for a handoff that nobody wrote as a document.

use crate::handoff::SECTIONS;

/// The content of the sections.
pub(crate) struct Sections<'a> {
    pub goal: &'a str,
    pub summary: &'a str,
    pub done: &'a [String],
    pub next: &'a [String],
    pub decisions: &'a [String],
    pub issues: &'a [String],
    pub dead_ends: &'a [String],
    /// Commands and their results.
    pub validation: &'a [(String, String)],
    /// A line at the top of the body, which says where its content is from; empty for none.
    pub marked: &'a str,
}

/// The content of an empty section.
pub(crate) const NOTHING: &str = "(nothing recorded)";

/// The body of a handoff.
pub(crate) fn body(sections: &Sections<'_>) -> String {
    let none = || NOTHING.to_owned();
    let list = |items: &[String]| -> String {
        if items.is_empty() {
            none()
        } else {
            items.iter().map(|item| format!("- {}", indent(item))).collect::<Vec<_>>().join("\n")
        }
    };
    let validation: Vec<String> =
        sections.validation.iter().map(|(command, result)| format!("`{command}`: {result}")).collect();
    let mut text = String::new();
    for section in SECTIONS {
        let content = match section {
            "# Resume Prompt" => format!("Goal: {}\n\nNext:\n{}", indent(sections.goal), list(sections.next)),
            "# What We Did" => list(sections.done),
            "# Current State" => quote(sections.summary),
            "# Decisions Made" => list(sections.decisions),
            "# Failed Attempts / Dead Ends" => list(sections.dead_ends),
            "# Next-Agent Instructions" => list(sections.next),
            "# Commands And Validation" => list(&validation),
            "# Risks And Constraints" => list(sections.issues),
            _ => none(),
        };
        let is_marked = section == SECTIONS[0] && !sections.marked.is_empty();
        let marked = if is_marked { format!("{}\n\n", sections.marked) } else { String::new() };
        text.push_str(&format!("\n{section}\n\n{marked}{content}\n"));
    }
    text
}

/// Escapes lines of free text that would become headings.
fn quote(text: &str) -> String {
    text.lines()
        .map(|line| if line.starts_with('#') { format!("\\{line}") } else { line.to_owned() })
        .collect::<Vec<_>>()
        .join("\n")
}

fn indent(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join("\n  ")
}
