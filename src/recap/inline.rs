//! Marks inside a line of Markdown: emphasis, code, links. Only marks that come in pairs are removed, so that `*.rs`,
//! `snake_case` and `2 * 3` stay as they are. Every pass is linear in the line.

/// A line whose paired marks are removed.
pub(super) fn without_marks(line: &str) -> String {
    if !line.contains(['*', '_', '`', '~', '[']) {
        return line.to_owned();
    }
    let chars: Vec<char> = line.chars().collect();
    let mut marks = Marks { chars: &chars, fate: vec![Fate::Text; chars.len()] };
    marks.find_code();
    marks.find_links();
    marks.find_emphasis();
    chars.iter().zip(&marks.fate).filter(|(_, fate)| **fate != Fate::Mark).map(|(c, _)| *c).collect()
}

/// What becomes of a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Text,
    /// Inside code: kept, and no mark.
    Code,
    /// Removed.
    Mark,
}

struct Marks<'a> {
    chars: &'a [char],
    fate: Vec<Fate>,
}

/// Equal characters in a row.
#[derive(Clone, Copy)]
struct Run {
    start: usize,
    length: usize,
}

impl Run {
    fn end(self) -> usize {
        self.start + self.length
    }
}

impl Marks<'_> {
    /// Code ends at the next run of as many backticks.
    fn find_code(&mut self) {
        let runs: Vec<Run> = self.runs(|c| c == '`').collect();
        let mut closes = vec![None; runs.len()];
        let mut next = [None; 3];
        for (at, run) in runs.iter().enumerate().rev().filter(|(_, run)| run.length <= 3) {
            closes[at] = next[run.length - 1];
            next[run.length - 1] = Some(at);
        }
        let mut at = 0;
        while at < runs.len() {
            if let Some(close) = closes[at] {
                self.fate[runs[at].end()..runs[close].start].fill(Fate::Code);
                self.remove(runs[at]);
                self.remove(runs[close]);
                at = close;
            }
            at += 1;
        }
    }

    /// `[text](address)` and `![text](address)` become their text.
    fn find_links(&mut self) {
        let mut open = None;
        let mut at = 0;
        let mut address_end = 0;
        while at < self.chars.len() {
            match self.chars[at] {
                '[' if self.is_text(at) && !self.is_index(at) => open = Some(at),
                ']' if self.is_text(at) => {
                    if let Some((start, end)) = open.take().zip(self.address_end(at + 1, &mut address_end)) {
                        let is_image = start > 0 && self.chars[start - 1] == '!';
                        self.fate[start - usize::from(is_image)..=start].fill(Fate::Mark);
                        self.fate[at..end].fill(Fate::Mark);
                        at = end - 1;
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Whether a bracket follows a value, as in `list[0](x)`.
    fn is_index(&self, bracket: usize) -> bool {
        let Some(before) = bracket.checked_sub(1).filter(|before| self.fate[*before] != Fate::Mark) else {
            return false;
        };
        self.chars[before].is_alphanumeric() || matches!(self.chars[before], ')' | ']' | '_')
    }

    /// Where `(address)` ends that begins at `start`. The caller keeps where an address can end at the earliest, so that
    /// no part of the line is searched twice.
    fn address_end(&self, start: usize, earliest: &mut usize) -> Option<usize> {
        if self.chars.get(start) != Some(&'(') {
            return None;
        }
        let is_end = |c: &char| *c == ')' || c.is_whitespace();
        let from = start.max(*earliest);
        *earliest = self.chars[from..].iter().position(is_end).map_or(self.chars.len(), |length| from + length);
        (*earliest > start + 1 && self.chars.get(*earliest) == Some(&')')).then_some(*earliest + 1)
    }

    /// Emphasis ends at the next run of the same length that follows a word.
    fn find_emphasis(&mut self) {
        let mut open: [Option<Run>; 9] = [None; 9];
        let runs: Vec<Run> = self.runs(|c| matches!(c, '*' | '_' | '~')).collect();
        for run in runs {
            let kind = match self.chars[run.start] {
                '*' => 0,
                '_' => 1,
                _ => 2,
            };
            // One `~` is "about" or a home directory, and `__init__` is a name.
            if run.length > 3 || (kind == 1 && run.length != 1) || (kind == 2 && run.length != 2) {
                continue;
            }
            let slot = &mut open[kind * 3 + run.length - 1];
            let needs_gap = kind == 1 || run.length == 1;
            if let Some(start) = slot.filter(|_| closes(self.chars, run, needs_gap)) {
                *slot = None;
                self.remove(start);
                self.remove(run);
            } else if opens(self.chars, run) {
                *slot = Some(run);
            }
        }
    }

    fn is_text(&self, at: usize) -> bool {
        self.fate[at] == Fate::Text
    }

    fn remove(&mut self, run: Run) {
        self.fate[run.start..run.end()].fill(Fate::Mark);
    }

    /// The runs of equal marks outside code and links.
    fn runs(&self, is_mark: impl Fn(char) -> bool) -> impl Iterator<Item = Run> {
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < self.chars.len() && !(self.is_text(at) && is_mark(self.chars[at])) {
                at += 1;
            }
            let start = at;
            while at < self.chars.len() && self.chars[at] == self.chars[start] && self.is_text(at) {
                at += 1;
            }
            (at > start).then_some(Run { start, length: at - start })
        })
    }
}

/// Whether emphasis may begin here: after a gap, before a word. `*.rs`, `src/**` and `a*b` do not begin any.
fn opens(chars: &[char], run: Run) -> bool {
    let before = run.start.checked_sub(1).map(|before| chars[before]);
    let after = chars.get(run.end());
    before.is_none_or(|c| !c.is_ascii_alphanumeric() && !matches!(c, '/' | '\\' | '.' | '<'))
        && after.is_some_and(|c| !c.is_whitespace() && !matches!(c, '/' | '.' | ')' | ','))
}

/// Whether emphasis may end here: after a word, and with `needs_gap` not before one.
fn closes(chars: &[char], run: Run, needs_gap: bool) -> bool {
    let before = run.start.checked_sub(1).map(|before| chars[before]);
    let after = chars.get(run.end());
    before.is_some_and(|c| !c.is_whitespace() && !matches!(c, '/' | '('))
        && after.is_none_or(|c| !needs_gap || !c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paired_marks_are_removed() {
        for (marked, bare) in [
            ("**Fixed** the *parser* and _all_ tests, ~~not~~ now", "Fixed the parser and all tests, not now"),
            ("***both*** and **`code`** and (*aside*)", "both and code and (aside)"),
            ("`snake_case` and `**kwargs`, ``a ` b``", "snake_case and **kwargs, a ` b"),
            ("see [cli.py:42](src/cli.py#L42) and ![a chart](x.png)", "see cli.py:42 and a chart"),
            ("[`plain`](a)[b](c)", "plainb"),
            ("文本**粗体**文本", "文本粗体文本"),
        ] {
            assert_eq!(without_marks(marked), bare);
        }
    }

    #[test]
    fn what_only_looks_like_a_mark_stays() {
        for text in [
            "2 * 3 * 4 and 2**3",
            "*.rs and *.md, src/*.rs, tests/*",
            "**/*.rs and **/node_modules/**",
            "my_snake_case_name and __init__.py",
            "~/a and ~5 minutes ~/b",
            "one ` backtick, list[0](x), [todo] (later)",
            "[a](two words)",
            "f(*args, **kwargs)",
        ] {
            assert_eq!(without_marks(text), text);
        }
    }
}
