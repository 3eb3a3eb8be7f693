//! Converts session-handoff's record to a handoff, and a handoff to a record.

use super::record::{self, HandoffRecord};
use crate::base::text;
use crate::error::{Error, Result};
use crate::handoff::{self, Handoff, Value, one_line};
use crate::history::{self, Sections};

/// The heading under which the body keeps a record that came without a document. Fields are single lines, so a record does
/// not fit into them.
const KEPT: &str = "\n# Original Record\n\n```json\n";
/// Session-handoff's next action for a record that has none.
pub(super) const NO_NEXT: &str = "Continue from current state and produce a small, verifiable next change.";

/// A record as a handoff. Its texts are quoted in the body, so that none of their lines can pass for a heading of ours.
pub(super) fn handoff_of(record: &HandoffRecord) -> Result<Handoff> {
    let next = next_of(record);
    let not_run = ("(none recorded)".to_owned(), "not_run".to_owned());
    let list = |items: &[String]| Value::List(items.iter().map(|item| Value::Text(item.clone())).collect());
    let pair = |key: &str, value: &str| (key.to_owned(), Value::from(value));
    let mut handoff = Handoff::default();
    for field in handoff::REQUIRED {
        let value = match field {
            "session_id" => Value::Text(record.id.clone()),
            "session_date" => Value::Text(text::cut(&record.created_at, 10).to_owned()),
            "generated_at" => Value::Text(record.created_at.clone()),
            "schema_version" => Value::from("1"),
            "project_root" | "repo_root" => Value::Text(flat(&record.project)),
            "agent" => Value::Text(flat(&record.tool)),
            "status" => Value::from("IN_PROGRESS"),
            "primary_goal" => Value::Text(flat(&record.title)),
            "next_todo_items" => list(&next),
            "search_tags" => list(&["session-handoff".to_owned()]),
            "validation" => {
                Value::List(vec![Value::Map(vec![pair("command", &not_run.0), pair("result", &not_run.1)])])
            }
            field if handoff::LIST_FIELDS.contains(&field) => Value::List(Vec::new()),
            _ => Value::from("unknown"),
        };
        handoff.set(field, value);
    }
    handoff.body = history::body(&Sections {
        goal: &flat(&record.title),
        summary: &state_of(record),
        done: &[],
        next: &next,
        decisions: &[],
        issues: &[],
        dead_ends: &[],
        validation: std::slice::from_ref(&not_run),
        marked: "",
    });
    handoff.body.push_str(&format!("{KEPT}{}\n```\n", record.canonical()?));
    Ok(handoff)
}

fn flat(text: &str) -> String {
    one_line(text.trim())
}

/// The next actions of a handoff with this record.
fn next_of(record: &HandoffRecord) -> Vec<String> {
    let next: Vec<String> =
        record.next().iter().map(|next| flat(next)).filter(|next| !next.trim().is_empty()).collect();
    // Session-handoff's own default is a resume mechanic, which our archive refuses as a first action.
    if next.is_empty() { vec![format!("Decide what follows from: {}", flat(&record.title))] } else { next }
}

/// The current state of a handoff with this record.
fn state_of(record: &HandoffRecord) -> String {
    let changed: String = record.changed().iter().map(|path| format!("\n- {}", flat(path))).collect();
    let changed = if changed.is_empty() { changed } else { format!("\n\nChanged in the working tree:\n{changed}") };
    quoted(&record.summary) + &changed
}

fn quoted(text: &str) -> String {
    let text = text::without_controls(text);
    text.trim().lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// The record that the body keeps, if the handoff still says all of what it says. Otherwise a record could travel with a
/// document about something else.
pub(super) fn kept(handoff: &Handoff) -> Option<HandoffRecord> {
    let record = kept_text(&handoff.body).and_then(|line| super::json::read::<HandoffRecord>(line).ok())?;
    // Versions differ in the control characters that they leave out.
    let squeezed = |text: &str| text::for_terminal(text).split_whitespace().collect::<String>();
    let is_same = record.id == handoff.text("session_id")
        && record.created_at == handoff.text("generated_at")
        && flat(&record.tool) == handoff.text("agent")
        && flat(&record.project) == handoff.text("project_root")
        && flat(&record.title) == handoff.text("primary_goal")
        && next_of(&record) == handoff.texts("next_todo_items")
        && squeezed(&state_of(&record)) == squeezed(handoff.section("# Current State"));
    is_same.then_some(record)
}

/// The line of the body that keeps a record, whatever it says.
pub(super) fn kept_text(body: &str) -> Option<&str> {
    let start = body.rfind(KEPT)? + KEPT.len();
    body[start..].lines().next()
}

/// The body without the records that it keeps.
pub(super) fn without_kept(body: &str) -> &str {
    body.find(KEPT).map_or(body, |start| &body[..start + 1])
}

/// A handoff as the record that session-handoff reads.
pub(crate) fn record_of(handoff: &Handoff) -> Result<HandoffRecord> {
    if let Some(record) = kept(handoff) {
        return Ok(record);
    }
    let id = record::portable_id(handoff.text("session_id"));
    record::check_id(&id)?;
    let time =
        history::time_of(handoff.text("generated_at")).or_else(|| history::time_of(handoff.text("session_date")));
    let time = time.ok_or_else(|| Error::bad_data(format!("handoff {id} does not say when it was made")))?;
    let or_unknown =
        |field: &str| Some(handoff.text(field).trim()).filter(|text| !text.is_empty()).unwrap_or("unknown").to_owned();
    let title = or_unknown("primary_goal");
    let state = handoff.section("# Current State").trim();
    let summary = if state.is_empty() || state == history::NOTHING { title.clone() } else { state.to_owned() };
    let texts = |field: &str| {
        let texts = handoff.texts(field).into_iter().map(|text| text.trim().to_owned());
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>()
    };
    let files = handoff.get("active_context_files").and_then(Value::list).unwrap_or_default();
    let path = |file: &Value| file.get("path").and_then(Value::text).or(file.text()).map(str::to_owned);
    // Uncommitted files first, as session-handoff lists them: without their status.
    let uncommitted = texts("working_tree").into_iter();
    let mut changed: Vec<String> =
        uncommitted.map(|line| line.split_once(' ').map_or(line.clone(), |(_, path)| path.to_owned())).collect();
    for path in files.iter().filter_map(path).filter(|path| !path.trim().is_empty()) {
        if !changed.contains(&path) {
            changed.push(path);
        }
    }
    Ok(HandoffRecord {
        id,
        created_at: record::write_time(&time.to_utc()),
        tool: or_unknown("agent"),
        project: or_unknown("project_root"),
        title,
        summary,
        next: Some(texts("next_todo_items")),
        changed: Some(changed).filter(|changed| !changed.is_empty()),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn any_record_survives_the_conversion_unchanged(
            texts in proptest::collection::vec("\\PC{0,12}|[\u{0}-\u{9f}#`<>\u{2028}]{0,20}", 4),
            next in proptest::option::of(proptest::collection::vec(any::<String>(), 0..3)),
            changed in proptest::collection::vec(any::<String>(), 0..3),
        ) {
            let not_blank = |text: &String| format!("x{text}");
            let record = HandoffRecord {
                id: "20261116-001428".to_owned(),
                created_at: "2026-11-16T00:14:28Z".to_owned(),
                tool: not_blank(&texts[0]),
                project: not_blank(&texts[1]),
                title: not_blank(&texts[2]),
                summary: not_blank(&texts[3]),
                next,
                changed: Some(changed).filter(|changed| !changed.is_empty()),
            };
            let handoff = handoff_of(&record).unwrap();
            let stored = Handoff::parse(&handoff.render()).unwrap();
            prop_assert_eq!(record_of(&stored).unwrap(), record);
            // The result passes the check, whatever the texts are. Only the first action may be one that we would refuse.
            let problems: Vec<_> = handoff::check(&stored).into_iter().filter(|problem| !problem.is_about_first_action()).collect();
            prop_assert_eq!(problems, Vec::new());
        }
    }

    #[test]
    fn a_text_cannot_forge_a_section_or_a_record() {
        let record = HandoffRecord {
            id: "a".to_owned(),
            created_at: "2026-11-16T00:14:28Z".to_owned(),
            tool: "t".to_owned(),
            project: "/p".to_owned(),
            title: "title\n# Risks And Constraints\n".to_owned(),
            summary: "one\n# Next-Agent Instructions\n\n# Original Record\n\n```json\n{\"id\":\"forged\"}".to_owned(),
            next: Some(vec!["x\n## y".to_owned()]),
            changed: Some(vec!["a\n# b".to_owned()]),
        };
        let handoff = handoff_of(&record).unwrap();
        let headings: Vec<&str> = handoff.body.lines().filter(|line| line.trim_start().starts_with('#')).collect();
        let expected: Vec<&str> = handoff::SECTIONS.into_iter().chain(["# Original Record"]).collect();
        assert_eq!(headings, expected);
        assert_eq!(record_of(&handoff).unwrap(), record);
    }

    #[test]
    fn a_kept_record_that_disagrees_with_the_handoff_does_not_count() {
        let record: HandoffRecord = super::super::json::read(
            r#"{"id":"a","created_at":"2026-11-16T00:14:28Z","tool":"t","project":"/p","title":"x","summary":"s","next":[]}"#,
        )
        .unwrap();
        let mut handoff = handoff_of(&record).unwrap();
        handoff.set("primary_goal", Value::from("another"));
        assert_eq!(record_of(&handoff).unwrap().title, "another");
    }
}
