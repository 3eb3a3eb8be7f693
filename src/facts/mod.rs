//! What the session did, as far as a program can know it.

mod git;
mod inputs;
mod transcript;

use std::path::Path;

use crate::config::template::Values;
use crate::error::Result;
use crate::handoff::{self, Handoff};
use crate::transcript::Source;

/// What was recorded of a session when its handover was asked for.
#[derive(Clone, Debug)]
pub struct Session {
    pub run: String,
    pub at: chrono::DateTime<chrono::FixedOffset>,
    pub tag: String,
    pub agent: String,
    pub host: String,
    pub user: String,
    pub note: String,
    pub state: String,
    /// The document of the session's handoff; empty if it wrote none.
    pub handoff: String,
    /// The commit that was checked out, pinned when the run was recorded; empty without one.
    pub head: String,
    /// The branch it was on; empty without one.
    pub branch: String,
    /// The same of the last completed handover.
    pub base: String,
    /// What the agent wrote down of the session, up to when the run was recorded.
    pub transcript: Option<Source>,
}

/// A session and the project it was in.
pub struct Scene<'a> {
    pub session: &'a Session,
    pub root: &'a Path,
}

/// What was found out.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// By name, for templates.
    pub values: Values,
    /// One line for a person.
    pub detail: Option<String>,
    /// What can be said for a session that said nothing itself.
    pub derived: String,
    /// What could not be found out, or only in part.
    pub notices: Vec<String>,
}

/// One source of facts. Later ones may use a name again and win.
pub struct Collector {
    pub name: &'static str,
    pub collect: fn(&Scene<'_>) -> Result<Facts>,
}

pub const COLLECTORS: &[Collector] = &[inputs::COLLECTOR, transcript::COLLECTOR, git::COLLECTOR];

/// Everything that can be found out.
pub fn collect(scene: &Scene<'_>) -> Result<Facts> {
    let mut all = Facts::default();
    let mut details = Vec::new();
    for collector in COLLECTORS {
        tracing::debug!(collector = collector.name, "collect");
        let found = (collector.collect)(scene)?;
        all.values.extend(found.values);
        all.notices.extend(found.notices);
        if !all.derived.is_empty() && !found.derived.is_empty() {
            all.derived.push_str("\n\n");
        }
        all.derived.push_str(&found.derived);
        details.extend(found.detail);
    }
    if scene.session.note.trim().is_empty() && !all.derived.is_empty() {
        all.values.insert("summary".to_owned(), all.derived.clone().into());
    }
    all.detail = Some(details.join("; "));
    Ok(all)
}

/// The facts that are part of the record itself, known without collecting anything.
pub fn recorded(session: &Session) -> Values {
    let texts = [
        ("note", session.note.clone()),
        ("state", session.state.clone()),
        ("summary", session.note.clone()),
        ("tag", session.tag.clone()),
        ("agent", session.agent.clone()),
        ("host", session.host.clone()),
        ("user", session.user.clone()),
        ("run", session.run.clone()),
        ("date", session.at.format("%Y-%m-%d").to_string()),
        ("time", session.at.format("%H:%M:%S").to_string()),
    ];
    let mut values: Values = texts.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    values.extend(handoff_values(&session.handoff));
    values
}

/// The handoff by the names of its fields, for `{{ handoff.primary_goal }}`.
fn handoff_values(document: &str) -> Option<(String, serde_json::Value)> {
    let handoff = Handoff::parse(document).ok()?;
    let fields = handoff.fields.iter().map(|field| (field.key.clone(), json_of(&field.value)));
    Some(("handoff".to_owned(), serde_json::Value::Object(fields.collect())))
}

fn json_of(value: &handoff::Value) -> serde_json::Value {
    match value {
        handoff::Value::Text(text) => text.clone().into(),
        handoff::Value::List(items) => items.iter().map(json_of).collect(),
        handoff::Value::Map(pairs) => {
            serde_json::Value::Object(pairs.iter().map(|(key, value)| (key.clone(), json_of(value))).collect())
        }
    }
}
