//! What a note says: what is next, what was decided, what did not work, what is blocked. Everything else was done.
//!
//! ```text
//! parser done; next: error spans      done "parser done", next "error spans"
//! ## Next                             the items below it are next
//! tried a hand-written lexer          a dead end
//! decided to keep the old flag        a decision
//! ```
//!
//! The agent's messages are read by the same grammar.

use super::passages::{Passage, Shape, passages, sentences};
use super::plain::{beginning, plain};
use super::{Account, Line, Material, Rule, Speaker, cues};

pub(super) const RULE: Rule = Rule { name: "note lines", apply };

const MAX_BYTES: usize = 450;
const MAX_LINES: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Goal,
    Next,
    Decision,
    DeadEnd,
    KnownIssue,
    Done,
}

/// The labels of parts, before a colon or as a heading.
const LABELS: &[(Part, &str)] = &[
    (Part::Goal, "goal|goals|the goal|current goal|aim|objective"),
    (
        Part::Next,
        "next|next step|next steps|next action|next actions|next up|up next|todo|todos|to do|to-do|to-dos|remaining|\
         remaining work|remaining tasks|remaining steps|still to do|left to do|what's left|what is left|what remains|\
         still open|open items|open|follow-up|follow-ups|follow up|next time|tomorrow|then|next session|suggested next steps|\
         recommended next steps|pending|outstanding|immediate next steps|possible next steps|not done|not done yet",
    ),
    (Part::Decision, "decision|decisions|decided|decisions made|ruling|rulings|we decided|key decisions"),
    (
        Part::DeadEnd,
        "tried|failed|dead end|dead ends|did not work|didn't work|failed attempts|what did not work|what didn't work|\
         abandoned|rejected",
    ),
    (
        Part::KnownIssue,
        "blocked|blocker|blockers|blocked by|blocked on|known issue|known issues|issue|issues|problem|problems|broken|\
         failing|bug|bugs",
    ),
    (Part::Done, "done|finished|completed|changes|summary|what was done|what changed|progress|status"),
];

/// Labels that begin a clause even if no mark is before them: "parser done next: error spans".
const UNMARKED: &[&str] = &["next:", "next steps:", "todo:", "decision:", "decided:"];
/// What may not be before such a label: the words then belong together.
const BEFORE_LABEL: &str = "a an and are as called comes come do field goes happens is key label my named our says the that this \
    up what what's with your";

/// What may not follow a "next" without a colon: it then is an adjective.
const NEXT_OF_SOMETHING: &str = "release version week session month sprint line token page iteration year to door \
    generation.js day run time call row item version. major minor quarter";

pub(super) fn apply(material: &Material<'_>, account: &mut Account) {
    let who = speaker(material);
    // A person who writes `next: push it` means it. An agent writes it at the end of every session.
    let is_next = if who == Speaker::Person { says_something } else { is_action };
    for (part, text) in parts(material.note, Some(Part::Next), is_next) {
        let lines = match part {
            Part::Goal => continue,
            Part::Next => &mut account.next,
            Part::Decision => &mut account.decisions,
            Part::DeadEnd => &mut account.dead_ends,
            Part::KnownIssue => &mut account.known_issues,
            Part::Done => &mut account.done,
        };
        if lines.len() < MAX_LINES {
            lines.push(Line { who, turn: 0, text });
        }
    }
}

/// Who gave the note: the agent, if one is known.
pub(super) fn speaker(material: &Material<'_>) -> Speaker {
    if material.transcript.is_some() { Speaker::Agent } else { Speaker::Person }
}

/// The parts of a text in its order, each a cut of it.
pub(super) fn parse(text: &str) -> Vec<(Part, String)> {
    parts(text, Some(Part::Next), is_action)
}

/// Like [`parse`]. An unticked box is next only below a heading or a label that says so.
pub(super) fn parse_without_boxes(text: &str) -> Vec<(Part, String)> {
    parts(text, None, is_action)
}

/// `open_box` is what an unticked box is, whatever it is below. `is_next` is what counts as a next action.
fn parts(text: &str, open_box: Option<Part>, is_next: fn(&str) -> bool) -> Vec<(Part, String)> {
    let mut found = Vec::new();
    let mut section = Section::default();
    for passage in passages(text) {
        let line = plain(&passage.text);
        if section.begins(&passage, &line) {
            continue;
        }
        if let Some((before, part)) = label_at_end(&line).filter(|_| passage.shape != Shape::Pasted) {
            pieces(before, section.part, &mut found);
            section = Section { part: Some(part), is_heading: false };
            continue;
        }
        match passage.shape {
            Shape::TickedItem => found.push((Part::Done, line)),
            Shape::OpenItem => found.push((open_box.or(section.part).unwrap_or(Part::Done), line)),
            _ => pieces(&line, section.part, &mut found),
        }
    }
    for (part, text) in &mut found {
        // "TODO: none. It looks good." leaves nothing to do.
        let said = sentences(text);
        if *part == Part::Next && said.len() > 1 && cues::is_nothing(said[0]) {
            *part = Part::Done;
        }
        *text = beginning(text, MAX_BYTES);
    }
    found.retain(|(part, text)| !text.is_empty() && (*part != Part::Next || is_next(text)));
    found
}

fn says_something(text: &str) -> bool {
    !cues::is_filler(text) && !cues::is_nothing(text)
}

/// Whether something can be done next. "Continue" and "none" cannot.
fn is_action(text: &str) -> bool {
    !cues::is_trivial(text) && !cues::is_nothing(text)
}

/// The part that a heading or a label gives to the lines below it.
#[derive(Default)]
struct Section {
    part: Option<Part>,
    /// Whether a heading began it. A label's section ends at the next paragraph.
    is_heading: bool,
}

impl Section {
    /// Whether the passage is a heading or a label without anything after it.
    fn begins(&mut self, passage: &Passage, line: &str) -> bool {
        let is_heading = passage.shape == Shape::Heading;
        if is_heading {
            *self = Section { part: part_of_heading(line), is_heading };
            return true;
        }
        if passage.shape == Shape::Prose || passage.shape == Shape::Item && line.ends_with(':') {
            let label = line.trim_end_matches(':');
            let part = part_of_label(label).or_else(|| part_of_heading(label).filter(|_| line.ends_with(':')));
            let is_bold = passage.text.starts_with("**") && passage.text.trim_end_matches([':', ' ']).ends_with("**");
            if part.is_some() && (line.ends_with(':') || is_bold) {
                *self = Section { part, is_heading };
                return true;
            }
            if passage.follows_blank && !self.is_heading && passage.shape == Shape::Prose {
                self.part = None;
            }
        }
        false
    }
}

/// The label that ends a line after other words, as in "The parser is done. Remaining:", and what is before it.
fn label_at_end(line: &str) -> Option<(&str, Part)> {
    let label = line.strip_suffix(':')?;
    let at = label.rfind(['.', '!', ';'])? + 1;
    let part = part_of_label(&label[at..])?;
    Some((label[..at].trim_end_matches(';'), part))
}

fn part_of_label(label: &str) -> Option<Part> {
    let label = label.split('(').next().unwrap_or_default().trim().to_ascii_lowercase();
    LABELS.iter().find(|(_, labels)| labels.split('|').any(|known| known == label)).map(|(part, _)| *part)
}

/// The part of a short heading that begins with a label: "Next steps for tomorrow".
fn part_of_heading(heading: &str) -> Option<Part> {
    let words: Vec<&str> = heading.trim_end_matches(':').split(' ').take(7).collect();
    if words.len() > 6 {
        return None;
    }
    (1..=words.len()).rev().find_map(|count| part_of_label(&words[..count].join(" ")))
}

/// Adds the pieces of one line. `section` is the part that its heading gives it.
fn pieces(line: &str, section: Option<Part>, found: &mut Vec<(Part, String)>) {
    let mut pieces: Vec<(Part, &str)> = Vec::new();
    let mut is_labelled_from_start = false;
    for (at, (clause, follows_sentence)) in clauses(line).into_iter().enumerate() {
        let before = pieces.last().map(|(part, _)| *part);
        let (part, text) = match (label(clause, before), section) {
            (Some(labelled), _) => {
                is_labelled_from_start |= at == 0;
                labelled
            }
            (None, None | Some(Part::Done)) if held(clause).is_some() && !is_labelled_from_start => {
                (held(clause).unwrap_or(Part::Done), clause)
            }
            // What has no cue goes on with the piece before it.
            (None, _) if at > 0 && (!follows_sentence || is_labelled_from_start) => {
                if let Some((_, last)) = pieces.last_mut() {
                    *last = joined(line, last, clause);
                }
                continue;
            }
            (None, section) => (section.unwrap_or(Part::Done), clause),
        };
        pieces.push((part, text));
    }
    found.extend(pieces.into_iter().map(|(part, text)| (part, text.trim_end_matches([';', ',']).trim().to_owned())));
}

/// The part of the line from the beginning of `first` to the end of `second`.
fn joined<'a>(line: &'a str, first: &str, second: &str) -> &'a str {
    let offset = |part: &str| part.as_ptr() as usize - line.as_ptr() as usize;
    line.get(offset(first)..offset(second) + second.len()).unwrap_or(line)
}

/// A sentence in the parts that labels without a mark before them begin, and whether each begins the sentence.
fn at_unmarked_labels(sentence: &str) -> Vec<(&str, bool)> {
    let lower = sentence.to_ascii_lowercase();
    let mut starts = vec![0];
    for (at, _) in lower.match_indices(' ') {
        let before = lower[..at].rsplit(' ').next().unwrap_or_default();
        let is_label = UNMARKED.iter().any(|label| lower[at + 1..].starts_with(label));
        if is_label
            && before.ends_with(char::is_alphanumeric)
            && !BEFORE_LABEL.split_whitespace().any(|it| it == before)
        {
            starts.push(at + 1);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([sentence.len()]);
    starts.iter().zip(ends).map(|(start, end)| (sentence[*start..end].trim_end(), *start == 0)).collect()
}

/// The clauses of a line, and whether a sentence ends before each. A comma or dash separates only before a label.
fn clauses(line: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    for (sentence, mut follows_sentence) in sentences(line).into_iter().flat_map(at_unmarked_labels) {
        let mut start = 0;
        for (at, mark) in sentence.match_indices([';', ',', '-', '–', '—', '|']) {
            let end = at + mark.len();
            let is_separate =
                sentence[end..].starts_with(' ') && (mark == ";" || mark == "," || sentence[..at].ends_with(' '));
            let after = sentence[end..].trim_start();
            if at < start
                || !is_separate
                || mark != ";" && !after.contains(':')
                || mark != ";" && colon_label(after).is_none()
            {
                continue;
            }
            // The mark stays with the clause before it, so that clauses can be put together again.
            let clause =
                if mark == ";" || mark == "," { &sentence[start..end] } else { sentence[start..at].trim_end() };
            found.push((clause.trim_start(), follows_sentence));
            follows_sentence = false;
            start = end;
        }
        found.push((sentence[start..].trim(), follows_sentence));
    }
    found.retain(|(clause, _)| !clause.is_empty());
    found
}

/// A label with a colon at the beginning of a clause, and what follows it.
fn colon_label(clause: &str) -> Option<(Part, &str)> {
    let start = crate::base::text::cut(clause, 40);
    let colon = start.find(':')?;
    let part = part_of_label(&clause[..colon])?;
    Some((part, clause[colon + 1..].trim())).filter(|(_, rest)| !rest.is_empty())
}

/// A label at the beginning of a clause, and what follows it.
fn label(clause: &str, before: Option<Part>) -> Option<(Part, &str)> {
    if let Some(found) = colon_label(clause) {
        return Some(found);
    }
    let (first, rest) = clause.split_once([' ', '\u{a0}'])?;
    let rest = rest.trim();
    let second = rest.split(' ').next().unwrap_or_default();
    match first.trim_end_matches(',').to_ascii_lowercase().as_str() {
        "todo" => Some((Part::Next, rest.trim_start_matches(['-', '–', '—']).trim_start())),
        "then" if before == Some(Part::Next) => Some((Part::Next, rest)),
        "next" if matches!(second, "step" | "steps") => {
            let what = rest.split_once(" is ").or_else(|| rest.split_once(" are "))?.1;
            Some((Part::Next, what.trim()))
        }
        "next" if !NEXT_OF_SOMETHING.split(' ').any(|word| word == second) => {
            Some((Part::Next, rest.trim_start_matches(['-', '–', '—']).trim_start()))
        }
        _ => None,
    }
    .filter(|(_, rest)| !rest.is_empty())
}

/// The part of a clause by a word that it holds.
fn held(clause: &str) -> Option<Part> {
    let lower = clause.to_ascii_lowercase().replace('’', "'");
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect();
    let has = |word: &str| words.contains(&word);
    let has_pair = |first: &str, second: &str| words.windows(2).any(|pair| pair == [first, second]);
    let did_not_work = has_pair("not", "work") || has_pair("didn't", "work") || has_pair("doesn't", "help");
    if has("decided") && !has_pair("not", "decided") {
        Some(Part::Decision)
    } else if has("tried") || did_not_work || words.first() == Some(&"failed") || has_pair("dead", "end") {
        Some(Part::DeadEnd)
    } else if has("blocked") || has("failed") || has("fails") || has("failing") {
        Some(Part::KnownIssue)
    } else if has("todo") {
        Some(Part::Next)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::examples::letters;
    use super::*;

    #[test]
    fn a_note_is_put_where_it_belongs() {
        use Part::{DeadEnd, Decision, Done, Goal, KnownIssue, Next};
        for (note, expected) in [
            ("parser done; next: error spans", &[(Done, "parser done"), (Next, "error spans")][..]),
            (
                "Parser done. Next: error spans, then the CLI.",
                &[(Done, "Parser done."), (Next, "error spans, then the CLI.")],
            ),
            ("parser done, next: error spans", &[(Done, "parser done"), (Next, "error spans")]),
            ("parser done - next: error spans", &[(Done, "parser done"), (Next, "error spans")]),
            (
                "parser done; next error spans; then docs",
                &[(Done, "parser done"), (Next, "error spans"), (Next, "docs")],
            ),
            ("next: a; b; tried c", &[(Next, "a; b; tried c")]),
            ("lexer done\nparser done", &[(Done, "lexer done"), (Done, "parser done")]),
            ("lexer done; parser done", &[(Done, "lexer done; parser done")]),
            ("- lexer\n- next: spans\n- TODO docs", &[(Done, "lexer"), (Next, "spans"), (Next, "docs")]),
            ("- [x] lexer\n- [ ] spans", &[(Done, "lexer"), (Next, "spans")]),
            (
                "## Done\n- lexer\n\n## Next\n- spans\n- `cli` flags",
                &[(Done, "lexer"), (Next, "spans"), (Next, "cli flags")],
            ),
            (
                "Next steps:\n1. spans\n2. docs that failed\n\nAll green.",
                &[(Next, "spans"), (Next, "docs that failed"), (Done, "All green.")],
            ),
            ("**Next:** spans", &[(Next, "spans")]),
            ("**Next steps**\n- spans", &[(Next, "spans")]),
            ("decision: keep the flag", &[(Decision, "keep the flag")]),
            (
                "We decided to keep the flag. Spans work.",
                &[(Decision, "We decided to keep the flag."), (Done, "Spans work.")],
            ),
            ("tried a regex, too slow", &[(DeadEnd, "tried a regex, too slow")]),
            ("Caching did not work.", &[(DeadEnd, "Caching did not work.")]),
            ("failed: caching in redis", &[(DeadEnd, "caching in redis")]),
            ("blocked on review", &[(KnownIssue, "blocked on review")]),
            ("blocked: no access to staging", &[(KnownIssue, "no access to staging")]),
            ("the windows test failed", &[(KnownIssue, "the windows test failed")]),
            ("goal: error spans\nlexer done", &[(Goal, "error spans"), (Done, "lexer done")]),
            ("Parser fertig; weiter mit den Spannen", &[(Done, "Parser fertig; weiter mit den Spannen")]),
            ("解析器完成。下一步：错误范围", &[(Done, "解析器完成。"), (Done, "下一步：错误范围")]),
            ("ready for the next release", &[(Done, "ready for the next release")]),
            ("next release is on Friday", &[(Done, "next release is on Friday")]),
            ("first ran a, then b", &[(Done, "first ran a, then b")]),
            ("next: continue", &[]),
            ("next: none", &[]),
            ("TODO: none. It looks good.", &[(Done, "none. It looks good.")]),
            (
                "The lexer is done; all green. Remaining:\n- spans\n- docs\n\nBye.",
                &[(Done, "The lexer is done; all green."), (Next, "spans"), (Next, "docs"), (Done, "Bye.")],
            ),
            ("lexer done; next:\n- spans", &[(Done, "lexer done"), (Next, "spans")]),
            ("The lexer needs three things:\n- spans", &[(Done, "The lexer needs three things:"), (Done, "spans")]),
            ("parser done next: error spans", &[(Done, "parser done"), (Next, "error spans")]),
            ("parser done todo: docs", &[(Done, "parser done"), (Next, "docs")]),
            ("what comes next: nobody knows", &[(Done, "what comes next: nobody knows")]),
            ("", &[]),
        ] {
            let found = parse(note);
            let found: Vec<(Part, &str)> = found.iter().map(|(part, text)| (*part, text.as_str())).collect();
            assert_eq!(found, expected, "{note}");
        }
    }

    #[test]
    fn an_account_has_the_parts_of_the_note() {
        let note = "lexer done; next: spans\ndecided: bytes\ntried chars\nblocked on review";
        let mut account = Account::default();
        apply(&Material { transcript: None, note, state: "", has_changes: false }, &mut account);
        let line = |text: &str| vec![Line { who: Speaker::Person, turn: 0, text: text.to_owned() }];
        assert_eq!((account.done, account.next), (line("lexer done"), line("spans")));
        assert_eq!((account.decisions, account.dead_ends), (line("bytes"), line("tried chars")));
        assert_eq!(account.known_issues, line("blocked on review"));
    }

    proptest! {
        #[test]
        fn any_text_is_kept_verbatim_and_bounded(
            text in "([ \n\t.,;:!?`\"*#>|-]|next: |todo |then |tried |## Next\n|- \\[ \\] |[a-zé漢]{1,9}){0,80}",
        ) {
            for (_, kept) in parse(&text) {
                prop_assert!(kept.len() <= MAX_BYTES && letters(&plain(&text)).contains(&letters(&kept)), "{kept}");
            }
        }
    }

    #[test]
    fn hostile_text_is_looked_through_in_one_go() {
        for part in ["next: ", "; ", ", a: ", "then ", "- [ ] ", "# ", "a; next: b; ", "\n", ". "] {
            parse(&part.repeat(4_000));
        }
    }
}
