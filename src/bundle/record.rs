//! The record of session-handoff: eight fields whose canonical bytes have a checksum.

use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

use super::json;
use crate::base::text;
use crate::error::{Error, Result};
use crate::history;

/// How far the clock of another machine may be ahead of ours.
const SKEW: chrono::TimeDelta = chrono::TimeDelta::minutes(5);
/// How far the clocks of the easternmost places are ahead of UTC.
const EASTERNMOST: chrono::TimeDelta = chrono::TimeDelta::hours(14);
const TIME_FORMAT: &str = "%Y-%m-%dT%H:%M:%SZ";
pub(super) const MAX_ID: usize = 100;
/// The most items in the lists of a record. A document with as many values is not read again.
const MAX_ITEMS: usize = 100_000;

/// Session-handoff's record. The fields are in the order of the canonical form; unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HandoffRecord {
    pub id: String,
    pub created_at: String,
    pub tool: String,
    pub project: String,
    pub title: String,
    pub summary: String,
    /// A missing list is not the same as an empty one: their checksums differ.
    #[serde(default)]
    pub next: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub changed: Option<Vec<String>>,
}

fn is_empty(list: &Option<Vec<String>>) -> bool {
    list.as_ref().is_none_or(Vec::is_empty)
}

impl HandoffRecord {
    pub(crate) fn canonical(&self) -> Result<String> {
        json::compact(self)
    }

    pub(crate) fn checksum(&self) -> Result<String> {
        Ok(text::digest(self.canonical()?.as_bytes(), 32))
    }

    /// Whether session-handoff made the id: `YYYYMMDD-HHMMSS`, and a number if that was taken.
    pub(super) fn has_id_of_session_handoff(&self) -> bool {
        let mut parts = self.id.split('-');
        let mut is_number = |digits: usize| {
            parts.next().is_some_and(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()))
        };
        is_number(8) && is_number(6) && (self.id.len() == 15 || is_number(3) && self.id.len() == 19)
    }

    pub(crate) fn next(&self) -> &[String] {
        self.next.as_deref().unwrap_or_default()
    }

    pub(crate) fn changed(&self) -> &[String] {
        self.changed.as_deref().unwrap_or_default()
    }

    /// Refuses a record that no archive could hold, before anything is made from it.
    pub(super) fn refuse_too_large(&self) -> Result<()> {
        let texts = [&self.id, &self.created_at, &self.tool, &self.project, &self.title, &self.summary];
        let all = texts.into_iter().chain(self.next()).chain(self.changed());
        // Each item of a list is a line of its own.
        let size: usize = all.map(|text| text.len() + 1).sum();
        let has_few = self.next().len() + self.changed().len() <= MAX_ITEMS;
        if has_few && u64::try_from(size).is_ok_and(|size| size <= history::MAX_ARCHIVE) {
            return Ok(());
        }
        Err(Error::bad_data(format!("handoff `{}` is too large to be archived", text::one_line(&self.id, 60))))
    }

    /// Checks that a record can be archived: no field is blank, the id is safe in a file name and on a terminal, and the time is
    /// valid and in the past.
    pub(crate) fn check(&self, now: DateTime<Utc>) -> Result<()> {
        check_id(&self.id)?;
        let id = &self.id;
        for (name, value) in
            [("tool", &self.tool), ("project", &self.project), ("title", &self.title), ("summary", &self.summary)]
        {
            if value.trim().is_empty() {
                return Err(Error::bad_data(format!("handoff {id} has no {name}")));
            }
        }
        check_past("it was made", &self.created_at, now).map_err(|error| error.lead(&format!("handoff {id}: ")))
    }
}

/// Checks that a time has the form that both tools write, and that it is in the past.
pub(super) fn check_past(what: &str, text: &str, now: DateTime<Utc>) -> Result<()> {
    let Some(time) = time(text) else {
        let shown = text::one_line(text, 40);
        return Err(Error::bad_data(format!("`{shown}` is not a time of the form 2026-11-15T10:04:05Z")));
    };
    if time > now + SKEW {
        return Err(Error::bad_data(format!("{what} at {text}, which is in the future"))
            .hint("it would count as the latest until then: export it again on a machine whose clock is right"));
    }
    Ok(())
}

/// Checks that a date or time of a document is not in the future. A date is as early as anywhere on earth.
pub(super) fn check_date(what: &str, text: &str, now: DateTime<Utc>) -> Result<()> {
    let shown = text::one_line(text, 40);
    let wrong = |why: &str| Error::bad_data(format!("{what} `{shown}` {why}"));
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|_| text.len() == 10);
    let is_past = match (date, DateTime::parse_from_rfc3339(text)) {
        (Some(date), _) => date <= (now + SKEW + EASTERNMOST).date_naive(),
        (None, Ok(time)) => time <= now + SKEW,
        (None, Err(_)) => return Err(wrong("is not a date")),
    };
    if is_past { Ok(()) } else { Err(wrong("is in the future")) }
}

/// Checks that an id is safe as a file name and in lists, and easy to type.
pub(super) fn check_id(id: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_safe = id.len() <= MAX_ID
        && id.chars().all(plain)
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !id.ends_with('.')
        && !id.eq_ignore_ascii_case("latest");
    if is_safe {
        return Ok(());
    }
    Err(Error::bad_data(format!("`{}` cannot be the id of a handoff in a bundle", text::one_line(id, 60)))
        .hint("an id has up to 100 of the letters a-z, A-Z, 0-9, `-`, `_` and `.`, and is not `latest`"))
}

/// Checks the id of a session in a document: like [`check_id`], but with letters of every script.
pub(crate) fn check_session_id(id: &str) -> Result<()> {
    let plain = |c: char| match c {
        c if c.is_ascii() => c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'),
        c => !text::is_invisible(c) && !c.is_whitespace() && !c.is_control(),
    };
    if id.chars().count() <= MAX_ID && id.chars().all(plain) {
        return check_id(&portable_id(id));
    }
    Err(Error::bad_data(format!("`{}` cannot be the id of a handoff in a bundle", text::one_line(id, 60)))
        .hint("an id has up to 100 letters and digits, `-`, `_` and `.`"))
}

/// The id of a session as a bundle has it. One with letters of other scripts gets a form that session-handoff accepts, the
/// same on every machine; the document in the bundle keeps the id itself.
pub(super) fn portable_id(id: &str) -> String {
    if id.is_ascii() {
        return id.to_owned();
    }
    let words: Vec<&str> = id
        .split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.'))
        .map(|word| word.trim_matches(['_', '.']))
        .filter(|word| !word.is_empty())
        .collect();
    let start = if words.is_empty() { "session".to_owned() } else { words.join("-") };
    format!("{}-{}", text::cut(&start, 80), text::digest(id.as_bytes(), 4))
}

/// Reads a time in exactly the form that session-handoff writes.
pub(super) fn time(text: &str) -> Option<DateTime<Utc>> {
    let time = DateTime::parse_from_rfc3339(text).ok()?.to_utc();
    // chrono accepts a leap second, Go does not.
    (time.format(TIME_FORMAT).to_string() == text && !text.ends_with(":60Z")).then_some(time)
}

pub(crate) fn write_time(time: &DateTime<Utc>) -> String {
    time.format(TIME_FORMAT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> HandoffRecord {
        HandoffRecord {
            id: "20261116-001428".to_owned(),
            created_at: "2026-11-16T00:14:28Z".to_owned(),
            tool: "codex".to_owned(),
            project: "/p".to_owned(),
            title: "t".to_owned(),
            summary: "s".to_owned(),
            next: Some(Vec::new()),
            changed: None,
        }
    }

    fn now() -> DateTime<Utc> {
        time("2026-11-16T01:00:00Z").unwrap()
    }

    #[test]
    fn missing_null_and_empty_lists_differ_as_in_session_handoff() {
        let read = |lists: &str| {
            let text = format!(
                r#"{{"id":"i","created_at":"c","tool":"t","project":"p","title":"t","summary":"s"{lists},"unknown":[1]}}"#
            );
            json::read::<HandoffRecord>(&text).unwrap().canonical().unwrap()
        };
        assert!(read("").ends_with(r#""summary":"s","next":null}"#));
        assert!(read(r#","next":null,"changed":null"#).ends_with(r#""next":null}"#));
        assert!(read(r#","next":[],"changed":[]"#).ends_with(r#""next":[]}"#));
        assert!(read(r#","changed":["b"],"next":["a"]"#).ends_with(r#""next":["a"],"changed":["b"]}"#));
    }

    #[test]
    fn a_key_twice_or_of_another_type_is_refused() {
        for text in [
            r#"{"id":"a","id":"b","created_at":"c","tool":"t","project":"p","title":"t","summary":"s"}"#,
            r#"{"id":1,"created_at":"c","tool":"t","project":"p","title":"t","summary":"s"}"#,
            r#"{"created_at":"c","tool":"t","project":"p","title":"t","summary":"s"}"#,
            r#"{"id":"\ud800","created_at":"c","tool":"t","project":"p","title":"t","summary":"s"}"#,
        ] {
            assert!(json::read::<HandoffRecord>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn unsafe_ids_are_refused() {
        assert!(record().check(now()).is_ok());
        let long = "x".repeat(101);
        for id in [
            "",
            " ",
            "latest",
            "LATEST",
            "..",
            "../x",
            "a/b",
            "a\\b",
            ".a",
            "-a",
            "a.",
            "a b",
            " a",
            "a\n",
            "a\x1b[31m",
            "é",
            &long,
            "a:b",
            "a\0",
        ] {
            assert!(HandoffRecord { id: id.to_owned(), ..record() }.check(now()).is_err(), "{id:?}");
        }
    }

    #[test]
    fn times_in_another_form_or_in_the_future_are_refused() {
        for (time, is_fine) in [
            ("2026-11-16T01:04:59Z", true),
            ("2026-11-16T01:05:01Z", false),
            ("9999-12-31T23:59:59Z", false),
            ("2026-11-16T00:14:28.5Z", false),
            ("2026-11-16T00:14:28+00:00", false),
            ("2026-11-16t00:14:28z", false),
            ("2026-06-30T23:59:60Z", false),
            ("2026-11-16", false),
            ("", false),
        ] {
            let record = HandoffRecord { created_at: time.to_owned(), ..record() };
            assert_eq!(record.check(now()).is_ok(), is_fine, "{time}");
        }
    }

    #[test]
    fn blank_fields_are_refused() {
        assert!(HandoffRecord { title: " \n".to_owned(), ..record() }.check(now()).is_err());
        assert!(HandoffRecord { project: String::new(), ..record() }.check(now()).is_err());
    }
}
