//! The sections that depend on the day and on git.

use chrono::{DateTime, FixedOffset};

use super::item::{Entry, item};
use super::placed::{Part, Section};
use super::shares;
use super::since::short;
use super::sources;
use super::writer::{CAME_ALONG, Writer};
use crate::base::{clock, text};
use crate::git::{Change, Relation};
use crate::history;

/// How many files and commits are listed at most.
const LISTED: usize = 30;

impl Writer<'_> {
    pub(super) fn since_then(&mut self) -> Section {
        let mut lines = vec![self.summary()];
        lines.extend(self.since.notices.iter().map(|notice| item(notice, 200)));
        let (root, files) = (self.root, self.sources.context_files());
        let mark = if self.sources.whose.is_handoff_strange { CAME_ALONG } else { "" };
        let outside = self.of_open();
        for (path, _) in files.iter().filter(|(path, _)| sources::is_gone(root, path)) {
            lines.push(format!("{mark}{} is gone{outside}", item(path, 200)));
        }
        for (path, _) in files.iter().filter(|(path, _)| !sources::is_gone(root, path) && self.since.has_changed(path))
        {
            lines.push(format!("{mark}{} has changed{outside}", item(path, 200)));
        }
        for commit in self.since.commits.iter().take(LISTED) {
            lines.push(format!("commit {} {}", short(&commit.id), item(&commit.subject, 160)));
        }
        let is_new = |change: &&Change| !files.iter().any(|(path, _)| *path == change.path);
        let changes = self.since.changes.iter().filter(is_new);
        lines.extend(changes.take(LISTED).map(|change| change_line(change, "")));
        lines.extend(self.since.dirty.iter().take(LISTED).map(|change| change_line(change, " (not committed)")));
        let entries = lines.into_iter().map(Entry::of).collect();
        let parts = vec![Part { entries, share: shares::WHAT_IS_LEFT }];
        Section { title: "Since then", parts, more: "git log --stat; git status".to_owned() }
    }

    /// The end of the last session: when it was, and whether it was a handover.
    fn last_end(&self) -> String {
        let sources = self.sources;
        let base = self.since.base.as_ref().map(|(base, _)| base);
        let is_handover = base.map_or(sources.has_handover(), |base| base.is_handover);
        let of_handoff = || sources.handoff().and_then(|handoff| history::time_of(handoff.text("generated_at")));
        let of_items = || sources.state.items().map(|(_, item)| &item.at).max().and_then(|at| history::time_of(at));
        let of_base = || base.and_then(|base| base.at);
        let at = if is_handover { of_handoff().or_else(of_base) } else { of_base() };
        let what = if is_handover { "last handover" } else { "last recorded" };
        let at = at.or_else(of_items).map(|at| age(&at, &clock::now()));
        at.map_or("no date is on record".to_owned(), |age| format!("{what} {age}"))
    }

    /// The age of the last session, and how HEAD relates to its commit.
    fn summary(&self) -> String {
        let since = self.since;
        let mut parts = vec![self.last_end()];
        match &since.base {
            Some((_, Relation::Ancestor)) => {
                parts.push(format!("{} since", since.commit_count()));
            }
            Some((base, Relation::Aside)) => parts.push(format!(
                "its commit {} is not in this branch: compared with the commit where both split, {} since",
                short(&base.commit),
                since.commit_count()
            )),
            Some((base, Relation::Unknown)) => {
                parts.push(format!("its commit {} is not known here, so nothing is compared", short(&base.commit)));
            }
            None => {}
        }
        if let Some(head) = &since.head {
            let branch = if head.branch.is_empty() { "no branch" } else { &head.branch };
            let was = self.sources.handoff().map(|handoff| handoff.text("current_branch")).unwrap_or_default();
            let moved = !was.is_empty() && was != "unknown" && was != head.branch;
            let mark = if self.sources.whose.is_handoff_strange { CAME_ALONG } else { "" };
            let was = if moved { format!(" (it was on {mark}{})", item(was, 80)) } else { String::new() };
            if !was.is_empty() {
                parts.push(format!("now on {}{was}", item(branch, 80)));
            }
            if !since.dirty.is_empty() {
                parts.push(format!("{} not committed", text::count(since.dirty.len(), "file")));
            }
        }
        parts.join("; ")
    }
}

fn change_line(change: &Change, after: &str) -> String {
    match &change.from {
        Some(from) => format!("{} {} (from {}){after}", change.status, item(&change.path, 200), item(from, 200)),
        None => format!("{} {}{after}", change.status, item(&change.path, 200)),
    }
}

/// How long ago this was, in hours or days: enough to decide whether to rely on it.
fn age(then: &DateTime<FixedOffset>, now: &DateTime<FixedOffset>) -> String {
    let passed = *now - *then;
    let (number, unit) = match (passed.num_minutes(), passed.num_hours(), passed.num_days()) {
        (minutes, _, _) if minutes < 0 => return "in the future, by this machine's clock".to_owned(),
        (minutes, _, _) if minutes < 60 => return "less than an hour ago".to_owned(),
        (_, hours, _) if hours < 48 => (hours, "hour"),
        (_, _, days) => (days, "day"),
    };
    format!("{} ago", text::count(usize::try_from(number).unwrap_or(0), unit))
}
