//! Handoffs as sources for NotebookLM: one Markdown file a month, the same bytes as long as the month is the same.
//!
//! A source has at most 500,000 words or 200 MB there. A month with more continues in a second file; the first one stays as
//! it is, because handoffs are written in the order in which they were made.

use crate::base::text;
use crate::handoff::Handoff;
use crate::history::{Origin, without_standing};

/// How many words and bytes a file has at most. Others count words differently, so there is room to spare.
const MAX_WORDS: usize = 400_000;
const MAX_BYTES: usize = 100 << 20;

/// How the names of the files begin.
const PREFIX: &str = "handovers-";

/// The lists of a handoff that a reader asks about, with their headings.
const LISTS: [(&str, &str); 4] = [
    ("next_todo_items", "Next"),
    ("decisions", "Decisions"),
    ("completed_tasks", "Done"),
    ("known_issues", "Known issues"),
];

/// One file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotebookFile {
    pub name: String,
    pub text: String,
}

/// The files for these handoffs, which come oldest first and without secrets.
pub(crate) fn files(handoffs: &[Handoff]) -> Vec<NotebookFile> {
    split(handoffs, MAX_WORDS, MAX_BYTES)
}

fn split(handoffs: &[Handoff], max_words: usize, max_bytes: usize) -> Vec<NotebookFile> {
    let mut files: Vec<NotebookFile> = Vec::new();
    let mut months: Vec<&str> = handoffs.iter().map(month).collect();
    months.sort_unstable();
    months.dedup();
    for wanted in months {
        let (mut part, mut words) = (0, usize::MAX);
        for handoff in handoffs.iter().filter(|handoff| month(handoff) == wanted) {
            let section = section(handoff);
            for piece in pieces(&section, max_words) {
                let more = piece.split_whitespace().count();
                let is_full =
                    |file: &NotebookFile| words + more > max_words || file.text.len() + piece.len() > max_bytes;
                if part == 0 || files.last().is_some_and(is_full) {
                    part += 1;
                    files.push(begun(wanted, part));
                    words = 0;
                }
                words += more;
                if let Some(file) = files.last_mut() {
                    file.text.push_str(piece);
                }
            }
        }
    }
    files
}

/// The file of a month, or a further part of it.
fn begun(month: &str, part: usize) -> NotebookFile {
    let (suffix, head) = if part == 1 { Default::default() } else { (format!("-{part}"), format!(", part {part}")) };
    NotebookFile { name: format!("{PREFIX}{month}{suffix}.md"), text: format!("# Handovers of {month}{head}\n") }
}

/// A section in pieces of at most so many words. Almost every section is one piece.
fn pieces(section: &str, max_words: usize) -> Vec<&str> {
    let (mut pieces, mut start, mut words, mut is_in_word) = (Vec::new(), 0, 0, false);
    for (at, letter) in section.char_indices() {
        if !letter.is_whitespace() && !is_in_word {
            if words == max_words {
                pieces.push(&section[start..at]);
                (start, words) = (at, 0);
            }
            words += 1;
        }
        is_in_word = !letter.is_whitespace();
    }
    pieces.push(&section[start..]);
    pieces
}

/// Which of these names are files of ours that a new export does not write any more: further parts of a month that became
/// shorter, and months that have no handoff any more if `is_everything` was exported.
pub(crate) fn left_over<'n>(names: &'n [String], written: &[&str], is_everything: bool) -> Vec<&'n str> {
    let month = |name: &str| -> Option<String> {
        let month = name.strip_prefix(PREFIX)?.strip_suffix(".md")?;
        let (month, part) = month.split_at_checked(7).unwrap_or((month, ""));
        let is_part = part.is_empty() || part.strip_prefix('-').is_some_and(|part| part.parse::<usize>().is_ok());
        is_part.then(|| month.to_owned())
    };
    let months: Vec<String> = written.iter().filter_map(|name| month(name)).collect();
    let is_left = |name: &&str| {
        let of = month(name);
        !written.contains(name) && of.is_some_and(|month| is_everything || months.contains(&month))
    };
    names.iter().map(String::as_str).filter(is_left).collect()
}

/// The month of a handoff, as in `2026-11`.
fn month(handoff: &Handoff) -> &str {
    let dates = ["session_date", "generated_at"].map(|field| handoff.text(field));
    let is_month = |date: &&str| {
        date.len() >= 7
            && date
                .bytes()
                .take(7)
                .enumerate()
                .all(|(at, byte)| if at == 4 { byte == b'-' } else { byte.is_ascii_digit() })
    };
    dates.into_iter().find(is_month).and_then(|date| date.get(..7)).unwrap_or("undated")
}

fn section(handoff: &Handoff) -> String {
    let line = |field: &str, max: usize| text::model_line(handoff.text(field), max);
    let mut page = format!("\n## {}\n\n{}\n\n", line("session_id", 120), line("primary_goal", 500));
    let origin = Origin::of(handoff);
    if let Some(origin) = &origin {
        page.push_str(&format!("> {}\n\n", text::model_line(&origin.line_in_file(), 500)));
    }
    for (field, name) in [("generated_at", "At"), ("agent", "Agent"), ("current_branch", "Branch")] {
        let value = line(field, 120);
        if !value.is_empty() && value != "unknown" {
            page.push_str(&format!("- {name}: {value}\n"));
        }
    }
    for (field, heading) in LISTS {
        let items = handoff.texts(field);
        if !items.is_empty() {
            page.push_str(&format!("\n### {heading}\n\n"));
            page.extend(items.iter().map(|item| format!("- {}\n", text::model_line(item, 2_000))));
        }
    }
    page.push('\n');
    let body = text::for_model(&text::without_private(&handoff.body));
    for line in body.trim().lines() {
        // Below the heading of its session.
        let lead = if line.starts_with('#') { "##" } else { "" };
        page.push_str(&format!("{lead}{line}\n"));
    }
    // Nobody of this machine made a ruling in what was imported.
    if origin.is_some() { without_standing(&page) } else { page }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handoff::Value;

    fn handoff(id: &str, day: &str, said: &str) -> Handoff {
        let mut handoff = Handoff::default();
        handoff.set("session_id", Value::from(id));
        handoff.set("session_date", Value::from(day));
        handoff.set("primary_goal", Value::from("Ship it"));
        handoff.body = format!("\n# Current State\n\n{said}\n");
        handoff
    }

    #[test]
    fn a_month_is_one_file_and_a_new_handoff_changes_only_its_own_month() {
        let mut all = vec![handoff("a", "2026-10-31", "one"), handoff("b", "2026-11-01", "two")];
        let before = files(&all);
        let names: Vec<&str> = before.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["handovers-2026-10.md", "handovers-2026-11.md"]);
        assert!(before[0].text.contains("## a\n\nShip it") && before[0].text.contains("### Current State"));
        all.push(handoff("c", "2026-11-02", "three"));
        let after = files(&all);
        assert_eq!(after[0], before[0]);
        assert!(after[1].text.starts_with(&before[1].text), "what was there stays as it was");
        assert_eq!(files(&[handoff("d", "someday", "x")])[0].name, "handovers-undated.md");
    }

    #[test]
    fn a_full_month_continues_in_another_file() {
        let all: Vec<Handoff> = (0..5).map(|n| handoff(&format!("s{n}"), "2026-11-01", &"word ".repeat(50))).collect();
        let parts = split(&all, 150, MAX_BYTES);
        let names: Vec<&str> = parts.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["handovers-2026-11.md", "handovers-2026-11-2.md", "handovers-2026-11-3.md"]);
        assert!(parts.iter().all(|file| file.text.split_whitespace().count() <= 170));
        assert_eq!(split(&all[..3], 150, MAX_BYTES)[0], parts[0], "an earlier part stays as it was");
        assert_eq!(split(&all, MAX_WORDS, 500).len(), 5, "by bytes, too");
    }

    #[test]
    fn a_handoff_that_is_larger_than_a_source_continues_in_another_file() {
        let all = [handoff("a", "2026-11-01", &"word\n".repeat(450)), handoff("b", "2026-11-02", "short")];
        let parts = split(&all, 100, MAX_BYTES);
        assert!(parts.iter().all(|file| file.text.split_whitespace().count() <= 110));
        let all_words: usize = parts.iter().map(|file| file.text.matches("word").count()).sum();
        assert_eq!((all_words, parts.len()), (450, 5));
        assert!(parts[4].text.contains("## b\n"));
        assert_eq!(pieces("", 3), [""]);
        assert_eq!(pieces("a b  c d\n", 3), ["a b  c ", "d\n"]);
    }

    #[test]
    fn files_that_are_not_written_any_more_are_named() {
        let names =
            ["handovers-2026-10.md", "handovers-2026-11.md", "handovers-2026-11-2.md", "handovers-mine.txt", "x.md"];
        let names = names.map(str::to_owned);
        assert_eq!(left_over(&names, &["handovers-2026-11.md"], false), ["handovers-2026-11-2.md"]);
        assert_eq!(
            left_over(&names, &["handovers-2026-11.md"], true),
            ["handovers-2026-10.md", "handovers-2026-11-2.md"]
        );
    }
}
