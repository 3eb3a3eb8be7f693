//! INDEX.yaml: a head about the latest session, and a compact entry for each session.

use std::borrow::Cow;

use chrono::{DateTime, FixedOffset};

use super::Origin;
use super::lifecycle::is_done;
use crate::base::{clock, parallel};
use crate::handoff::{Handoff, SyntaxError, Value, read_subset_first, unquote_ours, write_fields};

/// The keys of an entry, in Session Glue's order.
const KEYS: [&str; 14] = [
    "session_id",
    "file",
    "session_date",
    "generated_at",
    "agent",
    "project_root",
    "repo_root",
    "current_branch",
    "head_commit",
    "status",
    "primary_goal",
    "search_tags",
    "supersedes",
    "first_next_action",
];

/// How far the clock of another machine may be ahead, in milliseconds. A session with a later time was written by a clock
/// that is wrong.
const SKEW: i64 = 10 * 60 * 1000;

/// The beginning of the first line of an index that we wrote, before the number of sessions.
const COUNT: &str = "# sessions: ";

/// So many bytes of entries take longer to read than a thread takes to start.
const WORTH_A_THREAD: usize = 256 << 10;

/// The key that only entries of imported handoffs have.
const ORIGIN: &str = "origin";

/// The entry of one session. Keys of other tools are kept.
///
/// An index may have very many entries, so the texts of one entry are together in one place.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionEntry {
    texts: String,
    fields: Vec<(EntryKey, EntryValue)>,
}

/// The value of a field.
#[derive(Clone, Debug)]
enum EntryValue {
    /// Where the text begins and ends in `texts`.
    Text(usize, usize),
    /// What only other tools write.
    Other(Value),
}

/// The key of an entry; nearly always one of `KEYS`.
type EntryKey = Cow<'static, str>;

impl PartialEq for SessionEntry {
    fn eq(&self, other: &SessionEntry) -> bool {
        self.values().eq(other.values())
    }
}

impl Eq for SessionEntry {}

impl SessionEntry {
    /// The entry of a handoff that is archived in this file.
    pub(crate) fn of(handoff: &Handoff, file: &str) -> SessionEntry {
        let value = |key| if key == "file" { Cow::Borrowed(file) } else { stated(handoff, key) };
        let mut entry = SessionEntry::with_room(0);
        for key in KEYS {
            entry.push(EntryKey::Borrowed(key), &value(key));
        }
        if let Some(origin) = Origin::of(handoff) {
            entry.set(ORIGIN, &origin.stated());
        }
        entry
    }

    /// Whether the entry says what the handoff of its session says. The status may change, and other tools leave keys out.
    pub(super) fn agrees_with(&self, handoff: &Handoff) -> bool {
        self.differs_from(handoff).is_none()
    }

    /// A key about which the handoff of its session says something else: see [`SessionEntry::agrees_with`].
    pub(super) fn differs_from(&self, handoff: &Handoff) -> Option<&'static str> {
        let is_needed = |key: &str| ["session_id", "primary_goal", "first_next_action"].contains(&key);
        let may_differ = |key: &str| ["file", "status"].contains(&key) || self.get(key).is_empty() && !is_needed(key);
        if self.origin().is_empty() != Origin::of(handoff).is_none() {
            return Some(ORIGIN);
        }
        KEYS.into_iter().find(|key| self.get(key) != stated(handoff, key) && !may_differ(key))
    }

    /// What INDEX.yaml says about who vouches for an imported handoff; empty for one that was written here.
    pub(crate) fn origin(&self) -> &str {
        self.get(ORIGIN)
    }

    pub(crate) fn time(&self) -> Option<DateTime<FixedOffset>> {
        time_of(self.get("generated_at")).or_else(|| time_of(self.get("session_date")))
    }

    pub(crate) fn get(&self, key: &str) -> &str {
        match self.fields.iter().find(|(name, _)| name == key) {
            Some((_, EntryValue::Text(start, end))) => &self.texts[*start..*end],
            _ => "",
        }
    }

    pub(crate) fn set(&mut self, key: &str, value: &str) {
        let new = self.keep(value);
        match self.fields.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = new,
            None => self.fields.push((EntryKey::Owned(key.to_owned()), new)),
        }
    }

    /// An entry without fields, with room for those that we write and for so many bytes of text.
    fn with_room(bytes: usize) -> SessionEntry {
        SessionEntry { texts: String::with_capacity(bytes), fields: Vec::with_capacity(KEYS.len() + 1) }
    }

    fn push(&mut self, key: EntryKey, text: &str) {
        let value = self.keep(text);
        self.fields.push((key, value));
    }

    fn keep(&mut self, text: &str) -> EntryValue {
        let start = self.texts.len();
        self.texts.push_str(text);
        EntryValue::Text(start, self.texts.len())
    }

    fn values(&self) -> impl Iterator<Item = (&str, Value)> {
        self.fields.iter().map(|(key, value)| match value {
            EntryValue::Text(start, end) => (&**key, Value::from(&self.texts[*start..*end])),
            EntryValue::Other(value) => (&**key, value.clone()),
        })
    }

    /// Reads one entry of the list as we write it; `None` if any line is not one of ours.
    pub(super) fn as_we_write(text: &str) -> Option<SessionEntry> {
        let mut entries = entries_as_we_write(text)?;
        entries.pop().filter(|_| entries.is_empty())
    }

    fn of_pairs(pairs: Vec<(String, Value)>) -> SessionEntry {
        let mut entry = SessionEntry::default();
        for (key, value) in pairs {
            match value {
                Value::Text(text) => entry.push(EntryKey::Owned(key), &text),
                other => entry.fields.push((EntryKey::Owned(key), EntryValue::Other(other))),
            }
        }
        entry
    }

    fn as_value(&self) -> Value {
        Value::Map(self.values().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// A sort key: newest last. A time that is still to come does not make a session the newest, however late it is.
    pub(crate) fn recency(&self, now: &DateTime<FixedOffset>) -> (bool, (bool, i64)) {
        let age = self.age();
        (age.1 <= now.timestamp_millis().saturating_add(SKEW), age)
    }

    /// A sort key: newest last. Entries without a readable time come first.
    pub(crate) fn age(&self) -> (bool, i64) {
        let time = self.time();
        (time.is_some(), time.map_or(0, |time| time.timestamp_millis()))
    }
}

/// What a handoff says about a key of its entry, other than the file.
fn stated<'h>(handoff: &'h Handoff, key: &str) -> Cow<'h, str> {
    match key {
        "search_tags" => match handoff.texts("search_tags").as_slice() {
            [] => Cow::Borrowed(""),
            [one] => Cow::Borrowed(one),
            several => Cow::Owned(several.join(", ")),
        },
        "first_next_action" => Cow::Borrowed(handoff.texts("next_todo_items").first().copied().unwrap_or_default()),
        key => Cow::Borrowed(handoff.text(key)),
    }
}

/// Reads entries that we wrote ourselves, the halves of many at the same time; `None` if any line is not one of ours.
fn entries_as_we_write(text: &str) -> Option<Vec<SessionEntry>> {
    let half = text.len() / 2;
    let border = memchr::memmem::find(&text.as_bytes()[half..], b"\n  - ").map(|at| half + at + 1);
    let Some(border) = border.filter(|_| text.len() >= WORTH_A_THREAD) else { return some_as_we_write(text) };
    let (first, second) = text.split_at(border);
    let mut halves = parallel::map(&[first, second], |half| some_as_we_write(half)).into_iter();
    let mut entries = halves.next()??;
    entries.extend(halves.next()??);
    Some(entries)
}

fn some_as_we_write(text: &str) -> Option<Vec<SessionEntry>> {
    let mut entries: Vec<SessionEntry> = Vec::new();
    for line in text.strip_suffix('\n')?.split('\n') {
        let rest = match line.strip_prefix("  - ") {
            Some(rest) => {
                // The next entry is nearly always as long as the last one.
                let bytes = entries.last().map_or(0, |entry| entry.texts.len() + 16);
                entries.push(SessionEntry::with_room(bytes));
                rest
            }
            None => line.strip_prefix("    ")?,
        };
        let (key, value) = rest.split_once(": ")?;
        let entry = entries.last_mut()?;
        // Keys are in order, so the next of `KEYS` is nearly always the right one.
        let key = match KEYS.get(entry.fields.len()).or(Some(&ORIGIN)).filter(|known| **known == key) {
            Some(known) => *known,
            None => KEYS.iter().find(|known| **known == key)?,
        };
        entry.push(EntryKey::Borrowed(key), &unquote_ours(value)?);
    }
    Some(entries)
}

/// The content of INDEX.yaml.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    pub latest_session: String,
    pub latest_file: String,
    pub first_next_action: String,
    /// The other keys of the head, in their order.
    rest: Vec<(String, Value)>,
    pub sessions: Vec<SessionEntry>,
}

impl Index {
    pub(crate) fn parse(text: &str) -> Result<Index, SyntaxError> {
        // Entries that we wrote ourselves are read at a tenth of the cost of the general reader.
        if let Some((head, sessions)) = text.split_once("\nsessions:\n")
            && let Some(sessions) = entries_as_we_write(sessions)
            && let Ok(index) = Index::parse_any(head)
        {
            return Ok(Index { sessions, ..index });
        }
        Index::parse_any(text)
    }

    fn parse_any(text: &str) -> Result<Index, SyntaxError> {
        let mut index = Index::default();
        for field in read_subset_first(text)? {
            let text = field.value.text().unwrap_or_default().to_owned();
            match field.key.as_str() {
                "latest_session" => index.latest_session = text,
                "latest_file" => index.latest_file = text,
                "first_next_action" => index.first_next_action = text,
                "sessions" => {
                    let Value::List(items) = field.value else {
                        return Err(SyntaxError::at(field.line, "INDEX.yaml.sessions is not a list"));
                    };
                    for (number, item) in items.into_iter().enumerate() {
                        let Value::Map(pairs) = item else {
                            return Err(SyntaxError::at(
                                field.line,
                                format!("INDEX.yaml.sessions[{number}] is not a mapping"),
                            ));
                        };
                        index.sessions.push(SessionEntry::of_pairs(pairs));
                    }
                }
                _ => index.rest.push((field.key, field.value)),
            }
        }
        Ok(index)
    }

    /// Whether we wrote this text of an index last. Other tools drop the comment in its first line.
    pub(crate) fn is_of_ours(text: &[u8]) -> bool {
        text.starts_with(COUNT.as_bytes())
    }

    /// The newest entry by time; of several with the same time, the last one.
    pub(crate) fn newest(&self) -> Option<&SessionEntry> {
        let now = clock::now();
        self.sessions.iter().max_by_key(|entry| entry.recency(&now))
    }

    /// The entry of the session that the head names.
    pub(crate) fn latest(&self) -> Option<&SessionEntry> {
        self.sessions.iter().find(|entry| entry.get("session_id") == self.latest_session)
    }

    /// A value of the head.
    pub(crate) fn top(&self, key: &str) -> &str {
        self.rest.iter().find(|(name, _)| name == key).and_then(|(_, value)| value.text()).unwrap_or_default()
    }

    /// Makes this session the latest in the head.
    pub(crate) fn set_latest(&mut self, handoff: &Handoff, entry: &SessionEntry) {
        let is_done = is_done(entry.get("status"));
        self.latest_session = entry.get("session_id").to_owned();
        self.latest_file = entry.get("file").to_owned();
        self.first_next_action = if is_done { String::new() } else { entry.get("first_next_action").to_owned() };
        for key in ["repo_root", "current_branch", "head_commit", "primary_goal"] {
            self.set(key, handoff.text(key));
        }
        self.set("search_tags", entry.get("search_tags"));
    }

    fn set(&mut self, key: &str, value: &str) {
        match self.rest.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = Value::from(value),
            None => self.rest.push((key.to_owned(), Value::from(value))),
        }
    }

    /// Appends an entry to the text of an index that we wrote last, with `count` entries, without reading these.
    ///
    /// `newest` is the handoff of the entry if it is the newest. Returns `None` if the text is not such an index.
    pub(crate) fn append(text: &str, count: usize, entry: &SessionEntry, newest: Option<&Handoff>) -> Option<String> {
        let first = format!("{COUNT}{count}\n");
        let rest = text.strip_prefix(&first)?;
        let start = rest.find("\nsessions:\n").map(|at| at + 1)?;
        let (head, sessions) = rest.split_at(start);
        let mut index = Index::parse(head).ok()?;
        if let Some(handoff) = newest {
            index.set_latest(handoff, entry);
        }
        let entry = write_fields([("sessions", &Value::List(vec![entry.as_value()]))]);
        let mut new = index.render_head(count + 1);
        new.push_str(sessions);
        new.push_str(entry.strip_prefix("sessions:\n")?);
        Some(new)
    }

    /// The text of the index, with Session Glue's order of keys. A comment in the first line has the number of entries, so
    /// that it can be read without them.
    pub(crate) fn render(&self) -> String {
        let sessions = Value::List(self.sessions.iter().map(SessionEntry::as_value).collect());
        let mut text = self.render_head(self.sessions.len());
        text.push_str(&write_fields([("sessions", &sessions)]));
        text
    }

    fn render_head(&self, count: usize) -> String {
        let one = |key: &str, text: &str| (key.to_owned(), Value::from(text));
        let mut fields = vec![
            one("schema_version", "1"),
            one("latest_session", &self.latest_session),
            one("latest_file", &self.latest_file),
        ];
        for key in ["repo_root", "current_branch", "head_commit", "primary_goal", "search_tags"] {
            fields.push(one(key, self.top(key)));
        }
        fields.push(one("first_next_action", &self.first_next_action));
        let unknown = |key: &String| !fields.iter().any(|(name, _)| name == key);
        let others: Vec<(String, Value)> = self.rest.iter().filter(|(key, _)| unknown(key)).cloned().collect();
        fields.extend(others);
        let body = write_fields(fields.iter().map(|(key, value)| (key.as_str(), value)));
        format!("{COUNT}{count}\n{body}")
    }
}

/// The instant in a field such as `generated_at`: a time, or the beginning of a date.
pub(crate) fn time_of(text: &str) -> Option<DateTime<FixedOffset>> {
    DateTime::parse_from_rfc3339(text).ok().or_else(|| {
        let date = chrono::NaiveDate::parse_from_str(text.get(..10)?, "%Y-%m-%d").ok()?;
        Some(date.and_hms_opt(0, 0, 0)?.and_utc().fixed_offset())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn the_fast_reader_and_the_general_one_agree(texts in proptest::collection::vec(any::<String>(), 14), tail in "[-:#'\"\\[\\] \na-c\t\\\\]{0,40}") {
            let mut handoff = Handoff::default();
            for (key, text) in KEYS.iter().zip(&texts) {
                handoff.set(key, Value::Text(text.clone()));
            }
            let entry = SessionEntry::of(&handoff, &texts[0]);
            let index = Index { latest_session: texts[1].clone(), sessions: vec![entry.clone(), entry], ..Index::default() };
            let text = index.render();
            let sessions = text.split_once("\nsessions:\n").unwrap().1;
            prop_assert!(entries_as_we_write(sessions).is_some());
            let many = sessions.repeat(WORTH_A_THREAD / sessions.len() + 1);
            prop_assert_eq!(entries_as_we_write(&many), some_as_we_write(&many));
            prop_assert_eq!(Index::parse(&text), Index::parse_any(&text));
            // Text that somebody added by hand is read alike, or left to the general reader.
            let text = text + &tail;
            if let Ok(quick) = Index::parse(&text) {
                prop_assert_eq!(Ok(quick), Index::parse_any(&text));
            }
        }
    }
}
