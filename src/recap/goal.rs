//! What a session was for.
//!
//! A goal that was stated wins, the last one of several. Otherwise it is the first task: a request that is not a greeting, a
//! reply, an anaphor or a question; the title of a plan; a slash command with its words. A note is not a goal, except for
//! its line "goal: …".

use super::note_lines::{self, Part};
use super::passages::{Passage, Shape, first_heading, passages, sentences, written, written_parts};
use super::plain::{beginning, plain};
use super::{Account, GoalSource, Line, Material, Rule, Speaker, cues, rulings};
use crate::transcript::{Transcript, Utterance, UtteranceKind};

pub(super) const RULE: Rule = Rule { name: "goal", apply };

const MAX_BYTES: usize = 500;

/// The words before a plan that a person brought along.
const PLAN_LEADS: &[&str] =
    &["implement the following plan", "implement this plan", "execute the following plan", "here is the plan", "plan:"];
/// A heading with fewer headings and items below it does not begin a plan.
const MIN_PLAN_PASSAGES: usize = 3;
/// What may stand before the title of a plan.
const TITLE_LEADS: &[&str] = &["implementation plan", "plan"];
/// The words before a goal that is stated.
const STATED: &[&str] =
    &["the goal", "our goal", "my goal", "the overall goal", "the main goal", "goal", "the aim", "the objective"];

fn apply(material: &Material<'_>, account: &mut Account) {
    let noted = note_lines::parse(material.note).into_iter().rfind(|(part, _)| *part == Part::Goal);
    let noted = noted.map(|(_, text)| Line { who: note_lines::speaker(material), turn: 0, text });
    let talk = material.transcript.map_or(&[][..], |transcript| &transcript.talk);
    if let Some(stated) = noted.or_else(|| talk.iter().rev().find_map(stated)) {
        account.goal = Some(Line { text: beginning(&stated.text, MAX_BYTES), ..stated });
        account.goal_source = GoalSource::Stated;
        return;
    }
    let Some((goal, is_first)) = material.transcript.and_then(first_task) else { return };
    account.goal = Some(goal);
    account.goal_source = if is_first { GoalSource::FirstRequest } else { GoalSource::LaterRequest };
}

/// A goal that a person states in so many words.
fn stated(utterance: &Utterance) -> Option<Line> {
    if utterance.kind != UtteranceKind::Request || pasted_plan(&utterance.text).is_some() {
        return None;
    }
    let passages = written(&utterance.text);
    let mut said = passages.iter().flat_map(|passage| sentences(&passage.text));
    let text = said.find_map(|sentence| stated_in(&plain(sentence)))?;
    Some(Line { who: Speaker::Person, turn: utterance.turn, text })
}

/// After a colon only the goal itself is kept, otherwise the whole sentence.
fn stated_in(sentence: &str) -> Option<String> {
    let lower = sentence.to_ascii_lowercase();
    let lead = STATED.iter().find(|lead| lower.starts_with(**lead))?;
    let rest = &sentence[lead.len()..];
    let goal = match rest.strip_prefix(':') {
        Some(goal) => goal.trim(),
        None if rest.starts_with(" is ") || rest.starts_with(" here is ") => sentence,
        None => return None,
    };
    (!goal.is_empty() && !sentence.ends_with('?') && !cues::is_anaphor(goal)).then(|| goal.to_owned())
}

/// The first task, and whether the session began with it.
fn first_task(transcript: &Transcript) -> Option<(Line, bool)> {
    let mut is_first = true;
    let mut bare_command = None;
    for utterance in &transcript.talk {
        let text = match utterance.kind {
            // A ruling on earlier work is not a task.
            UtteranceKind::Request if !is_first && rulings::is_ruling(&utterance.text) => continue,
            UtteranceKind::Request => task(&utterance.text, has_edits(transcript, utterance.turn)),
            UtteranceKind::ApprovedPlan => plan_title(&utterance.text),
            UtteranceKind::SlashCommand if cues::is_client_command(&utterance.text) => continue,
            UtteranceKind::SlashCommand => {
                let words = written_parts(&utterance.text).into_iter().next().unwrap_or_default();
                let command = beginning(words, MAX_BYTES);
                let is_bare = !command.contains(' ');
                if is_bare {
                    bare_command.get_or_insert((command.clone(), utterance.turn, is_first));
                }
                Some(command).filter(|_| !is_bare)
            }
            UtteranceKind::Refusal | UtteranceKind::Answer | UtteranceKind::AgentText => continue,
        };
        if let Some(text) = text {
            return Some((Line { who: Speaker::Person, turn: utterance.turn, text }, is_first));
        }
        is_first &= cues::is_greeting(&utterance.text) || utterance.kind == UtteranceKind::SlashCommand;
    }
    // A command without words names a task, if only just.
    let (text, turn, is_first) = bare_command?;
    Some((Line { who: Speaker::Person, turn, text }, is_first))
}

/// Whether the turn edited anything. Not every format says in which turn.
fn has_edits(transcript: &Transcript, turn: usize) -> bool {
    let by_turn = transcript.work.iter().filter(|work| !work.edited.is_empty());
    let mut turns = by_turn.map(|work| work.turn).peekable();
    match turns.peek() {
        Some(_) => turns.any(|edited| edited == turn),
        None => !transcript.edited.is_empty(),
    }
}

/// The task in a request, if it is one.
fn task(text: &str, has_edits: bool) -> Option<String> {
    if let Some(plan) = pasted_plan(text) {
        return plan_title(plan).or_else(|| Some(beginning(plan, MAX_BYTES))).filter(|title| !title.is_empty());
    }
    let passages = written(text);
    let said: Vec<&str> = passages.iter().flat_map(|passage| sentences(&passage.text)).collect();
    let is_empty = |said: &str| cues::is_greeting(said) || cues::is_anaphor(said);
    let is_only_asking = said.iter().any(|sentence| cues::is_question(sentence))
        && !said.iter().any(|sentence| cues::is_directive(sentence));
    let means_nothing_alone = is_empty(text) || said.iter().all(|sentence| is_empty(sentence)) || cues::is_reply(text);
    if means_nothing_alone || is_only_asking && !has_edits {
        return None;
    }
    Some(own_words(text).unwrap_or_else(|| request_itself(text, &passages)))
}

/// What a person says around a pasted diff, log, trace or plan: what is before it, else what follows it. `None` if nothing was
/// pasted, or if the words around it mean nothing without it.
fn own_words(text: &str) -> Option<String> {
    let is_task = |part: &str| {
        let said = sentences(part);
        let is_empty = |said: &str| cues::is_greeting(said) || cues::is_anaphor(said);
        !said.iter().all(|sentence| is_empty(sentence)) && !part.starts_with('#')
    };
    let (before, plan) = before_plan(text);
    if plan.is_some() && !before.is_empty() && is_task(before) {
        return Some(request_itself(before, &written(before)));
    }
    if let Some(title) = plan.filter(|_| before.is_empty() || !is_task(before)).and_then(plan_title) {
        return Some(title);
    }
    let parts = written_parts(text);
    if parts == [text.trim()] {
        return None;
    }
    let part = parts.into_iter().find(|part| is_task(part))?;
    Some(request_itself(part, &written(part)))
}

/// What is before a plan, and the plan: a heading with lists or other headings below it.
fn before_plan(text: &str) -> (&str, Option<&str>) {
    let Some(at) = first_heading(text) else { return (text, None) };
    let below = passages(&text[at..]);
    let is_part = |passage: &&Passage| !matches!(passage.shape, Shape::Prose | Shape::Pasted);
    // The heading is one of them.
    let is_plan = below.iter().filter(is_part).count() > MIN_PLAN_PASSAGES;
    if is_plan { (text[..at].trim(), Some(&text[at..])) } else { (text, None) }
}

/// The beginning of a request. If it begins with a long story, the sentence that asks for something.
fn request_itself(text: &str, passages: &[Passage]) -> String {
    let start = beginning(text, MAX_BYTES);
    let story = plain(text);
    let asks =
        passages.iter().flat_map(|passage| sentences(&passage.text)).find(|sentence| cues::is_directive(sentence));
    match asks.map(|sentence| beginning(sentence, MAX_BYTES)) {
        Some(asked) if story.len() > MAX_BYTES && !start.contains(&asked) => asked,
        _ => start,
    }
}

/// The plan that a person brought along: "Implement the following plan: …".
pub(super) fn pasted_plan(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let (first, plan) = text.split_once('\n')?;
    let lower = first.trim().to_ascii_lowercase();
    PLAN_LEADS.iter().any(|lead| lower.starts_with(lead) && lower.len() <= lead.len() + 20).then(|| plan.trim())
}

/// The title of a plan: its first heading, without "Plan:".
pub(super) fn plan_title(plan: &str) -> Option<String> {
    let title = passages(plan).into_iter().find(|passage| passage.shape == Shape::Heading)?;
    let title = beginning(&title.text, MAX_BYTES);
    let lower = title.to_ascii_lowercase();
    let rest =
        TITLE_LEADS.iter().find_map(|lead| lower.strip_prefix(lead)?.trim_start().strip_prefix([':', '-', '–', '—']));
    let title = rest.map_or(title.as_str(), |rest| title[title.len() - rest.len()..].trim());
    let says_nothing =
        title.is_empty() || ["plan", "implementation plan", "context", "overview", "summary"].contains(&&*lower);
    (!says_nothing).then(|| title.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::examples::{letters, material, said, transcript};
    use super::*;
    use crate::transcript::TurnWork;

    const REQUEST: UtteranceKind = UtteranceKind::Request;

    fn goal(talk: Vec<Utterance>, note: &str) -> (Option<String>, GoalSource) {
        let transcript = transcript(talk);
        let mut account = Account::default();
        apply(&Material { note, ..material(&transcript) }, &mut account);
        (account.goal.map(|goal| goal.text), account.goal_source)
    }

    fn goal_of(requests: &[&str]) -> Option<String> {
        goal(requests.iter().enumerate().map(|(at, text)| said(at + 1, REQUEST, text)).collect(), "").0
    }

    #[test]
    fn the_goal_is_the_first_task() {
        for (requests, expected) in [
            (&["fix the parser", "now the lexer"][..], Some("fix the parser")),
            (&["Hey", "add error spans"], Some("add error spans")),
            (&["hi claude!", "ok", "add error spans"], Some("add error spans")),
            (&["do both please", "yes and yes", "add error spans"], Some("add error spans")),
            (&["continue", "commit it", "push"], None),
            (&["why is the build red?"], None),
            (&["what does `Span` do", "and `Node`?"], None),
            (&["explain the lexer"], None),
            (&["can you list five weak points?"], None),
            (&["how does it work?", "then rewrite it in C"], Some("then rewrite it in C")),
            (&["Can you please update the index page?"], Some("Can you please update the index page?")),
            (&["the tests fail, what is the issue? debug"], Some("the tests fail, what is the issue? debug")),
            (&["lint failures :("], Some("lint failures :(")),
            (&["no, use csv", "yes, please"], None),
            (&["Implement the following plan:\n\n# Plan: One log file\n\n## Context\n\nMany."], Some("One log file")),
            (&["Implement the following plan:\n\n# One log file"], Some("One log file")),
            (&["181", "修复解析器"], Some("修复解析器")),
            (&[""], None),
        ] {
            assert_eq!(goal_of(requests).as_deref(), expected, "{requests:?}");
        }
    }

    #[test]
    fn a_stated_goal_wins() {
        for (requests, expected) in [
            (&["fix the parser", "The goal is to parse a file in 1 ms."][..], "The goal is to parse a file in 1 ms."),
            (&["goal: error spans. start with the lexer"], "error spans."),
            (&["goal: a", "fix b", "our goal is spans everywhere"], "our goal is spans everywhere"),
            (&["fix b", "what is the goal?", "the goal is what?"], "fix b"),
            (&["fix b", "the goalkeeper is out"], "fix b"),
        ] {
            assert_eq!(goal_of(requests).as_deref(), Some(expected), "{requests:?}");
        }
    }

    #[test]
    fn a_note_is_a_goal_only_if_it_says_so() {
        assert_eq!(goal(vec![], "parser done; next: error spans"), (None, GoalSource::default()));
        let (found, source) = goal(vec![said(1, REQUEST, "fix b")], "parser done\ngoal: error spans");
        assert_eq!((found.as_deref(), source), (Some("error spans"), GoalSource::Stated));
    }

    #[test]
    fn commands_and_plans_are_tasks() {
        let slash = UtteranceKind::SlashCommand;
        let plan = said(1, UtteranceKind::ApprovedPlan, "# Plan: Spans\n\n1. lexer");
        for (talk, expected) in [
            (vec![said(1, slash, "/fix-issue 4711 login loops")], "/fix-issue 4711 login loops"),
            (vec![said(1, slash, &format!("/review this diff\n\n{DIFF}"))], "/review this diff"),
            (vec![said(1, slash, &format!("/review {DIFF}"))], "/review diff --git a/lexer.rs b/lexer.rs"),
            (vec![said(1, slash, "/model opus"), said(2, REQUEST, "fix b")], "fix b"),
            (vec![said(1, slash, "/review"), said(2, REQUEST, "181")], "/review"),
            (vec![said(1, slash, "/review"), said(2, REQUEST, "fix b")], "fix b"),
            (vec![said(1, REQUEST, "how should spans work?"), plan.clone()], "Spans"),
            (vec![said(1, REQUEST, "add spans"), plan], "add spans"),
        ] {
            assert_eq!(goal(talk, "").0.as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_question_that_was_followed_by_edits_is_a_task() {
        let talk = vec![said(1, REQUEST, "why is it red?"), said(2, REQUEST, "does the lexer keep spaces?")];
        let mut transcript = transcript(talk);
        transcript.work = vec![TurnWork { turn: 2, edited: vec!["lexer.rs".to_owned()], ..TurnWork::default() }];
        let mut account = Account::default();
        apply(&material(&transcript), &mut account);
        assert_eq!(account.goal.unwrap().text, "does the lexer keep spaces?");
        assert_eq!(account.goal_source, GoalSource::LaterRequest);
    }

    #[test]
    fn the_session_says_how_it_came_by_its_goal() {
        for (requests, expected) in [
            (&["hi", "fix b"][..], GoalSource::FirstRequest),
            (&["continue", "fix b"], GoalSource::LaterRequest),
            (&["fix b", "goal: c"], GoalSource::Stated),
        ] {
            let talk = requests.iter().enumerate().map(|(at, text)| said(at + 1, REQUEST, text)).collect();
            assert_eq!(goal(talk, "").1, expected);
        }
    }

    #[test]
    fn a_long_story_gives_way_to_what_it_asks_for() {
        let story = "This page is slow since the last release. ".repeat(20);
        assert_eq!(
            goal_of(&[&format!("{story}Can you please cache it?")]).as_deref(),
            Some("Can you please cache it?")
        );
    }

    const DIFF: &str = "diff --git a/lexer.rs b/lexer.rs\nindex 3f1c2ab..9d0e1f2 100644\n--- a/lexer.rs\n+++ b/lexer.rs\n\
        @@ -1,3 +1,3 @@\n fn main() {\n-    old word here\n+    add a new word\n }";
    const TRACE: &str = "Traceback (most recent call last):\n  File \"app.py\", line 3, in <module>\n    load(path)\n\
        ValueError: no such column";
    const PANIC: &str = "thread 'main' panicked at src/lexer.rs:7:9:\ncalled `Option::unwrap()` on a `None` value\n\
        note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
    const LOG: &str =
        "2026-11-15 10:00:01 INFO starting up\n2026-11-15 10:00:02 ERROR queue is full\nwarning: slow disk";
    const CODE: &str = "```rust\nfn main() { fix_all(); }\n```";

    #[test]
    fn the_goal_is_what_a_person_says_around_what_was_pasted() {
        for pasted in [DIFF, TRACE, PANIC, LOG, CODE] {
            for (text, expected) in [
                (format!("{pasted}\n\nmake the lexer accept tabs"), "make the lexer accept tabs"),
                (format!("{pasted}\nmake the lexer accept tabs"), "make the lexer accept tabs"),
                (format!("make the lexer accept tabs\n\n{pasted}"), "make the lexer accept tabs"),
                (
                    format!("make the lexer accept tabs, here is what I see:\n{pasted}\nthanks"),
                    "make the lexer accept tabs, here is what I see:",
                ),
                (
                    format!("hi\n{pasted}\n\nmake the lexer accept tabs. It fails in CI.\n\n{pasted}"),
                    "make the lexer accept tabs. It fails in CI.",
                ),
            ] {
                assert_eq!(goal_of(&[&text]).as_deref(), Some(expected), "{text}");
            }
        }
    }

    #[test]
    fn words_that_mean_nothing_without_what_was_pasted_stay_with_it() {
        let goal = goal_of(&["fix the error below\nValueError: no such column"]).unwrap();
        assert_eq!(goal, "fix the error below");
        assert_eq!(goal_of(&[&format!("fix this:\n{LOG}")]), None);
        // A list of one's own is not a diff, and a heading alone is not a plan.
        let list = "add these flags:\n- one\n- two";
        assert_eq!(goal_of(&[list]).as_deref(), Some("add these flags: one two"));
        assert_eq!(goal_of(&["# Flags\nadd two of them"]).as_deref(), Some("Flags add two of them"));
    }

    #[test]
    fn a_plan_without_a_lead_is_its_title_or_what_precedes_it() {
        let plan = "# Plan: Spans\n\n## Context\n\nErrors have none.\n\n## Steps\n\n1. lexer\n2. parser";
        assert_eq!(goal_of(&[plan]).as_deref(), Some("Spans"));
        assert_eq!(goal_of(&[&format!("do this:\n\n{plan}")]).as_deref(), Some("Spans"));
        let text = format!("add error spans, but leave the cache alone\n\n{plan}");
        assert_eq!(goal_of(&[&text]).as_deref(), Some("add error spans, but leave the cache alone"));
    }

    proptest! {
        #[test]
        fn any_text_is_kept_verbatim_and_bounded(
            text in "([ \n\t.,;:!?`\"*#>-]|goal: |plan: |can you |fix |the goal is |[a-zé漢]{1,9}){0,80}",
        ) {
            for kind in [REQUEST, UtteranceKind::SlashCommand, UtteranceKind::ApprovedPlan] {
                let kept = goal(vec![said(1, kind, &text)], &text).0.unwrap_or_default();
                prop_assert!(kept.len() <= MAX_BYTES && letters(&plain(&text)).contains(&letters(&kept)), "{kept}");
            }
        }
    }
}
