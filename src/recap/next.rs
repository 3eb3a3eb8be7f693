//! What is to be done next, the most urgent first: what the note says, a last request that nobody has begun, what the
//! agent's last message says, the open to-dos, and the steps of a plan that nobody has begun.

use super::note_lines::{self, Part};
use super::passages::{Shape, passages, sentences, written};
use super::plain::beginning;
use super::{Account, Line, Material, Rule, Speaker, cues, goal, rulings};
use crate::transcript::{TodoStatus, Transcript, Utterance, UtteranceKind};

pub(super) const RULE: Rule = Rule { name: "next", apply };

const MAX_ACTIONS: usize = 10;
const MAX_BYTES: usize = 450;

fn apply(material: &Material<'_>, account: &mut Account) {
    let mut found = std::mem::take(&mut account.next);
    // What the note says was looked at where it was read.
    let noted = found.len();
    if let Some(transcript) = material.transcript {
        found.extend(unanswered(transcript));
        found.extend(of_last_message(transcript));
        found.extend(of_todos(transcript));
        found.extend(of_plan(transcript, material.has_changes));
    }
    for (number, line) in found.into_iter().enumerate() {
        let is_known = account.next.iter().any(|known| sounds(&known.text) == sounds(&line.text));
        let is_action = number < noted || is_action(&line.text);
        if account.next.len() < MAX_ACTIONS && !is_known && is_action {
            account.next.push(line);
        }
    }
}

fn is_action(text: &str) -> bool {
    !text.is_empty() && !cues::is_trivial(text) && !cues::is_nothing(text)
}

/// A text as it sounds: two that differ only in case and marks are the same action.
fn sounds(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The last request, if the session ended before the agent said or did anything about it.
fn unanswered(transcript: &Transcript) -> Option<Line> {
    let last = transcript.talk.last().filter(|last| last.kind == UtteranceKind::Request)?;
    let is_begun = transcript.work.iter().any(|work| work.turn >= last.turn);
    let asks_for_work = goal::pasted_plan(&last.text).is_none()
        && !cues::is_anaphor(&last.text)
        && written(&last.text).iter().flat_map(|passage| sentences(&passage.text)).any(cues::is_directive);
    (!is_begun && asks_for_work).then(|| Line {
        who: Speaker::Person,
        turn: last.turn,
        text: beginning(&last.text, MAX_BYTES),
    })
}

/// What the agent's last message says. An earlier message counts if the person only ruled or asked something after it, or if
/// the agent never answered.
fn of_last_message(transcript: &Transcript) -> Vec<Line> {
    // The turn of the text that was looked at before: it is later.
    let mut later = None;
    for said in transcript.talk.iter().rev() {
        match said.kind {
            // Only the last text of a turn says what is left.
            UtteranceKind::AgentText if later == Some(said.turn) => {}
            UtteranceKind::AgentText => {
                let found = stated(&said.text, !transcript.edited.is_empty());
                if !found.is_empty() {
                    let line = |text| Line { who: Speaker::Agent, turn: said.turn, text };
                    return found.into_iter().map(line).collect();
                }
                later = Some(said.turn);
            }
            UtteranceKind::Refusal | UtteranceKind::Answer => {}
            UtteranceKind::Request if !begins_work(transcript, said) => {}
            // What the agent never answered replaces nothing.
            UtteranceKind::Request | UtteranceKind::SlashCommand | UtteranceKind::ApprovedPlan if later.is_none() => {}
            UtteranceKind::Request | UtteranceKind::SlashCommand | UtteranceKind::ApprovedPlan => break,
        }
    }
    Vec::new()
}

/// Whether a request is more than a ruling or a question. After a correction, the next action that the agent stated is in
/// doubt.
fn begins_work(transcript: &Transcript, request: &Utterance) -> bool {
    let is_edited = transcript.work.iter().any(|work| work.turn == request.turn && !work.edited.is_empty());
    let is_question = || {
        let passages = written(&request.text);
        let mut said = passages.iter().flat_map(|passage| sentences(&passage.text)).peekable();
        said.peek().is_some() && said.all(cues::is_question)
    };
    cues::is_correction(&request.text) || !rulings::is_ruling(&request.text) && (is_edited || !is_question())
}

/// The next actions in a message. Without edits, unticked boxes are those of a review or a checklist.
fn stated(message: &str, has_edits: bool) -> Vec<String> {
    let parts = if has_edits { note_lines::parse(message) } else { note_lines::parse_without_boxes(message) };
    let is_next = |(part, text): &(Part, String)| *part == Part::Next && !text.ends_with('?');
    parts.into_iter().filter(is_next).map(|(_, text)| text).collect()
}

fn of_todos(transcript: &Transcript) -> Vec<Line> {
    let with = |status| transcript.todos.iter().filter(move |todo| todo.status == status);
    let open = with(TodoStatus::InProgress).chain(with(TodoStatus::Pending));
    open.map(|todo| Line { who: Speaker::Agent, turn: 0, text: beginning(&todo.text, MAX_BYTES) }).collect()
}

/// The steps of the last plan, if nothing was done since. To-dos, if there are any, know better which of them are done.
fn of_plan(transcript: &Transcript, has_changes: bool) -> Vec<Line> {
    let plan = transcript.talk.iter().rev().find_map(|utterance| match utterance.kind {
        UtteranceKind::ApprovedPlan => Some((utterance.turn, utterance.text.as_str())),
        UtteranceKind::Request => goal::pasted_plan(&utterance.text).map(|plan| (utterance.turn, plan)),
        _ => None,
    });
    let Some((turn, plan)) = plan.filter(|_| transcript.todos.is_empty() && !has_changes) else { return Vec::new() };
    let has_begun = if transcript.work.is_empty() {
        !transcript.edited.is_empty()
    } else {
        transcript.work.iter().any(|work| work.turn >= turn && !work.edited.is_empty())
    };
    if has_begun {
        return Vec::new();
    }
    let line = |step: String| Line { who: Speaker::Agent, turn, text: beginning(&step, MAX_BYTES) };
    steps(plan).into_iter().map(line).collect()
}

/// The headings of the parts of a plan that are its steps.
const STEP_HEADINGS: &[&str] = &["step", "implementation", "task", "change", "plan", "approach", "todo"];

/// The steps of a plan: its numbered headings, or the items below a heading such as "Steps", or the first list.
fn steps(plan: &str) -> Vec<String> {
    let passages = passages(plan);
    let is_item = |shape| matches!(shape, Shape::Item | Shape::OpenItem);
    let names_steps = |heading: &str| {
        let heading = heading.to_ascii_lowercase();
        STEP_HEADINGS.iter().any(|word| heading.contains(word))
    };
    let numbered = passages.iter().filter(|passage| passage.shape == Shape::Heading && is_numbered(&passage.text));
    let numbered: Vec<String> = numbered.map(|passage| passage.text.clone()).collect();
    if numbered.len() > 1 {
        return numbered;
    }
    // The title of the plan is not the heading of its steps.
    let mut is_below = false;
    let mut below = Vec::new();
    for passage in passages.iter().skip(1) {
        match passage.shape {
            Shape::Heading => is_below = names_steps(&passage.text),
            shape if is_below && is_item(shape) => below.push(passage.text.clone()),
            _ => {}
        }
    }
    if !below.is_empty() {
        return below;
    }
    let list =
        passages.iter().skip_while(|passage| !is_item(passage.shape)).take_while(|passage| is_item(passage.shape));
    list.map(|passage| passage.text.clone()).collect()
}

fn is_numbered(heading: &str) -> bool {
    let rest = heading.strip_prefix("Step ").or_else(|| heading.strip_prefix("Phase ")).unwrap_or(heading);
    rest.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::examples::{letters, material, said, transcript};
    use super::super::plain::plain;
    use super::*;
    use crate::transcript::{Todo, TurnWork};

    fn next(transcript: &Transcript, note: &str) -> Vec<String> {
        let material = Material { note, ..material(transcript) };
        let mut account = Account::default();
        note_lines::apply(&material, &mut account);
        apply(&material, &mut account);
        account.next.into_iter().map(|line| line.text).collect()
    }

    fn answer(text: &str) -> Vec<Utterance> {
        vec![said(1, UtteranceKind::Request, "fix the printer"), said(1, UtteranceKind::AgentText, text)]
    }

    fn todo(text: &str, status: TodoStatus) -> Todo {
        Todo { text: text.to_owned(), status }
    }

    #[test]
    fn the_last_message_says_what_is_next() {
        for (text, expected) in [
            ("cli.py:42 still prints; next: stream to disk", &["stream to disk"][..]),
            ("All done.\n\n## Next steps\n\n1. **Spans** in the lexer\n2. Docs", &["Spans in the lexer", "Docs"]),
            ("Done.\n\nRemaining:\n- docs\n- release notes\n\nTests pass.", &["docs", "release notes"]),
            ("Still to do: the docs.", &["the docs."]),
            ("TODO: docs", &["docs"]),
            ("Next: should I push?", &[]),
            ("Next: commit and push", &[]),
            ("Next steps: none", &[]),
            ("All tests pass. Let me know what you want next.", &[]),
            ("I decided what follows from it.", &[]),
            ("Fertig. Als Nächstes die Doku.", &[]),
        ] {
            assert_eq!(next(&transcript(answer(text)), ""), expected, "{text}");
        }
    }

    #[test]
    fn an_earlier_message_counts_until_more_work_is_asked_for() {
        let talk = |request: &str| {
            let more = [said(2, UtteranceKind::Request, request), said(2, UtteranceKind::AgentText, "Done.")];
            transcript([answer("Halfway there. Next: spans"), more.to_vec()].concat())
        };
        for request in ["never log account numbers", "why is the cache so slow?"] {
            assert_eq!(next(&talk(request), ""), ["spans"], "{request}");
        }
        let mut announced = talk("never log account numbers");
        announced.talk.insert(1, said(1, UtteranceKind::AgentText, "Next, I port the lexer"));
        assert_eq!(next(&announced, ""), ["spans"], "only the last text of a turn");
        for request in
            ["yes", "continue", "go ahead", "now the docs", "add spans", "commit it", "no, don't touch spans"]
        {
            assert_eq!(next(&talk(request), ""), [""; 0], "{request}");
        }
        let mut edited = talk("why is the cache so slow?");
        edited.work = vec![TurnWork { turn: 2, edited: vec!["cache.rs".to_owned()], ..TurnWork::default() }];
        assert_eq!(next(&edited, ""), [""; 0]);
    }

    #[test]
    fn the_boxes_of_a_review_are_not_next() {
        let review = "Review:\n- [x] names\n- [ ] paging is missing\n\nNext: rename `tick`";
        assert_eq!(next(&transcript(answer(review)), ""), ["rename tick"]);
        let mut edited = transcript(answer(review));
        edited.edited = vec!["lexer.rs".to_owned()];
        assert_eq!(next(&edited, ""), ["paging is missing", "rename tick"]);
        let listed = "Plan:\n\n## Next steps\n- [ ] paging";
        assert_eq!(next(&transcript(answer(listed)), ""), ["paging"]);
    }

    #[test]
    fn a_request_that_nobody_began_is_next() {
        let ask = |text: &str| vec![said(2, UtteranceKind::Request, text)];
        let before = || answer("The lexer is done. Next: docs");
        let talk = |text: &str| [before(), ask(text)].concat();
        let task = "Add retries to the uploader, three at most";
        assert_eq!(next(&transcript(talk(task)), ""), [task, "docs"]);
        for text in ["why is it slow?", "do both please", "thanks!", "commit and push"] {
            assert_eq!(next(&transcript(talk(text)), ""), ["docs"], "{text}");
        }
        let mut begun = transcript(talk(task));
        begun.work = vec![TurnWork { turn: 2, ..TurnWork::default() }];
        assert_eq!(next(&begun, ""), ["docs"]);
        let answered = [talk(task), vec![said(2, UtteranceKind::AgentText, "Retries are in.")]].concat();
        assert_eq!(next(&transcript(answered), ""), [""; 0]);
    }

    #[test]
    fn the_most_urgent_comes_first_and_only_once() {
        let mut found = transcript(answer("Half done. Next: Docs"));
        found.todos = vec![
            todo("lexer", TodoStatus::Completed),
            todo("release", TodoStatus::Pending),
            todo("docs.", TodoStatus::Pending),
            todo("spans", TodoStatus::InProgress),
            todo("continue", TodoStatus::Pending),
        ];
        assert_eq!(next(&found, "lexer done; next: fix the cache"), ["fix the cache", "Docs", "spans", "release"]);
        found.todos = (0..30).map(|number| todo(&format!("task {number}"), TodoStatus::Pending)).collect();
        assert_eq!(next(&found, "").len(), MAX_ACTIONS);
    }

    #[test]
    fn the_steps_of_a_plan_are_next_until_work_begins() {
        let listed = "# Plan: Spans\n\n## Context\n- old\n\n## Steps\n1. lexer\n2. parser\n\n## Risks\n- slow";
        let headed = "# Spans\n\n## Step 1: lexer\n- a\n\n## Step 2: parser";
        let bare = "# Spans\n\nWe need:\n\n- lexer\n- parser\n\nAnd so on.\n\n- risk";
        for (plan, expected) in
            [(listed, ["lexer", "parser"]), (headed, ["Step 1: lexer", "Step 2: parser"]), (bare, ["lexer", "parser"])]
        {
            let mut found = transcript(vec![said(2, UtteranceKind::ApprovedPlan, plan)]);
            assert_eq!(next(&found, ""), expected);
            let request = format!("Implement the following plan:\n\n{plan}");
            assert_eq!(next(&transcript(vec![said(1, UtteranceKind::Request, &request)]), ""), expected);
            found.work = vec![TurnWork { turn: 2, edited: vec!["lexer.rs".to_owned()], ..TurnWork::default() }];
            assert_eq!(next(&found, ""), [""; 0]);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_kept_verbatim_and_bounded(
            text in "([ \n\t.,;:!?`\"*#>|-]|next: |todo |## Steps\n|[0-9]\\. |- |[a-zé漢]{1,9}){0,80}",
        ) {
            for kind in [UtteranceKind::AgentText, UtteranceKind::ApprovedPlan] {
                let found = next(&transcript(vec![said(1, kind, &text)]), "");
                prop_assert!(found.len() <= MAX_ACTIONS);
                for kept in found {
                    prop_assert!(kept.len() <= MAX_BYTES && letters(&plain(&text)).contains(&letters(&kept)), "{kept}");
                }
            }
        }
    }
}
