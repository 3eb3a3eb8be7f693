//! Secrets in a handoff that leaves this machine. They are looked for in the values, not in the text of a file: a file escapes
//! some characters, and the same secret then looks like something else.

use std::collections::BTreeSet;

use super::convert::{handoff_of, kept, kept_text, without_kept};
use super::json;
use super::record::HandoffRecord;
use crate::base::text;
use crate::error::{Error, Result};
use crate::guard::secrets;
use crate::handoff::{Handoff, Value};

/// What stands in an id for a part that was removed.
const REDACTED: &str = "redacted";

/// Looks for secrets, except for kinds that the user allows.
pub(crate) struct Redaction<'a> {
    allowed: &'a [String],
}

impl Redaction<'_> {
    pub(crate) fn allowing(allowed: &[String]) -> Redaction<'_> {
        Redaction { allowed }
    }

    /// The kinds of secrets in a handoff, each once. `document` is the text of its archive.
    pub(crate) fn kinds(&self, handoff: &Handoff, document: &str) -> Vec<&'static str> {
        let mut kinds = BTreeSet::new();
        let mut look = |text: &str| kinds.extend(self.find(text).iter().map(|finding| finding.kind));
        look(document);
        look(&handoff.body);
        handoff.fields.iter().for_each(|field| each_text(&field.value, &mut look));
        if let Some(record) = kept_text(&handoff.body).and_then(|line| json::read::<serde_json::Value>(line).ok()) {
            each_string(&record, &mut look);
        }
        kinds.into_iter().collect()
    }

    /// The handoff without secrets. An error if one cannot be removed.
    pub(crate) fn redact(&self, handoff: &Handoff) -> Result<Handoff> {
        let id = self.clean_id(handoff);
        let mut clean = match kept(handoff) {
            Some(record) => self.of_record(handoff, HandoffRecord { id, ..record })?,
            None => {
                let mut clean = self.of_values(handoff);
                clean.set("session_id", Value::Text(id));
                clean
            }
        };
        // A secret that only the name of its field gives away is found in the whole document.
        let document = clean.render();
        let findings = self.find(&document);
        if !findings.is_empty() {
            clean = crate::history::parse(&secrets::redact(&document, &findings))?;
        }
        if self.kinds(&clean, &clean.render()).is_empty() {
            return Ok(clean);
        }
        let id = text::one_line(clean.text("session_id"), 100);
        Err(Error::failed(format!("handoff {id} is not exported: what looks like a secret in it cannot be removed")))
    }

    /// A handoff that keeps a record: the record decides, and the handoff is made from it again.
    fn of_record(&self, handoff: &Handoff, record: HandoffRecord) -> Result<Handoff> {
        let all = |list: &Option<Vec<String>>| {
            list.as_ref().map(|list| list.iter().map(|text| self.clean(text)).collect::<Vec<_>>())
        };
        let record = HandoffRecord {
            id: record.id,
            created_at: record.created_at,
            tool: self.clean(&record.tool),
            project: self.clean(&record.project),
            title: self.clean(&record.title),
            summary: self.clean(&record.summary),
            next: all(&record.next),
            changed: all(&record.changed),
        };
        let mut made = handoff_of(&record)?;
        for field in handoff.fields.iter().filter(|field| made.get(&field.key).is_none()).cloned().collect::<Vec<_>>() {
            let mut value = field.value;
            value.change_texts(&|text| self.clean(text));
            made.set(&field.key, value);
        }
        Ok(made)
    }

    /// Any other handoff. A record that it keeps and that says something else goes.
    fn of_values(&self, handoff: &Handoff) -> Handoff {
        let mut handoff = handoff.clone();
        for field in &mut handoff.fields {
            field.value.change_texts(&|text| self.clean(text));
        }
        handoff.body = self.clean(without_kept(&handoff.body));
        handoff
    }

    /// The id without a secret, and without the words of one in the goal: most ids are made of the words of the goal.
    fn clean_id(&self, handoff: &Handoff) -> String {
        let words = |goal: &str| -> BTreeSet<String> {
            let goal = goal.to_lowercase();
            let words = goal.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
            words.map(str::to_owned).collect()
        };
        let goal = handoff.text("primary_goal");
        let stay = words(&self.clean(goal));
        let gone: Vec<String> = words(goal).into_iter().filter(|word| !stay.contains(word)).collect();
        // An id is cut off, perhaps within a word.
        let is_gone = |word: &str| {
            let beginning = |secret: &String| secret == word || word.len() >= 4 && secret.starts_with(word);
            gone.iter().any(beginning)
        };
        let id = handoff.text("session_id");
        // What stands for a secret elsewhere has characters that an id cannot have.
        let mut clean = self.clean(id);
        for kind in secrets::kinds() {
            clean = clean.replace(&format!("[redacted:{kind}]"), REDACTED);
        }
        let kept: Vec<&str> =
            clean.split('-').map(|word| if is_gone(&word.to_lowercase()) { REDACTED } else { word }).collect();
        let renamed = kept.join("-");
        if renamed == id {
            return renamed;
        }
        // Two ids may differ in the secret only.
        format!("{renamed}-{}", text::digest(id.as_bytes(), 3))
    }

    fn find(&self, text: &str) -> Vec<secrets::Finding> {
        let mut findings = secrets::find(text);
        findings.retain(|finding| !self.allowed.iter().any(|kind| kind == finding.kind));
        findings
    }

    fn clean(&self, text: &str) -> String {
        secrets::redact(text, &self.find(text))
    }
}

fn each_text(value: &Value, look: &mut impl FnMut(&str)) {
    match value {
        Value::Text(text) => look(text),
        Value::List(items) => items.iter().for_each(|item| each_text(item, look)),
        Value::Map(pairs) => pairs.iter().for_each(|(_, item)| each_text(item, look)),
    }
}

fn each_string(value: &serde_json::Value, look: &mut impl FnMut(&str)) {
    match value {
        serde_json::Value::String(text) => look(text),
        serde_json::Value::Array(items) => items.iter().for_each(|item| each_string(item, look)),
        serde_json::Value::Object(pairs) => pairs.values().for_each(|item| each_string(item, look)),
        _ => {}
    }
}
