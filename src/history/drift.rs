//! How the repository differs from what a handoff recorded.

use std::path::Path;

use crate::base::text;
use crate::git::{self, Git};

/// Messages about a branch or commit that is not the recorded one, in Session Glue's words.
pub(crate) fn drift(root: &Path, branch: &str, commit: &str) -> Vec<String> {
    let head = git::top_level(root).and_then(|_| Git::at(root).head().ok().flatten());
    let Some(head) = head else { return vec!["--git: git unavailable or not a repository".to_owned()] };
    let is_unknown = |value: &str| matches!(value.trim(), "" | "unknown" | "(unknown)" | "none");
    let now = if head.branch.is_empty() { "HEAD" } else { &head.branch };
    let mut lines = Vec::new();
    if is_unknown(branch) {
        lines.push("--git: recorded current_branch is missing/unknown — skipping branch check".to_owned());
    }
    if is_unknown(commit) {
        lines.push("--git: recorded head_commit is missing/unknown — skipping commit check".to_owned());
    }
    let moved = !is_unknown(commit) && !head.commit.starts_with(&commit.to_lowercase());
    if moved || !is_unknown(branch) && branch != now {
        let short = text::cut(&head.commit, commit.len().clamp(7, 40));
        lines.push(format!("drift: handoff recorded {branch}@{commit} but repo is at {now}@{short}"));
    }
    lines
}
