//! Text that another program remembered, as items of the current state: the list items of a Markdown file, or its paragraphs
//! if it has no list.

use super::state::tidy;
use crate::base::text;

/// The category of what comes from elsewhere.
pub(crate) const REMEMBERED: &str = "remembered";
/// The longest item in bytes. A longer text is not a fact but a document.
const LONGEST: usize = 4_000;

/// The items of a Markdown text, in its order, each once. Headings, tables, code and frontmatter hold no items.
pub(crate) fn items(source: &str) -> Vec<String> {
    let source = text::without_private(source.trim_start_matches('\u{feff}'));
    let lines = body(&source);
    let mut items = listed(&lines);
    if items.is_empty() {
        items = paragraphs(&lines);
    }
    let mut known = std::collections::HashSet::new();
    items.into_iter().map(|item| tidy(&item)).filter(|item| is_item(item) && known.insert(item.clone())).collect()
}

fn is_item(item: &str) -> bool {
    item.len() <= LONGEST && item.chars().any(char::is_alphanumeric)
}

/// The lines below the frontmatter, without fenced code.
fn body(source: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = source.lines().collect();
    if lines.first().is_some_and(|line| line.trim_end() == "---")
        && let Some(end) = lines.iter().skip(1).position(|line| line.trim_end() == "---")
    {
        lines.drain(..end + 2);
    }
    let mut is_code = false;
    lines.retain(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines
}

/// The items of lists. A line that is indented, or that follows without an empty line, belongs to the item before it.
fn listed(lines: &[&str]) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in lines {
        let is_nested = line.starts_with([' ', '\t']);
        match marked(line).filter(|_| !is_nested) {
            Some(text) => {
                items.push(text.to_owned());
                is_open = true;
            }
            // An item without text ends the one before it, too.
            None if matches!(line.trim(), "" | "-" | "*" | "+") || line.starts_with('#') => is_open = false,
            None if is_open || is_nested && !items.is_empty() => {
                if let Some(last) = items.last_mut() {
                    last.push('\n');
                    last.push_str(line.trim());
                }
            }
            None => {}
        }
    }
    items
}

/// The text of a list item: after `- `, `* `, `+ ` or a number.
fn marked(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None => {
            let after = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_numbered = after.len() < line.len() && line.len() - after.len() <= 3;
            after.strip_prefix(['.', ')']).filter(|_| is_numbered)?
        }
    };
    let text = rest.strip_prefix(' ')?.trim();
    // A box of a to-do list is not part of the text.
    let text = ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| text.strip_prefix(mark)).unwrap_or(text);
    Some(text).filter(|text| !text.is_empty())
}

fn paragraphs(lines: &[&str]) -> Vec<String> {
    let is_apart = |line: &&str| line.trim().is_empty() || line.starts_with(['#', '|']);
    lines.split(is_apart).map(|lines| lines.join("\n")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn items_of_lists_are_found_with_their_further_lines() {
        let source = "---\nname: x\n- not: this\n---\n# Build\n\n- use just\n  not make\n* **tests** need git\n\n1. first\n2) [x] done\n\n```\n- code\n```\n\nA paragraph.\n- use just\n  not make\n- <private>secret</private>\n";
        assert_eq!(items(source), ["use just\nnot make", "**tests** need git", "first", "done"]);
    }

    #[test]
    fn a_text_without_a_list_is_read_by_paragraphs() {
        let source = "# Title\n\nThe API is frozen.\nAsk before a change.\n\n---\n\n2026 was the year.\n";
        assert_eq!(items(source), ["The API is frozen.\nAsk before a change.", "2026 was the year."]);
        assert!(items("").is_empty() && items("# only\n\n---\n").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_gives_items_that_can_be_kept(source in "(- |\\* |1\\. |---\n|```\n|# |  |\n|\\PC){0,200}") {
            for item in items(&source) {
                prop_assert!(item == tidy(&item) && is_item(&item), "{item:?}");
            }
        }
    }
}
