//! Collects what happened in the repository since the last handover.

use std::fmt::Write;
use std::path::Path;

use serde_json::json;

use super::{Collector, Facts, Scene, Session, working_tree};
use crate::base::text;
use crate::error::Result;
use crate::git::{self, Change, Commit, Git};
use crate::guard::secrets;

pub(super) const COLLECTOR: Collector = Collector { name: "git", collect };

/// The name under which the mark of the uncommitted files is among the facts.
pub(crate) const TREE: &str = "tree";
/// The most commits to keep; more would make the note unreadable.
const MAX_COMMITS: usize = 100;
const MAX_FILES: usize = 500;
/// How many lines of a list a derived note shows.
const SHOWN: usize = 20;

/// Asks git. A question that git does not answer becomes a notice; the handover and the other questions go on.
fn collect(scene: &Scene<'_>) -> Result<Facts> {
    let mut facts = Facts::default();
    let session = scene.session;
    let is_repository = git::top_level(scene.root).is_some();
    // The words of the session are handed over all the same.
    let broken = if scene.is_gone { None } else { git::broken_at(scene.root) };
    let is_broken = broken.is_some();
    facts.notices.extend(broken.map(|broken| format!("{broken}, so git facts are missing")));
    if !scene.is_gone && (is_broken || !is_repository) {
        return Ok(facts);
    }
    let git = Git::at(scene.root);
    let mut notices = Vec::new();
    let (branch, place) = if session.head.is_empty() && !scene.is_gone {
        branch_without_commit(&git, scene.root, &mut notices)
    } else {
        (session.branch.clone(), place(&session.branch, &session.head))
    };
    // Another worktree of the repository knows the commits of one that is gone.
    let base = || answer_or_notice(base(&git, session, &mut notices), &mut Vec::new()).flatten();
    let base = is_repository.then(base).flatten();
    // Every commit is new if there was none at the last handover.
    let is_all_new = is_repository && base.is_none() && scene.is_first_commit_new && git::is_object_id(&session.head);
    let range = base.as_deref().or(is_all_new.then_some("")).filter(|base| *base != session.head);
    let mut commits = range
        .and_then(|base| answer_or_notice(git.log(base, &session.head, MAX_COMMITS + 1), &mut notices))
        .unwrap_or_default();
    let mut changes =
        range.and_then(|base| answer_or_notice(git.changes(base, &session.head), &mut notices)).unwrap_or_default();
    // Asked last: in a huge work tree this may take longer than we wait.
    let mut dirty = if scene.is_gone {
        notices.push("its worktree is gone, so uncommitted changes are not known".to_owned());
        Vec::new()
    } else {
        answer_or_notice(git.dirty(), &mut notices).unwrap_or_default()
    };
    let tree = git::top_level(scene.root).and_then(|top| working_tree::mark(top, &dirty));
    let is_tree_new = !dirty.is_empty() && (tree.is_none() || tree.as_deref() != scene.tree_before);
    limit(&mut commits, MAX_COMMITS, "commits", &mut notices);
    limit(&mut changes, MAX_FILES, "changed files", &mut notices);
    limit(&mut dirty, MAX_FILES, "uncommitted files", &mut notices);
    let clean = |text: &mut String| *text = secrets::clean(text);
    for commit in &mut commits {
        clean(&mut commit.subject);
        clean(&mut commit.author);
    }
    for change in changes.iter_mut().chain(&mut dirty) {
        clean(&mut change.path);
        change.from.iter_mut().for_each(clean);
    }
    let (branch, place) = (secrets::clean(&branch), secrets::clean(&place));
    let values = [
        ("branch", json!(branch)),
        ("head", json!(session.head)),
        ("base", json!(base.unwrap_or_default())),
        ("commits", json!(commits)),
        ("changes", json!(changes)),
        ("dirty", json!(dirty)),
        (TREE, json!(tree)),
    ];
    facts.values.extend(values.map(|(name, value)| (name.to_owned(), value)));
    facts.detail = Some(describe(&place, &commits, &changes, &dirty));
    facts.is_repository_changed = !commits.is_empty() || is_tree_new;
    if facts.is_repository_changed {
        facts.git_text = as_text(&place, &commits, &changes, &dirty);
    }
    facts.notices = notices;
    Ok(facts)
}

/// The answer; a failure becomes a notice.
fn answer_or_notice<T>(answer: git::Result<T>, notices: &mut Vec<String>) -> Option<T> {
    let mut note = |failure: git::Failure| {
        let notice = format!("git facts are incomplete: {}", failure.without_words());
        if !notices.contains(&notice) {
            notices.push(notice);
        }
    };
    answer.map_err(&mut note).ok()
}

/// The branch, and how a person reads where it is, for a session of which no commit is recorded: there was none yet, or git
/// did not answer in time when the session was recorded, or cannot read the commit.
fn branch_without_commit(git: &Git, root: &Path, notices: &mut Vec<String>) -> (String, String) {
    let named = git::top_level(root).and_then(git::checked_out_branch);
    let branch = named.or_else(|| answer_or_notice(git.branch(), notices).flatten()).unwrap_or_default();
    let found = answer_or_notice(git.id_of("HEAD"), notices);
    if matches!(found, Some(None)) {
        let place = place(&branch, "");
        return (branch, place);
    }
    if found.is_some() {
        // Commits made since then belong to the next session, so what is checked out now does not count.
        let missing = "git facts are incomplete: git did not name the commit when this handover was recorded";
        notices.push(missing.to_owned());
    }
    let place = if branch.is_empty() { "detached".to_owned() } else { branch.clone() };
    (branch, place)
}

/// The commit to count from: that of the last handover, or the merge base if history was rewritten.
fn base(git: &Git, session: &Session, notices: &mut Vec<String>) -> git::Result<Option<String>> {
    let (recorded, head) = (session.base.as_str(), session.head.as_str());
    if !git::is_object_id(recorded) || !git::is_object_id(head) {
        return Ok(None);
    }
    if recorded == head {
        return Ok(Some(recorded.to_owned()));
    }
    let found = git.merge_base(recorded, head)?;
    match &found {
        Some(base) if base == recorded => {}
        // The last handover of the repository may have been in another worktree, on another branch.
        Some(_) if !session.worktree.is_empty() => {}
        Some(base) => notices.push(format!(
            "history was rewritten since the last handover: counted from the merge base {}",
            short(base)
        )),
        None => notices.push(format!("the commit of the last handover, {}, is not known here", short(recorded))),
    }
    Ok(found)
}

fn limit<T>(items: &mut Vec<T>, max: usize, what: &str, notices: &mut Vec<String>) {
    if items.len() > max {
        items.truncate(max);
        notices.push(format!("only the first {max} {what} are listed"));
    }
}

fn short(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}

fn place(branch: &str, head: &str) -> String {
    match (branch.is_empty(), head.is_empty()) {
        (false, false) => format!("{branch} at {}", short(head)),
        (true, false) => format!("detached at {}", short(head)),
        (false, true) => format!("{branch}, without a commit"),
        (true, true) => "without a commit".to_owned(),
    }
}

fn describe(place: &str, commits: &[Commit], changes: &[Change], dirty: &[Change]) -> String {
    let counted = [
        (commits.len(), text::count(commits.len(), "commit")),
        (changes.len(), text::count(changes.len(), "changed file")),
        (dirty.len(), format!("{} uncommitted", dirty.len())),
    ];
    let some: Vec<&str> = counted.iter().filter(|(number, _)| *number > 0).map(|(_, said)| said.as_str()).collect();
    if some.is_empty() { format!("{place}, nothing changed") } else { format!("{place}: {}", some.join(", ")) }
}

/// The lines for a session that gave no note. Empty if nothing happened.
fn as_text(place: &str, commits: &[Commit], changes: &[Change], dirty: &[Change]) -> String {
    let mut text = String::new();
    if commits.is_empty() && dirty.is_empty() {
        return text;
    }
    let _ = writeln!(text, "On {place}.");
    let commits: Vec<String> =
        commits.iter().map(|commit| format!("{} {}", short(&commit.id), commit.subject)).collect();
    for (title, lines) in [("Commits", commits), ("Changed files", lines(changes)), ("Not committed", lines(dirty))] {
        if lines.is_empty() {
            continue;
        }
        let _ = write!(text, "\n{title}:\n");
        for line in lines.iter().take(SHOWN) {
            let _ = writeln!(text, "- {}", text::kept_line(line, 200));
        }
        if lines.len() > SHOWN {
            let _ = writeln!(text, "- and {} more", lines.len() - SHOWN);
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn lines(changes: &[Change]) -> Vec<String> {
    changes
        .iter()
        .map(|change| match &change.from {
            Some(from) => format!("{} {} (from {from})", change.status, change.path),
            None => format!("{} {}", change.status, change.path),
        })
        .collect()
}
