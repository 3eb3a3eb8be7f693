//! Asks the collectors and joins their facts.

use std::path::Path;

use super::Session;
use crate::config::template::Values;
use crate::error::Result;

/// A session and its project.
pub(crate) struct Scene<'a> {
    pub session: &'a Session,
    pub root: &'a Path,
    /// The worktree of the session does not exist any more. `root` is then that of another one.
    pub is_gone: bool,
}

/// Facts about a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Values by name, for templates.
    pub values: Values,
    /// One line for a person.
    pub detail: Option<String>,
    /// A note for a session that wrote none.
    pub derived: String,
    /// Messages about facts that are missing or incomplete.
    pub notices: Vec<String>,
}

/// One source of facts. If two collectors use the same name, the later one wins.
pub(crate) struct Collector {
    pub name: &'static str,
    pub collect: fn(&Scene<'_>) -> Result<Facts>,
}

/// Asks every collector.
pub(crate) fn collect(scene: &Scene<'_>) -> Result<Facts> {
    let mut all = Facts::default();
    let mut details = Vec::new();
    for collector in super::COLLECTORS {
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
