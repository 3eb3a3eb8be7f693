//! What a month came to, in a few lines made of its notes. No judgement: only what they say themselves.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use super::archive::{Entry, What};
use super::change::{Change, Verb};
use super::state::indent;
use crate::base::text;

/// How many lines a list has before it says how many more there are.
const SHOWN: usize = 100;
const SHOWN_FILES: usize = 20;
/// Endings by which a name without a directory is known to be a file's.
const ENDINGS: [&str; 48] = [
    "bash", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "dart", "ex", "go", "gradle", "h", "hpp", "hs",
    "html", "ini", "java", "js", "json", "jsx", "kt", "lock", "lua", "md", "mjs", "ml", "php", "pl", "proto", "ps1",
    "py", "rb", "rs", "scala", "scss", "sh", "sql", "svelte", "swift", "toml", "ts", "tsx", "txt", "vue", "yaml",
    "yml",
];

pub fn write(month: &str, tag: &str, entries: &[Entry<'_>]) -> String {
    let found = Found::in_entries(entries);
    let texts = entries.iter().filter(|entry| matches!(entry.what, What::Text(_))).count();
    let mut page = format!("# {month}, {}\n\n", text::one_line(tag, 200));
    let _ = write!(page, "{}", text::count(entries.len() - texts, "note"));
    if texts > 0 {
        let _ = write!(page, " and {} of others", text::count(texts, "text"));
    }
    page.push_str(", whole below. This part is made of them and written anew with them.\n");
    let files = found.files();
    for (title, lines, max) in [
        ("Decisions", found.decisions, usize::MAX),
        ("Work completed", found.work, SHOWN),
        ("Loops opened and closed", found.closed, usize::MAX),
        ("Loops still open", found.open, usize::MAX),
        ("Files most touched", files, SHOWN_FILES),
    ] {
        if lines.is_empty() {
            continue;
        }
        let _ = write!(page, "\n## {title}\n\n");
        for line in lines.iter().take(max) {
            let _ = writeln!(page, "- {}", indent(line));
        }
        if lines.len() > max {
            let _ = writeln!(page, "- and {} more", lines.len() - max);
        }
    }
    page
}

#[derive(Default)]
struct Found {
    decisions: Vec<String>,
    work: Vec<String>,
    closed: Vec<String>,
    open: Vec<String>,
    touched: HashMap<String, usize>,
}

impl Found {
    fn in_entries(entries: &[Entry<'_>]) -> Found {
        let mut found = Found::default();
        // By id, in the order they were opened.
        let mut loops: Vec<(String, String, String)> = Vec::new();
        let mut decided = BTreeSet::new();
        for entry in entries {
            let day = entry.time.get(..10).unwrap_or(&entry.time);
            let content = match &entry.what {
                What::Note(note) => &note.content,
                What::Text(text) => text,
            };
            let content = String::from_utf8_lossy(content);
            for file in files_in(&content) {
                *found.touched.entry(file.to_owned()).or_default() += 1;
            }
            let What::Note(note) = &entry.what else { continue };
            if note.changes.is_empty() {
                found.work.extend(first_line(&content).map(|line| format!("{day}: {line}")));
                continue;
            }
            for change in super::changes(note) {
                let Change { verb, category, id, text } = change;
                match (verb, category.as_str()) {
                    (Verb::Added, "decision") if decided.insert(id.clone()) => {
                        found.decisions.push(format!("{day}: {text}"))
                    }
                    (Verb::Added, "recent_change" | "session_summary") => {
                        found.work.extend(first_line(&text).map(|line| format!("{day}: {line}")));
                    }
                    (Verb::Added, "open_loop") if !loops.iter().any(|(known, ..)| *known == id) => {
                        loops.push((id, day.to_owned(), text));
                    }
                    (Verb::Done | Verb::Deleted | Verb::Cleared | Verb::Dropped, "open_loop") => {
                        let opened = loops.iter().position(|(known, ..)| *known == id).map(|at| loops.remove(at).1);
                        let from = opened.unwrap_or_else(|| "earlier".to_owned());
                        found.closed.push(format!("{from} to {day} ({}): {text}", verb.name()));
                    }
                    _ => {}
                }
            }
        }
        found.open = loops.into_iter().map(|(_, day, text)| format!("since {day}: {text}")).collect();
        found
    }

    /// The most often named first.
    fn files(&self) -> Vec<String> {
        let mut by_count: BTreeMap<(std::cmp::Reverse<usize>, &String), ()> = BTreeMap::new();
        by_count.extend(self.touched.iter().map(|(file, count)| ((std::cmp::Reverse(*count), file), ())));
        by_count.keys().map(|(count, file)| format!("{file} ({})", text::count(count.0, "note"))).collect()
    }
}

/// What a note says first, without the sign of a heading and without what only says that it was derived.
fn first_line(content: &str) -> Option<String> {
    let says = |line: &&str| !line.is_empty() && !line.starts_with("(derived");
    let line = content.lines().map(|line| line.trim_start_matches('#').trim()).find(says)?;
    Some(text::one_line(line, 160))
}

/// Names of files in a text, each once.
fn files_in(content: &str) -> BTreeSet<&str> {
    let is_end = |c: char| c.is_whitespace() || "\"'`()[]{}<>,;|*=".contains(c);
    let mut files = BTreeSet::new();
    // Most words have no dot, and looking for one is quicker than taking the text apart.
    for (dot, _) in content.match_indices('.') {
        let start =
            content[..dot].rfind(is_end).map_or(0, |at| at + content[at..].chars().next().map_or(1, char::len_utf8));
        let end = content[dot..].find(is_end).map_or(content.len(), |at| dot + at);
        let word = content[start..end].trim_end_matches(['.', ':', '!', '?']);
        if is_file(word) {
            files.insert(word);
        }
    }
    files
}

fn is_file(word: &str) -> bool {
    let Some((stem, ending)) = word.rsplit_once('.') else { return false };
    let is_ending = (1..=8).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+@".contains(&byte);
    let is_path = word.len() <= 200 && word.bytes().all(allowed) && !word.contains("//");
    let name = stem.rsplit('/').next().unwrap_or_default();
    is_ending && is_path && !name.is_empty() && (stem.contains('/') || ENDINGS.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_other_words_with_dots() {
        let text = "Edited `src/main.rs`, (README.md) and lib.rs; see https://example.com/a.html, e.g. v1.2.3, self.items, 3.14. a/b.xyz.";
        assert_eq!(files_in(text).into_iter().collect::<Vec<_>>(), ["README.md", "a/b.xyz", "lib.rs", "src/main.rs"]);
    }
}
