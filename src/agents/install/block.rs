//! Our block in a text of the user, between two marker lines. The Python tool uses the same markers on purpose: its block is
//! replaced, and two tools never put two blocks into one file.
//!
//! A block is a begin line whose next marker is an end line. A marker without its partner is ordinary text: it stays, and so
//! does everything after it.

use std::ops::Range;

const BEGINS: [&str; 2] = ["<!-- agent-handover:begin -->", "<!-- agent-handover:start -->"];
const END: &str = "<!-- agent-handover:end -->";
/// The script that only the Python tool's block mentions.
const PYTHON: &str = "end_of_session.py";

/// The text with this content in our block, which is replaced in place or added at the end.
pub(super) fn with(text: &str, content: &str) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let block = format!("{}\n{}\n{END}\n", BEGINS[0], content.trim_end()).replace('\n', newline);
    let mut blocks = blocks(text).into_iter();
    let Some(first) = blocks.next() else {
        let gap = match text {
            "" => "",
            _ if text.ends_with('\n') => newline,
            _ => &[newline, newline].concat(),
        };
        return format!("{text}{gap}{block}");
    };
    // A block without a line break at its end stays without one.
    let block = if text[first.clone()].ends_with('\n') { block.as_str() } else { block.trim_end() };
    let mut new = format!("{}{block}", &text[..first.start]);
    let mut from = first.end;
    // With stray markers in the text, removing a block could pair two of them around the user's own lines.
    for extra in blocks.filter(|_| !has_stray(text)) {
        new.push_str(&text[from..before(text, &extra).max(from)]);
        from = extra.end;
    }
    new.push_str(&text[from..]);
    new
}

/// The text without our blocks. A block of the Python tool stays.
pub(super) fn without(text: &str) -> String {
    let (mut new, mut from) = (String::new(), 0);
    for block in blocks(text).into_iter().filter(|block| !text[block.clone()].contains(PYTHON)) {
        new.push_str(&text[from..before(text, &block).max(from)]);
        from = block.end;
    }
    new.push_str(&text[from..]);
    // Two stray markers around our block would now form a block, and the next uninstall would remove the lines between
    // them. So the begin line of such a pair is removed.
    while let Some(joined) = blocks(&new).into_iter().find(|block| !new[block.clone()].contains(PYTHON)) {
        let line = new[joined.clone()].find('\n').map_or(joined.end, |at| joined.start + at + 1);
        new.replace_range(joined.start..line, "");
    }
    new
}

/// Whether the text has a block of ours.
pub(super) fn is_in(text: &str) -> bool {
    blocks(text).into_iter().any(|block| !text[block].contains(PYTHON))
}

/// Whether the text has a block of the Python tool, which an install replaces.
pub(super) fn is_python(text: &str) -> bool {
    blocks(text).into_iter().any(|block| text[block].contains(PYTHON))
}

/// Whether a marker has lost its partner, which its user should look at.
pub(super) fn has_stray(text: &str) -> bool {
    let blocks = blocks(text);
    let inside = |at: usize| blocks.iter().any(|block| block.contains(&at));
    lines(text)
        .into_iter()
        .any(|(range, is_code)| !is_code && !inside(range.start) && kind(&text[range.clone()]).is_some())
}

/// The start of a block, with the empty line before it.
fn before(text: &str, block: &Range<usize>) -> usize {
    ["\r\n\r\n", "\n\n"]
        .iter()
        .find_map(|gap| text[..block.start].strip_suffix(gap).map(|kept| kept.len() + gap.len() / 2))
        .unwrap_or(block.start)
}

#[derive(Clone, Copy, PartialEq)]
enum Marker {
    Begin,
    End,
}

fn kind(line: &str) -> Option<Marker> {
    match line.trim() {
        END => Some(Marker::End),
        line if BEGINS.contains(&line) => Some(Marker::Begin),
        _ => None,
    }
}

/// Every complete block, with both markers.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut begun: Option<usize> = None;
    for (range, is_code) in lines(text) {
        match kind(&text[range.clone()]).filter(|_| !is_code) {
            Some(Marker::Begin) => begun = Some(range.start),
            Some(Marker::End) => found.extend(begun.take().map(|start| start..range.end)),
            None => {}
        }
    }
    found
}

/// Each line with its line break, and whether it is in a fenced code block, where a marker is only shown.
fn lines(text: &str) -> Vec<(Range<usize>, bool)> {
    let mut lines = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        lines.push((at..at + line.len(), false));
        at += line.len();
    }
    let mut open: Option<(usize, &str)> = None;
    let mut number = 0;
    while number < lines.len() {
        let line = text[lines[number].0.clone()].trim();
        let sign = line.trim_start_matches(['`', '~']);
        let fence = &line[..line.len() - sign.len()];
        match open {
            None if fence.len() >= 3 => open = Some((number, fence)),
            Some((from, opened)) if sign.is_empty() && fence.starts_with(opened) => {
                lines[from..=number].iter_mut().for_each(|(_, is_code)| *is_code = true);
                open = None;
            }
            _ => {}
        }
        number += 1;
        // A fence that is never closed opens nothing: what follows it is read again without it.
        if number == lines.len()
            && let Some((from, _)) = open.take()
        {
            number = from + 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OURS: &str = "<!-- agent-handover:begin -->\nnew\n<!-- agent-handover:end -->\n";
    /// As the Python tool writes it, code fence included.
    const THEIRS: &str = "<!-- agent-handover:begin -->\n## Session handover (agent-handover)\n\n```bash\nagent-handover \
        check --checkpoint .agent-handover/checkpoint.json\n```\n(see `examples/codex-cli/end_of_session.py`)\n<!-- agent-handover:end -->\n";

    #[test]
    fn the_block_of_the_python_tool_is_replaced_where_it_stands() {
        let text = format!("# Rules\n\n{THEIRS}\nlast\n");
        assert_eq!(with(&text, "new"), format!("# Rules\n\n{OURS}\nlast\n"));
        let grown = format!("# Rules\n\n{THEIRS}\n{THEIRS}\n{THEIRS}mine\n");
        assert_eq!(with(&grown, "new"), format!("# Rules\n\n{OURS}mine\n"));
        assert_eq!(without(&text), text, "not ours to take away");
        assert_eq!(with(text.trim_end(), "new"), format!("# Rules\n\n{OURS}\nlast"));
    }

    #[test]
    fn a_marker_without_its_partner_costs_nobody_a_line() {
        let begun = "one\n<!-- agent-handover:begin -->\nold\nmy rule\n";
        let installed = with(begun, "new");
        assert_eq!(installed, format!("{begun}\n{OURS}"));
        assert_eq!(with(&installed, "new"), installed);
        assert_eq!(without(&installed), begun);
        assert!(has_stray(&installed) && !has_stray(OURS));
        let ended = "<!-- agent-handover:end -->\nmy rule\n";
        let installed = with(ended, "new");
        assert_eq!(with(&installed, "new"), installed);
        assert_eq!(without(&installed), ended);
        let mentioned = "the line `<!-- agent-handover:begin -->` and <!-- agent-handover:end --> are named here\n";
        assert_eq!(without(&with(mentioned, "new")), mentioned);
    }

    #[test]
    fn a_block_that_is_only_shown_as_code_is_not_ours() {
        let shown = format!("```md\n{OURS}```\nmine\n");
        assert_eq!(with(&shown, "new"), format!("{shown}\n{OURS}"));
        let never_closed = format!("```md\n{OURS}mine\n");
        assert_eq!(with(&never_closed, "new"), never_closed, "found, not added again and again");
    }

    #[test]
    fn line_ends_stay() {
        let installed = with("a\r\nb\r\n", "new\nlines");
        assert!(!installed.replace("\r\n", "").contains('\n'), "{installed:?}");
        assert_eq!(without(&installed), "a\r\nb\r\n");
    }

    proptest! {
        /// Whatever stands in the file, with markers and fences anywhere: twice is once, and no line of it is lost.
        #[test]
        fn installing_loses_no_line_and_settles(
            lines in proptest::collection::vec(
                prop_oneof![
                    Just(BEGINS[0]), Just(BEGINS[1]), Just(END), Just("```"), Just("~~~~"), Just("rule"), Just("")
                ],
                0..12
            ),
            newline in prop_oneof![Just("\n"), Just("\r\n")],
        ) {
            let text: String = lines.iter().map(|line| format!("{line}{newline}")).collect();
            let outside = |text: &str| -> Vec<String> {
                let mut kept = String::new();
                let mut from = 0;
                for block in blocks(text) {
                    kept.push_str(&text[from..block.start]);
                    from = block.end;
                }
                kept.push_str(&text[from..]);
                kept.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
            };
            let installed = with(&text, "new");
            prop_assert_eq!(&with(&installed, "new"), &installed);
            prop_assert_eq!(outside(&installed), outside(&text));
            let left = without(&installed);
            let rules = |line: &&str| !line.is_empty() && !BEGINS.contains(line);
            let (left_outside, text_outside) = (left.lines().filter(rules), outside(&text));
            prop_assert_eq!(
                left_outside.collect::<Vec<_>>(),
                text_outside.iter().map(String::as_str).filter(rules).collect::<Vec<_>>()
            );
            prop_assert!(!is_in(&left));
        }
    }
}
