//! Tables that fit a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::paint::{Line, Role};

/// The longest text of a cell.
pub(super) const LONGEST_CELL: usize = 400;
const GAP: &str = "  ";
/// The least width of a column that is cut.
const NARROWEST: usize = 8;

/// Columns are dropped until the last one has this much room.
const ROOMY: usize = 24;

/// A table. One column takes the remaining width, and the others are as wide as their contents.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    /// The head of the column that is cut first; the last one if it is not named.
    flexible: &'static str,
    /// The heads of columns that are dropped if not all fit, in this order.
    dispensable: Vec<&'static str>,
    /// The heads of columns that a reader skips.
    quiet: Vec<&'static str>,
}

impl Table {
    pub(super) fn new(heads: &[&str]) -> Table {
        Table {
            rows: vec![heads.iter().map(|head| (*head).to_owned()).collect()],
            flexible: "",
            dispensable: Vec::new(),
            quiet: Vec::new(),
        }
    }

    pub(super) fn dispensable(mut self, heads: &[&'static str]) -> Table {
        self.dispensable = heads.to_vec();
        self
    }

    pub(super) fn flexible(mut self, head: &'static str) -> Table {
        self.flexible = head;
        self
    }

    pub(super) fn quiet(mut self, heads: &[&'static str]) -> Table {
        self.quiet = heads.to_vec();
        self
    }

    pub(super) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// The lines of the table, none wider than `width` if one is given.
    pub(super) fn painted(&self, width: Option<usize>) -> Vec<Line> {
        let (shown, widths) = self.layout(width);
        let roles = |number: usize| {
            let role = |head: &String| match number {
                0 => Role::Head,
                _ if self.quiet.contains(&head.as_str()) => Role::Quiet,
                _ => Role::Plain,
            };
            shown.iter().map(|column| role(&self.rows[0][*column])).collect::<Vec<_>>()
        };
        let cells = |row: &[String]| shown.iter().map(|column| row[*column].clone()).collect::<Vec<_>>();
        self.rows.iter().enumerate().map(|(number, row)| line(&cells(row), &roles(number), &widths)).collect()
    }

    /// The columns that are shown, and how wide each is.
    fn layout(&self, width: Option<usize>) -> (Vec<usize>, Vec<usize>) {
        let columns = self.rows.first().map_or(0, Vec::len);
        let widest = |column: usize| self.rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
        let mut shown: Vec<usize> = (0..columns).collect();
        let mut widths: Vec<usize> = shown.iter().map(|column| widest(*column)).collect();
        let Some(width) = width else { return (shown, widths) };
        for head in &self.dispensable {
            let flexible = self.flexible_among(&shown);
            let others: usize = widths.iter().sum::<usize>() - widths[flexible] + GAP.len() * (widths.len() - 1);
            if others + widths[flexible].min(ROOMY) <= width {
                break;
            }
            if let Some(at) = shown.iter().position(|column| self.rows[0][*column] == *head) {
                shown.remove(at);
                widths.remove(at);
            }
        }
        fit(&mut widths, self.flexible_among(&shown), width);
        (shown, widths)
    }

    /// The place of the flexible column among those that are shown.
    fn flexible_among(&self, shown: &[usize]) -> usize {
        let named = shown.iter().position(|column| self.rows[0][*column] == self.flexible);
        named.unwrap_or(shown.len().saturating_sub(1))
    }
}

/// Reduces the widths until they fit: the flexible column first, then the widest of the others. The first and the last column
/// come last, because people copy from them.
fn fit(widths: &mut [usize], flexible: usize, width: usize) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    let last = widths.len().saturating_sub(1);
    loop {
        let over = (widths.iter().sum::<usize>() + gaps).saturating_sub(width);
        if over == 0 {
            return;
        }
        let can_shrink = |column: &usize| *column != flexible && widths[*column] > NARROWEST;
        let middle = (1..last).filter(can_shrink).max_by_key(|column| widths[*column]);
        let end = [last, 0].into_iter().find(can_shrink);
        let column = if widths[flexible] > 2 * NARROWEST {
            flexible
        } else if let Some(other) = middle.or(end) {
            other
        } else {
            // A narrower table would be useless.
            return;
        };
        let least = if column == flexible { 2 * NARROWEST } else { NARROWEST };
        widths[column] = widths[column].saturating_sub(over).max(least);
    }
}

fn line(row: &[String], roles: &[Role], widths: &[usize]) -> Line {
    let last = row.iter().rposition(|cell| !cell.is_empty()).unwrap_or(0);
    let mut line = Line::default();
    for (number, ((cell, role), width)) in row.iter().zip(roles).zip(widths).enumerate().take(last + 1) {
        let shown = cut(cell, *width);
        let gap = if number == last { 0 } else { width.saturating_sub(shown.width()) + GAP.len() };
        line = line.and(*role, shown).plain(" ".repeat(gap));
    }
    line
}

/// The text in lines of at most this width, broken between words. A longer word has a line of its own.
pub(super) fn wrap(text: &str, width: Option<usize>) -> Vec<String> {
    wrap_after(0, 0, text, width)
}

/// Like [`wrap`], for lines of which the first has `first` columns before the text and each other one `rest`.
pub(super) fn wrap_after(first: usize, rest: usize, text: &str, width: Option<usize>) -> Vec<String> {
    let width = width.unwrap_or(usize::MAX);
    let room = |used: usize| width.saturating_sub(used).max(2 * NARROWEST);
    let mut lines = vec![String::new()];
    for word in words(text, room(rest)) {
        let room = room(if lines.len() == 1 { first } else { rest });
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.width() + 1 + word.width() <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// The words of a text. A command in backticks counts as one word if a line has room for it, because people copy it.
fn words(text: &str, room: usize) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(' ').unwrap_or(rest.len());
        let command = rest[..end].find('`').and_then(|open| {
            let close = open + 1 + rest[open + 1..].find('`')?;
            Some(close + rest[close..].find(' ').unwrap_or(rest.len() - close))
        });
        let end = command.filter(|end| rest[..*end].width() <= room).unwrap_or(end);
        words.push(&rest[..end]);
        rest = rest[end..].strip_prefix(' ').unwrap_or_default();
    }
    words
}

/// A text that is wider than the terminal in lines that are not: each begins where the first one does. A text that fits stays
/// as it is.
pub(super) fn fold(text: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width else { return vec![text.to_owned()] };
    let fold = |line: &str| {
        if line.width() <= width {
            return vec![line.to_owned()];
        }
        let said = line.trim_start_matches(' ');
        let indent = &line[..line.len() - said.len()];
        let parts = wrap(said, Some(width.saturating_sub(indent.len())));
        parts.into_iter().map(|part| format!("{indent}{part}")).collect()
    };
    text.split('\n').flat_map(fold).collect()
}

/// Like [`fold`], for a line of a document: what belongs to an item of a list begins below its text.
pub(super) fn fold_item(line: &str, width: Option<usize>) -> Vec<String> {
    let said = line.trim_start_matches(' ');
    let item = said.strip_prefix("- ").filter(|_| width.is_some_and(|width| line.width() > width));
    let Some(item) = item else { return fold(line, width) };
    let lead = &line[..line.len() - item.len()];
    let parts = wrap(item, width.map(|width| width.saturating_sub(lead.len())));
    let indent = " ".repeat(lead.len());
    parts
        .iter()
        .enumerate()
        .map(|(number, part)| format!("{}{part}", if number == 0 { lead } else { &indent }))
        .collect()
}

/// The text cut to a width on the terminal, with a sign if something is missing.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        shown.push(c);
    }
    shown + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_fit() {
        let mut table = Table::new(&["ID", "TOOL", "TITLE"]);
        table.push(vec!["20261116-001428".to_owned(), "codex".to_owned(), "Refactor 漢字 ".repeat(10)]);
        table.push(vec!["b".to_owned(), "claude-code".to_owned(), "x".to_owned()]);
        let lines = |width: Option<usize>| {
            let plain = |line: &Line| line.render(false, str::to_owned);
            table.painted(width).iter().map(plain).collect::<Vec<_>>()
        };
        assert_eq!(lines(None)[2], "b                claude-code  x");
        for width in 30..120 {
            for line in lines(Some(width)) {
                assert!(line.width() <= width.max(36), "{width}: {line}");
            }
        }
        let lines = lines(Some(60));
        assert_eq!(lines[0], "ID               TOOL         TITLE");
        assert_eq!(lines[1], "20261116-001428  codex        Refactor 漢字 Refactor 漢字 R…");
    }

    #[test]
    fn a_text_is_broken_between_words() {
        assert_eq!(wrap("one two three four five six", Some(16)), ["one two three", "four five six"]);
        assert_eq!(wrap("short", None), ["short"]);
        assert_eq!(
            wrap("a-word-that-is-longer-than-the-line b", Some(16)),
            ["a-word-that-is-longer-than-the-line", "b"]
        );
    }

    #[test]
    fn a_command_is_not_broken_if_a_line_has_room_for_it() {
        let said = "paused; `run --resume`, or `rm PAUSE` ends it";
        assert_eq!(wrap(said, Some(22)), ["paused;", "`run --resume`, or", "`rm PAUSE` ends it"]);
        assert_eq!(wrap("a `command that has no room` b", Some(16)), ["a `command that", "has no room` b"]);
        assert_eq!(wrap("it's a ` b", Some(16)), ["it's a ` b"]);
    }

    #[test]
    fn a_text_that_is_too_wide_is_folded_below_its_beginning() {
        assert_eq!(fold("  one two three four\nfive", Some(18)), ["  one two three", "  four", "five"]);
        assert_eq!(fold("  fits  as it is", Some(16)), ["  fits  as it is"]);
        assert_eq!(fold_item("  - one two three four", Some(20)), ["  - one two three", "    four"]);
        assert_eq!(fold_item("- fits  as it is", Some(16)), ["- fits  as it is"]);
        assert_eq!(fold("however long it may be", None), ["however long it may be"]);
    }
}
