//! The form that a person fills in: what is known as a Markdown text, and what an edited text says.

use crate::base::text;
use crate::handoff::Handoff;

const DONE: &str = "## Done";
const NEXT: &str = "## Next";
const STATE: &str = "## State";

/// How many lines of what is known are shown.
const MAX_KNOWN: usize = 20;

/// What a person made of the form.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Filled {
    /// Nothing was changed: what is known is handed over.
    Unchanged,
    /// Nothing is left of it: the handover is cancelled.
    Empty,
    Words {
        note: Option<String>,
        state: Option<String>,
    },
}

impl Filled {
    pub(super) fn is_said(&self) -> bool {
        matches!(self, Filled::Words { .. })
    }
}

/// The form, filled with what the session is known to have done.
pub(super) fn form(known: Option<&Handoff>) -> String {
    let next: String =
        known.iter().flat_map(|known| known.texts("next_todo_items")).map(|item| line("- ", item)).collect();
    format!(
        "<!-- Save this file and leave the editor to hand the session over.\n     \
         An unchanged file hands over what is known. An empty file cancels.\n     \
         Comments like this one are dropped. -->\n\n\
         <!-- What this session did.\n     \
         This becomes the note of today and the summary of the handoff. -->\n{DONE}\n\n\n\
         <!-- What comes next, one action a line.\n     \
         The first one becomes the next action of the next session. -->\n{NEXT}\n\n{next}\n\
         <!-- Where the project stands now.\n     \
         This becomes the current state; if it is empty, the note does. -->\n{STATE}\n\n\n\
         {}",
        comment(known)
    )
}

/// The comment with what is handed over in any case.
fn comment(known: Option<&Handoff>) -> String {
    let Some(known) = known else {
        return "<!-- Known already: nothing changed since the last handover. -->\n".to_owned();
    };
    let goal = known.text("primary_goal");
    let done = known.texts("completed_tasks");
    let mut lines: Vec<String> =
        Some(goal).filter(|goal| !goal.is_empty()).map(|goal| line("     goal: ", goal)).into_iter().collect();
    lines.extend(done.iter().map(|item| line("     - ", item)));
    let left = lines.len().saturating_sub(MAX_KNOWN);
    lines.truncate(MAX_KNOWN);
    if left > 0 {
        lines.push(format!("     and {left} more\n"));
    }
    format!("<!-- Known already, and handed over with your words:\n{}-->\n", lines.concat())
}

/// One line of the form. A `--` in it is split, so that it cannot end a comment.
fn line(lead: &str, item: &str) -> String {
    format!("{lead}{}\n", text::one_line(item, 200).replace("--", "- -"))
}

/// What an edited form says.
pub(super) fn read(form: &str, edited: &str) -> Filled {
    if edited.trim() == form.trim() {
        return Filled::Unchanged;
    }
    let sections = sections(&without_comments(edited));
    let mut note = Vec::new();
    let mut state = None;
    for (heading, body) in sections.iter().filter(|(_, body)| !body.is_empty()) {
        match heading.as_str() {
            STATE => state = Some(body.clone()),
            DONE | "" => note.push(body.clone()),
            heading => note.push(format!("{heading}\n\n{body}")),
        }
    }
    match (note.is_empty(), &state) {
        (true, None) => Filled::Empty,
        (is_empty, _) => Filled::Words { note: (!is_empty).then(|| note.join("\n\n")), state },
    }
}

/// The text before the first heading, and each heading with the text below it.
fn sections(text: &str) -> Vec<(String, String)> {
    let mut sections = vec![(String::new(), String::new())];
    for line in text.lines() {
        match line.trim_end() {
            heading @ (DONE | NEXT | STATE) => sections.push((heading.to_owned(), String::new())),
            line => {
                if let Some((_, body)) = sections.last_mut() {
                    body.push_str(line);
                    body.push('\n');
                }
            }
        }
    }
    sections.into_iter().map(|(heading, body)| (heading, body.trim().to_owned())).collect()
}

/// The text without comments. A comment without an end is kept as text.
fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        let Some((_, after)) = comment.split_once("-->") else { break };
        kept.push_str(before);
        rest = after;
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(note: &str, state: &str) -> Filled {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Filled::Words { note: some(note), state: some(state) }
    }

    #[test]
    fn each_part_of_the_form_becomes_what_its_comment_says() {
        let form = form(None);
        assert!(form.lines().all(|line| line.chars().count() <= 80), "{form}");
        assert_eq!(read(&form, &form), Filled::Unchanged);
        assert_eq!(read(&form, &format!("{form}\n\n")), Filled::Unchanged, "an editor adds a newline");
        let filled = form.replace("## Done\n", "## Done\nfixed the parser\n");
        assert_eq!(read(&form, &filled), words("fixed the parser", ""));
        let filled = filled.replace("## Next\n", "## Next\n- spans\n").replace("## State\n", "## State\nbeta\n");
        assert_eq!(read(&form, &filled), words("fixed the parser\n\n## Next\n\n- spans", "beta"));
        assert_eq!(read(&form, &form.replace("## State\n", "## State\nbeta\n")), words("", "beta"));
        assert_eq!(read(&form, "just words\n# and a heading\n"), words("just words\n# and a heading", ""));
        assert_eq!(read(&form, "a <!-- that does not end"), words("a <!-- that does not end", ""));
    }

    #[test]
    fn a_form_without_words_cancels() {
        let form = form(None);
        for empty in ["", " \n", "<!-- only a comment -->\n", "## Done\n\n## Next\n"] {
            assert_eq!(read(&form, empty), Filled::Empty, "{empty}");
        }
    }

    #[test]
    fn what_is_known_is_shown_and_cannot_end_the_comment() {
        let known = Handoff::parse("---\nprimary_goal: \"fast --> parser\"\ncompleted_tasks:\n  - \"a\"\nnext_todo_items:\n  - \"spans\"\n---\n").unwrap();
        let form = form(Some(&known));
        assert!(
            form.contains("## Next\n\n- spans\n") && form.contains("goal: fast - -> parser\n     - a\n-->"),
            "{form}"
        );
        assert_eq!(read(&form, &form.replace("- spans", "- lexer")), words("## Next\n\n- lexer", ""));
    }
}
