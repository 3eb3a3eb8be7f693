//! Finds session files on this machine, whether or not their sessions ended.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::draft::Draft;
use super::{FORMATS, Transcript, TranscriptFormat, format, source};
use crate::base::{env, fs};

/// A session file, described by its first records and its metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFile {
    pub agent: &'static str,
    pub path: PathBuf,
    pub session: String,
    /// The directory in which the session was started.
    pub cwd: PathBuf,
    pub size: u64,
    pub modified: SystemTime,
    pub is_subagent: bool,
}

/// The sessions of all formats whose directory `belongs` accepts, newest first. Only files changed after `since` are opened,
/// lazily, and only their beginning is read.
pub fn sessions(
    root: &Path,
    since: Option<SystemTime>,
    belongs: impl Fn(&Path) -> bool,
) -> impl Iterator<Item = SessionFile> {
    sessions_of(vec![root.to_path_buf()], since, usize::MAX, belongs).1
}

/// Like [`sessions`], for several roots; skips a format with more than `most` files. The flag says whether all formats
/// were read.
pub fn sessions_of(
    roots: Vec<PathBuf>,
    since: Option<SystemTime>,
    most: usize,
    belongs: impl Fn(&Path) -> bool,
) -> (bool, impl Iterator<Item = SessionFile>) {
    let places = FORMATS.iter().filter_map(|format| {
        let (variable, directory) = format.place;
        let place = env::get(variable).map(PathBuf::from).or_else(|| Some(env::home()?.join(directory)))?;
        Some((format, place))
    });
    sessions_at(places, roots, since, most, belongs)
}

fn sessions_at(
    places: impl Iterator<Item = (&'static TranscriptFormat, PathBuf)>,
    roots: Vec<PathBuf>,
    since: Option<SystemTime>,
    most: usize,
    belongs: impl Fn(&Path) -> bool,
) -> (bool, impl Iterator<Item = SessionFile>) {
    let mut found = Vec::new();
    let mut is_whole = true;
    for (format, place) in places {
        let mut paths = BTreeSet::new();
        for root in &roots {
            let candidates = (format.candidates)(&place, root, most);
            is_whole &= candidates.is_some();
            paths.extend(candidates.unwrap_or_default());
        }
        for path in paths {
            let Some((length, modified)) = fs::length_and_change(&path) else { continue };
            if since.is_none_or(|since| modified > since) {
                found.push((format, path, length, modified));
            }
        }
    }
    found.sort_by(|a, b| b.3.cmp(&a.3).then_with(|| a.1.cmp(&b.1)));
    let found = found.into_iter().filter_map(move |(format, path, size, modified)| {
        let about = about(format, &path)?;
        let cwd = PathBuf::from(&about.cwd);
        let is_ours = belongs(&cwd);
        let (agent, session, is_subagent) = (format.name, about.session, about.is_subagent);
        is_ours.then_some(SessionFile { agent, path, session, cwd, size, modified, is_subagent })
    });
    (is_whole, found)
}

/// Whether the transcript says that its session is a subagent's.
pub fn is_subagent(agent: &str, path: &Path) -> bool {
    format::of_agent(agent).and_then(|format| about(format, path)).is_some_and(|about| about.is_subagent)
}

/// What the first records of a file say about its session. `None` if they do not name its directory.
fn about(format: &'static TranscriptFormat, path: &Path) -> Option<Transcript> {
    let mut file = source::open(path).ok()??;
    let mut draft = Draft::of(format.name);
    if let Some(id) = (format.id)(path) {
        draft.found.session = id;
    }
    draft.about_only = true;
    let take = |record| {
        (format.take)(&mut draft, &record);
        draft.found.cwd.is_empty()
    };
    source::head(&mut file, u64::MAX, take).ok()?;
    let about = draft.finish();
    (!about.cwd.is_empty()).then_some(about)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    fn put(path: &Path, cwd: &str, more: &str, age: u64) -> SystemTime {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let record = serde_json::json!({ "type": "user", "sessionId": "s", "cwd": cwd, "isSidechain": false });
        std::fs::write(path, format!("{{\"half\n{record}\n{more}")).unwrap();
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age);
        File::options().append(true).open(path).unwrap().set_modified(changed).unwrap();
        changed
    }

    #[test]
    fn sessions_are_listed_newest_first_with_size_and_time() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().to_path_buf();
        let projects = place.join("projects");
        put(&projects.join("-a-b-c/old.jsonl"), "/a/b.c", "", 50);
        let changed = put(&projects.join("-a-b-c/new.jsonl"), "/a/b.c", "more", 10);
        put(&projects.join("-a-b-c-deep/below.jsonl"), "/a/b.c/deep", "", 20);
        // Names that the same rule makes of other places, and what is no session.
        put(&projects.join("-a-b-c/other.jsonl"), "/a/b/c", "", 5);
        put(&projects.join("-a-b-cd/other.jsonl"), "/a/b.cd", "", 5);
        put(&projects.join("-a-b-c/new/subagents/agent-1.jsonl"), "/a/b.c", "", 5);
        std::fs::write(projects.join("-a-b-c/empty.jsonl"), "").unwrap();
        let root = Path::new("/a/b.c");
        let list = |since: Option<SystemTime>| -> Vec<SessionFile> {
            let places = [(&FORMATS[0], place.clone())].into_iter();
            sessions_at(places, vec![root.to_path_buf()], since, usize::MAX, |cwd| cwd.starts_with(root)).1.collect()
        };
        let all = list(None);
        let ids: Vec<&str> = all.iter().map(|session| session.session.as_str()).collect();
        assert_eq!(ids, ["new", "below", "old"]);
        assert_eq!((all[0].modified, all[0].agent, all[0].is_subagent), (changed, "claude-code", false));
        assert_eq!(all[0].size, all[2].size + 4);
        assert_eq!(list(Some(changed - Duration::from_secs(1))).len(), 1);
        assert_eq!(list(Some(changed)), []);
    }
}
