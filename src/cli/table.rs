//! Tables that fit a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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
}

impl Table {
    pub(super) fn new(heads: &[&str]) -> Table {
        Table {
            rows: vec![heads.iter().map(|head| (*head).to_owned()).collect()],
            flexible: "",
            dispensable: Vec::new(),
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

    pub(super) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// The lines of the table, none wider than `width` if one is given.
    pub(super) fn lines(&self, width: Option<usize>) -> Vec<String> {
        let columns = self.rows.first().map_or(0, Vec::len);
        let widest = |column: usize| self.rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
        let mut shown: Vec<usize> = (0..columns).collect();
        let mut widths: Vec<usize> = shown.iter().map(|column| widest(*column)).collect();
        if let Some(width) = width {
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
        }
        let cells = |row: &Vec<String>| shown.iter().map(|column| row[*column].clone()).collect::<Vec<_>>();
        self.rows.iter().map(|row| line(&cells(row), &widths)).collect()
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

fn line(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (number, (cell, width)) in row.iter().zip(widths).enumerate() {
        if number > 0 {
            line.push_str(GAP);
        }
        let shown = cut(cell, *width);
        line.push_str(&shown);
        line.extend(std::iter::repeat_n(' ', width.saturating_sub(shown.width())));
    }
    line.trim_end().to_owned()
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
        assert_eq!(table.lines(None)[2], "b                claude-code  x");
        for width in 30..120 {
            for line in table.lines(Some(width)) {
                assert!(line.width() <= width.max(36), "{width}: {line}");
            }
        }
        let lines = table.lines(Some(60));
        assert_eq!(lines[0], "ID               TOOL         TITLE");
        assert_eq!(lines[1], "20261116-001428  codex        Refactor 漢字 Refactor 漢字 R…");
    }
}
