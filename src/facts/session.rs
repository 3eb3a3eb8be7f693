//! A session as it was recorded, and the facts that the record holds.

use crate::checkpoint::Told;
use crate::config::template::Values;
use crate::handoff::{self, Handoff};
use crate::transcript::Source;

/// A session as it was recorded when its handover was requested.
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
    /// The handoff document that the session wrote; empty if it wrote none.
    pub handoff: String,
    /// The commit that was checked out when the run was recorded; empty without one.
    pub head: String,
    /// The branch that was checked out; empty without one.
    pub branch: String,
    /// The linked worktree in which it ran; empty for the directory of the checkpoint.
    pub worktree: String,
    /// The commit of the last completed handover; empty without one.
    pub base: String,
    /// The agent's transcript, up to the moment when the run was recorded.
    pub transcript: Option<Source>,
    /// What the agent passed to its hooks, in case the transcript cannot be used.
    pub(crate) told: Told,
}

impl Session {
    /// The id that the agent gave its session; empty if it is not known.
    pub(crate) fn agent_session(&self) -> &str {
        self.transcript.as_ref().map_or(self.told.session.as_str(), |source| source.session.as_str())
    }
}

/// The texts of a session by name, for templates. They may be long, so they are not among the facts.
pub(crate) fn texts(session: &Session) -> [(&'static str, &str); 3] {
    // A session without a note has its summary among the facts.
    [("note", &session.note), ("state", &session.state), ("summary", &session.note)]
}

/// The facts that the record itself holds, except for its texts; nothing needs to be collected for them.
pub(crate) fn recorded(session: &Session) -> Values {
    let texts = [
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

/// The fields of the handoff by name, for templates such as `{{ handoff.primary_goal }}`.
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
