//! Finds session files on this machine, whether or not their sessions ended.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::draft::Draft;
use super::json::Value;
use super::listing::{Extent, ListingLimits};
use super::{FORMATS, Transcript, TranscriptFormat, format, source};
use crate::base::fs::FileState;
use crate::error::Result;

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
    /// Whether nobody sat in front of the agent; `None` if the file does not say so.
    pub is_headless: Option<bool>,
}

/// A session file that was listed, but not opened.
#[derive(Clone)]
pub(crate) struct FoundFile {
    format: &'static TranscriptFormat,
    pub path: PathBuf,
    pub state: FileState,
}

/// A directory of session files that may belong to a project.
pub(crate) struct FoundPlace {
    pub path: PathBuf,
    pub extent: Extent,
    pub files: Vec<FoundFile>,
}

impl FoundFile {
    pub(crate) fn agent(&self) -> &'static str {
        self.format.name
    }

    /// The id of the session, from the name of the file.
    pub(crate) fn session(&self) -> Option<String> {
        (self.format.id)(&self.path)
    }

    /// What the first records say about the session. `None` if they do not name its directory.
    pub(crate) fn open(&self) -> Result<Option<SessionFile>> {
        let Some(about) = about(self.format, &self.path)? else { return Ok(None) };
        Ok(Some(SessionFile {
            agent: self.format.name,
            path: self.path.clone(),
            cwd: PathBuf::from(&about.cwd),
            session: about.session,
            size: self.state.length,
            modified: self.state.modified,
            is_subagent: about.is_subagent,
            is_headless: about.is_headless,
        }))
    }
}

/// Session files of an agent that were found before, as they are now, in their order. `None` for one that is gone.
pub(crate) fn found_before(agent: &str, paths: &[PathBuf]) -> Vec<Option<FoundFile>> {
    match format::of_agent(agent) {
        Some(format) => found(format, paths),
        None => paths.iter().map(|_| None).collect(),
    }
}

/// The session in this file, whichever agent wrote it.
pub(crate) fn session_in(path: &Path) -> Option<SessionFile> {
    FORMATS.iter().find_map(|format| found(format, &[path.to_path_buf()]).pop()??.open().ok()?)
}

fn found(format: &'static TranscriptFormat, paths: &[PathBuf]) -> Vec<Option<FoundFile>> {
    let states = (format.states)(paths);
    paths
        .iter()
        .zip(states)
        .map(|(path, state)| Some(FoundFile { format, state: state?, path: path.clone() }))
        .collect()
}

/// The directories whose time changes when a session file of a project with these roots comes or goes. No file is looked at.
pub(crate) fn directories_of(roots: &[PathBuf]) -> Vec<PathBuf> {
    homes().flat_map(|(format, home)| (format.directories)(&home, roots)).collect()
}

/// The same for the sessions of one agent.
pub(crate) fn directories_of_agent(agent: &str, roots: &[PathBuf]) -> Vec<PathBuf> {
    let of_agent = homes().filter(|(format, _)| format.name == agent);
    of_agent.flat_map(|(format, home)| (format.directories)(&home, roots)).collect()
}

/// The directories in which sessions of a project with these roots may be, with the state of each file. No file is opened.
pub(crate) fn places_of(roots: &[PathBuf], limits: ListingLimits) -> Vec<FoundPlace> {
    places_at(homes(), roots, limits)
}

/// The same for the sessions of one agent.
pub(crate) fn places_of_agent(agent: &str, roots: &[PathBuf], limits: ListingLimits) -> Vec<FoundPlace> {
    places_at(homes().filter(|(format, _)| format.name == agent), roots, limits)
}

/// The sessions of all formats whose directory `belongs` accepts, newest first. Only files changed after `since` are opened,
/// lazily, and only their beginning is read.
pub fn sessions(
    root: &Path,
    since: Option<SystemTime>,
    belongs: impl Fn(&Path) -> bool,
) -> impl Iterator<Item = SessionFile> {
    sessions_at(homes(), root, since, ListingLimits::NONE, belongs)
}

/// Like [`sessions`], for a caller that cannot wait. Of an agent with very many files, only the newest are found, or none.
pub(crate) fn sessions_at_a_glance(root: &Path, belongs: impl Fn(&Path) -> bool) -> impl Iterator<Item = SessionFile> {
    sessions_at(homes(), root, None, ListingLimits::GLANCE, belongs)
}

/// Where each agent keeps its files.
fn homes() -> impl Iterator<Item = (&'static TranscriptFormat, PathBuf)> {
    FORMATS.iter().filter_map(|format| Some((format, format.place.directory()?)))
}

fn places_at(
    homes: impl Iterator<Item = (&'static TranscriptFormat, PathBuf)>,
    roots: &[PathBuf],
    limits: ListingLimits,
) -> Vec<FoundPlace> {
    let listed = homes.flat_map(|(format, home)| {
        let mut budget = limits.budget();
        (format.candidates)(&home, roots, &mut budget).into_iter().map(move |listing| (format, listing))
    });
    listed
        .map(|(format, listing)| FoundPlace {
            path: listing.place,
            extent: listing.extent,
            files: found(format, &listing.files).into_iter().flatten().collect(),
        })
        .collect()
}

fn sessions_at(
    homes: impl Iterator<Item = (&'static TranscriptFormat, PathBuf)>,
    root: &Path,
    since: Option<SystemTime>,
    limits: ListingLimits,
    belongs: impl Fn(&Path) -> bool,
) -> impl Iterator<Item = SessionFile> {
    let places = places_at(homes, &[root.to_path_buf()], limits);
    let mut files: Vec<FoundFile> = places.into_iter().flat_map(|place| place.files).collect();
    files.retain(|file| since.is_none_or(|since| file.state.modified > since));
    files.sort_by(|a, b| b.state.modified.cmp(&a.state.modified).then_with(|| a.path.cmp(&b.path)));
    files.into_iter().filter_map(|file| file.open().ok()?).filter(move |session| belongs(&session.cwd))
}

/// Whether the transcript says that its session is a subagent's.
pub fn is_subagent(agent: &str, path: &Path) -> bool {
    // Every end of a session asks this, and needs no text that is fit to be kept.
    let begun = format::of_agent(agent).and_then(|format| beginning(format, path).ok()?);
    begun.is_some_and(|draft| draft.found.is_subagent && !draft.found.cwd.is_empty())
}

/// What the first records of a file say about its session. `None` if they do not name its directory.
fn about(format: &'static TranscriptFormat, path: &Path) -> Result<Option<Transcript>> {
    let about = beginning(format, path)?.map(Draft::finish);
    Ok(about.filter(|about| !about.cwd.is_empty()))
}

/// What the first records of a file say about its session, as they say it. `None` if it is not a transcript of this format.
fn beginning(format: &'static TranscriptFormat, path: &Path) -> Result<Option<Draft>> {
    let Some(mut file) = source::open_beginning(path)? else { return Ok(None) };
    let mut draft = Draft::of(format.name);
    if let Some(id) = (format.id)(path) {
        draft.found.session = id;
    }
    draft.about_only = true;
    (format.beside)(&mut draft, path);
    // What is said beside the records says nothing if there are none.
    let mut is_one = draft.found.cwd.is_empty();
    let take = |record: Value<'_>| {
        is_one |= (format.is_one)(&record);
        (format.take)(&mut draft, &record);
        draft.found.cwd.is_empty() || !is_one
    };
    source::head(&mut file, u64::MAX, take).map_err(|cause| crate::error::Error::io("read", path, cause))?;
    Ok(is_one.then_some(draft))
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
        let directory = crate::base::scratch::directory();
        let place = directory.path().to_path_buf();
        let projects = place.join("projects");
        put(&projects.join("-a-b-c/old.jsonl"), "/a/b.c", "", 50);
        let changed = put(&projects.join("-a-b-c/new.jsonl"), "/a/b.c", "more", 10);
        put(&projects.join("-a-b-c-deep/below.jsonl"), "/a/b.c/deep", "", 20);
        // Directories whose names the same rule makes of other paths, and files that are not sessions.
        put(&projects.join("-a-b-c/other.jsonl"), "/a/b/c", "", 5);
        put(&projects.join("-a-b-cd/other.jsonl"), "/a/b.cd", "", 5);
        put(&projects.join("-a-b-c/new/subagents/agent-1.jsonl"), "/a/b.c", "", 5);
        std::fs::write(projects.join("-a-b-c/empty.jsonl"), "").unwrap();
        let root = Path::new("/a/b.c");
        let list = |since: Option<SystemTime>| -> Vec<SessionFile> {
            let homes = [(&FORMATS[0], place.clone())].into_iter();
            sessions_at(homes, root, since, ListingLimits::NONE, |cwd| cwd.starts_with(root)).collect()
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
