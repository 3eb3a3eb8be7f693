//! Asks the collectors and joins their facts.

use std::collections::HashSet;
use std::path::Path;

use super::Session;
use crate::config::template::Values;
use crate::error::Result;
use crate::transcript::Transcript;

/// A session and its project.
pub(crate) struct Scene<'a> {
    pub session: &'a Session,
    pub root: &'a Path,
    /// The directory in which the session worked. It may be gone.
    pub work: &'a Path,
    /// The worktree of the session does not exist any more. `root` is then that of another one.
    pub is_gone: bool,
    /// The mark of the uncommitted files at the last completed handover from this worktree; `None` if it is not known.
    pub tree_before: Option<&'a str>,
    /// The last completed handover from this worktree came before the first commit.
    pub is_first_commit_new: bool,
}

/// Facts about a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Values by name, for templates.
    pub values: Values,
    /// One line for a person.
    pub detail: Option<String>,
    /// The agent's transcript, if there is one that could be read. Its paths are relative to the project.
    pub transcript: Option<Transcript>,
    /// `transcript` is made of what the agent passed to its hooks. It may lack edits.
    pub is_from_hooks: bool,
    /// Something was committed since the last handover, or the uncommitted files are not as they were then.
    pub is_repository_changed: bool,
    /// What happened in the repository, as text for a session that gave no note.
    pub git_text: String,
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
        all.transcript = found.transcript.or(all.transcript);
        all.is_from_hooks |= found.is_from_hooks;
        all.is_repository_changed |= found.is_repository_changed;
        all.git_text.push_str(&found.git_text);
        details.extend(found.detail);
    }
    all.detail = Some(details.join("; "));
    confirm_shell_writes(&mut all);
    Ok(all)
}

/// Files that commands of the session may have written count as edited if git says that they changed.
fn confirm_shell_writes(all: &mut Facts) {
    let Some(found) = &mut all.transcript else { return };
    let lists = ["changes", "dirty"].iter().filter_map(|name| all.values.get(*name)?.as_array()).flatten();
    let changed: HashSet<&str> =
        lists.flat_map(|change| [change["path"].as_str(), change["from"].as_str()]).flatten().collect();
    let confirmed: Vec<(usize, String)> = std::mem::take(&mut found.shell_writes)
        .into_iter()
        .filter(|(_, path)| changed.contains(path.as_str()))
        .collect();
    if confirmed.is_empty() {
        return;
    }
    for (turn, path) in confirmed {
        found.edit_by_command(turn, path);
    }
    let edited = found.edited.iter().take(super::transcript::MAX_FILES).collect::<Vec<_>>();
    all.values.insert("edited".to_owned(), serde_json::json!(edited));
}
