//! Text of the talk without its Markdown marks: as one line, or as sentences.
//!
//! | Markdown | becomes |
//! |---|---|
//! | headings, quotes, bullets, emphasis, rules | their words |
//! | `1.` of a numbered list, `[ ]` of a task | itself: other messages refer to it |
//! | inline code | its words, unchanged |
//! | a code block of at most three lines | its lines; a longer one is left out |
//! | a link, an image | its text |
//! | a table | its cells, separated by spaces |

use super::inline;
use crate::base::text::cut;

/// A longer sentence is split between words.
const MAX_SENTENCE_BYTES: usize = 400;
/// A longer code block is left out.
const MAX_CODE_LINES: usize = 3;
/// A line that is shorter than this was not wrapped, so the next line does not continue it.
const MIN_WRAPPED_BYTES: usize = 50;

/// What stands between the lines of a list that are on one line.
const JOINT: &str = " · ";

/// A line that ends with one of these is complete.
const END_MARKS: [char; 8] = ['.', '!', '?', ':', ';', '。', '！', '？'];

/// A full stop after one of these does not end a sentence.
const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "ca", "cf", "dr", "e.g", "eg", "esp", "etc", "fig", "i.e", "ie", "incl", "jr", "mr", "mrs", "ms",
    "no", "nr", "prof", "resp", "sr", "st", "viz", "vs", "z.b",
];

/// The whole text on one line.
pub(crate) fn plain(text: &str) -> String {
    paragraphs(text).join(" ")
}

/// The sentences of a text, each on one line and at most [`MAX_SENTENCE_BYTES`] long. The end of a line ends a sentence,
/// unless the line was wrapped. Each sentence is a part of what [`plain`] returns, and nothing is left out.
pub(crate) fn sentences(text: &str) -> Vec<String> {
    paragraphs(text).iter().flat_map(|paragraph| sentences_of_line(paragraph)).collect()
}

fn sentences_of_line(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (sentence, after) = rest.split_at(sentence_end(rest));
        push_pieces(sentence.trim_end(), &mut found);
        rest = after.trim_start();
    }
    found
}

/// The beginning of a message on one line, at most `max` bytes, with [`JOINT`] between lines that end without a mark: the
/// items of a list would run into each other otherwise. Whole sentences, or the words of the first one that fit.
pub(crate) fn outline(text: &str, max: usize) -> String {
    let mut line = String::new();
    let mut whole = 0;
    for paragraph in paragraphs(text) {
        let is_joined = line.is_empty() || line.ends_with(END_MARKS) || line.ends_with(',');
        let mut joint = if is_joined { " " } else { JOINT };
        for sentence in sentences_of_line(&paragraph) {
            let before = line.len();
            if before > 0 {
                line.push_str(joint);
            }
            line.push_str(&sentence);
            if line.len() > max {
                let end = if whole > 0 { whole } else { at_word(&line, max).trim_end_matches([' ', '·']).len() };
                line.truncate(end);
                return line;
            }
            // A colon announces what may no longer fit.
            if !sentence.ends_with(':') {
                whole = line.len();
            }
            joint = " ";
        }
    }
    line
}

/// The sentences of what [`outline`] returned.
pub(crate) fn outline_sentences(line: &str) -> Vec<String> {
    line.split(JOINT).flat_map(sentences_of_line).collect()
}

/// The beginning of a text on one line, at most `max` bytes: whole sentences, or the words of the first one that fit.
pub(crate) fn beginning(text: &str, max: usize) -> String {
    let mut line = plain(text);
    if line.len() <= max {
        return line;
    }
    let mut end = 0;
    let mut whole = 0;
    for sentence in sentences(text) {
        let Some(at) = line[end..].find(&sentence) else { break };
        end += at + sentence.len();
        if end > max {
            break;
        }
        // A colon announces what no longer fits.
        if !sentence.ends_with(':') {
            whole = end;
        }
    }
    line.truncate(if whole > 0 { whole } else { at_word(&line, max).len() });
    line
}

/// At most `max` bytes of a line, cut between words if it has any.
fn at_word(line: &str, max: usize) -> &str {
    let part = cut(line, max);
    if part.len() == line.len() || line[part.len()..].starts_with(' ') {
        return part;
    }
    part.rfind(' ').map_or(part, |space| part[..space].trim_end())
}

/// Splits a sentence that is too long, after a comma or semicolon if there is one in its second half.
fn push_pieces(sentence: &str, found: &mut Vec<String>) {
    let mut rest = sentence;
    while rest.len() > MAX_SENTENCE_BYTES {
        let mut piece = at_word(rest, MAX_SENTENCE_BYTES);
        if let Some(mark) = piece.rfind([',', ';']).filter(|mark| *mark > MAX_SENTENCE_BYTES / 2)
            && rest[mark + 1..].starts_with(' ')
        {
            piece = &piece[..=mark];
        }
        found.push(piece.to_owned());
        rest = rest[piece.len()..].trim_start();
    }
    if !rest.is_empty() {
        found.push(rest.to_owned());
    }
}

/// Where the first sentence of a line ends.
fn sentence_end(line: &str) -> usize {
    let mut chars = line.char_indices().peekable();
    while let Some((at, mark)) = chars.next() {
        let after = at + mark.len_utf8();
        match mark {
            '。' | '！' | '？' => return after,
            // A list that is on one line with what announces it.
            ':' if line[after..].starts_with(" 1. ") => return after,
            '.' | '!' | '?' | '…' | '؟' | '।' => {
                while let Some((_, next)) = chars.peek()
                    && matches!(next, '"' | '\'' | ')' | ']' | '”' | '’' | '»' | '.' | '!' | '?')
                {
                    chars.next();
                }
                let end = chars.peek().map_or(line.len(), |(end, _)| *end);
                let next = line[end..].strip_prefix(' ').and_then(|next| next.chars().next());
                if next.is_some_and(|next| ends_here(&line[..at], mark, &line[after..end], next)) {
                    return end;
                }
            }
            _ => {}
        }
    }
    line.len()
}

/// Whether a mark ends a sentence that `next` follows.
fn ends_here(before: &str, mark: char, closing: &str, next: char) -> bool {
    if mark == '…' || closing.starts_with('.') {
        return !next.is_lowercase();
    }
    if mark != '.' {
        return true;
    }
    let word = before.rsplit(' ').next().unwrap_or_default().trim_start_matches(['(', '[', '"', '\'', '“']);
    let is_list_number = word.len() == before.len() && word.chars().all(|c| c.is_ascii_digit());
    let is_initial = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    let is_abbreviation = ABBREVIATIONS.iter().any(|known| word.eq_ignore_ascii_case(known));
    // "no." is an answer, "No. 5" is a number.
    let is_answer = word.eq_ignore_ascii_case("no") && !next.is_ascii_digit();
    !is_list_number && !is_initial && (!is_abbreviation || is_answer)
}

/// The lines of a text without marks and empty lines. Wrapped lines are joined.
fn paragraphs(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    // The bytes of the line before, if the next one may continue it.
    let mut before = 0;
    let lines: Vec<&str> = text.lines().collect();
    let mut fences = Fences::default();
    let mut at = 0;
    while at < lines.len() {
        if let Some(close) = fences.close_of(&lines, at) {
            if close - at - 1 <= MAX_CODE_LINES {
                found.extend(lines[at + 1..close].iter().map(|code| collapsed(code)).filter(|code| !code.is_empty()));
            }
            before = 0;
            at = close + 1;
            continue;
        }
        let (line, is_prose) = without_marks(lines[at]);
        at += 1;
        let is_wrapped = is_prose && before >= MIN_WRAPPED_BYTES && line.starts_with(char::is_lowercase);
        before = line.len();
        match found.last_mut().filter(|last| is_wrapped && !last.ends_with(END_MARKS)) {
            _ if line.is_empty() => {}
            Some(last) => {
                last.push(' ');
                last.push_str(&line);
            }
            None => found.push(line),
        }
    }
    found
}

/// A line without its marks, and whether it is prose that may continue the line before.
fn without_marks(line: &str) -> (String, bool) {
    let mut rest = line.trim();
    // A backslash at the end of a line is a line break in Markdown.
    rest = rest.strip_suffix('\\').filter(|rest| !rest.ends_with('\\')).unwrap_or(rest).trim_end();
    let mut is_prose = true;
    loop {
        let heading = rest.trim_start_matches('#');
        let after = if heading.len() < rest.len() && (heading.starts_with(' ') || heading.is_empty()) {
            Some(heading)
        } else {
            rest.strip_prefix('>')
                .or_else(|| ["- ", "* ", "+ ", "• "].iter().find_map(|bullet| rest.strip_prefix(bullet)))
        };
        let Some(after) = after else { break };
        is_prose &= rest.starts_with('>');
        rest = after.trim_start();
    }
    if is_rule(rest) {
        return (String::new(), false);
    }
    if rest.starts_with('|') {
        return (collapsed(&inline::without_marks(&cells(rest))), false);
    }
    (collapsed(&inline::without_marks(rest)), is_prose)
}

/// Whether a line only separates: `---`, `====`, `|---|:--:|`, a border of a box.
fn is_rule(line: &str) -> bool {
    let is_border = |c: char| matches!(c, '-' | '=' | '_' | '*' | '|' | ':' | '+' | ' ') || is_box_drawing(c);
    line.chars().count() >= 3 && line.chars().all(is_border)
}

fn is_box_drawing(c: char) -> bool {
    matches!(c, '\u{2500}'..='\u{257f}')
}

/// The cells of a table's row, separated by spaces. An escaped bar belongs to its cell.
fn cells(row: &str) -> String {
    let mut text = String::with_capacity(row.len());
    for c in row.chars() {
        let is_escaped = c == '|' && text.ends_with('\\');
        if is_escaped {
            text.pop();
        }
        text.push(if c == '|' && !is_escaped { ' ' } else { c });
    }
    text
}

/// One line without control characters and borders, its words separated by single spaces.
fn collapsed(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let is_gap = |c: char| c.is_whitespace() || is_box_drawing(c);
    for word in line.split(is_gap) {
        let start = text.len();
        text.extend(word.chars().filter(|c| !c.is_control()));
        if text.len() > start && start > 0 {
            text.insert(start, ' ');
        }
    }
    text
}

/// The fences around code blocks. A fence that nothing closes is not the beginning of a block: the words after it stay.
#[derive(Default)]
struct Fences {
    /// For each character of a fence, the shortest fence that nothing closes up to the end.
    unclosed: [Option<usize>; 2],
}

impl Fences {
    /// The line that closes the code block that begins at `at`, if one does.
    fn close_of(&mut self, lines: &[&str], at: usize) -> Option<usize> {
        let (mark, length, info) = fence(lines[at])?;
        // An opening fence with a backtick after it is inline code.
        let kind = usize::from(mark == '~');
        if info.contains('`') || self.unclosed[kind].is_some_and(|unclosed| length >= unclosed) {
            return None;
        }
        let closes = |line: &&str| {
            fence(line)
                .is_some_and(|(other, other_length, info)| other == mark && other_length >= length && info.is_empty())
        };
        let close = lines[at + 1..].iter().position(closes).map(|offset| at + 1 + offset);
        if close.is_none() {
            self.unclosed[kind] = Some(length);
        }
        close
    }
}

/// A fence as its character, its length and what follows it.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = line.trim_start_matches(mark);
    let length = line.len() - info.len();
    (length >= 3).then_some((mark, length, info.trim()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn marks_are_removed_and_words_stay() {
        for (marked, bare) in [
            ("# Done\n\n- **parser**: fixed\n- tests pass", "Done parser: fixed tests pass"),
            ("> quoted\n>> - twice", "quoted twice"),
            ("1. first\n2. second", "1. first 2. second"),
            ("- [ ] open\n- [x] done", "[ ] open [x] done"),
            ("a\n---\nb\n===\n***\nc", "a b c"),
            ("| file | lines |\n|---|:-:|\n| `a.rs` | 3 \\| 4 |", "file lines a.rs 3 | 4"),
            ("┌────┐\n│ hi │\n└────┘", "hi"),
            ("#hashtag and C#", "#hashtag and C#"),
            ("- -v is a flag\n--flag too", "-v is a flag --flag too"),
            ("  a\t b \u{1b}[0m ", "a b [0m"),
            ("", ""),
        ] {
            assert_eq!(plain(marked), bare);
        }
    }

    #[test]
    fn a_backslash_that_breaks_a_line_is_a_mark() {
        assert_eq!(plain("It is inline:\\\n\\\nsee below"), "It is inline: see below");
        assert_eq!(plain("a path\\\\"), "a path\\\\");
    }

    #[test]
    fn an_outline_keeps_the_lines_of_a_list_apart() {
        let text = "Done. Changes:\n\n1. **Spans** in the lexer\n2. Docs.\n\n## Open\n- tests\n- the release";
        let line = "Done. Changes: 1. Spans in the lexer · 2. Docs. Open · tests · the release";
        assert_eq!(outline(text, 400), line);
        let expected = ["Done.", "Changes:", "1. Spans in the lexer", "2. Docs.", "Open", "tests", "the release"];
        assert_eq!(outline_sentences(line), expected);
        assert_eq!(outline(text, 45), "Done. Changes: 1. Spans in the lexer");
        assert_eq!(outline(text, 20), "Done.");
        assert_eq!(outline("Three words here", 12), "Three words");
        assert_eq!(outline("one\ntwo", 5), "one");
    }

    #[test]
    fn a_short_code_block_stays_and_a_long_one_does_not() {
        assert_eq!(plain("run\n```sh\ncargo test  **x**\n```\nnow"), "run cargo test **x** now");
        assert_eq!(plain("was\n~~~\n1\n2\n3\n4\n~~~\nnow"), "was now");
        assert_eq!(plain("```\n1\n2\n3\n4\n````\nnow"), "now");
    }

    #[test]
    fn nothing_is_lost_after_a_fence_that_is_never_closed() {
        assert_eq!(plain("```\na\nb\nc\nd\ne"), "``` a b c d e");
    }

    #[test]
    fn sentences_end_at_marks_and_lines() {
        for (text, expected) in [
            ("It works. Now the docs! Right? yes", &["It works.", "Now the docs!", "Right?", "yes"][..]),
            ("no. use csv", &["no.", "use csv"]),
            ("- one\n- two. three", &["one", "two.", "three"]),
            ("(It is.) \"Is it?\" Yes.", &["(It is.)", "\"Is it?\"", "Yes."]),
            ("完成了。现在测试！好", &["完成了。", "现在测试！", "好"]),
            ("Wait... What", &["Wait...", "What"]),
        ] {
            assert_eq!(sentences(text), expected);
        }
    }

    #[test]
    fn names_numbers_and_abbreviations_do_not_end_a_sentence() {
        for text in [
            "cli.py:42 still prints v1.2 in 0.5 s",
            "use a parser, e.g. serde, i.e. a crate vs. code",
            "1. first point",
            "see No. 5 and J. Smith et al. there",
            "foo... and bar",
            "what?! is `a.b` here",
        ] {
            let whole = text.replace('`', "");
            let found = sentences(text);
            assert!(found == [whole] || text.starts_with("what"), "{found:?}");
        }
    }

    #[test]
    fn wrapped_lines_are_one_sentence() {
        let wrapped = "this is a line that somebody wrapped at some column of a\nterminal. And\nnot this";
        let joined = "this is a line that somebody wrapped at some column of a terminal.";
        assert_eq!(sentences(wrapped), [joined, "And", "not this"]);
    }

    #[test]
    fn a_long_sentence_is_split_between_words() {
        let text = "word ".repeat(200);
        let found = sentences(&text);
        assert_eq!(found.join(" "), text.trim_end());
        assert!(found.iter().all(|piece| piece.len() <= MAX_SENTENCE_BYTES));
    }

    #[test]
    fn a_beginning_ends_with_a_sentence() {
        assert_eq!(beginning("One. Two. Three.", 11), "One. Two.");
        assert_eq!(beginning("One is done.\n\nChanges:\n- the parser", 24), "One is done.");
        assert_eq!(beginning("Three words here", 12), "Three words");
        assert_eq!(beginning("完成了。现在", 15), "完成了。");
        assert_eq!(beginning("short", 10), "short");
    }

    /// Text with many marks.
    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[ -~]{0,12}",
            "\\PC{0,4}",
            prop::sample::select(vec![
                "\n", "\n\n", "- ", "* ", "# ", "> ", "1. ", "```", "~~~", "`", "**", "_", "[a](b)", "](", "|", ". ",
                "! ", "。", " word", "\n\u{1b}", "…", "---",
            ])
            .prop_map(str::to_owned),
        ];
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_text_gives_one_line_of_its_own_words(text in text()) {
            let line = plain(&text);
            prop_assert!(line.len() <= text.len() && !line.contains(char::is_control) && !line.contains("  "));
            // Only marks and gaps are removed, so all that is left occurs in the same order.
            let mut source = text.chars();
            prop_assert!(line.chars().filter(|c| *c != ' ').all(|c| source.any(|other| other == c)));
        }

        #[test]
        fn sentences_are_the_line_in_pieces(text in text()) {
            let line = plain(&text);
            let found = sentences(&text);
            prop_assert!(found.iter().all(|piece| !piece.is_empty() && piece.len() <= MAX_SENTENCE_BYTES));
            prop_assert!(found.iter().all(|piece| line.contains(piece.as_str())));
            prop_assert_eq!(found.concat().replace(' ', ""), line.replace(' ', ""));
        }

        #[test]
        fn a_beginning_is_the_beginning(text in text(), max in 0..200_usize) {
            let start = beginning(&text, max);
            prop_assert!(start.len() <= max && plain(&text).starts_with(&start));
            let letters = |text: &str| text.replace([' ', '·'], "");
            let start = outline(&text, max);
            prop_assert!(start.len() <= max && letters(&plain(&text)).starts_with(&letters(&start)));
        }
    }

    #[test]
    fn large_and_hostile_texts_take_linear_time() {
        for unit in ["[", "](", "`", "**a", "```x\n", "- ", "> ", "a. ", "|", "x", "*_~~"] {
            let text = unit.repeat(20_000);
            assert!(sentences(&text).iter().map(String::len).sum::<usize>() <= text.len());
        }
    }
}
