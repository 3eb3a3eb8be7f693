//! Warnings about secrets and personal paths in a handoff, in the words of Session Glue.
//!
//! They do not block, because the archive stays on this machine until it is published, and publishing has a gate.

use super::HistoryPlace;
use crate::base::fs::Anchor;
use crate::git::Git;
use crate::guard::secrets;
use crate::history;

/// The warnings about a new handoff, and how many there are.
pub(super) fn warnings(place: &HistoryPlace, raw: &str, strict: bool) -> Vec<String> {
    let mut warnings = found(place, raw, strict);
    if !warnings.is_empty() {
        warnings.push(format!("{} leak warning(s) — review before committing .agent-history/", warnings.len()));
    }
    warnings
}

/// One warning for each kind of secret and each personal path in a handoff. Where nothing is under git, a path matters only
/// to Session Glue, which is `strict`.
pub(super) fn found(place: &HistoryPlace, raw: &str, strict: bool) -> Vec<String> {
    let kinds = secrets::leaked_kinds(raw);
    let mut warnings: Vec<String> =
        kinds.into_iter().map(|kind| format!("WARNING: possible secret in handoff: {kind}")).collect();
    let paths = secrets::personal_paths(raw);
    if !paths.is_empty() && (strict || place.is_in_work_tree()) && !is_ignored(place) {
        warnings.extend(paths.iter().map(|path| {
            format!(
                "WARNING: personal absolute path in handoff: {path} (.agent-history/ is not gitignored, so it may be committed)"
            )
        }));
    }
    warnings
}

/// Whether git leaves the history out. Where there is no repository yet, the files count that git would read in one.
fn is_ignored(place: &HistoryPlace) -> bool {
    let latest = place.history.latest_path();
    let question = ["check-ignore".as_ref(), "--quiet".as_ref(), latest.as_os_str()];
    let is_ignored = || Git::at(&place.memory_root).ask(&question).is_ok_and(|answer| answer.succeeded);
    if place.is_in_work_tree() && is_ignored() {
        return true;
    }
    let anchor = Anchor::beside(&place.memory_root.join(".gitignore"));
    [".gitignore", ".git/info/exclude"].iter().any(|name| {
        let text = anchor.read(&place.memory_root.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().any(|line| line.trim().trim_matches('/') == history::DIRECTORY)
    })
}
