//! One handoff as a short brief for a person: a pull request, a chat, a colleague. The same texts and shares as in a warmup,
//! under the headings that a person looks for.

use std::path::Path;

use super::item::item;
use super::page::{self, Draft};
use super::placed::Section;
use super::prompt::PromptAsk;
use super::room::Room;
use super::since::Since;
use super::sources::Sources;
use super::told::Told;
use super::writer::Writer;
use crate::history::is_over;

/// The tool name that asks for a brief.
pub(crate) const PERSON: &str = "person";
/// The size of a brief, unless the caller names one: what fits on a screen.
pub(crate) const BRIEF_BUDGET: usize = 3_000;

/// The brief for a handoff.
pub(crate) fn brief(ask: PromptAsk<'_>) -> String {
    let PromptAsk { open, rulings, budget, is_ours, origin, target: _ } = ask;
    let from = origin.as_ref().map(|origin| item(&origin.line(), 300));
    let sources = Sources::of_handoff(open, rulings, is_ours, origin);
    let (since, told) = (Since::default(), Vec::from_iter(Told::of_document(&sources)));
    let mut writer = Writer::new(Path::new(""), &sources, &since, &told);
    // A person reads the rest in the handoff, not with a command.
    writer.more = Some(String::new());
    let draft = Draft {
        lead: lead(&sources, from),
        notices: Vec::new(),
        lasting: sections(&mut writer),
        news: Vec::new(),
        last: Vec::new(),
        filling: None,
        end: String::new(),
    };
    page::lay_out(&draft, Room::of_bytes(budget)).text
}

/// The sections of a warmup, regrouped. The writer shows each text once, so the order in which it is asked decides where.
fn sections(writer: &mut Writer<'_>) -> Vec<Section> {
    let (goal, next, rulings) = (writer.goal(), writer.next(), writer.rulings());
    let (open_loops, dead_ends) = (writer.open_loops(), writer.dead_ends());
    let mut checks = writer.checks().parts.into_iter();
    let (failing, passed) = (checks.next(), checks.next());
    let said = writer.agent_said();
    let section = |title, parts| Section { title, parts, more: String::new() };
    vec![
        goal,
        section("Where it stands", said.parts.into_iter().chain(passed).collect()),
        section("Decided", rulings.parts),
        section("Next", next.parts.into_iter().chain(open_loops.parts).collect()),
        section("Risks", failing.into_iter().chain(dead_ends.parts).collect()),
    ]
}

/// Which session this is about, and where the text comes from if it is not this user's.
fn lead(sources: &Sources, from: Option<String>) -> String {
    let Some(open) = &sources.open else { return String::new() };
    let field = |key: &str, max: usize| item(open.handoff.text(key), max);
    let known = |text: String, before: &str| match text.as_str() {
        "" | "unknown" => String::new(),
        text => format!("{before}{text}"),
    };
    let state = if is_over(&open.status) { "finished" } else { "in progress" };
    let (agent, branch) = (known(field("agent", 40), " by "), known(field("current_branch", 60), " on "));
    let mut lead = format!("Session of {}{agent}{branch}, {state}.\n", field("session_date", 10));
    if sources.whose.is_handoff_strange {
        lead.push_str("> It came with the repository: no session of this user wrote it.\n");
    }
    lead.extend(from.map(|from| format!("> {from}.\n")));
    lead
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::handoff::{Handoff, Value};
    use crate::history::{OpenHandoff, Rulings, own_keys};

    fn written(fields: &[(&str, Value)], body: &str, budget: usize) -> String {
        let mut handoff = Handoff { body: body.to_owned(), ..Handoff::default() };
        for (key, value) in fields {
            handoff.set(key, value.clone());
        }
        let key = own_keys::of_document("", &handoff);
        let open = OpenHandoff { handoff, key, status: "IN_PROGRESS".to_owned(), earlier: Vec::new() };
        brief(PromptAsk { open, rulings: Rulings::default(), target: PERSON, budget, is_ours: true, origin: None })
    }

    fn list(texts: &[&str]) -> Value {
        Value::List(texts.iter().map(|text| Value::from(*text)).collect())
    }

    #[test]
    fn a_brief_has_the_headings_that_a_person_looks_for() {
        let fields = [
            ("session_date", Value::from("2026-11-15")),
            ("agent", Value::from("codex")),
            ("current_branch", Value::from("spans")),
            ("primary_goal", Value::from("Ship error spans")),
            ("next_todo_items", list(&["Fix the lexer in lexer.rs", "Write the docs"])),
            ("decisions", list(&["Keep the old error codes"])),
            ("known_issues", list(&["Tabs count as one column"])),
        ];
        let body = "\n# Current State\n\nThe parser has spans.\n\n# Failed Attempts / Dead Ends\n\n- Byte offsets break on CRLF\n";
        let expected = "\
Session of 2026-11-15 by codex on spans, in progress.

## Goal
- Ship error spans

## Where it stands
- The parser has spans.

## Decided
- Keep the old error codes

## Next
- Fix the lexer in lexer.rs
- Write the docs

## Risks
- Tabs count as one column
- Byte offsets break on CRLF
";
        assert_eq!(written(&fields, body, BRIEF_BUDGET), expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_brief_keeps_to_its_budget_and_forges_no_heading(
            goal in "(\n## |\\PC){1,300}",
            said in "((# |- |> )?\\PC{0,60}\n){1,60}",
            budget in crate::warmup::MIN_PROMPT_BUDGET..6_000,
        ) {
            let fields = [("primary_goal", Value::from(format!("x{goal}").as_str()))];
            let text = written(&fields, &format!("\n# Current State\n\n{said}\n"), budget);
            prop_assert!(text.len() <= budget, "{} > {budget}", text.len());
            let titles = ["Goal", "Where it stands", "Decided", "Next", "Risks"];
            prop_assert!(text.lines().filter_map(|line| line.strip_prefix("## ")).all(|it| titles.contains(&it)), "{text}");
        }
    }
}
