//! What the session did, as far as a program can know it.

mod inputs;

use crate::config::template::Values;
use crate::error::Result;

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
}

/// One source of facts. Later ones may use a name again and win.
pub struct Collector {
    pub name: &'static str,
    pub collect: fn(&Session) -> Result<Values>,
}

pub const COLLECTORS: &[Collector] = &[inputs::COLLECTOR];

/// Everything that can be found out, by name.
pub fn collect(session: &Session) -> Result<Values> {
    let mut facts = Values::new();
    for collector in COLLECTORS {
        tracing::debug!(collector = collector.name, "collect");
        facts.extend((collector.collect)(session)?);
    }
    Ok(facts)
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
    texts.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}
