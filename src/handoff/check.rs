//! What a handoff must have, with the messages that Session Glue has for it.

use super::value::{Value, Wrong, repr};
use super::{Handoff, first_action};

/// In their order.
pub const REQUIRED: [&str; 17] = [
    "session_id",
    "session_date",
    "generated_at",
    "schema_version",
    "project_root",
    "repo_root",
    "current_branch",
    "head_commit",
    "agent",
    "status",
    "primary_goal",
    "active_context_files",
    "completed_tasks",
    "known_issues",
    "next_todo_items",
    "search_tags",
    "validation",
];
pub const LIST_FIELDS: [&str; 6] =
    ["active_context_files", "completed_tasks", "known_issues", "next_todo_items", "search_tags", "validation"];
const NOT_EMPTY: [&str; 3] = ["next_todo_items", "search_tags", "validation"];
pub const SECTIONS: [&str; 8] = [
    "# Resume Prompt",
    "# What We Did",
    "# Current State",
    "# Decisions Made",
    "# Failed Attempts / Dead Ends",
    "# Next-Agent Instructions",
    "# Commands And Validation",
    "# Risks And Constraints",
];
const RESULTS: [&str; 3] = ["passed", "failed", "not_run"];

/// Everything that is wrong, in their order, each with its line. The last part of the answer is the first action,
/// which some may let pass.
pub fn check(handoff: &Handoff) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    for field in REQUIRED {
        presence(handoff, field, &mut wrong);
    }
    for field in LIST_FIELDS {
        for (number, item) in items(handoff, field).iter().enumerate() {
            if item.text().is_some_and(|text| text.trim().is_empty()) {
                wrong.push(Wrong::at(handoff.line(field), format!("{field}[{number}] must not be empty")));
            }
        }
    }
    scalars(handoff, "next_todo_items", &mut wrong);
    for (number, item) in items(handoff, "validation").iter().enumerate() {
        validation(handoff.line("validation"), number, item, &mut wrong);
    }
    match handoff.get("decisions") {
        Some(Value::List(_)) => scalars(handoff, "decisions", &mut wrong),
        Some(_) => wrong.push(Wrong::at(handoff.line("decisions"), "optional field must be a list: decisions")),
        None => {}
    }
    if handoff.get("supersedes").is_some_and(|value| value.text().is_none_or(|text| text.trim().is_empty())) {
        wrong.push(Wrong::at(handoff.line("supersedes"), "supersedes must be a non-empty scalar"));
    }
    if let Some(message) = first_action_problem(handoff) {
        wrong.push(Wrong::at(handoff.line("next_todo_items"), message));
    }
    let missing: Vec<&str> = SECTIONS.into_iter().filter(|section| !has_line(&handoff.body, section)).collect();
    if !missing.is_empty() {
        wrong.push(Wrong::at(1, format!("missing required body section(s): {}", missing.join(", "))));
    }
    wrong
}

/// What is wrong with the first thing to do, if it is there at all.
pub fn first_action_problem(handoff: &Handoff) -> Option<String> {
    let items = handoff.get("next_todo_items").and_then(Value::list)?;
    match items.first() {
        // Said already as an empty field.
        None => None,
        Some(first) => first.text().and_then(first_action::problem),
    }
}

fn presence(handoff: &Handoff, field: &str, wrong: &mut Vec<Wrong>) {
    let is_list = LIST_FIELDS.contains(&field);
    let message = match handoff.get(field) {
        None => "missing required field",
        Some(Value::List(items)) if is_list && items.is_empty() && NOT_EMPTY.contains(&field) => {
            "required field is empty"
        }
        Some(Value::List(_)) if is_list => return,
        Some(_) if is_list => "required field must be a list",
        Some(Value::Text(text)) if !text.trim().is_empty() => return,
        // A bare `key:` is an empty list; for a field that is text that is no value.
        Some(_) => "required field is empty",
    };
    wrong.push(Wrong::at(handoff.line(field), format!("{message}: {field}")));
}

fn items<'a>(handoff: &'a Handoff, field: &str) -> &'a [Value] {
    handoff.get(field).and_then(Value::list).unwrap_or_default()
}

fn scalars(handoff: &Handoff, field: &str, wrong: &mut Vec<Wrong>) {
    for (number, item) in items(handoff, field).iter().enumerate() {
        if item.text().is_none() {
            let message = format!("{field}[{number}] must be a scalar (string or number), not {}", item.type_name());
            wrong.push(Wrong::at(handoff.line(field), message));
        }
    }
}

fn validation(line: usize, number: usize, item: &Value, wrong: &mut Vec<Wrong>) {
    let Value::Map(_) = item else {
        let message = format!("validation[{number}] must be a command/result/notes mapping, not {}", item.type_name());
        wrong.push(Wrong::at(line, message));
        return;
    };
    if item.get("command").and_then(Value::text).is_none_or(|command| command.trim().is_empty()) {
        wrong.push(Wrong::at(line, format!("validation[{number}].command is required and must be a non-empty scalar")));
    }
    let result = item.get("result");
    if !result.and_then(Value::text).is_some_and(|result| RESULTS.contains(&result)) {
        let found = result
            .map_or("None".to_owned(), |result| result.text().map_or_else(|| result.type_name().to_owned(), repr));
        let message = format!("validation[{number}].result must be one of passed/failed/not_run, got {found}");
        wrong.push(Wrong::at(line, message));
    }
}

/// Whether a line of the body is exactly this, after trimming its end.
fn has_line(body: &str, line: &str) -> bool {
    body.lines().any(|found| found.trim_end() == line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_wrong_is_told_at_once_in_their_words() {
        let text = "---\nsession_id:\nstatus: x\nsearch_tags: word\nnext_todo_items: []\nvalidation:\n  - cargo test\n  - command: x\n    result: maybe\n\
            completed_tasks:\n  - \"\"\ndecisions: one\nsupersedes: \"\"\n---\n# Resume Prompt\n";
        let wrong = check(&Handoff::parse(text).unwrap());
        let messages: Vec<&str> = wrong.iter().map(|wrong| wrong.message.as_str()).collect();
        for message in [
            "required field is empty: session_id",
            "missing required field: session_date",
            "required field must be a list: search_tags",
            "required field is empty: next_todo_items",
            "completed_tasks[0] must not be empty",
            "validation[0] must be a command/result/notes mapping, not str",
            "validation[1].result must be one of passed/failed/not_run, got 'maybe'",
            "optional field must be a list: decisions",
            "supersedes must be a non-empty scalar",
        ] {
            assert!(messages.contains(&message), "{message}: {messages:#?}");
        }
        assert!(messages.last().unwrap().starts_with("missing required body section(s): # What We Did, "));
        assert_eq!(wrong.iter().find(|wrong| wrong.message.contains("search_tags")).unwrap().line, 4);
    }
}
