//! A text as its passages: what a heading, a list item or a paragraph says, and what was only pasted.
//!
//! Fenced code is left out. Quotes, logs and code without a fence are marked as pasted, because nobody rules anything by
//! pasting "must be a string".

use std::sync::LazyLock;

use regex::Regex;

use super::cues::compile;
use crate::base::text::cut;

/// How much of a text is looked at.
const MAX_BYTES: usize = 32 << 10;
/// A line that is shorter than this was not wrapped, so the next line does not continue it.
const MIN_WRAPPED_BYTES: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Heading,
    Item,
    /// A task of a list that is ticked off.
    TickedItem,
    /// A task of a list that is not.
    OpenItem,
    Prose,
    /// A quote, a log or code.
    Pasted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    pub shape: Shape,
    /// With the marks inside of the line: emphasis, backticks.
    pub text: String,
    pub follows_blank: bool,
}

/// Lines that programs print.
const PASTED: &[&str] = &[
    r"^(\$|%|>>>|\.\.\.|❯|>) ",
    r"^(diff --git|@@ |\+\+\+ |--- [ab]/|index [0-9a-f]{7})",
    r"^(at [^ ]+ ?\(|at [^ ]+:[0-9]|file \.[^ ]*, line |traceback|caused by:|stack ?trace|thread '|note: run with)",
    r"^(exception in thread |goroutine [0-9]+ \[|--> [^ ]+:[0-9]|[0-9]* ?\|( |$)|called `[a-z:]+\(\)` on an? )",
    r"^\[?(error|err|warn|warning|info|debug|fatal|trace|fail|failed|failure|panic)\]?(\[[a-z0-9_-]+\])?( [^:]{0,40})?:",
    r"^\[(error|err|warn|warning|info|debug|fatal|trace)\]",
    r"^(npm err!|e   |fail |pass |not ok |ok [0-9])",
    r"^\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[t ][0-9]{2}:|^\[?[0-9]{2}:[0-9]{2}:[0-9]{2}",
    r"^[a-z_.]*[a-z](error|exception|warning)( \[[a-z0-9_]+\])?:",
    r"^[a-z0-9_./\\-]+\.[a-z]{1,5}:[0-9]+(:[0-9]+)?:? ",
];

pub(super) fn passages(text: &str) -> Vec<Passage> {
    let lines: Vec<&str> = cut(text, MAX_BYTES).lines().collect();
    let mut found: Vec<Passage> = Vec::new();
    let mut follows_blank = true;
    let mut last_line_bytes = 0;
    for (line, block) in lines.iter().copied().zip(blocks(&lines)) {
        if block == Block::Fence || line.trim().is_empty() {
            follows_blank = true;
            continue;
        }
        let (shape, text) = if block == Block::Diff { (Shape::Pasted, line.trim()) } else { shape(line) };
        match found.last_mut() {
            Some(last)
                if !follows_blank
                    && shape == Shape::Prose
                    && !matches!(last.shape, Shape::Heading | Shape::Pasted)
                    && last_line_bytes >= MIN_WRAPPED_BYTES
                    && is_continued(&last.text, text) =>
            {
                last.text.push(' ');
                last.text.push_str(text);
            }
            _ => found.push(Passage { shape, text: text.to_owned(), follows_blank }),
        }
        last_line_bytes = line.len();
        follows_blank = false;
    }
    found
}

/// What a person wrote in a text: its passages without those that were pasted.
pub(super) fn written(text: &str) -> Vec<Passage> {
    passages(text).into_iter().filter(|passage| passage.shape != Shape::Pasted).collect()
}

/// The parts of a text that a person wrote, each without a break: what is before, between and after pasted passages.
pub(super) fn written_parts(text: &str) -> Vec<&str> {
    let text = cut(text, MAX_BYTES);
    let lines: Vec<&str> = text.lines().collect();
    let mut parts = Vec::new();
    let (mut start, mut end) = (0, 0);
    for (line, block) in text.split_inclusive('\n').zip(blocks(&lines)) {
        let is_written = block == Block::Text && (line.trim().is_empty() || shape(line).0 != Shape::Pasted);
        if !is_written {
            parts.push(text[start..end].trim());
            start = end + line.len();
        }
        end += line.len();
    }
    parts.push(text[start.min(end)..end].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// The position of the first heading that is not pasted.
pub(super) fn first_heading(text: &str) -> Option<usize> {
    let text = cut(text, MAX_BYTES);
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    for (line, block) in text.split_inclusive('\n').zip(blocks(&lines)) {
        if block == Block::Text && shape(line).0 == Shape::Heading {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// What a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Text,
    /// Fenced code, with its fences.
    Fence,
    Diff,
}

fn blocks(lines: &[&str]) -> Vec<Block> {
    let mut blocks = Vec::with_capacity(lines.len());
    while let Some(line) = lines.get(blocks.len()) {
        let rest = &lines[blocks.len() + 1..];
        let (block, more) = if is_fence(line) {
            // If nothing closes it, it is not the beginning of code.
            (Block::Fence, rest.iter().position(|line| is_fence(line)).map_or(0, |inside| inside + 1))
        } else if is_diff_start(line) {
            (Block::Diff, rest.iter().take_while(|line| is_of_diff(line)).count())
        } else {
            (Block::Text, 0)
        };
        blocks.extend(std::iter::repeat_n(block, more + 1));
    }
    blocks
}

fn is_diff_start(line: &str) -> bool {
    ["diff --git ", "@@ -", "--- a/", "+++ b/"].iter().any(|start| line.starts_with(start))
}

/// Whether a line continues a diff: an added, removed or unchanged line, or a header. A blank line ends it.
fn is_of_diff(line: &str) -> bool {
    is_diff_start(line)
        || line.starts_with(['+', '-', ' ', '\\'])
        || line.starts_with("index ")
        || ["new file mode ", "deleted file mode ", "rename ", "similarity "]
            .iter()
            .any(|start| line.starts_with(start))
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

fn is_continued(line: &str, next: &str) -> bool {
    let first = next.split(' ').next().unwrap_or_default();
    !line.ends_with(['.', '!', '?', ':', ';'])
        && next.starts_with(char::is_lowercase)
        && !first.ends_with(':')
        && !["todo", "next", "then", "tried", "blocked", "decided"].contains(&first)
}

fn shape(line: &str) -> (Shape, &str) {
    let text = line.trim();
    let heading = text.trim_start_matches('#');
    if heading.len() < text.len() && (heading.starts_with(' ') || heading.is_empty()) {
        return (Shape::Heading, heading.trim());
    }
    if let Some(item) = ["- ", "* ", "+ ", "• "].iter().find_map(|bullet| text.strip_prefix(bullet)) {
        let item = item.trim_start();
        return match item.get(..3).map(str::to_ascii_lowercase).as_deref() {
            Some("[x]") => (Shape::TickedItem, item[3..].trim_start()),
            Some("[ ]") => (Shape::OpenItem, item[3..].trim_start()),
            _ if is_printed(item) => (Shape::Pasted, item),
            _ => (Shape::Item, item),
        };
    }
    if let Some(item) = numbered(text) {
        return (Shape::Item, item);
    }
    let is_indented = line.starts_with("    ") || line.starts_with('\t');
    if is_indented || is_pasted(text) { (Shape::Pasted, text) } else { (Shape::Prose, text) }
}

/// What follows `1.` or `1)`.
fn numbered(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - rest.len();
    let item = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))?;
    (1..=3).contains(&digits).then(|| item.trim_start())
}

fn is_pasted(line: &str) -> bool {
    line.starts_with('>') || is_printed(line) || is_code(cut(line, 400))
}

fn is_printed(line: &str) -> bool {
    static PRINTED: LazyLock<Option<Regex>> = LazyLock::new(|| compile(PASTED));
    let start = cut(line, 400).to_ascii_lowercase().replace('"', ".");
    PRINTED.as_ref().is_some_and(|printed| printed.is_match(&start))
}

/// Whether a line has more signs than prose has.
fn is_code(line: &str) -> bool {
    let signs = line.chars().filter(|c| "{}()[];=<>|&\\$".contains(*c)).count();
    signs >= 2 && line.ends_with(['{', '}', ';']) || signs >= 4 && signs * 8 > line.chars().count()
}

/// The sentences of a passage. Their marks are kept.
pub(super) fn sentences(passage: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = passage.char_indices().peekable();
    while let Some((at, mark)) = chars.next() {
        if !matches!(mark, '.' | '!' | '?' | '…' | '。' | '！' | '？') {
            continue;
        }
        while chars.next_if(|(_, c)| matches!(c, '.' | '!' | '?' | '"' | '\'' | ')' | '”' | '’' | '*' | '`')).is_some()
        {
        }
        let end = chars.peek().map_or(passage.len(), |(end, _)| *end);
        let is_wide = matches!(mark, '。' | '！' | '？');
        if is_wide || passage[end..].starts_with(char::is_whitespace) && !is_abbreviation(&passage[start..at]) {
            found.push(passage[start..end].trim());
            start = end;
        }
    }
    found.push(passage[start..].trim());
    found.retain(|sentence| !sentence.is_empty());
    found
}

fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit([' ', '(']).next().unwrap_or_default();
    let is_number = word.len() == before.len() && !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    is_number
        || ["e.g", "i.e", "eg", "ie", "etc", "vs", "cf", "approx"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pasted_is_known() {
        for line in [
            "> never do that",
            "TypeError: path must be a string",
            "ValueError: you should not pass None",
            "    at Object.<anonymous> (/srv/app/index.js:3:9)",
            "  File \"app.py\", line 3, in main",
            "2026-01-02T10:11:12Z worker must restart",
            "[ERROR] must not be empty",
            "error[E0502]: cannot borrow `x` as mutable",
            "src/lib.rs:12:5: warning: never read",
            "$ git commit -m \"do not merge\"",
            "if (never) { return always; }",
            "    return value",
            "npm ERR! you must install peer dependencies yourself",
        ] {
            let found = passages(line);
            assert_eq!(found[0].shape, Shape::Pasted, "{line}");
        }
        for line in ["never do that", "use csv (not pandas)", "the error is gone", "keep `a = b` as it is", "1 > 0"] {
            assert_eq!(passages(line)[0].shape, Shape::Prose, "{line}");
        }
    }

    #[test]
    fn passages_have_shapes() {
        let text = "# Next\n- a\n* [x] b\n- [ ] c\n12. d\n\n```\ncode\n```\nsome words that go on for longer than a line may be\nand end here\ntodo x\n```";
        let found: Vec<(Shape, String)> =
            passages(text).into_iter().map(|passage| (passage.shape, passage.text)).collect();
        let expected = [
            (Shape::Heading, "Next"),
            (Shape::Item, "a"),
            (Shape::TickedItem, "b"),
            (Shape::OpenItem, "c"),
            (Shape::Item, "d"),
            (Shape::Prose, "some words that go on for longer than a line may be and end here"),
            (Shape::Prose, "todo x"),
        ];
        assert_eq!(found, expected.map(|(shape, text)| (shape, text.to_owned())));
    }

    #[test]
    fn sentences_end_where_they_end() {
        for (text, expected) in [
            ("a b. c d! e?", vec!["a b.", "c d!", "e?"]),
            ("use e.g. csv. ok", vec!["use e.g. csv.", "ok"]),
            ("see a.rs:3 and 1.2.", vec!["see a.rs:3 and 1.2."]),
            ("好。嗎？", vec!["好。", "嗎？"]),
            ("", vec![]),
        ] {
            assert_eq!(sentences(text), expected);
        }
    }
}
