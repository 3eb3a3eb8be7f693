//! A file of the project as git knows it: the names that it had, and whether it has changed since a session edited it.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::base::fs;
use crate::git::Git;
use crate::project::Project;

/// How long git may take to follow the names of a file.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many earlier names of a file are looked for.
const MAX_NAMES: usize = 20;
/// How many commits of a file are looked at.
const MAX_COMMITS: &str = "--max-count=500";

/// A file and its past.
#[derive(Debug, Default)]
pub(super) struct TracedFile {
    /// Its name, then the other names that it has or had.
    pub names: Vec<String>,
    /// `None` for a directory: something in it changes often.
    state: Option<State>,
}

/// The content of a file, then and now.
#[derive(Debug, Default)]
struct State {
    /// The commits that changed or renamed it, newest first.
    commits: Vec<Commit>,
    /// Whether it differs from what is checked out.
    is_modified: bool,
    /// When it was last written, in seconds since 1970; `None` if it is gone.
    written: Option<i64>,
}

/// A file after a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Commit {
    /// When its author made it, in seconds since 1970. A rebase does not change that.
    at: i64,
    blob: String,
}

impl TracedFile {
    /// Traces a file by its path relative to the project.
    pub(super) fn of(project: &Project, path: &str) -> TracedFile {
        let git = Git::at(&project.root).within(PATIENCE);
        let whole = project.root.join(path);
        let mut names = vec![path.to_owned()];
        // A path may lead through a link. git knows the file by its own name.
        let real = fs::real_if_exists(&whole).and_then(|real| below(&real, &fs::real(&project.root)));
        let current = real.unwrap_or_else(|| path.to_owned());
        add(&mut names, &current);
        if fs::is_directory(&whole) {
            return TracedFile { names, state: None };
        }
        let mut log = log_of(&git, &current);
        // A name that no commit has may be new, and the file be renamed but not committed.
        if log.is_empty() {
            let before = renamed_in_index(&git, &current).or_else(|| renamed_in_work_tree(&git, &current, &whole));
            log = before.as_deref().map(|before| log_of(&git, before)).unwrap_or_default();
            before.iter().for_each(|before| add(&mut names, before));
        }
        log.iter().flat_map(|(_, before)| before).for_each(|before| add(&mut names, before));
        let differing = asked(&git, &["diff", "--name-only", "HEAD", "--", &literal(&current)]);
        let state = State {
            commits: log.into_iter().map(|(commit, _)| commit).collect(),
            is_modified: !differing.is_empty(),
            written: fs::modified(&whole).and_then(seconds),
        };
        TracedFile { names, state: Some(state) }
    }

    /// Whether the file has changed since a session that began at `started` edited it at `at`. `None` if nobody can say.
    pub(super) fn has_changed(&self, at: Option<i64>, started: Option<i64>) -> Option<bool> {
        Some(self.state.as_ref()?.has_changed(at?, started))
    }
}

impl State {
    /// The content after the session is that of the first commit since the edit, or of the last one during the session.
    fn has_changed(&self, at: i64, started: Option<i64>) -> bool {
        let Some(written) = self.written else { return true };
        let since = self.commits.iter().filter(|commit| commit.at >= at).min_by_key(|commit| commit.at);
        let during = || self.commits.iter().find(|commit| started.is_some_and(|started| commit.at >= started));
        match since.or_else(during) {
            Some(base) => {
                let is_newest = self.commits.first().is_some_and(|newest| newest.blob == base.blob);
                !is_newest || self.is_modified && written > at.max(base.at)
            }
            // The edit was not committed. What was written later has replaced it or added to it.
            None => written > at,
        }
    }
}

/// Adds a name unless it is known.
fn add(names: &mut Vec<String>, name: &str) {
    if names.len() < MAX_NAMES && !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// The commits of a file, newest first, each with the names that the file had before and after it.
fn log_of(git: &Git, path: &str) -> Vec<(Commit, Vec<String>)> {
    // The project may be below the top of the work tree, and the names are relative to itself.
    let options = ["log", "-z", "--follow", "--relative", "--raw", "--no-abbrev", "--format=%at", MAX_COMMITS, "--"];
    commits(&asked(git, &[options.as_slice(), &[literal(path).as_str()]].concat()))
}

/// The commits of `git log -z --raw --format=%at`. One that changed several files has several entries.
fn commits(log: &str) -> Vec<(Commit, Vec<String>)> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut parts = log.split('\0');
    while let Some(part) = parts.next() {
        // `:100644 100644 OLD NEW R100`, and the names follow.
        let Some(entry) = part.trim_start_matches('\n').strip_prefix(':') else {
            at = part.trim().parse().unwrap_or(at);
            continue;
        };
        let mut fields = entry.split(' ').skip(3);
        let (blob, status) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let count = if status.starts_with(['R', 'C']) { 2 } else { 1 };
        let mut names: Vec<String> = parts.by_ref().take(count).map(str::to_owned).collect();
        names.reverse();
        found.push((Commit { at, blob: blob.to_owned() }, names));
    }
    found
}

/// The name in the last commit of a file that `git mv` gave this name.
fn renamed_in_index(git: &Git, path: &str) -> Option<String> {
    let options =
        ["diff", "-z", "--cached", "--relative", "--name-status", "--find-renames", "--diff-filter=R", "HEAD"];
    let renamed = asked(git, &options);
    let parts: Vec<&str> = renamed.split('\0').collect();
    parts.chunks_exact(3).find(|rename| rename[2] == path).map(|rename| rename[1].to_owned())
}

/// The name of a file that is gone and had the content of this one, which git does not know.
fn renamed_in_work_tree(git: &Git, path: &str, whole: &Path) -> Option<String> {
    if !fs::is_file(whole) {
        return None;
    }
    let blob = asked(git, &["hash-object", "--no-filters", "--", path]);
    let gone = asked(git, &["ls-files", "-z", "--deleted", "--stage"]);
    // `100644 BLOB 0`, a tab and the name.
    let entries = gone.split('\0').filter_map(|entry| entry.split_once('\t'));
    let mut same = entries.filter(|(about, _)| about.split(' ').nth(1) == Some(blob.trim()));
    same.next().map(|(_, name)| name.to_owned())
}

/// The name of a file may have brackets, which git would take for a pattern.
fn literal(path: &str) -> String {
    format!(":(literal){path}")
}

/// What git prints; empty if it fails.
fn asked(git: &Git, arguments: &[&str]) -> String {
    let answer = git.ask(arguments).ok().filter(|answer| answer.succeeded);
    answer.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned()).unwrap_or_default()
}

fn below(path: &Path, root: &Path) -> Option<String> {
    let below = path.strip_prefix(root).ok()?.to_str()?;
    (!below.is_empty()).then(|| below.to_owned())
}

fn seconds(time: SystemTime) -> Option<i64> {
    i64::try_from(time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_read_with_their_names() {
        let log = "30\0\n:100644 100644 aa bb R090\0old \"1\".rs\0new.rs\0\
                   20\0\n:100644 100644 cc aa M\0old \"1\".rs\0:000000 100644 00 dd A\0:other\0";
        let commit = |at, blob: &str| Commit { at, blob: blob.to_owned() };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            commits(log),
            [
                (commit(30, "bb"), names(&["new.rs", "old \"1\".rs"])),
                (commit(20, "aa"), names(&["old \"1\".rs"])),
                (commit(20, "dd"), names(&[":other"])),
            ]
        );
        assert_eq!(commits(""), []);
    }

    /// Whether a file with these commits has changed since a session from 10 to 20 edited it.
    fn has_changed(commits: &[(i64, &str)], is_modified: bool, written: Option<i64>) -> bool {
        let commits = commits.iter().map(|(at, blob)| Commit { at: *at, blob: (*blob).to_owned() }).collect();
        State { commits, is_modified, written }.has_changed(20, Some(10))
    }

    #[test]
    fn the_commit_of_the_edit_is_no_change() {
        let before = (5, "a");
        for commits in [&[(25, "b"), before][..], &[(15, "b"), before], &[(40, "b"), (25, "b"), before]] {
            assert!(!has_changed(commits, false, Some(18)), "{commits:?}");
            // git wrote the file again, as it was.
            assert!(!has_changed(commits, false, Some(50)), "{commits:?}");
            assert!(has_changed(commits, true, Some(50)), "{commits:?}");
            assert!(has_changed(commits, false, None), "{commits:?}: it is gone");
        }
        assert!(has_changed(&[(30, "c"), (25, "b"), before], false, Some(18)));
        assert!(!has_changed(&[(50, "b"), (30, "c"), (25, "b"), before], false, Some(18)), "the change was reverted");
    }

    #[test]
    fn without_a_commit_since_the_edit_the_time_of_the_file_counts() {
        for commits in [&[][..], &[(5, "a")]] {
            assert!(!has_changed(commits, true, Some(20)));
            assert!(has_changed(commits, true, Some(21)));
        }
    }
}
