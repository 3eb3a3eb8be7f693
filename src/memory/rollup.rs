//! The summary of a month at the top of its archive, put together from lines of its notes. It judges and rewords nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use super::archive::ArchiveEntry;
use super::change::{self, ChangeVerb, StateChange};
use super::state::indent;
use crate::base::text;

/// How many lines a list shows before it gives only the number of the others.
const SHOWN: usize = 100;
const SHOWN_FILES: usize = 20;
/// File name extensions by which a name without a directory counts as a file, sorted.
const ENDINGS: [&str; 48] = [
    "bash", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "dart", "ex", "go", "gradle", "h", "hpp", "hs",
    "html", "ini", "java", "js", "json", "jsx", "kt", "lock", "lua", "md", "mjs", "ml", "php", "pl", "proto", "ps1",
    "py", "rb", "rs", "scala", "scss", "sh", "sql", "svelte", "swift", "toml", "ts", "tsx", "txt", "vue", "yaml",
    "yml",
];

/// The summary of these entries, as Markdown.
pub(super) fn write(month: &str, tag: &str, entries: &[ArchiveEntry<'_>]) -> String {
    let summary = MonthSummary::of(entries);
    let texts = entries.iter().filter(|entry| entry.is_text).count();
    let mut page = format!("# {month}, {}\n\n", text::kept_line(tag, 200));
    let _ = write!(page, "{}", text::count(entries.len() - texts, "note"));
    if texts > 0 {
        let _ = write!(page, " and {} of others", text::count(texts, "text"));
    }
    page.push_str(", whole below. This part is made of them and written anew with them.\n");
    let files = summary.files();
    let more_files = files.len().saturating_sub(SHOWN_FILES);
    for (title, lines, more) in [
        ("Decisions", summary.decisions, 0),
        ("Work completed", summary.work, summary.more_work),
        ("Loops opened and closed", summary.closed, 0),
        ("Loops still open", summary.open, 0),
        ("Files most touched", files.into_iter().take(SHOWN_FILES).collect(), more_files),
    ] {
        if lines.is_empty() {
            continue;
        }
        let _ = write!(page, "\n## {title}\n\n");
        for line in &lines {
            let _ = writeln!(page, "- {}", indent(line));
        }
        if more > 0 {
            let _ = writeln!(page, "- and {more} more");
        }
    }
    page
}

/// The lines of the summary, by section.
#[derive(Default)]
struct MonthSummary {
    decisions: Vec<String>,
    work: Vec<String>,
    more_work: usize,
    closed: Vec<String>,
    open: Vec<String>,
    touched: HashMap<String, usize>,
}

impl MonthSummary {
    fn of(entries: &[ArchiveEntry<'_>]) -> MonthSummary {
        let mut summary = MonthSummary::default();
        // Open loops as id, day and text, in the order in which they were opened.
        let mut loops: Vec<(String, String, String)> = Vec::new();
        let mut decided = BTreeSet::new();
        for entry in entries {
            let day = entry.time.get(..10).unwrap_or(&entry.time);
            let content = entry.content();
            let content = String::from_utf8_lossy(&content);
            for file in files_in(&content) {
                match summary.touched.get_mut(file) {
                    Some(count) => *count += 1,
                    None => drop(summary.touched.insert(file.to_owned(), 1)),
                }
            }
            if !entry.records_changes() {
                if !entry.is_text {
                    summary.add_work(day, &content);
                }
                continue;
            }
            for change in change::parse(content.as_bytes()) {
                let StateChange { verb, category, id, text } = change;
                match (verb, category.as_str()) {
                    (ChangeVerb::Added, "decision") if decided.insert(id.clone()) => {
                        summary.decisions.push(format!("{day}: {text}"))
                    }
                    (ChangeVerb::Added, "recent_change" | "session_summary") => summary.add_work(day, &text),
                    (ChangeVerb::Added, "open_loop") if !loops.iter().any(|(known, ..)| *known == id) => {
                        loops.push((id, day.to_owned(), text));
                    }
                    (
                        ChangeVerb::Done | ChangeVerb::Deleted | ChangeVerb::Cleared | ChangeVerb::Dropped,
                        "open_loop",
                    ) => {
                        let opened = loops.iter().position(|(known, ..)| *known == id).map(|at| loops.remove(at).1);
                        let from = opened.unwrap_or_else(|| "earlier".to_owned());
                        summary.closed.push(format!("{from} to {day} ({}): {text}", verb.name()));
                    }
                    _ => {}
                }
            }
        }
        summary.open = loops.into_iter().map(|(_, day, text)| format!("since {day}: {text}")).collect();
        summary
    }

    fn add_work(&mut self, day: &str, text: &str) {
        match first_line(text) {
            Some(line) if self.work.len() < SHOWN => self.work.push(format!("{day}: {}", text::kept_line(line, 160))),
            Some(_) => self.more_work += 1,
            None => {}
        }
    }

    /// The files with the number of notes that name them, most often named first.
    fn files(&self) -> Vec<String> {
        let mut by_count: BTreeMap<(std::cmp::Reverse<usize>, &String), ()> = BTreeMap::new();
        by_count.extend(self.touched.iter().map(|(file, count)| ((std::cmp::Reverse(*count), file), ())));
        by_count.keys().map(|(count, file)| format!("{file} ({})", text::count(count.0, "note"))).collect()
    }
}

/// The first line with content, without heading marks. A line that only says that the text is derived does not count.
fn first_line(content: &str) -> Option<&str> {
    let has_content = |line: &&str| !line.is_empty() && !line.starts_with("(derived");
    content.lines().map(|line| line.trim_start_matches('#').trim()).find(has_content)
}

/// The names of files in a text, each once.
fn files_in(content: &str) -> Vec<&str> {
    let bytes = content.as_bytes();
    let mut files = Vec::new();
    let mut looked = 0;
    // Most words have no dot, and searching for dots is faster than splitting the text.
    for dot in memchr::memchr_iter(b'.', bytes) {
        if dot < looked {
            continue;
        }
        let start =
            bytes[looked..dot].iter().rposition(|byte| !is_path_byte(*byte)).map_or(looked, |at| looked + at + 1);
        let end = bytes[dot..].iter().position(|byte| !is_path_byte(*byte)).map_or(bytes.len(), |at| dot + at);
        looked = end;
        let word = content[start..end].trim_end_matches(['.', '/']);
        // After a colon it is a part of a URL.
        if is_file(word) && !content[..start].ends_with(':') && !files.contains(&word) {
            files.push(word);
        }
    }
    files
}

fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-' | b'+' | b'@')
}

fn is_file(word: &str) -> bool {
    let Some((stem, ending)) = word.rsplit_once('.') else { return false };
    let is_ending = (1..=8).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_path = word.len() <= 200 && !word.contains("//");
    let name = stem.rsplit('/').next().unwrap_or_default();
    is_ending && is_path && !name.is_empty() && (stem.contains('/') || ENDINGS.binary_search(&ending).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_distinguished_from_other_words_with_dots() {
        assert!(ENDINGS.is_sorted());
        let text = "Edited `src/main.rs`, (README.md) and lib.rs; see https://example.com/a.html, e.g. v1.2.3, self.items, 3.14. a/b.xyz.";
        assert_eq!(files_in(text), ["src/main.rs", "README.md", "lib.rs", "a/b.xyz"]);
    }
}
