//! Checks that a handoff has what Session Glue requires of it.

use super::problem::{HandoffProblem, HandoffProblemKind as Kind};
use super::value::{Value, repr};
use super::{Handoff, first_action};

/// The required fields, in the order in which they are written and checked.
pub(crate) const REQUIRED: [&str; 17] = [
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
/// The required fields that hold a list.
pub(crate) const LIST_FIELDS: [&str; 6] =
    ["active_context_files", "completed_tasks", "known_issues", "next_todo_items", "search_tags", "validation"];
/// The lists that need at least one item.
const NOT_EMPTY: [&str; 3] = ["next_todo_items", "search_tags", "validation"];
/// The required headings of the body.
pub(crate) const SECTIONS: [&str; 8] = [
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

/// Every problem of a handoff, in Session Glue's order.
pub(crate) fn check(handoff: &Handoff) -> Vec<HandoffProblem> {
    let mut problems = Problems { handoff, found: Vec::new() };
    for field in REQUIRED {
        problems.check_presence(field);
    }
    for field in LIST_FIELDS {
        for (number, item) in items(handoff, field).iter().enumerate() {
            if item.text().is_some_and(|text| text.trim().is_empty()) {
                problems.add(field, Kind::EmptyItem { field, number });
            }
        }
    }
    problems.check_scalars("next_todo_items");
    for (number, item) in items(handoff, "validation").iter().enumerate() {
        problems.check_validation(number, item);
    }
    match handoff.get("decisions") {
        Some(Value::List(_)) => problems.check_scalars("decisions"),
        Some(_) => problems.add("decisions", Kind::DecisionsAreNotAList),
        None => {}
    }
    if handoff.get("supersedes").is_some_and(|value| value.text().is_none_or(|text| text.trim().is_empty())) {
        problems.add("supersedes", Kind::EmptySupersedes);
    }
    let first = items(handoff, "next_todo_items").first().and_then(Value::text);
    if let Some(matched) = first.and_then(first_action::resume_mechanic) {
        problems.add("next_todo_items", Kind::ResumeMechanic { matched });
    }
    let missing = missing_sections(&handoff.body);
    if !missing.is_empty() {
        problems.found.push(HandoffProblem { kind: Kind::MissingSections(missing), line: 1 });
    }
    problems.found
}

struct Problems<'h> {
    handoff: &'h Handoff,
    found: Vec<HandoffProblem>,
}

impl Problems<'_> {
    /// Adds a problem at the line of this field.
    fn add(&mut self, field: &str, kind: Kind) {
        self.found.push(HandoffProblem { kind, line: self.handoff.line(field) });
    }

    fn check_presence(&mut self, field: &'static str) {
        let is_list = LIST_FIELDS.contains(&field);
        let kind = match self.handoff.get(field) {
            None => Kind::MissingField(field),
            Some(Value::List(items)) if is_list && items.is_empty() && NOT_EMPTY.contains(&field) => {
                Kind::EmptyField(field)
            }
            Some(Value::List(_)) if is_list => return,
            Some(_) if is_list => Kind::FieldIsNotAList(field),
            Some(Value::Text(text)) if !text.trim().is_empty() => return,
            // A bare `key:` is read as an empty list, which for a text field means that it has no value.
            Some(_) => Kind::EmptyField(field),
        };
        self.add(field, kind);
    }

    fn check_scalars(&mut self, field: &'static str) {
        for (number, item) in items(self.handoff, field).iter().enumerate() {
            if item.text().is_none() {
                self.add(field, Kind::ItemIsNotAScalar { field, number, found: item.type_name() });
            }
        }
    }

    fn check_validation(&mut self, number: usize, item: &Value) {
        let Value::Map(_) = item else {
            self.add("validation", Kind::ValidationIsNotAMapping { number, found: item.type_name() });
            return;
        };
        if item.get("command").and_then(Value::text).is_none_or(|command| command.trim().is_empty()) {
            self.add("validation", Kind::ValidationWithoutCommand { number });
        }
        let result = item.get("result");
        if !result.and_then(Value::text).is_some_and(|result| RESULTS.contains(&result)) {
            let found = result
                .map_or("None".to_owned(), |result| result.text().map_or_else(|| result.type_name().to_owned(), repr));
            self.add("validation", Kind::UnknownValidationResult { number, found });
        }
    }
}

fn items<'a>(handoff: &'a Handoff, field: &str) -> &'a [Value] {
    handoff.get(field).and_then(Value::list).unwrap_or_default()
}

/// The required headings that no line of the body is. White space at the end of a line does not count.
fn missing_sections(body: &str) -> Vec<&'static str> {
    let mut missing = SECTIONS.to_vec();
    // Every heading begins with it, and few lines do.
    let starts = memchr::memchr_iter(b'#', body.as_bytes());
    for start in starts.filter(|at| *at == 0 || body.as_bytes()[at - 1] == b'\n') {
        let line = body[start..].lines().next().unwrap_or_default().trim_end();
        missing.retain(|section| *section != line);
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_is_reported_at_once_in_session_glues_words() {
        let text = "---\nsession_id:\nstatus: x\nsearch_tags: word\nnext_todo_items: []\nvalidation:\n  - cargo test\n  - command: x\n    result: maybe\n\
            completed_tasks:\n  - \"\"\ndecisions: one\nsupersedes: \"\"\n---\n# Resume Prompt\n";
        let problems = check(&Handoff::parse(text).unwrap());
        let messages: Vec<String> = problems.iter().map(|problem| problem.kind.to_string()).collect();
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
            assert!(messages.iter().any(|found| found == message), "{message}: {messages:#?}");
        }
        assert!(messages.last().unwrap().starts_with("missing required body section(s): # What We Did, "));
        let tags = problems.iter().find(|problem| problem.kind == Kind::FieldIsNotAList("search_tags"));
        assert_eq!(tags.unwrap().line, 4);
    }

    #[test]
    fn only_problems_of_the_first_action_are_about_it() {
        let about = |next: &str| {
            let text = format!("---\nnext_todo_items:\n{next}---\n");
            let problems = check(&Handoff::parse(&text).unwrap());
            problems
                .into_iter()
                .filter(HandoffProblem::is_about_first_action)
                .map(|found| found.kind)
                .collect::<Vec<_>>()
        };
        let (field, number) = ("next_todo_items", 0);
        // An empty action is also a resume mechanic: it names no work.
        let empty = Kind::ResumeMechanic { matched: String::new() };
        assert_eq!(about("  - \"\"\n"), [Kind::EmptyItem { field, number }, empty]);
        assert_eq!(about("  - path: x\n"), [Kind::ItemIsNotAScalar { field, number, found: "dict" }]);
        assert_eq!(about("  - Continue\n"), [Kind::ResumeMechanic { matched: "continue".to_owned() }]);
        assert_eq!(about("  - Fix the parser\n  - \"\"\n"), []);
    }
}
